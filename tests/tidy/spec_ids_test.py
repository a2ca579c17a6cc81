"""Every rule of the controllers' and nodes' specification is carried out somewhere and named in a test, or stands in tests/tidy/spec_omissions.md
with the reason.

A rule counts as carried out where code of src/, or a test beside it, cites its id: `MIG-A10`, `MIG-A10 to A16`, `MIG-D06, D07`, `VMI-A07..A12`. Ids without a
prefix of their own (steps such as `P3`, quirks) are not looked at.
"""
import re
import unittest

import citations_test
import repository

FILES = ("vm-controller", "vmi-lifecycle", "migration-and-fleets", "copies", "storage")
OMISSIONS = "tests/tidy/spec_omissions.md"
ID = re.compile(r"[A-Z]{2,}-[A-Z]?\d+[a-z]?")
# One citation with what follows it in short: a list, or a range. The letter may be repeated, and the prefix too.
CITED = re.compile(r"\b([A-Z]{2,4})-([A-Z]?)(\d+)([a-z]?)(?![\w-])((?:(?:, | and | to |\.\.)(?:\1-)?\2\d+[a-z]?(?![\w-]))*)")
FURTHER = re.compile(r"(, | and | to |\.\.)(?:[A-Z]{2,4}-)?([A-Z]?)(\d+)([a-z]?)")


def ids_of_spec(name):
    spec = citations_test.Spec(repository.read(f"spec/{name}.md"))
    return {one for one in spec.ids if ID.fullmatch(one)}


def cited_in(text):
    """The ids that a text names, with those of ranges."""
    found = set()
    for prefix, letter, number, suffix, rest in CITED.findall(text):
        found.add(f"{prefix}-{letter}{number}{suffix}")
        last = (number, suffix)
        for joint, again, further, more in FURTHER.findall(rest):
            if joint in (" to ", "..") and not last[1]:
                width = len(number)
                found |= {f"{prefix}-{letter}{one:0{width}}" for one in range(int(last[0]), int(further) + 1)}
            elif joint in (" to ", "..") and last[0] == further:  # VMC-100a to VMC-100h
                found |= {f"{prefix}-{letter}{number}{chr(one)}" for one in range(ord(last[1]), ord(more or last[1]) + 1)}
            found.add(f"{prefix}-{again or letter}{further}{more}")
            last = (further, more)
    return found


def omissions():
    """Ids and families (`SNAP-*`) of the table, with their reasons."""
    rows = {}
    for cell, reason in re.findall(r"^\| ([A-Z][^|]*) \| ([^|]+) \|$", repository.read(OMISSIONS), re.M):
        for one in cited_in(cell) | set(re.findall(r"[A-Z]+-\*", cell)):
            rows[one] = reason.strip()
    return rows


class SpecIds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spec = set().union(*map(ids_of_spec, FILES))
        code = [name for name in repository.names()
                if name.startswith(("src/", "cmd/")) and name.endswith((".cpp", ".h"))]
        found = {name: cited_in(repository.read(name)) for name in code}
        cls.cited = set().union(*found.values())
        cls.tested = set().union(*(ids for name, ids in found.items() if name.endswith("_test.cpp")))
        cls.omitted = omissions()

    def is_omitted(self, one):
        return one in self.omitted or one.split("-")[0] + "-*" in self.omitted

    def test_every_rule_is_carried_out_or_left_out_knowingly(self):
        missing = sorted(one for one in self.spec - self.cited if not self.is_omitted(one))
        self.assertEqual(missing, [], f"cite them where they are carried out, or say in {OMISSIONS} why they are not")

    def test_every_rule_is_named_in_a_test(self):
        missing = sorted(one for one in self.spec - self.tested if not self.is_omitted(one))
        self.assertEqual(missing, [], "add a row with the id to the table test beside the code that carries it out")

    def test_what_is_left_out_exists_and_is_not_carried_out(self):
        families = {one.split("-")[0] + "-*" for one in self.spec}
        known = sorted(one for one in self.omitted if one not in self.spec and one not in families)
        self.assertEqual(known, [], "the specification has no such rules")
        self.assertEqual(sorted(set(self.omitted) & self.cited), [], f"they are carried out: take them out of {OMISSIONS}")

    def test_reasons(self):
        self.assertEqual(sorted(one for one, reason in self.omitted.items() if len(reason) < 15), [])

    def test_short_forms(self):
        self.assertEqual(cited_in("MIG-A10 to A12, A20 and MIG-T01"), {"MIG-A10", "MIG-A11", "MIG-A12", "MIG-A20", "MIG-T01"})
        self.assertEqual(cited_in("VMC-100a to VMC-100c"), {"VMC-100a", "VMC-100b", "VMC-100c"})
        self.assertEqual(cited_in("VMI-A03..A05"), {"VMI-A03", "VMI-A04", "VMI-A05"})


if __name__ == "__main__":
    unittest.main()
