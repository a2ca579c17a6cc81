#!/usr/bin/env python3
"""Kills the server, nodes, libvirtds and QEMUs at random while guests are made, deleted, paused and moved.

    VIRTGATE_BINARY=build/release/virtgate python3 tests/chaos/node_kills.py --kills 200 [--guests 4] [--seed N] [--log FILE]

After each kill: no guest is gone but the one whose QEMU was killed, and all statuses are true again; how long that took is printed. At the end all
VMs are deleted and the server is stopped: no process, socket or file of a guest is left. The seed gives the same order of kills, not the same races.
"""
import argparse
import os
import random
import re
import signal
import statistics
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node  # noqa: E402
from support.node import ACTIONS, MIGRATIONS, VMIS, VMS  # noqa: E402

TRUE_WITHIN_S = 60  # what is awaited on the slowest machine; what it took is printed
WEIGHTS = {"serve": 2, "virtgate-node": 3, "libvirtd": 3, "qemu": 2}


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


class Kills(node.Node):
    nodes = 2
    kills, guests, seed = 10, 2, 1
    verbosity = "2"
    log_file = None

    # --- what is there ------------------------------------------------------------------------------------------------

    def processes(self):
        """Processes of guests: (VM, node) -> process ids."""
        found = {}
        for pid in node.children("qemu-system", self.state):
            line = " ".join(words_of(pid))
            name, place = re.search(r"guest=default_([\w-]+),", line), re.search(r"/nodes/(node\d+)/", line)
            if name and place:
                found.setdefault((name[1], place[1]), []).append(pid)
        return found

    def vmis(self):
        """VMIs by name; None: the server does not answer."""
        listed = self.get(VMIS)
        return None if listed is None else {one["metadata"]["name"]: one for one in listed["items"]}

    def nodes_ready(self):
        listed = self.get("/api/v1/nodes")
        if listed is None:
            return False
        ready = [one for one in listed["items"] for condition in one["status"].get("conditions", [])
                 if condition["type"] == "Ready" and condition["status"] == "True"]
        return len(ready) == self.nodes

    def untrue(self):
        """What statuses say that is not so; empty: all are true."""
        vmis = self.vmis()
        if vmis is None:
            return "the server does not answer"
        running = self.processes()
        for name, vmi in vmis.items():
            status = vmi["status"]
            if status.get("phase") == "Running" and (name, status.get("nodeName")) not in running:
                return f"{name} is said to run on {status.get('nodeName')}; QEMUs: {running}"
        for name, uid in self.steady.items():
            vmi = vmis.get(name)
            if not vmi:
                return f"{name} has no VMI"
            if vmi["metadata"]["uid"] != uid and name not in self.killed:
                raise AssertionError(f"the guest of {name} was lost: {vmi['status']}")
            if vmi["status"].get("phase") != "Running":
                return f"{name} is {vmi['status'].get('phase')}"
            paused = any(one["type"] == "Paused" and one["status"] == "True" for one in vmi["status"].get("conditions", []))
            if name in self.paused and paused != self.paused[name] and uid == vmi["metadata"]["uid"]:
                return f"{name}: Paused is {paused}"
        return "" if self.nodes_ready() else "a node is not ready"

    # --- load ---------------------------------------------------------------------------------------------------------

    def tried(self, *arguments, **more):
        """The status code; 0 when nobody answered, and nobody knows what became of the request."""
        try:
            return self.ask(*arguments, **more)[0]
        except Exception:  # noqa: BLE001: the server is killed at any time, in any state of an exchange
            return 0

    def make(self):
        self.made += 1
        name = f"churn{self.made}"
        self.churn.append(name)
        self.tried("POST", VMS, self.vm(name, grace=random.choice((0, 1))))

    def delete(self):
        if len(self.churn) > 2:
            name = self.churn.pop(0)
            self.gone.append(name)
            self.tried("DELETE", f"{VMS}/{name}")

    # Every second guest is paused, and the others are moved: a libvirtd that dies while a guest moves lets it run on.
    def pause(self):
        name = self.random.choice(list(self.steady)[::2])
        wanted = not self.paused.get(name, False)
        code = self.tried("PUT", f"{ACTIONS}/virtualmachineinstances/{name}/{'pause' if wanted else 'unpause'}")
        if code in (200, 202):
            self.paused[name] = wanted
        elif code != 409:
            self.paused.pop(name, None)  # it may have been done all the same

    def move(self):
        name = self.random.choice(list(self.steady)[1::2])
        self.made += 1
        self.tried("POST", MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                        "metadata": {"name": f"move{self.made}"}, "spec": {"vmiName": name}})

    # --- kills --------------------------------------------------------------------------------------------------------

    def victim(self):
        kind = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if kind == "serve":
            return kind, None, self.one.process.pid
        if kind == "qemu":
            running = [(name, pid) for (name, _), pids in sorted(self.processes().items()) for pid in pids]
            if running:
                return (kind, *self.random.choice(running))
        found = node.children("virtgate-node" if kind == "qemu" else kind, self.state, "--config" if kind == "libvirtd" else "--node")
        return kind if kind != "qemu" else "virtgate-node", None, self.random.choice(found) if found else None

    def kill(self):
        kind, name, pid = self.victim()
        if pid is None:
            return "nobody"
        if name:
            self.killed.add(name)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return "nobody"
        if kind == "serve":
            self.one.ended()
            self.keep_log()
            self.start_server(self.one.port)
        return f"{kind} {name or ''}".strip()

    def keep_log(self):
        if self.log_file:
            with open(self.log_file, "a") as file:
                file.write(self.one.errors())

    def one_round(self, number):
        for step in self.random.sample((self.make, self.delete, self.pause, self.move), 2):
            step()
        time.sleep(self.random.random() * 1.5)  # anywhere in what was begun
        self.killed.clear()
        whom = self.kill()
        began, wrong = time.monotonic(), "not looked at"
        while wrong := self.untrue():
            self.assertLess(time.monotonic() - began, TRUE_WITHIN_S, f"round {number}, {whom} was killed: {wrong}\n{self.one.errors()[-8000:]}")
            time.sleep(0.05)
        took = time.monotonic() - began
        self.took.setdefault(whom.split()[0], []).append(took)
        for name in self.killed & set(self.steady):
            self.paused.pop(name, None)
        for name in self.steady:
            self.steady[name] = self.uid(name) if name in self.killed else self.steady[name]
        print(f"{number:4} {whom:24} true after {took:5.1f} s", flush=True)

    def until_empty(self, what, left):
        deadline = time.monotonic() + TRUE_WITHIN_S
        while found := left():
            self.assertLess(time.monotonic(), deadline, f"{what} that are left: {found}")
            time.sleep(0.1)

    # --- the end ------------------------------------------------------------------------------------------------------

    def files(self):
        """Files, links and sockets that could be a guest's."""
        found = set()
        places = [os.path.join(self.state, name) for name in ("nodes", "run")]
        for place in places:
            for folder, folders, names in os.walk(place):
                found |= {os.path.join(folder, name) for name in folders + names}
        kept = ("/capabilities", "/node.json", "/qemu/log/")  # of the node, not of a guest
        return {path for path in found if not any(part in path + ("/" if os.path.isdir(path) else "") for part in kept) or path.endswith(".log")}

    def test_kills(self):
        self.random = random.Random(self.seed)
        self.made, self.churn, self.gone, self.killed, self.took = 0, [], [], set(), {}
        self.paused = {}
        self.steady = {}
        self.start("first")
        self.remove("first")
        before = self.files()
        for number in range(self.guests):
            self.start(f"steady{number}")
            self.steady[f"steady{number}"] = self.uid(f"steady{number}")
        for number in range(self.kills):
            self.one_round(number)
        self.until("moves are over", lambda: all(one.get("status", {}).get("phase") in ("Succeeded", "Failed")
                                                 for one in (self.get(MIGRATIONS) or {"items": [{}]})["items"]))
        for name in self.gone:
            self.until(f"{name} is gone", lambda: self.get(f"{VMIS}/{name}") is None)
        for name in [*self.churn, *self.steady]:
            self.until(f"{name} runs", lambda: self.phase(name) == "Running")
        for name in [*self.churn, *self.steady]:
            self.good("DELETE", f"{VMS}/{name}")
        self.until("no VMI is left", lambda: self.vmis() == {})
        self.until("no QEMU is left", lambda: not node.children("qemu-system", self.state))
        self.until_empty("files", lambda: sorted(self.files() - before))
        self.one.stop()
        self.keep_log()
        for program in ("virtgate-node", "libvirtd", "virtgate", "qemu-system", "swtpm"):
            self.until_empty(f"processes of {program}", lambda: [words_of(pid) for pid in node.children(program, self.state)])
        for kind, took in sorted(self.took.items()):
            print(f"{kind}: {len(took)} kills, true after {statistics.median(took):.1f} s (median), {max(took):.1f} s (longest)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=Kills.kills)
    parser.add_argument("--guests", type=int, default=Kills.guests)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--log", help="where the server's log goes")
    options = parser.parse_args()
    Kills.kills, Kills.guests, Kills.seed, Kills.log_file = options.kills, options.guests, options.seed, options.log
    print(f"seed {Kills.seed}")
    unittest.main(argv=[sys.argv[0]], verbosity=2)


if __name__ == "__main__":
    main()
