#!/usr/bin/env python3
"""Claims and DataVolumes of `virtgate serve`: imports from a web server, hostile images, clones, uploads, and what a kill leaves.

VIRTGATE_BINARY names the program; VIRTGATE_VIRTCTL a virtctl, whose image-upload is tried where there is one. Every wait is for an event,
with a deadline. Without qemu-img and curl there is nothing to try.
"""
import functools
import glob
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import unittest

from support import serve as e2e

DEADLINE_S = 60
MIB = 1 << 20
NAMESPACE = "/api/v1/namespaces/default"
CLAIMS = f"{NAMESPACE}/persistentvolumeclaims"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
SOURCES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datasources"
TOKENS = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/default/uploadtokenrequests"
MARK = "cdi.kubevirt.io/storage."


class Files(http.server.BaseHTTPRequestHandler):
    """Serves what the test puts into `files`, with ranges; `cut` breaks a transfer off after so many bytes, once each."""
    files, cuts, asked, images, gate = {}, {}, [], {}, None

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        name = self.path.lstrip("/")
        if name.startswith("v2"):
            return self.registry(name)
        Files.asked.append((name, self.headers.get("Range"), self.headers.get("Authorization"), self.headers.get("X-Token")))
        if name.startswith("to/"):
            self.send_response(302)
            self.send_header("Location", name[3:].replace("~", "/"))
            self.end_headers()
            return
        if name not in Files.files:
            self.send_error(404)
            return
        data, begin = Files.files[name], 0
        if self.headers.get("Range"):
            begin = int(self.headers["Range"].split("=")[1].split("-")[0])
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.send_header("ETag", '"%s"' % hashlib.md5(data).hexdigest())
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        end = len(data)
        if Files.cuts.get(name):
            end = min(end, begin + Files.cuts[name].pop(0))
        try:
            if Files.gate and name.startswith("slow"):
                self.wfile.write(data[begin:begin + 1000])
                self.wfile.flush()
                Files.gate.wait(DEADLINE_S)
                begin += 1000
            self.wfile.write(data[begin:end])
            self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True

    def registry(self, name):
        """As much of a container registry as one that is read from needs."""
        kind, data = Files.images.get(name, (None, b"")) if name != "v2/" else ("application/json", b"{}")
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Docker-Content-Digest", "sha256:" + hashlib.sha256(data).hexdigest())
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


# With storage, which --api-only has not.
WholeServer = functools.partial(e2e.Server, role=("--node", "none"))


