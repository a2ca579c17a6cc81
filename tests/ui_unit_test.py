#!/usr/bin/env python3
"""The page's pure functions, by Node.js' own test runner, and what holds for every file of it: no markup from data, no inline style, its size."""
import gzip
import os
import re
import shutil
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NODE = shutil.which("node")
VENDOR = os.path.join(ROOT, "build/ui-vendor")
PACKED_BYTES_MAX = 400 << 10  # without noVNC
# Ways from a text to markup, script or style, which the page never goes.
FORBIDDEN = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|eval\(|new Function|javascript:)")


def sources(*ends):
    for folder, _, names in os.walk(os.path.join(ROOT, "ui")):
        for name in names:
            if name.endswith(ends):
                yield os.path.join(folder, name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Page(unittest.TestCase):
    @unittest.skipUnless(NODE, "there is no node")
    def test_pure_functions(self):
        files = sorted(name for name in os.listdir(os.path.join(ROOT, "tests/ui")) if name.endswith(".test.mjs"))
        self.assertTrue(files)
        done = subprocess.run([NODE, "--test", *(os.path.join(ROOT, "tests/ui", name) for name in files)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr[-2000:])
        self.assertRegex(done.stdout, r"# fail 0")

    def test_data_never_becomes_markup(self):
        for path in sources(".js"):
            self.assertIsNone(FORBIDDEN.search(read(path).decode()), path)

    def test_nothing_inline_and_no_other_origin(self):
        html = read(os.path.join(ROOT, "ui/index.html")).decode()
        self.assertNotRegex(html, r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?://")
        for path in sources(".css"):
            self.assertNotRegex(read(path).decode(), r"@import|url\(", path)

    def test_imports_lead_to_files(self):
        for path in sources(".js"):
            for name in re.findall(r"(?:from|import\()\s*'(\.[^']+)'", read(path).decode()):
                target = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if "/vendor/" not in target:
                    self.assertTrue(os.path.exists(target), f"{path}: {name}")

    def test_size(self):
        own = {path: len(gzip.compress(read(path), 9)) for path in sources(".js", ".css", ".html", ".svg")}
        terminal = [os.path.join(VENDOR, "xterm", name) for name in (os.listdir(os.path.join(VENDOR, "xterm")) if os.path.isdir(VENDOR) else [])]
        total = sum(own.values()) + sum(len(gzip.compress(read(path), 9)) for path in terminal)
        print(f"compressed: own {sum(own.values())} bytes in {len(own)} files, with xterm.js {total}")
        self.assertLess(total, PACKED_BYTES_MAX)


if __name__ == "__main__":
    unittest.main(verbosity=2)
