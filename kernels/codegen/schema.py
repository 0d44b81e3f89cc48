"""Schemas as the generator sees them: parsed text, the C++ types that go with it, and the variants that follow from it.

The whole grammar is the library's affair (server/lib/opyard/dispatch); this reader takes what operator entries use.
"""

import dataclasses
import re

PLAIN_TYPES = {
    "int": "int64_t", "SymInt": "int64_t", "float": "double", "bool": "bool", "str": "std::string_view",
    "complex": "std::complex<double>", "ScalarType": "ScalarType", "Device": "Device", "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
}
LIST_TYPES = {"int": "IntList", "SymInt": "IntList", "float": "ArrayRef<double>", "bool": "ArrayRef<bool>"}
NAME = re.compile(r"^(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?$")
ARGUMENT = re.compile(
    r"^(?P<base>\w+)(?P<alias>\([^)]*\))?(?P<optional>\?)?(?P<list>\[\d*\])?(?P<list_optional>\?)?"
    r"(?:\s+(?P<name>\w+)(?:=(?P<default>.+))?)?$")


class SchemaError(ValueError):
    pass


@dataclasses.dataclass(frozen=True)
class Argument:
    base: str
    name: str = ""
    alias: str = ""            # "a" or "a!"
    optional: bool = False     # the value, or each element of a list
    is_list: bool = False
    list_size: str = ""
    list_optional: bool = False
    default: str | None = None
    kwarg_only: bool = False

    @property
    def is_tensor(self):
        return self.base == "Tensor"

    @property
    def is_written(self):
        return self.alias.endswith("!")

    def text(self):
        alias = f"({self.alias})" if self.alias else ""
        optional = "?" if self.optional else ""
        as_list = f"[{self.list_size}]" if self.is_list else ""
        list_optional = "?" if self.list_optional else ""
        name = f" {self.name}" if self.name else ""
        default = f"={self.default}" if self.default is not None else ""
        return f"{self.base}{alias}{optional}{as_list}{list_optional}{name}{default}"

    def cpp_type(self):
        """The type of a typed kernel's parameter, as dispatch/kernel_types.h lists them."""
        if self.is_tensor and not self.is_list:
            if self.optional:
                return "const std::optional<Tensor>&"
            return "Tensor&" if self.is_written else "const Tensor&"
        if self.is_tensor:
            return "ArrayRef<std::optional<Tensor>>" if self.optional else "TensorList"
        if self.is_list:
            if self.base not in LIST_TYPES or self.optional:
                raise SchemaError(f"no C++ type for '{self.text()}'")
            return f"std::optional<{LIST_TYPES[self.base]}>" if self.list_optional else LIST_TYPES[self.base]
        if self.base == "Scalar":
            return "const std::optional<Scalar>&" if self.optional else "const Scalar&"
        if self.base == "Generator":
            return "const IntrusivePtr<Generator>&"
        if self.base not in PLAIN_TYPES:
            raise SchemaError(f"no C++ type for '{self.text()}'")
        plain = PLAIN_TYPES[self.base]
        return f"std::optional<{plain}>" if self.optional else plain

    def cpp_default(self):
        if self.default is None:
            return None
        if self.default in ("None", "[]"):
            return "{}"
        if self.default in ("True", "False"):
            return self.default.lower()
        if re.fullmatch(r"-?[\d.]+(e-?\d+)?", self.default):
            return self.default
        if re.fullmatch(r"\[[\d, -]*\]", self.default):
            return "{" + self.default[1:-1] + "}"
        raise SchemaError(f"no C++ default for '{self.text()}'")


