#!/usr/bin/env python3
"""VMs on a real node, compared with what the real controllers were recorded to make of a node's reports.

The recordings of the controllers (tests/conformance/controllers.jsonl.xz) have a node that is played: a step says what it reports. Here nobody plays.
Where the recording says that the guest runs, the node has to bring it there; where it crashed, its QEMU is killed; where it ended because it was
deleted, the node has to end it. Every state in which the recorded VMs rest has to be reached, in status and metadata of all objects. States that a
real node leaves by itself (a VMI that waits to be started) are not compared, nor are specs, which `conform.py controllers` does.

A dozen scenarios are played; with VIRTGATE_LONG=1 all of them that a node can bring about.
"""
import json
import os
import signal
import sys
import time
import unittest

from support import node

sys.path.insert(0, os.path.join(node.SOURCE, "tests/conformance"))
import conform  # noqa: E402
import play  # noqa: E402

USUAL = ("crash-manual", "stop-then-start-manual", "dead-delete-manual", "delete-always", "restart-always", "running-manual-to-halted", "edit-hostname",
         "it-cluster", "it-switch", "adopt", "vmi-crash", "vmi-delete", "vmi-finalizer")
# What this node does otherwise than the recorded one, or cannot do.
OTHERWISE = {
    "edit-cpu-model": "the CPU model is not one of this machine's",
    "edit-sockets-over": "more sockets than this machine has CPUs",
    "edit-memory-over": "more memory than this machine gives",
    "edit-sockets-up": "grown in place, where the recorded VMI waits for a migration (COMPATIBILITY.md)",
    "limits-follow": "grown in place, as above",
    "edit-interface": "the default interface is another one here",
    "pool-halted": "the VMs of a pool keep the default interface, so they are not migratable",
    "pool-update-run-strategy": "as above",
}
REST_S = 60  # guests are emulated
# Guests here have no operating system that could be asked to end, so they are not given time for it. The recorded node calls every guest
# migratable; one that is bridged to the pod network, as by default, is not.
AT_ONCE = {"terminationGracePeriodSeconds": 0}
# What a real node reports beyond the recorded reports, and where it is another machine than theirs.
OF_THE_NODE = {"interfaces", "machine", "runtimeUser", "guestOSInfo", "volumeStatus", "topologyHints"}
REPORTS_OF_A_START = {"phase", "conditions", "migrationMethod", "machine", "selinuxContext"}


def comparable(state):
    """Status and metadata, without what depends on the machine."""
    shown = {}
    for kind, objects in state.items():
        if kind not in play.KINDS:
            continue
        shown[kind] = {}
        for name, one in objects.items():
            if isinstance(one, dict) and isinstance(one.get("status", {}), dict):
                status = {key: value for key, value in one.get("status", {}).items() if key not in OF_THE_NODE}
                shown[kind][name] = {"uid": one.get("uid"), "metadata": one.get("metadata"), "status": status}
    return shown


def phases(state):
    return [one.get("status", {}).get("phase") for one in state.get("VirtualMachineInstance", {}).values() if isinstance(one, dict)]


def rests(state):
    """Whether a real node leaves it so: nothing waits for a node to start it."""
    return "Scheduled" not in phases(state)


def is_about_nodes(scenario):
    """Whether a node can bring about everything that the recorded one reports."""
    if scenario["id"] in OTHERWISE or scenario.get("config") or scenario.get("alone") or scenario.get("needs") or scenario.get("workloadUpdate"):
        return False
    state, states = {}, 0
    for step in scenario["steps"]:
        if step["do"] == "request" and not rests(state):
            break  # at a moment in which a real node does not wait
        report = step.get("status") or {}
        if step["do"] not in ("request", "node") or "terminationGracePeriodSeconds" in json.dumps(step.get("body")):
            return False
        if step["do"] == "node":
            if step["vmi"].endswith("*"):
                return False
            vmi = state.get("VirtualMachineInstance", {}).get(step["vmi"], {})
            starts = report.get("phase") == "Running" and not set(report) - REPORTS_OF_A_START and \
                all(one and one["status"] == "True" and kind.endswith("LiveMigratable") for kind, one in (report.get("conditions") or {}).items())
            crashes = report == {"phase": "Failed"} and phases(state) == ["Running"]
            ends = report in ({"phase": "Succeeded"}, {"phase": "Failed"}) and vmi.get("metadata", {}).get("deleting")
            if not (starts or crashes or ends) or set(step) - {"do", "vmi", "status", "expect"}:
                return False
        state = play.merged(state, step["expect"].get("changes") or {})
        states += rests(state)
    return states > 0 and any(step["do"] == "node" for step in scenario["steps"])


