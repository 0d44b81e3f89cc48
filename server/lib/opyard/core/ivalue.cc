#include "opyard/core/ivalue.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace opyard {
namespace {

// What lies before the first element of a counted block.
struct BlockHeader {
  std::atomic<int64_t> refs;
  uint64_t count;
};
static_assert(sizeof(BlockHeader) == 16);

BlockHeader* header_of(uint64_t payload) { return reinterpret_cast<BlockHeader*>(payload) - 1; }

void* new_block(size_t count, size_t element_bytes) {
  if (count > (SIZE_MAX - sizeof(BlockHeader)) / element_bytes) throw std::bad_alloc();
  // At least a byte of payload: the address behind the header of an empty list would lie outside of
  // the block, and leak checkers find a block by addresses inside of it.
  const size_t payload = count == 0 ? 1 : count * element_bytes;
  void* memory = std::malloc(sizeof(BlockHeader) + payload);
  if (!memory) throw std::bad_alloc();
  auto* header = new (memory) BlockHeader{{1}, count};
  return header + 1;
}

template <typename T>
opyard_value block_of(uint32_t tag, uint32_t aux, const T* values, size_t count) {
  auto* first = static_cast<T*>(new_block(count, sizeof(T)));
  for (size_t i = 0; i < count; ++i) new (first + i) T(values[i]);
  return {tag, aux, reinterpret_cast<uint64_t>(first)};
}

template <typename T>
ArrayRef<T> elements_of(const opyard_value& value) {
  if (value.payload == 0) return {};
  return ArrayRef<T>(reinterpret_cast<const T*>(value.payload), header_of(value.payload)->count);
}

template <typename T>
void destroy_all(uint64_t payload) noexcept {
  auto* first = reinterpret_cast<T*>(payload);
  for (size_t i = header_of(payload)->count; i-- > 0;) first[i].~T();
}

bool is_block(uint32_t tag) noexcept {
  return tag == OPYARD_COMPLEX || tag == OPYARD_STR || tag == OPYARD_LIST || tag == OPYARD_TUPLE ||
         tag == OPYARD_DICT;
}

// A block of opyard_value.
bool holds_values(const opyard_value& value) noexcept {
  return value.tag == OPYARD_TUPLE || value.tag == OPYARD_DICT ||
         (value.tag == OPYARD_LIST && value.aux == OPYARD_NONE);
}

// The number that a value has in an enumeration of `count` members.
template <typename Enum>
Enum to_member(const opyard_value& value, uint64_t count, std::string_view what) {
  OPYARD_CHECK(value.payload < count, kInvalidArgument, "unknown ", what, " number ",
               static_cast<int64_t>(value.payload));
  return static_cast<Enum>(value.payload);
}

}  // namespace

std::string_view to_string(Tag tag) noexcept {
  static constexpr std::string_view kNames[] = {
      "None",   "bool",       "int",    "float",        "complex",   "str",     "Tensor",
      "Device", "ScalarType", "Layout", "MemoryFormat", "Generator", "Stream",  "Scalar",
      "list",   "tuple",      "SymInt", "SymFloat",     "SymBool",   "Storage", "dict"};
  const auto index = static_cast<size_t>(tag);
  return index < std::size(kNames) ? kNames[index] : "value of an unknown kind";
}

IValue::IValue(std::complex<double> value)
    : value_(block_of(OPYARD_COMPLEX, 0, reinterpret_cast<const double*>(&value), 2)) {}

IValue::IValue(const Scalar& value) : IValue() {
  switch (value.kind()) {
    case Scalar::Kind::kBool:
      *this = IValue(value.to_bool());
      break;
    case Scalar::Kind::kInt:
      *this = IValue(value.to_int());
      break;
    case Scalar::Kind::kDouble:
      *this = IValue(value.to_double());
      break;
    case Scalar::Kind::kComplex:
      *this = IValue(value.to_complex());
      break;
  }
}

IValue::IValue(std::string_view value)
    : value_(block_of(OPYARD_STR, 0, value.data(), value.size())) {}
IValue::IValue(ArrayRef<int64_t> values)
    : value_(block_of(OPYARD_LIST, OPYARD_INT, values.data(), values.size())) {}
