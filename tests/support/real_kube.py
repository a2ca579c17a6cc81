"""A real kube-apiserver with etcd, where VIRTGATE_KUBE_APISERVER and VIRTGATE_ETCD name them."""
import base64
import http.client
import json
import os
import ssl
import subprocess
import sys
from support import cluster
from support import kubectl as kubectl_side
from support import serve as e2e
import stand_in_node as node_side

API_SERVER, ETCD = os.environ.get("VIRTGATE_KUBE_APISERVER", ""), os.environ.get("VIRTGATE_ETCD", "")
KUBECTL, NO_KUBECTL = kubectl_side.kubectl_on_path()
DEADLINE_S = 60
NAMESPACE, NODE = "default", "node01"
VMS, VMIS, MIGRATIONS = (f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/{plural}"
                         for plural in ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"))
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# Only KubeVirt's own accounts may say what a machine is doing.
CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
CREATES = ("/virtualmachineinstances-validate-create", "/migration-validate-create", "/migration-mutate-create", "/vm-clone-mutate-create",
           "/virt-launcher-pod-mutate")
UPDATES = ("/virtualmachineinstances-validate-update", "/migration-validate-update")


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
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../stand_in_node.py")
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
