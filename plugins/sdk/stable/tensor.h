#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "plugins/sdk/stable/base.h"

OPYARD_STABLE_BEGIN

using IntList = std::span<const int64_t>;

enum class DType : uint32_t {
  kUInt8 = OPYARD_UINT8,
  kInt8 = OPYARD_INT8,
  kInt16 = OPYARD_INT16,
  kInt32 = OPYARD_INT32,
  kInt64 = OPYARD_INT64,
  kFloat16 = OPYARD_FLOAT16,
  kFloat32 = OPYARD_FLOAT32,
  kFloat64 = OPYARD_FLOAT64,
  kComplex64 = OPYARD_COMPLEX64,
  kComplex128 = OPYARD_COMPLEX128,
  kBool = OPYARD_BOOL8,
  kBFloat16 = OPYARD_BFLOAT16,
};

enum class MemoryFormat : uint32_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

struct Device {
  uint32_t kind = OPYARD_DEVICE_CPU;
  int32_t index = -1;  // the current one of its kind
  bool is_cpu() const noexcept { return kind == OPYARD_DEVICE_CPU; }
  // "cpu", "cuda:1" or a private device's name.
  static Device named(std::string_view name) {
    opyard_device found{};
    ask(the_host.tensors->device_named, as_str(name), &found);
    return {found.kind, found.index};
  }
};

template <typename T>
struct DTypeOf;
template <DType V>
struct DTypeIs {
  static constexpr DType value = V;
};
template <>
struct DTypeOf<uint8_t> : DTypeIs<DType::kUInt8> {};
template <>
struct DTypeOf<int8_t> : DTypeIs<DType::kInt8> {};
template <>
struct DTypeOf<int16_t> : DTypeIs<DType::kInt16> {};
template <>
struct DTypeOf<int32_t> : DTypeIs<DType::kInt32> {};
template <>
struct DTypeOf<int64_t> : DTypeIs<DType::kInt64> {};
template <>
struct DTypeOf<float> : DTypeIs<DType::kFloat32> {};
template <>
struct DTypeOf<double> : DTypeIs<DType::kFloat64> {};
template <>
struct DTypeOf<bool> : DTypeIs<DType::kBool> {};

