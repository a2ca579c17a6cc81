#!/usr/bin/env python3
"""Secrets are written through every path that takes one, and looked for wherever they must not be: the journal, the logs of all processes at the highest verbosity,
spans, the audit log, metrics, events, command lines and environments, files that others may read. What a request itself answers, and the objects that are asked
for, are not looked at: whoever may read those may read what is in them.

VIRTGATE_BINARY names the program.
"""
import base64
import glob
import http.server
import json
import os
import re
import secrets
import tempfile
import threading
import unittest
from unittest import mock

from support import node, otlp
from support import serve as e2e
from support.simulated import ACTIONS, MERGE, VMS, Simulated

CORE = "/api/v1/namespaces/default"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/default"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
UPLOADS = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/default/uploadtokenrequests"
EXPORTS = "/apis/export.kubevirt.io/v1/namespaces/default/virtualmachineexports"
REQUESTS = "/apis/trace.virtgate.io/v1/requests"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."


def spelled(word):
    """The ways in which a text is found again: as it is, and in base64 wherever it may begin."""
    plain = word.encode()
    ways = {plain, plain.hex().encode()}
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + plain).rstrip(b"=")
        ways.add(code[(0, 2, 3)[shift]:-1])
    return ways


def process_tree(root):
    """All processes below that one, itself included."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += parents.get(pid, [])
    return found


class Words:
    """Secrets by what they were used as, each of which is like no other text."""

    def __init__(self):
        self.used = {}

    def new(self, use):
        word = f"leak{secrets.token_hex(12)}"
        self.used[word] = use
        return word

    def found_in(self, data):
        return sorted({use for word, use in self.used.items() if any(way in data for way in spelled(word))})


class Importable(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)
    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Leaks:
    """What both kinds of nodes are tried with."""

    def begin(self):
        self.words, self.leaks = Words(), []
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Importable)
        threading.Thread(target=self.web.serve_forever, daemon=True).start()
        self.addCleanup(self.web.server_close)
        self.addCleanup(self.web.shutdown)

    def secret(self, name, data, kind="Opaque", **meta):
        code, answer = self.ask("POST", f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **meta}, "type": kind, "stringData": data})
        self.assertEqual(code, 201, answer)

    # --- ways in

    def write_secrets(self):
        new = self.words.new
        self.secret("cloud", {"userdata": f"#cloud-config\npassword: {new('cloud-init secret')}\n", "networkdata": "version: 2\n"})
        applied = json.dumps({"stringData": {"a": new("last-applied")}})
        self.secret("applied", {"a": new("Secret")}, annotations={"kubectl.kubernetes.io/last-applied-configuration": applied})
        self.secret("keys", {"k1": f"ssh-ed25519 {new('ssh key')} user@host"})
        self.secret("users", {"demo": new("user password")})
        account = base64.b64encode(f"me:{new('pull secret')}".encode()).decode()
        self.secret("pull", {".dockerconfigjson": json.dumps({"auths": {"registry.example": {"auth": account}}})}, kind="kubernetes.io/dockerconfigjson")
        self.secret("web", {"accessKeyId": "me", "secretKey": new("import secret")})
        self.secret("export", {"token": new("export token")})
        self.secret("sysprep", {"autounattend.xml": f"<unattend>{new('sysprep')}</unattend>"})
        self.ask("PATCH", f"{CORE}/secrets/cloud", {"stringData": {"more": new("patch")}}, headers=MERGE)
        self.ask("PATCH", f"{CORE}/secrets/cloud", {"data": {"more": new("patch that is no base64") + "!"}}, headers=MERGE)
        self.ask("PATCH", f"{CORE}/secrets/cloud", [{"op": "test", "path": "/data/userdata", "value": new("JSON patch")}], headers={"Content-Type": "application/json-patch+json"})
        self.ask("PUT", f"{CORE}/secrets/cloud", {"kind": new("kind of a body")})
        self.one.ask("POST", f"{CORE}/secrets", body='{"stringData": {"a": "%s' % new("body that is cut off"), headers=self.one.as_admin(**{"Content-Type": "application/json"}))
        self.ask("POST", f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "typed"}, "stringData": [new("value of another type")]})

    def show_credentials(self):
        new, get = self.words.new, self.one.get
        get(VMS, headers={"Authorization": f"Bearer {new('bearer token')}"})
        get(VMS, headers={"Authorization": "Basic " + base64.b64encode(f"me:{new('basic login')}".encode()).decode()})
        get(f"{VMS}?access_token={new('access_token')}&limit=1", headers=self.one.as_admin())
        get(f"{VMS}?access_token={new('access_token of nobody')}")
        self.one.ask("POST", f"{CORE}/configmaps?token={new('token in a query of a write')}", body='{"metadata":{"name":"c"}}',
                     headers=self.one.as_admin(**{"Content-Type": "application/json"}))
        get(f"{ACTIONS}/virtualmachineinstances/demo/vnc?password={new('VNC password')}", headers=self.one.as_admin())
        for user in (new("websocket token"),):
            code = base64.urlsafe_b64encode(user.encode()).decode().rstrip("=")
            get(f"{ACTIONS}/virtualmachineinstances/demo/console", headers={
                "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol": f"{BEARER_PROTOCOL}{code}, plain.kubevirt.io"})
        self.ask("POST", TOKEN_REVIEWS, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": new("reviewed token")}})
        self.words.used[self.one.token()] = "administrator's token"
        code, made = self.ask("POST", f"{CORE}/serviceaccounts/default/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        self.assertEqual(code, 201, made)
        self.words.used[made["status"]["token"].rsplit(".", 1)[1]] = "signature of a service account's token"
        get(VMS, headers={"Authorization": "Bearer " + made["status"]["token"]})
        with open(self.one.pki("admin.key")) as file:
            self.words.used[file.read().splitlines()[1]] = "client key"

    def import_and_export(self):
        new = self.words.new
        where = f"127.0.0.1:{self.web.server_port}"
        storage = {"storage": {"resources": {"requests": {"storage": "1Mi"}}}}
        for name, source in (("basic", {"http": {"url": f"http://me:{new('basic login of an import')}@{where}/a"}}),
                             ("signed", {"http": {"url": f"http://{where}/a?token={new('signature of an import')}"}}),
                             ("with-secret", {"http": {"url": f"http://{where}/b", "secretRef": "web"}}),
                             ("fields", {"http": {"url": f"http://{where}/c", "extraHeaders": [f"X-Token: {new('extra header')}"]}}),
                             ("pulled", {"registry": {"url": f"docker://{where}/x", "secretRef": "web"}}), ("sent", {"upload": {}})):
            self.ask("POST", VOLUMES, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name}, "spec": {"source": source, **storage}})
        code, upload = self.ask("POST", UPLOADS, {"apiVersion": "upload.cdi.kubevirt.io/v1beta1", "kind": "UploadTokenRequest", "metadata": {"name": "t"}, "spec": {"pvcName": "sent"}})
        if code in (200, 201):
            token = upload["status"]["token"]
            self.words.used[token.rsplit(".", 1)[1]] = "upload token"
            self.one.ask("POST", "/v1beta1/upload", body="x", headers={"Authorization": f"Bearer {token}"})
        self.one.ask("POST", "/v1beta1/upload", body="x", headers={"Authorization": f"Bearer {new('upload token of nobody')}"})
        self.ask("POST", EXPORTS, {"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "e"},
                                   "spec": {"tokenSecretRef": "export", "source": {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "sent"}}})
        path = "/api/export.kubevirt.io/v1/namespaces/default/virtualmachineexports/e/volumes/sent/disk.img"
        self.one.get(path, headers={"x-kubevirt-export-token": new("export token of nobody")})
        self.one.get(f"{path}?x-kubevirt-export-token={new('export token in a query')}")

    def ask_webhooks(self):
        for path, group, version, resource, part, kind in e2e.WEBHOOKS:
            document = e2e.review(group, version, resource, part, kind)
            word = self.words.new(f"review to {path}")
            machine = {"domain": {"devices": {}}, "volumes": [{"name": "c", "cloudInitNoCloud": {"userData": word}}, {"name": "c", "cloudInitNoCloud": {"userData": word}}]}
            document["request"]["object"]["spec"] = {**machine, "template": {"spec": machine}, "virtualMachineTemplate": {"spec": {"template": {"spec": machine}}}}
            document["request"]["object"]["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": word}
            self.one.ask("POST", path, body=json.dumps(document), headers=self.one.as_admin(**{"Content-Type": "application/json"}))

    def volumes_with_secrets(self):
        new = self.words.new
        return [{"name": "inline", "cloudInitNoCloud": {"userData": f"#cloud-config\npassword: {new('cloud-init inline')}\n"}},
                {"name": "held", "cloudInitConfigDrive": {"secretRef": {"name": "cloud"}, "networkDataSecretRef": {"name": "cloud"}}},
                {"name": "prep", "sysprep": {"secret": {"name": "sysprep"}}}, {"name": "whole", "secret": {"secretName": "applied"}}]

    def access_credentials(self):
        return [{"sshPublicKey": {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": {"noCloud": {}}}},
                {"userPassword": {"source": {"secret": {"secretName": "users"}}, "propagationMethod": {"qemuGuestAgent": {}}}}]

    # --- where they must not be

    def clean(self, place, data):
        uses = self.words.found_in(data if isinstance(data, bytes) else data.encode())
        if uses:
            self.leaks.append((place, uses))

    def look_everywhere(self):
        self.clean("the journal", json.dumps(self.ask("GET", REQUESTS)[1]))
        self.clean("metrics", self.one.get("/metrics", headers=self.one.as_admin())[2])
        self.clean("events", json.dumps(self.ask("GET", f"{CORE}/events")[1]))
        self.clean("profiles", self.one.get("/livez?verbose")[2])
        processes = process_tree(self.one.process.pid) + [pid for name in ("libvirtd", "qemu-system") for pid in node.children(name, self.state)]
        self.assertGreater(len(processes), 1)
        for pid in processes:
            try:
                self.look_at_process(pid)
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                pass
        self.clean("spans", self.collector.everything())
        self.one.stop()
        self.clean("logs", self.one.errors())
        self.assertIn("statusCode", self.one.errors(), "requests are logged")
        for kind, pattern in (("journal", "journal/*"), ("audit", "audit*"), ("audit", "audit*/*"), ("libvirt", "nodes/*/libvirt/**/*.log"), ("libvirt", "nodes/*/**/*.log")):
            for path in glob.glob(os.path.join(self.state, pattern), recursive=True):
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        self.clean(f"{kind} ({path})", file.read())
        self.look_at_files()
        self.assertEqual(self.leaks, [])
        self.assertTrue(self.collector.spans)

    def look_at_process(self, pid):
        for what in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{what}", "rb") as file:
                self.clean(f"{what} of {pid}", file.read())
        with open(f"/proc/{pid}/limits") as file:
            if not re.search(r"Max core file size\s+0\s+0\s", file.read()):
                self.leaks.append((f"a dump of {pid}", ["memory"]))

    def look_at_files(self):
        """Nobody else can come to them, and those that hold a secret are closed by themselves."""
        self.assertEqual(os.stat(self.state).st_mode & 0o077, 0)
        for folder, _, files in os.walk(self.state):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if not os.path.isfile(path) or os.path.islink(path) or os.stat(path).st_mode & 0o077 == 0 or os.path.getsize(path) > 16 << 20:
                        continue
                    with open(path, "rb") as file:
                        self.clean(f"{path}, which others may read", file.read())
                except FileNotFoundError:
                    pass


SETTINGS = {"OTEL_BSP_SCHEDULE_DELAY": "100"}


class WithSimulatedNodes(Leaks, Simulated):
    nodes = 1

    def run_server(self):
        self.collector = otlp.Collector()
        self.addCleanup(self.collector.close)
        with mock.patch.dict(os.environ, {"OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url, **SETTINGS}):
            return self.server("-v", "10", *self.audit_flags(), role=("--node", "simulated", "--nodes", "1")).start()

    def audit_flags(self):
        return ()

    def test_nothing_leaks(self):
        self.begin()
        self.write_secrets()
        self.vm("demo", volumes=self.volumes_with_secrets(), spec={"accessCredentials": self.access_credentials()})
        self.until_printable("demo", "Running")
        bad = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "bad"}, "spec": {"runStrategy": "Always", "template": {"spec": {
            "domain": {"devices": {"disks": [{"name": "none", "disk": {}}]}}, "volumes": [
                {"name": "inline", "cloudInitNoCloud": {"userData": self.words.new("refused user data"), "userDataBase64": self.words.new("refused base64") + "!"}}]}}}}
        self.assertEqual(self.ask("POST", VMS, bad)[0], 422)
        self.assertEqual(self.ask("PATCH", f"{VMS}/demo", {"spec": {"template": {"spec": {"volumes": self.words.new("patched volumes")}}}}, headers=MERGE)[0] // 100, 4)
        self.show_credentials()
        self.import_and_export()
        self.ask_webhooks()
        self.until("a failed import", lambda: "Import" in json.dumps(self.ask("GET", VOLUMES)[1]))
        self.look_everywhere()

    def test_secrets_are_found_where_they_are(self):
        """The search itself: a secret that is somewhere is found, in base64 too."""
        self.begin()
        word = self.words.new("a secret")
        for text in (f"x{word}y", base64.b64encode(f"ab{word}c".encode()).decode(), base64.b64encode(f"b{word}".encode()).decode(), word.encode().hex()):
            self.assertEqual(self.words.found_in(text.encode()), ["a secret"], text)
        self.assertEqual(self.words.found_in(b"leak"), [])


class WithBodiesInTheAuditLog(WithSimulatedNodes):
    """The highest level that an audit policy has, for everything."""

    def audit_flags(self):
        self.policy = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(self.policy.close)
        self.policy.write("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
        self.policy.flush()
        return ("--audit-policy-file", self.policy.name)

    def look_everywhere(self):
        super().look_everywhere()
        events = []
        for path in glob.glob(os.path.join(self.state, "audit*.log*")):
            with open(path) as file:
                events += [json.loads(line) for line in file]
        made = [one for one in events if one.get("verb") == "create" and one.get("objectRef", {}).get("name") == "demo"]
        self.assertEqual([one["level"] for one in made], ["RequestResponse"])
        self.assertEqual(made[0]["requestObject"]["metadata"]["name"], "demo")
        self.assertEqual(made[0]["responseObject"]["kind"], "VirtualMachine")
        for one in events:
            if one.get("objectRef", {}).get("resource") in ("secrets", "configmaps", "tokenreviews", "uploadtokenrequests"):
                self.assertFalse({"requestObject", "responseObject"} & set(one), one)


class WithRealGuests(Leaks, node.Node):
    @classmethod
    def setUpClass(cls):
        reason = node.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.collector = otlp.Collector()
        cls.addClassCleanup(cls.collector.close)
        super().setUpClass()

    @classmethod
    def start_server(cls, port=None):
        with mock.patch.dict(os.environ, {"OTEL_EXPORTER_OTLP_ENDPOINT": cls.collector.url, **SETTINGS}):
            cls.one = e2e.Server(cls.state, "-v", "10", port=port, role=("--node", "libvirt", "--nodes", "1"))
            cls.one.start()

    def test_nothing_leaks(self):
        self.begin()
        self.write_secrets()
        disks = [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "cloud", "whole")] + [{"name": "prep", "cdrom": {"bus": "sata"}}]
        machine = self.vm("demo")
        spec = machine["spec"]["template"]["spec"]
        network = f"version: 2\n# {self.words.new('cloud-init inline')}\n"
        spec["volumes"] += [{"name": "cloud", "cloudInitNoCloud": {"secretRef": {"name": "cloud"}, "networkData": network}}, *self.volumes_with_secrets()[2:]]
        spec["domain"]["devices"]["disks"] = disks
        spec["accessCredentials"] = self.access_credentials()[:1]
        self.good("POST", node.VMS, machine)
        self.until_phase("demo", "Running")
        self.show_credentials()
        self.look_everywhere()


if __name__ == "__main__":
    unittest.main()
