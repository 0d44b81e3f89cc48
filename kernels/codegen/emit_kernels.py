"""The inner side (floor 4d): wrappers of structured operators, backend selection of factories, registration."""

from emit_ops import by_header
from writer import BANNER

NAMESPACE = "opyard::generated"


def inputs_of(schema):
    """The tensors that a wrapper checks; the out argument is checked by itself."""
    return [a for a in schema.arguments if a.is_tensor and a not in schema.out_arguments]


def operand(argument):
    if not argument.is_tensor:
        return argument.name
    return f"shape::{'operands' if argument.is_list else 'operand'}({argument.name})"


def named(operator, lines):
    """A function of the operator's signature whose errors carry the operator's name."""
    schema = operator.schema
    body = "".join(f"    {line}\n" for line in lines)
    parameters = f", {schema.cpp_parameters()}" if schema.arguments else ""
    return (f"{schema.cpp_return()} {schema.identifier}([[maybe_unused]] Keys keys{parameters}) {{\n  try {{\n{body}"
            f"  }} catch (Error& error) {{\n    shape::rethrow_named(error, \"{schema.full_name}\");\n  }}\n}}\n")


def structured_wrapper(operator):
    """Checks, shape function, result, the backend's kernel: one for each form of the operator."""
    entry, schema = operator.entry, operator.schema
    own = [a for a in schema.arguments if a not in schema.out_arguments]
    tensors = inputs_of(schema)
    inputs = ", ".join(f"{{\"{a.name}\", {a.name}}}" for a in tensors)
    call = f"shape::{entry.structured}({', '.join(operand(a) for a in own)})"
    target = {"base": "result", "inplace": own[0].name, "out": "out"}[operator.role]
    kind = f"shape::Kind::k{entry.kind.capitalize()}"
    run = f"handles::kernel::{entry.kernel.identifier}.redispatch(keys.set, {', '.join(a.name for a in own)}, {target});"
    lines = [f"const std::array<shape::Input, {len(tensors)}> inputs{{{{{inputs}}}}};",
             f"const Device device = shape::common_device(keys, inputs, {kind});"]
    if operator.role == "base":
        lines.append(f"Tensor result = shape::allocate({call}, device);")
    else:
        check = "check_inplace" if operator.role == "inplace" else "prepare_out"
        lines.append(f"shape::{check}({target}, {call}, device, inputs, {kind});")
    lines.append(f"if (shape::has_work({target})) {run}")
    lines.append("return result;" if operator.role == "base" else f"return shape::written({target});")
    return named(operator, lines)


def composite_wrapper(operator):
    arguments = ["keys"] if operator.entry.kernel else []
    arguments += [a.name for a in operator.schema.arguments]
    return named(operator, [f"return composite::{operator.function()}({', '.join(arguments)});"])


def composite_declaration(operator):
    """What kernels/composite must define; a wrapper of an internal operator gets the keys too."""
    keys = "Keys keys, " if operator.entry.kernel else ""
    return f"{operator.schema.cpp_return()} {operator.function()}({keys}{operator.schema.cpp_parameters()});\n"


def select_wrapper(operator):
    """The BackendSelect kernel of a factory: goes on at the backend of its device argument."""
    schema = operator.schema
    types = ", ".join([schema.cpp_return()] + [a.cpp_type() for a in schema.arguments])
    names = ", ".join(a.name for a in schema.arguments)
    body = (f"  return invoke<{types}>(\n      keys.with(backend_select::factory_keys(dtype, layout, device)), {names});\n")
    return (f"{schema.cpp_return()} {schema.identifier}(Keys keys, {schema.cpp_parameters()}) {{\n{body}}}\n")


def is_factory(operator):
    return "factory" in operator.entry.tags


def impl_block(key, lines, name_space="aten"):
    if not lines:
        return ""
    return f"OPYARD_LIBRARY_IMPL({name_space}, {key}, m) {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n\n"


def registrations(entries):
    """Lines of the registration blocks by key."""
    blocks = {}
    for entry in entries:
        for operator in entry.operators:
            schema = operator.schema
            keys = (["Meta"] if entry.meta else []) if entry.kernel else list(entry.dispatch)
            for key in keys:
                line = f"m.impl(\"{schema.local_name}\", OPYARD_FN(wrappers::{schema.identifier}));"
                blocks.setdefault(key, []).append(line)
            if is_factory(operator):
                line = f"m.impl(\"{schema.local_name}\", OPYARD_FN(select::{schema.identifier}));"
                blocks.setdefault("BackendSelect", []).append(line)
    return blocks


def forms(entries):
    """Ties public operators to the internal ones, so that a kernel brings its wrappers with it."""
    lines = []
    for entry in entries:
        if entry.kernel:
            items = ", ".join(f"form(\"{o.schema.full_name}\", &wrappers::{o.schema.identifier})" for o in entry.operators)
            lines.append(f"  forms.add(\"{entry.kernel.full_name}\", {{{items}}});\n")
    return lines


