// Host extension opyard.tensors: what kernels without our headers do with tensors and values.
#include <algorithm>
#include <cstring>
#include <memory>

#include "opyard/base/check.h"
#include "opyard/core/ivalue.h"
#include "opyard/plugin/device_memory.h"
#include "opyard/plugin/host_extensions.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/records.h"

namespace opyard::plugin {
namespace {

// The numbers of the interface are the library's own.
#define OPYARD_T(number, name, text, bytes, kind) \
  static_assert(static_cast<int>(ScalarType::k##name) == number);
OPYARD_SCALAR_TYPES(OPYARD_T)
#undef OPYARD_T
static_assert(static_cast<int>(ScalarType::kFloat32) == OPYARD_FLOAT32);
static_assert(static_cast<int>(ScalarType::kBool) == OPYARD_BOOL8);
static_assert(static_cast<int>(ScalarType::kBFloat16) == OPYARD_BFLOAT16);
static_assert(static_cast<int>(ScalarType::kUInt64) == OPYARD_UINT64);
static_assert(static_cast<int>(Backend::kCPU) == OPYARD_DEVICE_CPU);
static_assert(static_cast<int>(Backend::kCUDA) == OPYARD_DEVICE_CUDA);
static_assert(static_cast<int>(Backend::kPrivateUse1) == OPYARD_DEVICE_PRIVATE1);
static_assert(static_cast<int>(Backend::kPrivateUse3) == OPYARD_DEVICE_PRIVATE3);
static_assert(static_cast<int>(Backend::kMeta) == OPYARD_DEVICE_META);

void check_pointer(const void* pointer, std::string_view what) {
  OPYARD_CHECK(pointer != nullptr, kInvalidArgument, what, " is a null pointer");
}

Tensor tensor_of(opyard_tensor handle) {
  OPYARD_CHECK(handle != 0 && handle % alignof(TensorImpl) == 0, kInvalidArgument,
               handle == 0 ? "the tensor is undefined" : "this number is no tensor handle");
  return Tensor::share_impl(reinterpret_cast<TensorImpl*>(handle));
}

Storage storage_of_handle(opyard_storage handle) {
  OPYARD_CHECK(handle != 0 && handle % alignof(StorageImpl) == 0, kInvalidArgument,
               handle == 0 ? "there is no storage" : "this number is no storage handle");
  return Storage::share(reinterpret_cast<StorageImpl*>(handle));
}

ScalarType dtype_of(uint32_t number) {
  const auto type = static_cast<ScalarType>(number);
  OPYARD_CHECK(number < 64 && is_valid(type), kInvalidArgument, "there is no dtype number ",
               number);
  return type;
}

Device device_of(opyard_device device) {
  OPYARD_CHECK(device.kind >= 1 && device.kind <= kNumBackends && device.index >= -1 &&
                   device.index <= INT16_MAX,
               kInvalidArgument, "there is no device of kind ", device.kind, " with index ",
               device.index);
  return {static_cast<Backend>(device.kind), static_cast<int16_t>(device.index)};
}

IntList list_of(const int64_t* numbers, uint32_t count, std::string_view what) {
  OPYARD_CHECK(count <= kMaxDims, kInvalidArgument, "got ", count, " ", what, "; ",
               size_t{kMaxDims}, " are the most");
  if (count > 0) check_pointer(numbers, what);
  return IntList(numbers, count);
}

// Row-major without strides.
Dims strides_of(const int64_t* strides, IntList sizes) {
  if (!strides) return contiguous_strides(sizes);
  return Dims(IntList(strides, sizes.size()));
}

template <typename T>
ArrayRef<T> array_of(const T* values, uint64_t count) {
  OPYARD_CHECK(count <= UINT32_MAX, kInvalidArgument, "got ", count, " elements; ", UINT32_MAX,
               " are the most");
  if (count > 0) check_pointer(values, "the array of elements");
  return ArrayRef<T>(values, count);
}

void give(Tensor tensor, opyard_tensor* made) {
  *made = reinterpret_cast<opyard_tensor>(tensor.detach_impl());
}

int32_t dlpack_device(Backend backend) {
  switch (backend) {
    case Backend::kCPU:
      return 1;
    case Backend::kCUDA:
      return 2;
    case Backend::kMPS:
      return 8;
    case Backend::kHIP:
      return 10;
    case Backend::kXPU:
      return 14;
    default:
      return 12;  // an extension's device
  }
}

struct DlpackType {
  uint8_t code;
  uint8_t bits;
};
DlpackType dlpack_type(ScalarType type) {
  const auto bits = static_cast<uint8_t>(element_size(type) * 8);
  switch (type) {
    case ScalarType::kBFloat16:
      return {4, bits};
    case ScalarType::kFloat8E4M3FN:
      return {10, bits};
    case ScalarType::kFloat8E4M3FNUZ:
      return {11, bits};
    case ScalarType::kFloat8E5M2:
      return {12, bits};
    case ScalarType::kFloat8E5M2FNUZ:
      return {13, bits};
    default:
      break;
  }
  switch (kind_of(type)) {
    case TypeKind::kBoolean:
      return {6, bits};
    case TypeKind::kUnsigned:
      return {1, bits};
    case TypeKind::kSigned:
      return {0, bits};
    case TypeKind::kFloating:
      return {2, bits};
    case TypeKind::kComplex:
      return {5, bits};
    case TypeKind::kQuantized:
      break;
  }
  return {3, bits};
}

// Its memory may have been taken away. Without a wait: this may be asked on a device's own threads.
void check_kept(const StorageImpl& storage) {
  if (storage.device().is_cpu()) return;
  if (const auto* memory = dynamic_cast<const DeviceMemory*>(storage.allocator())) {
    memory->check_kept();
  }
}

opyard_tensor_view view_of_tensor(const Tensor& tensor) {
  const Device device = tensor.device();
  const DlpackType type = dlpack_type(tensor.dtype());
  opyard_tensor_view view{};
  view.data = tensor.raw_data();
  view.device = {dlpack_device(device.type), device.index < 0 ? 0 : device.index};
  view.ndim = static_cast<int32_t>(tensor.dim());
  view.dtype = {type.code, type.bits, 1};
  view.shape = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.handle = reinterpret_cast<opyard_tensor>(tensor.unsafe_impl());
  view.storage_data = tensor.storage()->data();
  view.storage_bytes = tensor.storage()->nbytes();
  view.numel = tensor.numel();
  view.dtype_number = static_cast<uint32_t>(tensor.dtype());
  view.flags = (tensor.is_contiguous() ? uint32_t{OPYARD_CONTIGUOUS} : 0u) |
               (tensor.is_wrapped_number() ? uint32_t{OPYARD_WRAPPED_NUMBER} : 0u);
  view.on = {static_cast<uint32_t>(device.type), device.index};
  return view;
}

int32_t view(opyard_tensor handle, opyard_tensor_view* view, uint64_t view_bytes,
             opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(view, "the view");
    OPYARD_CHECK(view_bytes >= OPYARD_DLTENSOR_SIZE && view_bytes % 8 == 0 && view_bytes <= 4096,
                 kInvalidArgument, "a view of ", view_bytes,
                 " bytes is wanted; it has to be a multiple of 8 from ",
                 uint32_t{OPYARD_DLTENSOR_SIZE}, " to 4096");
    const Tensor tensor = tensor_of(handle);
    check_kept(*tensor.storage());
    const opyard_tensor_view made = view_of_tensor(tensor);
    const size_t known = std::min<size_t>(view_bytes, sizeof(made));
    std::memset(view, 0, view_bytes);
    std::memcpy(view, &made, known);
  });
}

void retain(opyard_tensor handle) {
  if (handle) reinterpret_cast<TensorImpl*>(handle)->retain();
}
void release(opyard_tensor handle) { Tensor::adopt_impl(reinterpret_cast<TensorImpl*>(handle)); }

int32_t empty(const int64_t* sizes, const int64_t* strides, uint32_t ndim, uint32_t dtype,
              opyard_device device, opyard_tensor* made, opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(made, "the place for the tensor");
    const IntList shape = list_of(sizes, ndim, "sizes");
    const ScalarType type = dtype_of(dtype);
    const Device where = device_of(device);
    give(strides ? make_strided(shape, strides_of(strides, shape), type, where)
                 : make_tensor(shape, type, where),
         made);
  });
}

