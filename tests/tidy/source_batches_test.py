"""Which files are compiled as one (tools/source_batches.py): a file means the same alone and in its batch."""
import os
import subprocess
import sys
import tempfile
import unittest

import repository

sys.path.insert(0, os.path.join(repository.SOURCE, "tools"))
sys.dont_write_bytecode = True
import source_batches  # noqa: E402


def unnamed(declared, used=""):
    """A file that declares something for itself alone, and a function in which it uses what it likes."""
    return f"namespace vg::part {{\nnamespace {{\n{declared}\n}}  // namespace\nvoid run() {{ {used} }}\n}}  // namespace vg::part\n"


def batched(files, files_max=10, lines_max=1000):
    return source_batches.batches(sorted(files), files.__getitem__, files_max, lines_max)


class Batches(unittest.TestCase):
    def assert_together(self, **files):
        self.assertEqual(len(batched(files)), 1, batched(files))

    def assert_apart(self, **files):
        self.assertEqual(len(batched(files)), 2, batched(files))

    def test_files_that_declare_the_same_are_apart(self):
        self.assert_apart(a=unnamed("int rows = 1;"), b=unnamed("int rows = 2;"))
        self.assert_apart(a=unnamed("struct Row {};"), b=unnamed("struct Row {};"))
        self.assert_together(a=unnamed("int rows = 1;"), b=unnamed("int columns = 2;"))

    def test_a_table_of_functions_has_a_name_of_its_own(self):
        tables = [unnamed(f"constexpr void (*{name}[])(int) = {{}};") for name in ("early", "late", "early")]
        self.assert_together(a=tables[0], b=tables[1])
        self.assert_apart(a=tables[0], b=tables[2])
        pointers = [unnamed(f"void (*{name})(int) = nullptr;") for name in ("first", "second", "first")]
        self.assert_together(a=pointers[0], b=pointers[1])
        self.assert_apart(a=pointers[0], b=pointers[2])

    def test_a_file_stands_in_front_of_the_one_whose_names_it_mentions(self):
        files = {"a": unnamed("int count(int x);"), "b": unnamed("int more = 1;", "int count = more;")}
        self.assertEqual(batched(files), [["b", "a"]])

    def test_files_that_mention_names_of_each_other_are_apart(self):
        self.assert_apart(a=unnamed("int count(int x);", "total(1);"), b=unnamed("int total(int x);", "count(1);"))

    def test_what_is_named_inside_of_something_else_is_not_the_other_files(self):
        mine = unnamed("int total(int x);", "put(1);")
        for elsewhere in ("Kind::total", "Step::Kind::total", "std::total", "::total(1)", "it.total", "it->total"):
            with self.subTest(elsewhere):
                self.assert_together(a=mine, b=unnamed("int put(int x);", f"{elsewhere};"))

    def test_what_is_named_inside_of_a_namespace_may_be_the_other_files(self):
        mine = unnamed("int total(int x);", "put(1);")
        for there in ("part::total(1)", "vg::part::total(1)", "::vg::part::total(1)", "total(1)"):
            with self.subTest(there):
                self.assert_apart(a=mine, b=unnamed("int put(int x);", f"{there};"))

    def test_a_type_whose_member_is_named_may_be_the_other_files(self):
        self.assert_apart(a=unnamed("struct Kind {};", "put(1);"), b=unnamed("int put(int x);", "Kind::folder;"))

    def test_batches_have_bounds(self):
        files = {name: unnamed(f"int {name}_value = 1;") for name in "abcd"}
        self.assertEqual([len(batch) for batch in batched(files, files_max=3)], [3, 1])
        lines = files["a"].count("\n")
        self.assertEqual([len(batch) for batch in batched(files, lines_max=2 * lines)], [2, 2])

    def test_every_file_of_every_target_is_compiled_once(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a", "int rows = 1;"), ("b", "int rows = 2;"), ("c", "int lines = 1;")):
                with open(os.path.join(folder, f"{name}.cpp"), "w", encoding="utf-8") as file:
                    file.write(unnamed(text))
            paths = [os.path.join(folder, f"{name}.cpp") for name in "abc"]
            wanted = os.path.join(folder, "wanted.txt")
            with open(wanted, "w", encoding="utf-8") as file:
                file.write("\t".join(["vg_x", "x", "9", *paths]) + "\n" + "\t".join(["x_test", "x_test", "9", paths[2]]) + "\n")
            printed = subprocess.run([sys.executable, os.path.join(repository.SOURCE, "tools/source_batches.py"), "--wanted", wanted, "--output", folder,
                                      "--lines-max", "100"], capture_output=True, text=True, check=True).stdout
            rows = [line.split("\t") for line in printed.splitlines()]
            self.assertEqual(rows, [["vg_x", os.path.join(folder, "x_0.cpp")], ["vg_x", paths[1]], ["x_test", paths[2]]])
            included = source_batches.read_text(rows[0][1])
            self.assertEqual([line.rpartition("/")[2] for line in included.splitlines()], ['a.cpp"', 'c.cpp"'])


if __name__ == "__main__":
    unittest.main()
