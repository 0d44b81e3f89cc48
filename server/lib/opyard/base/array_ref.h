#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace opyard {

// A borrowed, read-only run of values: two words, passed by value in registers. Unlike std::span
// it takes a braced list, so that `view(x, {2, 3})` can be written. The owner must outlive it.
template <typename T>
class ArrayRef {
 public:
  using value_type = T;

  constexpr ArrayRef() noexcept = default;
  constexpr ArrayRef(const T* data, size_t size) noexcept : data_(data), size_(size) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // Only for arguments: the list lives as long as the full expression.
  constexpr ArrayRef(std::initializer_list<T> list) noexcept
      : data_(list.size() == 0 ? nullptr : list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  constexpr ArrayRef(const T& one) noexcept : data_(&one), size_(1) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& array) noexcept : data_(array.data()), size_(N) {}
  template <typename Alloc>
  requires(!std::is_same_v<T, bool>) ArrayRef(const std::vector<T, Alloc>& vector)
  noexcept : data_(vector.data()), size_(vector.size()) {}

  constexpr const T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T& operator[](size_t i) const noexcept { return data_[i]; }
  constexpr const T* begin() const noexcept { return data_; }
  constexpr const T* end() const noexcept { return data_ + size_; }
  constexpr const T& back() const noexcept { return data_[size_ - 1]; }
  // The run without its first n values; n must be at most size().
  constexpr ArrayRef drop_front(size_t n) const noexcept { return ArrayRef(data_ + n, size_ - n); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

  friend bool operator==(ArrayRef a, ArrayRef b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace opyard
