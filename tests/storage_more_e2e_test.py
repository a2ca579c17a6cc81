#!/usr/bin/env python3
"""Storage of `virtgate serve` where it is hard: crons that follow a registry, disks that become full, uploads into what is in use,
restores that are killed, downloads that are many and slow.

VIRTGATE_BINARY names the program. Every wait is for a state, with a deadline. Without qemu-img and curl there is nothing to try; a full disk
is tried where the test may mount one.
"""
import base64
import hashlib
import http.client
import http.server
import io
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tarfile
import threading
import unittest

import storage_e2e_test as base
from storage_e2e_test import CLAIMS, MARK, MIB, NAMESPACE, SOURCES, VOLUMES, Files
from support import serve as e2e

CRONS = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/dataimportcrons"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
VMIS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
SNAPSHOTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshots"
RESTORES = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinerestores"
EXPORTS = "/apis/export.kubevirt.io/v1/namespaces/default/virtualmachineexports"
MERGE = "application/merge-patch+json"
OF_VM = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"}


class Endless(Files):
    """A server that says no length and does not end; one that redirects for ever; and the files of the other test."""

    def do_GET(self):
        if self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
            return
        if self.path != "/endless":
            super().do_GET()
            return
        self.send_response(200)
        self.end_headers()
        piece = os.urandom(MIB)
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            pass
        self.close_connection = True


