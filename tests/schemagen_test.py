"""The generator's answers to mistakes in a description: file, line, what is wrong, and what was probably meant."""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
GENERATOR = os.path.join(SOURCE, "tools", "schemagen.py")
PACKAGES = """package a go a/v1 openapi v1
package b go b/v1 openapi b.v1
in a
"""


class Schemagen(unittest.TestCase):
    def run_on(self, text):
        """-> (exit status, errors, generated files), with a file x.vgs whose line 4 is the first line of `text`."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.vgs")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PACKAGES + text)
            out = os.path.join(folder, "out")
            result = subprocess.run([sys.executable, GENERATOR, "--out", out, path], text=True, capture_output=True)
            files = {}
            for root, _, names in os.walk(out):
                for name in names:
                    with open(os.path.join(root, name), encoding="utf-8") as file:
                        files[name] = file.read()
            return result.returncode, result.stderr.replace(folder + os.sep, ""), files

    def expect_error(self, text, *errors):
        status, found, files = self.run_on(text)
        self.assertEqual(status, 1, found)
        self.assertEqual(found.splitlines(), list(errors))
        self.assertEqual(files, {}, "nothing is generated from a description with mistakes")

    def test_good_description(self):
        status, errors, files = self.run_on(
            'type T map-atomic "Words"\n  x?: *uint\n    "More \\"words\\","\n    "joined"\n  new: [string]  set\n')
        self.assertEqual((status, errors), (0, ""))
        self.assertIn('More \\"words\\", joined', files["tables.cpp"])
        self.assertIn("std::optional<std::uint64_t> x() const", files["x.h"])
        self.assertIn("List<std::string_view> new_() const", files["x.h"])

    def test_the_same_description_gives_the_same_files(self):
        text = "type T\n" + "".join("  field%d: string\n" % number for number in range(40))
        self.assertEqual(self.run_on(text), self.run_on(text))

    def test_all_mistakes_at_once(self):
        self.expect_error("type T\n  x: strng\n  y string\n",
                          "x.vgs:5: no such type: strng; did you mean string?",
                          "x.vgs:6: a field is written: name: type, or name?: type")

    def test_unknown_names(self):
        self.expect_error("type Disk\ntype T\n  x: Disc\n", "x.vgs:6: no such type: a.Disc; did you mean a.Disk?")
        self.expect_error("type T\n  x: string  nulable\n", "x.vgs:5: unknown word nulable; did you mean nullable?")
        self.expect_error("in c\n", "x.vgs:4: no such package: c")
        self.expect_error("type T\n  x: string  rules(nope)\n", "x.vgs:5: no such rule: nope")
        self.expect_error("type T map-atomik\n",
                          "x.vgs:4: unknown word map-atomik behind a type; did you mean map-atomic?")

    def test_doubles(self):
        self.expect_error("type T\ntype T\n", "x.vgs:5: type a.T is there already, x.vgs:4")
        self.expect_error("type T\n  x: string\n  x: bool\n", "x.vgs:6: a.T has two fields x")
        self.expect_error("type E\n  x: string\ntype T\n  + E\n  x: bool\n", "x.vgs:8: a.T has two fields x")
        self.expect_error("type T\n  aB: string\n  AB: bool\n",
                          "x.vgs:6: aB and AB of a.T would be read by the same method")

    def test_words_that_do_not_fit(self):
        for line, error in (
                ("x: bool  enum(a|b)", "enum is for strings and lists of them"),
                ("x: string  enum(a||b)", "enum takes values with | between them"),
                ("x: string  enum(a|a)", "enum names a value twice"),
                ("x: string  range(1..2)", "range is for numbers and lists of them"),
                ("x: int  range(5..2)", "range: 5 is more than 2"),
                ("x: int  range(5)", "range takes min..max, min.. or ..max"),
                ("x: string  keys(name)", "keys(...) is for lists of structs"),
                ("x: string  default(yes)", "default takes a JSON value, not yes"),
                ("x: string  pattern(^a$)", "pattern takes an expression in back quotes"),
                ("x: string  pattern(`(`", "a parenthesis is not closed"),
                ("x?: string  optional", "optional says nothing of a field that has a ? already"),
                ("x: string  atomic(1)", "atomic takes no argument"),
                ("x: **string", "a pointer to a pointer: **string"),
                ("x: [string", "a list is written [T], not [string"),
                ('x: string  ""', "a description is empty: leave it out instead"),
                ('x: string  "a"b"', 'a double quote inside a description is written \\"')):
            self.expect_error("type T\n  %s\n" % line, "x.vgs:5: " + error)

    def test_keys_must_be_fields(self):
        self.expect_error("type E\n  id: string\ntype T\n  x: [E]  keys(name)\n",
                          "x.vgs:7: a.E has no field name to be a key")

    def test_lines_that_belong_to_nothing(self):
        self.expect_error("  x: string\n", "x.vgs:4: an indented line that belongs to nothing")
        self.expect_error("typo T\n", "x.vgs:4: a line at the margin begins with in, type, kind, rule or package")
        self.expect_error("type T\n\tx: string\n", "x.vgs:5: a tab: indent with spaces")

    def test_embedding_must_end(self):
        status, errors, _ = self.run_on("type T\n  + T\n")
        self.assertEqual(status, 1)
        self.assertIn("x.vgs:4: type a.T embeds itself", errors)

    def test_kinds(self):
        kind = "type K\n  x?: *K\nkind K in g\n  plural ks\n  singular k\n  scope Cluster\n"
        self.expect_error(kind, "x.vgs:6: kind K needs exactly one storage version")
        self.expect_error(kind + "  version v1 storage\n",
                          "x.vgs:6: kind K contains a.K, which contains itself: a CRD cannot say that")
        status, errors, _ = self.run_on(kind + "  version v1 storage\n  builtin\n")
        self.assertEqual((status, errors), (0, ""))
        self.expect_error("type K\nkind K in g\n  version v1 storage\n", "x.vgs:5: kind K has no plural",
                          "x.vgs:5: kind K has no singular", "x.vgs:5: kind K has no scope")

    def test_numbers(self):
        status, errors, files = self.run_on(
            "type E\n  id: string @7\ntype T\n  + E @2\n  x: int32 @1  range(1..2)\n  y?: {E} @300  \"Words\"\n")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn('"x"sv, Omission::always, true, false, false, 1,', files["tables.cpp"])
        self.assertIn('"y"sv, Omission::empty, false, false, false, 300,', files["tables.cpp"])
        # Once in the type itself, and once, without the number, in the type that embeds it.
        self.assertIn('"id"sv, Omission::always, true, false, false, 7,', files["tables.cpp"])
        self.assertIn('"id"sv, Omission::always, true, false, false, 0,', files["tables.cpp"])

    def test_numbers_that_do_not_fit(self):
        self.expect_error("type T\n  x: int32 @1\n  y: int32\n",
                          "x.vgs:6: y has no number, other fields of a.T do: it needs an @N")
        self.expect_error("type T\n  x: int32 @1\n  y: int32 @1\n", "x.vgs:6: @1 of a.T is x already")
        self.expect_error("type E\n  id: string\ntype T\n  x: [E] @1\n",
                          "x.vgs:7: x has a number, but the fields of a.E have none")
        self.expect_error("type T\n  x: [float64] @1\n",
                          "x.vgs:5: x has a type that is not written in protobuf here, so no number")
        self.expect_error("type T\n  x: int @0\n", "x.vgs:5: @N is a number from 1 to 65535")
        self.expect_error("type T\n  x: int @x\n", "x.vgs:5: cannot read '@x'")
        self.expect_error("type E\ntype T\n  + E @x\n", "x.vgs:6: a struct is embedded so: + TYPE, or + TYPE @NUMBER")

    def test_rules(self):
        self.expect_error("rule r\n  cel self\n", "x.vgs:4: rule r needs a cel line and a message line",
                          "x.vgs:4: rule r is not used by any field")


if __name__ == "__main__":
    unittest.main()