int32_t on_storage(opyard_storage storage, uint32_t dtype, const int64_t* sizes,
                   const int64_t* strides, uint32_t ndim, int64_t offset, opyard_tensor* made,
                   opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(made, "the place for the tensor");
    const IntList shape = list_of(sizes, ndim, "sizes");
    give(tensor_on(storage_of_handle(storage), dtype_of(dtype), shape, strides_of(strides, shape),
                   offset),
         made);
  });
}

int32_t window(opyard_tensor base, const int64_t* sizes, const int64_t* strides, uint32_t ndim,
               int64_t offset, opyard_tensor* made, opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(made, "the place for the tensor");
    const IntList shape = list_of(sizes, ndim, "sizes");
    give(view_of(tensor_of(base), shape, strides_of(strides, shape), offset), made);
  });
}

// What a foreign storage needs at its end: the plugin's deleter, and its lease until that is done.
struct ForeignMemory {
  Leases& leases;
  opyard_memory memory;

  ForeignMemory(Leases& leases, const opyard_memory& memory) : leases(leases), memory(memory) {
    leases.acquire(LeaseKind::kStorage);
  }
  // Without the deleter: for memory that stays the plugin's.
  ~ForeignMemory() { leases.release(LeaseKind::kStorage); }

  static void end(void* context) noexcept {
    const std::unique_ptr<ForeignMemory> record(static_cast<ForeignMemory*>(context));
    if (record->memory.deleter) record->memory.deleter(record->memory.context);
  }
};

