#!/usr/bin/env python3
"""`virtgate cluster` in virt-api's place, under a real kube-apiserver with etcd: registered with it as the webhooks and the
aggregated group of KubeVirt, and asked through it by kubectl and by WebSockets.

VIRTGATE_KUBE_APISERVER and VIRTGATE_ETCD name those two programs; without them everything here is skipped. VIRTGATE_BINARY
names ours. All of them listen on the loopback address only. What KubeVirt's operator would install (definitions of the
kinds, roles, accounts) is taken from a `virtgate serve --api-only`. Every wait is for an event, with a deadline.
"""
import asyncio
import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import types
import unittest

import cluster_e2e_test as cluster
import kubectl_e2e_test as kubectl_side
import serve_e2e_test as e2e
import stand_in_node as node_side
import streams_e2e_test as streams

API_SERVER, ETCD = os.environ.get("VIRTGATE_KUBE_APISERVER", ""), os.environ.get("VIRTGATE_ETCD", "")
KUBECTL, NO_KUBECTL = kubectl_side.kubectl_on_path()
DEADLINE_S = 60
NAMESPACE, NODE = "default", "node01"
GROUP = "/apis/subresources.kubevirt.io"
BASE = GROUP + "/v1"
OF_VM, OF_VMI = (f"{BASE}/namespaces/{NAMESPACE}/{plural}/" for plural in ("virtualmachines", "virtualmachineinstances"))
VMS, VMIS, MIGRATIONS = (f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/{plural}"
                         for plural in ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"))
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# Only KubeVirt's own accounts may say what a machine is doing.
CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
CREATES = ("/virtualmachineinstances-validate-create", "/migration-validate-create", "/migration-mutate-create", "/vm-clone-mutate-create",
           "/virt-launcher-pod-mutate")
UPDATES = ("/virtualmachineinstances-validate-update", "/migration-validate-update")


def why_not():
    missing = [name for name, program in (("VIRTGATE_KUBE_APISERVER", API_SERVER), ("VIRTGATE_ETCD", ETCD)) if not os.access(program, os.X_OK)]
    if missing:
        return f"{' and '.join(missing)} must name programs; nothing is known about how virtgate does under a real kube-apiserver"
    return NO_KUBECTL


def foreign(definition):
    """Of CDI, which installs its own."""
    return definition["spec"]["group"] == "cdi.kubevirt.io"


def named(kind, name, api_version="v1", **more):
    meta = {"name": name, **more.pop("meta", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


class Process:
    """A program that is started anew with the same arguments after it was stopped, or died."""

    def __init__(self, folder, name, *arguments):
        self.name, self.arguments, self.process = name, arguments, None
        self.log = os.path.join(folder, name + ".log")

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def lives(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}: {self.tail()}")
        return True

    def tail(self):
        return e2e.read(self.log)[-3000:]

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if self.process:
            self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Kube:
    """A kube-apiserver and its etcd, with an administrator who speaks to them."""

    def __init__(self, folder):
        self.folder, self.port, etcd_port, peer_port = folder, e2e.free_port(), e2e.free_port(), e2e.free_port()
        self.make_keys()
        self.etcd_port = etcd_port
        self.etcd = Process(folder, "etcd", ETCD, "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{etcd_port}",
                            "--advertise-client-urls", f"http://127.0.0.1:{etcd_port}", "--listen-peer-urls", f"http://127.0.0.1:{peer_port}",
                            "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer_port}", "--initial-cluster", f"default=http://127.0.0.1:{peer_port}")
        self.server = Process(folder, "kube-apiserver", API_SERVER, *self.flags())
        self.context = ssl.create_default_context(cafile=f"{folder}/kube-ca.crt")
        self.context.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")

    def make_keys(self):
        for authority in ("kube-ca", "front-ca"):
            cluster.make_authority(self.folder, authority)
        cluster.make_certificate(self.folder, "kube-ca", "kube", "kube-apiserver", "serverAuth")
        cluster.make_certificate(self.folder, "kube-ca", "admin", "admin/O=system:masters", "clientAuth")
        cluster.make_certificate(self.folder, "front-ca", "front", "front-proxy-client", "clientAuth")
        cluster.openssl(self.folder, "genrsa", "-out", "accounts.key", "2048")

    def flags(self):
        at = self.folder
        values = {
            "etcd-servers": f"http://127.0.0.1:{self.etcd_port}", "bind-address": "127.0.0.1", "secure-port": self.port, "advertise-address": "127.0.0.1",
            "endpoint-reconciler-type": "none", "shutdown-watch-termination-grace-period": "2s", "service-cluster-ip-range": "10.0.0.0/24", "authorization-mode": "RBAC",
            # No controller makes the accounts that this one asks pods for.
            "disable-admission-plugins": "ServiceAccount",
            "client-ca-file": f"{at}/kube-ca.crt", "tls-cert-file": f"{at}/kube.crt", "tls-private-key-file": f"{at}/kube.key", "cert-dir": at,
            "service-account-issuer": "https://kubernetes.default.svc", "service-account-key-file": f"{at}/accounts.key",
            "service-account-signing-key-file": f"{at}/accounts.key",
            "requestheader-client-ca-file": f"{at}/front-ca.crt", "requestheader-allowed-names": "front-proxy-client",
            "requestheader-username-headers": "X-Remote-User", "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": f"{at}/front.crt", "proxy-client-key-file": f"{at}/front.key", "enable-aggregator-routing": "false"}
        return [f"--{name}={value}" for name, value in values.items()]

    def start_etcd(self):
        self.etcd.start()
        cluster.until("etcd is healthy", lambda: self.etcd.lives() and self.etcd_answers(), DEADLINE_S)

    def etcd_answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=DEADLINE_S)
        try:
            connection.request("GET", "/health")
            return b"true" in connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def compact(self):
        """Forgets everything but the present, as etcd does regularly."""
        revision = self.ask_etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self.ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def ask_etcd(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.etcd_port, timeout=DEADLINE_S)
        try:
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            document = json.loads(answer.read())
            assert answer.status == 200, document
            return document
        finally:
            connection.close()

    def start(self):
        self.start_etcd()
        return self.start_server()

    def start_server(self):
        self.server.start()
        cluster.until("kube-apiserver is ready", lambda: self.server.lives() and self.ready(), DEADLINE_S)
        return self

    def ready(self):
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def stop(self):
        self.server.stop()
        self.etcd.stop()

    def ask(self, method, path, body=None, headers=None):
        """(code, document or text)"""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=DEADLINE_S)
        typed = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, body=body if body is None or isinstance(body, str) else json.dumps(body), headers={**typed, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.startswith("{") else text
        finally:
            connection.close()

    def ask_with_token(self, token, path):
        """The code alone."""
        context = ssl.create_default_context(cafile=f"{self.folder}/kube-ca.crt")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=DEADLINE_S)
        try:
            connection.request("GET", path, headers={"Authorization": "Bearer " + token})
            return connection.getresponse().status
        finally:
            connection.close()

    def good(self, method, path, body=None, headers=None, codes=(200, 201, 202)):
        code, answer = self.ask(method, path, body, headers)
        if code not in codes:
            raise AssertionError(f"{method} {path}: {code} {answer}")
        return answer

    def made(self, path, document, **more):
        return self.good("POST", path, document, **more)

    def patched(self, path, document, headers=None):
        return self.good("PATCH", path, document, {"Content-Type": "application/merge-patch+json", **(headers or {})})

    def kubectl(self, *arguments, stdin=None):
        """Its exit code, and what it said."""
        done = subprocess.run([KUBECTL, "--kubeconfig", os.path.join(self.folder, "admin.kubeconfig"), *arguments], input=stdin, capture_output=True,
                              text=True, timeout=DEADLINE_S)
        return done.returncode, done.stdout + done.stderr

    def write_kubeconfig(self, name, user):
        with open(os.path.join(self.folder, name), "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": f"{self.folder}/kube-ca.crt"}}],
                       "users": [{"name": "u", "user": user}]}, file)


