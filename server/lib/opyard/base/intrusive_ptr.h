#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace opyard {

// Base of reference-counted objects. A new object starts with one reference, which adopt() takes
// over. Counting is safe from any thread; the object itself follows its own rule.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True when this was the last reference. A count of one is seen without a locked instruction.
  bool release() const noexcept {
    if (refs_.load(std::memory_order_acquire) == 1) return true;
    return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  uint64_t use_count() const noexcept { return refs_.load(std::memory_order_relaxed); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint64_t> refs_{1};
};

// Shared ownership of a RefCounted object. T::destroy(const T*) frees it; it is found by name so
// that the deleter always lives in the library that knows T.
template <typename T>
class IntrusivePtr {
 public:
  constexpr IntrusivePtr() noexcept = default;
  constexpr IntrusivePtr(std::nullptr_t) noexcept {}
  IntrusivePtr(const IntrusivePtr& other) noexcept : ptr_(other.ptr_) {
    if (ptr_) ptr_->retain();
  }
  IntrusivePtr(IntrusivePtr&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  [[gnu::always_inline]] ~IntrusivePtr() {
    if (ptr_ && ptr_->release()) T::destroy(ptr_);
  }
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static IntrusivePtr adopt(T* ptr) noexcept {
    IntrusivePtr result;
    result.ptr_ = ptr;
    return result;
  }
  // Adds a reference of its own.
  static IntrusivePtr share(T* ptr) noexcept {
    if (ptr) ptr->retain();
    return adopt(ptr);
  }

  void reset() noexcept {
    T* old = std::exchange(ptr_, nullptr);
    if (old && old->release()) T::destroy(old);
  }
  // Gives the reference to the caller.
  T* detach() noexcept { return std::exchange(ptr_, nullptr); }

  T* get() const noexcept { return ptr_; }
  T& operator*() const noexcept { return *ptr_; }
  T* operator->() const noexcept { return ptr_; }
  explicit operator bool() const noexcept { return ptr_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) noexcept {
    return a.ptr_ == b.ptr_;
  }

 private:
  T* ptr_ = nullptr;
};

}  // namespace opyard