def layer_of(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@unittest.skipUnless(shutil.which("qemu-img") and shutil.which("curl"), "qemu-img and curl are needed")
class More(base.Storage):
    """With the helpers of the other test and none of its tests."""

    @classmethod
    def setUpClass(cls):
        cls.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
        threading.Thread(target=cls.web.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.web.server_port}/"

    def start(self, *flags):
        super().start("--node", "simulated", *flags)

    def status(self, path):
        code, found = self.ask("GET", path)
        return found.get("status") or {} if code == 200 else {}  # that of a refusal is a word

    # --- crons

    def publish(self, raw):
        """An image with this disk, as the registry's newest. Its digest."""
        layer = layer_of({"disk/image.img": raw})
        config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(layer)]}, "config": {}}).encode()
        manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                               "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": len(config)},
                               "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest(layer), "size": len(layer)}]}).encode()
        kind = "application/vnd.oci.image.manifest.v1+json"
        Files.images.update({"v2/os/manifests/newest": (kind, manifest), f"v2/os/manifests/{digest(manifest)}": (kind, manifest),
                             **{f"v2/os/blobs/{digest(data)}": ("application/octet-stream", data) for data in (config, layer)}})
        return digest(manifest)

    @unittest.skipUnless(shutil.which("skopeo"), "there is no skopeo")
    def test_a_data_source_follows_a_registry(self):
        host = f"127.0.0.1:{self.web.server_port}"
        self.good(self.ask("PATCH", "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config", {"spec": {"insecureRegistries": [host]}}, MERGE))
        template = {"source": {"registry": {"url": f"docker://{host}/os:newest"}}, "storage": {"resources": {"requests": {"storage": "8Mi"}}}}
        cron = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataImportCron", "metadata": {"name": "cron"},
                "spec": {"schedule": "0 0 1 1 *", "managedDataSource": "os", "importsToKeep": 1, "retentionPolicy": "None", "template": {"spec": template}}}
        for change, field in (({"schedule": "often"}, "spec.Schedule"), ({"importsToKeep": -1}, "spec.ImportsToKeep"),
                              ({"template": {"spec": {**template, "source": {"blank": {}}}}}, "spec.Template")):
            code, answer = self.ask("POST", CRONS, {**cron, "spec": {**cron["spec"], **change}})
            self.assertEqual((code, answer["details"]["causes"][0]["field"]), (422, field), answer)
        disks = [self.content(), self.content()]
        first = self.publish(disks[0])
        self.good(self.ask("POST", CRONS, cron))
        self.assertEqual(self.ask("PATCH", f"{CRONS}/cron", {"spec": {"schedule": ""}}, MERGE)[0], 422)

        def imported(version, raw):
            name = "os-" + version[len("sha256:"):][:12]
            self.until(f"the import of {name}", lambda: self.status(f"{CRONS}/cron").get("lastImportedPVC", {}).get("name") == name)
            self.until("the data source", lambda: (self.status(f"{SOURCES}/os").get("source") or {}).get("pvc", {}).get("name") == name)
            status = self.status(f"{CRONS}/cron")
            self.assertEqual({c["type"]: (c["status"], c["reason"]) for c in status["conditions"]},
                             {"Progressing": ("False", "NoImport"), "UpToDate": ("True", "UpToDate")})
            self.assertEqual(status["currentImports"], [{"DataVolumeName": name, "Digest": version}])
            self.assertEqual(self.image(name)[:MIB], raw)
            return name
        old = imported(first, disks[0])
        self.good(self.ask("POST", VOLUMES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "vm-root"},
                                            "spec": {"sourceRef": {"kind": "DataSource", "name": "os"}, "storage": {"resources": {"requests": {"storage": "8Mi"}}}}}))
        self.phase("vm-root", "Succeeded")
        self.assertEqual(self.image("vm-root")[:MIB], disks[0])

        second = self.publish(disks[1])
        long_ago = {"metadata": {"annotations": {MARK + "import.lastCronTime": "2020-01-01T00:00:00Z"}}}
        self.good(self.ask("PATCH", f"{CRONS}/cron", long_ago, MERGE))
        new = imported(second, disks[1])
        self.until("the end of the old import", lambda: self.ask("GET", f"{CLAIMS}/{old}")[0] == 404 and not os.path.exists(self.disk(old)))
        self.good(self.ask("DELETE", f"{CRONS}/cron"))
        for path in (f"{CRONS}/cron", f"{SOURCES}/os", f"{VOLUMES}/{new}", f"{CLAIMS}/{new}"):
            self.until(f"the end of {path}", lambda: self.ask("GET", path)[0] == 404)
        self.assertEqual(self.image("vm-root")[:MIB], disks[0])

    # --- room

    def test_servers_that_do_not_end(self):
        self.good(self.volume("endless", {"http": {"url": self.url + "endless"}}))
        self.good(self.volume("loop", {"http": {"url": self.url + "loop"}}))
        for claim, words in (("endless", "too small"), ("loop", "too often")):
            self.until(f"the refusal of {claim}", lambda: self.condition(claim, "Running").get("reason") == "Error")
            self.assertIn(words, self.condition(claim, "Running")["message"])
            self.until("no file left", lambda: os.listdir(self.disk(claim)) in (["note.json"], [".download", "note.json"], ["note.json", ".download"]))

    def mount_small_disk(self):
        """A disk of 112 MiB for the claims; 64 of them are the reserve."""
        folder = os.path.join(self.state, "disks")
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=112m", "tmpfs", folder], capture_output=True).returncode != 0:
            self.skipTest("a small disk cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], capture_output=True)

    def test_a_disk_is_never_filled(self):
        self.one.stop()
        owner = os.stat(os.path.join(self.state, "disks"))
        self.mount_small_disk()
        os.chown(os.path.join(self.state, "disks"), owner.st_uid, owner.st_gid)
        os.chmod(os.path.join(self.state, "disks"), 0o700)
        self.start()
        folder = os.path.join(self.state, "disks")
        least = [1 << 60]
        over = threading.Event()

        def watch():
            while not over.wait(0.01):
                room = os.statvfs(folder)
                least[0] = min(least[0], room.f_bavail * room.f_frsize)
        threading.Thread(target=watch, daemon=True).start()
        self.addCleanup(over.set)
        bomb = subprocess.run(["sh", "-c", "head -c 42000000 /dev/urandom | gzip -1"], capture_output=True, check=True).stdout
        Files.files["bomb.gz"] = bomb
        self.good(self.volume("endless", {"http": {"url": self.url + "endless"}}, size="40Mi"))
        self.until("the end of the download", lambda: self.condition("endless", "Running").get("reason") == "Error")
        self.assertRegex(self.condition("endless", "Running")["message"], "too small to contain image|no room")
        self.good(self.ask("DELETE", f"{VOLUMES}/endless"))
        self.until("room", lambda: not os.path.exists(self.disk("endless")))
        # The packed file fits, and what is in it fits its claim; both together do not fit the disk.
        self.good(self.volume("bomb", {"http": {"url": self.url + "bomb.gz"}}, size="42Mi"))
        self.until("the end of the unpacking", lambda: self.condition("bomb", "Running").get("reason") == "Error")
        self.assertIn("no room", self.condition("bomb", "Running")["message"])
        self.assertGreater(least[0], 8 * MIB, "the store of the server is on such a disk")
        self.assertEqual(self.one.ask("GET", "/readyz", headers=self.one.as_admin())[0], 200)

    # --- uploads

    def running_vm(self, claim):
        self.good(self.ask("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}, "spec": {
            "runStrategy": "Manual", "template": {"spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "d", "disk": {}}]}},
                                                           "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]}}}}))

    def run_vm(self, run):
        self.good(self.ask("PUT", f"/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/vm/{'start' if run else 'stop'}", {}))
        if run:
            self.until("a running VMI", lambda: self.status(f"{VMIS}/vm").get("phase") == "Running")
        else:
            self.until("the end of the VMI", lambda: self.ask("GET", f"{VMIS}/vm")[0] == 404)

    def test_nothing_is_uploaded_into_what_is_in_use(self):
        raw = self.content()
        path = os.path.join(self.state, "image")
        with open(path, "wb") as file:
            file.write(raw)
        self.good(self.ask("POST", CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                                           "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}}))
        self.running_vm("c")
        self.run_vm(True)
        mark = {"metadata": {"annotations": {MARK + "upload.target": ""}}}
        self.good(self.ask("PATCH", f"{CLAIMS}/c", mark, MERGE))
        self.until("UploadTargetInUse", lambda: "UploadTargetInUse" in self.events("c"))
        marks = lambda: self.ask("GET", f"{CLAIMS}/c")[1]["metadata"]["annotations"]
        self.assertNotEqual(marks().get(MARK + "pod.ready"), "true")
        send = ("-X", "POST", "-T", path)
        self.assertEqual(self.curl("/v1beta1/upload", self.token("c"), *send), 503)
        self.run_vm(False)
        self.until("readiness", lambda: marks().get(MARK + "pod.ready") == "true")
        # It was ready before the VM was started: that ends it.
        self.run_vm(True)
        self.until("no readiness", lambda: marks().get(MARK + "pod.ready") != "true")
        self.run_vm(False)
        self.until("readiness", lambda: marks().get(MARK + "pod.ready") == "true")
        # One that is broken off leaves nothing, and the next begins again.
        with socket.create_connection(("127.0.0.1", self.one.port)) as plain:
            context = ssl._create_unverified_context()
            with context.wrap_socket(plain) as channel:
                channel.sendall(f"POST /v1beta1/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token('c')}\r\nContent-Length: {MIB}\r\n\r\n".encode() + raw[:70000])
        self.until("the end of the broken upload", lambda: ".part-upload" not in os.listdir(self.disk("c")))
        self.until("an upload", lambda: self.curl("/v1beta1/upload", self.token("c"), *send) == 200)
        self.until("Succeeded", lambda: marks().get(MARK + "pod.phase") == "Succeeded")
        self.assertEqual(self.image("c")[:MIB], raw)

    # --- restores

    def test_a_restore_that_is_killed_goes_on(self):
        self.good(self.volume("root", {"blank": {}}))
        self.phase("root", "Succeeded")
        before, after = os.urandom(MIB), os.urandom(MIB)

        def write(data):
            with open(os.path.join(self.disk("root"), "disk.img"), "r+b") as file:
                file.write(data)
        write(before)
        self.running_vm("root")
        self.good(self.ask("POST", SNAPSHOTS, {"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": "s"}, "spec": {"source": OF_VM}}))
        self.until("the snapshot", lambda: self.status(f"{SNAPSHOTS}/s").get("readyToUse"))
        for attempt in range(3):
            write(after)
            name = f"r{attempt}"
            self.good(self.ask("POST", RESTORES, {"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineRestore", "metadata": {"name": name}, "spec": {
                "target": OF_VM, "virtualMachineSnapshotName": "s", "volumeRestorePolicy": "InPlace"}}))
            for stage in range(2):
                self.until("a first step", lambda: self.status(f"{RESTORES}/{name}").get("restores" if stage == 0 else "conditions"))
                self.one.process.send_signal(signal.SIGKILL)
                self.one.ended()
                self.start()
            self.until("the restore", lambda: self.status(f"{RESTORES}/{name}").get("complete"))
            self.assertEqual(self.image("root")[:MIB], before)
            self.assertNotIn("restoreInProgress", self.status(f"{VMS}/vm"))
        records = os.path.join(self.state, "disks", ".records")
        self.until("no staged copies", lambda: len([name for name in os.listdir(records) if not name.startswith(".part")]) == 1)

    # --- exports

    def exported(self, size="256Mi"):
        self.good(self.volume("big", {"blank": {}}, size=size))
        self.phase("big", "Succeeded")
        with open(os.path.join(self.disk("big"), "disk.img"), "r+b") as file:
            file.write(b"begin")
            file.seek(-3, os.SEEK_END)
            file.write(b"end")
        self.good(self.ask("POST", f"{NAMESPACE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "stringData": {"token": "a-long-secret"}}))
        self.good(self.ask("POST", EXPORTS, {"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "e"}, "spec": {
            "tokenSecretRef": "t", "source": {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "big"}}}))
        self.until("the export", lambda: self.status(f"{EXPORTS}/e").get("phase") == "Ready")
        return "/api/export.kubevirt.io/v1/namespaces/default/virtualmachineexports/e/volumes/big/disk.img"

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.one.port, timeout=base.DEADLINE_S, context=ssl._create_unverified_context())

    def resident(self):
        return next(int(line.split()[1]) for line in e2e.read(f"/proc/{self.one.process.pid}/status").splitlines() if line.startswith("VmRSS")) * 1024

    def test_many_downloads(self):
        path = self.exported()
        token = {"x-kubevirt-export-token": "a-long-secret"}
        before = self.resident()
        channel = self.connect()

        def get(headers, of=path):
            channel.request("GET", of, headers=headers)
            answer = channel.getresponse()
            return answer.status, answer.read()
        for headers, wanted in (({**token, "Range": "bytes=0-4"}, (206, b"begin")), ({**token, "Range": "bytes=-3"}, (206, b"end")),
                                ({**token, "Range": "bytes=268435453-"}, (206, b"end")), ({**token, "Range": "bytes=134217728-134217729"}, (206, b"\0\0"))):
            self.assertEqual(get(headers), wanted, headers)
        self.assertEqual(get({**token, "Range": "bytes=268435456-"})[0], 416)
        for wrong in ("", "a-long-secre", "a-long-secrets", "x" * 4000):
            self.assertEqual(get({"x-kubevirt-export-token": wrong})[0], 401)
        for bad in ("/../../admin.token", "/%2e%2e/note.json", "/dir/../../other/disk.img"):
            self.assertNotEqual(get(token, path.rsplit("/", 1)[0] + bad)[0], 200, bad)
        codes = set()
        for i in range(300):  # guesses
            codes.add(get({"x-kubevirt-export-token": f"guess{i}"})[0])
        self.assertLessEqual(codes, {401, 429})
        channel.close()

        # Readers that do not read: a few are served, the others hear at once that it is too much.
        held, refused = [], 0
        for _ in range(40):
            one = self.connect()
            one.request("GET", path, headers=token)
            answer = one.getresponse()
            if answer.status == 200:
                held.append((one, answer))
            else:
                self.assertIn(answer.status, (503, 429))
                refused += 1
                one.close()
        self.assertGreater(len(held), 0)
        self.assertLessEqual(len(held), 8)
        self.assertGreater(refused, 0)
        self.assertEqual(self.one.ask("GET", "/livez", headers=self.one.as_admin())[0], 200)
        self.assertLess(self.resident() - before, 64 * MIB)
        for one, _ in held:
            one.close()
        # Their places are free again, and a whole disk goes through a small server.
        channel = self.connect()
        self.until("a place", lambda: get({**token, "Range": "bytes=0-4"})[0] == 206)
        channel.request("GET", path, headers=token)
        answer, size = channel.getresponse(), 0
        while piece := answer.read(4 * MIB):
            size += len(piece)
        self.assertEqual(size, 256 * MIB)
        self.assertLess(self.resident() - before, 64 * MIB)
        channel.close()

    def test_a_download_ends_when_the_vm_starts(self):
        self.good(self.volume("big", {"blank": {}}, size="1Gi"))
        self.phase("big", "Succeeded")
        self.running_vm("big")
        self.good(self.ask("POST", EXPORTS, {"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "e"}, "spec": {"source": OF_VM}}))
        self.until("the export", lambda: self.status(f"{EXPORTS}/e").get("phase") == "Ready")
        secret = self.ask("GET", f"{NAMESPACE}/secrets/{self.status(f'{EXPORTS}/e')['tokenSecretRef']}")[1]
        token = {"x-kubevirt-export-token": base64.b64decode(secret["data"]["token"]).decode()}
        path = "/api/export.kubevirt.io/v1/namespaces/default/virtualmachineexports/e/volumes/big/disk.img"
        channel = self.connect()
        channel.request("GET", path, headers=token)
        answer = channel.getresponse()
        self.assertEqual(len(answer.read(MIB)), MIB)
        self.run_vm(True)  # a download does not hold it up
        with self.assertRaises((http.client.IncompleteRead, OSError)):
            answer.read()
        channel.close()
        self.until("Pending", lambda: self.status(f"{EXPORTS}/e").get("phase") == "Pending")
        self.assertIn("ExportPaused", self.events("e"))
        self.run_vm(False)
        self.until("Ready", lambda: self.status(f"{EXPORTS}/e").get("phase") == "Ready")


# The tests of the other file are its own.
for inherited in [name for name in dir(base.Storage) if name.startswith("test_")]:
    setattr(More, inherited, None)


if __name__ == "__main__":
    unittest.main()
