#include "opyard/dispatch/signature.h"

#include <cxxabi.h>

#include <cstdlib>
#include <utility>

#include "opyard/base/check.h"

namespace opyard {
namespace {

// Makes std::vector<T, std::allocator<T>> a std::vector<T>.
void drop_allocators(std::string& text) {
  static constexpr std::string_view kAllocator = ", std::allocator<";
  for (size_t begin = 0; (begin = text.find(kAllocator, begin)) != std::string::npos;) {
    size_t end = begin + kAllocator.size();
    for (int open = 1; open > 0 && end < text.size(); ++end) {
      open += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
    }
    text.erase(begin, end - begin);
  }
}

}  // namespace

FunctionSchema schema_from_types(ArrayRef<SchemaTypeFn> arguments, ArrayRef<SchemaTypeFn> returns) {
  FunctionSchema schema;
  const auto append = [](std::vector<Argument>& list, ArrayRef<SchemaTypeFn> types) {
    for (const SchemaTypeFn type : types) {
      Argument& added = list.emplace_back();
      added.name = str_cat("_", list.size() - 1);
      added.type = type();
    }
  };
  append(schema.arguments, arguments);
  append(schema.returns, returns);
  schema.returns_tuple_text = true;
  return schema;
}

void check_by_value(std::string_view op, const SignatureInfo& signature, std::string_view place) {
  if (signature.by_reference < 0) return;
  const auto position = static_cast<size_t>(signature.by_reference);
  raise(Code::kInvalidArgument,
        str_cat("mismatch in the C++ signature '", demangle(signature.mangled),
                "' for the operator '", op, "' (", place, "): the argument at position ", position,
                ", of type ", to_string(signature.schema().arguments[position].type),
                ", is taken by reference and must be passed by value"));
}

std::string demangle(const char* mangled) {
  static constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
       "std::string"},
      {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
      {"opyard::", ""},
      {"> >", ">>"}};
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string result = text ? text : mangled;
  std::free(text);
  const auto replace = [&](std::string_view longer, std::string_view shorter) {
    for (size_t at = 0; (at = result.find(longer, at)) != std::string::npos;) {
      result.replace(at, longer.size(), shorter);
    }
  };
  for (const auto& [longer, shorter] : kShorter) replace(longer, shorter);
  drop_allocators(result);
  return result;
}

}  // namespace opyard
