#include "kernels/cpu/reduction.h"

#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/parallel.h"

namespace opyard::cpu {
namespace {

constexpr int64_t kGrain = 32768;  // elements of a piece of work
constexpr int64_t kMostPieces = 64;

// A part of the iteration space: entries begin … begin+size-1 of one dimension, everything of the
// others.
struct Piece {
  size_t dim;
  int64_t begin;
  int64_t size;
};

void fold_piece(const Reduction& plan, const Tensor& self, const Folding& folding, char* into,
                const Piece& piece) {
  Dims sizes = plan.sizes;
  auto* from = static_cast<char*>(self.raw_data());
  if (!sizes.empty()) {
    sizes[piece.dim] = piece.size;
    into += piece.begin * plan.kept_strides[piece.dim] *
            static_cast<int64_t>(element_size(folding.accumulator));
    from += piece.begin * plan.self_strides[piece.dim] *
            static_cast<int64_t>(element_size(self.dtype()));
  }
  TensorIterator it(sizes, {{into, plan.kept_strides, folding.accumulator},
                            {from, plan.self_strides, self.dtype()}});
  it.present_as(1, folding.dtype);
  it.for_each(0, it.numel(), folding.inner, nullptr);
}

// The largest dimension among those that are kept, or folded away.
size_t widest(const Reduction& plan, bool kept) {
  size_t best = 0;
  int64_t size = 0;
  for (size_t i = 0; i < plan.sizes.size(); ++i) {
    const bool is_kept = plan.kept_sizes[i] == plan.sizes[i];
    if (is_kept == kept && plan.sizes[i] > size) {
      best = i;
      size = plan.sizes[i];
    }
  }
  return best;
}

Piece piece_of(size_t dim, int64_t size, int64_t pieces, int64_t index) {
  const int64_t each = size / pieces;
  const int64_t extra = size % pieces;
  const int64_t begin = index * each + std::min(index, extra);
  return {dim, begin, each + (index < extra ? 1 : 0)};
}

// Every piece has results of its own.
void split_kept(const Reduction& plan, const Tensor& self, const Folding& folding, char* into,
                size_t dim, int64_t pieces) {
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      fold_piece(plan, self, folding, into, piece_of(dim, plan.sizes[dim], pieces, i));
    }
  });
}

// Every piece contributes to all results: it gets accumulators of its own, merged in order.
void split_folded(const Reduction& plan, const Tensor& self, const Folding& folding, char* into,
                  size_t dim, int64_t pieces) {
  const Tensor partial = make_tensor({pieces, plan.kept}, folding.accumulator);
  auto* rows = static_cast<char*>(partial.raw_data());
  const int64_t row = plan.kept * static_cast<int64_t>(element_size(folding.accumulator));
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      folding.start(rows + i * row, plan.kept);
      fold_piece(plan, self, folding, rows + i * row, piece_of(dim, plan.sizes[dim], pieces, i));
    }
  });
  const auto step = static_cast<int64_t>(element_size(folding.accumulator));
  const int64_t steps[] = {step, step};
  for (int64_t i = 0; i < pieces; ++i) {
    char* const data[] = {into, rows + i * row};
    folding.merge(nullptr, data, steps, plan.kept);
  }
}

}  // namespace

Reduction::Reduction(const Tensor& self, std::optional<IntList> dims, bool keepdim,
                     const Tensor& out)
    : sizes(self.sizes()), self_strides(self.strides()), numel(self.numel()) {
  check_on_host(self, "the input");
  check_on_host(out, "the output");
  const bool all = !dims || dims->empty();
  SmallVector<uint8_t, 8> folds(sizes.size(), all ? 1 : 0);
  for (size_t i = 0; !all && i < dims->size(); ++i) {
    const int64_t dim = wrap_dim((*dims)[i], self.dim());
    if (sizes.empty()) continue;
    uint8_t& mark = folds[static_cast<size_t>(dim)];
    OPYARD_CHECK(mark == 0, kInvalidArgument, "dimension ", dim,
                 " is named twice in the dimensions to reduce");
    mark = 1;
  }
  out_strides = kept_strides = Dims(sizes.size(), 0);
  kept_sizes = Dims(sizes.size(), 1);
  Dims wanted;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (folds[i]) {
      folded *= sizes[i];
      if (keepdim) wanted.push_back(1);
      continue;
    }
    kept_sizes[i] = sizes[i];
    if (wanted.size() < out.strides().size()) out_strides[i] = out.strides()[wanted.size()];
    wanted.push_back(sizes[i]);
  }
  check_shape(out, wanted);
  for (size_t i = sizes.size(); i-- > 0;) {
    if (folds[i]) continue;
    kept_strides[i] = kept;
    kept *= sizes[i];
  }
}

void fold(const Reduction& plan, const Tensor& self, const Folding& folding, void* accumulators) {
  auto* into = static_cast<char*>(accumulators);
  if (plan.numel == 0) return;
  const int64_t pieces = std::min(plan.numel / kGrain, kMostPieces);
  if (pieces < 2) {
    const int64_t first = plan.sizes.empty() ? 1 : plan.sizes[0];
    fold_piece(plan, self, folding, into, {0, 0, first});
    return;
  }
  const size_t kept = widest(plan, true);
  const size_t folded = widest(plan, false);
  const int64_t kept_pieces = plan.kept == 1 ? 1 : std::min(plan.sizes[kept], pieces);
  const int64_t folded_pieces = plan.folded == 1 ? 1 : std::min(plan.sizes[folded], pieces);
  if (kept_pieces >= folded_pieces || plan.kept > kGrain) {
    split_kept(plan, self, folding, into, kept, kept_pieces);
  } else {
    split_folded(plan, self, folding, into, folded, folded_pieces);
  }
}

}  // namespace opyard::cpu
