"""tools/take_over.py: what it brings into the repository, what it says, and what it never takes."""
import contextlib
import io
import json
import lzma
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(SOURCE, "tools"))

import take_over  # noqa: E402

CASES = '{"id": "a"}\n{"id": "b"}\n'


def put(top, path, text):
    path = os.path.join(top, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def content(top, path):
    with open(os.path.join(top, path), "rb") as file:
        return file.read()


def files(top):
    return sorted(os.path.relpath(os.path.join(at, name), top) for at, _, names in os.walk(top) for name in names)


class TakeOver(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.source, self.top = os.path.join(folder, "source"), os.path.join(folder, "top")
        os.makedirs(self.top)
        put(self.source, "spec/server.md", "# A\n")
        put(self.source, "wording.md", "# Words\n")
        put(self.source, "facts/rbac.json", "[]\n")
        put(self.source, "conformance/rest.jsonl", CASES)
        put(self.source, "conformance/admission-upstream.jsonl", CASES)
        put(self.source, "bench/vm.json", "{}\n")

    def run_it(self, check=False):
        said = []
        same = take_over.take_over(self.source, self.top, check, said.append)
        return same, said

    def test_a_first_run_brings_everything_but_upstreams_cases(self):
        same, said = self.run_it()
        self.assertFalse(same)
        self.assertEqual(files(self.top), ["bench/vm.json", "facts/rbac.json", "spec/server.md", "spec/wording.md", "tests/conformance/rest.jsonl.xz"])
        self.assertEqual([line.split()[0] for line in said], ["new"] * 5)
        self.assertEqual(lzma.decompress(content(self.top, "tests/conformance/rest.jsonl.xz")).decode(), CASES)

    def test_a_second_run_changes_nothing(self):
        self.run_it()
        before = {path: os.stat(os.path.join(self.top, path)).st_mtime_ns for path in files(self.top)}
        self.assertEqual(self.run_it(), (True, ["nothing new"]))
        self.assertEqual(before, {path: os.stat(os.path.join(self.top, path)).st_mtime_ns for path in files(self.top)})

    def test_changes_are_taken_and_what_is_gone_is_only_named(self):
        self.run_it()
        put(self.source, "conformance/rest.jsonl", CASES + '{"id": "c"}\n')
        os.remove(os.path.join(self.source, "spec/server.md"))
        same, said = self.run_it()
        self.assertEqual((same, said), (False, ["gone     spec/server.md", "changed  tests/conformance/rest.jsonl.xz"]))
        self.assertIn("spec/server.md", files(self.top))
        self.assertEqual(self.run_it(), (True, ["gone     spec/server.md"]))

    def test_check_writes_nothing(self):
        same, said = self.run_it(check=True)
        self.assertEqual((same, len(said), files(self.top)), (False, 5, []))

    def test_a_packing_by_other_means_is_the_same_recording(self):
        self.run_it()
        path = os.path.join(self.top, "tests/conformance/rest.jsonl.xz")
        with open(path, "wb") as file:
            file.write(lzma.compress(CASES.encode(), preset=0))
        self.assertEqual(self.run_it(), (True, ["nothing new"]))

    def test_sentences_of_others_stay_behind(self):
        crds = {"x": {"deprecationWarning": "going away", "properties": {"message": {"type": "string"}},
                      "x-kubernetes-validations": [{"rule": "self > 0", "message": "more!"}]}}
        put(self.source, "facts/crds.json", json.dumps(crds))
        self.run_it()
        self.assertEqual(json.loads(content(self.top, "facts/crds.json")),
                         {"x": {"properties": {"message": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self > 0"}]}})
        self.assertEqual(self.run_it()[0], True)

    def test_a_replayer_that_cannot_be_adapted_is_an_error(self):
        put(self.source, "conformance/conform.py", "print('something else')\n")
        with self.assertRaisesRegex(ValueError, "conform.py: the line to adapt was found 0 times"):
            self.run_it()

    def test_the_repositorys_own_files_are_neither_gone_nor_replaced(self):
        put(self.top, "spec/README.md", "ours\n")
        self.assertNotIn("gone     spec/README.md", self.run_it()[1])
        put(self.source, "spec/README.md", "theirs\n")
        with self.assertRaisesRegex(ValueError, "spec/README.md is the repository's own"):
            self.run_it()

    def test_another_folder_is_refused(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools/take_over.py"), "--from", self.top], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no folder spec", done.stderr)


class Repository(unittest.TestCase):
    """What the repository has was brought by this tool and can be read."""

    def test_the_replayer_reads_packed_and_plain_recordings_alike(self):
        sys.path.insert(0, os.path.join(SOURCE, "tests/conformance"))
        with contextlib.redirect_stdout(io.StringIO()):
            import conform
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = os.path.join(folder, "a.jsonl"), os.path.join(folder, "a.jsonl.xz")
            with open(plain, "w") as file:
                file.write(CASES)
            with lzma.open(packed, "wt") as file:
                file.write(CASES)
            self.assertEqual(list(conform.lines_of(plain)), CASES.splitlines(keepends=True))
            self.assertEqual(list(conform.lines_of(packed)), list(conform.lines_of(plain)))

    def test_the_replayer_is_adapted(self):
        for path, pairs in take_over.ADAPTED.items():
            text = content(SOURCE, path)
            self.assertEqual(take_over.adapted(path, text), text, path)
            self.assertTrue(all(after.encode() in text for _, after in pairs), path)

    def test_cases_of_upstreams_tests_are_not_kept(self):
        self.assertEqual([name for name in os.listdir(os.path.join(SOURCE, "tests/conformance")) if not take_over.kept(name)], [])

    def test_every_suite_that_is_asked_is_there(self):
        with open(os.path.join(SOURCE, ".ci/conformance-levels")) as file:
            rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
        self.assertEqual({row[0] for row in rows} >= {"rest", "admission", "flows"}, True)
        for name in (name for row in rows for name in row[2:] if not name.startswith("?")):
            with lzma.open(os.path.join(SOURCE, "tests/conformance", name), "rt") as file:
                self.assertIn("id", json.loads(file.readline()), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
