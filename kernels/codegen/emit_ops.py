"""The public side (floor 3): a header of stubs per operator name, handles, tensor operators, the umbrella header."""

import collections

from schema import SchemaError
from writer import BANNER, comment, sentence

FACTORY_TAIL = ("dtype", "layout", "device", "pin_memory")
BINARY = (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("==", "eq"), ("!=", "ne"), ("<", "lt"), ("<=", "le"),
          (">", "gt"), (">=", "ge"))
REVERSED = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne", "+": "add", "*": "mul"}
COMPOUND = (("+=", "add_"), ("-=", "sub_"), ("*=", "mul_"), ("/=", "div_"))


def stub_name(schema):
    return schema.name + ("_out" if schema.out_arguments else "")


def stub_type(argument):
    """Optional lists are taken as lists: a braced list cannot become an optional without a dangling pointer."""
    return "IntList" if argument.cpp_type() == "std::optional<IntList>" else argument.cpp_type()


def stub_parameters(schema):
    """Out arguments first; a default stays only where all that follow have one."""
    outs = [a for a in schema.arguments if a in schema.out_arguments]
    rest = [a for a in schema.arguments if a not in schema.out_arguments]
    texts, defaults = [], True
    for argument in reversed(rest):
        default = argument.cpp_default() if argument.cpp_type() != "std::optional<IntList>" else None
        defaults = defaults and default is not None
        texts.append(f"{stub_type(argument)} {argument.name}" + (f" = {default}" if defaults else ""))
    return [f"{a.cpp_type()} {a.name}" for a in outs] + texts[::-1]


def stub(operator):
    schema = operator.schema
    names = ", ".join(a.name for a in schema.arguments)
    return (f"inline {schema.cpp_return()} {stub_name(schema)}({', '.join(stub_parameters(schema))}) {{\n"
            f"  return handles::{schema.identifier}({names});\n}}\n")


def options_stub(operator):
    """For factories: dtype, layout and device as one TensorOptions."""
    arguments = operator.schema.arguments
    names = [a.name for a in arguments]
    if any(name not in names for name in FACTORY_TAIL):
        return ""
    at = names.index("dtype")
    head, tail = arguments[:at], arguments[at + len(FACTORY_TAIL):]
    parameters = [f"{stub_type(a)} {a.name}" for a in head] + ["const TensorOptions& options"]
    parameters += [f"{stub_type(a)} {a.name} = {a.cpp_default()}" for a in tail]
    values = [a.name for a in head] + ["options.dtype", "options.layout", "options.device", "{}"] + [a.name for a in tail]
    return (f"inline Tensor {operator.schema.name}({', '.join(parameters)}) {{\n"
            f"  return handles::{operator.schema.identifier}({', '.join(values)});\n}}\n")


def handle_declaration(operator):
    return f"extern const OpHandle<{operator.schema.cpp_signature()}> {operator.schema.identifier};"


def by_header(entries):
    """Operators by the name of their header: add, add_ and add.out all stand in add.h."""
    headers = collections.OrderedDict()
    for entry in entries:
        name = entry.schema.name.rstrip("_") or entry.schema.name
        headers.setdefault(name, []).extend(entry.operators)
    return headers


def ops_header(operators):
    parts = [BANNER, "#pragma once\n\n#include \"opyard/dispatch/handle.h\"\n\nnamespace opyard::handles {\n"]
    parts += [handle_declaration(operator) + "\n" for operator in operators]
    parts.append("}  // namespace opyard::handles\n\nnamespace opyard::ops {\n")
    for operator in operators:
        try:
            text = stub(operator)
        except SchemaError:
            continue  # no C++ default: the handle serves
        if operator.role == "base":
            parts.append("\n" + comment(sentence(operator.entry)) + "\n")
        parts.append(text)
        if "factory" in operator.entry.tags:
            parts.append(options_stub(operator))
    parts.append("\n}  // namespace opyard::ops\n")
    return "".join(parts)


def kernel_handles_header(entries):
    parts = [BANNER, "#pragma once\n\n#include \"opyard/dispatch/handle.h\"\n\n",
             "// The internal operators whose slots hold the backends' kernels. Not for callers: the public\n",
             "// operators check, allocate and then come here.\nnamespace opyard::handles::kernel {\n"]
    for entry in entries:
        if entry.kernel:
            parts.append(f"extern const OpHandle<{entry.kernel.cpp_signature()}> {entry.kernel.identifier};\n")
    parts.append("}  // namespace opyard::handles::kernel\n")
    return "".join(parts)


def handle_definition(schema):
    text = schema.text(with_namespace=True)
    return f"constinit const OpHandle<{schema.cpp_signature()}> {schema.identifier}(\n    \"{text}\");\n"


def handles_source(group, entries):
    headers = sorted(by_header(entries))
    parts = [BANNER] + [f"#include \"opyard/ops/{name}.h\"\n" for name in headers]
    parts.append("#include \"opyard/ops/kernel_handles.h\"\n\nnamespace opyard::handles {\n")
    for entry in entries:
        parts += [handle_definition(operator.schema) for operator in entry.operators]
    parts.append("namespace kernel {\n")
    parts += [handle_definition(entry.kernel) for entry in entries if entry.kernel]
    parts.append("}  // namespace kernel\n}  // namespace opyard::handles\n")
    return "".join(parts)


def umbrella(entries):
    includes = [f"#include \"opyard/ops/{name}.h\"\n" for name in sorted(by_header(entries))]
    return BANNER + "#pragma once\n\n" + "".join(includes) + "#include \"opyard/ops/tensor_operators.h\"\n"


def tensor_operators():
    used = sorted({name for _, name in BINARY} | {"neg"})
    parts = [BANNER, "#pragma once\n\n"] + [f"#include \"opyard/ops/{name}.h\"\n" for name in used]
    parts.append("\n// a + b, a * 2, 1 - a, -a, a < b, a += b on tensors.\nnamespace opyard {\n\n")
    for symbol, name in BINARY:
        for other in ("const Tensor&", "const Scalar&"):
            parts.append(f"inline Tensor operator{symbol}(const Tensor& a, {other} b) {{ return ops::{name}(a, b); }}\n")
        if symbol in REVERSED:
            body = f"ops::{REVERSED[symbol]}(b, a)"
        else:
            body = f"ops::{name}(wrapped_number(a), b)"
        parts.append(f"inline Tensor operator{symbol}(const Scalar& a, const Tensor& b) {{ return {body}; }}\n")
    for symbol, name in COMPOUND:
        for other in ("const Tensor&", "const Scalar&"):
            parts.append(f"inline Tensor& operator{symbol}(Tensor& a, {other} b) {{ return ops::{name}(a, b); }}\n")
    parts.append("inline Tensor operator-(const Tensor& a) { return ops::neg(a); }\n\n}  // namespace opyard\n")
    return "".join(parts)
