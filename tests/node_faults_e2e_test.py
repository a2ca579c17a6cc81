#!/usr/bin/env python3
"""What a node says when something it needs is broken, missing or full; and that guests go on when it is there again.

Every wait is for a state, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import base64
import importlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from support import node
from support import serve as e2e
from support.node import VMIS, VMS

archive = importlib.import_module("image_commands_test").archive
NS = "/api/v1/namespaces/default"


def qcow2(backing=b"", features=0, data_file=b""):
    """A header of an image of 1 MiB, and little else."""
    extensions = struct.pack(">II", 0x44415441, len(data_file)) + data_file.ljust((len(data_file) + 7) // 8 * 8, b"\0") if data_file else b""
    extensions += bytes(8)
    head = struct.pack(">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 112 + len(extensions) if backing else 0, len(backing), 16, 1 << 20, 0, 1,
                       3 << 16, 1 << 16, 1, 0, 0, features, 0, 0, 4, 112) + bytes(8)
    return (head + extensions + backing).ljust(4 << 16, b"\0")


class Told(node.Node):
    def synchronized(self, name):
        conditions = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Synchronized"), {"reason": "", "message": ""})

    def events(self, name):
        found = self.get(f"{NS}/events") or {"items": []}
        return [one for one in found["items"] if one["involvedObject"]["name"] == name]

    def until_said(self, name, *words):
        self.until(f"{name}: {words}", lambda: all(word in self.synchronized(name)["reason"] + self.synchronized(name)["message"] for word in words))
        self.assertIsNone(self.qemu(name))
        return self.synchronized(name)

    def with_image(self, name, image, **more):
        vm = self.vm(name, **more)
        vm["spec"]["template"]["spec"]["volumes"][0]["containerDisk"]["image"] = image
        return vm

    def load(self, reference, disk):
        path = os.path.join(self.folder, "broken.tar")
        archive(path, {"disk/disk.img": disk})
        os.chmod(path, 0o644)
        subprocess.run(node.as_server([e2e.BINARY, "image", "load", "--state", self.state, path, reference]), check=True, capture_output=True)


class Faults(Told):
    def test_images_that_are_no_disks_or_name_other_files(self):
        whole = qcow2()
        self.load("virtgate.local/truncated:1", whole[:100])
        self.load("virtgate.local/backed:1", qcow2(backing=b"/etc/shadow"))
        self.load("virtgate.local/data:1", qcow2(features=4, data_file=b"/etc/shadow"))
        for name in ("truncated", "backed", "data"):
            self.good("POST", VMS, self.with_image(name, f"virtgate.local/{name}:1"))
        for name in ("truncated", "backed", "data"):
            said = self.until_said(name, "Synchronizing with the Domain failed.")
            print(f"{name}: {said['message']}")
            self.assertNotIn("root:", said["message"])
            self.until("an event says so", lambda: any(one["reason"] == "SyncFailed" for one in self.events(name)))
            self.assertNotEqual(self.phase(name), "Running")
        for name in ("truncated", "backed", "data"):
            self.remove(name)

    def test_a_registry_that_is_gone_is_asked_less_and_less(self):
        asked = []
        registry = socket.create_server(("127.0.0.1", 0))

        def hang_up():
            while True:
                try:
                    connection, _ = registry.accept()
                except OSError:
                    return
                asked.append(time.monotonic())
                connection.close()
        threading.Thread(target=hang_up, daemon=True).start()
        began = time.monotonic()
        self.good("POST", VMS, self.with_image("far", f"127.0.0.1:{registry.getsockname()[1]}/far:1"))
        said = self.until_said("far", "ImagePullBackOff", "far:1")
        print(f"registry gone: {said['reason']}: {said['message']}")
        first = len(asked)
        self.until("the VM says so", lambda: (self.get(f"{VMS}/far") or {}).get("status", {}).get("printableStatus") in ("ImagePullBackOff", "ErrImagePull"))
        self.until("it was tried again", lambda: len(asked) > first)
        pulls = 2 + (time.monotonic() - began) / 10  # the shortest pause is 10 s
        self.assertLessEqual(len(asked), max(first, 1) * pulls)
        self.remove("far")
        registry.close()

    def test_a_secret_that_comes_later(self):
        vm = self.vm("late")
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"].append({"name": "cloud", "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "cloud", "cloudInitNoCloud": {"secretRef": {"name": "late-data"}}})
        self.good("POST", VMS, vm)
        said = self.until_said("late", "late-data")
        print(f"Secret missing: {said['message']}")
        self.good("POST", f"{NS}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late-data"},
                                            "data": {"userdata": base64.b64encode(b"#cloud-config\n").decode()}})
        self.until_phase("late", "Running")
        self.remove("late")

    def test_a_claim_that_is_deleted_under_its_guest(self):
        self.good("POST", f"{NS}/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}})
        vm = self.vm("claimed")
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"].append({"name": "data", "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": "data"}})
        self.good("POST", VMS, vm)
        self.until_phase("claimed", "Running")
        before = self.qemu("claimed"), self.uid("claimed")
        self.good("DELETE", f"{NS}/persistentvolumeclaims/data")
        claim = self.get(f"{NS}/persistentvolumeclaims/data")
        self.assertIsNotNone(claim, "a claim that a guest uses stays until the guest is gone")
        self.assertIn("deletionTimestamp", claim["metadata"])
        disk = os.path.join(self.state, "disks/default/data/disk.img")
        self.assertTrue(os.path.exists(disk))
        self.assertEqual((self.qemu("claimed"), self.uid("claimed")), before)
        self.remove("claimed")
        self.until("the claim goes with its guest", lambda: self.get(f"{NS}/persistentvolumeclaims/data") is None)
        self.until("and its disk", lambda: not os.path.exists(disk))


MOUNTS = unittest.skipUnless(os.geteuid() == 0 and os.environ.get("VIRTGATE_LONG", "") not in ("", "0"), "mounts a small file system: root, VIRTGATE_LONG=1")


class Full(Told):
    """A folder of the state is a file system of its own, and small."""

    part, mebibytes = "nodes/node01/guests", 64

    @classmethod
    def start_server(cls, port=None):
        place = os.path.join(cls.state, cls.part)
        if not os.path.ismount(place):
            made = cls.state
            for folder in cls.part.split("/"):
                made = os.path.join(made, folder)
                os.makedirs(made, 0o700, exist_ok=True)
                shutil.chown(made, "virtgate", "virtgate")
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={cls.mebibytes}m,mode=0700,uid=virtgate,gid=virtgate", "small", place], check=True)
            cls.small = place
            cls.after_mount()
        super().start_server(port)

    @classmethod
    def after_mount(cls):
        pass

    @classmethod
    def end(cls):
        super().end()
        if getattr(cls, "small", None):
            subprocess.run(["umount", "-l", cls.small], check=False, capture_output=True)
            shutil.rmtree(cls.folder, ignore_errors=True)

    def fill(self, left):
        info = os.statvfs(self.small)
        with open(os.path.join(self.small, "filler"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, info.f_bavail * info.f_frsize - left)

    def empty(self):
        os.unlink(os.path.join(self.small, "filler"))

    def until_out_of_room(self, name, volume):
        self.until("paused", lambda: self.condition(name, "Paused") == "True")
        paused = next(one for one in self.get(f"{VMIS}/{name}")["status"]["conditions"] if one["type"] == "Paused")
        self.assertEqual(paused["reason"], "PausedIOError")
        self.until("an event names the volume", lambda: any(one["reason"] == "IOerror" and volume in one["message"] and "space" in one["message"]
                                                            for one in self.events(name)))


@MOUNTS
class FullDisk(Full):
    def test_a_guest_without_room_is_paused_and_goes_on(self):
        self.fill(16 << 20)
        vm = self.vm("writer")
        spec = vm["spec"]["template"]["spec"]
        for name in ("big", "cloud"):
            spec["domain"]["devices"]["disks"].append({"name": name, "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "big", "emptyDisk": {"capacity": "1Gi"}})
        spec["volumes"].append({"name": "cloud", "cloudInitNoCloud": {"userData": "#!/bin/sh\ndd if=/dev/zero of=/dev/vdb bs=1M count=40\nsync\n"}})
        self.good("POST", VMS, vm)
        self.until_phase("writer", "Running")
        self.until_out_of_room("writer", "big")
        self.empty()
        self.until("it goes on by itself", lambda: self.condition("writer", "Paused") is None)
        self.remove("writer")

    def test_a_start_without_room_is_said_and_tried_again(self):
        self.fill(0)
        self.good("POST", VMS, self.vm("starved"))
        said = self.until_said("starved", "space")
        print(f"no room to start: {said['message']}")
        self.empty()
        self.until_phase("starved", "Running")
        self.remove("starved")


@MOUNTS
class FullClaim(Full):
    part, mebibytes = "disks", 512  # a claim is made where there is room to spare

    def test_a_guest_whose_claim_has_no_room_is_paused_and_goes_on(self):
        self.good("POST", f"{NS}/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "48Mi"}}}})
        self.start("calm")
        vm = self.vm("keeper")
        spec = vm["spec"]["template"]["spec"]
        for name in ("data", "cloud"):
            spec["domain"]["devices"]["disks"].append({"name": name, "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": "data"}})
        spec["volumes"].append({"name": "cloud", "cloudInitNoCloud": {"userData": "#!/bin/sh\ndd if=/dev/urandom of=/dev/vdb bs=1M count=40\nsync\n"}})
        self.good("POST", VMS, vm)
        self.until("its disk is there", lambda: self.qemu("keeper"))
        self.fill(8 << 20)
        calm = self.qemu("calm"), self.uid("calm")
        self.until_out_of_room("keeper", "data")
        self.assertEqual((self.qemu("calm"), self.uid("calm"), self.condition("calm", "Paused")), (*calm, None))
        self.empty()
        self.until("it goes on by itself", lambda: self.condition("keeper", "Paused") is None)
        for name in ("keeper", "calm"):
            self.remove(name)


@MOUNTS
class FullState(Full):
    """Everything that the server keeps is on the small file system."""

    part, mebibytes = ".", 256

    @classmethod
    def after_mount(cls):
        loaded = os.path.join(cls.folder, os.path.basename(node.archive()))
        subprocess.run(node.as_server([e2e.BINARY, "image", "load", "--state", cls.state, loaded, node.IMAGE]), check=True, capture_output=True)

    def test_guests_run_on_and_writes_are_refused_until_there_is_room(self):
        self.start("before")
        kept = self.qemu("before"), self.uid("before")
        self.fill(0)
        code, answer = self.until("a write is refused", lambda: [one for one in [self.ask("POST", VMS, self.vm(f"full{time.monotonic_ns()}", strategy="Halted"))]
                                                                 if one[0] >= 400])[0]
        print(f"state folder full: {code} {answer['message']}")
        self.assertEqual((code, "is full" in answer["message"]), (503, True))
        self.assertEqual((self.qemu("before"), self.uid("before"), self.phase("before")), (*kept, "Running"))
        self.empty()
        self.until("it can be written again", lambda: self.ask("POST", VMS, self.vm("after"))[0] == 201)
        self.until_phase("after", "Running")
        self.assertEqual((self.qemu("before"), self.uid("before")), kept)
        for name in ("before", "after"):
            self.remove(name)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    unittest.main(verbosity=2)
