"""plugins/abi/abi.lock follows the headers, and refuses what would break plugins that exist."""

import re
import shutil
import struct
import subprocess

import abi_lock
import pytest

LOCK = abi_lock.HEADERS / "abi.lock"


def test_the_lock_follows_the_headers():
    assert abi_lock.main([]) == 0, "see above; plugins/abi/VERSIONING.md says what may change"


@pytest.fixture(scope="module")
def locked():
    return abi_lock.read(LOCK.read_text())


@pytest.fixture
def changed(tmp_path):
    """changed((file, regex, replacement)…): what the headers say with these changes; layout asserts are left out."""

    def change(*changes):
        folder = shutil.copytree(abi_lock.HEADERS, tmp_path / "abi", dirs_exist_ok=True)
        for path in folder.glob("*.h"):
            path.write_text(re.sub(r"^OPYARD_(SIZE|PLACE)\w*\(.*?\);$", "", path.read_text(), flags=re.S | re.M))
        for name, pattern, replacement in changes:
            text, count = re.subn(pattern, replacement, (folder / name).read_text())
            assert count == 1, pattern
            (folder / name).write_text(text)
        return abi_lock.describe(folder)

    return change


PLUGIN = "opyard_plugin.h"
MINOR = (PLUGIN, r"(#define OPYARD_ABI_MINOR) \d+", r"\1 99")
APPENDED = (PLUGIN, r"(uint64_t \(\*now_ns\)\(void\);)", r"\1 void (*later)(void);")


def test_what_is_written_is_read_again(locked):
    assert abi_lock.read(abi_lock.write(locked)) == locked
    assert ("struct", "opyard_host") in locked


def test_the_same_headers_pass(locked, changed):
    assert abi_lock.check(locked, changed()) == []


def test_appending_wants_a_new_minor_version(locked, changed):
    assert "OPYARD_ABI_MINOR has to grow" in abi_lock.check(locked, changed(APPENDED))[0]
    assert abi_lock.check(locked, changed(APPENDED, MINOR)) == []


def test_a_new_number_wants_one_too(locked, changed):
    added = (PLUGIN, r"(OPYARD_DICT = 20)", r"\1, OPYARD_LATER = 21")
    assert "enum opyard_tag" in abi_lock.check(locked, changed(added))[0]
    assert abi_lock.check(locked, changed(added, MINOR)) == []


@pytest.mark.parametrize("what, change", [
    ("field 'keys'", (PLUGIN, r"uint64_t keys; ", "uint64_t first; uint64_t keys; ")),
    ("field 'set_status'", (PLUGIN, r"int32_t code, opyard_str message\);\n  void \(\*log", "int64_t code, opyard_str message);\n  void (*log")),
    ("field 'unload_class'", (PLUGIN, r"uint32_t unload_class;", "int32_t unload_class;")),
    ("has become smaller", (PLUGIN, r"uint64_t \(\*now_ns\)\(void\);", "")),
    ("OPYARD_DICT was 20 and is 21", (PLUGIN, r"OPYARD_DICT = 20", "OPYARD_DICT = 21")),
    ("OPYARD_DICT was 20 and is gone", (PLUGIN, r"OPYARD_DICT = 20", "OPYARD_MAP = 20")),
    ("type opyard_boxed_fn", (PLUGIN, r"uint32_t n_in, opyard_value\* out, uint32_t n_out\);\n\nenum", "uint64_t n_in, opyard_value* out, uint32_t n_out);\n\nenum")),
    ("struct opyard_threads is gone", ("opyard_threads.h", r"(?s)typedef struct opyard_threads \{.*?\} opyard_threads;", "")),
    ("without need", (PLUGIN, r"(#define OPYARD_ABI_MAJOR) \d+", r"\1 2")),
])
def test_a_change_is_refused(locked, changed, what, change):
    complaints = abi_lock.check(locked, changed(change, MINOR))
    assert any(what in complaint for complaint in complaints), complaints


def test_a_field_in_old_padding_is_refused(locked, changed):
    now = changed()
    call = dict(now["struct", "opyard_call"], size=locked["struct", "opyard_call"]["size"] + 8)
    call["fields"] = [*call["fields"], (36, 4, "later", "uint32_t")]
    complaints = abi_lock.check(locked, {**now, ("struct", "opyard_call"): call})
    assert any("padding" in complaint for complaint in complaints), complaints


PLUGIN_IN_C = """#include "opyard_note.h"
static const opyard_plugin_table table = {sizeof(opyard_plugin_table), 0, 0, 0, 0, 0, 0, 0};
OPYARD_C_PLUGIN(table, "noted", "1.2.3", OPYARD_KIND_KERNELS, OPYARD_UNLOADABLE, "CPU", "opyard.calls/1");
"""


@pytest.mark.parametrize("language, standard", [("c", "-std=c11"), ("c++", "-std=c++17")])
@pytest.mark.parametrize("flags, level, features", [
    (["-march=x86-64"], 0, 0), (["-march=x86-64-v2"], 2, 0), (["-march=x86-64-v3"], 3, 0),
    (["-march=x86-64-v4"], 4, 0), (["-mfma"], 3, 0), (["-msse4.1"], 2, 0),
    (["-march=x86-64-v4", "-mavx512vnni", "-mavx512bf16"], 4, 3), (["-march=x86-64-v3", "-mavxvnni", "-mamx-tile"], 3, 12)])
def test_the_note_says_what_the_flags_of_its_file_need(tmp_path, language, standard, flags, level, features):
    source, output, note = tmp_path / "noted.c", tmp_path / "noted.o", tmp_path / "note"
    source.write_text(PLUGIN_IN_C)
    subprocess.run(["gcc", "-x", language, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-fPIC", *flags,
                    "-I", abi_lock.HEADERS, "-c", source, "-o", output], check=True)
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.note.opyard", output, note], check=True)
    fields = struct.unpack("<III8s10I64s32s128s128s128s", note.read_bytes())
    assert fields[:4] == (7, 520, 1, b"OPYARD\0\0")
    assert fields[4:8] == (520, 0, 0x4452594F, 1)
    assert fields[11:14] == (level, features, 0)
    assert [text.rstrip(b"\0") for text in fields[14:]] == [b"noted", b"1.2.3", b"", b"CPU", b"opyard.calls/1"]