def own_address():
    """One of this host's addresses beside loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = one.getsockname()[0]
    return None if address.startswith("127.") else address


def descendants(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            children = e2e.read(path).split()
        except OSError:
            continue
        for child in children:
            found += [int(child), *descendants(int(child))]
    return found


@unittest.skipUnless(shutil.which("qemu-img") and shutil.which("curl"), "qemu-img and curl are needed")
class Storage(e2e.Scratch):
    @classmethod
    def setUpClass(cls):
        cls.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=cls.web.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.web.server_port}/"

    @classmethod
    def tearDownClass(cls):
        cls.web.shutdown()
        cls.web.server_close()

    def setUp(self):
        super().setUp()
        Files.files, Files.cuts, Files.asked, Files.images, Files.gate = {}, {}, [], {}, None
        self.one = None
        self.start()

    def tearDown(self):
        if self.one.process.poll() is None:
            self.one.stop()
        super().tearDown()

    def start(self, *flags):
        self.one = WholeServer(self.state, *flags, port=self.one.port if self.one else None)
        self.addCleanup(self.one.clean_up)
        self.one.start()

    def ask(self, method, path, body=None, kind="application/json"):
        headers = self.one.as_admin(**{"Content-Type": kind, "Accept": "application/json"})
        code, _, text = self.one.ask_again(method, path, body=None if body is None else json.dumps(body), headers=headers)
        try:
            return code, json.loads(text) if text else None
        except ValueError:
            return code, text

    def good(self, answer):
        self.assertIn(answer[0], (200, 201, 202), answer[1])
        return answer[1]

    def volume(self, name, source, size="8Mi", **more):
        spec = {"source": source, "storage": {"resources": {"requests": {"storage": size}}}, **more.pop("spec", {})}
        return self.ask("POST", VOLUMES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name, **more}, "spec": spec})

    def show(self, name):
        return self.ask("GET", f"{VOLUMES}/{name}")[1]

    def phase(self, name, wanted):
        def holds():
            seen = self.show(name)
            holds.seen = seen
            return seen if seen.get("status", {}).get("phase") == wanted else None
        try:
            return self.until(f"{wanted} of {name}", holds)
        except AssertionError:
            self.fail(f"{name} did not become {wanted}: {json.dumps(holds.seen)} {json.dumps(self.ask('GET', CLAIMS + '/' + name)[1])} {self.one.errors()[-2000:]}")

    def condition(self, name, kind):
        return next((c for c in self.show(name).get("status", {}).get("conditions", []) if c["type"] == kind), {})

    def events(self, name):
        return {e["reason"] for e in self.ask("GET", f"{NAMESPACE}/events")[1]["items"] if e["involvedObject"]["name"] == name}

    def disk(self, claim):
        return os.path.join(self.state, "disks", "default", claim)

    def image(self, claim):
        with open(os.path.join(self.disk(claim), "disk.img"), "rb") as file:
            return file.read()

    def content(self, size=MIB):
        return os.urandom(4096) + bytes(size - 8192) + os.urandom(4096)

    def qcow2(self, data, *options):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/raw", "wb") as file:
                file.write(data)
            subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, f"{folder}/raw", f"{folder}/image"], check=True)
            with open(f"{folder}/image", "rb") as file:
                return file.read()

    # --- claims

    def test_claims(self):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500000"}}}}
        self.good(self.ask("POST", CLAIMS, claim))
        bound = self.until("Bound", lambda: (lambda c: c if c["status"]["phase"] == "Bound" else None)(self.ask("GET", f"{CLAIMS}/c")[1]))
        self.assertEqual(bound["spec"]["storageClassName"], "local")
        self.assertEqual(bound["status"]["capacity"], {"storage": "2Mi"})
        self.assertIn("kubernetes.io/pvc-protection", bound["metadata"]["finalizers"])
        volume = self.good(self.ask("GET", f"/api/v1/persistentvolumes/{bound['spec']['volumeName']}"))
        self.assertEqual((volume["status"]["phase"], volume["spec"]["claimRef"]["name"]), ("Bound", "c"))
        patch = {"spec": {"resources": {"requests": {"storage": "4Mi"}}}}
        self.good(self.ask("PATCH", f"{CLAIMS}/c", patch, "application/merge-patch+json"))
        self.until("4Mi", lambda: self.ask("GET", f"{CLAIMS}/c")[1]["status"]["capacity"]["storage"] == "4Mi")
        self.good(self.ask("DELETE", f"{CLAIMS}/c"))
        self.until("the end of the claim", lambda: self.ask("GET", f"{CLAIMS}/c")[0] == 404)
        self.assertFalse(os.path.exists(self.disk("c")))
        self.until("the end of the volume", lambda: self.ask("GET", f"/api/v1/persistentvolumes/{bound['spec']['volumeName']}")[0] == 404)
        for name, more in (("other", {"storageClassName": "fast"}), ("huge", {"resources": {"requests": {"storage": "1Pi"}}})):
            self.good(self.ask("POST", CLAIMS, {**claim, "metadata": {"name": name}, "spec": {**claim["spec"], **more}}))
            self.until("ProvisioningFailed", lambda: "ProvisioningFailed" in self.events(name))
            self.assertEqual(self.ask("GET", f"{CLAIMS}/{name}")[1]["status"]["phase"], "Pending")

    # --- imports

    def test_imports(self):
        raw = self.content()
        Files.files = {"disk.qcow2": self.qcow2(raw)}
        digest = hashlib.sha256(Files.files["disk.qcow2"]).hexdigest()
        Files.cuts = {"disk.qcow2": [1000, 5000]}
        self.good(self.volume("good", {"http": {"url": self.url + "disk.qcow2", "checksum": f"sha256:{digest}"}}))
        done = self.phase("good", "Succeeded")
        self.assertEqual((done["status"]["progress"], done["status"]["claimName"]), ("100.0%", "good"))
        self.assertEqual([(c["type"], c["status"]) for c in done["status"]["conditions"]], [("Bound", "True"), ("Ready", "True"), ("Running", "False")])
        image = self.image("good")
        self.assertEqual((len(image), image[:MIB]), (8 * MIB, raw))
        self.assertEqual([asked[1] for asked in Files.asked], [None, "bytes=1000-", "bytes=6000-"])  # it went on where it was cut off
        self.assertLessEqual({"Bound", "ImportSucceeded"}, self.events("good"))
        marks = self.ask("GET", f"{CLAIMS}/good")[1]["metadata"]["annotations"]
        self.assertEqual((marks[MARK + "pod.phase"], marks[MARK + "import.source"]), ("Succeeded", "http"))

        self.good(self.volume("wrong", {"http": {"url": self.url + "disk.qcow2", "checksum": "sha256:" + "0" * 64}}))
        self.phase("wrong", "Failed")
        self.assertEqual(self.condition("wrong", "Running")["reason"], "ChecksumError")
        self.assertEqual(sorted(os.listdir(self.disk("wrong"))), ["note.json"])

        # Credentials are for the host that was named.
        Files.files["disk.gz"] = subprocess.run(["gzip", "-c"], input=raw, capture_output=True, check=True).stdout
        self.good(self.ask("POST", f"{NAMESPACE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
                                                           "stringData": {"accessKeyId": "user", "secretKey": "word"}}))
        Files.asked = []
        elsewhere = self.url.replace("127.0.0.1", "localhost") + "disk.gz"
        self.good(self.volume("moved", {"http": {"url": self.url + "to/" + elsewhere.replace("/", "~"), "secretRef": "s", "extraHeaders": ["X-Token: t"]}}))
        self.phase("moved", "Succeeded")
        self.assertEqual([bool(asked[2]) and bool(asked[3]) for asked in Files.asked], [True, False])
        self.assertEqual(self.image("moved")[:MIB], raw)

    def test_hostile_images(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in (("backing", ["-b", "/etc/passwd", "-F", "raw"]), ("huge", ["x", "1T"])):
                path = f"{folder}/{name}"
                subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *[path if word == "x" else word for word in command],
                                *([path] if "x" not in command else [])], check=True)
                with open(path, "rb") as file:
                    Files.files[name] = file.read()
        Files.files["bomb"] = subprocess.run(["gzip", "-c"], input=bytes(200 * MIB), capture_output=True, check=True).stdout
        Files.files["page"] = b"<html>"
        for name in ("backing", "huge", "bomb", "missing", "to/file:~~~etc~passwd"):
            claim = name.split("/")[0]
            self.good(self.volume(claim, {"http": {"url": self.url + name}}))
        self.good(self.volume("cloud", {"http": {"url": self.url + "to/http:~~169.254.169.254~secrets"}}))
        for claim, words in (("backing", "backing file"), ("huge", "too small"), ("bomb", "too small"), ("missing", "expected status code 200, got 404"), ("to", "redirects"), ("cloud", "nothing is imported from")):
            # Kept from the look that found it: it is tried again, and then it runs.
            refusals = []
            self.until(f"the refusal of {claim}", lambda: refusals.append(self.condition(claim, "Running")) or refusals[-1].get("reason") == "Error")
            self.assertIn(words, refusals[-1]["message"])
            self.assertGreaterEqual(self.show(claim)["status"]["restartCount"], 1)  # it may have been tried again by now
            self.assertFalse(os.path.exists(os.path.join(self.disk(claim), "disk.img")))
            self.assertEqual([name for name in os.listdir(self.disk(claim)) if name.startswith(".part")], [])

    def put_container_image(self, raw):
        """disks/fedora:1 of the registry."""
        digest = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()
        layers = []
        for files in ({"etc/motd": b"hello"}, {"disk/image.qcow2": self.qcow2(raw)}):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
                for name, data in files.items():
                    entry = tarfile.TarInfo(name)
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
            layers.append(buffer.getvalue())
        config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(gzip.decompress(layer)) for layer in layers]},
                             "config": {"Env": ["INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora"]}}).encode()
        manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                               "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": len(config)},
                               "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest(layer), "size": len(layer)} for layer in layers]}).encode()
        blob = "application/octet-stream"
        Files.images = {"v2/disks/fedora/manifests/1": ("application/vnd.oci.image.manifest.v1+json", manifest),
                        **{f"v2/disks/fedora/blobs/{digest(data)}": (blob, data) for data in (config, *layers)}}

    @unittest.skipUnless(shutil.which("skopeo"), "there is no skopeo")
    def test_registry(self):
        raw = self.content()
        self.put_container_image(raw)
        host = f"127.0.0.1:{self.web.server_port}"
        self.good(self.ask("PATCH", "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config", {"spec": {"insecureRegistries": [host]}}, "application/merge-patch+json"))
        self.good(self.volume("fedora", {"registry": {"url": f"docker://{host}/disks/fedora:1"}}))
        self.good(self.volume("nothing", {"registry": {"url": f"docker://{host}/disks/nothing:1"}}))
        self.phase("fedora", "Succeeded")
        self.assertEqual(self.image("fedora")[:MIB], raw)
        label = "instancetype.kubevirt.io/default-preference"
        self.until("the label", lambda: self.show("fedora")["metadata"].get("labels", {}).get(label) == "fedora")
        self.assertEqual(self.ask("GET", f"{CLAIMS}/fedora")[1]["metadata"]["labels"][label], "fedora")
        self.until("ImagePullFailed", lambda: self.condition("nothing", "Running").get("reason") == "ImagePullFailed")
        self.assertEqual(os.listdir(self.disk("nothing")), ["note.json"])

    @unittest.skipUnless(shutil.which("skopeo"), "there is no skopeo")
    def test_registry_that_redirects(self):
        """To this host's own loopback, which is where its blobs are: allowed unless those addresses are blocked."""
        address = own_address()
        if not address:
            self.skipTest("this host has no address but those of its loopback")
        raw = self.content()
        self.put_container_image(raw)
        asked = []

        class Redirecting(Files):
            target = None

            def registry(self, name):
                if "/blobs/" not in name:
                    return Files.registry(self, name)
                self.send_response(307)
                self.send_header("Location", f"http://{Redirecting.target}/{name}")
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Inner(Files):
            def registry(self, name):
                asked.append(name)
                Files.registry(self, name)

        servers = [http.server.ThreadingHTTPServer((address, 0), Redirecting), http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inner)]
        for one in servers:
            threading.Thread(target=one.serve_forever, daemon=True).start()
            self.addCleanup(one.server_close)
            self.addCleanup(one.shutdown)
        registry, inner = (one.server_port for one in servers)
        host = f"{address}:{registry}"
        self.good(self.ask("PATCH", "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config", {"spec": {"insecureRegistries": [host]}}, "application/merge-patch+json"))
        Redirecting.target = f"127.0.0.1:{inner}"
        self.good(self.volume("allowed", {"registry": {"url": f"docker://{host}/disks/fedora:1"}}))
        self.phase("allowed", "Succeeded")
        self.assertEqual(self.image("allowed")[:MIB], raw)
        self.assertTrue(asked)

        self.one.stop()
        self.start("--import-blocked-networks", "127.0.0.0/8,::1/128")
        asked.clear()
        for name, target in (("number", "127.0.0.1"), ("name", "localhost"), ("nothing", "0.0.0.0")):
            Redirecting.target = f"{target}:{inner}"
            self.good(self.volume(name, {"registry": {"url": f"docker://{host}/disks/fedora:1"}}))
            self.until("ImagePullFailed", lambda: self.condition(name, "Running").get("reason") == "ImagePullFailed")
        self.assertEqual(asked, [])

    def test_refused_data_volumes(self):
        for source, more, field in (
                ({"http": {"url": "ftp://x/y"}}, {}, "spec.source.HTTP.url"), ({"http": {"url": "http://x/y", "checksum": "sha256:1"}}, {}, "spec.source.HTTP.checksum"),
                ({"blank": {}, "upload": {}}, {}, "spec.source"), ({"blank": {}}, {"contentType": "archive"}, "spec.contentType"),
                ({"s3": {"url": "https://x/y"}}, {}, "spec.source.S3"), ({"registry": {"url": "oci-archive:x"}}, {}, "spec.source.Registry.URL")):
            code, answer = self.volume("refused", source, spec=more)
            self.assertEqual(code, 422, (field, answer))
            self.assertEqual(answer["details"]["causes"][0]["field"], field, answer)
        self.assertEqual(self.volume("small", {"blank": {}}, size="512Ki")[0], 422)
        self.good(self.volume("kept", {"blank": {}}))
        code, answer = self.ask("PATCH", f"{VOLUMES}/kept", {"spec": {"priorityClassName": "x"}}, "application/merge-patch+json")
        self.assertEqual((code, answer["details"]["causes"][0]["field"]), (422, "DataVolume.Spec"))

    # --- blank, clone, source

    def test_blank_and_clone(self):
        self.good(self.volume("blank", {"blank": {}}))
        self.phase("blank", "Succeeded")
        with open(os.path.join(self.disk("blank"), "disk.img"), "r+b") as file:
            file.write(b"written by a guest")
        self.good(self.volume("copy", {"pvc": {"namespace": "default", "name": "blank"}}, size="16Mi"))
        done = self.phase("copy", "Succeeded")
        self.assertEqual(done["status"]["progress"], "100.0%")
        self.assertEqual((len(self.image("copy")), self.image("copy")[:18]), (16 * MIB, b"written by a guest"))
        self.good(self.ask("POST", SOURCES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {"name": "os"},
                                             "spec": {"source": {"pvc": {"namespace": "default", "name": "blank"}}}}))
        self.until("a DataSource that is ready", lambda: [c for c in self.ask("GET", f"{SOURCES}/os")[1].get("status", {}).get("conditions", []) if c["status"] == "True"])
        self.good(self.ask("POST", VOLUMES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "from-source"},
                                             "spec": {"sourceRef": {"kind": "DataSource", "name": "os"}, "storage": {}}}))
        self.phase("from-source", "Succeeded")
        self.assertEqual(len(self.image("from-source")), 8 * MIB)
        self.good(self.volume("orphan", {"pvc": {"namespace": "default", "name": "nobody"}}))
        self.until("CloneWithoutSource", lambda: self.condition("orphan", "Bound").get("reason") == "CloneWithoutSource")
        self.good(self.ask("DELETE", f"{VOLUMES}/copy"))
        self.until("the end of the folder", lambda: not os.path.exists(self.disk("copy")))

    def test_every_class_has_a_profile(self):
        classes, profiles = "/apis/storage.k8s.io/v1/storageclasses", "/apis/cdi.kubevirt.io/v1beta1/storageprofiles"
        self.good(self.ask("POST", classes, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "other"}, "provisioner": "example.com/x"}))

        def reasons():
            items = self.good(self.ask("GET", profiles))["items"]
            return {one["metadata"]["name"]: [c["reason"] for c in one.get("status", {}).get("conditions", [])] for one in items}
        self.until("the profile", lambda: reasons() == {"local": ["RecognizedProvisioner"], "other": ["UnrecognizedProvisioner"]})
        sets = [{"accessModes": ["ReadWriteMany"], "volumeMode": "Filesystem"}]
        self.good(self.ask("PATCH", f"{profiles}/local", {"spec": {"claimPropertySets": sets}}, "application/merge-patch+json"))
        self.until("what was named", lambda: self.ask("GET", f"{profiles}/local")[1]["status"]["claimPropertySets"] == sets)
        self.good(self.volume("shared", {"blank": {}}))
        self.phase("shared", "Succeeded")
        self.assertEqual(self.good(self.ask("GET", f"{CLAIMS}/shared"))["spec"]["accessModes"], ["ReadWriteMany"])
        self.good(self.ask("DELETE", f"{classes}/other"))
        self.until("the end of the profile", lambda: "other" not in reasons())

    # --- uploads

    def token(self, claim):
        return self.good(self.ask("POST", TOKENS, {"metadata": {"generateName": "t"}, "spec": {"pvcName": claim}}))["status"]["token"]

    def curl(self, path, token, *more):
        command = ["curl", "-s", "--cacert", self.one.pki("ca.crt"), "-o", os.path.join(self.state, "answer"), "-w", "%{http_code}",
                   *([] if token is None else ["-H", f"Authorization: Bearer {token}"]), *more, f"https://{self.one.listen}{path}"]
        return int(subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S).stdout)

    def test_uploads(self):
        raw = self.content()
        path = os.path.join(self.state, "image")
        with open(path, "wb") as file:
            file.write(self.qcow2(raw))
        hostile = os.path.join(self.state, "hostile")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", "/etc/passwd", "-F", "raw", hostile], check=True)
        send = ("-X", "POST", "-T")
        large = os.path.join(self.state, "large")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", large, "9M"], check=True)
        for name, endpoint, arguments in (("sync", "upload", (*send, path)), ("async", "upload-async", (*send, path)),
                                          ("chunks", "upload-async", ("-H", "Transfer-Encoding: chunked", *send, path)),
                                          ("form", "upload-form", ("-F", "other=x", "-F", f"file=@{path}"))):
            with self.subTest(name):
                self.good(self.volume(name, {"upload": {}}))
                self.phase(name, "UploadReady")
                token = self.token(name)
                self.assertEqual(self.curl("/v1beta1/upload-async", token, "-I"), 200)
                self.assertEqual(self.curl("/v1beta1/upload", token), 404)
                for refused in (hostile, large):
                    self.assertEqual(self.curl(f"/v1beta1/{endpoint}", token, *(a.replace(path, refused) for a in arguments)), 400)
                self.assertEqual(self.curl(f"/v1beta1/{endpoint}", token, *arguments), 200)
                done = self.phase(name, "Succeeded")
                self.assertEqual(done["status"]["progress"], "N/A")
                self.assertEqual(self.image(name)[:MIB], raw)
                self.assertEqual(self.curl("/v1beta1/upload", token, *send, path), 503)
        listed = self.good(self.ask("GET", "/apis/upload.cdi.kubevirt.io/v1beta1"))["resources"]
        self.assertEqual([(one["kind"], one["verbs"]) for one in listed], [("UploadTokenRequest", ["create"])])
        self.assertEqual(self.ask("GET", TOKENS)[0], 405)
        self.assertEqual(self.curl("/v1beta1/upload", None, *send, path), 400)
        self.assertEqual(self.curl("/v1beta1/upload", "x.y", *send, path), 401)
        self.assertEqual(self.curl("/v1beta1/upload", self.token("nobody"), *send, path), 503)

    @unittest.skipUnless(os.environ.get("VIRTGATE_VIRTCTL") or shutil.which("virtctl"), "there is no virtctl")
    def test_virtctl_uploads(self):
        raw = self.content()
        path = os.path.join(self.state, "image")
        with open(path, "wb") as file:
            file.write(self.qcow2(raw))
        virtctl = os.environ.get("VIRTGATE_VIRTCTL") or "virtctl"
        done = subprocess.run([virtctl, "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), "image-upload", "dv", "up", "--size=8Mi", f"--image-path={path}", "--insecure"],
                              capture_output=True, text=True, timeout=2 * DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.image("up")[:MIB], raw)

    # --- kills

    def test_a_kill_in_the_middle_leaves_no_half_of_an_image(self):
        raw = self.content()
        Files.files = {"slow.qcow2": self.qcow2(raw)}
        Files.gate = threading.Event()
        self.good(self.volume("one", {"http": {"url": self.url + "slow.qcow2"}}))
        self.phase("one", "ImportInProgress")
        self.until("the first bytes", lambda: Files.asked)
        supervisor = descendants(self.one.process.pid)[0]
        worker = descendants(supervisor)[0]
        os.kill(worker, signal.SIGKILL)
        self.until("an attempt that failed", lambda: self.show("one")["status"].get("restartCount"))
        self.assertFalse(os.path.exists(os.path.join(self.disk("one"), "disk.img")))
        self.one.process.kill()
        self.one.ended()
        self.until("the end of the workers", lambda: not [p for p in (supervisor, worker) if os.path.exists(f"/proc/{p}")])
        self.assertFalse(os.path.exists(os.path.join(self.disk("one"), "disk.img")))
        Files.gate.set()
        self.start()
        self.phase("one", "Succeeded")
        self.assertEqual(self.image("one")[:MIB], raw)
        self.assertEqual([name for name in os.listdir(self.disk("one")) if name.startswith(".part")], [])


if __name__ == "__main__":
    unittest.main()