class OnARealNode(play.Player):
    """A player whose node is not played."""

    def __init__(self, test, world, scenario, namespace):
        super().__init__(world, scenario, namespace)
        self.test = test

    def request(self, step):
        body = step.get("body")
        if step["method"] == "POST" and isinstance(body, dict):
            at = body.get("spec", {}).get("template", {}).get("spec") if body.get("kind") == "VirtualMachine" else body.get("spec") if body.get("kind") == "VirtualMachineInstance" else None
            if at is not None:
                at.update(AT_ONCE)
                if not at.get("networks") and not at["domain"].get("devices", {}).get("interfaces"):
                    at["networks"] = [{"name": "default", "pod": {}}]
                    at["domain"].setdefault("devices", {})["interfaces"] = [{"name": "default", "masquerade": {}}]
        return super().request(step)

    def vmi(self, name):
        return next(iter(self.instances(name)), {})

    def node(self, step):
        wanted, name = step["status"]["phase"], step["vmi"]
        vmi = self.vmi(name)
        if wanted == "Running":
            self.test.until(f"{self.namespace}/{name} runs", lambda: self.vmi(name).get("status", {}).get("phase") == "Running", REST_S)
        elif vmi.get("metadata", {}).get("deletionTimestamp"):
            ended = lambda now: now.get("metadata", {}).get("uid") != vmi["metadata"]["uid"] or now["status"]["phase"] in ("Succeeded", "Failed")  # noqa: E731
            self.test.until(f"{self.namespace}/{name} ends", lambda: ended(self.vmi(name)), REST_S)
        elif vmi:
            os.kill(self.test.until("its QEMU", lambda: self.test.qemu_of(self.namespace, name)), signal.SIGKILL)
        return {}


class Statuses(node.Node):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scenarios = {one["id"]: one for one in map(json.loads, conform.lines_of(os.path.join(node.SOURCE, "tests/conformance/controllers.jsonl.xz")))
                         if is_about_nodes(one)}
        cls.world = type("Quiet", (), {"kubelet": None, "connect": staticmethod(lambda: cls.connect())})

    @classmethod
    def connect(cls):
        return conform.Https(f"https://127.0.0.1:{cls.one.port}", (cls.one.pki("admin.crt"), cls.one.pki("admin.key")))

    def qemu_of(self, namespace, name):
        for pid in node.children("qemu-system", self.state):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if f"guest={namespace}_{name},".encode() in file.read():
                    return pid
        return None

    def differences(self, player, want):
        state = play.without(play.look(player.http, player.names), player.scenario.get("ignore") or [])
        return play.differences(comparable(want), comparable(state))

    def play(self, scenario):
        player, want, compared = OnARealNode(self, self.world, scenario, f"n-{scenario['id']}"[:63]), {}, 0
        player.start()
        try:
            for number, step in enumerate(scenario["steps"]):
                if step["do"] == "request" and not rests(want):
                    break  # as above
                answer = player.request(step) if step["do"] == "request" else player.node(step)
                expected = step["expect"]
                self.assertEqual({key: expected[key] for key in ("status", "reason") if key in expected}, answer, f"step {number}")
                want = play.merged(want, expected.get("changes") or {})
                if rests(want):
                    deadline = time.monotonic() + REST_S
                    while found := self.differences(player, want):
                        self.assertLess(time.monotonic(), deadline, f"step {number}, {play.describe(step)}:\n" + "\n".join(found))
                        time.sleep(0.05)
                    compared += 1
        finally:
            player.end()
            player.http.connection.close()
        return compared

    def test_states_at_rest_are_the_recorded_ones(self):
        chosen = list(self.scenarios) if os.environ.get("VIRTGATE_LONG") else [one for one in USUAL if one in self.scenarios]
        self.assertGreater(len(chosen), 10, sorted(self.scenarios))
        compared = 0
        for name in chosen:
            with self.subTest(name):
                states = self.play(self.scenarios[name])
                self.assertGreater(states, 0)
                compared += states
        print(f"{compared} states of {len(chosen)} scenarios")


if __name__ == "__main__":
    unittest.main()
