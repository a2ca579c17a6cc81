"""Every citation of the specification leads somewhere.

Code cites what it implements: `spec server 3.2` (a section), `spec subresources Q43` (a row of that file), `DISK-04` (a row
with a prefix of its own). Several may follow each other: `spec work-objects 1.3: D17, D27 to D31`, `spec server 3.2 and 4.4`.
A quirk has the same number in several files, so it is never cited without the file. The ids of rules in tables of
src/admission are citations as well.
"""
import bisect
import os
import re
import unittest

import repository

LOOKED_AT = (".cpp", ".h", ".py", ".vgs", ".md", ".cmake", ".txt", ".sh", "")
# Recordings are data; the function order has mangled names; this file has examples.
NOT_LOOKED_AT = ("spec/", "facts/", "tests/conformance/", "tests/fuzz/corpus/", "tests/tidy/citations_test.py")

SECTION = r"\d+(?:\.\d+)*"
ID = r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-?\d+[a-z]?"
GAP = r"(?:[ \t]|\n[ \t]*(?://+|#+|\*)?[ \t]*)+"  # blanks, or a line break inside of a comment
HEADING = re.compile(r"^#{2,6} +(?:Appendix +)?(" + SECTION + r")\.?\s", re.M)
SPELLED = re.compile(r"\bspec" + GAP + r"([a-z][a-z-]*[a-z])(?:\.md)?" + GAP + r"(?=\d|[A-Z]+-?\d)")
ITEM = re.compile(r"(?:" + ID + r"|" + SECTION + r")(?![\w-])")
STEPS = re.compile(r"steps?" + GAP + r"\d+(?:" + GAP + r"to" + GAP + r"\d+)?")
BETWEEN = re.compile(r"(?:,|:|;)?(?:" + GAP + r"(?:and|to|or)\b)?" + GAP)
FILE_AGAIN = re.compile(r"([a-z][a-z-]*[a-z])" + GAP + r"(?=" + SECTION + r"|[A-Z]+-?\d)")
QUIRK = re.compile(r"(?<!-)\bQ-?\d+[a-z]?\b")
RULE_ROW = re.compile(r"^\s*(?:\w+(?:<\w+>)?)?\{\"(" + ID + r")\",", re.M)
PREFIXED = re.compile(r"\b([A-Z][A-Z0-9]*(?:-[A-Z]+)*)-(\d+[a-z]?)\b(?!-)")
DEFINED = re.compile(r"\b([A-Z][A-Z0-9]*-\d+[a-z]?)(?: \([A-Z0-9]+\))?: ")  # a rule that stands in a sentence of its own
FILE_NAME = re.compile(r"\bspec/([a-z-]+)\.md")


# Two files have rules DRA; `virtgate rules` has to tell them apart, so those of the other one have a longer name there.
RENAMED = {"NDRA": ("vmi-storage-network", "DRA")}


class Spec:
    def __init__(self, text):
        self.sections = set(HEADING.findall(text))
        self.ids = set()
        for row in re.findall(r"^\|([^|]*)\|", text, re.M):
            self.ids |= ids_of(row)
        self.ids |= set(DEFINED.findall(text))

    def has(self, item):
        return item in self.sections or item in self.ids


def ids_of(cell):
    """The ids that the first cell of a row names: one, several, or from one to another."""
    cell = cell.replace("`", "").replace("*", "").strip()
    found = re.fullmatch(r"(" + ID + r")(?:\s*(?:–|-|to|…)\s*(?:" + ID + r"|\d+))?(?:\s*[,/]\s*(?:" + ID + r"|[a-z]|\d+))*", cell)
    if not found:
        return set()
    ids = set(re.findall(ID, cell))
    span = re.match(r"(.*?)(\d+)\s*(?:–|-|to|…)\s*(?:" + re.escape(re.sub(r"\d+[a-z]?$", "", found.group(1))) + r")?(\d+)$", cell)
    if span:
        width = len(span.group(2))
        ids |= {f"{span.group(1)}{number:0{width}}" for number in range(int(span.group(2)), int(span.group(3)) + 1)}
    return ids


class Specs(dict):
    """The files by name, and what all of them have."""

    def __init__(self, files):
        super().__init__(files)
        self.every_id = set().union(*(spec.ids for spec in self.values()))
        for here, (name, there) in RENAMED.items():
            self.every_id |= {here + one.removeprefix(there) for one in self[name].ids if one.startswith(there + "-")} if name in self else set()
        self.prefixes = {re.sub(r"-\d+[a-z]?$", "", one) for one in self.every_id if re.search(r"-\d+[a-z]?$", one)}


def load_specs():
    names = [name for name in repository.names() if re.fullmatch(r"spec/[a-z-]+\.md", name)]
    return Specs({name[len("spec/"):-len(".md")]: Spec(repository.read(name)) for name in names})


