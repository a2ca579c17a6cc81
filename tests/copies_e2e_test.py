#!/usr/bin/env python3
"""Snapshots, restores, clones and exports of `virtgate serve --node external`, with kubectl and curl.

VIRTGATE_BINARY names the program; VIRTGATE_VIRTCTL a virtctl, whose vmexport is tried where there is one. The test plays the guest: it
writes into the image of a claim while the VM is stopped. Every wait is for an event, with a deadline.
"""
import base64
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest

from support import serve as e2e

DEADLINE_S = 60
MIB = 1 << 20
CORE = "/api/v1/namespaces/default"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
SNAPSHOTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshots"
CONTENTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshotcontents"
RESTORES = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinerestores"
CLONES = "/apis/clone.kubevirt.io/v1beta1/namespaces/default/virtualmachineclones"
EXPORTS = "/apis/export.kubevirt.io/v1/namespaces/default/virtualmachineexports"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
OF_VM = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine"}
OF_SNAPSHOT = {"apiGroup": "snapshot.kubevirt.io", "kind": "VirtualMachineSnapshot"}


@unittest.skipUnless(shutil.which("kubectl") and shutil.which("curl"), "kubectl and curl are needed")
class Copies(e2e.Scratch):
    def setUp(self):
        super().setUp()
        self.one = e2e.Server(self.state, role=("--node", "external")).start()
        self.addCleanup(self.one.clean_up)

    def ask(self, method, path, body=None, kind="application/json"):
        headers = self.one.as_admin(**{"Content-Type": kind, "Accept": "application/json"})
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body), headers=headers)
        return code, json.loads(text) if text else None

    def good(self, answer):
        self.assertIn(answer[0], (200, 201, 202), answer[1])
        return answer[1]

    def until_status(self, path, holds):
        seen = {}

        def look():
            seen["last"] = self.ask("GET", path)[1]
            return seen["last"] if holds(seen["last"].get("status") or {}) else None
        try:
            return self.until(path, look)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(seen['last'])}") from error

    def kubectl(self, *arguments):
        answer = subprocess.run(["kubectl", "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), *arguments],
                                capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stdout

    def make(self, path, version, kind, name, spec):
        return self.good(self.ask("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}))

    def disk(self, claim):
        return os.path.join(self.state, "disks", "default", claim, "disk.img")

    def write(self, claim, data):
        with open(self.disk(claim), "r+b") as file:
            file.write(data)

    def begin(self, claim, count):
        with open(self.disk(claim), "rb") as file:
            return file.read(count)

    def stopped_vm(self, with_template=False):
        """A VM with one disk of 4 MiB in class local, on which `before` was written."""
        storage = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "4Mi"}}}
        volume = {"source": {"blank": {}}, "storage": storage}
        if not with_template:
            self.make(VOLUMES, "cdi.kubevirt.io/v1beta1", "DataVolume", "root", volume)
        templates = {"dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": volume}]} if with_template else {}
        self.make(VMS, "kubevirt.io/v1", "VirtualMachine", "vm", {"runStrategy": "Halted", **templates, "template": {"spec": {
            "domain": {"memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}], "interfaces": [
                {"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:01"}]}},
            "networks": [{"name": "default", "pod": {}}], "volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}}})
        if with_template:
            immediate = {"metadata": {"annotations": {"kubevirt.io/immediate-data-volume-creation": "true"}}}
            self.good(self.ask("PATCH", f"{VMS}/vm", immediate, "application/merge-patch+json"))
        self.until_status(f"{VOLUMES}/root", lambda s: s.get("phase") == "Succeeded")
        self.write("root", b"before")

    def snapshot(self, name, **spec):
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", name, {"source": {**OF_VM, "name": "vm"}, **spec})
        return self.until_status(f"{SNAPSHOTS}/{name}", lambda s: s.get("readyToUse"))

    def claim_of(self, vm):
        volume = self.ask("GET", f"{VMS}/{vm}")[1]["spec"]["template"]["spec"]["volumes"][0]
        return volume.get("dataVolume", {}).get("name") or volume["persistentVolumeClaim"]["claimName"]

    def records(self):
        folder = os.path.join(self.state, "disks", ".records")
        return sorted(os.listdir(folder)) if os.path.exists(folder) else []

    # --- snapshot and restore

    def test_bytes_come_back(self):
        self.stopped_vm()
        self.until_status(f"{VMS}/vm", lambda s: [v["enabled"] for v in s.get("volumeSnapshotStatuses", [])] == [True])
        taken = self.snapshot("s")
        self.assertEqual(taken["status"]["phase"], "Succeeded")
        self.assertEqual(taken["status"]["snapshotVolumes"], {"includedVolumes": ["root"]})
        self.assertRegex(self.kubectl("get", "vmsnapshot", "s"), r"(?s)SOURCEKIND.*VirtualMachine +vm +Succeeded +true")
        self.until_status(f"{VMS}/vm", lambda s: "snapshotInProgress" not in s)
        self.assertEqual(len(self.records()), 1)
        self.write("root", b"after!")
        self.make(RESTORES, "snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", "r",
                  {"target": {**OF_VM, "name": "vm"}, "virtualMachineSnapshotName": "s"})
        self.kubectl("wait", "vmrestore/r", "--for=jsonpath={.status.complete}=true", "--timeout=60s")
        claim = self.claim_of("vm")
        self.assertTrue(claim.startswith("restore-"), claim)
        self.assertEqual(self.begin(claim, 6), b"before")
        self.assertEqual(os.path.getsize(self.disk(claim)), 4 * MIB)
        self.assertEqual(self.begin("root", 6), b"after!")
        vm = self.ask("GET", f"{VMS}/vm")[1]
        self.assertNotIn("restoreInProgress", vm["status"])
        self.assertEqual(vm["spec"]["runStrategy"], "Halted")
        reasons = {e["reason"] for e in self.ask("GET", f"{CORE}/events")[1]["items"]}
        self.assertLessEqual({"SuccessfulVirtualMachineSnapshotContentCreate", "SuccessfulVolumeSnapshotCreate", "VirtualMachineRestoreComplete"}, reasons)
        self.good(self.ask("DELETE", f"{SNAPSHOTS}/s"))
        self.until("the end of the snapshot", lambda: self.ask("GET", f"{SNAPSHOTS}/s")[0] == 404)
        self.until("the end of the content", lambda: not self.ask("GET", CONTENTS)[1]["items"])
        self.until("the end of the record", lambda: not self.records())
        self.assertEqual(self.begin(claim, 6), b"before")

    def test_templates_are_restored(self):
        self.stopped_vm(with_template=True)
        self.snapshot("s")
        self.write("root", b"after!")
        self.make(RESTORES, "snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", "r",
                  {"target": {**OF_VM, "name": "vm"}, "virtualMachineSnapshotName": "s"})
        done = self.until_status(f"{RESTORES}/r", lambda s: s.get("complete"))
        self.assertEqual(done["status"]["deletedDataVolumes"], ["root"])
        claim = self.claim_of("vm")
        self.assertEqual(self.begin(claim, 6), b"before")
        self.assertEqual(self.ask("GET", f"{VOLUMES}/{claim}")[1]["status"]["phase"], "Succeeded")
        self.until("the end of the old disk", lambda: not os.path.exists(self.disk("root")))

    def test_a_restart_in_the_middle(self):
        self.stopped_vm()
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "s", {"source": {**OF_VM, "name": "vm"}})
        self.one.stop(signal.SIGKILL)
        self.one.log.close()
        self.one.start()
        self.until_status(f"{SNAPSHOTS}/s", lambda s: s.get("readyToUse"))
        self.assertEqual(len(self.records()), 1)

    def test_what_cannot_be_copied_waits(self):
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "s",
                  {"source": {**OF_VM, "name": "nobody"}, "failureDeadline": "2s"})
        waiting = self.until_status(f"{SNAPSHOTS}/s", lambda s: s.get("conditions"))
        self.assertIn("Source does not exist", [c["reason"] for c in waiting["status"]["conditions"]])
        self.until_status(f"{SNAPSHOTS}/s", lambda s: s.get("phase") == "Failed")

    # --- clone

    def test_a_clone_has_its_own_disk(self):
        self.stopped_vm()
        self.until_status(f"{VMS}/vm", lambda s: [v["enabled"] for v in s.get("volumeSnapshotStatuses", [])] == [True])
        self.make(CLONES, "clone.kubevirt.io/v1beta1", "VirtualMachineClone", "c",
                  {"source": {**OF_VM, "name": "vm"}, "target": {**OF_VM, "name": "copy"}, "newMacAddresses": {"default": "02:00:00:00:00:02"}})
        self.kubectl("wait", "vmclone/c", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
        claim = self.claim_of("copy")
        self.assertEqual(self.begin(claim, 6), b"before")
        self.write(claim, b"copied")
        self.assertEqual(self.begin("root", 6), b"before")
        copy = self.ask("GET", f"{VMS}/copy")[1]
        self.assertEqual(copy["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["macAddress"].lower(), "02-00-00-00-00-02")
        self.until("the end of what was only for the clone", lambda: not self.ask("GET", SNAPSHOTS)[1]["items"] and not self.ask("GET", RESTORES)[1]["items"])
        self.until("the end of the record", lambda: not self.records())

    # --- export

    def curl(self, url, *more):
        """Status and body."""
        with tempfile.NamedTemporaryFile() as body:
            answer = subprocess.run(["curl", "-sS", "--max-time", str(DEADLINE_S), "--cacert", self.one.pki("ca.crt"), "-o", body.name, "-w", "%{http_code}",
                                     *more, url], capture_output=True, text=True)
            return int(answer.stdout or 0), body.read(), answer.returncode

    def exported(self, name, source):
        self.make(EXPORTS, "export.kubevirt.io/v1", "VirtualMachineExport", name, {"source": source})
        ready = self.until_status(f"{EXPORTS}/{name}", lambda s: s.get("phase") == "Ready")["status"]
        secret = self.ask("GET", f"{CORE}/secrets/{ready['tokenSecretRef']}")[1]
        token = base64.b64decode(secret["data"]["token"]).decode()
        self.assertRegex(token, "^[0-9A-Za-z]{20}$")
        urls = {f["format"]: f["url"] for f in ready["links"]["external"]["volumes"][0]["formats"]}
        return ready, urls, ["-H", f"x-kubevirt-export-token: {token}"]

    def test_an_export_is_downloaded(self):
        self.stopped_vm()
        content = self.begin("root", 4 * MIB)
        ready, urls, token = self.exported("e", {**OF_VM, "name": "vm"})
        self.assertEqual(ready["links"]["external"]["cert"], e2e.read(self.one.pki("ca.crt")).strip())
        self.assertEqual(self.curl(urls["raw"], *token)[:2], (200, content))
        self.assertEqual(self.curl(urls["raw"], *token, "-r", "0-5")[:2], (206, b"before"))
        self.assertEqual(self.curl(urls["raw"], *token, "-r", f"{4 * MIB}-")[0], 416)
        self.assertIn(b"4194304", subprocess.run(["curl", "-sSI", "--cacert", self.one.pki("ca.crt"), *token, urls["raw"]], capture_output=True).stdout)
        code, packed, _ = self.curl(urls["gzip"], *token)
        self.assertEqual((code, gzip.decompress(packed)), (200, content))
        self.assertEqual(self.curl(urls["gzip"], *token, "-X", "POST")[0], 400)
        for wrong in ([], ["-H", "x-kubevirt-export-token: wrong"], ["-H", "x-kubevirt-export-token;"]):
            self.assertEqual(self.curl(urls["raw"], *wrong)[:2], (401, b""))
        self.assertEqual(self.curl(urls["raw"].replace("/root/", "/other/"), *token)[0], 404)
        self.assertEqual(self.curl(urls["raw"].replace("/e/", "/f/"), *token)[:2], (401, b""), "one that is not there cannot be told from one of others")
        self.assertEqual(self.curl(urls["raw"].replace("/v1/", "/v7/"), *token)[0], 400)
        self.assertEqual(self.curl(urls["raw"].replace("/root/", "/..%2f..%2fdefault%2froot/"), *token)[0], 404)
        manifests = {m["type"]: m["url"] for m in ready["links"]["external"]["manifests"]}
        code, text, _ = self.curl(manifests["all"], *token)
        self.assertEqual([o["kind"] for o in json.loads(text)["items"]], ["ConfigMap", "VirtualMachine", "DataVolume"])
        code, text, _ = self.curl(manifests["auth-header-secret"], *token, "-H", "Accept: application/yaml")
        self.assertIn(b"header-secret-e", text)
        self.assertRegex(self.kubectl("get", "vmexport", "e"), r"VirtualMachine +vm +Ready")

    def test_an_export_is_paused_while_the_vm_runs(self):
        self.stopped_vm()
        _, urls, token = self.exported("e", {**OF_VM, "name": "vm"})
        self.good(self.ask("PATCH", f"{VMS}/vm", {"spec": {"runStrategy": "Always"}}, "application/merge-patch+json"))
        paused = self.until_status(f"{EXPORTS}/e", lambda s: s.get("phase") == "Pending")
        self.assertEqual(paused["status"]["conditions"][0]["reason"], "InUse")
        self.assertEqual(paused["status"]["links"], {})
        self.assertEqual(self.curl(urls["raw"], *token)[0], 503)

    def test_a_snapshot_and_a_claim_are_exported(self):
        self.stopped_vm()
        self.snapshot("s")
        self.write("root", b"after!")
        _, urls, token = self.exported("of-snapshot", {**OF_SNAPSHOT, "name": "s"})
        self.assertEqual(self.curl(urls["raw"], *token, "-r", "0-5")[1], b"before")
        _, urls, token = self.exported("of-claim", {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "root"})
        self.assertEqual(self.curl(urls["raw"], *token, "-r", "0-5")[1], b"after!")
        code, packed, _ = self.curl(urls["raw"].replace("disk.img", "disk.tar.gz"), *token)
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
            self.assertEqual([(m.name, m.size) for m in archive.getmembers()], [("disk.img", 4 * MIB)])
            self.assertEqual(archive.extractfile("disk.img").read(6), b"after!")
        code, page, _ = self.curl(urls["raw"].replace("disk.img", "dir"), *token)
        self.assertEqual(code, 200)
        self.assertIn(b'href="dir/disk.img"', page)

    def test_a_claim_that_nobody_wrote_to_is_exported(self):
        """What virtctl memory-dump downloads is made like that."""
        claim = {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}
        self.make(f"{CORE}/persistentvolumeclaims", "v1", "PersistentVolumeClaim", "empty", claim)
        _, urls, token = self.exported("e", {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "empty"})
        code, packed, _ = self.curl(urls["tar.gz"], *token)
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
            self.assertEqual((code, archive.getmembers()), (200, []))
        code, page, _ = self.curl(urls["dir"] + "/", *token)
        self.assertEqual((code, b"disk.img" in page), (200, False))
        for name in ("note.json", "disk.img", "..%2fnote.json"):
            self.assertEqual(self.curl(f"{urls['dir']}/{name}", *token)[0], 404)

    def test_an_export_ends(self):
        self.stopped_vm()
        self.make(EXPORTS, "export.kubevirt.io/v1", "VirtualMachineExport", "e", {"source": {**OF_VM, "name": "nobody"}, "ttlDuration": "2s"})
        self.until("the end of the export", lambda: self.ask("GET", f"{EXPORTS}/e")[0] == 404)

    @unittest.skipUnless(os.environ.get("VIRTGATE_VIRTCTL"), "no virtctl")
    def test_virtctl_downloads(self):
        self.stopped_vm()
        content = self.begin("root", 4 * MIB)
        target = os.path.join(self.folder, "disk.img")
        answer = subprocess.run([os.environ["VIRTGATE_VIRTCTL"], "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), "vmexport", "download", "e", "--vm=vm",
                                 "--format=raw", f"--output={target}", "--keep-vme"], capture_output=True, text=True, timeout=2 * DEADLINE_S)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        with open(target, "rb") as file:
            self.assertEqual(file.read(), content)


if __name__ == "__main__":
    unittest.main(verbosity=2)
