"""The layout of plugins/abi, as the compiler sees it, and what of it may change (plugins/abi/VERSIONING.md).

usage: abi_lock.py [--update]      compares the headers with plugins/abi/abi.lock; --update takes up what was appended
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "plugins" / "abi"
MACROS = ["OPYARD_ABI_MAJOR", "OPYARD_ABI_MINOR", "OPYARD_NOTE_TYPE", "OPYARD_NOTE_MAGIC"]
TITLE = """# Sizes, places and numbers of the C interface: what plugins that exist rely on. Made by
# tests/architecture/abi_lock.py --update, which says what may change; see VERSIONING.md.
"""


def compile_headers(folder, work):
    """Object file that describes every type of the headers, used or not."""
    source = work / "all.c"
    includes = "".join(f'#include "{path.name}"\n' for path in sorted(folder.glob("*.h")))
    values = "".join(f"  locked_{name} = (long)({name}),\n" for name in MACROS)
    entry = "opyard_plugin_entry_fn locked_entry;\n"
    source.write_text(f"{includes}enum locked_macros {{\n{values}}} locked;\n{entry}")
    subprocess.run(["cc", "-std=c11", "-g", "-fno-eliminate-unused-debug-types", "-c", "-I", folder, source,
                    "-o", work / "all.o"], check=True)
    return work / "all.o"


def read_debug_info(path):
    """{offset: {"tag", "parent", "name", …}} of the object's debug information, in the order of the file."""
    text = subprocess.run(["readelf", "--debug-dump=info", "-W", path], check=True, capture_output=True, text=True).stdout
    entries, stack, entry = {}, {}, None
    for line in text.splitlines():
        head = re.match(r" *<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: (\d+)(?: \(DW_TAG_(\w+)\))?", line)
        if head:
            depth, offset, tag = int(head[1], 16), int(head[2], 16), head[4]
            entry = None
            if tag:
                entry = entries[offset] = {"tag": tag, "parent": stack.get(depth - 1)}
                stack[depth] = offset
            continue
        fact = re.match(r" +<[0-9a-f]+> +DW_AT_(\w+) *: (.*)$", line)
        if fact and entry is not None:
            # "(data1) 8", "(indirect string, offset: 0x1b8): opyard_str"
            entry[fact[1]] = re.sub(r"^(\([^)]*\):? *)+", "", fact[2].strip())
    return entries


class Types:
    def __init__(self, entries):
        self.entries = entries
        self.children = {}
        for offset, entry in entries.items():
            self.children.setdefault(entry["parent"], []).append(offset)

    def target(self, entry):
        found = re.match(r"<0x([0-9a-f]+)>", entry.get("type", ""))
        return self.entries[int(found[1], 16)] if found else None

    def offset_of(self, entry):
        found = re.match(r"<0x([0-9a-f]+)>", entry.get("type", ""))
        return int(found[1], 16) if found else None

    def spell(self, entry, offset=None):
        """The type as C would write it, near enough to tell two apart."""
        if entry is None:
            return "void"
        inner, inner_offset = self.target(entry), self.offset_of(entry)
        kind = entry["tag"]
        if kind == "pointer_type":
            return self.spell(inner, inner_offset) + "*"
        if kind == "const_type":
            return "const " + self.spell(inner, inner_offset)
        if kind == "array_type":
            bounds = [self.entries[each] for each in self.children.get(offset, [])]
            sizes = "".join(f"[{int(bound['upper_bound'], 0) + 1}]" for bound in bounds)
            return self.spell(inner, inner_offset) + sizes
        if kind == "subroutine_type":
            parameters = [self.entries[each] for each in self.children.get(offset, [])]
            spelt = ", ".join(self.spell(self.target(each), self.offset_of(each)) for each in parameters)
            return f"{self.spell(inner, inner_offset)}({spelt})"
        if kind == "structure_type" and "name" not in entry:
            fields = [self.entries[each] for each in self.children.get(offset, [])]
            return "{" + " ".join(f"{self.spell(self.target(f), self.offset_of(f))} {f['name']};" for f in fields) + "}"
        return entry["name"]

    def size(self, entry, offset):
        if "byte_size" in entry:
            return int(entry["byte_size"], 0)
        if entry["tag"] == "array_type":
            count = 1
            for each in self.children.get(offset, []):
                count *= int(self.entries[each]["upper_bound"], 0) + 1
            return count * self.size(self.target(entry), self.offset_of(entry))
        return self.size(self.target(entry), self.offset_of(entry))


