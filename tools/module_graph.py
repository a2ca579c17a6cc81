#!/usr/bin/env python3
"""Which module includes which, drawn into ARCHITECTURE.md.

usage: tools/module_graph.py [--check]

Reads the modules and their order from CMakeLists.txt and the includes from src/ (tests apart). An arrow that follows from others is
left out. --check writes nothing and fails where the drawing is not what the sources say.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BEGIN, END = "<!-- modules: drawn by tools/module_graph.py -->\n", "<!-- end of modules -->\n"


def modules():
    """In the order in which they may use each other; `ports` is only headers, and has no line of its own."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        found = re.findall(r"^virtgate_module\((\w+)", file.read(), re.M)
    found.insert(found.index("api") + 1, "ports")
    return found


def is_test(path):
    return path.endswith("_test.cpp") or "test" in os.path.basename(path) or "/testing/" in path


def includes():
    """{(module, used module): [path, ...]}"""
    known = modules()
    found = {}
    for module in known:
        for at, _, names in sorted(os.walk(os.path.join(ROOT, "src", module))):
            for name in sorted(names):
                path = os.path.join(at, name)
                if not name.endswith((".h", ".cpp")) or is_test(path):
                    continue
                with open(path, encoding="utf-8") as file:
                    for used in re.findall(r'^#include "(\w+)/', file.read(), re.M):
                        if used in known and used != module:
                            found.setdefault((module, used), []).append(os.path.relpath(path, ROOT))
    return found


def upward(order, edges):
    return {edge: paths for edge, paths in edges.items() if order.index(edge[1]) > order.index(edge[0])}


def reduced(order, edges):
    """Without the arrows that follow from others."""
    reach = {}
    kept = []
    for module in order:
        direct = [used for one, used in edges if one == module]
        behind = set().union(*(reach.get(used, set()) for used in direct)) if direct else set()
        kept += [(module, used) for used in sorted(set(direct) - behind, key=order.index)]
        reach[module] = set(direct) | behind
    return kept


def drawing():
    order = modules()
    lines = [f"  {module} --> {used}" for module, used in reduced(order, includes())]
    return BEGIN + "```mermaid\ngraph BT\n" + "\n".join(lines) + "\n```\n" + END


def main():
    path = os.path.join(ROOT, "ARCHITECTURE.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + drawing() + after
    if wanted == text:
        return
    if "--check" in sys.argv:
        sys.exit("the modules in ARCHITECTURE.md are not those of the sources; run tools/module_graph.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(wanted)


if __name__ == "__main__":
    main()
