#!/usr/bin/env python3
"""A node that hangs, or the process that looks after nodes: it is said, the node is replaced, and its guest does not notice. An agent that hangs delays no stop.

Every wait is for a state, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import base64
import contextlib
import os
import signal
import time
import unittest

from support import node
from support.node import ACTIONS, VMIS, VMS

# Answers everything but the one question.
SILENT = r"""exec <>/dev/virtio-ports/org.qemu.guest_agent.0 >&0
touch /tmp/opened
while read -r line; do
  case "$line" in
    *guest-sync*) id=${line##*:}; echo "{\"return\":${id%%\}*}}" ;;
    *guest-shutdown*) ;;
    *) echo '{"return":{}}' ;;
  esac
done
"""
GRACE_S, LATE_S = 8, 30  # libvirt waits a minute for an agent


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

    def test_an_agent_that_keeps_silent_delays_no_stop(self):
        self.start("liar", grace=GRACE_S)
        self.until("its agent", lambda: self.condition("liar", "AgentConnected") == "True")
        text = base64.b64encode(SILENT.encode()).decode()
        self.shell("liar", f"echo {text} | base64 -d >/tmp/ga; rm /usr/sbin/qemu-ga; killall qemu-ga; (while :; do sh /tmp/ga; sleep 1; done) >/dev/null 2>&1 & "
                           "until [ -e /tmp/opened ]; do sleep 1; done")
        self.until("the other agent", lambda: self.condition("liar", "AgentConnected") == "True")
        process, began = self.qemu("liar"), time.monotonic()
        self.good("DELETE", f"{VMS}/liar")
        self.until("its end", lambda: not os.path.exists(f"/proc/{process}"))
        self.assertLess(time.monotonic() - began, LATE_S)
        self.remove("liar")

    def test_who_looks_after_nodes_is_missed(self):
        self.assertNotIn("nodes degraded", self.readyz())
        hung = self.stopped("virtgate", "node-keeper")
        self.until("it is said", lambda: "nodes degraded: the process that looks after nodes does not answer" in self.readyz())
        os.kill(hung, signal.SIGCONT)
        self.until("it is there again", lambda: "degraded" not in self.readyz())


if __name__ == "__main__":
    unittest.main(verbosity=2)
