#pragma once

#include <optional>

#include "opyard/core/ivalue.h"
#include "opyard/dispatch/schema.h"

namespace opyard {

// Typed arguments: tensors alone, optional or in lists, generators; all else brings no keys, not
// even what lies deeper: in lists of lists, optional lists, dicts. A tensor that is undefined
// brings its keys; one that is absent does not.
inline KeySet keys_of(const Tensor& tensor) noexcept { return tensor.key_set(); }
inline KeySet keys_of(const std::optional<Tensor>& tensor) noexcept {
  return tensor ? tensor->key_set() : KeySet();
}
inline KeySet keys_of(const Generator& generator) noexcept { return generator.key_set(); }
inline KeySet keys_of(const IntrusivePtr<Generator>& generator) noexcept {
  return generator ? generator->key_set() : KeySet();
}
template <typename T>
constexpr KeySet keys_of(const T&) noexcept {
  return KeySet();
}
template <typename List>
requires requires(const List& list) {
  list.begin();
  requires std::is_same_v<typename List::value_type, Tensor> ||
      std::is_same_v<typename List::value_type, std::optional<Tensor>>;
}
KeySet keys_of(const List& tensors) noexcept {
  KeySet keys;
  for (const auto& tensor : tensors) keys = keys | keys_of(tensor);
  return keys;
}

// Which positions of an operator's boxed arguments bring keys: a bit per argument whose type is
// Tensor, Tensor?, Tensor[], Tensor?[], Generator or Generator?.
uint64_t key_positions(const FunctionSchema& schema) noexcept;
// The union of the keys at these positions, whatever is there.
KeySet any_boxed_keys(uint64_t positions, const IValue* in, uint32_t n) noexcept;
// The same, at once where all are tensors.
inline KeySet boxed_keys(uint64_t positions, const IValue* in, uint32_t n) noexcept {
  KeySet keys;
  if (n < 64 && positions >> n != 0) [[unlikely]]
    return any_boxed_keys(positions, in, n);
  for (const IValue* value = in; positions != 0; positions >>= 1, ++value) {
    if (!(positions & 1)) continue;
    if (!value->is(Tag::kTensor)) [[unlikely]]
      return keys | any_boxed_keys(positions, value, n - static_cast<uint32_t>(value - in));
    keys = keys | value->to_tensor().key_set();
  }
  return keys;
}

}  // namespace opyard
