#!/usr/bin/env python3
"""A real virtctl: what a user types, and what they see. `Virtctl` has `virtgate serve --api-only` and a stand-in node
(stand_in_node.py), `Story` the whole server with simulated nodes, where every command is followed to its end.

VIRTGATE_VIRTCTL names the virtctl (1.9 for all of it); without it everything here is skipped: Debian has none. VIRTGATE_BINARY names the program.
"""
import gzip
import json
import os
import pty
import select
import shutil
import socket
import subprocess
import tarfile
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


VM = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: NAME}
spec:
  runStrategy: STRATEGY
  dataVolumeTemplates:
  - metadata: {name: NAME-root}
    spec: {source: {blank: {}}, storage: {accessModes: [ReadWriteMany], resources: {requests: {storage: 8Mi}}}}
  template:
    spec:
      domain:
        memory: {guest: 64Mi}
        devices: {disks: [{name: root, disk: {bus: virtio}}], interfaces: [{name: default, masquerade: {}}]}
      networks: [{name: default, pod: {}}]
      volumes: [{name: root, dataVolume: {name: NAME-root}}]
"""
OF_VM = "{apiGroup: kubevirt.io, kind: VirtualMachine, name: NAME}"
SNAPSHOT = f"""
apiVersion: snapshot.kubevirt.io/v1beta1
kind: VirtualMachineSnapshot
metadata: {{name: NAME}}
spec: {{source: {OF_VM}}}
"""
RESTORE = f"""
apiVersion: snapshot.kubevirt.io/v1beta1
kind: VirtualMachineRestore
metadata: {{name: NAME}}
spec: {{target: {OF_VM}, virtualMachineSnapshotName: NAME}}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Mi}}}
"""
MIB = 1 << 20


@unittest.skipUnless(VIRTCTL, "VIRTGATE_VIRTCTL names no virtctl")
@unittest.skipUnless(shutil.which("kubectl") and shutil.which("qemu-img"), "kubectl and qemu-img are needed")
class Story(e2e.Scratch):
    """Every command to its end, on simulated nodes."""

    def setUp(self):
        super().setUp()
        self.one = self.server(role=("--node", "simulated", "--nodes", "3")).start()
        self.env = {**os.environ, "KUBECONFIG": os.path.join(self.state, "admin.kubeconfig")}
        self.kubectl("label", "node", "--all", *(f"simulated.virtgate.io/{what}=100ms" for what in ("boot", "shutdown", "migration")))

    def run_program(self, *command, stdin=None):
        done = subprocess.run(command, env=self.env, input=stdin, capture_output=True, text=True, timeout=2 * DEADLINE_S, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def kubectl(self, *arguments, stdin=None):
        return self.run_program("kubectl", *arguments, stdin=stdin)

    def virtctl(self, *arguments):
        return self.run_program(VIRTCTL, *arguments)

    def apply(self, text, name="", strategy="Halted"):
        self.kubectl("apply", "-f", "-", stdin=text.replace("NAME", name).replace("STRATEGY", strategy))

    def wait(self, what, condition):
        self.kubectl("wait", what, f"--for={condition}", f"--timeout={DEADLINE_S}s")

    def field(self, what, path):
        return self.kubectl("get", what, "-o", f"jsonpath={{{path}}}")

    def until(self, what, path, wanted):
        self.wait(what, f"jsonpath={{{path}}}={wanted}")

    def running(self, name):
        self.apply(VM, name, "Always")
        self.wait(f"vm/{name}", "condition=Ready")

    def file(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def image(self, claim):
        return self.read(os.path.join(self.state, "disks", "default", claim, "disk.img"))

    # --- the life of a VM

    def test_start_stop_restart_pause(self):
        self.apply(VM, "vm")
        self.virtctl("start", "vm")
        self.wait("vm/vm", "condition=Ready")
        before = self.field("vmi/vm", ".metadata.uid")
        self.virtctl("pause", "vm", "vm")
        self.until("vm/vm", ".status.printableStatus", "Paused")
        self.virtctl("unpause", "vm", "vm")
        self.wait("vm/vm", "condition=Ready")
        self.virtctl("soft-reboot", "vm")
        self.virtctl("reset", "vm")
        self.wait("vm/vm", "condition=Ready")
        self.virtctl("restart", "vm")
        deadline = time.monotonic() + DEADLINE_S
        while before in self.kubectl("get", "vmi", "-o", "jsonpath={.items[*].metadata.uid}"):
            self.assertLess(time.monotonic(), deadline)
        self.wait("vm/vm", "condition=Ready")
        self.virtctl("stop", "vm")
        self.until("vm/vm", ".status.printableStatus", "Stopped")
        self.virtctl("start", "vm", "--paused")
        self.until("vm/vm", ".status.printableStatus", "Paused")
        self.virtctl("unpause", "vmi", "vm")
        self.wait("vm/vm", "condition=Ready")
        self.virtctl("stop", "vm", "--force", "--grace-period", "0")
        self.until("vm/vm", ".status.printableStatus", "Stopped")

    def test_migrate(self):
        self.running("vm")
        source = self.field("vmi/vm", ".status.nodeName")
        self.virtctl("migrate", "vm")
        self.until("vmi/vm", ".status.migrationState.completed", "true")
        self.assertNotEqual(self.field("vmi/vm", ".status.nodeName"), source)
        self.virtctl("migrate", "vm", f"--addedNodeSelector=kubernetes.io/hostname={source}")
        self.until("vmi/vm", ".status.nodeName", source)
        self.kubectl("label", "node", "--all", "--overwrite", "simulated.virtgate.io/migration=1h")
        self.virtctl("migrate", "vm")
        self.until("vm/vm", ".status.printableStatus", "Migrating")
        self.virtctl("migrate-cancel", "vm")
        self.until("vm/vm", ".status.printableStatus", "Running")
        self.assertEqual(self.field("vmi/vm", ".status.nodeName"), source)
        self.virtctl("evacuate-cancel", "vmi", "vm")

    def test_guests_tell_of_themselves(self):
        self.running("vm")
        self.assertIn("guestAgentVersion", json.loads(self.virtctl("guestosinfo", "vm")))
        self.assertTrue(json.loads(self.virtctl("fslist", "vm"))["items"])
        self.assertEqual(json.loads(self.virtctl("userlist", "vm"))["items"], [])
        terminal = Terminal(VIRTCTL, "console", "vm", env=self.env)
        terminal.expect(b"echoes")
        terminal.type(b"is anybody there?")
        terminal.expect(b"is anybody there?")
        terminal.type(b"\x1d")
        self.assertEqual(terminal.end(), 0)
        # What `virtctl ssh` reaches a guest by.
        with subprocess.Popen([VIRTCTL, "port-forward", "--stdio=true", "vmi/vm", "22"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as forwarder:
            forwarder.stdin.write(b"SSH-2.0-x")
            forwarder.stdin.flush()
            self.assertEqual(forwarder.stdout.read(9), b"SSH-2.0-x")
            forwarder.terminate()

    def test_volumes(self):
        self.running("vm")
        self.apply(CLAIM, "extra")
        self.virtctl("addvolume", "vm", "--volume-name=extra", "--serial=abc")
        self.until("vmi/vm", '.status.volumeStatus[?(@.name=="extra")].phase', "Ready")
        self.assertIn("extra", self.field("vm/vm", ".spec.template.spec.volumes[*].name"))
        self.virtctl("removevolume", "vm", "--volume-name=extra")
        self.until("vmi/vm", ".status.volumeStatus[*].name", "root")

    def test_created_objects_are_taken(self):
        for made in (("instancetype", "--cpu", "2", "--memory", "64Mi", "--name", "small"),
                     ("instancetype", "--cpu", "1", "--memory", "64Mi", "--name", "small", "--namespaced"),
                     ("preference", "--name", "liked", "--cpu-topology", "sockets", "--machine-type", "q35", "--volume-storage-class", "local"),
                     ("preference", "--name", "liked", "--namespaced"),
                     ("vm", "--name", "a", "--instancetype", "small", "--preference", "liked"),
                     ("vm", "--name", "b", "--instancetype", "virtualmachineinstancetype/small", "--preference", "virtualmachinepreference/liked"),
                     ("vm", "--name", "c", "--volume-containerdisk", "src:example/disk:1,bootorder:1", "--user", "me", "--ssh-key", "ssh-ed25519 AAAA x",
                      "--cloud-init", "configdrive", "--termination-grace-period", "5"),
                     ("vm", "--name", "d", "--volume-import", "type:blank,size:8Mi,name:d0", "--access-cred", "type:ssh,src:keys,method:ga,user:me",
                      "--access-cred", "type:password,src:words")):
            with self.subTest(made):
                self.kubectl("apply", "-f", "-", stdin=self.virtctl("create", *made))
        for name in "abcd":
            self.wait(f"vm/{name}", "condition=Ready")
        self.assertIn("cores", self.virtctl("expand", "--vm", "a"))
        for name in ("keys", "words"):
            self.kubectl("create", "secret", "generic", name)
        key = self.file("key.pub", b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGTlvtixubDDsYNtGEKNnaLVgKgOvKLuW+MQRNGV1fzH me")
        self.virtctl("credentials", "add-ssh-key", "--user", "me", "--file", key, "d", "--force")
        self.assertTrue(self.field("secret/keys", ".data"))
        self.virtctl("credentials", "remove-ssh-key", "--user", "me", "--file", key, "d", "--force")
        self.virtctl("credentials", "set-password", "--user", "me", "--password", "x", "d", "--force")
        self.assertEqual(self.field("secret/words", ".data.me"), "eA==")
        self.virtctl("adm", "log-verbosity", "--virt-api=4")
        self.assertIn("virt-api=4", self.virtctl("adm", "log-verbosity", "--virt-api"))
        self.virtctl("expose", "vm", "a", "--name", "web", "--port", "80")
        self.virtctl("permitted-devices", "-n", "kubevirt")

    # --- data

    def test_uploads(self):
        data = os.urandom(MIB)
        raw = self.file("raw", data)
        packed = self.file("raw.gz", gzip.compress(data))
        self.run_program("qemu-img", "convert", "-O", "qcow2", raw, "qcow2")
        with tarfile.open(os.path.join(self.folder, "files.tar"), "w") as archive:
            archive.add(raw, "sub/raw")
        for name, kind, *more in (("a", "dv", "--size=8Mi", f"--image-path={raw}"), ("b", "pvc", "--size=8Mi", "--image-path=qcow2"),
                                  ("c", "dv", "--size=8Mi", f"--image-path={packed}", "--force-bind", "--datasource", "--default-preference", "x"),
                                  ("d", "pvc", "--size=8Mi", "--storage-class=local", "--access-mode=ReadWriteOnce", f"--image-path={raw}")):
            with self.subTest(name):
                self.virtctl("image-upload", kind, name, "--insecure", *more)
                self.assertEqual(self.image(name)[:MIB], data)
        self.until("datasource/c", ".status.conditions[0].status", "True")
        for kind in ("dv", "pvc"):
            self.virtctl("image-upload", kind, f"files-{kind}", "--insecure", "--size=8Mi", "--archive-path=files.tar")
            self.assertEqual(self.read(os.path.join(self.state, "disks", "default", f"files-{kind}", "data", "sub", "raw")), data)
        self.apply(CLAIM, "plain")
        self.virtctl("image-upload", "pvc", "plain", "--no-create", "--insecure", f"--image-path={raw}")
        self.assertEqual(self.image("plain")[:MIB], data)
        # What does not fit is told at once, and what is there already is not written over.
        for arguments in (("dv", "tight", "--size=1Mi", f"--image-path={self.file('large', 2 * data)}", "--retry=1"),
                          ("pvc", "plain", f"--image-path={raw}")):
            done = subprocess.run([VIRTCTL, "image-upload", *arguments, "--insecure"], env=self.env, capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_snapshot_restore_clone_export(self):
        data = os.urandom(MIB)
        self.running("vm")
        with open(os.path.join(self.state, "disks", "default", "vm-root", "disk.img"), "r+b") as disk:
            disk.write(data)
        self.apply(SNAPSHOT, "vm")
        self.wait("vmsnapshot/vm", "condition=Ready")
        self.virtctl("vmexport", "download", "of-snapshot", "--snapshot=vm", "--volume=vm-root", "--output=snapshot.gz")
        self.assertEqual(gzip.decompress(self.read("snapshot.gz"))[:MIB], data)
        self.virtctl("stop", "vm")
        self.until("vm/vm", ".status.printableStatus", "Stopped")
        self.apply(RESTORE, "vm")
        self.wait("vmrestore/vm", "condition=Ready")
        claim = self.field("vm/vm", ".spec.template.spec.volumes[0].dataVolume.name")
        self.assertEqual(self.image(claim)[:MIB], data)
        for name, arguments in (("a", ("--source-name=vm",)), ("b", ("--source-name=vm", "--source-type=snapshot"))):
            self.kubectl("apply", "-f", "-", stdin=self.virtctl("create", "clone", f"--name={name}", *arguments, f"--target-name={name}"))
            self.until(f"vmclone/{name}", ".status.phase", "Succeeded")
        self.virtctl("vmexport", "create", "kept", "--vm=vm", "--ttl=1h")
        self.virtctl("vmexport", "download", "kept", f"--volume={claim}", "--format=raw", "--output=raw", "--keep-vme")
        self.assertEqual(self.read("raw")[:MIB], data)
        self.virtctl("vmexport", "download", "of-claim", f"--pvc={claim}", "--output=claim.gz", "--insecure")
        # All of it as another VM, in another namespace.
        manifest = self.virtctl("vmexport", "download", "kept", "--manifest", "--include-secret")
        self.kubectl("create", "namespace", "other")
        self.kubectl("apply", "-f", "-", stdin=manifest[manifest.index("apiVersion"):].replace("namespace: default", "namespace: other"))
        self.kubectl("-n", "other", "wait", f"dv/{claim}", "--for=condition=Ready", f"--timeout={DEADLINE_S}s")
        self.assertEqual(self.read(os.path.join(self.state, "disks", "other", claim, "disk.img"))[:MIB], data)
        self.virtctl("vmexport", "delete", "kept")
        self.wait("vmexport/kept", "delete")

    def test_memory_dump(self):
        self.running("vm")
        self.virtctl("memory-dump", "get", "vm", "--claim-name=dump", "--create-claim", "--output=dump.tar.gz")
        with tarfile.open(os.path.join(self.folder, "dump.tar.gz")) as archive:
            self.assertEqual(archive.getmembers(), [])  # nothing is in the memory of a simulated guest
        self.virtctl("memory-dump", "get", "vm")
        self.until("vm/vm", ".status.memoryDumpRequest.phase", "Completed")
        # A claim without an image is no reason to refuse a snapshot.
        self.apply(SNAPSHOT, "vm")
        self.wait("vmsnapshot/vm", "condition=Ready")
        self.virtctl("memory-dump", "remove", "vm")
        self.until("vm/vm", ".spec.template.spec.volumes[*].name", "root")


if __name__ == "__main__":
    unittest.main(verbosity=2)
