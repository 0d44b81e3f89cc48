#include "opyard/dispatch/value_types.h"

#include <algorithm>
#include <array>

namespace opyard {
namespace {

constexpr uint32_t bit(Tag tag) { return uint32_t{1} << static_cast<uint32_t>(tag); }
constexpr uint32_t kInts = bit(Tag::kInt);
constexpr uint32_t kFloats = kInts | bit(Tag::kDouble);
constexpr uint32_t kNumbers = kFloats | bit(Tag::kComplex);
constexpr uint32_t kAnything = ~uint32_t{0};
constexpr uint32_t kArrays = kFloats | bit(Tag::kBool) | bit(Tag::kTensor);

// The tags that one value of each type may have, in the order of BaseType.
constexpr std::array<uint32_t, 22> kTagsOf = {
    bit(Tag::kTensor),                  // Tensor
    kInts,                              // int
    kInts,                              // SymInt
    kFloats,                            // float
    kFloats,                            // SymFloat
    bit(Tag::kBool),                    // bool
    bit(Tag::kBool),                    // SymBool
    kNumbers,                           // complex
    kNumbers | bit(Tag::kBool),         // Scalar
    bit(Tag::kString),                  // str
    bit(Tag::kDtype) | bit(Tag::kInt),  // ScalarType
    bit(Tag::kLayout),                  // Layout
    bit(Tag::kMemoryFormat),            // MemoryFormat
    bit(Tag::kDevice),                  // Device
    bit(Tag::kGenerator),               // Generator
    bit(Tag::kStream),                  // Stream
    bit(Tag::kStorage),                 // Storage
    kAnything,                          // Dimname
    kAnything,                          // QScheme
    kAnything,                          // Any
    bit(Tag::kDict),                    // Dict
    bit(Tag::kList),                    // a list in a list
};
static_assert(kTagsOf.size() == static_cast<size_t>(BaseType::kList) + 1);

bool is_dict_of(const IValue& value, const std::vector<SchemaType>& types) {
  if (types.size() != 2 || value.list_size() % 2 != 0) return false;
  const ArrayRef<IValue> items = value.to_dict();
  for (size_t i = 0; i < items.size(); ++i) {
    if (!has_type(items[i], types[i % 2])) return false;
  }
  return true;
}

// One value, or one element of a list.
bool is_single(const IValue& value, const SchemaType& type) {
  if (type.base == BaseType::kList) return has_type(value, type.inner.at(0));
  if (value.is_none()) return type.element_optional || type.base == BaseType::kAny;
  const auto tag = static_cast<uint32_t>(value.tag());
  if (tag > OPYARD_DICT || !(kTagsOf[static_cast<size_t>(type.base)] & bit(value.tag()))) {
    return false;
  }
  return type.base != BaseType::kDict || is_dict_of(value, type.inner);
}

// Each byte of a bool list that came from elsewhere must be a bool before it is read as one.
bool are_bools(const IValue& list) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(list.raw().payload);
  return std::all_of(bytes, bytes + list.list_size(), [](uint8_t byte) { return byte <= 1; });
}

}  // namespace

bool has_type(const IValue& value, const SchemaType& type) {
  if (!type.is_list) return is_single(value, type);
  if (value.is_none()) return type.list_optional;
  if (!value.is(Tag::kList)) return false;
  if (value.list_size() == 0) return true;
  const uint32_t tags = kTagsOf[static_cast<size_t>(type.base)];
  if (value.is_list_of(Tag::kNone)) {
    // What can lie as an array has to, unless elements may be absent.
    if (!type.element_optional && (tags & ~kArrays) == 0) return false;
    const ArrayRef<IValue> elements = value.to_list();
    return std::all_of(elements.begin(), elements.end(),
                       [&](const IValue& element) { return is_single(element, type); });
  }
  const auto element = static_cast<Tag>(value.raw().aux);
  if (tags == kFloats) return element == Tag::kDouble;  // ints do not lie as doubles
  return (kArrays & tags & bit(element)) != 0 && (element != Tag::kBool || are_bools(value));
}

}  // namespace opyard
