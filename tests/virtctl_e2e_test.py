#!/usr/bin/env python3
"""A real virtctl against `virtgate serve` and a stand-in node (stand_in_node.py): what a user types, and what they see.

VIRTGATE_VIRTCTL names the virtctl (1.6 or newer); without it everything here is skipped. VIRTGATE_BINARY names the program.
"""
import json
import os
import pty
import select
import socket
import subprocess
import time
import unittest

from support import serve as e2e
from support import streams

VIRTCTL = os.environ.get("VIRTGATE_VIRTCTL", "")
DEADLINE_S = 30
MACHINES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
INSTANCES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
TEMPLATE = {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}


class World(streams.World):
    """The world of streams, with machines that are not instances yet."""

    def machine(self, name, strategy):
        return self.call("POST", MACHINES, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name},
                                            "spec": {"runStrategy": strategy, "template": TEMPLATE}})

    def running_machine(self, name):
        """A machine and the instance that a controller would have made of it."""
        machine = self.machine(name, "Always")
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": machine["metadata"]["uid"], "controller": True,
                 "blockOwnerDeletion": True}
        instance = self.call("POST", INSTANCES, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                                                 "metadata": {"name": name, "ownerReferences": [owner]}, **TEMPLATE}, streams.CONTROLLER)
        instance["status"] = {"phase": "Running", "nodeName": "node01", "interfaces": [{"name": "default", "ipAddress": "127.0.0.1"}],
                              "conditions": [{"type": "Ready", "status": "True"}, {"type": "AgentConnected", "status": "True"},
                                             {"type": "LiveMigratable", "status": "True"}]}
        self.call("PUT", f"{INSTANCES}/{name}", instance, streams.CONTROLLER)
        machine = self.call("GET", f"{MACHINES}/{name}")
        machine["status"] = {"created": True, "ready": True, "printableStatus": "Running"}
        self.call("PUT", f"{MACHINES}/{name}/status", machine, streams.CONTROLLER)


