#!/usr/bin/env python3
"""What code that runs where libvirtd and QEMU run can do to whoever is outside: the server, the nodes, other guests; and what a node itself can reach.

The intruder is started by the node's own program with the words that it has given to its libvirtd's parent, and so has the same confinement. Without
libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node  # noqa: E402

PYTHON = "/usr/bin/python3"
INTRUDER = """
import ctypes, json, os, resource, socket, sys
report, wanted = sys.argv[1], json.loads(sys.argv[2])
def attempt(what):
    try:
        what()
        return "done"
    except OSError as error:
        return error.strerror
def replace(path):
    with open(report + ".so", "w") as file:
        file.write("not what was there")
    os.replace(report + ".so", path)
def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
def write(path):
    with open(path, "r+b"):
        pass
def overwrite(path):
    os.chmod(path, 0o600)
    write(path)
def limit(pid):
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, resource.prlimit(int(pid), resource.RLIMIT_NOFILE))
def input_output(pid):
    # ioprio_set, IOPRIO_WHO_PROCESS, the lowest of the usual class
    if ctypes.CDLL(None, use_errno=True).syscall({"x86_64": 251, "aarch64": 30, "s390x": 282}[os.uname().machine], 1, int(pid), 2 << 13 | 7) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
actions = {"replace": replace, "write": write, "connect": connect, "read": lambda path: open(path, "rb").close(),
           "signal": lambda pid: os.kill(int(pid), 0), "link": lambda path: os.symlink("/etc", path), "own": lambda path: open(path, "w").close(),
           "overwrite": overwrite, "close": lambda path: os.chmod(path, os.stat(path).st_mode & 0o777), "limit": limit, "input and output": input_output, "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, int(pid), os.getpriority(os.PRIO_PROCESS, int(pid))),
           "processors": lambda pid: os.sched_setaffinity(int(pid), os.sched_getaffinity(int(pid))),
           "scheduler": lambda pid: os.sched_setscheduler(int(pid), os.SCHED_OTHER, os.sched_param(0)),
           "everybody": lambda _: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0)),
           "namespace": lambda _: os.unshare(os.CLONE_NEWUSER) if hasattr(os, "unshare") else unshare()}
def unshare():
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
found = {f"{action} {of}": attempt(lambda: actions[action](of)) for action, of in wanted}
with open(report + ".part", "w") as file:
    json.dump(found, file)
