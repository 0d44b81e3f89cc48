"""Turns kernels/ops/*.yaml into C++ below --out and the Python client's stubs; README.md says what comes out.

  generate.py --ops DIR --out DIR [--python FILE] [--list] [--kernels]
--list prints the paths of the C++ outputs (for CMake) and writes nothing; --kernels prints the functions that a backend
may bring.
"""

import argparse
import collections
import pathlib
import sys

import emit_kernels
import emit_ops
import emit_python
from entries import EntryError, load_entries
from writer import remove_stale, write_if_changed


def group_entries(entries):
    groups = collections.OrderedDict()
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    return groups


def outputs(entries):
    """Relative path → text of every C++ file."""
    groups = group_entries(entries)
    files = {"opyard/ops.h": emit_ops.umbrella(entries),
             "opyard/ops/kernel_handles.h": emit_ops.kernel_handles_header(entries),
             "opyard/ops/tensor_operators.h": emit_ops.tensor_operators(),
             "kernels/generated.h": emit_kernels.generated_header(groups),
             "kernels/expected.h": emit_kernels.expected_header(entries),
             "kernels/definitions.cc": emit_kernels.definitions_source(groups)}
    for name, operators in emit_ops.by_header(entries).items():
        files[f"opyard/ops/{name}.h"] = emit_ops.ops_header(operators)
    for group, members in groups.items():
        files[f"opyard/ops/handles_{group}.cc"] = emit_ops.handles_source(group, members)
        files[f"kernels/kernels_{group}.cc"] = emit_kernels.kernels_source(group, members)
    return files


def print_kernels(entries):
    for entry in entries:
        if entry.kernel:
            parameters = entry.kernel.cpp_parameters()
            print(f"{entry.kernel.full_name:32} {entry.kernel.cpp_return()}({parameters})")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", required=True, help="folder of the entries")
    parser.add_argument("--out", help="folder for the C++ code")
    parser.add_argument("--python", help="file for the Python client's stubs")
    parser.add_argument("--list", action="store_true", help="print the C++ outputs, write nothing")
    parser.add_argument("--kernels", action="store_true", help="print the kernels that a backend may bring")
    options = parser.parse_args(arguments)
    try:
        entries = load_entries(options.ops)
        files = outputs(entries)
    except EntryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.list:
        print("\n".join(sorted(files)))
        return 0
    if options.kernels:
        print_kernels(entries)
        return 0
    if options.out:
        for relative, text in files.items():
            write_if_changed(pathlib.Path(options.out) / relative, text)
        remove_stale(options.out, files)
    if options.python:
        write_if_changed(options.python, emit_python.stubs(entries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
