#!/usr/bin/env python3
"""A user with rights in one namespace who tries to get at disks, guests and sockets of another, and at files of the server, by disks of the host.

No guest is started: whoever gets through is Running, and that must not happen. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import asyncio
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node, streams  # noqa: E402

KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
MERGE = {"Content-Type": "application/merge-patch+json"}
MALLORY = {"Impersonate-User": "mallory", "Impersonate-Group": "system:authenticated"}


def vmis(namespace):
    return f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances"


class HostDisks(node.Node):
    verbosity = "2"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        one = cls()
        for name in ("ours", "theirs"):
            one.good("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        one.good("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/ours/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "mallory"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}]})
        one.good("PATCH", KUBEVIRT, {"spec": {"configuration": {"developerConfiguration": {"featureGates": ["HostDisk"]}}}}, headers=MERGE)

    def runTest(self):  # so that setUpClass can use what tests use
        pass

    def owned(self, path, content=b"theirs" * 4096):
        """A file of the server's user."""
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        info = os.stat(self.state)
        for one in (path, os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
            if os.geteuid() == 0 and one.startswith(self.state + "/"):
                os.chown(one, info.st_uid, info.st_gid)
        return path

    def attempt(self, name, volume):
        """What was answered to a VMI with that volume; None: it was taken."""
        code, answer = self.ask("POST", vmis("ours"), {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name},
            "spec": {"domain": {"memory": {"guest": "32Mi"}, "devices": {"disks": [{"name": "d", "disk": {"bus": "virtio"}}]}},
                     "terminationGracePeriodSeconds": 0, "volumes": [{"name": "d", **volume}]}}, headers=MALLORY)
        return None if code == 201 else (code, answer)

    def why(self, name):
        status = (self.get(f"{vmis('ours')}/{name}") or {}).get("status", {})
        self.assertNotEqual(status.get("phase"), "Running", name)
        return next((one["message"] for one in status.get("conditions", []) if one["type"] == "Synchronized" and one["status"] == "False"), None)

    def test_paths_lead_nowhere(self):
        secret = self.owned(f"{self.state}/disks/theirs/secret/disk.img")
        paths = [secret, f"/proc/self/root{secret}", f"/proc/1/root{secret}", f"/srv/../{secret}", f"/srv/..{secret}", "/dev/fd/0", "/dev/null", "/dev/stdin",
                 "/dev/shm", f"{self.state}/pki/admin.token", f"{self.state}/images/index.json", "/etc/passwd", "/proc/self/mem", f"/dev/shm/..{secret}", "/srv", "/"]
        if os.geteuid() == 0:
            place = tempfile.mkdtemp(prefix="vg-attack-", dir="/srv")
            self.addCleanup(shutil.rmtree, place)
            os.chmod(place, 0o777)
            os.symlink(secret, f"{place}/link.img")
            os.symlink(os.path.dirname(secret), f"{place}/folder")
            os.symlink("link.img", f"{place}/second.img")
            paths += [f"{place}/link.img", f"{place}/folder/disk.img", f"{place}/second.img"]
        taken = 0
        for number, path in enumerate(paths):
            for kind in ("Disk", "DiskOrCreate"):
                disk = {"path": path, "type": kind, **({"capacity": "1Mi"} if kind == "DiskOrCreate" else {})}
                name = f"path-{number}-{kind.lower()}"
                if self.attempt(name, {"hostDisk": disk}) is None:
                    taken += 1
                    self.until(f"it is said why {path} is not had", lambda name=name: self.why(name))
                    self.assertIsNone(self.qemu(name))
                    self.good("DELETE", f"{vmis('ours')}/{name}")
        self.assertGreater(taken, 10)
        with open(secret, "rb") as file:
            self.assertEqual(file.read(), b"theirs" * 4096)

    def test_claims_of_others_are_not_found(self):
        self.owned(f"{self.state}/disks/theirs/claim/disk.img")
        for number, claim in enumerate(("claim", "../theirs/claim", "theirs/claim", "..")):
            refused = self.attempt(f"claim-{number}", {"persistentVolumeClaim": {"claimName": claim}})
            if refused is None:
                self.assertNotEqual(self.phase_in_ours(f"claim-{number}"), "Running")
                self.good("DELETE", f"{vmis('ours')}/claim-{number}")

    def phase_in_ours(self, name):
        return (self.get(f"{vmis('ours')}/{name}") or {}).get("status", {}).get("phase")

    def test_guests_of_others_are_not_reached(self):
        self.good("POST", vmis("theirs"), {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "guest"},
            "spec": {"domain": {"memory": {"guest": "32Mi"}, "devices": {}}, "terminationGracePeriodSeconds": 0}})
        self.until("it runs", lambda: (self.get(f"{vmis('theirs')}/guest") or {}).get("status", {}).get("phase") == "Running")
        actions = "/apis/subresources.kubevirt.io/v1/namespaces/theirs/virtualmachineinstances/guest"
        for method, what in (("PUT", "pause"), ("PUT", "softreboot"), ("PUT", "freeze"), ("GET", "guestosinfo"), ("GET", "vnc/screenshot"), ("GET", "console"),
                             ("GET", "vnc"), ("GET", "usbredir"), ("GET", "vsock?port=1"), ("GET", "portforward/22/tcp")):
            code, answer = self.ask(method, f"{actions}/{what}", headers=MALLORY)
            self.assertEqual(code, 403, (what, answer))
        for what in ("console", "vnc", "portforward/22"):
            with self.assertRaises(streams.Refused) as refused:
                self.open_as_mallory(f"{actions}/{what}")
            self.assertIn("403", str(refused.exception))
        self.assertEqual(self.ask("GET", f"{vmis('theirs')}/guest", headers=MALLORY)[0], 403)
        self.good("DELETE", f"{vmis('theirs')}/guest")

    def open_as_mallory(self, path):
        world = self.world()
        world.admin = {**world.admin, **MALLORY}
        asyncio.run(streams.Client.open(world, path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
