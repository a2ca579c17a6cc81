#!/usr/bin/env python3
"""A node that hangs, or the process that looks after nodes: it is said, the node is replaced, and its guest does not notice.

Every wait is for a state, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import contextlib
import os
import signal
import unittest

from support import node
from support.node import ACTIONS, VMIS


class Hangs(node.Node):
    def stopped(self, program, word=""):
        pid, = node.children(program, self.state, word)
        os.kill(pid, signal.SIGSTOP)

        def go_on():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.addCleanup(go_on)
        return pid

    def readyz(self):
        return self.one.get("/readyz")[2]

    def test_a_node_is_replaced(self):
        self.start("kept")
        before = self.qemu("kept"), self.uid("kept")
        hung = self.stopped("virtgate-node", "node01")
        self.until("another one", lambda: [pid for pid in node.children("virtgate-node", self.state, "node01") if pid != hung])
        self.until("it answers", lambda: self.ask("PUT", f"{ACTIONS}/virtualmachineinstances/kept/pause", {})[0] < 300)
        self.until("paused", lambda: self.condition("kept", "Paused") == "True")
        self.assertEqual((self.qemu("kept"), self.uid("kept")), before)
        self.assertEqual(self.get(f"{VMIS}/kept")["status"]["phase"], "Running")
        self.assertFalse(os.path.exists(f"/proc/{hung}"))
        self.remove("kept")

    def test_who_looks_after_nodes_is_missed(self):
        self.assertNotIn("nodes degraded", self.readyz())
        hung = self.stopped("virtgate", "node-keeper")
        self.until("it is said", lambda: "nodes degraded: the process that looks after nodes does not answer" in self.readyz())
        os.kill(hung, signal.SIGCONT)
        self.until("it is there again", lambda: "degraded" not in self.readyz())


if __name__ == "__main__":
    unittest.main(verbosity=2)