IValue::IValue(ArrayRef<double> values)
    : value_(block_of(OPYARD_LIST, OPYARD_DOUBLE, values.data(), values.size())) {}
IValue::IValue(ArrayRef<bool> values)
    : value_(block_of(OPYARD_LIST, OPYARD_BOOL, values.data(), values.size())) {}
IValue::IValue(ArrayRef<Tensor> values)
    : value_(block_of(OPYARD_LIST, OPYARD_TENSOR, values.data(), values.size())) {}
IValue::IValue(const IntrusivePtr<Generator>& value) noexcept
    : value_{value ? uint32_t{OPYARD_GENERATOR} : uint32_t{OPYARD_NONE}, 0,
             reinterpret_cast<uint64_t>(IntrusivePtr<Generator>(value).detach())} {}

IValue IValue::list(ArrayRef<IValue> values) {
  return adopt(block_of(OPYARD_LIST, OPYARD_NONE, values.data(), values.size()));
}
IValue IValue::tuple(ArrayRef<IValue> values) {
  return adopt(block_of(OPYARD_TUPLE, 0, values.data(), values.size()));
}
IValue IValue::dict(ArrayRef<IValue> keys_and_values) {
  OPYARD_CHECK(keys_and_values.size() % 2 == 0, kInvalidArgument, "the last of ",
               keys_and_values.size(), " keys and values of a dict has no value");
  return adopt(block_of(OPYARD_DICT, 0, keys_and_values.data(), keys_and_values.size()));
}

void IValue::retain() const noexcept {
  if (value_.payload == 0) return;
  if (is_block(value_.tag)) {
    header_of(value_.payload)->refs.fetch_add(1, std::memory_order_relaxed);
  } else if (value_.tag == OPYARD_TENSOR) {
    reinterpret_cast<TensorImpl*>(value_.payload)->retain();
  } else if (value_.tag == OPYARD_GENERATOR) {
    reinterpret_cast<Generator*>(value_.payload)->retain();
  }
}

