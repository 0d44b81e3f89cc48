"""Finds C++ function bodies and their lengths, well enough to hold functions under the limit.

Not a parser: it drops comments and literals, then walks the braces. A brace that opens at namespace or class level behind
a parameter list opens a function; one behind "namespace", "class" and the like opens a scope; any other is data.
"""

import re

LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern)\b')
TAIL = re.compile(r"\)\s*(const|noexcept(\([^()]*\))?|override|final|mutable|&&?|->\s*[\w:<>,\s*&]+|requires[^;{}]*"
                  r"|OPYARD_\w+(\([^()]*\))?|\s)*$")


def blank(match):
    """Same number of lines, nothing in them."""
    return "\n" * match.group(0).count("\n")


def plain_code(text):
    return DIRECTIVE.sub(blank, LITERALS.sub(blank, text))


def kind_of(head, enclosing):
    if any(kind != "scope" for kind in enclosing):
        return "inside"
    initialisers = re.search(r"\)\s*(noexcept\s*)?:[^:]", head)
    if initialisers and re.search(r"[\w>]\s*$", head):
        return "data"  # a member initialised with braces
    if TAIL.search(head) or (initialisers and head.rstrip().endswith((")", "}"))):
        return "function"
    if SCOPE.search(head) and "=" not in head.split("<")[0]:
        return "scope"
    return "data"


def name_of(head):
    found = re.search(r"([~\w:]+(?:operator\s*\S+)?)\s*\(", head)
    return found.group(1) if found else "?"


def function_lengths(text):
    """(name, first line, number of lines from the opening brace to the closing one) of each function."""
    stack, found = [], []
    line, head = 1, ""
    for char in plain_code(text):
        if char == "\n":
            line += 1
        if char == "{":
            kind = kind_of(head, [entry[0] for entry in stack])
            stack.append((kind, name_of(head), line))
            head = head + "}" if kind == "data" else ""
        elif char == "}":
            if not stack:
                break  # the preprocessor splits the braces: beyond this reader
            kind, name, first = stack.pop()
            if kind == "function":
                found.append((name, first, line - first + 1))
            if kind not in ("data", "inside"):
                head = ""
        elif char == ";":
            head = ""
        elif not stack or stack[-1][0] == "scope":
            head += char
    return found
