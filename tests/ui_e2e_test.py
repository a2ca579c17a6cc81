#!/usr/bin/env python3
"""The page at /ui in a real Chromium, on simulated nodes: every page, a user who may only look, another origin.

VIRTGATE_BINARY names the program. Where there is no browser (tests/support/browser.py) everything is skipped, and says so.
"""
import os
import shutil
import tempfile
import unittest

from support import serve
from support.browser import InBrowser, why_not
from support.simulated import VMS, Simulated


@unittest.skipIf(why_not(), why_not())
class OnSimulatedNodes(InBrowser, Simulated):
    """One server for all of them; each leaves the VM demo running."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="virtgate-ui-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.state = os.path.join(cls.folder, "state")
        cls.one = serve.Server(cls.state, role=("--node", "simulated", "--nodes", "3"))
        cls.addClassCleanup(cls.one.clean_up)
        cls.one.start()

    def setUp(self):
        if not self.get(f"{VMS}/demo"):
            self.vm("demo", spec={"domain": {"memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}], "interfaces": [{"name": "default", "masquerade": {}}]}}})
        self.until_printable("demo", "Running")

    def test_every_page(self):
        self.need_console()
        self.browse("pages.mjs")

    def test_another_origin_can_neither_read_nor_act(self):
        self.browse("origins.mjs")

    def test_buttons_of_a_reader_say_that_they_may_not_be_pressed(self):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
