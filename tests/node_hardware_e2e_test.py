#!/usr/bin/env python3
"""Devices of real guests beside disks and networks: watchdog, USB redirection, vsock, metrics of the host, shared folders.

Guests of one server for all of it, which boot side by side. Every wait is for an event, with a deadline.
"""
import asyncio
import base64
import contextlib
import struct
import time
import unittest
from xml.etree import ElementTree

from support import streams
from support.devices import CORE, VIRTIO, Devices
from support.node import ACTIONS, VMIS, VMS

# The kernel of the demo guest has no driver for it, so the registers are written as one would: both stages, then "enable".
FIRE = """
for d in /sys/bus/pci/devices/*; do
  [ "$(cat $d/vendor):$(cat $d/device)" = 0x8086:0x25ab ] && w=$d
done
echo 1 >$w/enable
read -r base rest <$w/resource
put() { devmem $((base + 12)) 16 0x80; devmem $((base + 12)) 16 0x86; devmem $((base + $1)) 32 $2; }
put 0 0x400
put 4 0x400
printf '\\002' | dd of=$w/config bs=1 seek=104 conv=notrunc 2>/dev/null
"""
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
BACKUPS = "/apis/backup.kubevirt.io/v1alpha1/namespaces/default/virtualmachinebackups"
MERGE = {"Content-Type": "application/merge-patch+json"}
METRICS_BYTES = 256 * 1024
# One request through the port, as vm-dump-metrics has it: a line, an empty line; an answer that ends with an empty line.
ASK = """
for p in /sys/class/virtio-ports/*; do
  [ "$(cat $p/name)" = org.github.vhostmd.1 ] && port=/dev/${p##*/}
done
exec 3<>$port
for request in "%s"; do
  printf "$request\n\n" >&3
  while read -r line <&3 && [ -n "$line" ]; do echo "$line"; done
done
"""
BOOT = "cat /proc/sys/kernel/random/boot_id"


def hello(version, *capabilities):
    """The first packet of usbredir: type 0, the length of the rest, an id; a version text and words of capabilities."""
    body = version.encode().ljust(64, b"\0") + b"".join(struct.pack("<I", word) for word in capabilities)
    return struct.pack("<III", 0, len(body), 0) + body