def describe(folder=HEADERS):
    """{("struct", name): {"size", "fields": [(place, size, name, type)]}, ("enum", name): {member: number}}"""
    with tempfile.TemporaryDirectory() as work:
        types = Types(read_debug_info(compile_headers(folder, pathlib.Path(work))))
    found = {}
    for offset, entry in types.entries.items():
        name, members = entry.get("name", ""), [types.entries[each] for each in types.children.get(offset, [])]
        if entry["tag"] == "structure_type" and name.startswith("opyard_") and "byte_size" in entry:
            fields = [(int(field["data_member_location"], 0), types.size(types.target(field), types.offset_of(field)),
                       field["name"], types.spell(types.target(field), types.offset_of(field))) for field in members]
            found["struct", name] = {"size": int(entry["byte_size"], 0), "fields": fields}
        elif entry["tag"] == "enumeration_type" and name.startswith(("opyard_", "locked_")):
            found["enum", name] = {field["name"]: int(field["const_value"], 0) for field in members}
        elif entry["tag"] == "typedef" and name.startswith("opyard_"):
            target = types.target(entry)
            spelt = types.spell(target, types.offset_of(entry))
            if spelt != name:  # else it names a struct
                found["type", name] = spelt
    return found


def write(found):
    lines = [TITLE]
    for (kind, name), what in sorted(found.items()):
        if kind == "struct":
            lines.append(f"struct {name} {what['size']}\n")
            lines += [f"  {place} {size} {field} {spelt}\n" for place, size, field, spelt in what["fields"]]
        elif kind == "enum":
            lines.append(f"enum {name}\n")
            lines += [f"  {member} {number}\n" for member, number in what.items()]
        else:
            lines.append(f"type {name} {what}\n")
    return "".join(lines)


def read(text):
    found, inside = {}, None
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if not line.startswith(" "):
            key = words[0], words[1]
            inside = {"struct": lambda: {"size": int(words[2]), "fields": []}, "enum": dict,
                      "type": lambda: " ".join(words[2:])}[words[0]]()
            found[key] = inside
        elif "fields" in inside:
            inside["fields"].append((int(words[0]), int(words[1]), words[2], " ".join(words[3:])))
        else:
            inside[words[0]] = int(words[1])
    return found


def version(found):
    macros = found["enum", "locked_macros"]
    return macros["locked_OPYARD_ABI_MAJOR"], macros["locked_OPYARD_ABI_MINOR"]


def compare(locked, now):
    """What a plugin that exists would stumble over, and what was appended to things that it may have."""
    broken, appended = [], []
    for key, old in locked.items():
        what, new = " ".join(key), now.get(key)
        if new is None:
            broken.append(f"{what} is gone")
        elif key[0] == "type":
            if new != old:
                broken.append(f"{what} was '{old}' and is '{new}'")
        elif key[0] == "struct":
            count = len(old["fields"])
            for was, field in zip(old["fields"], new["fields"]):
                if was != field:
                    broken.append(f"{what}: the field '{was[2]}' was {was} and is {field}")
            if len(new["fields"]) < count or new["size"] < old["size"]:
                broken.append(f"{what} has become smaller")
            elif len(new["fields"]) > count or new["size"] > old["size"]:
                appended.append(what)
            if any(field[0] < old["size"] for field in new["fields"][count:]):
                broken.append(f"{what}: a new field lies in what was padding; older plugins leave anything there")
        elif key[1] != "locked_macros":
            broken += [f"{what}: {member} was {number} and is {new.get(member, 'gone')}"
                       for member, number in old.items() if new.get(member) != number]
            if len(new) > len(old):
                appended.append(what)
    return broken, appended


def check(locked, now):
    """Why the headers may not follow on the lock; empty when they may."""
    broken, appended = compare(locked, now)
    major = version(locked)[0]
    if version(now)[0] != major and not broken:
        broken.append("OPYARD_ABI_MAJOR has changed without need")
    if version(now)[0] == major and appended and version(now)[1] <= version(locked)[1]:
        broken.append(f"{', '.join(appended)}: appended to, so OPYARD_ABI_MINOR has to grow; it is {version(now)[1]}")
    return broken


def main(arguments):
    lock, now = HEADERS / "abi.lock", describe()
    if lock.exists():
        complaints = check(read(lock.read_text()), now)
        if complaints:
            print("plugins that exist would break (see plugins/abi/VERSIONING.md):", *complaints, sep="\n  ")
            return 1
    if arguments == ["--update"]:
        lock.write_text(write(now))
    elif not lock.exists() or lock.read_text() != write(now):
        print("plugins/abi/abi.lock does not know everything that was appended: run tests/architecture/abi_lock.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
