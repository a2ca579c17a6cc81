#!/usr/bin/env python3
"""Disks and devices of real guests: what is on them, what is changed while the guest runs, and what stays when it moves or stops.

Commands are run inside of guests by a web server there (cloud-init puts a script into it), so that answers need no terminal.
"""
import base64
import json
import lzma
import os
import unittest

from support import node, streams
from support.node import ACTIONS, VMIS, VMS

CORE = "/api/v1/namespaces/default"
CLAIMS = f"{CORE}/persistentvolumeclaims"
END = "--done--"
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
            answer = self.on_port(name, 80, b"POST /cgi-bin/run HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body, END.encode())
        except (streams.Refused, OSError):
            return None
        return answer and answer.decode(errors="replace").replace("\r\n", "\n").partition("\n\n")[2].rpartition(END)[0].strip()

    def await_guest(self, name, command, holds=lambda answer: answer is not None):
        return self.until(f"{name}: {command}", lambda: [one for one in [self.in_guest(name, command)] if one is not None and holds(one)])[0]

    def mounted(self, name, serial):
        """The files of a disk, by name."""
        device = f"$(for d in /sys/block/*; do [ \"$(cat $d/serial 2>/dev/null)\" = {serial} ] && echo /dev/${{d##*/}}; done)"
        return self.files(name, device)

    def files(self, name, device):
        script = (f"mkdir -p /m; mount -o ro {device} /m || exit; cd /m; for f in *; do echo \"$f $(base64 $f | tr -d '\\n')\"; done; cd /; umount /m")
        text = self.await_guest(name, script)
        return {line.split(" ")[0]: base64.b64decode(line.partition(" ")[2]) for line in text.splitlines()}

    def size(self, name, device):
        return f"cat /sys/block/{device}/size"

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
            ("claim", VIRTIO, {"persistentVolumeClaim": {"claimName": "claim"}})))
        self.until_phase("disks", "Running")
        self.assertEqual(self.mounted("disks", "secret"), {"user": b"me"})
        self.assertEqual(self.files("disks", "/dev/sr0"), {"key": b"value"})
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
        self.good("PUT", f"{ACTIONS}/virtualmachines/disks/removevolume", {"name": "more"})
        self.until("unplugged", lambda: not self.entry("disks", "more"))
        self.remove("disks")
        self.until("nothing of it is left", lambda: not self.guest_folders())


class KeepsState(Devices):
    def test_firmware_and_tpm(self):
        def patch(spec):
            spec["domain"]["firmware"] = {"bootloader": {"efi": {"secureBoot": False, "persistent": True}}}
            spec["domain"]["devices"]["tpm"] = {"persistent": True}
        self.good("POST", VMS, self.machine("kept", patch=patch))
        self.until_phase("kept", "Running")
        claim = self.entry("kept", "persistent-state-for-this-vm")["persistentVolumeClaimInfo"]["claimName"]
        folder = os.path.join(self.state, "disks", "default", claim)
        files = [os.path.join(folder, one) for one in ("nvram/kept_VARS.fd", "tpm/tpm2/tpm2-00.permall")]
        self.until("firmware and TPM have their state there", lambda: all(os.path.exists(one) for one in files))
        before, kept = self.uid("kept"), [os.stat(one).st_ino for one in files[:1]]
        self.good("PUT", f"{ACTIONS}/virtualmachines/kept/restart")
        self.until("restarted", lambda: self.uid("kept") not in (before, None) and self.phase("kept") == "Running")
        self.assertEqual(self.entry("kept", "persistent-state-for-this-vm")["persistentVolumeClaimInfo"]["claimName"], claim)
        self.assertEqual([os.stat(one).st_ino for one in files[:1]], kept)
        self.assertTrue(os.path.exists(files[1]))
        self.remove("kept")
        self.until("its state goes with it", lambda: not os.path.exists(folder))

    def test_media_and_memory_dumps(self):
        for name, size in (("medium", "32Mi"), ("dump", "512Mi")):
            self.claim(name, size)
        self.good("POST", VMS, self.machine("drive", patch=lambda spec: spec["domain"]["devices"]["disks"].append({"name": "tray", "cdrom": {"bus": "sata"}})))
        self.until_phase("drive", "Running")
        volumes = len(self.get(f"{VMS}/drive")["spec"]["template"]["spec"]["volumes"])
        patch = {"Content-Type": "application/json-patch+json"}
        medium = {"name": "tray", "persistentVolumeClaim": {"claimName": "medium", "hotpluggable": True}}
        self.good("PATCH", f"{VMS}/drive", [{"op": "add", "path": "/spec/template/spec/volumes/-", "value": medium}], headers=patch)
        self.until("inserted", lambda: self.entry("drive", "tray").get("phase") == "Ready")
        self.good("PATCH", f"{VMS}/drive", [{"op": "remove", "path": f"/spec/template/spec/volumes/{volumes}"}], headers=patch)
        self.until("ejected", lambda: not self.entry("drive", "tray"))

        self.good("PUT", f"{ACTIONS}/virtualmachines/drive/memorydump", {"claimName": "dump"})
        request = self.until("dumped", lambda: [one for one in [(self.get(f"{VMS}/drive") or {}).get("status", {}).get("memoryDumpRequest", {})]
                                                if one.get("phase") in ("Completed", "Failed")])[0]
        self.assertEqual(request["phase"], "Completed", request)
        self.assertGreater(os.path.getsize(os.path.join(self.state, "disks/default/dump", request["fileName"])), 64 << 20)
        self.remove("drive")

    def test_one_that_does_not_fit_says_what_is_missing(self):
        vm = self.vm("huge")
        vm["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "64Ti"}
        self.good("POST", VMS, vm)
        self.until("not placed", lambda: self.condition("huge", "PodScheduled") == "False")
        told = next(one for one in self.get(f"{VMIS}/huge")["status"]["conditions"] if one["type"] == "PodScheduled")
        self.assertEqual(told["reason"], "Unschedulable")
        self.assertIn("memory", told["message"])
        self.assertEqual((self.get(f"{VMS}/huge") or {})["status"]["printableStatus"], "ErrorUnschedulable")
        self.remove("huge")

    def test_access_credentials(self):
        self.create(f"{CORE}/secrets", "Secret", "keys", stringData={"one": "ssh-ed25519 AAAA first"})
        self.create(f"{CORE}/secrets", "Secret", "words", stringData={"demo": "another"})
        method = {"qemuGuestAgent": {"users": ["demo"]}}

        def patch(spec):
            spec["accessCredentials"] = [
                {"sshPublicKey": {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": method}},
                {"userPassword": {"source": {"secret": {"secretName": "words"}}, "propagationMethod": {"qemuGuestAgent": {}}}}]
        self.good("POST", VMS, self.machine("agent", patch=patch))
        self.until("the agent has them", lambda: self.condition("agent", "AccessCredentialsSynchronized") == "True")
        self.await_guest("agent", "cat /home/demo/.ssh/authorized_keys", lambda text: text == "ssh-ed25519 AAAA first")
        self.on_console("agent", ("login:", "demo\n"), ("assword:", "another\n"), ("$", None))
        self.good("PATCH", f"{CORE}/secrets/keys", {"stringData": {"one": "ssh-ed25519 AAAA second"}}, headers={"Content-Type": "application/merge-patch+json"})
        self.await_guest("agent", "cat /home/demo/.ssh/authorized_keys", lambda text: text == "ssh-ed25519 AAAA second")
        self.remove("agent")


if __name__ == "__main__":
    unittest.main(verbosity=2)
