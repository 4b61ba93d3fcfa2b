#!/usr/bin/env python3
"""Counts the circles of imports between the source files of each crate.

    python3 tools/import_circles.py [crates/NAME ...]

A file imports another when a path in its code (`use crate::a::B`, `super::c::d()`) leads there; a name that a module
only re-exports (`pub use child::Name`) counts as an import of the file that defines it. Two numbers are printed for
each crate:

- the files of its largest circle;
- the modules of its largest circle *between siblings*: the children of one module, each together with all below it,
  and what each takes from the others. What a child takes from its parent's own file does not count: a module and its
  children may know each other.

A module that only a macro's list declares (`policies! { lru; … }`) counts as an import of the list's file. Every circle
between siblings is printed with its parent. Tests do not count.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|r#"(?:.|\n)*?"#', re.S)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod\s+\w+\s*(;|\{)")
USE = re.compile(r"(?:^|\n)\s*(?P<public>pub(?:\([^)]*\))?\s+)?use\s+(?P<tree>[^;]+);")
INLINE = re.compile(r"(?<![\w:])[a-z_]\w*(?:::\w+)+")


def strip(text):
    """The code without comments, strings and test modules."""
    text = TOKEN.sub(lambda found: " " if found[0][0] == "/" else '""', text)
    while found := TEST_MODULE.search(text):
        end = found.end()
        depth = 1 if found[1] == "{" else 0
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def expand(tree):
    """Every path of a `use` tree, as lists of names; a renamed item keeps its first name."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [[name.strip() for name in tree.split(" as ")[0].split("::") if name.strip()]]
    prefix = [name.strip() for name in tree[:brace].split("::") if name.strip()]
    parts, depth, part = [], 0, ""
    for character in tree[brace + 1 : tree.rfind("}")]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [prefix + path for part in [*parts, part] if part.strip() for path in expand(part)]


class Crate:
    def __init__(self, folder):
        source = folder / "src"
        self.files = {}
        for path in sorted(source.rglob("*.rs")):
            names = list(path.relative_to(source).with_suffix("").parts)
            if names[-1] == "tests" or names[-1].endswith("_tests") or names[0] == "bin":
                continue
            module = tuple(names[:-1]) if names[-1] in ("mod", "lib", "main") else tuple(names)
            self.files[module] = strip(path.read_text())
        self.exports = {module: self.reexports(module) for module in self.files}

    def absolute(self, module, names):
        """The path from the crate's root, or nothing for what is another crate's."""
        if names[0] == "crate":
            return tuple(names[1:])
        if names[0] in ("self", "super"):
            here = list(module)
            for name in names:
                if name == "super":
                    here = here[:-1]
            return tuple(here) + tuple(name for name in names if name not in ("self", "super"))
        if module + (names[0],) in self.files:
            return module + tuple(names)
        return None

    def reexports(self, module):
        found = {}
        for use in USE.finditer(self.files[module]):
            if not use["public"]:
                continue
            for names in expand(use["tree"]):
                path = self.absolute(module, names)
                if path:
                    found[path[-1]] = path
        return found

    def definer(self, path, depth=0):
        """The file that defines what `path` names, re-exports followed."""
        for length in range(len(path), -1, -1):
            module = path[:length]
            if module not in self.files:
                continue
            rest = path[length:]
            target = self.exports[module].get(rest[0]) if rest else None
            if target and depth < 8 and target != path:
                return self.definer(target + rest[1:], depth + 1)
            return module
        return None

    def imports(self, module):
        found = set()
        text = self.files[module]
        for use in USE.finditer(text):
            if use["public"]:
                continue
            for names in expand(use["tree"]):
                path = self.absolute(module, names)
                if path is not None:
                    found.add(self.definer(path))
        for inline in INLINE.finditer(USE.sub("\n", text)):
            path = self.absolute(module, inline[0].split("::"))
            if path is not None:
                found.add(self.definer(path))
        return (found | self.listed(module)) - {module, None}

    def listed(self, module):
        """The children that a macro's list declares: it names something in each."""
        text = self.files[module]
        children = [other for other in self.files if other[:-1] == module and other]
        declared = [child for child in children if not re.search(rf"\bmod {child[-1]}\b", text)]
        return {child for child in declared if re.search(rf"(?<![\w:]){child[-1]}\b", text)}


def circles(graph):
    """The strongly connected components of more than one node, largest first (Tarjan)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
                on_stack.discard(component[-1])
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return sorted(found, key=len, reverse=True)


def siblings(graph):
    """For each module, the imports between its children, each taken together with all below it."""
    graphs = {}
    for module, others in graph.items():
        for other in others:
            depth = next((at for at, (one, two) in enumerate(zip(module, other)) if one != two), None)
            if depth is not None:
                children = graphs.setdefault(module[:depth], {})
                children.setdefault(module[depth], set()).add(other[depth])
                children.setdefault(other[depth], set())
    return graphs


def report(folder):
    crate = Crate(folder)
    graph = {module: crate.imports(module) for module in crate.files}
    whole = circles(graph)
    between = [
        (parent, circle) for parent, children in sorted(siblings(graph).items()) for circle in circles(children)
    ]
    largest = len(whole[0]) if whole else 0
    largest_between = max((len(circle) for _, circle in between), default=0)
    print(f"{folder.name}: {len(graph)} files, largest circle {largest}, between siblings {largest_between}")
    for parent, circle in between:
        print(f"  {'::'.join(parent) or 'lib'}: {' '.join(circle)}")


def main():
    sys.setrecursionlimit(10_000)
    folders = [Path(name) for name in sys.argv[1:]]
    root = Path(__file__).resolve().parent.parent / "crates"
    for folder in folders or sorted(path for path in root.iterdir() if (path / "src").is_dir()):
        report(folder)


if __name__ == "__main__":
    main()
