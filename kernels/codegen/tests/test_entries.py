import pytest
from sample import CODEGEN, ENTRY

import entries


def complaint(folder):
    with pytest.raises(entries.EntryError) as caught:
        entries.load_entries(folder)
    return str(caught.value)


def test_one_entry_makes_all_forms(ops):
    (entry,) = entries.load_entries(ops())
    assert [(o.role, o.schema.full_name) for o in entry.operators] == [
        ("base", "aten::twice"), ("inplace", "aten::twice_"), ("out", "aten::twice.out")]
    assert entry.kernel.full_name == "kernel::twice"


@pytest.mark.parametrize("old, new, words", [
    ("doc:", "dox:", ["unknown field 'dox'"]),
    ("    doc: \"Multiplies by a number.\"\n", "", ["'doc' is missing"]),
    ("    samples: [{args: [{tensor: [1]}]}]\n", "", ["'samples' is missing"]),
    ("kind: pointwise", "kind: sideways", ["sideways", "pointwise, reduction, plain"]),
    ("    kind: pointwise\n", "", ["needs a kind"]),
    ("[CPU]", "[CPV]", ["unknown backend 'CPV'", "CPU"]),
    ("[CPU]", "{CPU: f}", ["lists the backends"]),
    ("inplace:", "in_place:", ["unknown variant 'in_place'"]),
    ("Scalar by=2", "Scalar  by=2", ["reads back as"]),
    ("-> Tensor\"", "\"", ["is no schema"]),
    ("structured: unary_floating", "structured: unary_floating\n    tags: [quick]", ["unknown tag 'quick'"]),
    ("structured: unary_floating", "structured: unary_floating\n    wrapper: f", ["leave those two out"]),
    ("structured: unary_floating", "wrapper: f", ["go together"]),
    ("Tensor self, *", "Tensor? self, *", ["Tensor? arguments"]),
])
def test_wrong_entries_are_refused_by_name(ops, old, new, words):
    assert old in ENTRY
    text = complaint(ops(ENTRY.replace(old, new)))
    assert "kernels/ops/some.yaml: twice" in text
    for word in words:
        assert word in text


def test_composites_name_their_function_by_key(ops):
    text = ENTRY.replace("    structured: unary_floating\n    kind: pointwise\n", "")
    assert "dispatch maps keys to functions" in complaint(ops(text))
    assert "no function name" in complaint(ops(text.replace("[CPU]", "{CPU: 'a b'}")))
    assert "unknown key 'Gpu'" in complaint(ops(text.replace("[CPU]", "{Gpu: f}")))
    (entry,) = entries.load_entries(ops(text.replace("[CPU]", "{CompositeImplicitAutograd: f}")))
    assert [o.function() for o in entry.operators] == ["f", "f_", "f_out"]


def test_an_operator_is_declared_once(ops):
    ops()
    assert "declared in other.yaml already" in complaint(ops(name="other.yaml"))


@pytest.mark.parametrize("text, words", [("operators: [", "no YAML"), ("a: 1", "no list 'operators'"),
                                         ("operators: [3]", "has no schema")])
def test_files_that_hold_no_entries_are_refused(ops, text, words):
    assert words in complaint(ops(text))


def test_an_empty_folder_is_refused(tmp_path):
    assert "no *.yaml" in complaint(tmp_path)


def test_the_real_entries_are_sound():
    loaded = entries.load_entries(CODEGEN.parent / "ops")
    names = {o.schema.full_name for entry in loaded for o in entry.operators}
    assert {"aten::add.Tensor", "aten::add_.Tensor", "aten::add.out", "aten::empty.memory_format"} <= names


def test_schemas_are_those_of_the_core_list():
    """Where the Core ATen list has an operator, the entry has the same schema."""
    listed = CODEGEN.parents[1] / "tests/unit/dispatch/core_aten_schemas.txt"
    core = {line.partition("(")[0]: line for line in listed.read_text().splitlines() if line}
    loaded = [o.schema for entry in entries.load_entries(CODEGEN.parent / "ops") for o in entry.operators]
    shared = [s for s in loaded if s.local_name in core]
    assert len(shared) > 50
    assert [s.text() for s in shared if s.text() != core[s.local_name]] == []
