"""kubectl against a server, and the objects that it is given."""
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from support import serve as e2e

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
DEADLINE_S = 20
KUBEVIRT = "/apis/kubevirt.io/v1"


def version_of(program):
    """(major, minor) of a kubectl."""
    answer = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    found = json.loads(answer.stdout)["clientVersion"]
    return int(found["major"]), int(re.match(r"\d+", found["minor"]).group())


def kubectl_on_path():
    """The program and, when there is none, the reason."""
    found = shutil.which("kubectl")
    return found, None if found else "no kubectl on PATH; `./dev setup` installs one"


def template(label):
    return {"metadata": {"labels": {"app": label}},
            "spec": {"domain": {"resources": {"requests": {"memory": "64Mi"}},
                                "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
                     "volumes": [{"name": "root", "containerDisk": {"image": "example/disk:1"}}]}}


def virtual_machine(name, **meta):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, **meta},
            "spec": {"runStrategy": "Halted", "template": template("shop")}}


def instance(name, **meta):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name, **meta},
            "spec": template("shop")["spec"]}


def replica_set(name, replicas):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)}}


def pool(name, replicas):
    return {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "virtualMachineTemplate": {"metadata": {"labels": {"app": name}},
                                                "spec": {"runStrategy": "Always", "template": template(name)}}}}


def config_map(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {}}


def service(name, *ports):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"name": f"p{port}", "port": port} for port in ports]}}


def instancetype(kind, name):
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": {"name": name},
            "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}}


def listed(*objects):
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def one_line(text):
    return " ".join(text.split())


class FullServer(e2e.Server):
    """With what happens by itself: what deletions leave behind is cleared away."""

    def launch(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([e2e.BINARY, "serve", "--node", "none", "--state", self.state, "--listen", self.listen],
                                        stdout=subprocess.PIPE, stderr=self.log)
        return self


class Running:
    """A kubectl that goes on until something happens."""

    def __init__(self, test, command, environment):
        self.test = test
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.seen = b""
        test.addCleanup(self.clean_up)

    def read_until(self, pattern):
        """Reads until the output has the pattern; the match, or a failed test at the deadline or at the end of the output."""
        until = time.monotonic() + DEADLINE_S
        while True:
            found = re.search(pattern, self.seen.decode())
            if found:
                return found
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                self.test.fail(f"{pattern!r} did not come; out: {self.seen.decode()!r}, errors: {e2e.printed(self.errors)!r}")
            self.seen += more

    def code(self):
        return self.process.wait(DEADLINE_S)

    def clean_up(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Kubectl:
    """What the suites share: one server a class, one namespace a test, calls of kubectl."""
    find = None  # which kubectl: a function above

    @classmethod
    def setUpClass(cls):
        cls.program, reason = cls.find()
        if not cls.program:
            print(f"SKIPPED {cls.__name__}: {reason}", file=sys.stderr)
            raise unittest.SkipTest(reason)
        cls.version = version_of(cls.program)
        print(f"{cls.__name__}: kubectl {cls.version[0]}.{cls.version[1]}", file=sys.stderr)
        cls.folder = tempfile.mkdtemp(prefix="virtgate-kubectl-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.one = FullServer(os.path.join(cls.folder, "state"))
        cls.addClassCleanup(cls.one.clean_up)
        cls.one.start()
        # Without garbage collection, which is a quarter of what a call costs: it ends before it has used much.
        cls.environment = {**os.environ, "HOME": cls.folder, "TERM": "dumb", "GOGC": "off",
                           "KUBECONFIG": os.path.join(cls.one.state, "admin.kubeconfig")}

    @classmethod
    def tearDownClass(cls):
        if cls.one.stop() != 0:
            raise AssertionError("the server did not stop cleanly: " + cls.one.errors())

    def setUp(self):
        self.namespace = self._testMethodName.removeprefix("test_").replace("_", "-")
        self.api("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})

    # --- the API without kubectl, for what a test needs but is not about
    def api(self, method, path, body=None, kind="application/json"):
        code, _, text = self.one.ask(method, path, json.dumps(body) if body is not None else None,
                                     self.one.as_admin(**{"Content-Type": kind}))
        self.assertIn(code, (200, 201, 202), text)
        return json.loads(text)

    def path(self, plural, name="", root=KUBEVIRT, namespace=None):
        return f"{root}/namespaces/{namespace or self.namespace}/{plural}" + (f"/{name}" if name else "")

    def there(self, path):
        code, _, text = self.one.get(path, headers=self.one.as_admin())
        self.assertIn(code, (200, 404), text)
        return code == 200

    def gone(self, path):
        """Waits for the end of an object that others remove."""
        until = time.monotonic() + DEADLINE_S
        while self.there(path):
            self.assertLess(time.monotonic(), until, path + " is still there")
            time.sleep(0.005)

    # --- kubectl
    def command(self, *arguments):
        return [self.program, "-n", self.namespace, *arguments]

    def run_it(self, *arguments, stdin=None, code=0, environment=None):
        text = json.dumps(stdin) if isinstance(stdin, (dict, list)) else stdin
        done = subprocess.run(self.command(*arguments), input=text or "", capture_output=True, text=True, timeout=DEADLINE_S,
                              env={**self.environment, **(environment or {})})
        self.assertEqual(done.returncode, code, f"kubectl {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def kubectl(self, *arguments, **more):
        """Runs kubectl, expects success, and returns what it printed."""
        return self.run_it(*arguments, **more).stdout

    def refused(self, *arguments, **more):
        """Runs kubectl, expects failure, and returns the complaint on one line."""
        return one_line(self.run_it(*arguments, code=more.pop("code", 1), **more).stderr)

    def begin(self, *arguments):
        return Running(self, self.command(*arguments), self.environment)

    def create(self, *objects):
        return self.kubectl("create", "-f", "-", stdin=listed(*objects))

    def read(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def rows(self, *arguments):
        """A table's header and rows, split at the blanks between columns."""
        return [re.split(r"\s{2,}", line.rstrip()) for line in self.kubectl(*arguments).splitlines() if line]

    def need(self, major, minor, what):
        if self.version < (major, minor):
            self.skipTest(f"kubectl {self.version[0]}.{self.version[1]} has no {what}")