class Installer:
    """What virt-operator does, as far as virt-api needs it."""

    def __init__(self, kube, folder):
        self.kube, self.folder = kube, folder

    def install(self):
        for name in ("kubevirt", NAMESPACE):
            if self.kube.ask("GET", f"/api/v1/namespaces/{name}")[0] == 404:
                self.kube.made("/api/v1/namespaces", named("Namespace", name))
        source = e2e.Server(os.path.join(self.folder, "source")).start()
        try:
            self.copy(source)
        finally:
            source.clean_up()
        self.make_kubevirt()
        self.make_account()

    def copy(self, source):
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.names = [self.copy_object(definitions, found) for found in self.listed(source, definitions) if not foreign(found)]
        for name in self.names:
            cluster.until(f"{name} is established", lambda: self.condition(f"{definitions}/{name}", "Established") == "True", DEADLINE_S)
        for path in (RBAC + "/clusterroles", RBAC + "/clusterrolebindings", RBAC + "/namespaces/kubevirt/roles", RBAC + "/namespaces/kubevirt/rolebindings",
                     "/api/v1/namespaces/kubevirt/serviceaccounts"):
            for found in self.listed(source, path):
                if "kubevirt.io" in (found["metadata"].get("labels") or {}):
                    self.copy_object(path, found)

    def condition(self, path, kind):
        found = self.kube.good("GET", path)
        return next((c["status"] for c in found.get("status", {}).get("conditions", []) if c["type"] == kind), None)

    @staticmethod
    def listed(source, path):
        code, _, text = source.ask("GET", path, headers=source.as_admin())
        assert code == 200, text
        found = json.loads(text)
        for item in found["items"]:
            item.update(apiVersion=found["apiVersion"], kind=found["kind"].removesuffix("List"))
        return found["items"]

    def copy_object(self, path, found):
        found.pop("status", None)
        for member in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
            found["metadata"].pop(member, None)
        self.kube.made(path, found)
        return found["metadata"]["name"]

    def make_kubevirt(self):
        path = KUBEVIRT.rpartition("/")[0]
        self.kube.made(path, named("KubeVirt", "kubevirt", "kubevirt.io/v1", spec={}))
        self.kube.patched(KUBEVIRT + "/status", {"status": {
            "phase": "Deployed", "defaultArchitecture": "amd64", "observedKubeVirtRegistry": "example.org/kv", "observedKubeVirtVersion": e2e.KUBEVIRT_RELEASE,
            "observedDeploymentConfig": json.dumps({"imagePrefix": "p-", "GsImage": "gs"})}})

    def make_account(self):
        answer = self.kube.made("/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-apiserver/token",
                                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        with open(os.path.join(self.folder, "token"), "w") as file:
            file.write(answer["status"]["token"])
        self.kube.write_kubeconfig("kubeconfig", {"tokenFile": "token"})

    def register(self, port):
        """The webhooks, and the group as one of the API server's own."""
        authority = base64.b64encode(e2e.read(self.folder, "serving-ca.crt").encode()).decode()
        self.kube.made("/api/v1/namespaces/kubevirt/services", named("Service", "virt-api", spec={"type": "ExternalName", "externalName": "localhost"}))
        service = {"namespace": "kubevirt", "name": "virt-api", "port": port}
        for kind, word in (("Mutating", "mutate"), ("Validating", "validate")):
            hooks = [self.hook(row, service, authority) for row in e2e.WEBHOOKS if word in row[0]]
            self.kube.made(f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations",
                           named(kind + "WebhookConfiguration", "virt-api", "admissionregistration.k8s.io/v1", webhooks=hooks))
        for version in ("v1", "v1alpha3"):
            name = f"{version}.subresources.kubevirt.io"
            self.kube.made("/apis/apiregistration.k8s.io/v1/apiservices", named("APIService", name, "apiregistration.k8s.io/v1", spec={
                "group": "subresources.kubevirt.io", "version": version, "groupPriorityMinimum": 1000, "versionPriority": 15, "service": service,
                "caBundle": authority}))
            cluster.until(f"{name} is available", lambda: self.condition("/apis/apiregistration.k8s.io/v1/apiservices/" + name, "Available") == "True", DEADLINE_S)

    @staticmethod
    def hook(row, service, authority):
        path, group, version, resource, part, _ = row
        hook = {"name": path[1:] + ".kubevirt.io", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "timeoutSeconds": 10,
                "clientConfig": {"service": {**service, "path": path}, "caBundle": authority},
                "rules": [{"operations": ["CREATE"] if path in CREATES else ["UPDATE"] if path in UPDATES else ["CREATE", "UPDATE"],
                           "apiGroups": [group], "apiVersions": [version], "resources": [resource + "/" + part if part else resource]}]}
        if path == "/virt-launcher-pod-mutate":
            hook.update(objectSelector={"matchLabels": {"kubevirt.io": "virt-launcher"}}, failurePolicy="Ignore")
        if path == "/pod-eviction-validate":
            hook["matchConditions"] = [{"name": "only-vms", "expression": 'object.metadata.name.startsWith("virt-launcher")'}]
        return hook


class StandInNode:
    """A node with a handler, as objects and as a process that echoes."""

    def __init__(self, kube, folder):
        self.kube, self.pki, self.process = kube, os.path.join(folder, "nodes"), None
        self.port, self.guest_port = e2e.free_port(), e2e.free_port()
        os.mkdir(self.pki)
        node_side.make_pki(self.pki)

    def start(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in_node.py")
        self.process = subprocess.Popen([sys.executable, script, "--port", str(self.port), "--guest-port", str(self.guest_port), "--pki", self.pki],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.kube.made("/api/v1/nodes", named("Node", NODE))
        self.kube.made("/api/v1/namespaces/kubevirt/configmaps", named("ConfigMap", "kubevirt-ca", data={"ca-bundle": e2e.read(self.pki, "ca.crt")}))
        pods = "/api/v1/namespaces/kubevirt/pods"
        self.kube.made(pods, named("Pod", "virt-handler-1", meta={"labels": {"kubevirt.io": "virt-handler"}},
                                   spec={"nodeName": NODE, "containers": [{"name": "c", "image": "i"}]}))
        self.kube.patched(pods + "/virt-handler-1/status", {"status": {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}})
        return self

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()


class World:
    """All of it, running. One serves the tests of all classes."""

    def __init__(self, clean_up):
        self.folder = tempfile.mkdtemp(prefix="virtgate-real-kube-")
        clean_up(shutil.rmtree, self.folder, ignore_errors=True)
        self.kube = Kube(self.folder)
        clean_up(self.kube.stop)
        self.kube.start()
        self.kube.write_kubeconfig("admin.kubeconfig", {"client-certificate": f"{self.folder}/admin.crt", "client-key": f"{self.folder}/admin.key"})
        self.installer = Installer(self.kube, self.folder)
        self.installer.install()
        self.node = StandInNode(self.kube, self.folder)
        clean_up(self.node.stop)
        self.node.start()
        cluster.make_authority(self.folder, "serving-ca")
        cluster.make_certificate(self.folder, "serving-ca", "serving", "virt-api.kubevirt.pod.cluster.local", "serverAuth",
                                 names="DNS:virt-api.kubevirt.svc,IP:127.0.0.1")
        self.gateway = cluster.Gateway(self.folder, "--console-server-port", str(self.node.port), "--handler-cert-file", f"{self.node.pki}/client.crt",
                                       "--handler-key-file", f"{self.node.pki}/client.key", "--allow-cache-seconds", "0",
                                       "--guest-networks", "127.0.0.0/8").start()
        clean_up(self.gateway.stop)
        self.installer.register(self.gateway.port)


WORLD = None


def setUpModule():
    global WORLD
    if why_not():
        print("SKIPPED: " + why_not(), file=sys.stderr)
    else:
        WORLD = World(unittest.addModuleCleanup)


@unittest.skipIf(why_not(), "no kube-apiserver and etcd to run under")
class RealKube(unittest.TestCase):
    """Tests leave the cluster as they found it, but for objects with names of their own."""

    def setUp(self):
        self.kube, self.gateway, self.node, self.installer, self.folder = WORLD.kube, WORLD.gateway, WORLD.node, WORLD.installer, WORLD.folder

    def machine(self, name, **spec):
        return self.kube.made(VMS, named("VirtualMachine", name, "kubevirt.io/v1", spec={"template": cluster.TEMPLATE, "runStrategy": "Manual", **spec}))

    def instance(self, name, spec=None, **status):
        """A running one, as the controller would leave it."""
        self.kube.made(VMIS, named("VirtualMachineInstance", name, "kubevirt.io/v1", spec=spec or cluster.TEMPLATE["spec"]))
        return self.kube.patched(f"{VMIS}/{name}", {"status": {
            "phase": "Running", "nodeName": NODE, "interfaces": [{"name": "default", "ipAddress": "127.0.0.1"}],
            "conditions": [{"type": "LiveMigratable", "status": "True"}], **status}}, CONTROLLER)

    def put(self, path, body=None, headers=None):
        return self.kube.ask("PUT", path, "" if body is None else body, headers)

    def starts(self, name):
        self.machine(name)
        code, answer = self.put(OF_VM + name + "/start")
        self.assertEqual(code, 202, answer)
        found = self.kube.good("GET", f"{VMS}/{name}")
        self.assertEqual(found["status"]["stateChangeRequests"], [{"action": "Start"}])


class Registration(RealKube):
    def test_every_definition_is_sound(self):
        self.assertGreater(len(self.installer.names), 15)
        for name in self.installer.names:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name
            self.assertIn(self.installer.condition(path, "NonStructuralSchema"), (None, "False"), name)
            self.assertEqual(self.installer.condition(path, "NamesAccepted"), "True", name)

    def test_discovery(self):
        found = self.kube.good("GET", GROUP)
        self.assertEqual([v["version"] for v in found["versions"]], ["v1", "v1alpha3"])
        for version in ("v1", "v1alpha3"):
            code, text = self.kube.kubectl("get", "--raw", f"{GROUP}/{version}")
            self.assertEqual(code, 0, text)
            self.assertIn("virtualmachines/start", [r["name"] for r in json.loads(text)["resources"]])
        code, text = self.kube.kubectl("api-resources", "--api-group", "kubevirt.io")
        self.assertEqual(code, 0, text)
        self.assertIn("virtualmachineinstances", text)

    def test_aggregated_discovery(self):
        def group():
            found = self.kube.good("GET", "/apis", headers={"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
            self.assertEqual(found["kind"], "APIGroupDiscoveryList")
            versions = [v for item in found["items"] if item["metadata"]["name"] == "subresources.kubevirt.io" for v in item["versions"]]
            return [v["version"] for v in versions if v.get("freshness") == "Current"] == ["v1", "v1alpha3"]
        cluster.until("the group is in the aggregated document", group, DEADLINE_S)

    def test_openapi(self):
        version, start = "apis/subresources.kubevirt.io/v1", OF_VM.replace(NAMESPACE, "{namespace}") + "{name}/start"
        cluster.until("the group is in the list", lambda: version in self.kube.good("GET", "/openapi/v3")["paths"], DEADLINE_S)
        place = self.kube.good("GET", "/openapi/v3")["paths"][version]["serverRelativeURL"]
        self.assertIn(start, self.kube.good("GET", place)["paths"])
        cluster.until("the group is in the old document", lambda: start in self.kube.good("GET", "/openapi/v2")["paths"], DEADLINE_S)
        code, text = self.kube.kubectl("explain", "virtualmachines.spec.runStrategy")
        self.assertEqual(code, 0, text)

    def test_documents_for_everybody(self):
        nobody_special = {"Impersonate-User": "zoe", "Impersonate-Group": "system:authenticated"}
        self.assertEqual(self.kube.good("GET", BASE + "/version", headers=nobody_special)["gitVersion"], e2e.KUBEVIRT_RELEASE)
        self.assertEqual(self.kube.good("GET", BASE + "/guestfs", headers=nobody_special),
                         {"registry": "example.org/kv", "tag": e2e.KUBEVIRT_RELEASE, "digest": "", "imagePrefix": "p-", "gsImage": "gs"})
        health = self.kube.good("GET", BASE + "/healthz")
        self.assertEqual(health["apiserver"]["connectivity"], "ok")
        self.assertEqual(health["apiserver"]["version"]["gitVersion"], self.kube.good("GET", "/version")["gitVersion"])
        self.assertEqual(health["config-resource-version"], self.kube.good("GET", KUBEVIRT)["metadata"]["resourceVersion"])


class Webhooks(RealKube):
    def test_a_bad_machine_is_refused_with_every_cause(self):
        bad = named("VirtualMachine", "bad", "kubevirt.io/v1", spec={"runStrategy": "Halted", "template": {"spec": {
            "domain": {"devices": {"disks": [{"name": "a", "disk": {"bus": "nope"}}]}, "memory": {"guest": "64Mi"}},
            "volumes": [{"name": "b", "containerDisk": {"image": "i"}}]}}})
        code, answer = self.kube.ask("POST", VMS, bad)
        self.assertEqual((code, answer["reason"]), (422, "Invalid"), answer)
        fields = {cause["field"] for cause in answer["details"]["causes"]}
        self.assertLessEqual({"spec.template.spec.domain.devices.disks[0].name", "spec.template.spec.domain.devices.disks[0].disk.bus"}, fields, answer)
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(bad))
        self.assertEqual(code, 1, text)
        self.assertIn("disks[0]", text)
        self.assertEqual(self.kube.ask("GET", VMS + "/bad")[0], 404)

    def test_a_good_machine_is_defaulted(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.virtual_machine("good")))
        self.assertEqual(code, 0, text)
        spec = self.kube.good("GET", VMS + "/good")["spec"]["template"]["spec"]
        self.assertTrue(spec["architecture"])
        self.assertTrue(spec["domain"]["machine"]["type"])

    def test_an_instance_is_defaulted_and_guarded(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.instance("alone")))
        self.assertEqual(code, 0, text)
        found = self.kube.good("GET", VMIS + "/alone")
        self.assertTrue(found["spec"]["domain"]["firmware"]["uuid"])
        code, text = self.kube.kubectl("patch", "vmi", "alone", "--type=merge", "-p", '{"spec":{"domain":{"memory":{"guest":"128Mi"}}}}')
        self.assertEqual(code, 1, text)

    def test_the_older_version(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps({**kubectl_side.virtual_machine("older"), "apiVersion": "kubevirt.io/v1alpha3"}))
        self.assertEqual(code, 0, text)
        self.assertTrue(self.kube.good("GET", VMS + "/older")["spec"]["template"]["spec"]["architecture"], "defaulted all the same")

    def test_apply_on_the_servers_side(self):
        machine = json.dumps(kubectl_side.virtual_machine("applied"))
        for _ in range(2):
            code, text = self.kube.kubectl("apply", "--server-side", "-f", "-", stdin=machine)
            self.assertEqual(code, 0, text)
        code, text = self.kube.kubectl("delete", "vm", "applied", "--wait=false")
        self.assertEqual(code, 0, text)

    def test_every_kind_can_be_created(self):
        objects = [kubectl_side.replica_set("set", 1), kubectl_side.pool("pool", 1),
                   kubectl_side.instancetype("VirtualMachineInstancetype", "it"), kubectl_side.instancetype("VirtualMachineClusterInstancetype", "cit")]
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.listed(*objects)))
        self.assertEqual(code, 0, text)
        code, text = self.kube.kubectl("scale", "vmirs/set", "--replicas=3")
        self.assertEqual(code, 0, text)
        self.assertEqual(self.kube.kubectl("get", "vmirs", "set", "-o", "jsonpath={.spec.replicas}"), (0, "3"))

    def test_rules_look_objects_up(self):
        migration = named("VirtualMachineInstanceMigration", "lost", "kubevirt.io/v1", spec={"vmiName": "not-there"})
        code, answer = self.kube.ask("POST", MIGRATIONS, migration)
        self.assertGreaterEqual(code, 400, answer)
        self.assertIn("not-there", answer["message"])

    def test_an_eviction_becomes_a_migration(self):
        self.instance("guarded", spec={**cluster.TEMPLATE["spec"], "evictionStrategy": "LiveMigrate"})
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        self.kube.made(pods, named("Pod", "virt-launcher-guarded", meta={"labels": {"kubevirt.io": "virt-launcher"},
                                                                        "annotations": {"kubevirt.io/domain": "guarded"}},
                                   spec={"nodeName": NODE, "containers": [{"name": "c", "image": "i"}]}))
        eviction = named("Eviction", "virt-launcher-guarded", "policy/v1")
        code, answer = self.kube.ask("POST", pods + "/virt-launcher-guarded/eviction?dryRun=All", {**eviction, "deleteOptions": {"dryRun": ["All"]}})
        self.assertEqual(code, 429, answer)
        self.assertFalse(self.kube.good("GET", VMIS + "/guarded")["status"].get("evacuationNodeName"))
        code, answer = self.kube.ask("POST", pods + "/virt-launcher-guarded/eviction", eviction)
        self.assertEqual(code, 429, answer)
        self.assertEqual(self.kube.good("GET", VMIS + "/guarded")["status"]["evacuationNodeName"], NODE)
        code, answer = self.put(OF_VMI + "guarded/evacuate/cancel", {"evacuationNodeName": NODE})
        self.assertEqual(code, 200, answer)
        self.assertFalse(self.kube.good("GET", VMIS + "/guarded")["status"].get("evacuationNodeName"))