class Hardware(Devices):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        one = cls()
        one.good("PATCH", KUBEVIRT, {"spec": {"configuration": {
            "developerConfiguration": {"featureGates": ["DownwardMetrics", "VSOCK", "IncrementalBackup"]},
            "changedBlockTrackingLabelSelectors": {"virtualMachineLabelSelector": {"matchLabels": {"tracked": "yes"}}}}}}, headers=MERGE)
        one.claim("data")
        main = one.machine("main", ("metrics", VIRTIO, {"downwardMetrics": {}}), ("data", VIRTIO, {"persistentVolumeClaim": {"claimName": "data"}}),
                           patch=lambda spec: spec["domain"]["devices"].update(
                               watchdog={"name": "dog", "i6300esb": {"action": "reset"}}, clientPassthrough={}, downwardMetrics={}))
        main["metadata"]["labels"] = {"tracked": "yes"}
        one.good("POST", VMS, main)
        for action in ("poweroff", "shutdown"):
            one.vmi(action, watchdog={"name": "dog", "i6300esb": {"action": action}})

    def runTest(self):  # so that setUpClass can use what tests use
        pass

    def vmi(self, name, *disks, **devices):
        """A VMI without a VM: it stays as it ended."""
        spec = self.machine(name, *disks, grace=30)["spec"]["template"]["spec"]
        spec["domain"]["devices"].update(devices)
        self.good("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name}, "spec": spec})

    def events(self, name):
        found = self.get(f"{CORE}/events?fieldSelector=involvedObject.kind=VirtualMachineInstance,involvedObject.name={name}")
        return {one["reason"]: one["message"] for one in found["items"]}

    # --- watchdog

    def fire(self, name, action):
        """Until it is told that it fired: whether the answer of the guest comes out before is anybody's guess."""
        self.await_guest(name, BOOT)
        body = FIRE.encode()

        async def talk(client):
            await client.send(b"POST /cgi-bin/run HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            while not self.events(name).get("WatchdogFired"):
                await asyncio.sleep(0.1)
        self.run_stream(f"{name}/portforward/80/tcp", talk)
        self.assertIn(f"its action is {action}", self.events(name)["WatchdogFired"])

    def test_z_a_watchdog_resets_the_guest(self):
        """The last one of its name: nobody listens in the guest while it boots."""
        self.until_phase("main", "Running")
        before, process, uid = self.await_guest("main", BOOT), self.qemu("main"), self.uid("main")
        self.fire("main", "reset")
        self.assertNotEqual(self.shell("main", BOOT), before)
        self.assertEqual((self.qemu("main"), self.uid("main"), self.phase("main")), (process, uid, "Running"), "reset in place")

    def test_a_watchdog_ends_the_guest(self):
        """As upstream has it: QEMU ends without a goodbye, which counts as a crash."""
        self.until_phase("poweroff", "Running")
        self.fire("poweroff", "poweroff")
        self.until_phase("poweroff", "Failed")

    def test_a_watchdog_shuts_the_guest_down(self):
        """The power button is pressed, and the guest powers itself off."""
        self.until_phase("shutdown", "Running")
        self.fire("shutdown", "shutdown")
        self.until_phase("shutdown", "Succeeded")

    # --- USB redirection

    async def plug(self, stack, name="main"):
        """A client that has said hello and got QEMU's."""
        client = await streams.Client.open(self.world(), f"{ACTIONS}/virtualmachineinstances/{name}/usbredir")
        stack.callback(lambda: client.writer.is_closing() or client.abort())
        await client.send(hello("virtgate test", 0))
        got = b""
        while len(got) < 12 + 64:
            got += await asyncio.wait_for(client.receive(), streams.DEADLINE_S)
        kind, length, _ = struct.unpack("<III", got[:12])
        self.assertEqual(kind, 0)
        self.assertGreaterEqual(length, 64)
        self.assertIn(b"qemu usb-redir", got[12:76])
        return client

    def test_usb_redirection(self):
        self.until_phase("main", "Running")

        async def talk():
            with contextlib.ExitStack() as stack:
                first = await self.plug(stack)
                for _ in range(3):
                    await self.plug(stack)
                with self.assertRaises(streams.Refused) as refused:
                    await self.plug(stack)
                # One that leaves makes room.
                first.abort()
                while True:
                    with contextlib.suppress(streams.Refused):
                        await self.plug(stack)
                        return refused.exception
        refused = asyncio.run(asyncio.wait_for(talk(), streams.DEADLINE_S))
        self.assertEqual(refused.status, 500, "as everything that a node refuses")
        self.assertIn("all 4 USB slots of the guest are in use", refused.body)

    def test_usb_redirection_is_refused_to_a_vmi_that_did_not_ask_for_it(self):
        self.until("it is there", lambda: self.get(f"{VMIS}/poweroff"))
        code, answer = self.ask("GET", f"{ACTIONS}/virtualmachineinstances/poweroff/usbredir")
        self.assertEqual(code, 409, answer)


    # --- metrics of the host

    def values(self, document):
        """By context and name."""
        return {(one.get("context"), one.findtext("name")): one.findtext("value") for one in ElementTree.fromstring(document)}

    def check_metrics(self, document):
        values = self.values(document)
        self.assertEqual(values["host", "HostName"], self.get(f"{VMIS}/main")["status"]["nodeName"])
        self.assertTrue(values["host", "VirtProductInfo"].startswith("QEMU "), values)
        self.assertEqual(values["vm", "ResourceProcessorLimit"], "1")
        self.assertEqual(int(values["vm", "ResourceMemoryLimit"]), 128 * 1024)
        self.assertGreater(float(values["vm", "TotalCPUTime"]), 0)
        with open("/proc/meminfo") as file:
            total = int(next(line for line in file if line.startswith("MemTotal:")).split()[1])
        self.assertLess(0, int(values["host", "FreePhysicalMemory"]))
        self.assertLess(int(values["host", "FreePhysicalMemory"]), total)
        self.assertLess(abs(time.time() - int(values["host", "Time"])), 60)
        return values

    def read_disk(self):
        """The document on the disk of metrics; None while it is written."""
        text = self.await_guest("main", f"echo 3 >/proc/sys/vm/drop_caches; base64 {self.device_of('metrics')}")
        disk = base64.b64decode(text)
        self.assertEqual(len(disk), METRICS_BYTES)
        signature, written, checksum, length = struct.unpack(">4sIII", disk[:16])
        self.assertEqual(signature, b"mvbd")
        document = disk[16:16 + length]
        return document.decode() if not written and sum(document) == checksum else None

    def test_metrics_through_a_port(self):
        self.until_phase("main", "Running")
        answer = self.await_guest("main", ASK % "GET /metrics/XML", lambda text: text.startswith("<metrics>"))
        self.check_metrics(answer)
        self.assertEqual(self.in_guest("main", ASK % "GET /etc/passwd"), "INVALID REQUEST")
        # A guest may send what it likes, and is served again.
        self.in_guest("main", ASK.replace("exec 3<>$port", "exec 3<>$port; head -c 20000 /dev/zero | tr '\\0' x >&3 & sleep 1; kill $!; exit"))
        self.await_guest("main", f"timeout 5 sh -c '{ASK % 'GET /metrics/XML'}'", lambda text: "</metrics>" in text)

    def test_metrics_on_a_disk(self):
        self.until_phase("main", "Running")
        first = self.check_metrics(self.until("metrics are there", lambda: [one for one in [self.read_disk()] if one and "HostName" in one])[0])
        self.until("they are written anew", lambda: [one for one in [self.read_disk()] if one and self.values(one)["host", "Time"] > first["host", "Time"]])
        self.assertNotEqual(self.in_guest("main", f"echo x >{self.device_of('metrics')} && echo written"), "written", "it is read-only")

    # --- vsock

    def test_vsock(self):
        self.vmi("vsock", autoattachVSOCK=True)
        path = f"{ACTIONS}/virtualmachineinstances/vsock/vsock?port=1000&tls=false"
        node = self.get("/api/v1/nodes")["items"][0]
        if "devices.kubevirt.io/vhost-vsock" not in node["status"]["allocatable"]:
            # The host has no vsock: the VMI says so, and the Node says why.
            said = self.until("it says so", lambda: self.unscheduled("vsock"))
            self.assertIn("devices.kubevirt.io/vhost-vsock", said)
            self.assertIn("/dev/vhost-vsock", node["metadata"]["annotations"]["node.virtgate.io/no-vsock"])
            code, answer = self.ask("GET", path)
            self.assertEqual(code, 400, answer)
            return
        self.until_phase("vsock", "Running")
        self.assertGreaterEqual(self.get(f"{VMIS}/vsock")["status"]["VSOCKCID"], 3)
        with self.assertRaises(streams.Refused) as refused:
            asyncio.run(streams.Client.open(self.world(), path))
        self.assertIn("vsock port 1000 of the guest", refused.exception.body)

    def unscheduled(self, name):
        conditions = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("conditions", [])
        return next((one["message"] for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"), None)

    # --- backups

    def test_a_backup_says_why_it_waits(self):
        """Changed blocks are not tracked by this libvirt: the guest runs without, and a backup tells what to do."""
        self.until_phase("main", "Running")
        self.assertEqual(self.get(f"{VMIS}/main")["status"]["changedBlockTracking"]["state"], "Initializing")
        self.good("POST", BACKUPS, {"apiVersion": "backup.kubevirt.io/v1alpha1", "kind": "VirtualMachineBackup", "metadata": {"name": "one"}, "spec": {
            "mode": "Push", "pvcName": "target", "source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "main"}}})
        said = self.until("it says so", lambda: self.get(f"{BACKUPS}/one").get("status", {}).get("conditions"))[0]
        self.assertEqual((said["type"], said["status"], said["reason"]), ("Progressing", "True", "Initializing"))
        self.assertIn("not tracked (state: Initializing)", said["message"])
        self.assertIn("VirtualMachineSnapshot", said["message"])
        self.good("DELETE", f"{BACKUPS}/one")
        self.until("it can be deleted", lambda: not self.get(f"{BACKUPS}/one"))

    # --- shared folders

    def test_a_shared_folder_that_cannot_be_given(self):
        self.create(f"{CORE}/configmaps", "ConfigMap", "shared", data={"key": "value"})
        self.vmi("shared", ("shared", None, {"configMap": {"name": "shared"}}), filesystems=[{"name": "shared", "virtiofs": {}}])
        said = self.until("it says so", lambda: self.not_synchronized("shared"))
        self.assertIn("virtiofsd", said)
        self.assertIn('"shared"', said)
        self.assertIn("virtiofsd", self.events("shared")["SyncFailed"])
        self.assertIn("virtiofsd", self.get("/api/v1/nodes")["items"][0]["metadata"]["annotations"]["node.virtgate.io/no-virtiofs"])
        self.ask("DELETE", f"{VMIS}/shared")
        self.until("it can be deleted all the same", lambda: not self.get(f"{VMIS}/shared"))

    def not_synchronized(self, name):
        conditions = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("conditions", [])
        return next((one["message"] for one in conditions if one["type"] == "Synchronized" and one["status"] == "False"), None)


if __name__ == "__main__":
    unittest.main(verbosity=2)
