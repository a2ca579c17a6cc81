#!/usr/bin/env python3
"""Asks a running server the recorded cases and compares its answers with the recorded ones.

  conform.py admission [options] FILE.jsonl...   webhook reviews
  conform.py flows     [options] FILE.jsonl...   subresource requests and what they change
  conform.py rest      [options] FILE.jsonl...   Kubernetes API steps: resources, lists, watches, patches, access
  conform.py controllers [options] FILE.jsonl... what controllers make of requests and of nodes' reports (play.py says how)
  conform.py domains --program P FILE.jsonl...   what `P render --as domain --context FILE VMI` prints for an instance

A FILE may be packed: FILE.jsonl.xz.

How the server is reached, one of:
  --server "CMD"       starts  CMD --api-only --state DIR --listen 127.0.0.1:PORT --console-server-port N
                               --handler-cert-file F --handler-key-file F
                       and ends it afterwards. The server writes DIR/pki/{ca,admin}.crt and DIR/pki/admin.key
                       before it listens; the admin certificate may do everything. For controllers the server is
                       started with --node external instead of --api-only: its controllers run, its machines are the
                       Node objects node01 and node02, which are made here, and their agent is played here, by writes
                       to the status of instances. An instance that got a node counts as Scheduled at once.
  --kube URL --virt URL --cert CRT KEY [--proxy-cert CRT KEY] [--node-pki DIR]
                       uses servers that already run (they may be the same one).

  --kubelet            controllers: the server has pods; play their kubelet too
  --threads N          controllers: so many scenarios at once (default 8)
  --suite NAME         only this suite (admission, controllers) or action (flows); may be repeated
  --failures N         print the first N differences in full (default 5)
  --at-least R         exit 1 when fewer than this share of the cases agree (default 1.0)
  --list FILE          write the ids of the cases that differ, one a line

What is compared. Admission: HTTP status, allowed, code, reason, the set of (reason, field) causes, whether
there are warnings, and for mutations the object after the patch. A recorded list of ten causes is a cut
list: ours must contain it. Where the recorded status is 0 the reference crashed: any well-formed answer
that is not a 5xx agrees. Flows: HTTP status, Status reason and details, every changed field, created
migrations, calls that reached the node. Rest: per step HTTP status, Status reason, details and causes, the
body without bookkeeping fields, whether there are warnings, watch events. A recorded 500 is a crash of the
reference. Controllers: per step the answer's status and reason, and every object of the namespace once it is
quiet; a step is a case, and a difference counts at the step where it appears. Message texts are never
compared. Empty and absent are the same.
"""
import argparse
import base64
import collections
import copy
import http.client
import http.server
import json
import lzma
import os
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from urllib.parse import urlparse

CR = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"


# ---- reaching the server ---------------------------------------------------

class Https:
    def __init__(self, base, cert=None, headers=None):
        self.url, self.headers, self.connection = urlparse(base), headers or {}, None
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        if cert:
            self.context.load_cert_chain(*cert)

    def call(self, method, path, body=None, headers=None):
        data = None if body is None else body if isinstance(body, (bytes, str)) else json.dumps(body)
        headers = {**self.headers, **({"Content-Type": "application/json"} if data is not None else {}), **(headers or {})}
        self.warnings = 0
        for attempt in (0, 1):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.context, timeout=30)
            try:
                self.connection.request(method, path, body=data, headers=headers)
                answer = self.connection.getresponse()
                raw = answer.read()
                self.warnings = len(answer.headers.get_all("Warning") or [])
                break
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt:
                    raise
        try:
            return answer.status, json.loads(raw) if raw else None
        except ValueError:
            return answer.status, raw.decode("utf-8", "replace")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_pki(folder):
    """A CA and a certificate for each side of the link to the node."""
    def run(*args):
        subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=kubevirt-ca", "-keyout", "kvca.key", "-out", "kvca.crt")
    for name, subject in (("handler", "/CN=kubevirt.io:system:node:virt-handler"), ("client", "/CN=kubevirt.io:system:client:virt-handler")):
        run("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        with open(f"{folder}/{name}.ext", "w") as f:
            f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "kvca.crt", "-CAkey", "kvca.key", "-CAcreateserial", "-days", "30", "-extfile", f"{name}.ext", "-out", f"{name}.crt")


