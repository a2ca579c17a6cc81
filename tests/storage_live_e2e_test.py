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

    def root_volume(self, name):
        """A DataVolume with a guest on it."""
        image = os.path.join(os.path.dirname(node.archive()), "demo.qcow2")
        if not os.path.exists(image):
            self.skipTest("there is no demo.qcow2 (./dev image)")
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=os.path.dirname(image)))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        self.volume(name, {"http": {"url": f"http://127.0.0.1:{web.server_port}/demo.qcow2"}})

    def snapshot(self, name, of):
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", name,
                  {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": of}})
        return self.until(f"the snapshot {name}", lambda: (lambda s: s if s.get("readyToUse") else None)(self.status(f"{SNAPSHOTS}/{name}")))

    def test_disks_that_are_written_meanwhile_are_of_one_moment(self):
        """A guest counts on one disk and then on the other: whenever they are copied, the second is at most one behind."""
        self.root_volume("counts")
        for name in ("first", "second"):
            self.volume(name, {"blank": {}})
        wanted = self.vm("counts", volumes=[{"name": name, "dataVolume": {"name": claim}}
                                            for name, claim in (("root", "counts"), ("first", "first"), ("second", "second"))])
        wanted["spec"]["template"]["spec"]["domain"]["devices"]["disks"] += [{"name": name, "disk": {"bus": "virtio"}} for name in ("first", "second")]
        self.good("POST", node.VMS, wanted)
        self.until_phase("counts", "Running")
        self.until("the guest agent", lambda: self.condition("counts", "AgentConnected") == "True")
        put = "printf '%s %09d\\n' {0} $i | dd of=/dev/{1} conv=sync,notrunc,fsync bs=512 count=1 2>/dev/null"
        write = f"i=0; while :; do i=$((i+1)); {put.format('first', 'vdb')}; {put.format('second', 'vdc')}; done"
        self.shell("counts", f"{{ ({write}) </dev/null >/dev/null 2>&1 & }}")
        counting = lambda: int("0" + self.shell("counts", "head -c 15 /dev/vdb | tail -c 9 | sed 's/^0*//'").strip().split("\n")[-1])
        self.until("a guest that counts", lambda: counting() > 3)

        last = 0
        for name in ("one", "two", "three"):
            self.snapshot(name, "counts")
            records = os.path.join(self.state, "disks", ".records")
            counts = {"first": [], "second": []}
            for record in os.listdir(records):
                with open(os.path.join(records, record, "disk.img"), "rb") as file:
                    word, _, number = file.read(64).partition(b"\n")[0].partition(b" ")
                if word.decode(errors="replace") in counts:
                    counts[word.decode()].append(int(number))
            first, second = max(counts["first"]), max(counts["second"])
            self.assertIn(first - second, (0, 1), f"the copies are of two moments: {counts}")
            self.assertGreater(first, last, "the guest did not go on")
            last = first
        self.assertEqual(self.phase("counts"), "Running")
        self.remove("counts")

    def test_a_running_vm_is_copied_as_of_one_moment(self):
        self.root_volume("root")
        self.volume("data", {"blank": {}})
        wanted = self.vm("demo", volumes=[{"name": "root", "dataVolume": {"name": "root"}}, {"name": "data", "dataVolume": {"name": "data"}}])
        wanted["spec"]["template"]["spec"]["domain"]["devices"]["disks"].append({"name": "data", "disk": {"bus": "virtio"}})
        self.good("POST", node.VMS, wanted)
        self.until_phase("demo", "Running")
        self.until("the guest agent", lambda: self.condition("demo", "AgentConnected") == "True")
        before = self.uid("demo")

        taken = self.snapshot("s", "demo")
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
        self.snapshot("t", "demo")
        self.good("DELETE", f"{SNAPSHOTS}/s")
        self.until("the end of its records", lambda: len(os.listdir(records)) == 2)
        self.assertEqual(self.phase("demo"), "Running")
        self.remove("demo")


if __name__ == "__main__":
    unittest.main()
