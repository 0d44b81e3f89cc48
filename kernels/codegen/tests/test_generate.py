import os
import subprocess
import sys

from sample import CODEGEN, ENTRY

import entries
import generate
import writer

REPOSITORY = CODEGEN.parents[1]


def run(*arguments):
    return subprocess.run([sys.executable, "-B", str(CODEGEN / "generate.py"), *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def files_of(folder):
    return generate.outputs(entries.load_entries(folder))


def test_list_names_what_is_written(ops, tmp_path):
    folder, out = ops(), tmp_path / "gen"
    assert run("--ops", folder, "--out", out).returncode == 0
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert run("--ops", folder, "--list").stdout.split() == written


def test_a_second_run_touches_nothing(ops, tmp_path):
    folder, out = ops(), tmp_path / "gen"
    run("--ops", folder, "--out", out)
    before = {path: os.stat(path).st_mtime_ns for path in out.rglob("*.h")}
    run("--ops", folder, "--out", out)
    assert before and before == {path: os.stat(path).st_mtime_ns for path in out.rglob("*.h")}


def test_what_is_no_longer_declared_goes_and_nothing_else(ops, tmp_path):
    folder, out = ops(), tmp_path / "gen"
    run("--ops", folder, "--out", out)
    (out / "opyard/ops/mine.h").write_text("// by hand\n")
    ops(ENTRY.replace("twice", "thrice"))
    run("--ops", folder, "--out", out)
    assert not (out / "opyard/ops/twice.h").exists()
    assert (out / "opyard/ops/thrice.h").exists() and (out / "opyard/ops/mine.h").exists()


def test_a_wrong_entry_ends_with_its_name(ops):
    result = run("--ops", ops(ENTRY.replace("doc:", "dox:")), "--list")
    assert result.returncode == 1
    assert result.stderr.startswith("error: kernels/ops/some.yaml: twice: unknown field 'dox'")
    assert result.stdout == ""


def test_stubs_take_defaults_and_put_out_first(ops):
    header = files_of(ops())["opyard/ops/twice.h"]
    assert "Multiplies by a number." in header
    assert "inline Tensor twice(const Tensor& self, const Scalar& by = 2) {" in header
    assert "inline Tensor& twice_(Tensor& self, const Scalar& by = 2) {" in header
    assert "inline Tensor& twice_out(Tensor& out, const Tensor& self, const Scalar& by = 2) {" in header
    assert "extern const OpHandle<Tensor(const Tensor&, const Scalar&)> twice;" in header


def test_wrappers_check_compute_and_call(ops):
    source = files_of(ops())["kernels/kernels_some.cc"]
    functional, inplace, out = source.split("namespace wrappers {")[1].split("rethrow_named")[:3]
    assert "shape::allocate(shape::unary_floating(shape::operand(self), by), device)" in functional
    assert "handles::kernel::twice.redispatch(keys.set, self, by, result)" in functional
    assert "shape::check_inplace(self, " in inplace and "redispatch(keys.set, self, by, self)" in inplace
    assert "shape::prepare_out(out, " in out and "redispatch(keys.set, self, by, out)" in out
    assert 'm.impl("twice.out", OPYARD_FN(wrappers::twice_out));' in source


def test_every_operator_is_defined_and_bound(ops):
    source = files_of(ops())["kernels/definitions.cc"]
    for name in ("twice(Tensor self", "twice_(Tensor(a!) self", "twice.out(Tensor self"):
        assert f'm.def("{name}' in source
    for handle in ("&handles::twice,", "&handles::twice_inplace,", "&handles::twice_out,", "&handles::kernel::twice,"):
        assert handle in source


def test_expected_kernels_are_those_of_dispatch(ops):
    header = files_of(ops(ENTRY.replace("[CPU]", "[CPU, CUDA]")))["kernels/expected.h"]
    assert header.count('"kernel::twice"') == 2
    assert "kCPUKernels[]" in header and "kCUDAKernels[]" in header


def test_factories_get_a_backend_select_kernel(ops):
    text = ENTRY.replace("Tensor self, *, Scalar by=2", "int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
                         "Device? device=None, bool? pin_memory=None")
    text = text.replace("    variants: {inplace: twice_, out: twice.out}\n    structured: unary_floating\n", "    tags: [factory]\n")
    text = text.replace("    kind: pointwise\n", "").replace("[CPU]", "{CompositeExplicitAutograd: twice}")
    files = files_of(ops(text))
    assert "backend_select::factory_keys(dtype, layout, device)" in files["kernels/kernels_some.cc"]
    assert '-> Tensor", Tags{"factory"});' in files["kernels/definitions.cc"]
    assert "OPYARD_LIBRARY_IMPL(aten, BackendSelect, m)" in files["kernels/kernels_some.cc"]
    assert "inline Tensor twice(IntList size, const TensorOptions& options) {" in files["opyard/ops/twice.h"]


def test_writer_says_whether_it_wrote(tmp_path):
    path = tmp_path / "a" / "b"
    assert writer.write_if_changed(path, "x")
    assert not writer.write_if_changed(path, "x")
    assert writer.write_if_changed(path, "y") and path.read_text() == "y"


def test_the_committed_python_types_are_current(tmp_path):
    fresh = tmp_path / "_aten.pyi"
    assert run("--ops", REPOSITORY / "kernels/ops", "--python", fresh).returncode == 0
    committed = REPOSITORY / "client/python/opyard/_aten.pyi"
    assert committed.read_text() == fresh.read_text(), (
        "run python3 kernels/codegen/generate.py --ops kernels/ops --python client/python/opyard/_aten.pyi")


def test_python_types_are_python(tmp_path):
    committed = REPOSITORY / "client/python/opyard/_aten.pyi"
    compile(committed.read_text(), str(committed), "exec")
