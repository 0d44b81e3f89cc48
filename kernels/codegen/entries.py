"""Reads kernels/ops/*.yaml and checks every entry; complaints name file, entry and what to do."""

import dataclasses
import pathlib

import yaml

from keys import ALIASES, BACKENDS
from schema import Schema, SchemaError, inplace_variant, kernel_schema, out_variant, parse_schema

FIELDS = {"schema", "variants", "structured", "kind", "kernel", "wrapper", "meta", "dispatch", "tags", "preconditions",
          "doc", "samples"}
REQUIRED = ("schema", "dispatch", "doc", "samples")
KINDS = ("pointwise", "reduction", "plain")
PACKS = ("CPU", "CUDA", "OpenCL", "Meta")
TAGS = ("factory", "nondeterministic_seeded")


class EntryError(ValueError):
    pass


@dataclasses.dataclass(frozen=True)
class Operator:
    """One public operator: an entry's schema, or a variant of it."""

    schema: Schema
    role: str          # base, inplace, out
    entry: "Entry"

    def function(self):
        """The function in kernels/composite that a hand-written kernel is."""
        name = self.entry.wrapper or next(iter(self.entry.dispatch.values()))
        return name + {"base": "", "inplace": "_", "out": "_out"}[self.role]


@dataclasses.dataclass
class Entry:
    schema: Schema
    file: str
    structured: str | None = None   # shape function
    kind: str = "plain"
    kernel: Schema | None = None    # the internal operator whose slots hold the backends' kernels
    wrapper: str | None = None      # hand-written instead of generated
    meta: bool = True
    dispatch: dict = dataclasses.field(default_factory=dict)  # key → function, of operators without a kernel
    backends: tuple = ()            # whose packs bring the kernel
    tags: tuple = ()
    doc: str = ""
    preconditions: tuple = ()
    operators: list = dataclasses.field(default_factory=list)

    @property
    def group(self):
        return pathlib.Path(self.file).stem


def complain(file, name, text):
    raise EntryError(f"kernels/ops/{file}: {name}: {text}")


def check_fields(file, name, raw):
    for field in raw:
        if field not in FIELDS:
            complain(file, name, f"unknown field '{field}'; known are {', '.join(sorted(FIELDS))}")
    for field in REQUIRED:
        if not raw.get(field):
            complain(file, name, f"the field '{field}' is missing or empty")
    if raw.get("kind", "plain") not in KINDS:
        complain(file, name, f"kind is '{raw['kind']}'; wanted is one of {', '.join(KINDS)}")
    for tag in raw.get("tags", []):
        if tag not in TAGS:
            complain(file, name, f"unknown tag '{tag}'; known are {', '.join(TAGS)}")
    if raw.get("structured") and "kind" not in raw:
        complain(file, name, f"a structured operator needs a kind, one of {', '.join(KINDS)}")
    if raw.get("structured") and (raw.get("kernel") or raw.get("wrapper")):
        complain(file, name, "'structured' gives kernel and wrapper; leave those two out, or it")
    if bool(raw.get("kernel")) != bool(raw.get("wrapper")):
        complain(file, name, "'kernel' and 'wrapper' go together")


def check_dispatch(file, name, raw):
    dispatch = raw["dispatch"]
    if raw.get("structured") or raw.get("kernel"):
        if not isinstance(dispatch, list):
            complain(file, name, "dispatch lists the backends that bring a kernel, as in [CPU]")
        for backend in dispatch:
            if backend not in PACKS:
                complain(file, name, f"unknown backend '{backend}'; known are {', '.join(PACKS)}")
        return {}
    if not isinstance(dispatch, dict):
        complain(file, name, "dispatch maps keys to functions of kernels/composite, as in {CPU: empty}")
    for key, function in dispatch.items():
        if key not in BACKENDS + ALIASES:
            complain(file, name, f"unknown key '{key}'; known are {', '.join(BACKENDS + ALIASES)}")
        if not isinstance(function, str) or not function.isidentifier():
            complain(file, name, f"'{function}' at {key} is no function name")
    if len(set(dispatch.values())) != 1:
        complain(file, name, "all keys of an entry share one function")
    return dict(dispatch)


def make_entry(file, raw):
    if not isinstance(raw, dict) or not isinstance(raw.get("schema"), str):
        complain(file, "an entry", f"has no schema: {str(raw)[:80]}")
    name = raw["schema"].partition("(")[0]
    check_fields(file, name, raw)
    try:
        schema = parse_schema(raw["schema"])
        if schema.text() != raw["schema"]:
            complain(file, name, f"the schema reads back as '{schema.text()}'; write it so")
        entry = Entry(schema, file, raw.get("structured"), raw.get("kind", "plain"), None, raw.get("wrapper"),
                      raw.get("meta", True), check_dispatch(file, name, raw), (), tuple(raw.get("tags", ())),
                      raw["doc"], tuple(raw.get("preconditions", ())))
        if isinstance(raw["dispatch"], list):
            entry.backends = tuple(raw["dispatch"])
        if entry.structured:
            entry.kernel = kernel_schema(schema)
        elif raw.get("kernel"):
            entry.kernel = parse_schema(raw["kernel"], "kernel")
        entry.operators = [Operator(schema, "base", entry)]
        for role, variant in raw.get("variants", {}).items():
            if role not in ("inplace", "out"):
                complain(file, name, f"unknown variant '{role}'; known are inplace, out")
            make = inplace_variant if role == "inplace" else out_variant
            entry.operators.append(Operator(make(schema, variant), role, entry))
        for operator in entry.operators:
            operator.schema.cpp_signature()
    except SchemaError as error:
        complain(file, name, str(error))
    if entry.structured and any(a.is_tensor and a.optional for a in schema.arguments):
        complain(file, name, "structured operators with Tensor? arguments are not generated yet")
    if "factory" in entry.tags and any(a.is_tensor for a in schema.arguments):
        complain(file, name, "has the tag factory and takes a tensor")
    return entry


def load_entries(folder):
    """All entries of a folder's YAML files, in the order of file names and of the text."""
    entries, seen = [], {}
    files = sorted(pathlib.Path(folder).glob("*.yaml"))
    if not files:
        raise EntryError(f"there is no *.yaml in {folder}")
    for path in files:
        try:
            raw = yaml.safe_load(path.read_text())
        except yaml.YAMLError as error:
            complain(path.name, "the file", f"is no YAML: {error}")
        if not isinstance(raw, dict) or not isinstance(raw.get("operators"), list):
            complain(path.name, "the file", "holds no list 'operators'")
        for item in raw["operators"]:
            entry = make_entry(path.name, item)
            for operator in entry.operators:
                name = operator.schema.full_name
                if name in seen:
                    complain(path.name, name, f"is declared in {seen[name]} already")
                seen[name] = path.name
            entries.append(entry)
    return entries
