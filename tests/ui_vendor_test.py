#!/usr/bin/env python3
"""tools/ui_vendor.py against a registry on this machine: what it brings, what it refuses, and what the build says without it. Needs nothing built."""
import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNAVAILABLE = 3


def archive(**files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo("package/" + name.replace("_", "."))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def package(data, name="@a/thing", **more):
    return {"name": name, "version": "1.2.3", "license": "MIT", "home": "https://example.com/", "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
            "licenseFiles": ["thing/LICENSE.txt"], "files": [[r"package/(lib\.mjs)", r"thing/\1"], ["package/LICENSE", "thing/LICENSE.txt"]], **more}


class Registry(http.server.BaseHTTPRequestHandler):
    archives = {}

    def do_GET(self):
        data = self.archives.get(self.path)
        self.send_response(200 if data else 404)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


class Vendor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="virtgate-vendor-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("tools/ui_vendor.py", "tools/ui_assets.py"):
            os.makedirs(os.path.join(self.folder, "tools"), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.folder, name))
        os.mkdir(os.path.join(self.folder, "ui"))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.target = os.path.join(self.folder, "brought")

    def run_tool(self, *arguments, registry=None):
        # A PATH without npm: the archives come by HTTP alone.
        environment = {"PATH": os.path.join(self.folder, "empty"), "NPM_CONFIG_REGISTRY": registry or f"http://127.0.0.1:{self.server.server_port}/"}
        return subprocess.run([sys.executable, os.path.join(self.folder, "tools", arguments[0]), *arguments[1:]], env=environment, capture_output=True, text=True, timeout=60)

    def bring(self, data, served=None, registry=None, **more):
        with open(os.path.join(self.folder, "ui/vendor.lock.json"), "w") as file:
            json.dump({"page": [package(data, **more)], "tests": []}, file)
        Registry.archives = {"/@a/thing/-/thing-1.2.3.tgz": data if served is None else served}
        return self.run_tool("ui_vendor.py", self.target, registry=registry)

    def brought(self):
        return sorted(os.path.relpath(os.path.join(where, name), self.target) for where, _, names in os.walk(self.target) for name in names)

    def test_brings_files_and_licences(self):
        data = archive(lib_mjs=b"export {};\n//# sourceMappingURL=lib.mjs.map\n", LICENSE=b"terms", other_js=b"x")
        done = self.bring(data)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.brought(), ["manifest.json", "thing/LICENSE.txt", "thing/lib.mjs"])
        with open(os.path.join(self.target, "thing/lib.mjs")) as file:
            self.assertEqual(file.read(), "export {};\n")
        with open(os.path.join(self.target, "manifest.json")) as file:
            self.assertEqual(json.load(file)[0]["licenseFiles"], ["thing/LICENSE.txt"])
        # What is there is not asked for again.
        self.assertEqual(self.bring(data, served=b"").returncode, 0)

    def test_refuses_another_archive(self):
        good = archive(lib_mjs=b"good", LICENSE=b"terms")
        done = self.bring(good, served=archive(lib_mjs=b"evil", LICENSE=b"terms"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("ui/vendor.lock.json has sha512-", done.stderr)
        self.assertEqual(self.brought(), [])

    def test_refuses_what_has_no_licence(self):
        done = self.bring(archive(lib_mjs=b"good"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the licence thing/LICENSE.txt is not in the archive", done.stderr)
        self.assertEqual(self.brought(), [])

    def test_says_what_is_missing(self):
        for registry, served in ((None, b""), ("http://127.0.0.1:1", None), ("no address", None)):
            done = self.bring(archive(lib_mjs=b"good", LICENSE=b"terms"), served=served, registry=registry)
            self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
            self.assertIn("no screen and no console", done.stderr)
            self.assertEqual(self.brought(), [])

    def test_the_build_says_what_is_missing(self):
        output = os.path.join(self.folder, "made/table.cpp")
        arguments = ("ui_assets.py", "--output", output, "--page", os.path.join(self.folder, "ui"), "--vendor", self.target)
        self.assertIn("no screen and no console", self.run_tool(*arguments).stderr)
        self.assertEqual(self.bring(archive(lib_mjs=b"good", LICENSE=b"terms")).returncode, 0)
        self.assertEqual(self.run_tool(*arguments).stderr, "")
        with open(output) as file:
            text = file.read()
        for name in ("vendor/manifest.json", "vendor/thing/lib.mjs", "vendor/thing/LICENSE.txt"):
            self.assertIn(f'"{name}"', text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