def kernels_source(group, entries):
    operators = [operator for entry in entries for operator in entry.operators]
    by_hand = [operator for operator in operators if not operator.entry.structured]
    parts = [BANNER, "#include <array>\n\n#include \"kernels/generated.h\"\n",
             "#include \"kernels/shape/functions.h\"\n", "#include \"kernels/shape/structured.h\"\n"]
    if any(map(is_factory, operators)):
        parts.append("#include \"opyard/concerns/backend_select/backend_select.h\"\n")
    parts += [f"#include \"opyard/ops/{name}.h\"\n" for name in sorted(by_header(entries))]
    parts.append("#include \"opyard/ops/kernel_handles.h\"\n\n")
    if by_hand:
        parts.append("namespace opyard::composite {\n")
        parts += [composite_declaration(operator) for operator in by_hand]
        parts.append("}  // namespace opyard::composite\n\n")
    parts.append(f"namespace {NAMESPACE} {{\nnamespace {{\n\nnamespace wrappers {{\n")
    for operator in operators:
        parts.append(structured_wrapper(operator) if operator.entry.structured else composite_wrapper(operator))
    parts.append("}  // namespace wrappers\n\n")
    if any(map(is_factory, operators)):
        parts.append("namespace select {\n")
        parts += [select_wrapper(operator) for operator in operators if is_factory(operator)]
        parts.append("}  // namespace select\n\n")
    for key, lines in sorted(registrations(entries).items()):
        parts.append(impl_block(key, lines))
    parts.append("}  // namespace\n\n")
    parts.append(f"void add_forms_of_{group}([[maybe_unused]] Forms& forms) {{\n")
    parts += forms(entries)
    parts.append(f"}}\n\n}}  // namespace {NAMESPACE}\n")
    return "".join(parts)


def definition(schema, tags):
    listed = ", ".join(f'"{tag}"' for tag in tags)
    return f"  m.def(\"{schema.text()}\"{', Tags{' + listed + '}' if tags else ''});\n"


def definitions_source(groups):
    """Definitions of all operators, and the tables that the dispatcher asks for."""
    parts = [BANNER, "#include \"kernels/generated.h\"\n#include \"opyard/base/no_destructor.h\"\n"
             "#include \"opyard/ops.h\"\n#include \"opyard/ops/kernel_handles.h\"\n\n"]
    all_entries = [entry for entries in groups.values() for entry in entries]
    parts.append("namespace opyard {\nnamespace {\n\nOPYARD_LIBRARY(aten, m) {\n")
    for entry in all_entries:
        parts += [definition(o.schema, entry.tags) for o in entry.operators]
    parts.append("}\n\nOPYARD_LIBRARY(kernel, m) {\n")
    parts += [definition(e.kernel, e.tags) for e in all_entries if e.kernel]
    parts.append("}\n\nconst OpHandleBase* const kHandles[] = {\n")
    for entry in all_entries:
        parts += [f"    &handles::{o.schema.identifier},\n" for o in entry.operators]
        if entry.kernel:
            parts.append(f"    &handles::kernel::{entry.kernel.identifier},\n")
    parts.append("};\n\ngenerated::Forms make_forms() {\n  generated::Forms forms;\n")
    parts += [f"  generated::add_forms_of_{group}(forms);\n" for group in groups]
    parts.append("""  return forms;
}

}  // namespace

const GeneratedOperators& generated_operators() {
  static NoDestructor<generated::Forms> forms(make_forms());
  static const GeneratedOperators operators = {kHandles, std::size(kHandles), forms->groups.data(),
                                               forms->groups.size()};
  return operators;
}

}  // namespace opyard
""")
    return "".join(parts)


def generated_header(groups):
    declarations = "".join(f"void add_forms_of_{group}(Forms& forms);\n" for group in groups)
    return f"""{BANNER}#pragma once

#include <deque>
#include <initializer_list>
#include <vector>

#include "opyard/dispatch/generated.h"

namespace {NAMESPACE} {{

// The public forms of every internal operator.
struct Forms {{
  std::vector<StructuredGroup> groups;
  std::deque<std::vector<StructuredForm>> storage;

  void add(const char* internal_op, std::initializer_list<StructuredForm> forms) {{
    storage.emplace_back(forms);
    groups.push_back({{internal_op, storage.back().data(), storage.back().size()}});
  }}
}};

{declarations}
template <typename R, typename... A>
StructuredForm form(const char* op, R (*wrapper)(Keys, A...)) {{
  return {{op, reinterpret_cast<const void*>(wrapper), SignatureOf<R(A...)>::info()}};
}}

}}  // namespace {NAMESPACE}
"""


def expected_header(entries):
    """Which kernels the entries say that each backend's pack brings; tests compare."""
    backends = {}
    for entry in entries:
        for backend in entry.backends:
            backends.setdefault(backend, []).append(entry.kernel.full_name)
    parts = [BANNER, "#pragma once\n\nnamespace opyard::generated {\n"]
    for backend, names in sorted(backends.items()):
        listed = "".join(f"    \"{name}\",\n" for name in sorted(names))
        parts.append(f"\n[[maybe_unused]] constexpr const char* k{backend}Kernels[] = {{\n{listed}}};\n")
    parts.append("\n}  // namespace opyard::generated\n")
    return "".join(parts)
