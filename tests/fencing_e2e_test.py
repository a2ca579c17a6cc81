#!/usr/bin/env python3
"""One guest, one QEMU: a node that is left out at the next start, is silent or has no Node object any more is not dead as long as its guests' processes run.

A Node object that is deleted is a node that is lost at once, so nobody waits five minutes for a heartbeat. Every wait is for a state, with a
deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import os
import signal
import sys
import time
import unittest

from support import node
from support.node import VMIS, VMS

NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"


def guests(state):
    return node.children("qemu-system", state)


class Fencing(node.Node):
    nodes = 2

    def node_process(self, name):
        found = node.children("virtgate-node", self.state, name)
        return found[0] if found else None

    def preferring(self, name, where):
        return self.vm(name, affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [where]}]}}]}})

    def start_on(self, name, where):
        self.until("both nodes are there", lambda: all((self.get(f"{NODES}/{one}") or {}).get("metadata", {}).get("labels", {})
                                                       .get("kubevirt.io/schedulable") == "true" for one in ("node01", "node02")))
        self.good("POST", VMS, self.preferring(name, where))
        self.until_phase(name, "Running")
        self.assertEqual(self.get(f"{VMIS}/{name}")["status"]["nodeName"], where)
        return self.uid(name), self.qemu(name)

    def said_why(self, name):
        found = self.get(EVENTS) or {"items": []}
        return any(one["involvedObject"]["name"] == name and one["reason"] == "NodeUnresponsive" and "still runs" in one["message"] for one in found["items"])

    def assert_one(self, name, uid, pid, seconds=10):
        """For a while: a second QEMU would come within it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertEqual(guests(self.state), [pid])
            self.assertEqual((self.uid(name), self.phase(name)), (uid, "Running"))
            time.sleep(0.2)

    def test_a_node_that_is_left_out_is_kept_while_it_has_guests(self):
        uid, pid = self.start_on("stays", "node02")
        type(self).nodes = 1
        self.addCleanup(setattr, type(self), "nodes", 2)
        self.start_server()
        self.until("its node is there", lambda: self.node_process("node02"), seconds=30)
        self.until("it takes nothing new", lambda: (self.get(f"{NODES}/node02") or {}).get("spec", {}).get("unschedulable"))
        self.ask("DELETE", f"{NODES}/node02")
        self.assert_one("stays", uid, pid)
        self.remove("stays")
        type(self).nodes = 2
        self.start_server()
        self.until("it takes guests again", lambda: self.get(f"{NODES}/node02") and not self.get(f"{NODES}/node02").get("spec", {}).get("unschedulable"))

    def test_a_silent_node_is_lost_once_its_guest_has_ended(self):
        uid, pid = self.start_on("alone", "node02")
        silent = self.node_process("node02")
        os.kill(silent, signal.SIGSTOP)
        try:
            self.ask("DELETE", f"{NODES}/node02")
            self.until("the VMI says why it is not given up", lambda: self.said_why("alone") or self.uid("alone") != uid)
            self.assert_one("alone", uid, pid)
            os.kill(pid, signal.SIGKILL)
            self.until("it runs on the other node", lambda: self.phase("alone") == "Running" and self.uid("alone") != uid)
            self.assertEqual(self.get(f"{VMIS}/alone")["status"]["nodeName"], "node01")
        finally:
            os.kill(silent, signal.SIGCONT)
        self.remove("alone")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
