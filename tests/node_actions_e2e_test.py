#!/usr/bin/env python3
"""What people do with a guest that runs (`virtgate serve --node libvirt --nodes 2`): look at it, log in, pause, reboot, move, plug, copy, stop.

Two guests for all of it, since a boot under emulation is what takes the time; the tests run in the order of their names and each leaves them
running. Every wait is for an event, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request
import zlib

from support import node, rfb
from support.node import ACTIONS, VMIS, VMS

VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
COPIES = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default"
BOOT = "cat /proc/sys/kernel/random/boot_id"


def lines_of(png):
    """The lines of a PNG, packed as they are."""
    at, packed, head = 8, b"", png[16:26]
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        packed += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    height, raw = int.from_bytes(head[4:8], "big"), zlib.decompress(packed)
    return [raw[line * (len(raw) // height):][:len(raw) // height] for line in range(height)]


class Pings:
    """Connections that a guest makes all the time, as this machine gets them: how long none came is how long it stood still, seen from outside."""

    def __init__(self):
        self.came, self.address = [], None
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:  # nothing is sent; guests do not reach loopback addresses
                way.connect(("192.0.2.1", 9))
                self.address = way.getsockname()[0]
            self.socket = socket.create_server((self.address, 0), backlog=64)
        except OSError:
            self.address = None  # a machine without a network
            return
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def receive(self):
        while self.address:
            self.socket.accept()[0].close()
            self.came.append(time.monotonic())

    def end(self):
        if not self.address:
            return "no pings: this machine has no network"
        place, self.address = (self.address, self.port), None
        socket.create_connection(place).close()
        self.thread.join()
        self.socket.close()
        gaps = sorted(after - before for before, after in zip(self.came, self.came[1:-1]))
        return f"{len(self.came)} pings, median {gaps[len(gaps) // 2] * 1000:.0f} ms apart, longest silence {gaps[-1] * 1000:.0f} ms"


class LivingWithGuests(node.Node):
    nodes = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = tempfile.mkdtemp(prefix="vg-keys-")
        cls.addClassCleanup(shutil.rmtree, cls.keys, True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{cls.keys}/id"], check=True)
        with open(f"{cls.keys}/id.pub") as file:
            public = file.read().strip()
        one = cls()
        one.make_guests(public)

    def runTest(self):  # so that setUpClass can use what tests use
        pass

    def make_guests(self, key):
        seed = {"name": "seed", "cloudInitNoCloud": {"userData": f"#cloud-config\nhostname: demo\nssh_authorized_keys:\n- {key}\n"}}
        self.create_with_disk("demo", seed, grace=60)
        self.blank("data")
        self.create_with_disk("kept", {"name": "data", "dataVolume": {"name": "data"}})
        self.until_phase("demo", "Running")
        self.until_phase("kept", "Running")

    def create_with_disk(self, name, volume, **more):
        vm = self.vm(name, **more)
        spec = vm["spec"]["template"]["spec"]
        spec["volumes"].append(volume)
        spec["domain"]["devices"]["disks"].append({"name": volume["name"], "disk": {"bus": "virtio"}})
        self.good("POST", VMS, vm)

    def blank(self, name):
        self.good("POST", VOLUMES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name}, "spec": {
            "source": {"blank": {}}, "storage": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "32Mi"}}}}})

    def status(self, path):
        return (self.get(path) or {}).get("status", {})

    # --- looking and logging in

    def look(self, text=None):
        """The number of colours on the screen, after a text was typed."""
        async def talk(client):
            display = rfb.Display(client)
            await display.greet()
            if text:
                await display.type(text)
            self.assertGreaterEqual(display.width, 640)
            return len(display.colours(await display.picture()))
        return self.run_stream("demo/vnc", talk)

    def test_1_display(self):
        self.shell("demo", "true")  # it is up, and so is the login on its screen
        self.until("there is something on the screen", lambda: self.look() > 1)
        code, headers, picture = self.one.ask_bytes("GET", f"{ACTIONS}/virtualmachineinstances/demo/vnc/screenshot", headers=self.one.as_admin())
        self.assertEqual((code, picture[:4]), (200, b"\x89PNG"))
        self.assertGreater(len(set(lines_of(picture))), 8, "lines of text")

    def ssh(self, command):
        with self.ports("demo", 22) as port:
            done = subprocess.run(["ssh", "-F", "none", "-p", str(port), "-i", f"{self.keys}/id", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes",
                                   "-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={self.keys}/hosts", "-o", "ConnectTimeout=60", "demo@127.0.0.1", command],
                                  capture_output=True, text=True, timeout=node.DEADLINE_S)
        return done.stdout if done.returncode == 0 else None

    def page(self):
        with self.ports("demo", 80) as port:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                    return answer.read()
            except OSError:
                return None

    def test_1_counters(self):
        def read():
            return self.good("GET", "/ui/api/stats/namespaces/default/virtualmachineinstances/demo")
        before = read()
        self.assertGreater(before["memory"]["rssBytes"], 1 << 20)
        self.assertIn("root", [disk["name"] for disk in before["disks"]])
        self.assertEqual(before["networks"], [], "nobody counts the traffic of a user-mode network, and 0 would be untrue")
        self.until("it has used more CPU", lambda: read()["cpu"]["timeNanoseconds"] > before["cpu"]["timeNanoseconds"])

    def test_2_ports(self):
        self.assertIn(b"html", self.until("its web server answers", self.page))
        self.assertEqual(self.until("its SSH server lets the key in", lambda: self.ssh("hostname; echo $((6 * 7))")), "demo\n42\n")

    # --- power

    def test_3_pause(self):
        self.action("demo", "pause")
        self.until("paused", lambda: self.condition("demo", "Paused") == "True")
        self.action("demo", "unpause")
        self.until("unpaused", lambda: self.condition("demo", "Paused") is None)
        self.assertEqual(self.shell("demo", "echo again $((1 + 1))"), "again 2")

    def test_4_soft_reboot(self):
        before = self.shell("demo", BOOT), self.uid("demo"), self.qemu("demo")
        self.until("the guest agent answers", lambda: self.condition("demo", "AgentConnected") == "True")
        self.action("demo", "softreboot")
        self.until("another boot", lambda: self.shell("demo", BOOT) != before[0])
        self.assertEqual((self.uid("demo"), self.qemu("demo")), before[1:])
        self.assertEqual(self.phase("demo"), "Running")

    # --- moving

    def test_5_migration(self):
        self.shell("demo", "(i=0; while :; do i=$((i + 1)); echo $i >/tmp/count; usleep 100000; done) >/dev/null 2>&1 & echo $! >/tmp/counter")
        before, boot, process = self.get(f"{VMIS}/demo"), self.shell("demo", BOOT), self.qemu("demo")
        counted = int(self.shell("demo", "cat /tmp/count"))
        pings = Pings()
        if pings.address:
            self.shell("demo", f"(while :; do nc -w 1 {pings.address} {pings.port} </dev/null & usleep 100000; done) >/dev/null 2>&1 & echo $! >/tmp/pinger")
            self.until("pings come", lambda: len(pings.came) > 5)
        self.good("POST", node.MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                            "metadata": {"name": "move"}, "spec": {"vmiName": "demo"}})
        self.until("moved", lambda: self.status(f"{node.MIGRATIONS}/move").get("phase") in ("Succeeded", "Failed"))
        after = self.get(f"{VMIS}/demo")
        self.assertEqual(self.status(f"{node.MIGRATIONS}/move")["phase"], "Succeeded", after)
        self.assertNotEqual(after["status"]["nodeName"], before["status"]["nodeName"])
        self.assertEqual(after["metadata"]["uid"], before["metadata"]["uid"])
        self.until("one process is left", lambda: self.qemu("demo") not in (process, None))
        if pings.address:
            arrived = len(pings.came)
            self.until("pings come again", lambda: len(pings.came) > arrived + 5)
            self.shell("demo", "kill $(cat /tmp/pinger)")
        self.assertEqual(self.shell("demo", BOOT), boot)
        self.assertGreater(int(self.shell("demo", "cat /tmp/count")), counted, "the counter goes on")
        self.shell("demo", "kill $(cat /tmp/counter)")
        self.until("its web server answers", self.page)
        self.until("its SSH server lets the key in", lambda: self.ssh("true") is not None)
        self.until("its screen is seen", lambda: self.look() > 1)
        self.say_pause(pings)

    def say_pause(self, pings):
        told = [json.loads(line) for line in self.one.errors().splitlines() if "a job of a domain is over" in line]
        self.assertEqual([one["domain"] for one in told], ["default_demo"])
        print(f"migration: took {told[0]['elapsedMs']} ms, stood still for {told[0]['downtimeMs']} ms; {pings.end()}")

    # --- disks

    def disks(self):
        return set(self.shell("demo", "cd /sys/block; echo *; cd").split())

    def plugged(self):
        return next((one["phase"] for one in self.status(f"{VMIS}/demo")["volumeStatus"] if one["name"] == "extra"), None)

    def test_6_hotplug(self):
        before = self.disks()
        self.blank("extra")
        self.until("it is made", lambda: self.status(f"{VOLUMES}/extra").get("phase") == "Succeeded")
        self.action("demo", "addvolume", "virtualmachines", {
            "name": "extra", "disk": {"serial": "extra1", "disk": {"bus": "scsi"}}, "volumeSource": {"dataVolume": {"name": "extra", "hotpluggable": True}}})
        disk = self.until("the guest sees it", lambda: self.disks() - before).pop()
        self.assertEqual(disk, "sda")
        self.assertEqual(self.shell("demo", "cat /sys/block/sda/size"), str(32 * 1024 * 2))
        self.assertEqual(self.shell("demo", "mkdir -p /mnt; mke2fs /dev/sda >/dev/null 2>&1; mount -t ext2 /dev/sda /mnt; echo plugged >/mnt/file; sync; cat /mnt/file; umount /mnt"),
                         "plugged")
        self.until("it is shown", lambda: self.plugged() == "Ready")

    def test_7_unplug(self):
        self.assertIn("sda", self.disks())
        self.action("demo", "removevolume", "virtualmachines", {"name": "extra"})
        self.until("the guest sees it no more", lambda: "sda" not in self.disks())
        self.until("it is shown no more", lambda: self.plugged() is None)

    def mounted(self, command):
        """A command in the folder of the disk that is kept."""
        return self.shell("kept", f"mkdir -p /mnt; mount -t ext2 /dev/vdb /mnt; cd /mnt; {command}; sync; cd /; umount /mnt")

    def test_8_snapshot_and_restore(self):
        self.assertEqual(self.shell("kept", "mke2fs /dev/vdb >/dev/null 2>&1; echo made $?"), "made 0")
        self.assertEqual(self.mounted("echo first >before; cat before"), "first")
        self.good("POST", f"{COPIES}/virtualmachinesnapshots", {
            "apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": "one"},
            "spec": {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "kept"}}})
        self.until("the snapshot is there", lambda: self.status(f"{COPIES}/virtualmachinesnapshots/one").get("readyToUse"))
        self.assertIn("Online", self.status(f"{COPIES}/virtualmachinesnapshots/one").get("indications", []))
        self.assertEqual(self.mounted("echo second >before; echo third >after; cat before after"), "second\nthird")
        self.action("kept", "stop", "virtualmachines")
        self.until("stopped", lambda: self.get(f"{VMIS}/kept") is None)
        self.good("POST", f"{COPIES}/virtualmachinerestores", {
            "apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineRestore", "metadata": {"name": "back"},
            "spec": {"target": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "kept"}, "virtualMachineSnapshotName": "one"}})
        self.until("restored", lambda: self.status(f"{COPIES}/virtualmachinerestores/back").get("complete"))
        if self.get(f"{VMIS}/kept") is None:
            self.ask("PUT", f"{ACTIONS}/virtualmachines/kept/start")
        self.until_phase("kept", "Running")
        self.assertEqual(self.mounted("ls -1; cat before"), "before\nlost+found\nfirst")

    # --- ends

    def test_9_restart(self):
        before, boot = self.uid("demo"), self.shell("demo", BOOT)
        self.action("demo", "restart", "virtualmachines")
        self.until("restarted", lambda: self.uid("demo") not in (before, None) and self.phase("demo") == "Running")
        self.assertNotEqual(self.shell("demo", BOOT), boot)

    def test_9_stop(self):
        self.action("demo", "stop", "virtualmachines")
        self.until("stopped", lambda: self.get(f"{VMIS}/demo") is None)
        self.until("no QEMU is left", lambda: self.qemu("demo") is None)
        self.until("it is shown", lambda: self.status(f"{VMS}/demo").get("printableStatus") == "Stopped")
        for name in ("demo", "kept"):
            self.remove(name)
        left = [os.path.join(place, name) for place, _, names in os.walk(os.path.join(self.state, "nodes")) for name in names if "demo" in place + name]
        self.assertEqual([one for one in left if not one.endswith(".log")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
