#include "kernels/shape/views.h"

#include <limits>

#include "kernels/shape/checked.h"

namespace opyard::shape {
namespace {

// Neighbouring dimensions that are crossed with one even step.
template <typename Int>
struct Run {
  Int numel;
  Int stride;
};

// Innermost first; dimensions of size 1 are in no one's way.
template <typename Int>
std::vector<Run<Int>> runs_of(const Operand<Int>& self) {
  std::vector<Run<Int>> runs;
  for (size_t i = self.sizes.size(); i-- > 0;) {
    if (self.sizes[i] == 1) continue;
    if (!runs.empty() && self.strides[i] == times(runs.back().numel, runs.back().stride)) {
      runs.back().numel = runs.back().numel * self.sizes[i];
    } else {
      runs.push_back({self.sizes[i], self.strides[i]});
    }
  }
  return runs;
}

template <typename Int>
Sizes<Int> row_major(ArrayRef<Int> sizes) {
  Sizes<Int> strides(sizes.size());
  Int stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (sizes[i] > 1) stride = times(stride, sizes[i]);
  }
  return strides;
}

// Fills the dimensions of `window` into the runs from the inside; false when one would lie across
// two runs.
template <typename Int>
bool fill_strides(const Operand<Int>& self, Window<Int>& window) {
  const std::vector<Run<Int>> runs = runs_of(self);
  const ArrayRef<Int> size = window.sizes;
  window.strides = row_major(size);
  size_t run = 0;
  Int taken = 1;  // elements of the current run that inner dimensions cover
  for (size_t i = size.size(); i-- > 0;) {
    if (run < runs.size() && taken == runs[run].numel && !(size[i] == 1)) {
      ++run;
      taken = 1;
    }
    if (run < runs.size()) window.strides[i] = times(runs[run].stride, taken);
    if (size[i] == 1) continue;
    if (run >= runs.size()) return false;
    taken = taken * size[i];
    if (taken > runs[run].numel || !(runs[run].numel % taken == 0)) return false;
  }
  return true;
}

// Replaces the one -1 by what is left.
template <typename Int>
Sizes<Int> infer_size(const Operand<Int>& self, ArrayRef<Int> size) {
  OPYARD_CHECK(size.size() <= kMaxDims, kInvalidArgument, "a tensor may have at most ",
               size_t{kMaxDims}, " dimensions, got ", size.size());
  Sizes<Int> sizes(size);
  size_t open = size.size();
  for (size_t i = 0; i < size.size(); ++i) {
    OPYARD_CHECK(size[i] >= -1, kInvalidArgument, "the size ", size[i],
                 " is negative; only -1 may stand for what is left");
    if (!(size[i] == -1)) continue;
    OPYARD_CHECK(open == size.size(), kInvalidArgument, "only one size of ", to_string(size),
                 " may be -1");
    open = i;
    sizes[i] = 1;
  }
  const Int numel = numel_of(self.sizes);
  const Int known = numel_of<Int>(sizes);
  if (open < size.size()) {
    OPYARD_CHECK(!(known == 0), kInvalidArgument, "-1 in ", to_string(size),
                 " could be any size, because another size is 0; write it out");
    sizes[open] = numel / known;
  }
  const Int wanted = open < size.size() ? sizes[open] * known : known;
  OPYARD_CHECK(wanted == numel, kInvalidArgument, "the shape ", to_string(size),
               " does not hold the ", numel, " elements of the shape ", to_string(self.sizes));
  return sizes;
}

template <typename Int>
Window<Int> whole(const Operand<Int>& self) {
  return {Sizes<Int>(self.sizes), Sizes<Int>(self.strides)};
}

size_t check_dim(int64_t dim, int64_t ndim) {
  OPYARD_CHECK(ndim > 0, kOutOfRange, "a 0-d tensor has no dimension ", dim);
  return static_cast<size_t>(wrap_dim(dim, ndim));
}

// A position counted from the end where negative, cut to 0 … size.
template <typename Int>
Int cut(Int position, Int size) {
  if (position < 0) position = position + size;
  if (position < 0) return 0;
  return position < size ? position : size;
}

}  // namespace

template <typename Int>
Window<Int> view(const Operand<Int>& self, ArrayRef<Int> size) {
  Window<Int> window;
  window.sizes = infer_size(self, size);
  if (self.sizes == ArrayRef<Int>(window.sizes)) return whole(self);
  if (numel_of(self.sizes) == 0) {
    window.strides = row_major<Int>(window.sizes);
    return window;
  }
  OPYARD_CHECK(fill_strides(self, window), kInvalidArgument, "a tensor of shape ",
               to_string(self.sizes), " with strides ", to_string(self.strides),
               " cannot be viewed as ", to_string(ArrayRef<Int>(window.sizes)),
               " without a copy; clone it contiguously first");
  return window;
}

template <typename Int>
Window<Int> permute(const Operand<Int>& self, IntList dims) {
  OPYARD_CHECK(dims.size() == self.sizes.size(), kInvalidArgument, "got ", dims.size(),
               " dimensions ", to_string(dims), " for a tensor with ", self.dim());
  Window<Int> window;
  SmallVector<bool, 8> seen(dims.size(), false);
  for (const int64_t dim : dims) {
    const size_t at = check_dim(dim, self.dim());
    OPYARD_CHECK(!seen[at], kInvalidArgument, "dimension ", at, " is named twice in ",
                 to_string(dims));
    seen[at] = true;
    window.sizes.push_back(self.sizes[at]);
    window.strides.push_back(self.strides[at]);
  }
  return window;
}

