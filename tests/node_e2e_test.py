#!/usr/bin/env python3
"""`virtgate serve --node libvirt`: real guests from their creation to their end, and what survives whom.

Every wait is for an event, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import os
import signal
import statistics
import time
import unittest

from support import node
from support.node import ACTIONS, USER, VMIS, VMS


class Guests(node.Node):
    def log_in(self, name):
        self.assertEqual(self.shell(name, "echo sum $((40 + 2))", user=USER), "sum 42")


class RunsGuests(Guests):
    def test_a_guest_from_its_creation_to_its_end(self):
        took = self.start("demo", grace=60)
        print(f"create -> Running: {took * 1000:.0f} ms")
        status = self.get(f"{VMIS}/demo")["status"]
        self.assertEqual(status["nodeName"], "node01")
        self.assertTrue(status["interfaces"][0]["ipAddress"].startswith("127."))
        self.log_in("demo")

        self.action("demo", "pause")
        self.until("paused", lambda: self.condition("demo", "Paused") == "True")
        self.action("demo", "unpause")
        self.until("unpaused", lambda: self.condition("demo", "Paused") is None)
        self.assertEqual(self.shell("demo", "echo again $((1 + 1))"), "again 2")

        self.until("its web server answers", lambda: self.on_port("demo", 80, b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1."))
        self.until("its SSH server answers", lambda: self.on_port("demo", 22, b"", b"SSH-2.0"))
        code, _, picture = self.one.ask_bytes("GET", f"{ACTIONS}/virtualmachineinstances/demo/vnc/screenshot", headers=self.one.as_admin())
        self.assertEqual((code, picture[:4]), (200, b"\x89PNG"))

        before = self.uid("demo")
        self.action("demo", "restart", "virtualmachines")
        self.until("restarted", lambda: self.uid("demo") not in (before, None) and self.phase("demo") == "Running")
        self.log_in("demo")

        self.action("demo", "stop", "virtualmachines")
        self.until("stopped", lambda: self.get(f"{VMIS}/demo") is None)
        self.until("no QEMU is left", lambda: self.qemu("demo") is None)
        self.assertEqual((self.get(f"{VMS}/demo") or {})["status"]["printableStatus"], "Stopped")
        self.remove("demo")

    def test_guests_survive_everybody_but_their_own_qemu(self):
        self.start("one")
        self.start("two")
        self.until("both boot", lambda: self.qemu("one") and self.qemu("two"))
        guests = {name: (self.qemu(name), self.uid(name)) for name in ("one", "two")}

        def unharmed(*names):
            return all((self.qemu(name), self.uid(name)) == guests[name] and self.phase(name) == "Running" for name in names)

        for program, word in (("virtgate-node", "--node"), ("libvirtd", "--config")):
            pid = node.children(program, self.state, word)[0]
            os.kill(pid, signal.SIGKILL)
            self.until(f"another {program}", lambda: [one for one in node.children(program, self.state, word) if one != pid])
            self.until(f"true after the end of {program}", lambda: self.ready() and unharmed("one", "two"), 20)

        self.one.process.kill()
        self.one.ended()
        self.start_server(self.one.port)
        self.until("true after the end of the server", lambda: self.ready() and unharmed("one", "two"), 20)

        began = time.monotonic()
        os.kill(guests["one"][0], signal.SIGKILL)
        self.until("the VM whose QEMU was killed runs again",
                   lambda: self.phase("one") == "Running" and self.uid("one") != guests["one"][1])
        print(f"QEMU killed -> runs again: {time.monotonic() - began:.1f} s")
        self.assertTrue(unharmed("two"))
        self.on_console("two", ("login:", None))
        for name in ("one", "two"):
            self.remove(name)

    def ready(self):
        conditions = (self.get("/api/v1/nodes/node01") or {}).get("status", {}).get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def test_the_node_tells_of_its_images(self):
        def found():
            images = (self.get("/api/v1/nodes/node01") or {}).get("status", {}).get("images", [])
            return [one for one in images if node.IMAGE in one["names"]]
        image, = self.until("the node tells of its image", found)
        self.assertRegex(image["names"][1], r"^virtgate\.local/demo@sha256:[0-9a-f]{64}$")
        self.assertGreater(image["sizeBytes"], 1 << 20)

    def test_what_it_costs(self):
        self.start("warm")
        took = []
        for number in range(3):
            took.append(self.start(f"quick{number}"))
        resident = {name: sum(node.resident_kib(pid) for pid in node.children(name, self.state)) for name in ("virtgate-node", "libvirtd")}
        print(f"create -> Running: median {statistics.median(took) * 1000:.0f} ms of {[round(one * 1000) for one in took]}; "
              f"resident KiB {resident}")
        self.assertLess(sum(resident.values()), 60 * 1024)
        for name in ("warm", "quick0", "quick1", "quick2"):
            self.remove(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
