"""Guests with further disks and devices, in which commands can be run.

A web server inside of the guest runs them (cloud-init puts a script into it), so that answers need no terminal.
"""
import asyncio
import base64
import itertools
import os

from support import node, streams
from support.node import VMIS

CORE = "/api/v1/namespaces/default"
CLAIMS = f"{CORE}/persistentvolumeclaims"
END = "--done--"
ANSWER_S = 30
# What is posted to it is run.
RUNNER = f"""#!/bin/sh
mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho "Content-Type: text/plain"\\necho\\nsh 2>&1\\necho {END}\\n' >/www/cgi-bin/run
chmod 755 /www/cgi-bin/run
"""
VIRTIO = {"disk": {"bus": "virtio"}}


class Devices(node.Node):
    def machine(self, name, *disks, patch=None, **more):
        """A VM with further disks: (name, how, volume)."""
        vm = self.vm(name, **more)
        spec = vm["spec"]["template"]["spec"]
        for disk, how, volume in (("seed", VIRTIO, {"cloudInitNoCloud": {"userData": RUNNER}}), *disks):
            if how:
                spec["domain"]["devices"]["disks"].append({"name": disk, "serial": disk, **how})
            spec["volumes"].append({"name": disk, **volume})
        if patch:
            patch(spec)
        return vm

    def create(self, path, kind, name, **members):
        return self.good("POST", path, {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **members})

    def claim(self, name, size="32Mi"):
        self.create(CLAIMS, "PersistentVolumeClaim", name, spec={"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": size}}})

    def in_guest(self, name, command):
        """What the command prints inside of the guest, as root; None: nobody listens there yet."""
        body = command.encode()
        try:
            answer = self.on_port(name, 80, b"POST /cgi-bin/run HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body, END.encode(), seconds=ANSWER_S)
        except (streams.Refused, OSError, TimeoutError, asyncio.TimeoutError):
            return None
        return answer and answer.decode(errors="replace").replace("\r\n", "\n").partition("\n\n")[2].rpartition(END)[0].strip()

    def until_it_listens(self, name):
        """A connection that began before the guest had its address never gets anywhere: the next one is made soon, and is given a second more."""
        attempts = itertools.count(1)

        def answers():
            try:
                return self.on_port(name, 80, b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.", seconds=next(attempts))
            except (streams.Refused, OSError, TimeoutError, asyncio.TimeoutError):
                return None
        self.until(f"{name} listens", answers)

    def await_guest(self, name, command, holds=lambda answer: answer is not None):
        self.until_it_listens(name)
        return self.until(f"{name}: {command}", lambda: [one for one in [self.in_guest(name, command)] if one is not None and holds(one)])[0]

    @staticmethod
    def device_of(serial):
        return f"$(for d in /sys/block/*; do [ \"$(cat $d/serial 2>/dev/null)\" = {serial} ] && echo /dev/${{d##*/}}; done)"

    def mounted(self, name, serial):
        """The files of a disk, by name."""
        return self.files(name, self.device_of(serial))

    def folders(self, name, serial):
        """What is at the top of a disk."""
        return self.await_guest(name, f"mkdir -p /m; mount -o ro {self.device_of(serial)} /m || exit; ls /m; umount /m").split()

    def files(self, name, device):
        script = (f"mkdir -p /m; mount -o ro {device} /m || exit; cd /m; for f in *; do echo \"$f $(base64 $f | tr -d '\\n')\"; done; cd /; umount /m")
        text = self.await_guest(name, script)
        return {line.split(" ")[0]: base64.b64decode(line.partition(" ")[2]) for line in text.splitlines()}

    def entry(self, name, volume):
        entries = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("volumeStatus", [])
        return next((one for one in entries if one["name"] == volume), {})

    def move(self, name, migration):
        self.good("POST", node.MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                            "metadata": {"name": migration}, "spec": {"vmiName": name}})
        self.until("moved", lambda: (self.get(f"{node.MIGRATIONS}/{migration}") or {}).get("status", {}).get("phase") in ("Succeeded", "Failed"))
        self.assertEqual(self.get(f"{node.MIGRATIONS}/{migration}")["status"]["phase"], "Succeeded", self.get(f"{VMIS}/{name}"))

    def guest_folders(self):
        folder = os.path.join(self.state, "nodes")
        return [os.path.join(one, guest) for one in os.listdir(folder) if os.path.isdir(os.path.join(folder, one, "guests"))
                for guest in os.listdir(os.path.join(folder, one, "guests"))]
