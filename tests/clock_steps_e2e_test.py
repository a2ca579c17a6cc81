#!/usr/bin/env python3
"""The wall clock is set while VMs run (a host that was suspended, NTP): nothing is lost, and everything goes on."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "."))
from support import serve as e2e  # noqa: E402
from support.faults import FaultLibrary  # noqa: E402
from support.simulated import MERGE, MIGRATIONS, VMIS, VMS, Simulated  # noqa: E402


@unittest.skipIf(e2e.SANITIZED, "two libraries that want to come first")
class ClockSteps(Simulated):
    def run_server(self):
        self.faults = FaultLibrary(self.folder)
        os.environ.update(self.faults.environment)
        try:
            return super().run_server()
        finally:
            for name in self.faults.environment:
                del os.environ[name]

    def step_clock(self, hours):
        self.faults.set(clock_step_s=hours * 3600)

    def uids(self, *names):
        return [self.get(f"{VMIS}/{name}")["metadata"]["uid"] for name in names]

    def touch_nodes(self):
        """Any change of a Node makes its controller look at once."""
        self.touched = getattr(self, "touched", 0) + 1
        for node in ("node01", "node02"):
            self.good("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"touched": str(self.touched)}}}, headers=MERGE)

    def test_a_step_forward_takes_no_vm_from_its_node(self):
        for name in ("a", "b"):
            self.vm(name)
        for name in ("a", "b"):
            self.until_printable(name, "Running")
        before = self.uids("a", "b")
        self.step_clock(1)
        self.touch_nodes()
        self.vm("c")  # is placed at once, not with the next heartbeat
        self.until_printable("c", "Running")
        self.assertNotEqual(self.get(f"{VMS}/a")["metadata"]["creationTimestamp"][:13], self.get(f"{VMS}/c")["metadata"]["creationTimestamp"][:13])
        self.step_clock(0)
        self.touch_nodes()
        for name in ("a", "b", "c"):
            self.until_printable(name, "Running")
            self.assertNotIn("NodeUnresponsive", self.events(name))
        self.assertEqual(self.uids("a", "b"), before, "VMIs were given up")

    def test_a_step_back_leaves_migrations_alone(self):
        self.vm("a")
        self.until_printable("a", "Running")
        self.step_clock(-1)
        made = self.good("POST", MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                              "metadata": {"name": "m"}, "spec": {"vmiName": "a"}})
        self.until("the migration succeeds", lambda: self.get(f"{MIGRATIONS}/m")["status"]["phase"] == "Succeeded")
        self.assertEqual(self.get(f"{MIGRATIONS}/m")["metadata"]["uid"], made["metadata"]["uid"])
        self.assertEqual(self.get(f"{VMS}/a")["status"]["printableStatus"], "Running")


if __name__ == "__main__":
    unittest.main()
