"""Types of the operators for the Python client: client/python/opyard/_aten.pyi, read by type checkers only."""

import collections
import keyword

PLAIN = {"int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str", "complex": "complex",
         "Scalar": "Number", "ScalarType": "DTypeLike", "Device": "str", "Layout": "str", "MemoryFormat": "str",
         "Generator": "None"}
HEAD = '''# Generated from kernels/ops by kernels/codegen; changes here are lost. For type checkers: the operators themselves are
# found in the daemon's Registry.
from typing import Optional, Sequence, Union, overload

from .dtypes import DTypeLike
from .ops import BoundOperator, Namespace
from .tensor import Number, Operand, Tensor
'''


def python_type(argument):
    if argument.is_tensor:
        base = "Tensor" if argument.is_written else "Operand"
    else:
        base = PLAIN[argument.base]
    if argument.optional and base != "None":
        base = f"Optional[{base}]"
    if argument.is_list:
        base = f"Union[{base}, Sequence[{base}]]" if argument.list_size else f"Sequence[{base}]"
    return f"Optional[{base}]" if argument.list_optional else base


def parameter(argument):
    name = argument.name + "_" if keyword.iskeyword(argument.name) else argument.name
    default = " = ..." if argument.default is not None else ""
    return f"{name}: {python_type(argument)}{default}"


def method(schema):
    """One overload as a method; the object is called _op, since operators have arguments called self."""
    parts, starred = ["_op"], False
    for argument in schema.arguments:
        if argument.kwarg_only and not starred:
            parts.append("*")
            starred = True
        parts.append(parameter(argument))
    only = schema.returns[0]
    result = "Tensor" if only.is_tensor else PLAIN[only.base]
    return f"def __call__({', '.join(parts)}) -> {result}: ..."


def class_name(name):
    """add_ gives AddInplace, _to_copy gives ToCopy."""
    words = [word.capitalize() for word in name.strip("_").split("_")]
    return "Op" + "".join(words) + ("Inplace" if name.endswith("_") else "")


def operator_class(name, operators):
    """An Operand may be a number, so a form that differs by that alone says nothing new."""
    methods = collections.OrderedDict()
    for operator in operators:
        text = method(operator.schema)
        methods.setdefault(text.replace(": Number", ": Operand"), text)
    marker = "    @overload\n" if len(methods) > 1 else ""
    return f"class {class_name(name)}(BoundOperator):\n" + "".join(f"{marker}    {text}\n" for text in methods.values())


def stubs(entries):
    by_name = collections.OrderedDict()
    for entry in entries:
        for operator in entry.operators:
            by_name.setdefault(operator.schema.name, []).append(operator)
    parts = [HEAD]
    for name in sorted(by_name):
        parts.append("\n\n" + operator_class(name, by_name[name]))
    parts.append("\n\nclass Aten(Namespace):\n")
    parts += [f"    {name}: {class_name(name)}\n" for name in sorted(by_name)]
    return "".join(parts)
