#!/usr/bin/env python3
"""The host's disk is to be filled past every quota: finalizers are taken off what has data, and it is deleted.

The attacker has the ClusterRole edit in `mine`. VIRTGATE_BINARY names the program.
"""
import os
import unittest

from clones_test import CLAIMS, MERGE, STORAGE, Clones
from harness import Attack

BLANK = {"cdi.kubevirt.io/storage.import.source": "none"}
PVS = "/api/v1/persistentvolumes"


class Leaks(Attack):
    editor, bind, object, make, get, marks = Clones.editor, Clones.bind, staticmethod(Clones.object), Clones.make, Clones.get, Clones.marks

    def setUp(self):
        super(Attack, self).setUp()
        self.one = self.server(role=("--node", "external")).start()
        self.namespace("mine")
        self.token = self.editor("mallory")

    def claim(self, name):
        made = self.make(CLAIMS, "v1", "PersistentVolumeClaim", name, STORAGE, annotations=BLANK)
        self.until(f"the disk of {name}", lambda: self.marks(name).get("cdi.kubevirt.io/storage.pod.phase") == "Succeeded")
        return f"pvc-{made['metadata']['uid']}"

    def tear_away(self, path):
        code, answer = self.call("PATCH", path, {"metadata": {"finalizers": None}}, self.token, MERGE)
        self.assertEqual(code, 200, answer)
        self.must("DELETE", path, None, self.token)
        self.until("its end", lambda: not self.get(path))

    def in_folder(self, *path):
        folder = os.path.join(self.state, "disks", *path)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def assert_gone(self, volume, claim):
        self.until("the end of the volume", lambda: not self.get(f"{PVS}/{volume}"))
        self.assertNotIn(claim, self.in_folder("mine"))
        self.assertEqual(self.in_folder(".released"), [])

    def test_claims(self):
        volume = self.claim("a")
        self.tear_away(f"{CLAIMS}/a")
        self.assert_gone(volume, "a")

    def test_claims_of_the_same_name(self):
        first = self.claim("a")
        self.tear_away(f"{CLAIMS}/a")
        second = self.claim("a")
        self.until("the end of the first volume", lambda: not self.get(f"{PVS}/{first}"))
        self.assertEqual((self.in_folder("mine"), self.in_folder(".released")), (["a"], []))
        self.assertEqual(self.get(f"{PVS}/{second}")["status"]["phase"], "Bound")

    def test_what_is_retained_stays(self):
        volume = self.claim("a")
        code, answer = self.call("PATCH", f"{PVS}/{volume}", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}, None, MERGE)
        self.assertEqual(code, 200, answer)
        self.tear_away(f"{CLAIMS}/a")
        self.until("the released volume", lambda: self.get(f"{PVS}/{volume}")["status"]["phase"] == "Released")
        self.until("the folder out of the way", lambda: self.in_folder(".released") == [volume])
        self.call("PATCH", f"{PVS}/{volume}", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}, None, MERGE)
        self.assert_gone(volume, "a")


del Clones  # its tests are its own file's
if __name__ == "__main__":
    unittest.main()
