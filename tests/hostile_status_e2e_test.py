#!/usr/bin/env python3
"""Whoever may write objects may write statuses that no controller would: the others' VMs must start all the same.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import unittest

from support import simulated

MANY = 5000
NEVER, BEFORE_ALL = "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"
CONDITIONS = [{"type": f"C{number}", "status": "True", "message": "x" * 20} for number in range(MANY)]
NODE = "/api/v1/nodes/node01"
DATA_VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
SNAPSHOTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshots"

# What is written, where, as a merge patch. What the schema refuses is fine too.
ROWS = [
    ("conditions of a VMI", "VMI", {"status": {"conditions": CONDITIONS}}),
    ("numbers of a VMI", "VMI", {"status": {"currentCPUTopology": {"cores": 4294967295, "sockets": 4294967295, "threads": 4294967295}}}),
    ("times of a VMI", "VMI", {"status": {"phaseTransitionTimestamps": [{"phase": "Running", "phaseTransitionTimestamp": NEVER}] * MANY}}),
    ("placements of a VMI", "VMI", {"status": {"activePods": {f"00000000-0000-0000-0000-{number:012}": "node01" for number in range(MANY)}}}),
    ("volumes of a VMI", "VMI", {"status": {"volumeStatus": [{"name": f"v{number}", "target": "sda"} for number in range(MANY)]}}),
    ("interfaces of a VMI", "VMI", {"status": {"interfaces": [{"name": f"v{number}"} for number in range(MANY)]}}),
    ("types of a VMI", "VMI", {"status": {"conditions": "x", "activePods": [1], "phase": 7}}),
    ("the phase of a VMI", "VMI", {"status": {"phase": "Bogus"}}),
    ("the node of a VMI", "VMI", {"status": {"nodeName": "x" * 60000}}),
    ("the migration of a VMI", "VMI", {"status": {"migrationState": {
        "migrationUid": "z", "targetNode": "nowhere", "startTimestamp": BEFORE_ALL, "endTimestamp": NEVER}}}),
    ("the status of a VM", "VM/status", {"status": {
        "startFailure": {"consecutiveFailCount": -2147483648, "retryAfterTimestamp": NEVER},
        "stateChangeRequests": [{"action": "Bogus"}] * MANY, "conditions": CONDITIONS}}),
    ("generations of a VM", "VM/status", {"status": {"observedGeneration": -2 ** 63, "desiredGeneration": 2 ** 63 - 1}}),
    ("what a node has", NODE + "/status", {"status": {"allocatable": {"cpu": "-5", "memory": "999999999E"}}}),
    ("labels of a node", NODE, {"metadata": {"labels": {f"a{number}": "b" for number in range(MANY)},
                                             "annotations": {"kubevirt.io/heartbeat": NEVER}}}),
    ("taints of a node", NODE, {"spec": {"taints": [{"key": f"k{number}", "effect": "NoSchedule"} for number in range(MANY)]}}),
    ("the phase of a migration", "MIGRATION/status", {"status": {"phase": "Bogus"}}),
    ("times of a migration", "MIGRATION/status", {"status": {
        "phaseTransitionTimestamps": [{"phase": "Running", "phaseTransitionTimestamp": BEFORE_ALL}] * MANY}}),
    ("the state of a migration", "MIGRATION/status", {"status": {"migrationState": {"targetNode": "x", "migrationUid": ""}}}),
    ("the status of a DataVolume", DATA_VOLUMES + "/victim", {"status": {
        "phase": "Bogus", "progress": "-1", "restartCount": -2147483648, "conditions": CONDITIONS}}),
    ("the status of a snapshot", SNAPSHOTS + "/victim", {"status": {
        "phase": "Bogus", "creationTime": BEFORE_ALL, "virtualMachineSnapshotContentName": "x" * 5000, "readyToUse": False}}),
]


class HostileStatuses(simulated.Simulated):
    def make_victims(self):
        self.vm("victim")
        self.until("the victim runs", lambda: self.printable("victim") == "Running")
        self.good("POST", simulated.MIGRATIONS, {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "victim"}, "spec": {"vmiName": "victim"}})
        self.good("POST", DATA_VOLUMES, {
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "victim"},
            "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Mi"}}}}})
        self.good("POST", SNAPSHOTS, {
            "apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": "victim"},
            "spec": {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "victim"}}})

    def test_others_start_whatever_is_written(self):
        self.make_victims()
        places = {"VMI": f"{simulated.VMIS}/victim", "VM/status": f"{simulated.VMS}/victim/status",
                  "MIGRATION/status": f"{simulated.MIGRATIONS}/victim/status"}
        for number, (what, where, patch) in enumerate(ROWS):
            with self.subTest(what):
                code, answer = self.ask("PATCH", places.get(where, where), patch, headers=simulated.MERGE)
                self.assertIn(code, (200, 400, 404, 409, 413, 422), json.dumps(answer)[:300])
                self.vm(f"other-{number}")
                self.until(f"a VM runs after {what}", lambda: self.printable(f"other-{number}") == "Running")
        self.assertNotIn("cannot work on an object", self.one.errors())
        self.assertEqual(self.ask("GET", "/readyz")[0], 200)


if __name__ == "__main__":
    unittest.main()
