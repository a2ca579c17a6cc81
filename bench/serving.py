"""One process of `virtgate serve`, for the benchmarks beside this file: start, ask, measure, stop."""
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

MACHINES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
HEALTHY_DEADLINE_S = 60


def machine(name, **labels):
    """A VirtualMachine of the usual size: two disks, two volumes, a network."""
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default", "labels": {"kubevirt.io/vm": "bench", **labels}},
        "spec": {"runStrategy": "Halted", "template": {
            "metadata": {"labels": {"kubevirt.io/vm": "bench"}},
            "spec": {
                "domain": {
                    "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "seed", "disk": {"bus": "virtio"}}],
                                "interfaces": [{"name": "default", "masquerade": {}}]},
                    "memory": {"guest": "128Mi"}, "resources": {}},
                "networks": [{"name": "default", "pod": {}}],
                "terminationGracePeriodSeconds": 0,
                "volumes": [{"name": "root", "containerDisk": {"image": "registry.example/machines/small:latest"}},
                            {"name": "seed", "cloudInitNoCloud": {"userData": "#!/bin/sh\n\necho 'the machine is up'\n"}}]}}},
    }


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, binary, before=()):
        self.binary, self.before = binary, list(before)
        self.folder = tempfile.mkdtemp(prefix="virtgate-bench-")
        self.state, self.port = os.path.join(self.folder, "state"), free_port()
        self.process = None

    def start(self):
        """Returns the seconds from the start to the first healthy answer."""
        began = time.monotonic()
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen([*self.before, self.binary, "serve", "--api-only", "--state", self.state, "--listen", f"127.0.0.1:{self.port}"],
                                            stdout=log, stderr=log)
        self.context = None
        while True:
            try:
                connection = self.connect()
                code, _ = ask(connection, "GET", "/healthz")
                connection.close()
                if code == 200:
                    return time.monotonic() - began
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None or time.monotonic() - began > HEALTHY_DEADLINE_S:
                raise SystemExit("the server did not become healthy: " + self.log())
            time.sleep(0.002)

    def log(self):
        with open(os.path.join(self.folder, "log")) as log:
            return log.read()

    def token(self):
        with open(os.path.join(self.state, "pki/admin.token")) as token:
            return token.read().strip()

    def connect(self):
        if not self.context:
            self.context = ssl.create_default_context(cafile=os.path.join(self.state, "pki/ca.crt"))
            self.headers = {"Authorization": "Bearer " + self.token()}
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.fields = self.headers
        return connection

    def status_kib(self, field="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(field))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processor_s(self):
        with open(f"/proc/{self.process.pid}/stat") as status:
            parts = status.read().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode if self.process else 0

    def clean_up(self):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def ask(connection, method, path, body=None, content_type="application/json"):
    """One request on a kept connection: the code and the whole answer."""
    fields = dict(connection.fields)
    if body is not None:
        fields["Content-Type"] = content_type
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request(method, path, body=body, headers=fields)
    answer = connection.getresponse()
    return answer.status, answer.read()
