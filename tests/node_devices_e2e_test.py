#!/usr/bin/env python3
"""Disks of real guests: what is on them, what changes while the guest runs, and what stays when it moves."""
import json
import lzma
import os
import unittest

from support import node
from support.devices import CLAIMS, CORE, VIRTIO, Devices
from support.node import ACTIONS, VMIS, VMS

# Members of a VMI's status that upstream's nodes and controllers write and the recordings leave out.
NOT_RECORDED = {"activePods", "launcherContainerImageVersion", "selinuxContext"}


def recorded():
    """Members and conditions of the statuses of VMIs in the recorded stories of controllers."""
    members, conditions = set(), set()
    with lzma.open(os.path.join(node.SOURCE, "tests/conformance/controllers.jsonl.xz"), "rt") as file:
        for step in (step for line in file for step in json.loads(line)["steps"]):
            changes = (step.get("expect") or {}).get("changes") or {}
            vmis = changes.get("VirtualMachineInstance") if isinstance(changes, dict) else None
            for status in ((one.get("status") or {}) for one in (vmis or {}).values() if isinstance(one, dict)):
                members |= set(status)
                conditions |= set(status.get("conditions") or {})
    return members, conditions


class ChangesWhileItRuns(Devices):
    nodes = 2

    def compare(self, status):
        """Nothing is told that the recorded stories do not know, and what a running guest has there is here as well."""
        members, conditions = recorded()
        self.assertLessEqual(set(status), members | NOT_RECORDED)
        self.assertLessEqual({one["type"] for one in status["conditions"]}, conditions)
        usual = {"conditions", "currentCPUTopology", "guestOSInfo", "interfaces", "machine", "memory", "migrationMethod", "migrationTransport", "nodeName",
                 "phase", "phaseTransitionTimestamps", "qosClass", "runtimeUser", "virtualMachineRevisionName", "volumeStatus"}
        self.assertLessEqual(usual, set(status))
        self.assertLessEqual({"guestAtBoot", "guestCurrent", "guestRequested", "memoryOverhead"}, set(status["memory"]))

    def grow(self, name):
        """More CPUs and memory while it runs: the guest has them, and the VMI says so."""
        process, before = self.qemu(name), self.memory_kib(name)
        self.assertEqual(self.await_guest(name, "nproc"), "1")
        self.good("PATCH", f"{VMS}/{name}", {"spec": {"template": {"spec": {"domain": {"cpu": {"sockets": 2}, "memory": {"guest": "1280Mi"}}}}}},
                  headers={"Content-Type": "application/merge-patch+json"})
        # Guests with udev switch new CPUs on by themselves.
        self.await_guest(name, "for c in /sys/devices/system/cpu/cpu[0-9]*/online; do [ $(cat $c) = 1 ] || echo 1 >$c; done; nproc", lambda found: found == "2")
        self.until("the guest has the memory", lambda: self.memory_kib(name) - before > 200 * 1024)
        status = self.until("it is shown", lambda: self.grown(name))
        self.assertEqual(status["currentCPUTopology"]["sockets"], 2)
        self.assertEqual(status["memory"]["guestRequested"], "1280Mi")
        self.assertEqual(self.qemu(name), process, "in place")
        self.assertIsNone(self.condition(name, "HotVCPUChange"))

    def grown(self, name):
        status = self.get(f"{VMIS}/{name}")["status"]
        return status if status["memory"]["guestCurrent"] == "1280Mi" and status["currentCPUTopology"]["sockets"] == 2 else None

    def memory_kib(self, name):
        return int(self.await_guest(name, "sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo", lambda text: text.isdigit()))

    def test_disks(self):
        self.create(f"{CORE}/secrets", "Secret", "secret", stringData={"user": "me"})
        self.create(f"{CORE}/configmaps", "ConfigMap", "map", data={"key": "value"})
        for name in ("claim", "more"):
            self.claim(name)
        self.good("POST", VMS, self.machine(
            "disks",
            ("secret", VIRTIO, {"secret": {"secretName": "secret"}}),
            ("tray", {"cdrom": {"bus": "scsi"}}, {"configMap": {"name": "map"}}),
            ("account", VIRTIO, {"serviceAccount": {"serviceAccountName": "default"}}),
            ("empty", VIRTIO, {"emptyDisk": {"capacity": "16Mi"}}),
            ("claim", VIRTIO, {"persistentVolumeClaim": {"claimName": "claim"}}),
            ("drive", VIRTIO, {"cloudInitConfigDrive": {"userData": "#cloud-config\nhostname: other\n"}}),
            patch=lambda spec: spec["domain"].update(cpu={"sockets": 1}, memory={"guest": "1Gi"})))
        self.until_phase("disks", "Running")
        self.assertEqual(self.mounted("disks", "secret"), {"user": b"me"})
        self.assertEqual(self.files("disks", "/dev/sr0"), {"key": b"value"})
        self.assertIn("openstack", self.folders("disks", "drive"))
        account = self.mounted("disks", "account")
        self.assertEqual(account["namespace"], b"default")
        self.assertEqual(account["token"].count(b"."), 2)
        self.assertIn(b"BEGIN CERTIFICATE", account["ca.crt"])

        self.compare(self.get(f"{VMIS}/disks")["status"])

        # A claim that grows is a disk that grows.
        target = self.entry("disks", "claim")["target"]
        before = int(self.await_guest("disks", f"cat /sys/block/{target}/size"))
        self.good("PATCH", f"{CLAIMS}/claim", {"spec": {"resources": {"requests": {"storage": "64Mi"}}}}, headers={"Content-Type": "application/merge-patch+json"})
        self.await_guest("disks", f"cat /sys/block/{target}/size", lambda size: int(size) > before)

        self.grow("disks")

        # A disk that is plugged in is there after a migration, and so is what the CD-ROM drive has in it.
        self.good("PUT", f"{ACTIONS}/virtualmachines/disks/addvolume", {
            "name": "more", "disk": {"name": "more", "serial": "more", "disk": {"bus": "scsi"}},
            "volumeSource": {"persistentVolumeClaim": {"claimName": "more"}}})
        self.until("plugged in", lambda: self.entry("disks", "more").get("phase") == "Ready")
        plugged = self.entry("disks", "more")["target"]
        self.await_guest("disks", f"echo kept | dd of=/dev/{plugged} conv=fsync 2>/dev/null; head -c 4 /dev/{plugged}", lambda text: text == "kept")
        self.move("disks", "move")
        self.await_guest("disks", f"echo 3 >/proc/sys/vm/drop_caches; head -c 4 /dev/{plugged}", lambda text: text == "kept")
        self.assertEqual(self.files("disks", "/dev/sr0"), {"key": b"value"})
        self.assertEqual(self.await_guest("disks", "nproc"), "2")
        self.good("PUT", f"{ACTIONS}/virtualmachines/disks/removevolume", {"name": "more"})
        self.until("unplugged", lambda: not self.entry("disks", "more"))
        self.remove("disks")
        self.until("nothing of it is left", lambda: not self.guest_folders())


if __name__ == "__main__":
    unittest.main(verbosity=2)
