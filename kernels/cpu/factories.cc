#include <cmath>

#include "Random123/philox.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operands.h"
#include "kernels/functors/random.h"
#include "opyard/dispatch/library.h"

namespace opyard::cpu {
namespace {

// `out` itself where it is one run of the dtype, else a buffer of its shape that is copied back.
// Positions are those of row-major order, so that results do not depend on strides.
class RowMajor {
 public:
  explicit RowMajor(Tensor& out)
      : out_(out), run_(out.is_contiguous() ? out : make_tensor(out.sizes(), out.dtype())) {
    check_on_host(out, "the output");
  }
  void* data() const { return run_.raw_data(); }
  void finish() {
    if (!run_.is_same(out_)) copy(run_, false, out_);
  }

 private:
  Tensor& out_;
  Tensor run_;
};

template <typename T, typename F>
void fill_positions(void* out, int64_t n, const F value_at) {
  T* const to = static_cast<T*>(out);
  parallel_for(n, kCheapGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(value_at(i));
  });
}

// One reservation of a generator's counters: block i holds four random words.
struct Stream {
  uint64_t seed;
  uint64_t first;

  r123::Philox4x32::ctr_type block(int64_t index) const {
    const uint64_t counter = first + static_cast<uint64_t>(index);
    const r123::Philox4x32::ctr_type at = {
        {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}};
    const r123::Philox4x32::key_type key = {
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
    return r123::Philox4x32()(at, key);
  }
};

template <typename T>
constexpr int64_t kPerBlock = 16 / sizeof(T);  // numbers that one block gives

template <typename T>
void block_uniforms(const r123::Philox4x32::ctr_type& words, double* out) {
  if constexpr (std::is_same_v<T, float>) {
    for (size_t i = 0; i < 4; ++i) out[i] = functors::uniform_float(words[i]);
  } else {
    for (size_t i = 0; i < 2; ++i) {
      out[i] = functors::uniform_double(words[2 * i], words[2 * i + 1]);
    }
  }
}

// Writes numbers made by `shape`, which turns the uniforms of one block into its numbers in place.
template <typename T, typename F>
void draw(T* out, int64_t n, const IntrusivePtr<Generator>& given, const F shape) {
  Generator& generator = given ? *given : current_generator();
  constexpr int64_t kNumbers = kPerBlock<T>;
  const int64_t blocks = (n + kNumbers - 1) / kNumbers;
  const Stream stream{generator.seed(), generator.reserve(static_cast<uint64_t>(blocks))};
  parallel_for(blocks, kCostlyGrain / 4, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      double numbers[kNumbers];
      block_uniforms<T>(stream.block(block), numbers);
      shape(numbers);
      const int64_t first = block * kNumbers;
      const int64_t count = std::min(kNumbers, n - first);
      for (int64_t i = 0; i < count; ++i) out[first + i] = static_cast<T>(numbers[i]);
    }
  });
}

}  // namespace

void arange(const Scalar& start, const Scalar&, const Scalar& step, Tensor& out) {
  RowMajor run(out);
  visit_numbers(out.dtype(), "arange", [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      using W = std::make_unsigned_t<T>;
      const W first = static_cast<W>(scalar_as<T>(start));
      const W each = static_cast<W>(scalar_as<T>(step));
      fill_positions<T>(run.data(), out.numel(),
                        [=](int64_t i) { return first + static_cast<W>(i) * each; });
    } else {
      // In double, so that the last float32 values are as good as the first.
      const double first = start.to_double();
      const double each = step.to_double();
      fill_positions<T>(run.data(), out.numel(),
                        [=](int64_t i) { return first + static_cast<double>(i) * each; });
    }
  });
  run.finish();
}

void uniform(double from, double to, const IntrusivePtr<Generator>& generator, Tensor& out) {
  RowMajor run(out);
  visit_floating(out.dtype(), "uniform", [&]<typename T>(std::type_identity<T>) {
    const double width = to - from;
    // Rounding to T may reach the end, which is left out.
    const double last = std::nextafter(static_cast<T>(to), static_cast<T>(from));
    draw(static_cast<T*>(run.data()), out.numel(), generator, [=](double* numbers) {
      for (int64_t i = 0; i < kPerBlock<T>; ++i) {
        const double number = from + width * numbers[i];
        numbers[i] = static_cast<T>(number) >= static_cast<T>(to) ? last : number;
      }
    });
  });
  run.finish();
}

void normal(double mean, double std, const IntrusivePtr<Generator>& generator, Tensor& out) {
  RowMajor run(out);
  visit_floating(out.dtype(), "normal", [&]<typename T>(std::type_identity<T>) {
    draw(static_cast<T*>(run.data()), out.numel(), generator, [=](double* numbers) {
      for (int64_t i = 0; i < kPerBlock<T>; i += 2) {
        const auto pair = functors::normal_pair(numbers[i], numbers[i + 1]);
        numbers[i] = mean + std * pair.first;
        numbers[i + 1] = mean + std * pair.second;
      }
    });
  });
  run.finish();
}

OPYARD_LIBRARY_IMPL(kernel, CPU, m) {
  m.impl("arange.start_out", OPYARD_FN(arange));
  m.impl("uniform", OPYARD_FN(uniform));
  m.impl("normal", OPYARD_FN(normal));
}

}  // namespace opyard::cpu
