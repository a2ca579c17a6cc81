"""facts/release.json is the one place that says which releases are followed: no other file of the program or of its tests has
the number, and where a text for people names a release, it is that one."""
import json
import re
import unittest

import repository

CODE = (".cpp", ".h", ".in", ".py", ".cmake", ".txt", ".vgs", ".yaml")
# Brought from elsewhere by tools/take_over.py, of one release as a whole.
TAKEN_OVER = ("spec/", "facts/", "tests/conformance/", "bench/bench.py", "bench/vm", "tests/fuzz/corpus/")
NAMED = {
    "kubevirt": re.compile(r"\b(?:KubeVirt|virt-api)(?:'s)?`?\s+(?:\()?v?(\d+\.\d+(?:\.\d+)?)\b"),
    "kubernetes": re.compile(r"\b(?:Kubernetes|kube-apiserver)(?: API)?`?\s+(?:\()?v?(\d+\.\d+(?:\.\d+)?)\b"),
}
# These speak of releases in general.
EXAMPLES = {"src/server/version.h", "docs/upstream-release.md"}


def releases():
    return json.loads(repository.read("facts/release.json"))


def texts():
    for name in repository.names():
        if name.endswith(CODE + (".md",)) and not name.startswith(TAKEN_OVER):
            yield name, repository.read(name)


class Release(unittest.TestCase):
    def test_no_other_file_of_code_has_the_number(self):
        number = re.compile(r"\bv?" + re.escape(releases()["kubevirt"].lstrip("v")) + r"\b")
        told = [f"{name}:{text.count(chr(10), 0, found.start()) + 1}" for name, text in texts() if name.endswith(CODE) for found in number.finditer(text)]
        self.assertEqual(told, [], "these should take it from facts/release.json")

    def test_texts_name_the_release_that_is_followed(self):
        told, count = [], 0
        for name, text in texts():
            for project, pattern in NAMED.items():
                for found in pattern.finditer(text) if name not in EXAMPLES else ():
                    count += 1
                    if not (releases()[project].lstrip("v") + ".").startswith(found.group(1) + "."):
                        told.append(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}, but {releases()[project]} is followed")
        self.assertEqual(told, [], "\n" + "\n".join(told))
        self.assertGreater(count, 5)

    def test_the_specification_is_of_that_release(self):
        self.assertIn("KubeVirt " + releases()["kubevirt"], repository.read("spec/server.md").splitlines()[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
