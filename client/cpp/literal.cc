#include "client/cpp/literal.h"

#include "client/cpp/elements.h"
#include "opyard/base/check.h"

namespace opyard::client {
namespace {

// Which kinds of number occur; decides the dtype where none is named.
struct Kinds {
  bool any_bool = false;
  bool any_integer = false;
  bool any_real = false;

  std::string dtype() const {
    if (any_real || !(any_bool || any_integer)) return "float32";
    return any_integer ? "int64" : "bool";
  }
};

// The literal's depth is bounded by its parser.
void look_through(const Literal& literal, Kinds* kinds) {
  if (const auto* list = literal.get_if<Literal::List>()) {
    for (const Literal& item : *list) look_through(item, kinds);
  }
  kinds->any_bool = kinds->any_bool || literal.get_if<bool>();
  kinds->any_integer = kinds->any_integer || literal.get_if<int64_t>();
  kinds->any_real = kinds->any_real || literal.get_if<double>();
}

Element element_of(const Literal& literal) {
  Element element;
  if (const auto* real = literal.get_if<double>()) {
    element.kind = ElementKind::kReal;
    element.number = *real;
  } else if (const auto* integer = literal.get_if<int64_t>()) {
    element.integer = *integer;
  } else if (const auto* boolean = literal.get_if<bool>()) {
    element.kind = ElementKind::kBool;
    element.integer = *boolean;
  } else {
    raise(Code::kInvalidArgument, "a tensor holds numbers and bools, not texts or null");
  }
  return element;
}

// A complex element is written [re, im].
Element complex_of(const Literal::List& pair) {
  OPYARD_CHECK(pair.size() == 2, kInvalidArgument, "a complex element is written [re, im]");
  const auto part = [](const Literal& literal) { return element_of(literal).as_complex().real(); };
  return {ElementKind::kComplex, 0, {part(pair[0]), part(pair[1])}};
}

bool is_pair(const Literal& literal) {
  const auto* list = literal.get_if<Literal::List>();
  return list && list->size() == 2 && !(*list)[0].get_if<Literal::List>();
}

void fill(const Literal& literal, size_t depth, const DtypeFacts& dtype, HostTensor* tensor) {
  const auto* list = literal.get_if<Literal::List>();
  if (depth == tensor->sizes.size()) {
    if (list && dtype.kind == ElementKind::kComplex) {
      return append_element(tensor->data, dtype, complex_of(*list));
    }
    OPYARD_CHECK(!list, kInvalidArgument, "the lists of a tensor are nested unevenly");
    return append_element(tensor->data, dtype, element_of(literal));
  }
  OPYARD_CHECK(list && static_cast<int64_t>(list->size()) == tensor->sizes[depth], kInvalidArgument,
               "the lists of a tensor have different lengths: got ", list ? list->size() : 1,
               ", wanted ", tensor->sizes[depth], " as in the first");
  for (const Literal& item : *list) fill(item, depth + 1, dtype, tensor);
}

}  // namespace

HostTensor tensor_from_literal(const Literal& literal, const std::string& dtype) {
  Kinds kinds;
  look_through(literal, &kinds);
  HostTensor tensor;
  tensor.dtype = dtype.empty() ? kinds.dtype() : dtype;
  const DtypeFacts& facts = dtype_facts(tensor.dtype);
  const bool complex = facts.kind == ElementKind::kComplex;
  for (const Literal* at = &literal; const auto* list = at->get_if<Literal::List>();) {
    if (complex && is_pair(*at)) break;
    tensor.sizes.push_back(static_cast<int64_t>(list->size()));
    if (list->empty()) break;
    at = &list->front();
  }
  fill(literal, 0, facts, &tensor);
  return tensor;
}

}  // namespace opyard::client