template <typename Int>
Window<Int> transpose_matrix(const Operand<Int>& self) {
  OPYARD_CHECK(self.dim() <= 2, kInvalidArgument, "t takes at most 2 dimensions, got the shape ",
               to_string(self.sizes), "; use permute");
  Window<Int> window = whole(self);
  if (self.dim() == 2) {
    std::swap(window.sizes[0], window.sizes[1]);
    std::swap(window.strides[0], window.strides[1]);
  }
  return window;
}

template <typename Int>
Window<Int> expand(const Operand<Int>& self, ArrayRef<Int> size) {
  OPYARD_CHECK(size.size() >= self.sizes.size(), kInvalidArgument, "the shape ", to_string(size),
               " has fewer dimensions than the tensor of shape ", to_string(self.sizes));
  OPYARD_CHECK(size.size() <= kMaxDims, kInvalidArgument, "a tensor may have at most ",
               size_t{kMaxDims}, " dimensions, got ", size.size());
  Window<Int> window;
  const size_t shift = size.size() - self.sizes.size();
  for (size_t i = 0; i < size.size(); ++i) {
    OPYARD_CHECK(size[i] >= -1 && (i >= shift || !(size[i] == -1)), kInvalidArgument, "the size ",
                 size[i], " of dimension ", i, " is negative",
                 size[i] == -1 ? "; -1 keeps a size, and a new dimension has none" : "");
    if (i < shift) {
      window.sizes.push_back(size[i]);
      window.strides.push_back(0);
      continue;
    }
    const Int have = self.sizes[i - shift];
    const bool keep = size[i] == -1 || size[i] == have;
    OPYARD_CHECK(keep || have == 1, kInvalidArgument, "dimension ", i, " has the size ", have,
                 " and cannot be expanded to ", size[i], "; only size 1 can");
    window.sizes.push_back(keep ? have : size[i]);
    window.strides.push_back(keep ? self.strides[i - shift] : Int(0));
  }
  return window;
}

template <typename Int>
Window<Int> slice(const Operand<Int>& self, int64_t dim, std::optional<Int> start,
                  std::optional<Int> end, Int step) {
  const size_t at = check_dim(dim, self.dim());
  OPYARD_CHECK(step > 0, kInvalidArgument, "the step must be positive, got ", step);
  const Int size = self.sizes[at];
  const Int first = cut(start.value_or(Int(0)), size);
  const Int last = cut(end.value_or(size), size);
  Window<Int> window = whole(self);
  window.sizes[at] = last > first ? Int(1) + (last - first - 1) / step : Int(0);
  window.offset = window.sizes[at] > 0 ? first * self.strides[at] : Int(0);
  if (window.sizes[at] > 1) window.strides[at] = times(self.strides[at], step);
  return window;
}

template <typename Int>
Window<Int> select(const Operand<Int>& self, int64_t dim, Int index) {
  OPYARD_CHECK(self.dim() > 0, kInvalidArgument, "a 0-d tensor has no dimension to select from");
  const size_t at = check_dim(dim, self.dim());
  const Int size = self.sizes[at];
  OPYARD_CHECK(index >= -size && index < size, kOutOfRange, "index ", index,
               " is out of range for dimension ", at, " of size ", size);
  Window<Int> window;
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (i == at) continue;
    window.sizes.push_back(self.sizes[i]);
    window.strides.push_back(self.strides[i]);
  }
  window.offset = (index < 0 ? index + size : index) * self.strides[at];
  return window;
}

template <typename Int>
Window<Int> squeeze(const Operand<Int>& self, std::optional<IntList> dims) {
  SmallVector<bool, 8> named(self.sizes.size(), !dims);
  for (const int64_t dim : dims.value_or(IntList())) {
    const auto at = static_cast<size_t>(wrap_dim(dim, self.dim()));
    if (at >= named.size()) continue;  // dimension 0 of a 0-d tensor
    OPYARD_CHECK(!named[at], kInvalidArgument, "dimension ", at, " is named twice in ",
                 to_string(*dims));
    named[at] = true;
  }
  Window<Int> window;
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (named[i] && self.sizes[i] == 1) continue;
    window.sizes.push_back(self.sizes[i]);
    window.strides.push_back(self.strides[i]);
  }
  return window;
}

template <typename Int>
Window<Int> unsqueeze(const Operand<Int>& self, int64_t dim) {
  OPYARD_CHECK(self.sizes.size() < kMaxDims, kInvalidArgument, "the tensor has ", self.dim(),
               " dimensions already, the most there may be");
  const auto at = static_cast<size_t>(wrap_dim(dim, self.dim() + 1));
  Window<Int> window;
  for (size_t i = 0; i <= self.sizes.size(); ++i) {
    if (i == at) {
      const bool last = i == self.sizes.size();
      window.sizes.push_back(1);
      window.strides.push_back(last ? Int(1) : times(self.sizes[i], self.strides[i]));
    }
    if (i < self.sizes.size()) {
      window.sizes.push_back(self.sizes[i]);
      window.strides.push_back(self.strides[i]);
    }
  }
  return window;
}

using I = int64_t;
template Window<I> view(const Operand<I>&, ArrayRef<I>);
template Window<I> permute(const Operand<I>&, IntList);
template Window<I> transpose_matrix(const Operand<I>&);
template Window<I> expand(const Operand<I>&, ArrayRef<I>);
template Window<I> slice(const Operand<I>&, int64_t, std::optional<I>, std::optional<I>, I);
template Window<I> select(const Operand<I>&, int64_t, I);
template Window<I> squeeze(const Operand<I>&, std::optional<IntList>);
template Window<I> unsqueeze(const Operand<I>&, int64_t);

}  // namespace opyard::shape
