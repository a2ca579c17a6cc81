#!/usr/bin/env python3
"""Pools of `virtgate serve --node external` that keep the disks of VMs which they delete.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import os
import unittest

from support import serve as e2e

POOLS = "/apis/pool.kubevirt.io/v1beta1/namespaces/default/virtualmachinepools"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
STORAGE = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "4Mi"}}}
KEPT = b"what the pool was told to keep"


class Pools(e2e.Scratch):
    def setUp(self):
        super().setUp()
        self.one = self.server(role=("--node", "external")).start()

    def ask(self, method, path, body=None, kind="application/json"):
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body), headers=self.one.as_admin(**{"Content-Type": kind}))
        return code, json.loads(text) if text else None

    def pool(self, **strategy):
        vm = {"runStrategy": "Halted", "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"source": {"blank": {}}, "storage": STORAGE}}], "template": {"spec": {
            "domain": {"memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
            "volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}}}
        code, answer = self.ask("POST", POOLS, {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "p"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "p"}}, **strategy, "virtualMachineTemplate": {
                "metadata": {"labels": {"app": "p"}, "annotations": {"kubevirt.io/immediate-data-volume-creation": "true"}}, "spec": vm}}})
        self.assertEqual(code, 201, answer)
        return self.filled()

    def filled(self):
        """The DataVolume, once it is full and the VM's own."""
        def look():
            volume, vm = self.ask("GET", f"{VOLUMES}/root-0")[1], self.ask("GET", f"{VMS}/p-0")[1]
            owned = volume["metadata"].get("ownerReferences", [{}])[0].get("uid") == vm["metadata"]["uid"]
            return volume if volume["status"]["phase"] == "Succeeded" and owned else None
        return self.until("the disk", lambda: e2e.looked(look))

    def scale(self, replicas):
        code, answer = self.ask("PATCH", f"{POOLS}/p", {"spec": {"replicas": replicas}}, "application/merge-patch+json")
        self.assertEqual(code, 200, answer)

    def test_a_disk_that_is_to_be_kept_outlives_its_vm(self):
        volume = self.pool(scaleInStrategy={"proactive": {"statePreservation": "Offline"}})
        image = os.path.join(self.state, "disks", "default", "root-0", "disk.img")
        with open(image, "r+b") as file:
            file.write(KEPT)
        self.scale(0)
        self.until("the end of the VM", lambda: self.ask("GET", f"{VMS}/p-0")[0] == 404)
        # What is nobody's is seen by the garbage collector; it goes on after the next VM was deleted, too.
        self.scale(1)
        again = self.filled()
        self.assertEqual(again["metadata"]["uid"], volume["metadata"]["uid"], "the new VM has the old disk")
        with open(image, "rb") as file:
            self.assertEqual(file.read(len(KEPT)), KEPT)

    def test_a_disk_that_is_not_goes_with_it(self):
        self.pool()
        self.scale(0)
        self.until("the end of the disk", lambda: self.ask("GET", f"{VOLUMES}/root-0")[0] == 404)


if __name__ == "__main__":
    unittest.main()
