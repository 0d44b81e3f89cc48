"""The architecture checks as functions: each takes a tree or a built file and returns a list of complaints.

The test files beside this one call them on the repository; test_self.py calls them on trees that are wrong on purpose.
"""

import fnmatch
import pathlib
import re
import subprocess

import functions
import yaml

SOURCE_ROOTS = ("server", "kernels", "plugins", "client")
CPP = (".h", ".cc", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
# Where #include "x" is looked for, as paths in the repository; "gen" stands for the generated code.
INCLUDE_ROOTS = ("server/lib", "", "plugins/abi")


def load_table(path):
    return yaml.safe_load(pathlib.Path(path).read_text())


def source_files(root, suffixes=CPP):
    for top in SOURCE_ROOTS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in suffixes and path.is_file() and "tests" not in path.relative_to(root).parts:
                yield path


def floor_key(text):
    number = re.match(r"\d+", text).group(0)
    return int(number), text[len(number):]


def rule_of(table, relative):
    """The table's rule for a path, longest match first; a '*' stands for one folder name."""
    best = None
    parts = str(relative).split("/")
    for rule in table["floors"]:
        wanted = rule["path"].split("/")
        direct = len(parts) == len(wanted) + 1 or not rule.get("direct")
        if len(parts) > len(wanted) and direct and all(map(fnmatch.fnmatch, parts, wanted)):
            if best is None or len(wanted) > len(best[0].split("/")):
                best = ("/".join(parts[: len(wanted)]), rule)
    return best


def resolve_include(root, including, name):
    """The repository path that an include means, "gen/…" for generated headers, None for somebody else's."""
    for base in INCLUDE_ROOTS:
        candidate = root / base / name
        if candidate.is_file():
            return str(candidate.relative_to(root))
    if re.match(r"^opyard/v1/.*\.pb\.h$", name):
        return "proto/" + name
    if name == "opyard/ops.h" or name.startswith("opyard/ops/"):
        return "gen/opyard/ops/" + name.split("/")[-1]
    if name.startswith("kernels/"):
        return "gen/" + name
    beside = including.parent / name
    if beside.is_file():
        return str(beside.resolve().relative_to(root.resolve()))
    return None


def is_listed(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def complaint_about(table, relative, target):
    source, wanted = rule_of(table, relative), rule_of(table, target)
    if source is None:
        return f"{relative} stands in a folder that floors.yaml does not know"
    if wanted is None:
        return f"{relative} includes {target}, whose folder floors.yaml does not know"
    if source[0] == wanted[0] or is_listed(wanted[0], source[1].get("also", [])):
        return None
    if "only" in source[1]:
        if is_listed(wanted[0], source[1]["only"]):
            return None
        return f"{relative} ({source[0]}) includes {target}; it may include only {', '.join(source[1]['only'])}"
    if "floor" not in wanted[1]:
        return f"{relative} ({source[0]}) includes {target}, which is a client"
    mine, theirs = source[1]["floor"], wanted[1]["floor"]
    if floor_key(theirs) < floor_key(mine):
        return None
    kind = "a sibling" if mine == theirs else "a higher floor"
    return f"{relative} (floor {mine}) includes {target} (floor {theirs}), {kind}"


def includes_of(path):
    for line in path.read_text(errors="replace").splitlines():
        found = INCLUDE.match(line)
        if found:
            yield found.group(2)


def check_floors(root, table):
    complaints = []
    for path in source_files(root):
        relative = path.relative_to(root)
        if rule_of(table, relative) is None:
            complaints.append(f"{relative} stands in a folder that floors.yaml does not know")
            continue
        for name in includes_of(path):
            target = resolve_include(root, path, name)
            text = complaint_about(table, relative, target) if target else None
            if text:
                complaints.append(text)
    return complaints


def check_third_party(root, table):
    complaints = []
    for rule in table["third_party"]:
        users = set()
        for path in source_files(root):
            relative = str(path.relative_to(root))
            for name in includes_of(path):
                if not re.search(rule["header"], name):
                    continue
                users.add(relative)
                if not any(relative.startswith(folder) for folder in rule["allowed"]):
                    complaints.append(f"{relative} includes <{name}>: {rule['what']} belongs to {rule['allowed']}")
        if "files" in rule and len(users) > rule["files"]:
            complaints.append(f"{rule['what']} is included by {sorted(users)}, not by {rule['files']} file")
    return complaints


def check_readmes(root):
    """A folder with C++ sources has a README of at most 60 lines; Python packages need one in a folder above."""
    complaints = []
    folders = {path.parent for path in source_files(root)}
    for folder in sorted(folders):
        if not (folder / "README.md").is_file():
            complaints.append(f"{folder.relative_to(root)} has no README.md")
    for path in source_files(root, (".py",)):
        above = [folder for folder in path.parents if folder != root and root in folder.parents]
        if not any((folder / "README.md").is_file() for folder in above):
            complaints.append(f"{path.relative_to(root)} has no README.md in a folder above it")
    for top in SOURCE_ROOTS + ("proto", "deploy", "tests"):
        for readme in sorted((root / top).rglob("README.md")):
            lines = len(readme.read_text().splitlines())
            if lines > 60:
                complaints.append(f"{readme.relative_to(root)} has {lines} lines, at most 60 are wanted")
    return complaints


def check_lengths(root, table):
    complaints = []
    allowed = {entry["path"]: entry for entry in table["longer_files"]}
    seen = set()
    for path in source_files(root, tuple(table["lengths"])):
        relative = str(path.relative_to(root))
        lines = len(path.read_text(errors="replace").splitlines())
        limit = table["lengths"][path.suffix]
        entry = allowed.get(relative)
        if lines <= limit:
            continue
        seen.add(relative)
        if entry is None:
            complaints.append(f"{relative} has {lines} lines, the limit is {limit}")
        elif lines > entry["lines"]:
            complaints.append(f"{relative} has {lines} lines, floors.yaml allows it {entry['lines']}")
    for relative, entry in allowed.items():
        if relative not in seen:
            complaints.append(f"floors.yaml allows {relative} to be longer, which it no longer needs")
        if not entry.get("reason"):
            complaints.append(f"floors.yaml gives no reason for {relative}")
    return complaints


def check_functions(root, table):
    complaints = []
    allowed = {(entry["path"], entry["function"]): entry for entry in table["longer_functions"]}
    for path in source_files(root):
        relative = str(path.relative_to(root))
        for name, first, lines in functions.function_lengths(path.read_text(errors="replace")):
            limit = allowed.get((relative, name), {}).get("lines", table["function_lines"])
            if lines > limit:
                complaints.append(f"{relative}:{first} {name} has {lines} lines, the limit is {limit}")
    return complaints


# Parts are joined here so that this file does not complain about itself.
PRIVATE_PATH = re.compile(r"(/ho" r"me/[a-z]|/ro" r"ot/|/Us" r"ers/[A-Za-z]|/wo" r"rk/(main|shared)|/tm" r"p/build-)")


def check_private_paths(files):
    complaints = []
    for path in files:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if PRIVATE_PATH.search(line):
                complaints.append(f"{path}:{number} names a folder of one developer's machine: {line.strip()[:100]}")
    return complaints


MUTABLE_INLINE = re.compile(
    r"^\s*(?:inline\s+static|static\s+inline|inline|static)\s+(?!constexpr|const\b|constinit\s+const|namespace\b|consteval)"
    r"(?:thread_local\s+)?[\w:<>,\s*&]+?\s[\w]+\s*(?:=[^=]|;|\{\s*\}\s*;)")


def check_header_state(text, name):
    """Mutable inline or static variables: the compiler emits them only where they are used, so they are read here."""
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if MUTABLE_INLINE.match(code) and "(" not in code.split("=")[0] and "operator" not in code:
            complaints.append(f"{name}:{number} holds state in a header: {line.strip()}")
    return complaints


def demangled_symbols(path, *options):
    """(bind, visibility, section index, name) of each symbol."""
    out = subprocess.run(["readelf", "-W", *options, str(path)], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    rows = [row for row in rows if len(row) >= 8 and row[0].endswith(":") and row[0][:-1].isdigit()]
    names = "\n".join(row[7].split("@")[0] for row in rows)
    plain = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(row[4], row[5], row[6], name) for row, name in zip(rows, plain)]


def unique_symbols(path):
    """Unique symbols that the file defines and whose name is Opyard's: each would pin the plugin that has it."""
    return [name for bind, _, section, name in demangled_symbols(path, "-s")
            if bind == "UNIQUE" and section != "UND" and re.search(r"\bopyard::", name)]


def compile_headers(compiler, headers, include_roots, output, options=()):
    """Compiles a file that includes the headers and nothing else. Returns the compiler's complaints.

    The source stays where it is: ccache takes no standard input.
    """
    source = output.with_suffix(".cc")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    command = [*compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-O0", *options,
               *[f"-I{folder}" for folder in include_roots], "-c", str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


# Emits every inline function, so that the state inside them shows. Not with each header alone: that takes minutes.
KEEP_INLINE = ("-fkeep-inline-functions",)


def copy_relocations(path):
    out = subprocess.run(["readelf", "-rW", str(path)], capture_output=True, text=True, check=True).stdout
    copies = "\n".join(line for line in out.splitlines() if "R_X86_64_COPY" in line or "R_AARCH64_COPY" in line)
    plain = subprocess.run(["c++filt"], input=copies, capture_output=True, text=True, check=True).stdout
    return [line for line in plain.splitlines() if "opyard" in line]