class Actions(RealKube):
    def test_start_and_stop(self):
        self.starts("worker")
        empty = os.path.join(self.folder, "empty.json")
        with open(empty, "w") as file:
            file.write("{}")
        self.machine("halted", runStrategy="Halted")
        code, text = self.kube.kubectl("replace", "--raw", OF_VM + "halted/start", "-f", empty)
        self.assertEqual(code, 0, text)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Always")
        code, text = self.kube.kubectl("replace", "--raw", OF_VM + "halted/start", "-f", empty)
        self.assertEqual(code, 1, text)
        self.assertIn("Always", text)
        code, answer = self.put(OF_VM.replace("/v1/", "/v1alpha3/", 1) + "halted/stop", {"dryRun": ["All"]})
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Always")
        code, answer = self.put(OF_VM + "halted/stop")
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Halted")

    def test_a_word_for_dry_runs_that_nobody_knows(self):
        self.machine("rehearsed", runStrategy="Halted")
        code, answer = self.put(OF_VM + "rehearsed/start", {"dryRun": ["all"]})
        self.assertEqual((code, answer["reason"]), (500, "InternalError"), answer)
        self.assertEqual(self.kube.good("GET", VMS + "/rehearsed")["spec"]["runStrategy"], "Halted")

    def test_a_patch_that_does_not_apply_has_no_details(self):
        """By which a race is told from a refusal."""
        self.machine("raced", runStrategy="Halted")
        patch = [{"op": "test", "path": "/spec/runStrategy", "value": "Always"}, {"op": "replace", "path": "/spec/runStrategy", "value": "Manual"}]
        code, answer = self.kube.ask("PATCH", VMS + "/raced", patch, {"Content-Type": "application/json-patch+json"})
        self.assertEqual((code, answer["reason"], answer.get("details") or {}), (422, "Invalid", {}), answer)

    def test_restart_and_stop_of_a_running_one(self):
        self.machine("runner", runStrategy="Always")
        uid = self.instance("runner")["metadata"]["uid"]
        code, answer = self.put(OF_VM + "runner/restart", {"gracePeriodSeconds": 0})
        self.assertEqual(code, 202, answer)
        found = self.kube.good("GET", VMS + "/runner")
        self.assertEqual(found["status"]["stateChangeRequests"], [{"action": "Stop", "uid": uid}, {"action": "Start"}])
        self.assertEqual(self.kube.good("GET", VMIS + "/runner")["spec"]["terminationGracePeriodSeconds"], 1)
        code, answer = self.put(OF_VM + "runner/restart")
        self.assertEqual(code, 500, answer)
        code, answer = self.put(OF_VM + "runner/stop", {"gracePeriod": 5})
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/runner")["spec"]["runStrategy"], "Halted")

    def test_migrate(self):
        self.machine("mover", runStrategy="Always")
        self.instance("mover")
        code, answer = self.put(OF_VM + "mover/migrate")
        self.assertEqual(code, 202, answer)
        made = [m for m in self.kube.good("GET", MIGRATIONS)["items"] if m["spec"]["vmiName"] == "mover"]
        self.assertEqual(len(made), 1)
        self.assertTrue(made[0]["metadata"]["name"].startswith("kubevirt-migrate-vm-"))
        self.assertEqual(made[0]["metadata"]["labels"]["kubevirt.io/vmi-name"], "mover")
        code, answer = self.put(OF_VM + "mover/migrate")
        self.assertEqual((code, answer["reason"]), (409, "Conflict"), answer)
        self.assertIn(made[0]["metadata"]["name"], answer["message"])
        self.machine("stayer")
        self.assertEqual(self.put(OF_VM + "stayer/migrate")[0], 404)

    def test_volumes(self):
        self.machine("plugged", runStrategy="Halted")
        added = {"name": "v", "disk": {"disk": {"bus": "scsi"}}, "volumeSource": {"persistentVolumeClaim": {"claimName": "c"}}}
        code, answer = self.put(OF_VM + "plugged/addvolume", added)
        self.assertEqual(code, 202, answer)
        volumes = self.kube.good("GET", VMS + "/plugged")["spec"]["template"]["spec"]["volumes"]
        self.assertEqual(volumes, [{"name": "v", "persistentVolumeClaim": {"claimName": "c", "hotpluggable": True}}])
        code, answer = self.put(OF_VM + "plugged/addvolume", added)
        self.assertEqual((code, answer["reason"], answer["details"]["kind"]), (409, "Conflict", "virtualmachine"), answer)
        code, answer = self.put(OF_VM + "plugged/addvolume", {**added, "name": "w", "volumeSource": {"persistentVolumeClaim": {"claimName": "d"}},
                                                              "disk": {"disk": {"bus": "nope"}}})
        self.assertEqual((code, answer["reason"]), (422, "Invalid"), answer)
        code, answer = self.put(OF_VM + "plugged/removevolume", {"name": "v"})
        self.assertEqual(code, 202, answer)

    def test_what_the_node_does(self):
        self.instance("paused")
        code, answer = self.put(OF_VMI + "paused/pause")
        self.assertEqual(code, 200, answer)
        self.instance("nowhere", nodeName="node99")
        code, answer = self.put(OF_VMI + "nowhere/pause")
        self.assertEqual((code, answer["reason"]), (400, "BadRequest"), answer)

    def test_expansion(self):
        self.kube.made("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes",
                       kubectl_side.instancetype("VirtualMachineClusterInstancetype", "wide"))
        self.machine("typed", instancetype={"name": "wide", "kind": "VirtualMachineClusterInstancetype"},
                     template={"spec": {"domain": {"devices": {}}}})
        found = self.kube.good("GET", OF_VM + "typed/expand-spec")
        self.assertEqual(found["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"], 2)
        self.assertNotIn("instancetype", found["spec"])
        sent = self.kube.good("PUT", f"{BASE}/namespaces/{NAMESPACE}/expand-vm-spec", named("VirtualMachine", "sent", "kubevirt.io/v1", spec={
            "runStrategy": "Halted", "instancetype": {"name": "wide"}, "template": {"spec": {"domain": {"devices": {}}}}}))
        self.assertEqual(sent["spec"]["template"]["spec"]["domain"]["memory"]["guest"], "1Gi")

    def test_who_may_not_is_told_so(self):
        self.machine("private")
        zoe = {"Impersonate-User": "zoe", "Impersonate-Group": "dev"}
        code, answer = self.put(OF_VM + "private/start", headers=zoe)
        self.assertEqual((code, answer["reason"]), (403, "Forbidden"), answer)
        code, text = self.kube.kubectl("--as=zoe", "--as-group=dev", "get", "--raw", OF_VMI + "private/guestosinfo")
        self.assertEqual(code, 1, text)
        self.assertIn("Forbidden", text.replace("forbidden", "Forbidden"))
        self.kube.made(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", named(
            "RoleBinding", "dev-edits", "rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            subjects=[{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "dev"}]))
        cluster.until("the role counts", lambda: self.put(OF_VM + "private/start", headers=zoe)[0] == 202, DEADLINE_S)
        # The API server looks at the first part of the name alone and lets it pass; the gateway asks about the whole.
        code, answer = self.kube.ask("GET", OF_VMI + "private/vnc/screenshot", headers=zoe)
        self.assertEqual(code, 401, answer)
        code, answer = self.kube.ask("GET", OF_VMI + "private/vnc", headers=zoe)
        self.assertEqual(code, 404, answer)

    def test_only_the_front_proxy_is_believed(self):
        code, text = self.gateway.ask("PUT", OF_VM + "private/start", headers=cluster.ADMIN)
        self.assertEqual(code, 401, text)
        with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
            self.gateway.ask("PUT", OF_VM + "private/start", headers=cluster.ADMIN, certificate="admin")


class Streams(RealKube):
    def world(self, tls=None):
        """Where the clients of streams connect: the API server and not the gateway."""
        return types.SimpleNamespace(server=types.SimpleNamespace(host="127.0.0.1", port=self.kube.port), tls=tls or self.kube.context, admin={})

    def echo(self, path, *messages):
        """Sends them, awaits them back, and returns the code of the close."""
        async def run():
            client = await streams.Client.open(self.world(), path)
            for message in messages:
                await client.echo(message)
            return (await client.close()).code
        return asyncio.run(asyncio.wait_for(run(), DEADLINE_S))

    def refusal(self, path):
        with self.assertRaises(streams.Refused) as refused:
            asyncio.run(asyncio.wait_for(streams.Client.open(self.world(), path), DEADLINE_S))
        return refused.exception

    def test_console_and_display(self):
        self.instance("shown")
        for name in ("console", "vnc"):
            self.assertEqual(self.echo(OF_VMI + "shown/" + name, b"hello", bytes(range(256)) * 4096), 1000, name)

    def test_browsers_bring_their_token_among_the_subprotocols(self):
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        self.kube.made(accounts, named("ServiceAccount", "browser"))
        self.kube.made(RBAC + "/clusterrolebindings", named(
            "ClusterRoleBinding", "browser", "rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            subjects=[{"kind": "ServiceAccount", "name": "browser", "namespace": NAMESPACE}]))
        token = self.kube.made(accounts + "/browser/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
        spelled = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        self.instance("browsed")

        async def run():
            client = await streams.Client.open(self.world(ssl.create_default_context(cafile=f"{self.folder}/kube-ca.crt")), OF_VMI + "browsed/console",
                                               protocols=f"base64url.bearer.authorization.k8s.io.{spelled}, plain.kubevirt.io")
            self.assertEqual(client.headers["sec-websocket-protocol"], "plain.kubevirt.io")
            await client.echo(b"from a browser")
            return (await client.close()).code
        self.assertEqual(asyncio.run(asyncio.wait_for(run(), DEADLINE_S)), 1000)

    def test_ports_of_the_guest(self):
        self.machine("served")
        uid = self.kube.good("GET", VMS + "/served")["metadata"]["uid"]
        self.instance("served")
        self.assertEqual(self.echo(f"{OF_VMI}served/portforward/{self.node.guest_port}", b"GET /", bytes(100000)), 1000)
        self.assertEqual(self.echo(f"{OF_VMI}served/portforward/{self.node.guest_port}/udp", b"datagram"), 1000)
        self.assertEqual(self.refusal(f"{OF_VM}served/portforward/{self.node.guest_port}").status, 409)
        self.kube.patched(VMS + "/served/status", {"status": {"created": True}})
        self.kube.patched(VMIS + "/served", {"metadata": {"ownerReferences": [
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "served", "uid": uid, "controller": True}]}}, CONTROLLER)
        self.assertEqual(self.echo(f"{OF_VM}served/portforward/{self.node.guest_port}", b"through the machine"), 1000)

    def test_what_cannot_be_opened_is_plain_http(self):
        self.assertEqual(self.refusal(OF_VMI + "missing/console").status, 404)
        self.instance("failed", phase="Failed")
        refused = self.refusal(OF_VMI + "failed/console")
        self.assertEqual(refused.status, 409)
        self.assertEqual(json.loads(refused.body)["reason"], "Conflict")


class Change(RealKube):
    """What goes on while the servers behind come and go. Each test leaves all of them running."""

    def graph(self, name):
        return self.kube.ask("GET", OF_VM + name + "/objectgraph", headers={"Content-Type": "application/json"})

    def set_gates(self, *gates):
        self.kube.patched(KUBEVIRT, {"spec": {"configuration": {"developerConfiguration": {"featureGates": list(gates)}}}})

    def follows(self, name):
        """A change of the configuration comes through."""
        self.machine(name)
        for gates, wanted in (((), 400), (("ObjectGraph",), 200), ((), 400)):
            self.set_gates(*gates)
            cluster.until(f"gates {gates} count", lambda: self.graph(name)[0] == wanted, DEADLINE_S)

    def works(self, name):
        """The API server takes part again: webhooks, reviews, look-ups and watches."""
        def answered():
            code, _ = self.kube.ask("GET", BASE + "/version")
            return code == 200 and self.gateway.ask("GET", "/readyz")[0] == 200
        cluster.until("the group answers again", answered, DEADLINE_S)
        self.starts(name)
        self.follows(name + "-2")

    def test_configuration_is_live(self):
        self.follows("configured")

    def test_kube_apiserver_restarts(self):
        self.starts("before-restart")
        self.kube.server.stop()
        cluster.until("the gateway sees it", lambda: self.gateway.ask("GET", "/readyz")[0] != 200, DEADLINE_S)
        self.assertEqual(self.gateway.ask("GET", "/livez")[0], 200)
        self.kube.start_server()
        self.works("after-restart")

    def test_kube_apiserver_dies(self):
        self.kube.server.kill()
        self.kube.start_server()
        self.works("after-death")

    def test_streams_end_when_the_api_server_dies(self):
        self.instance("cut")

        async def run():
            world = types.SimpleNamespace(server=types.SimpleNamespace(host="127.0.0.1", port=self.kube.port), tls=self.kube.context, admin={})
            client = await streams.Client.open(world, OF_VMI + "cut/console")
            await client.echo(b"while it lives")
            self.assertIn(gauge, self.gateway.ask("GET", "/metrics")[1])
            self.kube.server.kill()
            return await client.end()
        gauge = 'kubevirt_console_active_connections{namespace="default",vmi="cut"}'
        self.assertIsNone(asyncio.run(asyncio.wait_for(run(), DEADLINE_S)).code)
        cluster.until("the stream is not counted any more", lambda: gauge not in self.gateway.ask("GET", "/metrics")[1], DEADLINE_S)
        self.kube.start_server()
        self.works("after-streams")

    def test_what_happened_during_an_absence_is_caught_up_with(self):
        """The gateway's watches continue where nobody can continue them: what they know was forgotten."""
        self.machine("absent")
        cluster.until("the gate is off", lambda: self.graph("absent")[0] == 400, DEADLINE_S)
        os.kill(self.gateway.process.pid, signal.SIGSTOP)
        try:
            self.set_gates("ObjectGraph")
            for number in range(20):
                self.kube.patched(KUBEVIRT, {"metadata": {"annotations": {"n": str(number)}}})
            self.kube.compact()
            self.kube.server.kill()
            self.kube.start_server()
        finally:
            os.kill(self.gateway.process.pid, signal.SIGCONT)
        cluster.until("the gate is on", lambda: self.graph("absent")[0] == 200, DEADLINE_S)
        self.works("after-absence")

    def test_its_account_gets_another_token(self):
        account = "/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-apiserver"
        old = e2e.read(self.folder, "token")
        self.kube.good("DELETE", account)
        self.kube.made(account.rpartition("/")[0], named("ServiceAccount", "kubevirt-apiserver"))
        self.installer.make_account()
        cluster.until("the old token is nobody's", lambda: self.kube.ask_with_token(old, KUBEVIRT) == 401, DEADLINE_S)
        self.works("after-token")

    def test_the_front_proxy_gets_other_keys(self):
        cluster.make_authority(self.folder, "front-ca")
        cluster.make_certificate(self.folder, "front-ca", "front", "front-proxy-client", "clientAuth")
        self.kube.server.stop()
        self.kube.start_server()
        self.works("after-keys")

    def test_etcd_restarts(self):
        self.kube.etcd.stop()
        self.kube.start_etcd()
        cluster.until("kube-apiserver is ready again", self.kube.ready, DEADLINE_S)
        self.works("after-etcd")

    def test_the_gateway_restarts(self):
        self.gateway.stop()
        code, answer = self.kube.ask("POST", VMS, kubectl_side.virtual_machine("while-away"))
        self.assertEqual(code, 500, answer)
        self.gateway.start()
        self.works("after-gateway")


if __name__ == "__main__":
    unittest.main(verbosity=2)