class Target:
    def __init__(self, options):
        self.cert = options.cert
        self.process, self.folder = None, tempfile.mkdtemp(prefix="conform-")
        self.node_pki, self.node_port = options.node_pki or self.folder, 8186
        if options.server:
            make_pki(self.folder)
            port, self.node_port, state = free_port(), free_port(), self.folder + "/state"
            role = ["--node", "external"] if options.what == "controllers" else ["--api-only"]
            command = shlex.split(options.server) + role + ["--state", state, "--listen", f"127.0.0.1:{port}", "--console-server-port", str(self.node_port),
                                                     "--handler-cert-file", f"{self.folder}/client.crt", "--handler-key-file", f"{self.folder}/client.key"]
            self.log = open(self.folder + "/server.log", "wb")
            self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
            self.base, cert = f"https://127.0.0.1:{port}", (state + "/pki/admin.crt", state + "/pki/admin.key")
            self.cert = cert
            for _ in range(300):
                if self.process.poll() is not None:
                    sys.exit(f"the server ended with {self.process.returncode}; its log: {self.folder}/server.log")
                try:
                    if Https(self.base, cert).call("GET", "/healthz")[0] == 200:
                        break
                except OSError:
                    pass
                time.sleep(0.1)
            else:
                sys.exit(f"the server did not become healthy in 30 s; its log: {self.folder}/server.log")
            self.kube, self.virt, self.user = Https(self.base, cert), Https(self.base, cert), Https(self.base, cert)
        else:
            self.base = options.kube
            self.kube, self.virt = Https(options.kube, options.cert), Https(options.virt, None if options.proxy_cert else options.cert)
            self.user = Https(options.virt, options.proxy_cert, {"X-Remote-User": "root-admin", "X-Remote-Group": "system:masters"}) if options.proxy_cert else Https(options.virt, options.cert)

    def close(self, keep):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                print("the server did not end within 15 s of SIGTERM")
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, configuration, workload_update=None):
        """Puts the configuration into the KubeVirt object and waits until the server uses it."""
        code, current = self.kube.call("GET", CR)
        if code == 404:
            self.kube.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
            code, current = self.kube.call("POST", CR.rsplit("/", 1)[0], {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": {}})
        assert code in (200, 201), current
        current.setdefault("spec", {})["configuration"] = configuration
        if workload_update is not None:
            current["spec"]["workloadUpdateStrategy"] = {"workloadUpdateMethods": workload_update}
        code, updated = self.kube.call("PUT", CR, current)
        assert code == 200, updated
        architecture = (configuration.get("architectureConfiguration") or {}).get("defaultArchitecture") or "amd64"
        for _ in range(20):
            code, updated = self.kube.call("GET", CR)
            updated["status"] = {"phase": "Deployed", "defaultArchitecture": architecture, "observedKubeVirtVersion": "v1.9.0"}
            code, updated = self.kube.call("PUT", CR + "/status", updated)
            if code != 409:
                break
        assert code == 200, updated
        wanted = updated["metadata"]["resourceVersion"]
        for _ in range(500):
            _, health = self.virt.call("GET", "/healthz")
            seen = health.get("config-resource-version") if isinstance(health, dict) else None
            if seen and seen.isdigit() and int(seen) >= int(wanted):
                return
            time.sleep(0.01)
        sys.exit("/healthz never reported config-resource-version " + wanted)

    def load(self, objects):
        for obj in objects:
            at = collection(obj)
            code, made = self.kube.call("POST", at, obj)
            if code not in (201, 409):
                print(f"could not create {obj['kind']} {obj['metadata']['name']}: {code} {str(made)[:300]}")
                continue
            if obj.get("status"):
                _, now = self.kube.call("GET", f"{at}/{obj['metadata']['name']}")
                now["status"] = obj["status"]
                own = obj["kind"] == "VirtualMachineInstance"  # has no status subresource; only KubeVirt's own accounts may write it
                code, made = self.kube.call("PUT", f"{at}/{obj['metadata']['name']}{'' if own else '/status'}", now, CONTROLLER if own else None)
                if code != 200:
                    print(f"could not set the status of {obj['kind']} {obj['metadata']['name']}: {code} {str(made)[:300]}")


CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller"}
CLUSTER_SCOPED = {"Node", "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference", "Namespace"}


def collection(obj):
    version = obj["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = obj["kind"].lower() + "s"
    return f"{base}/{plural}" if obj["kind"] in CLUSTER_SCOPED else f"{base}/namespaces/{obj['metadata']['namespace']}/{plural}"


# ---- the node's stand-in ----------------------------------------------------

NODE_ANSWERS = {
    "guestosinfo": {"guestAgentVersion": "8.2.0", "hostname": "guest", "os": {"name": "Fedora Linux", "id": "fedora"}, "fsInfo": {"disks": []}},
    "userlist": {"items": [{"userName": "root"}]}, "filesystemlist": {"items": [{"diskName": "vda1", "mountPoint": "/"}]},
    "fetchcertchain": {"pdh": "AAA", "certChain": "BBB"}, "querylaunchmeasurement": {"measurement": "MMM"},
}


class Node:
    def __init__(self, pki, port):
        self.calls = calls = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                if self.headers.get("Transfer-Encoding"):
                    body = b""
                    while size := int(self.rfile.readline().strip() or b"0", 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                calls.append([self.command, self.path, body.decode()])
                last = self.path.split("?")[0].rsplit("/", 1)[-1]
                data = json.dumps(NODE_ANSWERS[last]).encode() if last in NODE_ANSWERS else b""
                self.send_response(200 if data else 202)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = answer

            def log_message(self, *args):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{pki}/handler.crt", f"{pki}/handler.key")
        context.load_verify_locations(f"{pki}/kvca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()


# ---- comparing ---------------------------------------------------------------

def tidy(x):
    """Drops what is empty, so that {} , [] , null and absent compare alike."""
    if isinstance(x, dict):
        out = {k: tidy(v) for k, v in x.items()}
        return {k: v for k, v in out.items() if v not in (None, {}, [], "")}
    if isinstance(x, list):
        return [tidy(v) for v in x]
    return x


def unlike(want, got, at=""):
    """The first place where two tidied documents differ, or None. '<any>' is like everything."""
    if want == "<any>":
        return None
    if isinstance(want, dict) and isinstance(got, dict):
        for k in sorted(set(want) | set(got)):
            if k not in got:
                return f"{at}/{k}: recorded {json.dumps(want[k])[:200]}, ours has none"
            if k not in want:
                return f"{at}/{k}: ours has {json.dumps(got[k])[:200]}, recorded none"
            if found := unlike(want[k], got[k], f"{at}/{k}"):
                return found
        return None
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (w, g) in enumerate(zip(want, got)):
            if found := unlike(w, g, f"{at}/{i}"):
                return found
        return None
    return None if want == got else f"{at}: recorded {json.dumps(want)[:200]}, ours {json.dumps(got)[:200]}"


def apply_patch(document, operations):
    document = copy.deepcopy(document)
    for op in operations:
        steps = [p.replace("~1", "/").replace("~0", "~") for p in op["path"].split("/")[1:]]
        if op["op"] == "test":
            continue
        if not steps:
            document = op.get("value")
            continue
        parent = document
        for step in steps[:-1]:
            parent = parent[int(step)] if isinstance(parent, list) else parent.setdefault(step, {})
        last = steps[-1]
        if op["op"] == "remove":
            parent.pop(int(last) if isinstance(parent, list) else last)
        elif isinstance(parent, list):
            if last == "-":
                parent.append(op["value"])
            elif op["op"] == "add":
                parent.insert(int(last), op["value"])
            else:
                parent[int(last)] = op["value"]
        else:
            parent[last] = op["value"]
    return document


def admission_difference(case, status, body):
    want = case["expect"]
    response = body.get("response") if isinstance(body, dict) else None
    if want["status"] == 0:
        return None if response and status < 500 else f"the reference crashed; ours must answer, and answered {status} {str(body)[:200]}"
    if status != want["status"]:
        return f"HTTP status: recorded {want['status']}, ours {status} {str(body)[:200]}"
    if "allowed" not in want:
        return None
    if not response:
        return f"no AdmissionReview response: {str(body)[:200]}"
    said = response.get("status") or {}
    got = {"allowed": bool(response.get("allowed")), "code": said.get("code"), "reason": said.get("reason")}
    causes = {(c.get("reason", ""), c.get("field", "")) for c in (said.get("details") or {}).get("causes") or []}
    recorded = want.get("causes", [])
    expected = {tuple(c) for c in recorded}
    note = f"; ours says: {said.get('message', '')[:300]}" if said.get("message") else ""
    for key in ("allowed", "code", "reason"):
        if (want.get(key) or None) != (got[key] or None):
            return f"{key}: recorded {want.get(key)}, ours {got[key]}; recorded causes {sorted(expected)}, ours {sorted(causes)}{note}"
    if len(recorded) >= 10:
        if not expected <= causes:
            return f"causes: recorded (cut at ten) {sorted(expected - causes)} missing in ours{note}"
    elif expected != causes:
        return f"causes: recorded only {sorted(expected - causes)}, ours only {sorted(causes - expected)}{note}"
    if bool(want.get("warnings")) != bool(response.get("warnings")):
        return f"warnings: recorded {want.get('warnings', 0)}, ours {response.get('warnings')}"
    if "after" in want or response.get("patch"):
        patch = json.loads(base64.b64decode(response["patch"])) if response.get("patch") else []
        try:
            after = apply_patch(case["request"]["object"], patch)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as problem:
            return f"our patch does not apply: {problem!r} {json.dumps(patch)[:300]}"
        found = unlike(tidy(want.get("after", case["request"]["object"])), tidy(after))
        if found:
            return "object after the patch: " + found
    return None


SKIP = {"/metadata/resourceVersion", "/metadata/generation", "/metadata/managedFields", "/metadata/uid", "/metadata/creationTimestamp"}


def flatten(x, at=""):
    if at in SKIP:
        return {}
    if isinstance(x, dict) and x:
        return {k2: v2 for k, v in x.items() for k2, v2 in flatten(v, f"{at}/{k.replace('~', '~0').replace('/', '~1')}").items()}
    return {at: x}


def changes(before, after, uids):
    a, b = flatten(tidy(before)), flatten(tidy(after))
    text = json.dumps(sorted([k, b.get(k)] for k in set(a) | set(b) if a.get(k, "<none>") != b.get(k, "<none>")))
    for uid, label in uids.items():
        text = text.replace(uid, label)
    return json.loads(text)


def flow_difference(target, node, flow):
    request, want = flow["request"], flow["expect"]
    namespace = request["path"].split("/")[5]
    target.kube.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    target.kube.call("POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "pvc-1"},
                     "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    target.load(flow["objects"])
    before, uids = {}, {}
    for obj in flow["objects"]:
        at = f"{collection(obj)}/demo"
        code, before[at] = target.kube.call("GET", at)
        if code != 200:
            return f"set-up failed: {code} {str(before[at])[:200]}"
        uids[before[at]["metadata"]["uid"]] = f"<uid of {obj['kind']}>"
    node.calls.clear()
    try:
        status, body = target.user.call(request["method"], request["path"], request.get("body"))
    except OSError as problem:
        status, body = 0, repr(problem)
    if want["status"] == 0:
        return None if 0 < status < 500 else f"the reference crashed; ours must answer, and answered {status} {str(body)[:200]}"
    if status != want["status"]:
        return f"HTTP status: recorded {want['status']} {want.get('reason') or ''}, ours {status} {str(body)[:300]}"
    if want.get("reason"):
        details = body.get("details") or {} if isinstance(body, dict) else {}
        got = {"reason": body.get("reason") if isinstance(body, dict) else body, "details": {x: details[x] for x in ("kind", "group", "name") if details.get(x)}}
        if found := unlike({"reason": want["reason"], "details": want.get("details") or {}}, got):
            return "Status " + found
    if "body" in want and (found := unlike(tidy(want["body"]), tidy(without_bookkeeping(json.loads(swap(json.dumps(body), uids)))))):
        return "answer " + found
    got = {}
    for at, old in before.items():
        _, new = target.kube.call("GET", at)
        if diff := changes(old, new, uids):
            got[old["kind"]] = diff
    if found := unlike(tidy(want["changes"]), tidy(got)):
        return "changes " + found
    _, migrations = target.kube.call("GET", f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstancemigrations")
    created = [{"generateName": m["metadata"].get("generateName"), "spec": m["spec"]} for m in migrations["items"]]
    if found := unlike(want["created"], created):
        return "created migrations " + found
    if found := unlike([c[:2] for c in want["node"]], [c[:2] for c in node.calls]):
        return "calls to the node " + found
    return None


VOLATILE = {"resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink", "continue", "deletionTimestamp", "deletionGracePeriodSeconds", "retryAfterSeconds",
            "lastTransitionTime", "phaseTransitionTimestamp", "age", "storageVersionHash"}


def clean(x):
    if isinstance(x, dict):
        out = {k: clean(v) for k, v in x.items() if k not in VOLATILE}
        if str(out.get("kind", "")).endswith("AccessReview"):
            (out.get("status") or {}).pop("reason", None)
        if out.get("kind") == "APIResourceList":
            out["resources"] = sorted(out.get("resources") or [], key=lambda r: r.get("name", ""))
        return out
    return [clean(v) for v in x] if isinstance(x, list) else x


def any_row_cell(x):
    """Ages and other printed times in table rows change from call to call."""
    if isinstance(x, dict) and x.get("kind") == "Table":
        ages = [i for i, c in enumerate(x.get("columnDefinitions") or []) if c.get("name") in ("Age", "CreationTime")]
        for row in x.get("rows") or []:
            for i in ages:
                row["cells"][i] = "<any>"
        for column in x.get("columnDefinitions") or []:
            column.pop("description", None)
    return x


def rest_differences(target, scenario):
    """Asks every step; a list with None or a difference for each."""
    variables = {}
    return [step_difference(target, number, step, variables) for number, step in enumerate(scenario["steps"])]


def step_difference(target, number, step, variables):
    text = json.dumps({k: v for k, v in step.items() if k != "expect"})
    for name, value in variables.items():
        text = text.replace("${" + name + "}", value)
    asked, want = json.loads(text), step["expect"]
    where = f"step {number} {asked['method']} {asked['path'][:120]}: "
    try:
        status, body = target.kube.call(asked["method"], asked["path"], asked["raw"] if "raw" in asked else asked.get("body"), asked.get("headers"))
    except OSError as problem:
        return where + f"no answer: {problem!r}"
    for name, keys in (asked.get("save") or {}).items():
        x = body
        for key in keys:
            x = x.get(key, "") if isinstance(x, dict) else ""
        variables[name] = x
    if want["status"] >= 500:
        return where + f"the reference crashed; ours must answer, and answered {status} {str(body)[:200]}" if status >= 500 else None
    if status != want["status"]:
        return where + f"HTTP status: recorded {want['status']} {want.get('reason') or ''} {want.get('causes') or ''}, ours {status} {str(body)[:400]}"
    if "events" in want:
        if isinstance(body, str):
            body = [json.loads(line) for line in body.splitlines() if line.strip()]
        elif isinstance(body, dict):
            body = [body]
        got = [[e["type"], (e["object"].get("metadata") or {}).get("name") or e["object"].get("reason") or ""] for e in body or []]
        if got != want["events"]:
            return where + f"events: recorded {want['events']}, ours {got}"
        return None
    if "reason" in want:
        details = body.get("details") or {} if isinstance(body, dict) else {}
        got = {"reason": body.get("reason") if isinstance(body, dict) else body, "details": {k: details[k] for k in ("name", "group", "kind") if details.get(k)}}
        if found := unlike(tidy({"reason": want["reason"], "details": want.get("details")}), tidy(got)):
            return where + "Status " + found
        expected, causes = {tuple(c) for c in want.get("causes", [])}, {(c.get("reason", ""), c.get("field", "")) for c in details.get("causes") or []}
        if not expected <= causes or (len(want.get("causes", [])) < 10 and expected != causes):
            return where + f"causes: recorded only {sorted(expected - causes)}, ours only {sorted(causes - expected)}; ours says {body.get('message', '')[:300]}"
    elif "body" in want and (found := unlike(tidy(any_row_cell(clean(want["body"]))), tidy(any_row_cell(clean(body))))):
        return where + found
    if bool(want.get("warnings")) != bool(target.kube.warnings):
        return where + f"warnings: recorded {want.get('warnings', 0)}, ours {target.kube.warnings}"
    return None


def without_bookkeeping(x):
    if isinstance(x, dict) and isinstance(x.get("metadata"), dict):
        x = dict(x, metadata={k: v for k, v in x["metadata"].items() if k not in ("creationTimestamp", "resourceVersion", "uid", "generation", "managedFields")})
    return x


def swap(text, uids):
    for uid, label in uids.items():
        text = text.replace(uid, label)
    return text


# ---- running -----------------------------------------------------------------

BOUND = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "conform-controller"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
         "subjects": [{"kind": "ServiceAccount", "name": "kubevirt-controller", "namespace": "kubevirt"}]}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def controllers(options, cases):
    """Plays the scenarios, several at once; the share of steps that agree."""
    import play
    groups = collections.OrderedDict()
    for case in cases:
        groups.setdefault(json.dumps([case.get("config") or {}, case.get("workloadUpdate") or []], sort_keys=True), []).append(case)
    target, tally, differing, lock, run = Target(options), collections.defaultdict(lambda: [0, 0, 0, 0]), [], threading.Lock(), f"{int(time.time()) % 46656:x}"
    world, shown = None, [0]

    def one(scenario):
        problems = play.compare(world, scenario, f"c{run}-{scenario['id']}"[:63])
        good = sum(p is None for p in problems)
        with lock:
            row = tally[scenario["suite"]]
            row[0], row[1], row[2], row[3] = row[0] + len(problems), row[1] + good, row[2] + 1, row[3] + (good == len(problems))
            if good < len(problems):
                differing.append(scenario["id"])
                if shown[0] < options.failures:
                    shown[0] += 1
                    print(f"--- {scenario['id']}\n    {next(p for p in problems if p)}", flush=True)

    try:
        target.kube.call("POST", BINDINGS, BOUND)
        unmet = {n for n in {c["needs"] for c in cases if "needs" in c} if target.kube.call("GET", n)[0] != 200}
        for need in sorted(unmet):
            print(f"left out, because the server does not serve {need}: {sum(c.get('needs') == need for c in cases)} scenarios")
        world = play.World(target.base, target.cert, options.kubelet)
        if options.kubelet and cases:
            play.compare(world, cases[0], f"c{run}-warm")  # a cold cluster's first answers are slow
        for setting, members in groups.items():
            target.configure(*json.loads(setting))
            time.sleep(1)  # controllers take the configuration over by themselves
            play.together([m for m in members if m.get("needs") not in unmet], options.threads, one)
    finally:
        if world:
            world.close()
        target.close(keep=bool(differing))
    steps, agreed, count, whole = (sum(t[i] for t in tally.values()) for i in range(4))
    for name in sorted(tally):
        print(f"{tally[name][1]:6} of {tally[name][0]:6} steps agree, {tally[name][3]:4} of {tally[name][2]:4} scenarios  {name}")
    print(f"{agreed} of {steps} agree ({agreed / steps if steps else 0:.4f}), {whole} of {count} scenarios")
    if options.list:
        with open(options.list, "w") as f:
            f.writelines(i + "\n" for i in sorted(differing))
    return agreed / steps if steps else 0.0


# ---- domains -----------------------------------------------------------------

def tree(element):
    """An element as values: attributes have no order, children of one name keep theirs, blanks around text do not count."""
    children = collections.OrderedDict()
    for child in element:
        children.setdefault(child.tag, []).append(tree(child))
    return {"": (element.text or "").strip(), **{"@" + k: v for k, v in sorted(element.attrib.items())}, **{k: children[k] for k in sorted(children)}}


def first_difference(want, got, place="domain"):
    if type(want) is not type(got):
        return f"{place}: wanted {want!r}, got {got!r}"
    if isinstance(want, dict):
        for name in sorted(set(want) | set(got)):
            if name not in got:
                return f"{place}: {name} is missing, wanted {json.dumps(want[name])[:200]}"
            if name not in want:
                return f"{place}: {name} is too much: {json.dumps(got[name])[:200]}"
            problem = first_difference(want[name], got[name], f"{place}/{name}")
            if problem:
                return problem
    elif isinstance(want, list):
        if len(want) != len(got):
            return f"{place}: wanted {len(want)} of them, got {len(got)}"
        for number, pair in enumerate(zip(want, got)):
            problem = first_difference(*pair, f"{place}[{number}]")
            if problem:
                return problem
    elif want != got:
        return f"{place}: wanted {want!r}, got {got!r}"
    return None


def domain_difference(program, case):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vmi", "context"):
            with open(f"{folder}/{name}.json", "w") as f:
                json.dump(case[name], f)
        run = subprocess.run([program, "render", "--as", "domain", "--context", f"{folder}/context.json", f"{folder}/vmi.json"], capture_output=True, text=True, timeout=30)
    if "error" in case["expect"]:
        return None if run.returncode == 1 and run.stderr else f"wanted a refusal with exit 1, got {run.returncode}: {run.stdout[:200]!r}"
    if run.returncode:
        return f"exit {run.returncode}: {run.stderr[:300]!r}"
    try:
        return first_difference(tree(xml.etree.ElementTree.fromstring(case["expect"]["xml"])), tree(xml.etree.ElementTree.fromstring(run.stdout)))
    except xml.etree.ElementTree.ParseError as error:
        return f"no XML: {error}"


def domains(options, cases):
    tally, differing = collections.defaultdict(lambda: [0, 0]), []
    for case in cases:
        problem = domain_difference(options.program, case)
        architecture = case["vmi"]["spec"].get("architecture", "none")
        tally[architecture][0] += 1
        tally[architecture][1] += problem is None
        if problem:
            differing.append(case["id"])
            if len(differing) <= options.failures:
                print(f"--- {case['id']}\n    {problem}")
    for name in sorted(tally):
        print(f"{tally[name][1]:6} of {tally[name][0]:6} agree  {name}")
    agreed, asked = len(cases) - len(differing), len(cases)
    print(f"{agreed} of {asked} agree ({agreed / max(asked, 1):.4f})")
    if options.list:
        with open(options.list, "w") as f:
            f.writelines(i + "\n" for i in differing)
    return agreed / max(asked, 1)


def lines_of(name):
    """The lines of a recording, packed or not."""
    with (lzma.open(name, "rt", encoding="utf-8") if name.endswith(".xz") else open(name, encoding="utf-8")) as file:
        yield from file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["admission", "flows", "rest", "controllers", "domains"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--server"), parser.add_argument("--kube"), parser.add_argument("--virt"), parser.add_argument("--node-pki")
    parser.add_argument("--cert", nargs=2), parser.add_argument("--proxy-cert", nargs=2), parser.add_argument("--list")
    parser.add_argument("--program", default="build/release/virtgate")
    parser.add_argument("--kubelet", action="store_true"), parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--suite", action="append"), parser.add_argument("--failures", type=int, default=5), parser.add_argument("--at-least", type=float, default=1.0)
    options = parser.parse_args()
    cases = [json.loads(line) for name in options.files for line in lines_of(name)]
    key = {"admission": "suite", "flows": "action", "rest": "suite", "controllers": "suite", "domains": "id"}[options.what]
    for case in cases:
        if options.what == "rest":
            case["suite"] = case["id"] if len(case["steps"]) > 1 else "create " + case["steps"][0]["body"]["kind"]
    cases = [c for c in cases if not options.suite or c[key] in options.suite]
    groups = collections.OrderedDict()
    for case in cases:
        groups.setdefault(json.dumps(case.get("config") or {}, sort_keys=True), []).append(case)
    if options.what == "domains":
        sys.exit(0 if domains(options, cases) >= options.at_least else 1)
    if options.what == "controllers":
        sys.exit(0 if controllers(options, cases) >= options.at_least else 1)
    target = Target(options)
    tally, differing, shown = collections.defaultdict(lambda: [0, 0]), [], 0
    try:
        node = None
        target.kube.call("POST", BINDINGS, BOUND)
        if options.what == "flows":
            node = Node(target.node_pki, target.node_port)
            with open(f"{target.node_pki}/kvca.crt") as f:
                bundle = f.read()
            target.kube.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
            ca = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubevirt-ca", "namespace": "kubevirt"}, "data": {"ca-bundle": bundle}}
            code, now = target.kube.call("GET", "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca")
            if code == 200:
                now["data"] = ca["data"]
                target.kube.call("PUT", "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca", now)
            else:
                target.kube.call("POST", "/api/v1/namespaces/kubevirt/configmaps", ca)
            pods = "/api/v1/namespaces/kubevirt/pods"
            target.kube.call("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "namespace": "kubevirt", "labels": {"kubevirt.io": "virt-handler"}}, "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
            _, pod = target.kube.call("GET", pods + "/virt-handler-1")
            pod["status"] = dict(pod.get("status") or {}, phase="Running", podIP="127.0.0.1", podIPs=[{"ip": "127.0.0.1"}])
            target.kube.call("PUT", pods + "/virt-handler-1/status", pod)
        else:
            with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures.json")) as f:
                target.load(json.load(f))
        for configuration, members in groups.items():
            target.configure(json.loads(configuration))
            for case in members:
                try:
                    if node:
                        problem = flow_difference(target, node, case)
                    elif options.what == "rest":
                        problems = rest_differences(target, case)
                        tally[case[key]][0] += len(problems) - 1
                        tally[case[key]][1] += sum(p is None for p in problems) - (1 if all(p is None for p in problems) else 0)
                        problem = next((p for p in problems if p), None)
                    else:
                        status, body = target.virt.call("POST", case["path"], {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": case["request"]})
                        problem = admission_difference(case, status, body)
                except OSError as error:
                    problem = f"no answer: {error!r}"
                tally[case[key]][0] += 1
                if problem is None:
                    tally[case[key]][1] += 1
                else:
                    differing.append(case["id"])
                    if shown < options.failures:
                        shown += 1
                        print(f"--- {case['id']} {case[key]}\n    {problem}")
    finally:
        target.close(keep=bool(differing))
    asked, agreed = sum(t[0] for t in tally.values()), sum(t[1] for t in tally.values())
    for name in sorted(tally):
        print(f"{tally[name][1]:6} of {tally[name][0]:6} agree  {name}")
    share = agreed / asked if asked else 0.0
    print(f"{agreed} of {asked} agree ({share:.4f})")
    if options.list:
        with open(options.list, "w") as f:
            f.writelines(i + "\n" for i in differing)
    sys.exit(0 if share >= options.at_least else 1)


if __name__ == "__main__":
    main()