int32_t storage_create(const opyard_host* host, const opyard_memory* memory, opyard_storage* made,
                       opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(host, "the host");
    check_pointer(made, "the place for the storage");
    const auto wanted = take<opyard_memory>(memory, OPYARD_MEMORY_SIZE_1_0, "the memory");
    const Device device = device_of(wanted.device);
    OPYARD_CHECK(wanted.bytes <= INT64_MAX, kInvalidArgument, "no memory has ", wanted.bytes,
                 " bytes");
    OPYARD_CHECK(wanted.data || wanted.bytes == 0 || device.is_meta(), kInvalidArgument,
                 "the memory is a null pointer with ", wanted.bytes, " bytes");
    auto record = std::make_unique<ForeignMemory>(HostTable::of(host).leases(), wanted);
    Storage storage =
        wrap_memory(wanted.data, wanted.bytes, device, &ForeignMemory::end, record.get());
    record.release();
    *made = reinterpret_cast<opyard_storage>(storage.detach());
  });
}

int32_t storage_of(opyard_tensor handle, opyard_storage* storage, opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(storage, "the place for the storage");
    *storage = reinterpret_cast<opyard_storage>(Storage(tensor_of(handle).storage()).detach());
  });
}
void storage_retain(opyard_storage handle) {
  if (handle) reinterpret_cast<StorageImpl*>(handle)->retain();
}
void storage_release(opyard_storage handle) {
  Storage::adopt(reinterpret_cast<StorageImpl*>(handle));
}
int32_t storage_data(opyard_storage handle, void** data, uint64_t* bytes, opyard_status* status) {
  return guarded(status, [&] {
    const Storage storage = storage_of_handle(handle);
    check_kept(*storage);
    if (data) *data = storage->data();
    if (bytes) *bytes = storage->nbytes();
  });
}

// Puts what `make` gives into *made.
template <typename F>
int32_t give_value(opyard_value* made, opyard_status* status, F&& make) noexcept {
  return guarded(status, [&] {
    check_pointer(made, "the place for the value");
    *made = IValue(make()).detach();
  });
}

