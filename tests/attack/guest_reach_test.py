#!/usr/bin/env python3
"""How far a guest that took over its QEMU comes, and users and nodes who ask for what is not theirs.

QEMU and libvirtd are one user and talk to each other, so whoever has a QEMU is taken to have that libvirtd: it is asked, as that user, to show
files of the server to a guest. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import glob
import http.client
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node  # noqa: E402
from support.node import ACTIONS, VMIS, VMS  # noqa: E402

DOMAIN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>24</memory><vcpu>1</vcpu><os><type arch='x86_64'>hvm</type></os>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{file}'/>
<target dev='vda' bus='virtio'/>{readonly}</disk></devices></domain>"""


class Reach(node.Node):
    nodes = 2
    verbosity = "2"

    def landlock(self):
        """Whether this kernel has it."""
        import ctypes
        return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1) > 0

    def virsh(self, which, *words):
        sockets = [path for path in self.sockets() if path.endswith(f"{which}/libvirt/libvirt-sock")]
        self.assertEqual(len(sockets), 1, sockets)
        return subprocess.run(node.as_server(["virsh", "-c", f"qemu+unix:///session?socket={sockets[0]}", *words]), capture_output=True, text=True, check=False)

    def runtime(self):
        """The folders with the sockets of the nodes."""
        with open("/proc/net/unix") as file:
            paths = {line.split()[-1] for line in file if line.rstrip().endswith("/libvirt/libvirt-sock")}
        logged = self.one.errors()
        return sorted(os.path.dirname(os.path.dirname(path)) for path in paths if os.path.dirname(os.path.dirname(path)) in logged)

    def sockets(self):
        def is_socket(path):
            try:
                return stat.S_ISSOCK(os.lstat(path).st_mode)
            except FileNotFoundError:  # of a guest that ends
                return False
        return [path for place in self.runtime() for path in glob.glob(place + "/**", recursive=True) if is_socket(path)]

    def shows(self, file, readonly=True):
        """Whether that file can be made a guest's disk; what was said otherwise."""
        path = os.path.join(self.folder, "domain.xml")
        with open(path, "w") as out:
            out.write(DOMAIN.format(name="spy", file=file, readonly="<readonly/>" if readonly else ""))
        os.chmod(path, 0o644)
        made = self.virsh("node01", "create", path)
        for _ in range(20):  # a QEMU that ends before libvirtd reaches its monitor has not told why: ask again
            if "failed to connect to monitor socket" not in made.stderr:
                break
            made = self.virsh("node01", "create", path)
        if made.returncode == 0:
            self.virsh("node01", "destroy", "spy")
        return "" if made.returncode == 0 else made.stderr

    def test_a_taken_over_libvirt_sees_no_files_of_the_server(self):
        if not self.landlock():
            self.skipTest("the kernel has no Landlock")
        self.start("confined")
        for pid in [self.qemu("confined"), *node.children("libvirtd", self.state, "--config")]:
            with open(f"/proc/{pid}/status") as file:
                self.assertIn("NoNewPrivs:\t1", file.read())
        own = os.path.join(self.state, "nodes/node01/guests/probe.img")
        with open(own, "wb") as file:
            file.truncate(1 << 20)
        os.chown(own, *self.owner())
        self.assertEqual(self.shows(own), "", "what guests have can be shown")
        os.unlink(own)
        secret = os.path.join(self.folder, "home-of-somebody")  # of the same user, elsewhere
        with open(secret, "wb") as file:
            file.truncate(1 << 20)
        os.chown(secret, *self.owner())
        stores = [path for path in glob.glob(self.state + "/*") if os.path.isfile(path)]
        self.assertTrue(stores)
        for file in [secret, *stores, f"{self.state}/pki/admin.token", f"{self.state}/pki/ca.key", f"{self.state}/nodes/node01/pki/api.key",
                     f"{self.state}/nodes/node02/libvirt/host_uuid"]:
            self.assertTrue(os.path.exists(file), file)
            for readonly in (True, False):
                self.assertRegex(self.shows(file, readonly), "Permission denied|No such file or directory", file)
        self.remove("confined")

    def owner(self):
        info = os.stat(self.state)
        return info.st_uid, info.st_gid

    def test_sockets_and_folders_are_of_one_user(self):
        self.start("owned")
        places = [self.state, *self.runtime(), f"{self.state}/nodes", *glob.glob(f"{self.state}/nodes/*/*")]
        self.assertTrue(self.sockets())
        for path in places:
            info = os.lstat(path)
            self.assertEqual(info.st_uid, self.owner()[0], path)
            if stat.S_ISDIR(info.st_mode):
                self.assertEqual(stat.S_IMODE(info.st_mode) & 0o077, 0, path)
        self.remove("owned")

    # --- the handler's port -------------------------------------------------------------------------------------------

    def handler(self):
        pods = self.get("/api/v1/namespaces/kubevirt/pods?labelSelector=kubevirt.io%3Dvirt-handler")["items"]
        address = next(one["status"]["podIP"] for one in pods if one["spec"]["nodeName"] == "node01")
        for port in range(8180, 8200):
            try:
                socket.create_connection((address, port), timeout=5).close()
                return address, port
            except OSError:
                continue
        return address, None

    def ask_handler(self, place, certificate):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(*certificate)
        connection = http.client.HTTPSConnection(*place, context=context, timeout=20)
        try:
            connection.request("PUT", "/v1/namespaces/default/virtualmachineinstances/guarded/pause")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def pki(self, *parts):
        return tuple(os.path.join(self.state, *parts[:-1], f"{parts[-1]}.{kind}") for kind in ("crt", "key"))

    def test_the_port_of_a_handler_is_the_servers_alone(self):
        self.start("guarded")
        place = self.handler()
        if place[1] is None:
            self.skipTest("the handler's port is not among the usual ones")
        strangers = [None, self.pki("nodes", "node01", "pki", "api"), self.pki("nodes", "node02", "pki", "api"), self.pki("nodes", "node02", "pki", "handler")]
        admin = self.pki("pki", "admin")
        strangers += [admin] if os.path.exists(admin[0]) else []
        for certificate in strangers:
            self.assertIn(self.ask_handler(place, certificate), (0, 401, 403), certificate)
        self.assertIsNone(self.condition("guarded", "Paused"))
        self.remove("guarded")

    # --- a node's certificate -----------------------------------------------------------------------------------------

    def as_node(self, method, path, body=None):
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body), certificate=self.pki("nodes", "node01", "pki", "api"),
                                     headers={"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"})
        return code, text

    def test_a_node_reaches_nothing_of_others(self):
        other = self.vm("elsewhere")
        other["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node02"}
        self.good("POST", VMS, other)
        self.until_phase("elsewhere", "Running")
        self.good("POST", "/api/v1/namespaces/default/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"}})
        for method, path, body in (
                ("GET", "/api/v1/namespaces/default/secrets/theirs", None), ("GET", "/api/v1/secrets", None), ("GET", VMIS, None),
                ("GET", f"{VMIS}/elsewhere", None), ("PATCH", f"{VMIS}/elsewhere", {"metadata": {"labels": {"a": "b"}}}),
                ("PATCH", "/api/v1/nodes/node02", {"metadata": {"labels": {"a": "b"}}}), ("DELETE", f"{VMS}/elsewhere", None),
                ("PUT", f"{ACTIONS}/virtualmachineinstances/elsewhere/pause", {}), ("POST", VMS, self.vm("mine")),
                ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "x"}})):
            self.assertEqual(self.as_node(method, path, body)[0], 403, f"{method} {path}")
        self.remove("elsewhere")


if __name__ == "__main__":
    unittest.main(verbosity=2)
