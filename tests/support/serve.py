"""`virtgate serve --api-only` as a process, a folder for it, and reviews for its webhooks. VIRTGATE_BINARY names the program."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("VIRTGATE_BINARY", "")
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../facts/release.json")) as releases:
    KUBEVIRT_RELEASE = json.load(releases)["kubevirt"]
SANITIZED = os.environ.get("VIRTGATE_SANITIZED", "") != ""
DEADLINE_S = 20
# path, group, version, resource, subresource, kind of the object
WEBHOOKS = [
    ("/pod-eviction-validate", "", "v1", "pods", "eviction", "Eviction"),
    ("/virtualmachineinstances-validate-create", "kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance"),
    ("/virtualmachineinstances-validate-update", "kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance"),
    ("/virtualmachines-validate", "kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine"),
    ("/virtualmachinereplicaset-validate", "kubevirt.io", "v1", "virtualmachineinstancereplicasets", "", "VirtualMachineInstanceReplicaSet"),
    ("/virtualmachinepool-validate", "pool.kubevirt.io", "v1beta1", "virtualmachinepools", "", "VirtualMachinePool"),
    ("/vmipreset-validate", "kubevirt.io", "v1", "virtualmachineinstancepresets", "", "VirtualMachineInstancePreset"),
    ("/migration-validate-create", "kubevirt.io", "v1", "virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration"),
    ("/migration-validate-update", "kubevirt.io", "v1", "virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration"),
    ("/virtualmachinesnapshots-validate", "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", "", "VirtualMachineSnapshot"),
    ("/virtualmachinerestores-validate", "snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", "", "VirtualMachineRestore"),
    ("/virtualmachinebackups-validate", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackups", "", "VirtualMachineBackup"),
    ("/virtualmachinebackuptrackers-validate", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackuptrackers", "", "VirtualMachineBackupTracker"),
    ("/virtualmachineexports-validate", "export.kubevirt.io", "v1", "virtualmachineexports", "", "VirtualMachineExport"),
    ("/virtualmachineinstancetypes-validate", "instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes", "", "VirtualMachineInstancetype"),
    ("/virtualmachineclusterinstancetypes-validate", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes", "", "VirtualMachineClusterInstancetype"),
    ("/virtualmachinepreferences-validate", "instancetype.kubevirt.io", "v1beta1", "virtualmachinepreferences", "", "VirtualMachinePreference"),
    ("/virtualmachineclusterpreferences-validate", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterpreferences", "", "VirtualMachineClusterPreference"),
    ("/status-validate", "kubevirt.io", "v1", "virtualmachines", "status", "VirtualMachine"),
    ("/migration-policy-validate-create", "migrations.kubevirt.io", "v1alpha1", "migrationpolicies", "", "MigrationPolicy"),
    ("/vm-clone-validate-create", "clone.kubevirt.io", "v1beta1", "virtualmachineclones", "", "VirtualMachineClone"),
    ("/plugin-validate", "plugin.kubevirt.io", "v1alpha1", "plugins", "", "Plugin"),
    ("/virtualmachines-mutate", "kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine"),
    ("/virtualmachineinstances-mutate", "kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance"),
    ("/migration-mutate-create", "kubevirt.io", "v1", "virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration"),
    ("/vm-clone-mutate-create", "clone.kubevirt.io", "v1beta1", "virtualmachineclones", "", "VirtualMachineClone"),
    ("/virt-launcher-pod-mutate", "", "v1", "pods", "", "Pod"),
]


MISSED = set()  # said once each, however often is looked


def looked(holds):
    """What it gives, and nothing while a member that it reads is not there yet: who asks quickly sees objects before their controllers did."""
    try:
        return holds()
    except (AttributeError, IndexError, KeyError, TypeError) as missing:
        if repr(missing) not in MISSED:
            MISSED.add(repr(missing))
            print(f"not there yet: {missing!r}")
        return None


def review(group, version, resource, sub_resource, kind, uid="705ab4f5-6393-11e8-b7cc-42010a800002"):
    api_version = f"{group}/{version}" if group else version
    return {
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid, "operation": "CREATE", "name": "sample", "namespace": "default",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": resource}, "subResource": sub_resource,
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": {"apiVersion": api_version, "kind": kind, "metadata": {"name": "sample", "namespace": "default"}},
        },
    }


def read(*parts):
    with open(os.path.join(*parts)) as file:
        return file.read()


def free_port():
    """One that nobody listens on. Not of those that the kernel gives to outgoing connections: it could be one's before it is listened on."""
    first_given = int(read("/proc/sys/net/ipv4/ip_local_port_range").split()[0])
    while True:
        port = random.SystemRandom().randrange(10000, first_given)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def printed(log):
    """What a process has printed into the file so far. The place in the file is the process's as well, so it is not moved."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode()


def openssl(*arguments, given=None):
    return subprocess.run(["openssl", *arguments], input=given, check=True, capture_output=True, text=True).stdout


class Server:
    """One process of `virtgate serve`. start() returns when it answers /healthz; took_s says how long that was."""

    def __init__(self, state, *flags, host="127.0.0.1", port=None, role=("--api-only",)):
        self.state, self.flags, self.host, self.role = state, flags, host, role
        self.port = port or free_port()
        self.process = None
        self.kept = threading.local()

    @property
    def listen(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def pki(self, name):
        return os.path.join(self.state, "pki", name)

    def launch(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([BINARY, "serve", *self.role, "--state", self.state, "--listen", self.listen, *self.flags],
                                        stdout=subprocess.PIPE, stderr=self.log)
        return self

    def start(self):
        began = time.monotonic()
        self.launch()
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.errors()}")
            try:
                if self.get("/healthz")[0] == 200:
                    break
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() - began > DEADLINE_S:
                self.process.kill()
                raise AssertionError("the server did not become healthy: " + self.errors())
            time.sleep(0.002)
        self.took_s = time.monotonic() - began
        return self

    def errors(self):
        return printed(self.log)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.ended()

    def ended(self):
        """Waits for the end, keeps what the server printed, and returns its exit code."""
        try:
            return self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not stop: " + self.errors())
        finally:
            if self.process.stdout and not self.process.stdout.closed:
                self.output = self.process.stdout.read().decode()
                self.process.stdout.close()

    def clean_up(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.ended()
            self.log.close()
        if getattr(self.kept, "connection", None):
            self.kept.connection.close()

    def context(self, certificate=None):
        # Without the authorities of this machine: to read those takes longer than most answers of the server.
        own = self.pki("ca.crt")
        context = ssl.create_default_context(cafile=own) if os.path.exists(own) else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if certificate:
            context.load_cert_chain(*certificate)
        return context

    def connect(self, certificate=None):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context(certificate), timeout=DEADLINE_S)

    def ask(self, *arguments, **more):
        code, headers, body = self.ask_bytes(*arguments, **more)
        return code, headers, body.decode()

    def ask_bytes(self, method, path, body=None, headers=None, certificate=None):
        connection = self.connect(certificate)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def ask_again(self, method, path, body=None, headers=None):
        """As ask() of a GET, on a connection that stays: a handshake costs ten times as much as the answer, and tests that wait ask often."""
        if method != "GET":
            return self.ask(method, path, body=body, headers=headers)
        for attempt in (1, 2):  # the one that stayed may be one to a server that is no more
            connection = self.kept.connection = getattr(self.kept, "connection", None) or self.connect()
            try:
                connection.request(method, path, body=body, headers=headers or {})
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read().decode()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.kept.connection = None
                if attempt == 2:
                    raise

    def begin_review(self, length):
        """A connection on which the server has begun a review and waits for a body of that length."""
        plain = socket.create_connection((self.host, self.port), timeout=DEADLINE_S)
        tls = self.context().wrap_socket(plain, server_hostname=self.host)
        tls.sendall((f"POST /virtualmachines-validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token()}\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n").encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            more = tls.recv(1000)
            assert more, answer
            answer += more
        assert answer.startswith(b"HTTP/1.1 100 "), answer
        return tls

    def token(self):
        return read(self.pki("admin.token")).strip()

    def as_admin(self, **more):
        return {"Authorization": "Bearer " + self.token(), **more}

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="virtgate-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.state = os.path.join(self.folder, "state")

    def server(self, *flags, **more):
        server = Server(more.pop("state", self.state), *flags, **more)
        self.addCleanup(server.clean_up)
        return server

    def until(self, what, holds, deadline_s=60):
        """What it gives, once it gives something."""
        deadline = time.monotonic() + deadline_s
        while not (found := looked(holds)):
            said = self.one.errors()[-3000:] if hasattr(self, "one") else ""
            self.assertLess(time.monotonic(), deadline, f"{what} did not come; {said}")
            time.sleep(0.02)
        return found

    def status(self, answer, code, reason):
        self.assertEqual(answer[0], code, answer[2])
        self.assertEqual(answer[1]["Content-Type"], "application/json")
        document = json.loads(answer[2])
        self.assertEqual((document["kind"], document["apiVersion"], document["status"]), ("Status", "v1", "Failure"))
        self.assertEqual((document["code"], document["reason"]), (code, reason))
        self.assertTrue(document["message"])