int32_t make_str(opyard_str text, opyard_value* made, opyard_status* status) {
  return give_value(made, status, [&] {
    if (text.size > 0) check_pointer(text.data, "the text");
    return IValue(std::string_view(text.data, text.size));
  });
}
int32_t make_complex(double real, double imaginary, opyard_value* made, opyard_status* status) {
  return give_value(made, status, [&] { return IValue(std::complex<double>(real, imaginary)); });
}
int32_t make_ints(const int64_t* values, uint64_t count, opyard_value* made,
                  opyard_status* status) {
  return give_value(made, status, [&] { return IValue(array_of(values, count)); });
}
int32_t make_doubles(const double* values, uint64_t count, opyard_value* made,
                     opyard_status* status) {
  return give_value(made, status, [&] { return IValue(array_of(values, count)); });
}
int32_t make_bools(const uint8_t* values, uint64_t count, opyard_value* made,
                   opyard_status* status) {
  return give_value(made, status, [&] {
    const ArrayRef<uint8_t> given = array_of(values, count);
    for (const uint8_t value : given) {
      OPYARD_CHECK(value <= 1, kInvalidArgument, "a bool is 0 or 1, got ", uint32_t{value});
    }
    return IValue(ArrayRef<bool>(reinterpret_cast<const bool*>(values), count));
  });
}
int32_t make_tensors(const opyard_tensor* values, uint64_t count, opyard_value* made,
                     opyard_status* status) {
  return give_value(made, status, [&] {
    array_of(values, count);
    return IValue(ArrayRef<Tensor>(reinterpret_cast<const Tensor*>(values), count));
  });
}
int32_t make_values(uint32_t tag, const opyard_value* values, uint64_t count, opyard_value* made,
                    opyard_status* status) {
  return give_value(made, status, [&] {
    for (const opyard_value& value : array_of(values, count)) {
      OPYARD_CHECK(value.tag <= OPYARD_DICT, kInvalidArgument, "there is no tag ", value.tag);
    }
    const ArrayRef<IValue> elements(reinterpret_cast<const IValue*>(values), count);
    if (tag == OPYARD_LIST) return IValue::list(elements);
    if (tag == OPYARD_DICT) return IValue::dict(elements);
    OPYARD_CHECK(tag == OPYARD_TUPLE, kInvalidArgument,
                 "values make a LIST, a TUPLE or a DICT, not what has the tag ", tag);
    return IValue::tuple(elements);
  });
}
void value_retain(const opyard_value* value) {
  if (value) IValue(*reinterpret_cast<const IValue*>(value)).detach();
}
void value_release(opyard_value* value) {
  if (!value) return;
  IValue::adopt(*value);
  *value = {OPYARD_NONE, 0, 0};
}

int32_t device_named(opyard_str name, opyard_device* device, opyard_status* status) {
  return guarded(status, [&] {
    check_pointer(device, "the place for the device");
    const Device found = Device::parse(take_text(name, 64, "the name of the device"));
    *device = {static_cast<uint32_t>(found.type), found.index};
  });
}

opyard_status* own_status() {
  thread_local opyard_status status;
  status = {};
  return &status;
}
opyard_str status_text(const opyard_status* status) {
  if (!status) return {nullptr, 0, 0};
  return {status->message.data(), static_cast<uint32_t>(status->message.size()), 0};
}

}  // namespace

const opyard_tensors kHostTensors = {sizeof(opyard_tensors),
                                     0,
                                     &view,
                                     &retain,
                                     &release,
                                     &empty,
                                     &on_storage,
                                     &window,
                                     &storage_create,
                                     &storage_of,
                                     &storage_retain,
                                     &storage_release,
                                     &storage_data,
                                     &make_str,
                                     &make_complex,
                                     &make_ints,
                                     &make_doubles,
                                     &make_bools,
                                     &make_tensors,
                                     &make_values,
                                     &value_retain,
                                     &value_release,
                                     &device_named,
                                     &own_status,
                                     &status_text};

}  // namespace opyard::plugin
