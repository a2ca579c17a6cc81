"""A cluster in miniature: `virtgate serve --api-only` as API server, and virtgate in cluster mode in front of it."""
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import time
import unittest
from support import serve as e2e

MAPS = "/api/v1/namespaces/kube-system/configmaps"
PROXY_MAP = "extension-apiserver-authentication"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
BASE = "/apis/subresources.kubevirt.io/v1"
OF_VM = BASE + "/namespaces/default/virtualmachines/"
TEMPLATE = {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}
ADMIN = {"X-Remote-User": "root-admin", "X-Remote-Group": "system:masters"}
ZOE = {"X-Remote-User": "zoe", "X-Remote-Group": "dev"}


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)


def make_authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.crt")


def make_certificate(folder, authority, name, common_name, usage, names="DNS:localhost,IP:127.0.0.1"):
    with open(os.path.join(folder, name + ".ext"), "w") as file:
        file.write(f"extendedKeyUsage={usage}\nsubjectAltName={names}\n")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={common_name}", "-keyout", name + ".new",
            "-out", name + ".csr")
    openssl(folder, "x509", "-req", "-in", name + ".csr", "-CA", authority + ".crt", "-CAkey", authority + ".key", "-CAcreateserial", "-days", "2",
            "-extfile", name + ".ext", "-out", name + ".crt.new")
    os.replace(os.path.join(folder, name + ".new"), os.path.join(folder, name + ".key"))
    os.replace(os.path.join(folder, name + ".crt.new"), os.path.join(folder, name + ".crt"))


def until(what, holds, seconds=e2e.DEADLINE_S):
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("did not happen: " + what)
        time.sleep(0.01)


class Gateway:
    """One process of `virtgate cluster`."""

    def __init__(self, folder, *flags, environment=None, host="127.0.0.1", port=None):
        self.folder, self.flags, self.host, self.port = folder, flags, host, port or e2e.free_port()
        self.environment = {**os.environ, **(environment or {})}

    def launch(self):
        self.log = tempfile.TemporaryFile("a+b")  # the process writes at its end, wherever we read
        self.process = subprocess.Popen([e2e.BINARY, "cluster", "--kubeconfig", f"{self.folder}/kubeconfig", "--listen", self.host, "--port", str(self.port),
                                         "--tls-cert-file", f"{self.folder}/serving.crt", "--tls-key-file", f"{self.folder}/serving.key", *self.flags],
                                        stdout=subprocess.DEVNULL, stderr=self.log, env=self.environment)

    def start(self):
        began = time.monotonic()
        self.launch()
        until("the gateway serves", self.serves)
        self.took_s = time.monotonic() - began
        return self

    def serves(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the gateway ended with {self.process.returncode}: {self.errors()}")
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def errors(self):
        return e2e.printed(self.log)

    def context(self, certificate=None, authority="serving-ca"):
        context = ssl.create_default_context(cafile=f"{self.folder}/{authority}.crt")
        if certificate:
            context.load_cert_chain(f"{self.folder}/{certificate}.crt", f"{self.folder}/{certificate}.key")
        return context

    def ask(self, method, path, body=None, headers=None, certificate=None, **more):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context(certificate, **more), timeout=e2e.DEADLINE_S)
        try:
            data = None if body is None else json.dumps(body)
            typed = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method, path, body=data, headers={**typed, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode()
            self.answer_headers = answer.headers
            return answer.status, text
        finally:
            connection.close()

    def as_proxy(self, method, path, user, body=None, certificate="front"):
        return self.ask(method, path, body, user, certificate)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()


class Cluster(unittest.TestCase):
    """An API server with a gateway before it. Tests leave both as they found them, or have their own."""
    flags = ("--allow-cache-seconds", "0")
    role = ("--api-only",)  # of the API server

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="virtgate-cluster-")
        cls.addClassCleanup(e2e.shutil.rmtree, cls.folder, ignore_errors=True)
        for name in ("serving-ca", "proxy-ca", "foreign-ca"):
            make_authority(cls.folder, name)
        make_certificate(cls.folder, "serving-ca", "serving", "virt-api.kubevirt.pod.cluster.local", "serverAuth")
        make_certificate(cls.folder, "proxy-ca", "front", "front-proxy-client", "clientAuth")
        make_certificate(cls.folder, "proxy-ca", "impostor", "somebody-else", "clientAuth")
        make_certificate(cls.folder, "foreign-ca", "foreign", "front-proxy-client", "clientAuth")
        cls.api = e2e.Server(os.path.join(cls.folder, "state"), role=cls.role).start()
        cls.addClassCleanup(cls.api.clean_up)
        data = {"requestheader-client-ca-file": e2e.read(cls.folder, "proxy-ca.crt"), "requestheader-allowed-names": '["front-proxy-client"]',
                "requestheader-username-headers": '["X-Remote-User"]', "requestheader-group-headers": '["X-Remote-Group"]',
                "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]'}
        code, answer = cls.kube("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PROXY_MAP}, "data": data})
        if code == 409:  # a server with nodes has one of its own
            code, answer = cls.kube("PATCH", f"{MAPS}/{PROXY_MAP}", {"data": data}, {"Content-Type": "application/merge-patch+json"})
        assert code in (200, 201), answer
        cls.write_kubeconfig()
        cls.gateway = Gateway(cls.folder, *cls.flags).start()
        cls.addClassCleanup(cls.gateway.stop)

    @classmethod
    def write_kubeconfig(cls):
        """The gateway has virt-api's own account, and no more rights than that."""
        accounts = "/api/v1/namespaces/kubevirt/serviceaccounts"
        cls.kube("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "kubevirt-apiserver"}})
        code, answer = cls.kube("POST", accounts + "/kubevirt-apiserver/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        assert code == 201, answer
        with open(os.path.join(cls.folder, "token"), "w") as file:
            file.write(answer["status"]["token"])
        with open(os.path.join(cls.folder, "kubeconfig"), "w") as file:
            json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{cls.api.port}", "certificate-authority": cls.api.pki("ca.crt")}}],
                       "users": [{"name": "u", "user": {"tokenFile": "token"}}]}, file)

    @classmethod
    def kube(cls, method, path, body=None, headers=None):
        typed = {"Content-Type": "application/json"} if body is not None else {}
        code, _, text = cls.api.ask(method, path, json.dumps(body) if body is not None else None, cls.api.as_admin(**{**typed, **(headers or {})}))
        return code, json.loads(text)

    def made(self, path, body):
        code, answer = self.kube("POST", path, body)
        self.assertEqual(code, 201, answer)
        return answer

    def machine(self, name, **spec):
        return self.made(VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}, "spec": {"template": TEMPLATE, **spec}})

    def change(self, path, edit):
        while True:
            code, found = self.kube("GET", path)
            self.assertEqual(code, 200, found)
            edit(found)
            code, answer = self.kube("PUT", path, found)
            if code != 409:
                self.assertEqual(code, 200, answer)
                return answer
