"""Every file that a text for people names is there."""
import os
import re
import unittest

import repository

NAMED = re.compile(r"`((?:\.ci|bench|cmake|cmd|deploy|docs|examples|facts|schema|spec|src|tests|tools)/[\w./-]*\w)`")
# Stand for names that the reader chooses.
EXAMPLES = {"tests/fuzz/x_fuzz.cpp"}


class Paths(unittest.TestCase):
    def test_every_path_in_a_text_leads_somewhere(self):
        told, count = [], 0
        for name in repository.names():
            if not name.endswith(".md") or name.startswith(("spec/", "tests/conformance/")) and name not in ("spec/README.md", "spec/command-line.md"):
                continue
            text = repository.read(name)
            for found in NAMED.finditer(text):
                count += 1
                if found.group(1) not in EXAMPLES and not os.path.exists(os.path.join(repository.SOURCE, found.group(1))):
                    told.append(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: there is no {found.group(1)}")
        self.assertEqual(told, [], "\n" + "\n".join(told))
        self.assertGreater(count, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
