#!/usr/bin/env python3
"""`virtgate backup` says that disks are not in it, or takes them along; after a restore without them claims are Lost and nothing is made anew.

Every wait is for a state, with a deadline.
"""
import fcntl
import functools
import json
import os
import subprocess
import sys
import unittest

from support import serve as e2e

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
MIB = 1 << 20
WORDS = b"all that there is"
WholeServer = functools.partial(e2e.Server, role=("--node", "none"))


def run(*arguments):
    return subprocess.run([e2e.BINARY, *arguments], capture_output=True, text=True, timeout=e2e.DEADLINE_S)


class BackupOfDisks(e2e.Scratch):
    def setUp(self):
        super().setUp()
        self.one = self.whole(os.path.join(self.folder, "first"))
        self.file = os.path.join(self.folder, "backup")
        self.make_disk("data")

    def whole(self, state):
        server = WholeServer(state)
        self.addCleanup(server.clean_up)
        return server.start()

    def call(self, server, method, path, body=None):
        fields = {"Authorization": "Bearer " + server.token(), "Content-Type": "application/json"}
        code, _, text = server.ask(method, path, body=json.dumps(body) if body else None, headers=fields)
        return code, json.loads(text)

    def phase(self, server, name):
        return self.call(server, "GET", f"{CLAIMS}/{name}")[1].get("status", {}).get("phase")

    def image(self, server, name):
        return os.path.join(server.state, "disks", "default", name, "disk.img")

    def make_disk(self, name):
        code, made = self.call(self.one, "POST", VOLUMES, {
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name},
            "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "64Mi"}}}}})
        self.assertEqual(code, 201, made)
        self.until("it is filled", lambda: self.call(self.one, "GET", f"{VOLUMES}/{name}")[1].get("status", {}).get("phase") == "Succeeded")
        with open(self.image(self.one, name), "r+b") as file:
            file.seek(MIB)
            file.write(WORDS)

    def restored(self, *more):
        state = os.path.join(self.folder, "second")
        done = run("restore", "--state", state, *more, self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return state, done.stdout

    def test_without_disks_claims_are_lost_and_found_again(self):
        made = run("backup", "--state", self.one.state, self.file)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("not in it: the disks of 1 claims", made.stdout)
        state, told = self.restored()
        self.assertIn("the backup has no disks", told)
        two = self.whole(state)
        self.until("the claim is Lost", lambda: self.phase(two, "data") == "Lost")
        self.assertFalse(os.path.exists(os.path.dirname(self.image(two, "data"))), "it was made anew")
        os.makedirs(os.path.join(state, "disks", "default"), exist_ok=True)
        subprocess.run(["cp", "-a", "--sparse=always", os.path.dirname(self.image(self.one, "data")), os.path.join(state, "disks", "default")], check=True)
        self.until("it is Bound again", lambda: self.phase(two, "data") == "Bound")

    def test_with_disks_all_is_there(self):
        with open(os.path.join(os.path.dirname(self.image(self.one, "data")), ".part-accounts"), "w") as file:
            file.write("what a job works with")
        made = run("backup", "--state", self.one.state, "--disks", "--images", self.file)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("disks of 1 claims", made.stdout)
        self.assertNotIn("not in it", made.stdout)
        self.assertEqual(sorted(os.listdir(f"{self.file}.data/disks/default/data")), ["disk.img", "note.json"])
        self.assertEqual(os.stat(f"{self.file}.data").st_mode & 0o777, 0o700)
        state, told = self.restored()
        self.assertIn("restored the disks", told)
        two = self.whole(state)
        self.until("the claim is Bound", lambda: self.phase(two, "data") == "Bound")
        with open(self.image(two, "data"), "rb") as file:
            file.seek(MIB)
            self.assertEqual(file.read(len(WORDS)), WORDS)
        self.assertLess(os.stat(self.image(two, "data")).st_blocks * 512, 8 * MIB, "holes were filled")

    def test_disks_in_use_are_refused_or_left_out(self):
        self.make_disk("idle")
        with open(self.image(self.one, "data"), "r+b") as guest:
            fcntl.lockf(guest, fcntl.LOCK_SH, 1, 100)  # as QEMU does
            refused = run("backup", "--state", self.one.state, "--disks", self.file)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("guests use the disks of default/data,", refused.stderr)
            self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("backup")], [])
            made = run("backup", "--state", self.one.state, "--disks", "--skip-used", self.file)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("left out, since guests use them: default/data;", made.stdout)
        two = self.whole(self.restored()[0])
        self.until("what was used is Lost", lambda: self.phase(two, "data") == "Lost")
        self.until("the other is Bound", lambda: self.phase(two, "idle") == "Bound")

    def test_data_of_another_backup_is_refused(self):
        self.assertEqual(run("backup", "--state", self.one.state, "--disks", self.file).returncode, 0)
        with open(self.file + ".data/made", "w") as file:
            file.write("2001-01-01T00:00:00Z")
        state = os.path.join(self.folder, "second")
        refused = run("restore", "--state", state, self.file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is not of the backup", refused.stderr)
        self.assertEqual(os.listdir(state), ["lock"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
