#!/usr/bin/env python3
"""Container disks from a registry of the test's own: whose they are, and who waits for whom.

skopeo asks a registry without TLS only where the host says so, in a folder of root's: without root, libvirt, QEMU or the guest's image it is skipped.
"""
import base64
import hashlib
import http.server
import importlib
import io
import json
import os
import subprocess
import tarfile
import threading
import time
import unittest

from support import node
from support import serve as e2e
from support.node import VMIS

archive = importlib.import_module("image_commands_test").archive
SETTINGS = "/etc/containers/registries.conf.d"
ACCOUNT = "user:right"
DISK = bytes(1 << 20)
GREEDY = "/apis/kubevirt.io/v1/namespaces/greedy/virtualmachineinstances"
# A disk that QEMU, were it not told that it is raw, takes for a list of other files.
LIST = b'# x\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType="monolithicFlat"\nRW 2048 FLAT "/no/such/file" 0\n'


class Registry(http.server.ThreadingHTTPServer):
    """NAME:TAG of every name. Those that begin with "private" are for one account, layers of those that begin with "slow" do not end."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.held, self.layers, self.open = threading.Lock(), 0, 0, True
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            entry = tarfile.TarInfo("disk/disk.img")
            entry.size = len(DISK)
            tar.addfile(entry, io.BytesIO(DISK))
        self.blobs, kind = {}, "application/vnd.oci.image."

        def blob(content, what):
            digest = "sha256:" + hashlib.sha256(content).hexdigest()
            self.blobs[digest] = content
            return {"mediaType": kind + what, "digest": digest, "size": len(content)}
        layer = blob(out.getvalue(), "layer.v1.tar")
        self.layer = layer["digest"]
        config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [self.layer]}}
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": kind + "manifest.v1+json", "config": blob(json.dumps(config).encode(), "config.v1+json"),
                                    "layers": [layer]}).encode()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A pull that was ended."""

    def reference(self, name):
        return f"127.0.0.1:{self.server_port}/{name}:1"

    def end(self):
        self.open = False
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        words = self.path.split("/")  # "", v2, NAME, manifests or blobs, VERSION
        is_known = self.headers.get("Authorization") == "Basic " + base64.b64encode(ACCOUNT.encode()).decode()
        if not is_known and (len(words) < 5 or words[2].startswith("private")):  # /v2/ tells how to show an account
            return self.answer(401, WWW_Authenticate='Basic realm="r"')
        if len(words) < 5:
            return self.answer(200)
        if words[3] == "manifests":
            return self.answer(200, self.server.manifest, Content_Type="application/vnd.oci.image.manifest.v1+json")
        content = self.server.blobs[words[4]]
        if words[4] != self.server.layer:
            return self.answer(200, content)
        with self.server.lock:
            self.server.layers += 1
        if words[2].startswith("slow"):
            return self.trickle(content)
        return self.answer(200, content)

    do_HEAD = do_GET

    def trickle(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with self.server.lock:
            self.server.held += 1
        try:
            for at in range(len(content) - 1):
                if not self.server.open:
                    break
                self.wfile.write(content[at:at + 1])
                time.sleep(0.1)
        except OSError:
            pass
        finally:
            self.close_connection = True
            with self.server.lock:
                self.server.held -= 1


def pulls(state):
    """Processes that pull for this server."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                is_skopeo = os.path.basename(file.read().split(b"\0")[0]) == b"skopeo"
            if is_skopeo and os.readlink(f"/proc/{name}/cwd").startswith(state):
                found.append(int(name))
        except OSError:
            continue
    return found


class Images(node.Node):
    @classmethod
    def setUpClass(cls):
        if not os.access(SETTINGS, os.W_OK):
            raise unittest.SkipTest(f"{SETTINGS} cannot be written: nobody may pull from a registry without TLS")
        cls.registry = Registry()
        cls.addClassCleanup(cls.registry.end)
        settings = os.path.join(SETTINGS, f"virtgate-test-{cls.registry.server_port}.conf")
        with open(settings, "w") as file:
            file.write(f'[[registry]]\nlocation = "127.0.0.1:{cls.registry.server_port}"\ninsecure = true\n')
        cls.addClassCleanup(os.remove, settings)
        super().setUpClass()

    def vmi(self, name, image, memory="32Mi", **disk):
        return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name}, "spec": {
            "domain": {"memory": {"guest": memory}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}}, "terminationGracePeriodSeconds": 0,
            "volumes": [{"name": "root", "containerDisk": {"image": image, **disk}}]}}

    def synchronized(self, path):
        conditions = (self.get(path) or {}).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "Synchronized"), {"reason": "", "message": ""})

    def end_vmi(self, name):
        self.good("DELETE", f"{VMIS}/{name}")
        self.until(f"{name} is gone", lambda: self.get(f"{VMIS}/{name}") is None)

    def test_a_private_image_is_for_those_with_its_secret(self):
        auth = {"auths": {f"127.0.0.1:{self.registry.server_port}": {"auth": base64.b64encode(ACCOUNT.encode()).decode()}}}
        self.good("POST", "/api/v1/namespaces/default/secrets", {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(json.dumps(auth).encode()).decode()}})
        image = self.registry.reference("private")
        self.good("POST", VMIS, self.vmi("owner", image, imagePullSecret="pull"))
        self.until_phase("owner", "Running")
        layers = self.registry.layers
        for name, policy in (("thief", "IfNotPresent"), ("hidden", "Never")):
            self.good("POST", VMIS, self.vmi(name, image, imagePullPolicy=policy))
            self.until(f"{name} is refused or runs", lambda: self.synchronized(f"{VMIS}/{name}")["reason"] in ("ErrImagePull", "ImagePullBackOff") or self.phase(name) == "Running")
            self.assertNotEqual(self.phase(name), "Running", "an image of others was used without their secret")
            self.assertIn(image, self.synchronized(f"{VMIS}/{name}")["message"])
        self.good("POST", VMIS, self.vmi("second", image, imagePullSecret="pull", imagePullPolicy="Never"))
        self.until_phase("second", "Running")
        self.assertEqual(self.registry.layers, layers, "what is here is not fetched again")
        for name in ("owner", "thief", "hidden", "second"):
            self.end_vmi(name)

    def test_a_disk_is_what_it_is_and_not_what_it_looks_like(self):
        path = os.path.join(self.folder, "list.tar")
        archive(path, {"disk/disk.img": LIST.ljust(1 << 20, b"\n")})
        os.chmod(path, 0o644)
        subprocess.run(node.as_server([e2e.BINARY, "image", "load", "--state", self.state, path, "virtgate.local/list:1"]), check=True, capture_output=True)
        self.good("POST", VMIS, self.vmi("list", "virtgate.local/list:1"))
        self.until("it runs, or says why not", lambda: self.phase("list") == "Running" or self.synchronized(f"{VMIS}/list")["message"])
        self.assertNotIn("/no/such/file", self.synchronized(f"{VMIS}/list")["message"])
        self.until_phase("list", "Running")
        self.end_vmi("list")

    def test_slow_pulls_of_one_namespace_keep_nobody_waiting(self):
        self.good("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "greedy"}})
        names = [f"slow{number}" for number in range(10)]
        for name in names:
            self.good("POST", GREEDY, self.vmi(name, self.registry.reference(name)))
        self.until("slow pulls", lambda: self.registry.held >= 4)
        self.good("POST", VMIS, self.vmi("here", node.IMAGE, memory="128Mi"))  # in the store
        self.until_phase("here", "Running", 60)
        said = [self.until("what it waits for", lambda: self.synchronized(f"{GREEDY}/{name}")["reason"]) for name in names]
        self.assertEqual(set(said), {"ImagePulling", "ImagePullQueued"})
        print(self.synchronized(f"{GREEDY}/{names[-1]}")["message"])
        self.good("POST", VMIS, self.vmi("other", self.registry.reference("quick")))  # all places are in use
        self.until_phase("other", "Running", 60)
        for name in names:
            self.good("DELETE", f"{GREEDY}/{name}")
        self.until("pulls that nobody waits for end", lambda: not pulls(self.state) and self.registry.held == 0, 60)
        for name in ("here", "other"):
            self.end_vmi(name)

    def test_a_pull_that_hardly_moves_is_given_up(self):
        self.good("POST", VMIS, self.vmi("crawling", self.registry.reference("slow-one")))
        self.until("it says what it waits for", lambda: self.synchronized(f"{VMIS}/crawling")["reason"] == "ImagePulling")
        self.until("the pull ended", lambda: "too slow" in self.synchronized(f"{VMIS}/crawling")["message"])
        self.assertIn(self.synchronized(f"{VMIS}/crawling")["reason"], ("ErrImagePull", "ImagePullBackOff"))
        self.end_vmi("crawling")


if __name__ == "__main__":
    unittest.main(verbosity=2)
