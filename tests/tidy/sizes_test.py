"""Functions and files that can be read at once: how long they may be."""
import re
import unittest

import repository

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 800
TEST_FILE_LINES_MAX = 1100
# Longer for a reason, and by how much at most.
LONGER_FUNCTIONS = {
    "src/admission/rules/machine/network_examples.cpp make_network_examples": 151,  # a table
    "src/admission/rules/vmi_update_examples.cpp make_vmi_update_examples": 75,  # a table
    "src/http/connection.cpp Connection::run": 121,  # the order in which a connection lives, step by step
    "src/http/connection_status.cpp phrase": 74,  # one line a status code
    "src/http/request_parser.cpp ChunkedDecoder::byte": 77,  # one case a state
    "src/objects/core_kinds/strategies.cpp find_strategy": 75,  # one line a kind
    "src/resources/watch.cpp serve_watch": 69,  # the order in which a watch lives, step by step
}
LONGER_FILES = {
    "src/cel/domain_structures.cpp": 850,  # a table
    "src/http/connection.cpp": 910,
    "src/store/record_file.cpp": 840,
}

NO_FUNCTION = re.compile(r"\s*(if|for|while|switch|else|do|catch|try|return|case|namespace|struct|class|enum|union|co_return|co_await)\b")
HEAD = re.compile(r"\)[^()=;]*\{$")  # the end of a signature, with whatever stands between its last bracket and the body


def functions(text):
    """(name, lines) of each. Bodies end where a brace has the indentation of the line on which the signature began."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not HEAD.search(line):
            continue
        begin = number
        while begin > 0 and begin > number - 8 and not re.match(r"\s*$|.*[;{}:]$|\s*//|#|template", lines[begin - 1]):
            begin -= 1
        indent = re.match(r" *", lines[begin])[0]
        if NO_FUNCTION.match(lines[begin]) or re.search(r"\]\s*\(|\[[^\]]*\]\s*(mutable )?\{$", " ".join(lines[begin:number + 1])):
            continue
        end = next((at for at in range(number + 1, len(lines)) if lines[at].startswith(indent + "}")), None)
        name = re.search(r"([\w~:]+)\s*\(", lines[begin])
        if end and name:
            yield name[1], end - begin + 1


def sources():
    return [name for name in repository.names() if re.match(r"(src|cmd)/.*\.(h|cpp)$", name)]


class Sizes(unittest.TestCase):
    def test_functions(self):
        found, known = [], set()
        count = 0
        for name in sources():
            if name.endswith("_test.cpp"):
                continue
            for function, lines in functions(repository.read(name)):
                count += 1
                key = f"{name} {function}"
                if lines > FUNCTION_LINES_MAX:
                    known.add(key)
                if lines > LONGER_FUNCTIONS.get(key, FUNCTION_LINES_MAX):
                    found.append(f"{key}: {lines} lines")
        self.assertGreater(count, 3000, "functions are recognised")
        self.assertEqual(found, [], f"longer than {FUNCTION_LINES_MAX} lines")
        self.assertEqual([key for key in LONGER_FUNCTIONS if key not in known], [], "not so long any more")

    def test_files(self):
        found = []
        for name in sources():
            lines = repository.read(name).count("\n")
            if lines > LONGER_FILES.get(name, TEST_FILE_LINES_MAX if name.endswith("_test.cpp") else FILE_LINES_MAX):
                found.append(f"{name}: {lines} lines")
        self.assertEqual(found, [])

    def test_the_measure_itself(self):
        text = "int f(int a,\n      int b) {\n  if (a) {\n    b();\n  }\n  auto g = [&](int x) {\n    return x;\n  };\n}\nclass C {\n  void h() const {\n    i();\n  }\n};\n"
        self.assertEqual(list(functions(text)), [("f", 9), ("h", 3)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