def cited_items(text, at, name, specs):
    """(file, item, where) of the citation whose first item stands at `at`, and where it ends."""
    items = []
    while True:
        steps, item = STEPS.match(text, at), ITEM.match(text, at)
        if item:
            items.append((name, item.group(), at))
        elif not steps:
            return items, at
        end = (item or steps).end()
        between = BETWEEN.match(text, end)
        if not between:
            return items, end
        at = between.end()
        again = FILE_AGAIN.match(text, at)
        if again and again.group(1) in specs:
            name, at = again.group(1), again.end()


def problems_of(path, text, specs):
    """(line, what is wrong) of every citation in a text, and how many there are."""
    starts = [0] + [found.end() for found in re.finditer("\n", text)]
    problems, covered, count = [], [], 0

    def wrong(at, what):
        problems.append((bisect.bisect_right(starts, at), what))

    for found in SPELLED.finditer(text):
        name = found.group(1)
        if name not in specs:
            if name.endswith("md") or not re.match(r"Q\d|\d+\.\d", text[found.end():found.end() + 6]):
                continue  # "spec of 3 pages": not a citation
            wrong(found.start(), f"there is no spec/{name}.md")
            continue
        items, end = cited_items(text, found.end(), name, specs)
        covered.append((found.start(), end))
        for name, item, at in items:
            count += 1
            if not specs[name].has(item):
                wrong(at, f"spec/{name}.md has no {item}")

    def inside(at):
        return any(start <= at < end for start, end in covered)

    if path.startswith("src/admission/") and not path.endswith("_test.cpp"):
        for found in RULE_ROW.finditer(text):
            count += 1
            covered.append((found.start(), found.end()))
            if found.group(1) not in specs.every_id:
                wrong(found.start(1), f"no file of spec/ has a rule {found.group(1)}")
    for found in PREFIXED.finditer(text):
        if inside(found.start()) or found.group(1) not in specs.prefixes:
            continue
        count += 1
        if found.group() not in specs.every_id:
            wrong(found.start(), f"no file of spec/ has {found.group()}")
    for found in QUIRK.finditer(text):
        quoted = text[found.start() - 1:found.start()] == '"'  # the id of a rule, in a table of examples
        if not inside(found.start()) and not quoted:
            wrong(found.start(), f"{found.group()} of which file? Write: spec FILE {found.group()}")
    for found in FILE_NAME.finditer(text):
        if found.group(1) not in specs:
            wrong(found.start(), f"there is no spec/{found.group(1)}.md")
    return sorted(problems), count


class Citations(unittest.TestCase):
    def test_every_citation_leads_somewhere(self):
        specs, told, count = load_specs(), [], 0
        for name in repository.names():
            if os.path.splitext(name)[1] not in LOOKED_AT or name.startswith(NOT_LOOKED_AT):
                continue
            problems, found = problems_of(name, repository.read(name), specs)
            told += [f"{name}:{line}: {what}" for line, what in problems]
            count += found
        self.assertEqual(told, [], "\n" + "\n".join(told))
        self.assertGreater(count, 500)
        print(f"{count} citations")


class Reader(unittest.TestCase):
    """What this test takes for a citation, and what it says of a wrong one."""

    SPECS = Specs({"server": Spec("## 1. A\n### 1.2 B\n| Q1 | x |\n| Q2 | y |\n"), "work-objects": Spec("## 3. C\n| D01 | a |\n| D02–D04 | b |\n| CL-01 | c |\n")})

    def told(self, text, path="src/a.cpp"):
        return problems_of(path, text, self.SPECS)[0]

    def test_good_ones(self):
        for text in ("// (spec server 1.2).", "// spec server 1 and 1.2", "// spec\n// server 1.2", "// spec server Q1", "// spec work-objects 3: D01, D02 to D04",
                     "// spec work-objects 3, server 1.2", "// spec server 1.2, steps 5 to 14", "// CL-01", "// the spec has 3 fields", "// SHA-256, UTF-8"):
            self.assertEqual(self.told(text), [], text)

    def test_wrong_ones(self):
        for text, line, what in (("// spec server 9.9", 1, "has no 9.9"), ("\n// spec server 1.2 and 1.3", 2, "has no 1.3"), ("// spec serve 1.2", 1, "no spec/serve.md"),
                                 ("// as there (Q1)", 1, "of which file"), ("// spec server Q3", 1, "has no Q3"), ("// spec work-objects 3: D01,\n// D09", 2, "has no D09"),
                                 ("// CL-09", 1, "has CL-09"), ("// see spec/nothing.md", 1, "no spec/nothing.md"), ("// spec work-objects 3, server 1.9", 1, "has no 1.9")):
            told = self.told(text)
            self.assertEqual([(at, what in words) for at, words in told], [(line, True)], (text, told))

    def test_rules(self):
        self.assertEqual(self.told('    {"D03", "x", f},\n', "src/admission/a.cpp"), [])
        self.assertEqual(self.told('    {"D07", "x", f},\n', "src/admission/a.cpp"), [(1, "no file of spec/ has a rule D07")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