// A tensor of the host: shared ownership of one handle. Undefined when default-constructed. Its
// facts come from view(), one call of the host; borrowed from it, valid while the tensor is held.
class Tensor {
 public:
  constexpr Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : handle_(other.handle_) {
    if (handle_) the_host.tensors->retain(handle_);
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() {
    if (handle_) the_host.tensors->release(handle_);
  }

  // A new tensor whose elements are not set.
  static Tensor empty(IntList sizes, DType dtype, Device device = {}) {
    Tensor made;
    ask(the_host.tensors->empty, sizes.data(), static_cast<const int64_t*>(nullptr),
        static_cast<uint32_t>(sizes.size()), static_cast<uint32_t>(dtype),
        opyard_device{device.kind, device.index}, &made.handle_);
    return made;
  }
  static Tensor empty(std::initializer_list<int64_t> sizes, DType dtype, Device device = {}) {
    return empty(IntList(sizes.begin(), sizes.size()), dtype, device);
  }
  static Tensor empty_like(const Tensor& other) {
    const opyard_tensor_view seen = other.view();
    return empty(other.sizes(), static_cast<DType>(seen.dtype_number),
                 {seen.on.kind, seen.on.index});
  }
  // A tensor on memory of the plugin, which stays loaded until `deleter(context)` has returned.
  // When it raises, the memory stays the caller's.
  static Tensor on_memory(void* data, uint64_t bytes, IntList sizes, DType dtype,
                          void (*deleter)(void* context), void* context, Device device = {});

  bool defined() const noexcept { return handle_ != 0; }
  opyard_tensor_view view() const {
    opyard_tensor_view seen;
    ask(the_host.tensors->view, handle_, &seen, uint64_t{sizeof(seen)});
    return seen;
  }
  DType dtype() const { return static_cast<DType>(view().dtype_number); }
  Device device() const {
    const opyard_device on = view().on;
    return {on.kind, on.index};
  }
  IntList sizes() const {
    const opyard_tensor_view seen = view();
    return {seen.shape, static_cast<size_t>(seen.ndim)};
  }
  IntList strides() const {
    const opyard_tensor_view seen = view();
    return {seen.strides, static_cast<size_t>(seen.ndim)};
  }
  int64_t dim() const { return view().ndim; }
  int64_t numel() const { return view().numel; }
  bool is_contiguous() const { return view().flags & OPYARD_CONTIGUOUS; }
  // Itself when its elements stand in a row, else a copy whose elements do: what a kernel gets may
  // be any view. The copy is a call of aten::clone; UNIMPLEMENTED in a host without opyard.calls.
  Tensor contiguous() const;

  // The first element. Raises INVALID_ARGUMENT when T is not the dtype or the tensor is not on the
  // host.
  template <typename T>
  T* data() const {
    const opyard_tensor_view seen = view();
    require(seen.dtype_number == static_cast<uint32_t>(DTypeOf<std::remove_const_t<T>>::value),
            Code::kInvalidArgument, "the tensor's elements were read as another dtype");
    require(seen.on.kind == OPYARD_DEVICE_CPU, Code::kInvalidArgument,
            "the tensor is not on cpu; copy it there to read its elements");
    return static_cast<T*>(seen.data);
  }

  // Another window on the same memory, with the tensor's dispatch keys.
  Tensor window(IntList sizes, IntList strides, int64_t offset) const {
    require(sizes.size() == strides.size(), Code::kInvalidArgument,
            "a window has as many sizes as strides");
    Tensor made;
    ask(the_host.tensors->window, handle_, sizes.data(), strides.data(),
        static_cast<uint32_t>(sizes.size()), offset, &made.handle_);
    return made;
  }

  opyard_tensor handle() const noexcept { return handle_; }
  // Takes over a reference that the caller owns.
  static Tensor adopt(opyard_tensor handle) noexcept {
    Tensor tensor;
    tensor.handle_ = handle;
    return tensor;
  }
  // Gives the reference away; undefined afterwards.
  opyard_tensor detach() noexcept { return std::exchange(handle_, 0); }

 private:
  opyard_tensor handle_ = 0;
};
static_assert(sizeof(Tensor) == sizeof(opyard_tensor));

inline Tensor Tensor::on_memory(void* data, uint64_t bytes, IntList sizes, DType dtype,
                                void (*deleter)(void*), void* context, Device device) {
  opyard_memory memory{};
  memory.struct_size = sizeof(memory);
  memory.data = data;
  memory.bytes = bytes;
  memory.device = {device.kind, device.index};
  opyard_storage storage = 0;
  // Until the tensor is there the deleter waits: a failure leaves the memory to the caller.
  struct End {
    void (*deleter)(void*) = nullptr;
    void* context = nullptr;
  };
  auto end = std::make_unique<End>();
  memory.deleter = [](void* given) {
    const std::unique_ptr<End> kept(static_cast<End*>(given));
    if (kept->deleter) kept->deleter(kept->context);
  };
  memory.context = end.get();
  ask(the_host.tensors->storage_create, the_host.host, static_cast<const opyard_memory*>(&memory),
      &storage);
  End* armed = end.release();
  Tensor made;
  try {
    ask(the_host.tensors->on_storage, storage, static_cast<uint32_t>(dtype), sizes.data(),
        static_cast<const int64_t*>(nullptr), static_cast<uint32_t>(sizes.size()), int64_t{0},
        &made.handle_);
  } catch (...) {
    the_host.tensors->storage_release(storage);
    throw;
  }
  armed->deleter = deleter;
  armed->context = context;
  the_host.tensors->storage_release(storage);
  return made;
}

OPYARD_STABLE_END
