"""What the attacks share: a server, users with few rights, raw bytes over TLS, and somebody else who wants to be served.

Every attack goes to a server that the test started itself on loopback. VIRTGATE_LONG=1 makes the attacks long; without
it they are as short as they can be and still fail on a server without the defence.
"""
import json
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.serve import BINARY, DEADLINE_S, SANITIZED, Scratch, Server, free_port, openssl, read, review  # noqa: E402

__all__ = ["BINARY", "SANITIZED", "Server", "free_port", "openssl", "read", "review"]  # of the other end-to-end tests, for attacks too

LONG = os.environ.get("VIRTGATE_LONG", "") not in ("", "0")

# Work that is always the same: reading and sorting JSON. As nice as the threads on which the server has its large bodies
# (worker_nice in src/base/off_loop.cpp), so that what else the machine does takes as much from the one as from the other.
REFERENCE_WORK = """
import gc, json, os, sys, time
os.nice(5)
gc.disable()
text = json.dumps({f"key-{i:06d}": {"name": f"value-{i}", "items": [i, i * 7 % 1000, str(i)]} for i in range(20000)})
while sys.stdin.readline():
    began, cpu_began = time.monotonic(), time.process_time()
    for _ in range(5):
        sorted(json.loads(text), key=lambda name: name[::-1])
    print(time.process_time() - cpu_began, time.monotonic() - began, flush=True)
"""
# What it takes where the limits of these tests were chosen, while nothing else runs.
REFERENCE_S = 0.085


class Slowness:
    """By how much this machine, at this moment, is slower than the one where limits of time were chosen.

    Measured beside whatever was too slow, since others who use the machine come and go. Two things are told apart. `speed`
    is how much more CPU time the same work takes; limits grow with it. `crowded` is how much longer it took than its CPU
    time, since others had the CPU. That varies by far more than it is worth (twentyfold for one and twofold for the next),
    so no time is divided by it as it is: where there is a crowd, CPU time is what can be judged.
    """

    CROWDED_MAX = 4

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", REFERENCE_WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def now(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        cpu_s, wall_s = map(float, self.process.stdout.readline().split())
        self.speed, self.crowded = max(1.0, cpu_s / REFERENCE_S), wall_s / cpu_s
        return self

    def waiting(self):
        """What somebody who waits for a small answer has to allow for."""
        return self.speed * min(self.CROWDED_MAX, max(1.0, self.crowded))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Attack(Scratch):
    """A test with a server of its own. `self.one` is it, `self.call` asks it as an administrator."""

    flags = ()

    def setUp(self):
        super().setUp()
        self.one = self.server(*self.flags).start()

    def slowness(self):
        if not hasattr(self, "reference"):
            self.reference = Slowness()
            self.addCleanup(self.reference.close)
        return self.reference.now()

    def call(self, method, path, body=None, token=None, headers=None):
        """Asks, and returns code and answer (a document where it is JSON)."""
        given = {"Authorization": "Bearer " + (token or self.one.token()), "Content-Type": "application/json", **(headers or {})}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        code, _, text = self.one.ask(method, path, body=body, headers=given)
        try:
            return code, json.loads(text)
        except ValueError:
            return code, text

    def must(self, method, path, body=None, token=None):
        code, answer = self.call(method, path, body, token)
        self.assertLess(code, 300, answer)
        return answer

    def namespace(self, name):
        self.must("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def user(self, namespace, name, rules):
        """A service account with these rights in its namespace and no others; returns its token."""
        core, roles = f"/api/v1/namespaces/{namespace}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
        meta = {"name": name, "namespace": namespace}
        self.must("POST", f"{core}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        self.must("POST", f"{roles}/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules})
        self.must("POST", f"{roles}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
        return self.must("POST", f"{core}/serviceaccounts/{name}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]

    def raw(self, certificate=None):
        """A TLS connection on which any bytes can be sent."""
        plain = socket.create_connection((self.one.host, self.one.port), timeout=DEADLINE_S)
        return self.one.context(certificate).wrap_socket(plain, server_hostname=self.one.host)

    def alive(self):
        self.assertIsNone(self.one.process.poll(), "the server ended: " + self.one.errors()[-2000:] if self.one.process.poll() is not None else "")
        self.assertEqual(self.one.get("/livez")[0], 200)


class Bystander:
    """Somebody who asks for /livez again and again on one connection while an attack goes on: what did it cost them?"""

    def __init__(self, server, path="/livez", pause_s=0.002, headers=None):
        self.server, self.path, self.pause_s, self.headers = server, path, pause_s, headers or {}
        self.took_s, self.failures = [], []
        self.stopping = threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        connection = self.server.connect()
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                connection.request("GET", self.path, headers=self.headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.failures.append(answer.status)
            except OSError as error:
                self.failures.append(repr(error))
                connection = self.server.connect()
            self.took_s.append(time.monotonic() - began)
            self.stopping.wait(self.pause_s)
        connection.close()

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def percentile_s(self, share):
        ordered = sorted(self.took_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
