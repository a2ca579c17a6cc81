"""How tests share the machine: those that measure how long others wait run alone, and what is said of a test is about one that is there."""
import os
import re
import unittest

import repository

DURATIONS = "tests/durations.txt"
FOLDERS = {"e2e": "tests", "attack": "tests/attack", "tidy": "tests/tidy"}


class Schedule(unittest.TestCase):
    def test_what_measures_others_runs_alone(self):
        measuring = [name for name in repository.names() if re.fullmatch(r"tests/attack/\w+_test\.py", name)
                     and re.search(r"\bBystander\(|stalls?(_ms)?\(", repository.read(name))]
        self.assertGreater(len(measuring), 4)
        self.assertEqual([name for name in measuring if "\n# RUN_SERIAL: " not in repository.read(name)], [])

    def test_durations_are_of_tests_that_are_there(self):
        rows = [line for line in repository.read(DURATIONS).splitlines() if not line.startswith("#")]
        for row in rows:
            found = re.fullmatch(r"(e2e|attack|tidy|program)\.(\w+) (\d+)( waits)?", row)
            self.assertIsNotNone(found, row)  # cmake would leave out any other
            kind, name = found.group(1, 2)
            if kind in FOLDERS:
                self.assertTrue(os.path.exists(os.path.join(repository.SOURCE, FOLDERS[kind], name + ".py")), row)
        self.assertEqual(len({row.split()[0] for row in rows}), len(rows), "twice")


if __name__ == "__main__":
    unittest.main(verbosity=2)