class Terminal:
    """A program that believes somebody sits before it."""

    def __init__(self, *command, **more):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.execvpe(command[0], command, more["env"])
        self.pid, self.seen = pid, b""

    def expect(self, text):
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.seen:
            if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} never came, but {self.seen!r}")
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                raise AssertionError(f"it ended with {self.seen!r}") from None

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        """How it ended by itself."""
        try:
            while select.select([self.fd], [], [], DEADLINE_S)[0] and os.read(self.fd, 65536):
                pass
        except OSError:  # the way that a terminal tells its end
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@unittest.skipUnless(VIRTCTL, "VIRTGATE_VIRTCTL names no virtctl")
class Virtctl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.env = {**os.environ, "KUBECONFIG": os.path.join(cls.world.folder, "state", "admin.kubeconfig")}

    @classmethod
    def tearDownClass(cls):
        cls.world.end()

    def run_virtctl(self, *arguments):
        return subprocess.run([VIRTCTL, *arguments], env=self.env, capture_output=True, text=True, timeout=DEADLINE_S)

    def works(self, *arguments):
        done = self.run_virtctl(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, *arguments):
        done = self.run_virtctl(*arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def strategy(self, name):
        return self.world.call("GET", f"{MACHINES}/{name}")["spec"]["runStrategy"]

    def test_version(self):
        self.assertIn("Server Version", self.works("version"))

    def test_a_machine_starts_and_stops(self):
        self.world.machine("sleeper", "Halted")
        self.assertIn("sleeper was scheduled to start", self.works("start", "sleeper"))
        self.assertEqual(self.strategy("sleeper"), "Always")
        self.assertIn("cannot be started manually", self.fails("start", "sleeper"))
        self.assertIn("was scheduled to stop", self.works("stop", "sleeper"))
        self.assertEqual(self.strategy("sleeper"), "Halted")

    def test_options_reach_the_machine(self):
        self.world.machine("dozer", "Halted")
        self.works("start", "dozer", "--dry-run")
        self.assertEqual(self.strategy("dozer"), "Halted")
        self.works("start", "dozer", "--paused")
        request, = self.world.call("GET", f"{MACHINES}/dozer")["status"]["stateChangeRequests"]
        self.assertEqual((request["action"], request["data"]), ("Start", {"paused": "true"}))
        self.world.running_machine("stubborn")
        self.works("stop", "stubborn", "--force", "--grace-period", "0")
        self.assertEqual(self.world.call("GET", f"{INSTANCES}/stubborn")["spec"]["terminationGracePeriodSeconds"], 0)
        self.assertEqual(self.strategy("stubborn"), "Halted")

    def test_a_conflict_tells_the_present_state(self):
        self.world.running_machine("awake")
        self.assertIn("not paused", self.fails("unpause", "vmi", "awake"))

    def test_a_machine_that_is_not_there(self):
        self.assertIn("nobody", self.fails("start", "nobody"))
        self.assertIn("nobody", self.fails("console", "nobody"))

    def test_restart_and_migrate(self):
        self.world.running_machine("walker")
        self.works("restart", "walker")
        requests = self.world.call("GET", f"{MACHINES}/walker")["status"]["stateChangeRequests"]
        self.assertEqual([request["action"] for request in requests], ["Stop", "Start"])
        self.world.running_machine("traveller")
        self.works("migrate", "traveller")
        items = self.world.call("GET", MIGRATIONS)["items"]
        self.assertEqual([item["spec"]["vmiName"] for item in items], ["traveller"])
        self.works("migrate-cancel", "traveller")

    def test_calls_to_the_node(self):
        self.world.running_machine("worker")
        for command in (("pause", "vmi", "worker"), ("soft-reboot", "worker"), ("reset", "worker"), ("guestosinfo", "worker"), ("fslist", "worker"),
                        ("userlist", "worker")):
            with self.subTest(" ".join(command)):
                self.works(*command)

    def test_volumes(self):
        self.world.running_machine("shelf")
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        self.world.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim)
        self.works("addvolume", "shelf", "--volume-name=disk", "--persist")
        names = [volume["name"] for volume in self.world.call("GET", f"{MACHINES}/shelf")["spec"]["template"]["spec"].get("volumes", [])]
        requests = self.world.call("GET", f"{MACHINES}/shelf").get("status", {}).get("volumeRequests", [])
        self.assertTrue("disk" in names or requests, "neither a volume nor a request for one")
        self.works("removevolume", "shelf", "--volume-name=disk", "--persist")

    def test_a_made_machine_is_taken(self):
        manifest = self.works("create", "vm", "--name", "made", "--memory", "128Mi", "--run-strategy", "Halted")
        done = subprocess.run(["kubectl", "create", "-f", "-"], input=manifest, env=self.env, capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        expanded = self.works("expand", "--vm", "made", "-o", "json")
        self.assertEqual(json.loads(expanded)["spec"]["template"]["spec"]["domain"]["memory"]["guest"], "128Mi")

    def test_console(self):
        terminal = Terminal(VIRTCTL, "console", streams.NAME, env=self.env)
        terminal.expect(b"Successfully connected to demo console")
        terminal.type(b"is anybody there?")
        terminal.expect(b"is anybody there?")
        terminal.type(b"\x1d")
        self.assertEqual(terminal.end(), 0)

    def through(self, port, payload):
        """What comes back through a local port of virtctl, once it listens."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as client:
                    client.sendall(payload)
                    got = b""
                    while len(got) < len(payload):
                        part = client.recv(65536)
                        if not part:
                            break
                        got += part
                    return got
            except ConnectionRefusedError:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def test_forwarded_port(self):
        port = e2e.free_port()
        with subprocess.Popen([VIRTCTL, "port-forward", f"vmi/{streams.NAME}", f"{port}:{self.world.guest_port}"], env=self.env,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as forwarder:
            try:
                for size in (1, 1000, 3_000_000):
                    payload = os.urandom(size)
                    self.assertEqual(self.through(port, payload), payload)
            finally:
                forwarder.terminate()

    def test_vnc(self):
        port = e2e.free_port()
        with subprocess.Popen([VIRTCTL, "vnc", streams.NAME, "--proxy-only", "--port", str(port)], env=self.env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as proxy:
            try:
                payload = os.urandom(100_000)
                self.assertEqual(self.through(port, payload), payload)
            finally:
                proxy.terminate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
