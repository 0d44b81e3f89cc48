#include "opyard/dispatch/key_extractor.h"

namespace opyard {

uint64_t key_positions(const FunctionSchema& schema) noexcept {
  uint64_t positions = 0;
  for (size_t i = 0; i < schema.arguments.size() && i < 64; ++i) {
    const SchemaType& type = schema.arguments[i].type;
    const bool brings_keys = (type.base == BaseType::kTensor && !type.list_optional) ||
                             (type.base == BaseType::kGenerator && !type.is_list);
    if (brings_keys) positions |= uint64_t{1} << i;
  }
  return positions;
}

namespace {

KeySet keys_of_value(const IValue& value) noexcept {
  if (value.is(Tag::kTensor)) return value.to_tensor().key_set();
  if (value.is_list_of(Tag::kTensor)) return keys_of(value.to_tensor_list());
  if (value.is(Tag::kGenerator) && value.raw().payload != 0) return keys_of(value.to_generator());
  KeySet keys;
  if (value.is_list_of(Tag::kNone)) {
    for (const IValue& element : value.to_list()) {
      if (element.is(Tag::kTensor)) keys = keys | element.to_tensor().key_set();
    }
  }
  return keys;
}

}  // namespace

KeySet any_boxed_keys(uint64_t positions, const IValue* in, uint32_t n) noexcept {
  KeySet keys;
  for (uint32_t i = 0; i < n && i < 64; ++i) {
    if (positions >> i & 1) keys = keys | keys_of_value(in[i]);
  }
  return keys;
}

}  // namespace opyard
