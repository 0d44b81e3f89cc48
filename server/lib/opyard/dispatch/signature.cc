#include "opyard/dispatch/signature.h"

#include <cxxabi.h>

#include <cstdlib>

#include "opyard/base/check.h"
#include "opyard/dispatch/operator_entry.h"

namespace opyard {

FunctionSchema schema_from_types(std::initializer_list<SchemaType> arguments,
                                 std::initializer_list<SchemaType> returns) {
  FunctionSchema schema;
  for (const SchemaType& type : arguments) {
    Argument argument;
    argument.name = str_cat("_", schema.arguments.size());
    argument.type = type;
    schema.arguments.push_back(std::move(argument));
  }
  for (const SchemaType& type : returns) {
    Argument result;
    result.name = str_cat("_", schema.returns.size());
    result.type = type;
    schema.returns.push_back(std::move(result));
  }
  schema.returns_tuple_text = true;
  return schema;
}

std::string demangle(const char* mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string result = text ? text : mangled;
  std::free(text);
  return result;
}

void raise_count(Keys keys, uint32_t got, uint32_t wanted) {
  raise(Code::kInvalidArgument,
        str_cat("the operator '", keys.op().name(), "' takes ", wanted, " arguments, got ", got));
}

}  // namespace opyard
