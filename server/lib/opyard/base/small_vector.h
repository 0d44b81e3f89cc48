#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "opyard/base/array_ref.h"

namespace opyard {

// A vector of trivially copyable values that keeps up to N of them inside itself. Not
// boost::small_vector, because it stands in public headers and must bring no dependency there.
template <typename T, uint32_t N>
requires std::is_trivially_copyable_v<T>
class SmallVector {
 public:
  SmallVector() noexcept = default;
  explicit SmallVector(size_t size, T value = T()) { resize(size, value); }
  SmallVector(std::initializer_list<T> list) { assign(list.begin(), list.size()); }
  SmallVector(ArrayRef<T> values) { assign(values.data(), values.size()); }
  SmallVector(const SmallVector& other) { assign(other.data(), other.size()); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  ~SmallVector() { free_heap(); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.data(), other.size());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      free_heap();
      steal(other);
    }
    return *this;
  }

  void assign(const T* values, size_t size) {
    if (size > capacity_) grow(size, false);
    if (size > 0) std::memmove(data(), values, size * sizeof(T));
    size_ = static_cast<uint32_t>(size);
  }
  void resize(size_t size, T value = T()) {
    if (size > capacity_) grow(size, true);
    for (size_t i = size_; i < size; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(size);
  }
  void push_back(T value) { resize(size_ + 1, value); }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }
  void insert(size_t at, T value) {
    push_back(value);
    for (size_t i = size_ - 1; i > at; --i) data()[i] = data()[i - 1];
    data()[at] = value;
  }
  void erase(size_t at) noexcept {
    for (size_t i = at + 1; i < size_; ++i) data()[i - 1] = data()[i];
    --size_;
  }

  T* data() noexcept { return capacity_ == N ? inline_ : heap_; }
  const T* data() const noexcept { return capacity_ == N ? inline_ : heap_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return data()[i]; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }
  operator ArrayRef<T>() const noexcept { return ArrayRef<T>(data(), size_); }
  friend bool operator==(const SmallVector& a, const SmallVector& b) noexcept {
    return ArrayRef<T>(a) == ArrayRef<T>(b);
  }

 private:
  void grow(size_t wanted, bool keep) {
    const size_t capacity = wanted < 2 * size_t{capacity_} ? 2 * size_t{capacity_} : wanted;
    T* bigger = new T[capacity];
    if (keep && size_ > 0) std::memcpy(bigger, data(), size_ * sizeof(T));
    free_heap();
    heap_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void free_heap() noexcept {
    if (capacity_ != N) delete[] heap_;
    capacity_ = N;
  }
  void steal(SmallVector& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
    if (capacity_ == N) {
      std::memcpy(inline_, other.inline_, sizeof(inline_));
    } else {
      heap_ = other.heap_;
    }
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  union {
    T inline_[N];
    T* heap_;
  };
};

}  // namespace opyard
