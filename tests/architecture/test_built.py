"""What the headers and the built files show: self-contained headers, unique symbols, copy relocations, run paths."""

import concurrent.futures
import os
import re
import subprocess

import checks
import pytest


def public_headers(root, build):
    library = root / "server" / "lib"
    names = [str(path.relative_to(library)) for path in sorted(library.rglob("*.h"))]
    generated = build / "gen"
    names += [str(path.relative_to(generated)) for path in sorted((generated / "opyard").rglob("*.h"))]
    names += [path.name for path in sorted((root / "plugins" / "abi").glob("*.h"))]
    return names


def include_roots(root, build):
    return [root / "server" / "lib", build / "gen", root / "plugins" / "abi", root]


def test_each_public_header_compiles_alone(root, build, compiler):
    headers = public_headers(root, build)
    assert len(headers) > 20

    def one(header):
        output = build / "architecture" / (header + ".o")
        errors = checks.compile_headers(compiler, [header], include_roots(root, build), output)
        if errors:
            return [f"{header} does not compile alone:\n{errors[:1500]}"]
        return [f"{header} creates the unique symbol {name}" for name in checks.unique_symbols(output)]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for texts in pool.map(one, headers) for text in texts]
    assert not complaints, "\n".join(["", *complaints])


def test_no_public_header_creates_a_unique_symbol(root, build, compiler):
    output = build / "architecture" / "all_headers.o"
    headers = public_headers(root, build)
    assert checks.compile_headers(compiler, headers, include_roots(root, build), output, checks.KEEP_INLINE) == ""
    assert checks.unique_symbols(output) == []


def test_headers_for_authors_compile_alone_and_create_no_unique_symbol(root, build, compiler):
    """Those of plugins/sdk, each by itself: a plugin takes one of the two layers."""
    def one(path):
        output = build / "architecture" / "sdk" / (path.stem + ".o")
        header = str(path.relative_to(root))
        stable = path.name != "opyard_sdk.h"  # the stable layer sees nothing but the C interface
        roots = [root, root / "plugins" / "abi"] if stable else include_roots(root, build)
        errors = checks.compile_headers(compiler, [header], roots, output, checks.KEEP_INLINE)
        return [errors] if errors else [f"{header}: {name}" for name in checks.unique_symbols(output)]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        headers = sorted((root / "plugins" / "sdk").rglob("*.h"))
        complaints = [text for texts in pool.map(one, headers) for text in texts]
    assert not complaints, "\n".join(complaints)


def built_plugins(build):
    found = sorted((build / "lib" / "opyard").rglob("libopyard_plugin_*.so"))
    assert found, "no plugins in " + str(build / "lib" / "opyard")
    return found


def test_plugins_export_their_entry_alone_and_are_bound_when_they_are_loaded(build):
    complaints = []
    for path in built_plugins(build):
        symbols = checks.demangled_symbols(path, "--dyn-syms")
        exported = [name for bind, _, section, name in symbols if section != "UND" and bind != "LOCAL"]
        if exported != ["opyard_plugin_entry"]:
            complaints.append(f"{path.name} exports {exported}")
        if "BIND_NOW" not in dynamic(path) or "STATIC_TLS" in dynamic(path) and "TLS" in segments(path):
            complaints.append(f"{path.name}: {dynamic(path)}")
    assert not complaints, "\n".join(complaints)


def test_plugins_have_their_note(build):
    for path in built_plugins(build):
        notes = subprocess.run(["readelf", "-nW", str(path)], capture_output=True, text=True, check=True).stdout
        assert re.search(r"^  OPYARD +0x", notes, flags=re.M), path.name


def built_objects(build):
    return [path for path in (build / "lib").rglob("*.so*") if path.is_file() and not path.is_symlink()]


def programs(build):
    return [path for path in sorted((build / "bin").iterdir()) if path.is_file() and os.access(path, os.X_OK)]


def test_library_and_plugins_define_no_unique_symbol(build):
    complaints = [f"{path.name}: {name}" for path in built_objects(build) for name in checks.unique_symbols(path)]
    assert not complaints, "\n".join(complaints)


def test_no_program_has_a_copy_relocation_against_the_library(build):
    found = programs(build)
    assert found, "no programs in " + str(build / "bin")
    complaints = [f"{path.name}: {line}" for path in found for line in checks.copy_relocations(path)]
    assert not complaints, "\n".join(complaints)


def test_operator_handles_are_exported_with_default_visibility(build):
    symbols = checks.demangled_symbols(build / "lib" / "libopyard.so", "--dyn-syms")
    handles = [row for row in symbols if re.match(r"opyard::handles::\w+", row[3]) and row[2] != "UND"]
    assert handles, "libopyard.so exports no operator handle"
    wrong = [row for row in handles if row[0] != "GLOBAL" or row[1] not in ("DEFAULT", "PROTECTED")]
    assert not wrong, wrong[:5]


def dynamic(path):
    return subprocess.run(["readelf", "-dW", str(path)], capture_output=True, text=True, check=True).stdout


def segments(path):
    text = subprocess.run(["readelf", "-lW", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) +0x", text, flags=re.M)


def test_library_is_never_unloaded_and_names_its_layout(build):
    text = dynamic(build / "lib" / "libopyard.so")
    assert "NODELETE" in text
    assert re.search(r"SONAME.*\[libopyard\.so\.\d+\]", text)
    assert "SYMBOLIC" not in text


def test_library_links_no_third_party_code(build):
    needed = re.findall(r"NEEDED.*\[([^\]]+)\]", dynamic(build / "lib" / "libopyard.so"))
    allowed = re.compile(r"^(libstdc\+\+|libm|libgcc_s|libc|libpthread|libdl|ld-linux|libasan|libubsan|libtsan)")
    assert [name for name in needed if not allowed.match(name)] == []


@pytest.mark.parametrize("kind", ["programs", "libraries"])
def test_run_paths_are_relative(build, kind):
    complaints = []
    for path in programs(build) if kind == "programs" else built_objects(build):
        for entries in re.findall(r"(?:RUNPATH|RPATH).*\[([^\]]+)\]", dynamic(path)):
            bad = [entry for entry in entries.split(":") if not entry.startswith(("$ORIGIN", "/usr/lib"))]
            complaints += [f"{path.name}: {entry}" for entry in bad]
    assert not complaints, "\n".join(complaints)
