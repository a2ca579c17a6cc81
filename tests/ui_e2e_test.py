#!/usr/bin/env python3
"""The page at /ui in a real Chromium: on real guests, on simulated ones, from another origin, and with ten thousand VMs.

The browser is driven by the scripts of tests/ui_e2e/ (Node.js, playwright-core and axe-core by exact version: tools/ui_vendor.py --tests).
VIRTGATE_BINARY names the program, VIRTGATE_CHROMIUM a Chromium other than Debian's. Where one of these is missing the tests are skipped, and say so.
VIRTGATE_LONG=1 runs the fleet of ten thousand; VIRTGATE_SHOTS names a folder for pictures of the pages.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

from support import node
from support import serve as e2e
from support.simulated import VMS, Simulated

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHROMIUM = os.environ.get("VIRTGATE_CHROMIUM") or shutil.which("chromium") or ""
NODE = shutil.which("node")
VENDOR = os.path.join(ROOT, "build/ui-test-vendor")
SHOTS = os.environ.get("VIRTGATE_SHOTS", "")
FLEET = int(os.environ.get("VIRTGATE_UI_VMS", "10000"))
CHANGES_A_SECOND = 200
SCRIPT_SECONDS_MAX = 560


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
    """What tests of the page share: a script of tests/ui_e2e against the server of the test."""

    def browse(self, script, **more):
        with open(os.path.join(self.state, "pki", "admin.token")) as file:
            token = file.read().strip()
        environment = {**os.environ, "UI_BASE": f"https://127.0.0.1:{self.one.port}/ui/", "UI_TOKEN": token, "UI_VENDOR": VENDOR, "UI_CHROMIUM": CHROMIUM,
                       **({"UI_SHOTS": SHOTS} if SHOTS else {}), **more}
        done = subprocess.run([NODE, os.path.join(ROOT, "tests/ui_e2e", script)], env=environment, capture_output=True, text=True, timeout=SCRIPT_SECONDS_MAX)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-6000:])

    def has_console(self):
        code, _, _ = self.one.ask("GET", "/ui/vendor/xterm/xterm.mjs")
        return code == 200


@unittest.skipIf(why_not(), why_not())
class OnSimulatedNodes(InBrowser, Simulated):
    nodes = 3

    def test_every_page(self):
        if not self.has_console():
            self.skipTest("the program was built without xterm.js and noVNC (tools/ui_vendor.py)")
        self.browse("pages.mjs")

    def test_another_origin_can_neither_read_nor_act(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.browse("origins.mjs")

    def test_buttons_of_a_reader_say_that_they_may_not_be_pressed(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.browse("reader.mjs", UI_TOKEN=self.reader_token())

    def reader_token(self):
        """A service account that may look at VMs of one namespace and nothing else."""
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        self.good("POST", "/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}})
        self.good("POST", f"{rbac}/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"}, "rules": [
            {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines", "virtualmachineinstances"], "verbs": ["get", "list", "watch"]}]})
        self.good("POST", f"{rbac}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]})
        answer = self.good("POST", "/api/v1/namespaces/default/serviceaccounts/reader/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        return answer["status"]["token"]


@unittest.skipIf(why_not(), why_not())
class OnRealNodes(InBrowser, node.Node):
    nodes = 2

    def test_the_life_of_a_vm(self):
        if not self.has_console():
            self.skipTest("the program was built without xterm.js and noVNC (tools/ui_vendor.py)")
        link = subprocess.run(node.as_server([e2e.BINARY, "ui", "--state", self.state]), capture_output=True, text=True, timeout=30, check=True).stdout
        self.browse("life.mjs", UI_CODE=link.strip().rpartition("/")[2])


@unittest.skipUnless(os.environ.get("VIRTGATE_LONG"), "VIRTGATE_LONG is not set")
@unittest.skipIf(why_not(), why_not())
class Fleet(InBrowser, Simulated):
    nodes = 50

    def test_ten_thousand_vms_that_change(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(self.create_some, range(4)))
        self.until_listed()
        stop = threading.Event()
        changes = [threading.Thread(target=self.change, args=(part, stop), daemon=True) for part in range(4)]
        for one in changes:
            one.start()
        try:
            self.browse("fleet.mjs", UI_VMS=str(FLEET))
        finally:
            stop.set()
            for one in changes:
                one.join(30)
        print(f"changes: {self.changed / (time.monotonic() - self.began):.0f} a second")

    def create_some(self, part):
        connection = self.one.connect()
        headers = {**self.one.as_admin(), "Content-Type": "application/json"}
        for number in range(part, FLEET, 4):
            body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": f"vm-{number:05}", "labels": {"app": f"app-{number % 20}"}}, "spec": {"runStrategy": "Halted", "template": {
                "spec": {"domain": {"memory": {"guest": "256Mi"}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}}, "networks": [{"name": "default", "pod": {}}],
                         "volumes": [{"name": "root", "containerDisk": {"image": "example/disk:1"}}]}}}}
            connection.request("POST", VMS, body=json.dumps(body), headers=headers)
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 201)
        connection.close()

    def until_listed(self):
        self.until("all are there", lambda: self.good("GET", f"{VMS}?limit=1")["metadata"].get("remainingItemCount", 0) == FLEET - 1)

    changed, began = 0, 0.0

    def change(self, part, stop):
        """A quarter of the changes: labels of one VM after the other, at their pace."""
        connection, number = self.one.connect(), part
        headers = {**self.one.as_admin(), "Content-Type": "application/merge-patch+json"}
        began = Fleet.began = time.monotonic()
        count = 0
        while not stop.is_set():
            connection.request("PATCH", f"{VMS}/vm-{number % FLEET:05}", body=json.dumps({"metadata": {"labels": {"turn": str(count)}}}), headers=headers)
            answer = connection.getresponse()
            answer.read()
            number, count = number + 4 * 37, count + 1
            Fleet.changed += 1
            stop.wait(max(0.0, began + count / (CHANGES_A_SECOND / 4) - time.monotonic()))
        connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
