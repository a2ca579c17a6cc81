"""The feature gates of src/config/gates.cpp are those of the specification (spec server 7.5), with the states that they have there."""
import re
import unittest

import repository

STATES = {"Alpha": "alpha", "Beta": "beta", "GA": "ga", "Deprecated": "deprecated", "Discontinued": "discontinued"}


def of_spec(text):
    section = re.search(r"^### 7\.5 .*?(?=^Checks that do not follow|^##)", text, re.M | re.S).group()
    found = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.M))  # a row a gate
    for state, names in re.findall(r"^\| (Alpha|Beta|GA|Deprecated|Discontinued)\b[^|]*\| (`.*) \|$", section, re.M):  # a row a state
        found |= {name: state for name in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", names))}
    return {name: STATES[state] for name, state in found.items()}


class Gates(unittest.TestCase):
    def test_the_table_is_that_of_the_specification(self):
        ours = dict(re.findall(r'\{Gate::\w+, "(\w+)", (\w+)\}', repository.read("src/config/gates.cpp")))
        wanted = of_spec(repository.read("spec/server.md"))
        self.assertGreater(len(wanted), 80)
        self.assertEqual(ours, wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
