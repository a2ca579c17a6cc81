#!/usr/bin/env python3
"""`virtgate explain vm/NAME` against a server with simulated nodes: the usual questions and their answers.

VIRTGATE_BINARY names the program.
"""
import os
import subprocess
import unittest

from support import serve as e2e
from support.simulated import ACTIONS, MIGRATIONS, VMIS, VMS, Simulated


class Explain(Simulated):
    nodes = 1

    def explain(self, *arguments, code=0, environment=None):
        done = subprocess.run([e2e.BINARY, "explain", *arguments, *([] if environment else ["--state", self.state])], capture_output=True, text=True,
                              timeout=30, env={**os.environ, "KUBECONFIG": "", **(environment or {})})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_vm_that_nobody_started(self):
        self.vm("demo", strategy="Manual")
        self.until_printable("demo", "Stopped")
        told = self.explain("vm/demo")
        self.assertIn("(vm-manual)", told)
        self.assertIn("Next: virtctl start demo.", told)

    def test_a_vm_that_runs_tells_what_happened_in_order(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.until_told("demo", {"SuccessfulCreate", "Started"})
        told = self.explain("vm/demo", environment={"KUBECONFIG": os.path.join(self.state, "admin.kubeconfig")})
        self.assertIn("the guest runs", told)
        places = [told.index(part) for part in ("VM demo created", "VMI demo created", "VMI: Scheduling", "VMI: Running", "event Started")]
        self.assertEqual(places, sorted(places), told)

    def test_a_guest_that_ends_again_and_again(self):
        self.vm("demo", boot_fails="true")
        self.until_printable("demo", "CrashLoopBackOff")
        self.assertIn("in a row soon after its start", self.explain("vm/demo"))

    def test_a_vm_that_no_node_takes(self):
        self.vm("demo", spec={"nodeSelector": {"colour": "green"}})
        self.until_printable("demo", "ErrorUnschedulable")
        self.assertIn("no node takes the VMI", self.explain("vm/demo"))
        self.assertIn("(vmi-unschedulable)", self.explain("vmi/demo"))

    def test_a_claim_that_is_missing(self):
        self.vm("demo", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}])
        self.until("VMI", lambda: self.get(f"{VMIS}/demo"))
        self.assertIn("volume data names claim none, which does not exist", self.explain("vm/demo"))

    def test_a_migration_without_a_second_node(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.good("POST", MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "move"}, "spec": {"vmiName": "demo"}})
        self.until("looked at", lambda: self.get(f"{MIGRATIONS}/move").get("status", {}).get("phase"))
        self.assertIn("there is no second node", self.explain("migration/move"))

    def test_paused(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {})
        self.until_printable("demo", "Paused")
        self.assertIn("virtctl unpause vmi demo", self.explain("vm/demo"))

    def test_refusals(self):
        self.assertIn('"nope" not found', self.explain("vm/nope", code=1))
        self.assertIn("is not vm/NAME, vmi/NAME or migration/NAME", self.explain("pod/x", code=2))
        self.assertIn("is not vm/NAME", self.explain("vm/", code=2))
        self.assertIsNotNone(self.get(VMS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