@dataclasses.dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    arguments: tuple
    returns: tuple
    namespace: str = "aten"

    @property
    def local_name(self):
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def full_name(self):
        return f"{self.namespace}::{self.local_name}"

    @property
    def identifier(self):
        """As a C++ name: add_.Tensor gives add_inplace_Tensor (two underscores in a row are reserved)."""
        name = self.name + "inplace" if self.name.endswith("_") else self.name
        return f"{name}_{self.overload}" if self.overload else name

    @property
    def out_arguments(self):
        return tuple(argument for argument in self.arguments if argument.kwarg_only and argument.is_written)

    @property
    def is_inplace(self):
        return bool(self.arguments) and self.arguments[0].is_written and self.name.endswith("_")

    def text(self, with_namespace=False):
        parts, starred = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(argument.text())
        returns = ", ".join(argument.text() for argument in self.returns)
        if len(self.returns) != 1:
            returns = f"({returns})"
        name = self.full_name if with_namespace else self.local_name
        return f"{name}({', '.join(parts)}) -> {returns}"

    def cpp_return(self):
        if not self.returns:
            return "void"
        if len(self.returns) > 1:
            raise SchemaError(f"{self.full_name}: several returns are not generated yet")
        only = self.returns[0]
        if only.is_tensor and only.is_list:
            return "std::vector<Tensor>"
        if only.is_tensor:
            return "Tensor&" if only.is_written else "Tensor"
        if only.base == "Scalar":
            return "Scalar"
        return only.cpp_type()

    def cpp_signature(self):
        return f"{self.cpp_return()}({', '.join(argument.cpp_type() for argument in self.arguments)})"

    def cpp_parameters(self):
        return ", ".join(f"{argument.cpp_type()} {argument.name}" for argument in self.arguments)


def split_top(text):
    """Splits at commas outside of brackets."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    if current.strip():
        parts.append(current.strip())
    return parts


def parse_argument(text, kwarg_only=False):
    found = ARGUMENT.match(text)
    if not found:
        raise SchemaError(f"'{text}' is no argument; wanted is TYPE NAME or TYPE NAME=DEFAULT")
    return Argument(
        base=found["base"], name=found["name"] or "", alias=(found["alias"] or "")[1:-1], optional=bool(found["optional"]),
        is_list=bool(found["list"]), list_size=(found["list"] or "[]")[1:-1],
        list_optional=bool(found["list_optional"]), default=found["default"], kwarg_only=kwarg_only)


def parse_name(text):
    found = NAME.match(text)
    if not found:
        raise SchemaError(f"'{text}' is no operator name; wanted is name or name.overload")
    return found["name"], found["overload"] or "", found["ns"]


def parse_schema(text, namespace="aten"):
    """Reads "name.overload(Type name=default, *, …) -> Type"; raises SchemaError with what is wrong."""
    head, arrow, tail = text.rpartition(" -> ")
    if not arrow or "(" not in head or not head.endswith(")"):
        raise SchemaError(f"'{text}' is no schema; wanted is name(arguments) -> returns")
    name_text, _, inner = head[:-1].partition("(")
    name, overload, written = parse_name(name_text)
    arguments, kwarg_only = [], False
    for part in split_top(inner):
        if part == "*":
            kwarg_only = True
            continue
        arguments.append(parse_argument(part, kwarg_only))
        if not arguments[-1].name:
            raise SchemaError(f"the argument '{part}' of '{text}' has no name")
    many = tail.startswith("(") and tail.endswith(")")
    returns = [parse_argument(part) for part in split_top(tail[1:-1] if many else tail)]
    return Schema(name, overload, tuple(arguments), tuple(returns), written or namespace)


def inplace_variant(schema, name):
    """The operator that writes into its first argument."""
    variant, overload, _ = parse_name(name)
    first = schema.arguments[0]
    if not first.is_tensor or first.is_list:
        raise SchemaError(f"{schema.full_name} begins with '{first.text()}': no in-place form")
    written = dataclasses.replace(first, alias="a!")
    returns = (Argument("Tensor", alias="a!"),)
    return Schema(variant, overload, (written,) + schema.arguments[1:], returns, schema.namespace)


def out_variant(schema, name):
    """The operator that writes into its last argument, out."""
    variant, overload, _ = parse_name(name)
    out = Argument("Tensor", "out", "a!", kwarg_only=True)
    return Schema(variant, overload, schema.arguments + (out,), (Argument("Tensor", alias="a!"),), schema.namespace)


def kernel_schema(schema):
    """The internal operator of a structured one: all by position, no defaults, the result comes last."""
    arguments = tuple(dataclasses.replace(argument, default=None, kwarg_only=False) for argument in schema.arguments)
    return Schema(schema.name, schema.overload, arguments + (Argument("Tensor", "out", "a!"),), (), "kernel")
