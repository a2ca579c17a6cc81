#!/usr/bin/env python3
"""Disks that are not there when the server starts: their claims are Lost, no VM is started on an empty disk, and all go on once the data is back.

A real guest writes to a claim, the folder of all disks is taken away and put back, as a mount is that comes late. Every wait is for a state, with
a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import os
import shutil
import subprocess
import sys
import unittest

from support import node
from support import serve as e2e
from support.node import VMIS, VMS

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
EVENTS = "/api/v1/namespaces/default/events"
WORDS = "all-that-there-is"


class LostDisks(node.Node):
    def claim(self, name):
        return self.get(f"{CLAIMS}/{name}") or {}

    def claim_phase(self, name):
        return self.claim(name).get("status", {}).get("phase")

    def make_claim(self, name):
        self.good("POST", CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
                                   "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}})

    def claimed_vm(self, name, claim):
        vm = self.vm(name)
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"].append({"name": "data", "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
        return vm

    def image(self, claim):
        return os.path.join(self.state, "disks", "default", claim, "disk.img")

    def synchronized(self, name):
        conditions = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Synchronized"), {"reason": "", "message": ""})

    def reasons(self, name):
        found = self.get(EVENTS) or {"items": []}
        return [one["reason"] for one in found["items"] if one["involvedObject"]["name"] == name]

    def explained(self, name):
        run = subprocess.run(node.as_server([e2e.BINARY, "explain", f"vm/{name}", "--state", self.state]), capture_output=True, text=True)
        return run.stdout + run.stderr

    def until_lost(self, claim, vm):
        self.until("the claim is Lost", lambda: self.claim_phase(claim) == "Lost")
        self.until("the VMI says why it waits", lambda: self.synchronized(vm)["reason"] == "PersistentVolumeClaimLost")
        self.assertIn(f"disks/default/{claim}", self.synchronized(vm)["message"])
        self.assertEqual(self.phase(vm), "Pending")
        self.until("events of both", lambda: "ClaimLost" in self.reasons(claim) and "PersistentVolumeClaimLost" in self.reasons(vm))
        self.assertIn(f"data of claim {claim} is missing", self.explained(vm))
        self.assertIsNone(self.qemu(vm))
        self.assertFalse(os.path.exists(self.image(claim)))

    def make_guest_with_data(self, vm, claim):
        self.make_claim(claim)
        self.good("POST", VMS, self.claimed_vm(vm, claim))
        self.until_phase(vm, "Running")
        self.assertEqual(os.path.getsize(self.image(claim)), 16 << 20)
        self.shell(vm, f"echo {WORDS} > /dev/vdb; sync")
        self.action(vm, "stop", kind="virtualmachines", body={})
        self.until("it stops", lambda: self.get(f"{VMIS}/{vm}") is None)
        with open(self.image(claim), "rb") as file:
            self.assertIn(WORDS.encode(), file.read(4096))

    def test_a_folder_of_disks_that_comes_late(self):
        self.make_guest_with_data("late", "data")
        self.one.clean_up()
        disks, away = os.path.join(self.state, "disks"), os.path.join(self.folder, "away")
        os.rename(disks, away)
        self.start_server()
        self.action("late", "start", kind="virtualmachines", body={})
        self.until_lost("data", "late")
        self.assertEqual([one for one in os.listdir(disks) if not one.startswith(".")], [], "something was made anew")
        shutil.rmtree(disks)
        os.rename(away, disks)
        self.until("the claim is Bound again", lambda: self.claim_phase("data") == "Bound")
        self.until_phase("late", "Running")
        self.assertIn(WORDS, self.shell("late", "head -c 40 /dev/vdb"))
        self.remove("late")

    def test_an_image_that_is_gone_while_the_server_runs(self):
        self.make_guest_with_data("gone", "image")
        os.rename(self.image("image"), self.image("image") + ".away")
        self.until("the claim is Lost", lambda: self.claim_phase("image") == "Lost")
        self.action("gone", "start", kind="virtualmachines", body={})
        self.until_lost("image", "gone")
        os.rename(self.image("image") + ".away", self.image("image"))
        self.until_phase("gone", "Running")
        self.assertIn(WORDS, self.shell("gone", "head -c 40 /dev/vdb"))
        self.remove("gone")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
