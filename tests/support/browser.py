"""Chromium for tests of the page at /ui: runs the scripts of tests/ui_e2e/ against a server.

They are driven by Node.js, with playwright-core and axe-core by exact version (tools/ui_vendor.py --tests). VIRTGATE_CHROMIUM names a Chromium other than Debian's,
VIRTGATE_SHOTS a folder for pictures of the pages.
"""
import functools
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHROMIUM = os.environ.get("VIRTGATE_CHROMIUM") or shutil.which("chromium") or ""
NODE = shutil.which("node")
VENDOR = os.path.join(ROOT, "build/ui-test-vendor")
SHOTS = os.environ.get("VIRTGATE_SHOTS", "")
SCRIPT_SECONDS_MAX = 560


@functools.cache
def why_not():
    """Why there is no browser to test with; None: there is."""
    if not CHROMIUM:
        return "there is no Chromium"
    if not NODE:
        return "there is no node"
    if subprocess.run([sys.executable, os.path.join(ROOT, "tools/ui_vendor.py"), "--tests", VENDOR], capture_output=True).returncode:
        return "playwright-core and axe-core cannot be had"
    return None


class InBrowser:
    """For test cases that have a server: self.one, and its state folder: self.state."""

    def browse(self, script, **more):
        with open(os.path.join(self.state, "pki", "admin.token")) as file:
            token = file.read().strip()
        environment = {**os.environ, "UI_BASE": f"https://127.0.0.1:{self.one.port}/ui/", "UI_TOKEN": token, "UI_VENDOR": VENDOR, "UI_CHROMIUM": CHROMIUM,
                       **({"UI_SHOTS": SHOTS} if SHOTS else {}), **more}
        done = subprocess.run([NODE, os.path.join(ROOT, "tests/ui_e2e", script)], env=environment, capture_output=True, text=True, timeout=SCRIPT_SECONDS_MAX)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-6000:])

    def need_console(self):
        code, _, _ = self.one.ask("GET", "/ui/vendor/xterm/xterm.mjs")
        if code != 200:
            self.skipTest("the program was built without xterm.js and noVNC (tools/ui_vendor.py)")
