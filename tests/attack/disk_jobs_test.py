#!/usr/bin/env python3
"""Disk jobs that are large, slow, or of archives with holes: each ends, and none keeps those of others waiting.

VIRTGATE_BINARY names the program. Without qemu-img and curl there is nothing to try.
"""
import contextlib
import gzip
import io
import os
import ssl
import subprocess
import sys
import tarfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from disk_harness import DEADLINE_S, MIB, DiskAttack, Web, children, volumes  # noqa: E402
from harness import openssl, read  # noqa: E402

TOO_SLOW_S = 60  # download_window of src/base/disk_limits.h
BUNDLE_BYTES = 200_000


class DiskJobs(DiskAttack):
    def test_a_large_bundle_of_certificates(self):
        """Each would have held a slot for ever; five of them are more than there were."""
        key, certificate = (os.path.join(self.folder, name) for name in ("key", "crt"))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=web",
                "-addext", "subjectAltName=IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        url = self.web(context)
        pem = read(certificate)
        bundle = pem * (BUNDLE_BYTES // len(pem) + 1)
        for ns in ("a", "b", "c"):
            self.namespace(ns)
            self.must("POST", f"/api/v1/namespaces/{ns}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ca"}, "data": {"ca.pem": bundle}})
        for number in range(6):
            self.volume("abc"[number % 3], f"v{number}", {"http": {"url": url + "image", "certConfigMap": "ca"}})
        for number in range(6):
            self.succeeded("abc"[number % 3], f"v{number}")
            self.assertEqual(self.image("abc"[number % 3], f"v{number}")[:MIB], self.raw_image)
        self.volume("a", "plain", {"http": {"url": self.url + "image"}})
        self.succeeded("a", "plain")

    def test_slow_servers_of_two_namespaces_stop_nobody(self):
        for ns in ("slow1", "slow2", "other"):
            self.namespace(ns)
        for number in range(4):
            for ns in ("slow1", "slow2"):
                self.volume(ns, f"v{number}", {"http": {"url": f"{self.url}slow/image?{ns}-{number}"}})
        self.until("two downloads of each", lambda: len(Web.slow) == 4)
        began = time.monotonic()
        self.volume("other", "imported", {"http": {"url": self.url + "image"}})
        self.succeeded("other", "imported")
        waits = self.until("why the others wait", lambda: next((
            c["message"] for item in self.call("GET", volumes("slow1"))[1]["items"] for c in item.get("status", {}).get("conditions", [])
            if c["type"] == "Running" and "waiting for" in c.get("message", "")), None))
        self.assertIn("slots of this host for downloads", waits)
        self.volume("other", "clone", {"pvc": {"namespace": "other", "name": "imported"}})
        self.succeeded("other", "clone")
        self.assertEqual(self.image("other", "clone")[:MIB], self.raw_image)
        # Even for those who have slow servers.
        self.volume("slow1", "clone", {"pvc": {"namespace": "other", "name": "imported"}})
        self.succeeded("slow1", "clone")
        # With its claim a download ends.
        running = next(path for path in Web.slow if "slow1" in path).split("-")[-1]
        self.must("DELETE", f"{volumes('slow1')}/v{running}")
        self.until("the end of its connection", lambda: not any(path.endswith(f"slow1-{running}") for path in Web.slow))
        # Too slow is no progress: the next one has the slot.
        left = TOO_SLOW_S - (time.monotonic() - began) + DEADLINE_S
        self.until("the refusal of a slow server", lambda: any(
            "is too slow" in self.running("slow2", f"v{number}").get("message", "") for number in range(4)), left)
        self.until("the next one", lambda: len([path for path in Web.slow if "slow2" in path]) >= 1)

    def test_archives_with_holes_come_through(self):
        folder = os.path.join(self.folder, "in")
        os.mkdir(folder)
        with open(f"{folder}/sparse", "wb") as file:
            file.write(b"begin")
            file.seek(3 * MIB)
            file.write(b"middle")
            file.truncate(6 * MIB)
        with open(f"{folder}/sparse", "rb") as file:
            whole = file.read()
        self.namespace("a")
        for name, options in (("gnu", ["--format=gnu"]), ("pax", ["--format=posix"])):
            with self.subTest(name):
                packed = subprocess.run(["tar", "-C", folder, "-S", *options, "-c", "."], check=True, capture_output=True).stdout
                self.assertLess(len(packed), MIB, "tar has found no holes")
                Web.files[name] = gzip.compress(packed)
                self.volume("a", name, {"http": {"url": self.url + name}}, contentType="archive")
                self.succeeded("a", name)
                with open(os.path.join(self.state, "disks", "a", name, "data", "sparse"), "rb") as file:
                    self.assertTrue(file.read() == whole, "another content")
        self.must("POST", "/api/v1/namespaces/a/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "stringData": {"token": "a-long-secret"}})
        exports = "/apis/export.kubevirt.io/v1/namespaces/a/virtualmachineexports"
        self.must("POST", exports, {"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "e"}, "spec": {
            "tokenSecretRef": "t", "source": {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "pax"}}})
        self.until("the export", lambda: self.call("GET", f"{exports}/e")[1].get("status", {}).get("phase") == "Ready")
        code, _, sent = self.one.ask_bytes("GET", "/api/export.kubevirt.io/v1/namespaces/a/virtualmachineexports/e/volumes/pax/disk.tar.gz",
                                           headers={"x-kubevirt-export-token": "a-long-secret"})
        self.assertEqual(code, 200)
        self.assertLess(len(gzip.decompress(sent)), MIB, "holes are not sent")
        with tarfile.open(fileobj=io.BytesIO(sent)) as archive:
            entry = archive.getmember("sparse")
            self.assertTrue(entry.issparse())
            self.assertTrue(archive.extractfile(entry).read() == whole)
    def test_a_map_of_holes_that_would_fill_memory_is_refused(self):
        """What a file says of its holes is kept in memory while it is read: 18 million of them are a gigabyte there, and 350 KB on the wire."""
        count = 18_000_000

        def record(key, value):
            text = f" {key}={value}\n"
            length = len(text) + len(str(len(text) + 2))
            return f"{length}{text}".encode()

        def entry(name, kind, data):
            head = tarfile.TarInfo(name)
            head.size, head.type = len(data), kind
            return head.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)
        about = b"".join(record(f"GNU.sparse.{key}", value) for key, value in (("major", 1), ("minor", 0), ("name", "f"), ("realsize", MIB)))
        holes = f"{count}\n".encode() + b"1\n0\n" * count
        Web.files["bomb"] = gzip.compress(entry("x", tarfile.XHDTYPE, about) + entry("f", tarfile.REGTYPE, holes) + bytes(1024), 1)
        self.namespace("a")
        self.volume("a", "bomb", {"http": {"url": self.url + "bomb"}}, size="64Mi", contentType="archive")
        peak_kib = [0]

        def refused():
            for pid in children(self.worker()):
                with contextlib.suppress(OSError, StopIteration):
                    peak_kib.append(next(int(line.split()[1]) for line in read(f"/proc/{pid}/status").splitlines() if line.startswith("VmHWM")))
            return "the archive cannot be read: Out of memory" in self.running("a", "bomb").get("message", "")
        self.until("the refusal", refused)
        self.assertLess(max(peak_kib), 400 * 1024)
        self.volume("a", "next", {"http": {"url": self.url + "image"}})
        self.succeeded("a", "next")


if __name__ == "__main__":
    unittest.main(verbosity=2)
