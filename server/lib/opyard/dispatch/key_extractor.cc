#include "opyard/dispatch/key_extractor.h"

#include <bit>

namespace opyard {

uint64_t key_positions(const FunctionSchema& schema) noexcept {
  uint64_t positions = 0;
  for (size_t i = 0; i < schema.arguments.size() && i < 64; ++i) {
    const BaseType base = schema.arguments[i].type.base;
    if (base == BaseType::kTensor || base == BaseType::kGenerator) positions |= uint64_t{1} << i;
  }
  return positions;
}

KeySet boxed_keys(uint64_t positions, const IValue* in, uint32_t n) noexcept {
  KeySet keys;
  const auto take = [&](const IValue& value) {
    if (value.is(Tag::kTensor)) keys = keys | value.to_tensor().key_set();
  };
  for (; positions != 0; positions &= positions - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(positions));
    if (i >= n) break;
    if (in[i].is(Tag::kTensor)) {
      keys = keys | in[i].to_tensor().key_set();
    } else if (in[i].is_list_of(Tag::kTensor)) {
      keys = keys | keys_of(in[i].to_tensor_list());
    } else if (in[i].is_list_of(Tag::kNone)) {
      for (const IValue& element : in[i].to_list()) take(element);
    } else if (in[i].is(Tag::kGenerator)) {
      keys = keys | keys_of(in[i].to_generator());
    }
  }
  return keys;
}

}  // namespace opyard
