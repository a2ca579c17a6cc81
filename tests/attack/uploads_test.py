#!/usr/bin/env python3
"""Uploads and copies: slow, endless and broken ones, tokens in the wrong place, and statuses that users write themselves.

VIRTGATE_LONG=1 has a thousand slow uploads at once instead of fifty. VIRTGATE_BINARY names the program.
"""
import json
import os
import shutil
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LONG, Attack, Scratch  # noqa: E402

COUNT = 1000 if LONG else 50
DEADLINE_S = 60
PATIENCE_S = 5  # others are served "at once": what a busy machine needs
MIB = 1 << 20
UPLOADERS = [{"apiGroups": ["cdi.kubevirt.io"], "resources": ["datavolumes", "datasources"], "verbs": ["*"]},
             {"apiGroups": ["upload.cdi.kubevirt.io"], "resources": ["uploadtokenrequests"], "verbs": ["create"]}]
UPLOAD, ASYNC = "/v1beta1/upload", "/v1beta1/upload-async"


def volumes(ns):
    return f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{ns}/datavolumes"


def sources(ns):
    return f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{ns}/datasources"


class Uploading(Attack):
    def setUp(self):
        Scratch.setUp(self)
        self.one = self.server(role=("--node", "simulated")).start()
        self.tokens = {}
        for ns in ("mine", "yours"):
            self.namespace(ns)
            self.tokens[ns] = self.user(ns, "user", UPLOADERS)

    def volume(self, ns, name, source=None, size="1Mi", **more):
        spec = {"storage": {"resources": {"requests": {"storage": size}}}, **more}
        if source is not None:
            spec["source"] = source
        return self.call("POST", volumes(ns), {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name}, "spec": spec},
                         self.tokens[ns])

    def targets(self, ns, count):
        names = [f"u{number}" for number in range(count)]
        for name in names:
            self.assertEqual(self.volume(ns, name, {"upload": {}})[0], 201)

        def ready():
            items = self.call("GET", volumes(ns))[1]["items"]
            return sum(item.get("status", {}).get("phase") == "UploadReady" for item in items) >= count
        self.until("ready for uploads", ready)
        return names

    def token(self, ns, claim, who=None):
        return self.call("POST", f"/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/{ns}/uploadtokenrequests", {"spec": {"pvcName": claim}},
                         self.tokens[who or ns])

    def good_token(self, ns, claim):
        code, answer = self.token(ns, claim)
        self.assertEqual(code, 200, answer)
        return answer["status"]["token"]

    def send(self, token, body, path=UPLOAD, headers=None):
        return self.one.ask("POST", path, body=body, headers={"Authorization": f"Bearer {token}", **(headers or {})})[0]

    def begin(self, token, length=MIB, path=ASYNC):
        """An upload of which one byte has come."""
        stream = self.raw()
        stream.sendall((f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n" "x").encode())
        return stream


class SlowUploads(Uploading):
    def test_they_cost_little_and_end(self):
        names = self.targets("mine", COUNT)
        other, = self.targets("yours", 1)
        before = self.one.resident_mib()
        began = time.monotonic()
        streams = [self.begin(self.good_token("mine", name)) for name in names]
        self.addCleanup(lambda: [stream.close() for stream in streams])
        self.assertEqual(self.call("GET", volumes("yours"), token=self.tokens["yours"])[0], 200)
        took = time.monotonic()
        self.assertEqual(self.send(self.good_token("yours", other), os.urandom(MIB)), 200)
        self.assertLess(time.monotonic() - took, PATIENCE_S * self.slowness().waiting())
        self.assertLess(self.one.resident_mib() - before, 20 + 0.05 * COUNT)
        # A byte now and then does not help: a pace has to be kept.
        alive = streams[0]
        alive.settimeout(1)
        answer = b""
        while not answer:
            self.assertLess(time.monotonic() - began, DEADLINE_S)
            try:
                alive.sendall(b"x")
                answer = alive.recv(1000)
            except TimeoutError:
                pass
        self.assertIn(b"408", answer.split(b"\r\n")[0])
        for stream in streams[1:]:
            stream.settimeout(DEADLINE_S)
            self.assertIn(b"408", stream.recv(1000).split(b"\r\n")[0])
        # Their claims are free for the next attempt.
        self.assertEqual(self.send(self.good_token("mine", names[0]), os.urandom(MIB)), 200)

    def test_claims_that_are_never_ready_hold_nobody_up(self):
        """Whoever waits for a claim has no seat meanwhile."""
        self.assertEqual(self.volume("mine", "never", {"upload": {}}, size="900Ti")[0], 201)
        self.until("the claim", lambda: self.call("GET", "/api/v1/namespaces/mine/persistentvolumeclaims/never")[0] == 200)
        token = self.good_token("mine", "never")
        streams = [self.begin(token) for _ in range(COUNT)]
        self.addCleanup(lambda: [stream.close() for stream in streams])
        other, = self.targets("yours", 1)
        took = time.monotonic()
        self.assertEqual(self.send(self.good_token("yours", other), os.urandom(MIB)), 200)
        self.assertLess(time.monotonic() - took, PATIENCE_S * self.slowness().waiting())


class Tokens(Uploading):
    def test_are_for_one_claim_of_one_namespace(self):
        mine, = self.targets("mine", 1)
        yours, = self.targets("yours", 1)
        self.assertEqual(self.token("yours", yours, who="mine")[0], 403)
        token = self.good_token("mine", mine)
        text, signature = token.split(".")
        for wrong in ("", ".", text, f"{text}.", f".{signature}", f"{text[:-2]}AA.{signature}", f"{text}.{signature[:-2]}AA", token * 200,
                      self.one.token(), self.tokens["mine"]):
            self.assertIn(self.send(wrong, os.urandom(MIB)), (400, 401), wrong[:50])
        for name in ("../yours/u0", "yours/u0", "u0/9999999999", "", "A", "x" * 300):
            self.assertEqual(self.token("mine", name)[0], 400, name)
        self.assertEqual(self.send(token, os.urandom(MIB)), 200)
        # Used up: 409 by what the disk's record says, 503 once the claim says so too (UPL-28, UPL-23).
        self.assertIn(self.send(token, os.urandom(MIB)), (409, 503))
        self.until("the claim tells that it is filled",
                   lambda: self.call("GET", f"{volumes('mine')}/{mine}")[1]["status"]["phase"] == "Succeeded")
        self.assertEqual(self.send(token, os.urandom(MIB)), 503)
        self.assertEqual(self.call("GET", f"{volumes('yours')}/{yours}")[1]["status"]["phase"], "UploadReady")
        # Another claim of the name is another target, and one that is none stays as it is.
        self.assertEqual(self.volume("mine", "blank", {"blank": {}})[0], 201)
        self.assertEqual(self.send(self.good_token("mine", "blank"), os.urandom(MIB)), 503)


class Bodies(Uploading):
    def test_too_large_and_broken_ones(self):
        name, = self.targets("mine", 1)
        folder = os.path.join(self.state, "disks", "mine", name)
        token = self.good_token("mine", name)
        # It says that it will be too large: not a byte of it is wanted.
        for length in (1 << 40, (1 << 63) - 1):
            stream = self.begin(token, length, UPLOAD)
            self.assertIn(b"400", stream.recv(1000).split(b"\r\n")[0])
            stream.close()
        # It does not say so.
        stream = self.raw()
        stream.sendall(f"POST {UPLOAD} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"%x\r\n%s\r\n" % (MIB, bytes(MIB))
        sent = 0
        try:
            while sent < 200:
                stream.sendall(piece)
                sent += 1
        except OSError:
            pass
        self.assertLess(sent, 150)
        stream.close()
        head = {"qcow2": b"QFI\xfb", "vmdk": b"KDMV", "vhdx": b"vhdxfile", "gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd"}
        for kind, magic in head.items():
            for path in (UPLOAD, ASYNC):
                code = self.send(self.good_token("mine", name), magic + os.urandom(100_000), path)
                self.assertIn(code, (200, 400) if path == ASYNC else (400,), kind)
                self.until("the end of the conversion", lambda: not [one for one in os.listdir(folder) if one.startswith(".part")])
                self.assertNotIn("disk.img", os.listdir(folder))
        for body, headers in ((b"--x\r\n" + bytes(100_000), {"Content-Type": "multipart/form-data; boundary=x"}), (b"--x--", {}),
                              (b"", {"Content-Type": "multipart/form-data; boundary=" + "x" * 5000})):
            self.assertEqual(self.send(token, body, "/v1beta1/upload-form", headers), 400)
        self.until("ready again", lambda: self.call("GET", f"{volumes('mine')}/{name}")[1]["status"]["phase"] == "UploadReady")
        self.assertEqual(self.send(self.good_token("mine", name), os.urandom(MIB)), 200)


class Statuses(Uploading):
    def test_a_data_source_says_nothing_of_others_claims(self):
        """A status that a user wrote does not lead into another namespace."""
        self.assertEqual(self.volume("yours", "secret", {"blank": {}})[0], 201)
        self.until("the claim", lambda: self.call("GET", f"{volumes('yours')}/secret")[1].get("status", {}).get("phase") == "Succeeded")
        theirs = {"pvc": {"namespace": "yours", "name": "secret"}}
        for name, spec, status in (("direct", {"source": theirs}, {}), ("indirect", {"source": {"dataSource": {"name": "direct", "namespace": "mine"}}}, {"source": theirs}),
                                   ("written", {"source": {"dataSource": {"name": "missing", "namespace": "mine"}}}, {"source": theirs})):
            code, answer = self.call("POST", sources("mine"), {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {"name": name},
                                                              "spec": spec, "status": status}, self.tokens["mine"])
            self.assertEqual(code, 201, answer)
            code, answer = self.volume("mine", f"from-{name}", sourceRef={"kind": "DataSource", "name": name, "namespace": "mine"})
            # Without a source there is nothing to ask about, and nothing to copy. The last of them is the one that may be there.
            self.assertIn(code, (201, 422) if name == "written" else (422,), json.dumps(answer))
        written_is_there = code == 201
        # One that was good when it was asked about, and leads elsewhere afterwards.
        self.assertEqual(self.volume("mine", "own", {"blank": {}})[0], 201)
        good = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {"name": "turns"},
                "spec": {"source": {"pvc": {"namespace": "mine", "name": "own2"}}}}
        self.assertEqual(self.call("POST", sources("mine"), good, self.tokens["mine"])[0], 201)
        code, answer = self.volume("mine", "late", sourceRef={"kind": "DataSource", "name": "turns", "namespace": "mine"})
        self.assertEqual(code, 201, answer)
        code, answer = self.call("PATCH", f"{sources('mine')}/turns", {"spec": {"source": theirs}}, self.tokens["mine"],
                                 {"Content-Type": "application/merge-patch+json"})
        self.assertEqual(code, 200, answer)
        time.sleep(2)  # nothing may happen
        for name in ("late", "from-written"):
            code, answer = self.call("GET", f"{volumes('mine')}/{name}")
            self.assertEqual(code, 200 if name == "late" or written_is_there else 404, answer)
            if code == 200:
                self.assertNotEqual(answer.get("status", {}).get("phase"), "Succeeded")
            self.assertFalse(os.path.exists(os.path.join(self.state, "disks", "mine", name, "disk.img")))


if __name__ == "__main__":
    if not shutil.which("qemu-img"):
        print("qemu-img is needed")
    else:
        unittest.main(verbosity=2)
