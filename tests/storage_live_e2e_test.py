#!/usr/bin/env python3
"""Snapshots of VMs that run, on a real node (tests/support/node.py): the hypervisor copies the disks, and the guest runs on.

Every wait is for a state, with a deadline. Where there is no QEMU or guest image it is skipped and says so.
"""
import functools
import http.server
import os
import threading
import unittest

from support import node

VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
SNAPSHOTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshots"
MIB = 1 << 20


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Live(node.Node):
    def make(self, path, version, kind, name, spec):
        return self.good("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})

    def status(self, path):
        return (self.get(path) or {}).get("status") or {}

    def volume(self, name, source):
        self.make(VOLUMES, "cdi.kubevirt.io/v1beta1", "DataVolume", name, {"source": source, "storage": {"resources": {"requests": {"storage": "512Mi"}}}})
        self.until(f"the data of {name}", lambda: self.status(f"{VOLUMES}/{name}").get("phase") == "Succeeded")

    def test_a_running_vm_is_copied_as_of_one_moment(self):
        image = os.path.join(os.path.dirname(node.archive()), "demo.qcow2")
        if not os.path.exists(image):
            self.skipTest("there is no demo.qcow2 (./dev image)")
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=os.path.dirname(image)))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        self.volume("root", {"http": {"url": f"http://127.0.0.1:{web.server_port}/demo.qcow2"}})
        self.volume("data", {"blank": {}})
        wanted = self.vm("demo", volumes=[{"name": "root", "dataVolume": {"name": "root"}}, {"name": "data", "dataVolume": {"name": "data"}}])
        wanted["spec"]["template"]["spec"]["domain"]["devices"]["disks"].append({"name": "data", "disk": {"bus": "virtio"}})
        self.good("POST", node.VMS, wanted)
        self.until_phase("demo", "Running")
        self.until("the guest agent", lambda: self.condition("demo", "AgentConnected") == "True")
        before = self.uid("demo")

        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "s",
                  {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "demo"}})
        taken = self.until("the snapshot", lambda: (lambda s: s if s.get("readyToUse") else None)(self.status(f"{SNAPSHOTS}/s")))
        self.assertEqual((taken["phase"], taken["indications"]), ("Succeeded", ["GuestAgent", "Online"]))
        self.assertNotIn("error", taken)
        self.assertEqual((self.uid("demo"), self.condition("demo", "Paused")), (before, None))
        self.until("a thawed guest", lambda: "fsFreezeStatus" not in self.status(f"{node.VMIS}/demo"))
        self.assertIn('"what":"copydisks"', self.one.errors(), "the node was not asked")

        records = os.path.join(self.state, "disks", ".records")
        for name in os.listdir(records):
            self.assertEqual(sorted(os.listdir(os.path.join(records, name))), ["disk.img", "note.json"])
            held = os.stat(os.path.join(records, name, "disk.img"))
            self.assertEqual(held.st_size, 512 * MIB)
            self.assertLess(held.st_blocks * 512, 400 * MIB, "zeros take no room")
        self.assertEqual(len(os.listdir(records)), 2)
        # Another one finds the guest free for it, and the first goes without it.
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "t",
                  {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "demo"}})
        self.until("another snapshot", lambda: self.status(f"{SNAPSHOTS}/t").get("readyToUse"))
        self.good("DELETE", f"{SNAPSHOTS}/s")
        self.until("the end of its records", lambda: len(os.listdir(records)) == 2)
        self.assertEqual(self.phase("demo"), "Running")


if __name__ == "__main__":
    unittest.main()