os.rename(report + ".part", report)
"""


def landlock():
    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)


def words_of(pid, what="cmdline"):
    with open(f"/proc/{pid}/{what}", "rb") as file:
        return [word.decode() for word in file.read().split(b"\0") if word]


class Domain(node.Node):
    nodes = 3
    verbosity = "2"

    def setUp(self):
        if landlock() <= 0:
            self.skipTest("the kernel has no Landlock")
        if not os.path.exists(PYTHON):
            self.skipTest(f"{PYTHON} is not installed")
        names = [f"node{number:02}" for number in range(1, self.nodes + 1)]
        self.until("libvirtd of all nodes", lambda: all(node.children("libvirtd", f"{self.state}/nodes/{name}/", "--config") for name in names))
        # They confine themselves behind their libvirtd.
        self.until("all nodes", lambda: all(f'"msg":"the node runs","node":"{name}"' in self.one.errors() for name in names))

    def parent_of_libvirtd(self, name="node01"):
        """The process that confined itself before it started libvirtd."""
        for one in os.listdir("/proc"):
            try:
                words = words_of(one) if one.isdigit() else []
            except OSError:
                continue
            if len(words) > 2 and words[1] == "reap" and any(f"{self.state}/nodes/{name}/" in word for word in words):
                return int(one)
        self.fail(f"libvirtd of {name} has no such parent")

    def intrude(self, *wanted):
        """What became of each attempt."""
        parent = self.parent_of_libvirtd()
        words = words_of(parent)
        words = words[:words.index("/usr/sbin/libvirtd")]
        folder = f"{self.state}/nodes/node01/guests"
        report, script = f"{folder}/report", f"{folder}/intruder.py"
        with open(script, "w") as file:
            file.write(INTRUDER)
        os.chmod(script, 0o644)
        program = os.path.join(os.path.dirname(node.e2e.BINARY), "virtgate-node")
        command = node.as_server([program, *words[1:], PYTHON, "-I", script, report, json.dumps([[a, str(b)] for a, b in wanted])])
        self.assertTrue([word for word in words if word.startswith("@")], "libvirtd is not confined")
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as link:
            path = os.path.join(self.folder, "intruder.sock")
            listener.bind(path)
            listener.listen()
            link.connect(path)
            os.unlink(path)
            link.send(b"s")

            def give():
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False, preexec_fn=give, text=True)
            try:
                self.until("the intruder's report", lambda: os.path.exists(report) or process.poll() is not None, 30)
            finally:
                link.close()
                said = process.communicate(timeout=30)[0]
        self.assertTrue(os.path.exists(report), said)
        with open(report) as file:
            found = json.load(file)
        os.unlink(report)
        os.unlink(script)
        return found

    def nodes_of_server(self):
        return node.children("virtgate-node", self.state, "--node")

    def test_it_has_what_guests_have(self):
        own = f"{self.state}/nodes/node01/guests/own"
        self.assertEqual(self.intrude(("own", own)), {f"own {own}": "done"})
        os.unlink(own)

    def test_it_replaces_nothing_that_is_loaded_outside(self):
        daemon = node.children("libvirtd", f"{self.state}/nodes/node01/", "--config")[0]
        library = next(word.split("=", 1)[1] for word in words_of(daemon, "environ") if word.startswith("LD_PRELOAD="))
        self.assertTrue(os.path.exists(library))
        with open(library, "rb") as file:
            before = file.read()
        found = self.intrude(("replace", library), ("write", library), ("link", f"{self.state}/nodes/node01/guests/planted"))
        self.assertNotIn("done", found.values(), found)
        with open(library, "rb") as file:
            self.assertEqual(file.read(), before)
        # It is loaded from nowhere else either.
        for one in [*self.nodes_of_server(), self.parent_of_libvirtd()]:
            with open(f"/proc/{one}/maps") as file:
                self.assertFalse([line for line in file if f"{self.state}/nodes/node01/libvirt/" in line or f"{self.state}/nodes/node01/guests/" in line])

    def test_it_signals_nobody_outside(self):
        if landlock() < 6:
            self.skipTest("Landlock of this kernel knows no signals")
        processes = [self.one.process.pid, *self.nodes_of_server(), self.parent_of_libvirtd("node02")]
        self.assertGreaterEqual(len(processes), 4)
        found = self.intrude(*(("signal", pid) for pid in processes))
        self.assertEqual(set(found.values()), {"Operation not permitted"}, found)

    def test_it_changes_no_limits_outside(self):
        """A limit of CPU time that has passed already ends a process as a signal does. What is set here is what was there."""
        of_others = ("limit", "priority", "processors", "scheduler", "input and output")
        found = self.intrude(*((what, 0) for what in of_others))
        self.assertEqual(set(found.values()), {"done"}, found)  # of itself
        processes = [self.one.process.pid, *self.nodes_of_server(), self.parent_of_libvirtd("node02")]
        found = self.intrude(("everybody", 0), *((what, pid) for what in of_others for pid in processes))
        self.assertEqual(set(found.values()), {"Operation not permitted"}, found)

    def links(self, folder):
        return [path for root, _, names in os.walk(folder) for name in names
                if not os.path.islink(path := os.path.join(root, name)) and os.stat(path).st_nlink > 1]

    def test_it_writes_to_no_image_that_others_use(self):
        """A name of the same file is for each guest that has the image, and to whom it belongs its mode says nothing."""
        self.start("shares", nodeSelector={"kubernetes.io/hostname": "node01"})
        names = self.links(f"{self.state}/nodes/node01")
        self.assertTrue(names, "no guest has a name of an image")
        found = self.intrude(*((what, path) for path in [*names, *self.links(f"{self.state}/images")] for what in ("read", "overwrite")))
        self.assertEqual({what for one, what in found.items() if one.startswith("read ")}, {"done"}, found)
        self.assertNotIn("done", [what for one, what in found.items() if one.startswith("overwrite ")], found)
        self.remove("shares")
        self.until("no name is left", lambda: not any(map(os.path.exists, names)))

    def test_it_closes_nothing_to_others(self):
        if "@isolate" not in words_of(self.parent_of_libvirtd()) and "user namespaces are required" in self.one.errors():
            self.skipTest("this host has no unprivileged user namespaces")
        folders = [f"{self.state}/images", f"{self.state}/images/images", f"{self.state}/nodes/node01/firmware"]
        found = self.intrude(*(("close", path) for path in folders))
        self.assertEqual(set(found.values()), {"Read-only file system"}, found)

    def test_it_connects_to_nobody_outside(self):
        if "@isolate" not in words_of(self.parent_of_libvirtd()) and "user namespaces are required" in self.one.errors():
            self.skipTest("this host has no unprivileged user namespaces")
        bus = os.path.join(self.folder, "bus")  # of the same user, as a session bus is
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(bus)
            os.chmod(bus, 0o777)
            listener.listen()
            with open("/proc/net/unix") as file:
                libvirt = [line.split()[-1] for line in file if line.rstrip().endswith("node02/libvirt/libvirt-sock") and self.folder in line]
            self.assertTrue(libvirt)
            found = self.intrude(("connect", bus), ("connect", libvirt[0]), ("namespace", ""))
        self.assertNotIn("done", found.values(), found)

    def migration_sockets(self):
        with open("/proc/net/unix") as file:
            return sorted({line.split()[-1] for line in file if "/moves/" in line and self.folder in line})

    def test_it_reaches_no_migration_between_two_others(self):
        """The server of disks takes connections as long as the migration runs, the one of memory only until its sender has come."""
        if "@isolate" not in words_of(self.parent_of_libvirtd()) and "user namespaces are required" in self.one.errors():
            self.skipTest("this host has no unprivileged user namespaces")
        config = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
        slow = {"spec": {"configuration": {"migrations": {"bandwidthPerMigration": "1Mi"}}}}
        self.good("PATCH", config, slow, headers={"Content-Type": "application/merge-patch+json"})
        others = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node02", "node03"]}]}]}}}
        self.start("moves", affinity=others)
        self.until("it can migrate", lambda: self.condition("moves", "LiveMigratable") == "True")
        self.good("POST", node.MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "move"},
                                            "spec": {"vmiName": "moves"}})
        # Both nodes have connected, and nothing is over.
        ram, disks = (self.until(f"the socket of {what}", lambda: [path for path in self.migration_sockets() if path.endswith(what)])[0] for what in ("-ram", "-disk"))
        paths = [os.path.join(os.path.dirname(path), *folder, os.path.basename(path)) for path in (ram, disks) for folder in ([], ["node02"], ["node03"])]
        # The source's names are made when the target has answered.
        self.until("names of the sockets for both nodes", lambda: all(map(os.path.lexists, paths)))
        found = self.intrude(*(("connect", path) for path in paths))
        self.assertEqual(self.get(f"{node.MIGRATIONS}/move")["status"]["phase"], "Running", "it was over too soon")
        self.assertEqual(set(found.values()), {"No such file or directory"}, found)
        self.ask("DELETE", f"{node.MIGRATIONS}/move")
        self.until("it is called off", lambda: not any(map(os.path.lexists, paths)))
        self.remove("moves")

    def test_it_reads_no_keys(self):
        secrets = [f"{self.state}/pki/ca.key", f"{self.state}/pki/admin.token", f"{self.state}/nodes/node01/pki/api.key", f"{self.state}/nodes/node02/libvirt/host_uuid"]
        for path in secrets:
            self.assertTrue(os.path.exists(path), path)
        found = self.intrude(*(("read", path) for path in secrets))
        self.assertNotIn("done", found.values(), found)

    def test_a_node_has_no_privileges_and_no_other_files(self):
        for pid in self.nodes_of_server():
            with open(f"/proc/{pid}/status") as file:
                status = dict(line.rstrip().split(":\t", 1) for line in file if ":\t" in line)
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"], int(status["CapEff"], 16)), ("1", "2", 0))
        outside = os.path.join(self.folder, "outside.json")
        with open(outside, "w") as file:
            file.write('{"guests":[]}')
        os.chmod(outside, 0o644)
        started = '"msg":"the node runs","node":"node02"'
        before = self.one.errors().count(started)
        records = f"{self.state}/nodes/node02/node.json"
        if os.path.exists(records):
            os.unlink(records)
        os.symlink(outside, records)
        try:
            os.kill(node.children("virtgate-node", self.state, "node02")[0], signal.SIGKILL)
            self.until("the next process of the node", lambda: self.one.errors().count(started) > before)
            self.assertRegex(self.one.errors(), r"the records of the node cannot be read[^\n]*Permission denied")
        finally:
            os.unlink(records)

    def listening(self, pid):
        """Local addresses of TCP sockets that listen and that this process holds."""
        with open("/proc/net/tcp") as file:
            rows = [line.split() for line in list(file)[1:]]
        addresses = {f"socket:[{row[9]}]": row[1] for row in rows if row[3] == "0A"}
        return sorted(addresses[name] for name in self.held(pid) if name in addresses)

    def held(self, pid):
        """What the descriptors of a process lead to."""
        found = []
        for one in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                found.append(os.readlink(f"/proc/{pid}/fd/{one}"))
        return found

    def test_nobody_holds_what_is_of_others(self):
        """A node that had another one's socket could answer in its place."""
        self.start("holds", nodeSelector={"kubernetes.io/hostname": "node01"})
        nodes = self.nodes_of_server()
        of_nodes = [self.listening(pid) for pid in nodes]
        self.assertEqual([len(one) for one in of_nodes], [1] * self.nodes, of_nodes)
        self.assertEqual(len({one[0] for one in of_nodes}), self.nodes, of_nodes)
        pages = {pid: [name for name in self.held(pid) if "memfd:heartbeat" in name] for pid in nodes}
        self.assertEqual({len(found) for found in pages.values()}, {1}, pages)
        workers = node.children("virtgate", self.state, "disk-worker")
        self.assertTrue(workers)
        below = [self.qemu("holds"), self.parent_of_libvirtd(), *node.children("libvirtd", f"{self.state}/nodes/node01/", "--config")]
        ours = {*of_nodes[0], *of_nodes[1], *of_nodes[2], *self.listening(self.one.process.pid)}
        for pid in [*workers, *below]:
            self.assertFalse(ours & set(self.listening(pid)), words_of(pid))
        for pid in below:
            self.assertFalse([name for name in self.held(pid) if "memfd:heartbeat" in name or "memfd:message" in name], words_of(pid))
        self.remove("holds")

    def test_the_next_libvirtd_is_confined_as_the_first(self):
        """It is started by the same process, so that it can end what the first one has started."""
        first, parent = node.children("libvirtd", f"{self.state}/nodes/node01/", "--config"), self.parent_of_libvirtd()
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        after = self.until("another libvirtd", lambda: [one for one in node.children("libvirtd", f"{self.state}/nodes/node01/", "--config") if one not in first])
        self.assertEqual(self.parent_of_libvirtd(), parent)
        for pid in after:
            with open(f"/proc/{pid}/status") as file:
                status = file.read()
            self.assertIn("NoNewPrivs:\t1", status)
            self.assertIn(f"PPid:\t{parent}\n", status)

    def test_guests_of_a_parent_that_was_killed_are_started_anew(self):
        """Nobody below the next one may signal them: they could never be ended."""
        self.start("left", nodeSelector={"kubernetes.io/hostname": "node01"})
        qemu, uid, parent = self.qemu("left"), self.uid("left"), self.parent_of_libvirtd()
        for pid in [parent, *node.children("libvirtd", f"{self.state}/nodes/node01/", "--config")]:
            os.kill(pid, signal.SIGKILL)
        self.until("another run of the guest", lambda: self.uid("left") not in (None, uid) and self.phase("left") == "Running")
        self.assertNotIn(qemu, node.children("qemu-system", self.state))
        self.assertNotEqual(self.parent_of_libvirtd(), parent)
        self.assertIn('"msg":"the process above libvirtd is another one', self.one.errors())
        self.remove("left")
        self.assertIsNone(self.qemu("left"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