void IValue::release() noexcept {
  if (value_.payload == 0) return;
  if (value_.tag == OPYARD_TENSOR) {
    Tensor::adopt_impl(reinterpret_cast<TensorImpl*>(value_.payload));
    return;
  }
  if (value_.tag == OPYARD_GENERATOR) {
    IntrusivePtr<Generator>::adopt(reinterpret_cast<Generator*>(value_.payload));
    return;
  }
  if (!is_block(value_.tag)) return;
  BlockHeader* header = header_of(value_.payload);
  if (header->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (holds_values(value_)) {
    destroy_all<IValue>(value_.payload);
  } else if (value_.tag == OPYARD_LIST && value_.aux == OPYARD_TENSOR) {
    destroy_all<Tensor>(value_.payload);
  }
  std::free(header);
}

void IValue::raise_wrong_tag(Tag wanted) const {
  raise(Code::kInvalidArgument,
        str_cat("got ", describe(*this), " where ", to_string(wanted), " is wanted"));
}
void IValue::expect_list(Tag element) const {
  OPYARD_CHECK(is_list_of(element) || (is(Tag::kList) && list_size() == 0), kInvalidArgument,
               "got ", describe(*this), " where a list of ", to_string(element), " is wanted");
}

double IValue::to_double() const {
  if (is(Tag::kInt)) return static_cast<double>(to_int());
  expect(Tag::kDouble);
  return std::bit_cast<double>(value_.payload);
}
std::complex<double> IValue::to_complex() const {
  if (!is(Tag::kComplex)) return to_double();
  const auto parts = elements_of<double>(value_);
  return {parts[0], parts[1]};
}
Scalar IValue::to_scalar() const {
  if (is(Tag::kBool)) return Scalar(to_bool());
  if (is(Tag::kInt)) return Scalar(to_int());
  if (is(Tag::kComplex)) return Scalar(to_complex());
  OPYARD_CHECK(is(Tag::kDouble), kInvalidArgument, "got ", describe(*this),
               " where a number is wanted");
  return Scalar(to_double());
}
std::string_view IValue::to_string_view() const {
  expect(Tag::kString);
  const auto bytes = elements_of<char>(value_);
  return {bytes.data(), bytes.size()};
}
Device IValue::to_device() const {
  expect(Tag::kDevice);
  const auto index = static_cast<int64_t>(value_.payload);
  OPYARD_CHECK(value_.aux > 0 && value_.aux <= kNumBackends && index >= -1 && index <= INT16_MAX,
               kInvalidArgument, "unknown device: kind ", value_.aux, ", index ", index);
  return {static_cast<Backend>(value_.aux), static_cast<int16_t>(value_.payload)};
}
ScalarType IValue::to_dtype() const {
  if (!is(Tag::kInt)) expect(Tag::kDtype);
  const auto type = static_cast<ScalarType>(value_.payload);
  OPYARD_CHECK(value_.payload < 64 && is_valid(type), kInvalidArgument, "unknown dtype number ",
               static_cast<int64_t>(value_.payload));
  return type;
}
Layout IValue::to_layout() const {
  expect(Tag::kLayout);
  return to_member<Layout>(value_, static_cast<uint64_t>(Layout::kJagged) + 1, "layout");
}
MemoryFormat IValue::to_memory_format() const {
  expect(Tag::kMemoryFormat);
  return to_member<MemoryFormat>(value_, static_cast<uint64_t>(MemoryFormat::kChannelsLast3d) + 1,
                                 "memory format");
}
Generator& IValue::to_generator() const {
  if (value_.payload == 0) raise_wrong_tag(Tag::kGenerator);
  expect(Tag::kGenerator);
  return *reinterpret_cast<Generator*>(value_.payload);
}
ArrayRef<int64_t> IValue::to_int_list() const {
  expect_list(Tag::kInt);
  return elements_of<int64_t>(value_);
}
ArrayRef<double> IValue::to_double_list() const {
  expect_list(Tag::kDouble);
  return elements_of<double>(value_);
}
ArrayRef<bool> IValue::to_bool_list() const {
  expect_list(Tag::kBool);
  return elements_of<bool>(value_);
}
ArrayRef<Tensor> IValue::to_tensor_list() const {
  expect_list(Tag::kTensor);
  return elements_of<Tensor>(value_);
}
ArrayRef<IValue> IValue::to_list() const {
  if (!is(Tag::kTuple)) expect_list(Tag::kNone);
  return elements_of<IValue>(value_);
}

ArrayRef<IValue> IValue::to_dict() const {
  expect(Tag::kDict);
  const auto items = elements_of<IValue>(value_);
  OPYARD_CHECK(items.size() % 2 == 0, kInvalidArgument, "the last key of a dict has no value");
  return items;
}

size_t IValue::list_size() const noexcept {
  if (value_.tag != OPYARD_LIST && !holds_values(value_)) return 0;
  return value_.payload ? header_of(value_.payload)->count : 0;
}

std::vector<IValue> IValue::elements() const {
  std::vector<IValue> result;
  const auto collect = [&](auto list) {
    for (const auto& element : list) result.emplace_back(element);
  };
  OPYARD_CHECK(is(Tag::kList) || is(Tag::kTuple), kInvalidArgument, "got ", describe(*this),
               " where a list is wanted");
  if (is(Tag::kTuple) || is_list_of(Tag::kNone)) {
    collect(elements_of<IValue>(value_));
  } else if (is_list_of(Tag::kInt)) {
    collect(elements_of<int64_t>(value_));
  } else if (is_list_of(Tag::kDouble)) {
    collect(elements_of<double>(value_));
  } else if (is_list_of(Tag::kBool)) {
    collect(elements_of<bool>(value_));
  } else {
    collect(to_tensor_list());
  }
  return result;
}

std::string describe(const IValue& value) {
  if (value.is(Tag::kTensor)) return describe(value.to_tensor());
  if (value.is_scalar()) return str_cat(to_string(value.tag()), " ", to_string(value.to_scalar()));
  if (value.is(Tag::kString)) return str_cat("str '", value.to_string_view().substr(0, 64), "'");
  if (value.is(Tag::kDict)) return str_cat("dict of ", value.list_size() / 2);
  if (!value.is(Tag::kList)) return std::string(to_string(value.tag()));
  const auto element = static_cast<Tag>(value.raw().aux);
  return str_cat("list of ", value.list_size(), " ",
                 element == Tag::kNone ? "values" : to_string(element));
}

}  // namespace opyard
