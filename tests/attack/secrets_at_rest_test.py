#!/usr/bin/env python3
"""Somebody gets hold of the state folder: a stolen disk, a backup, a file system that others can read. With a key file, which
lies elsewhere, they learn nothing of what Secrets hold.

VIRTGATE_BINARY names the program.
"""
import base64
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

import harness
from harness import BINARY, Scratch

PLAIN = "correct-horse-battery-staple"
CODED = base64.b64encode(PLAIN.encode()).decode()
SECRETS = "/api/v1/namespaces/default/secrets"


def secret(name, text=PLAIN):
    data = base64.b64encode(text.encode()).decode()
    # As `kubectl apply` leaves it: once more in an annotation.
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": data},
            "metadata": {"name": name, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"%s"}}' % data}}}


class AtRest(Scratch):
    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.folder, "keys")
        self.first, self.second = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))

    def write_keys(self, *lines, mode=0o600):
        with open(self.keys, "w") as file:
            file.write("\n".join(lines) + "\n")
        os.chmod(self.keys, mode)

    def run_server(self, *flags, keys=True):
        return self.server(*(("--secrets-key-file", self.keys) if keys else ()), *flags).start()

    def refused(self, *flags):
        one = self.server(*flags).launch()
        self.assertNotEqual(one.ended(), 0)
        return one.errors()

    def call(self, one, method, path, body=None):
        code, _, text = one.ask(method, path, body=harness.json.dumps(body) if body else None,
                                headers=one.as_admin(**{"Content-Type": "application/json"}))
        self.assertLess(code, 300, text)
        return harness.json.loads(text)

    def password(self, one, name):
        return base64.b64decode(self.call(one, "GET", f"{SECRETS}/{name}")["data"]["password"]).decode()

    def found(self, *texts):
        """The files of the state folder in which one of the texts stands."""
        places = []
        for folder, _, names in os.walk(self.state):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                if any(text.encode() in content for text in texts):
                    places.append(name)
        return places

    def test_nothing_of_a_secret_is_in_any_file(self):
        self.write_keys(self.first)
        one = self.run_server()
        self.call(one, "POST", SECRETS, secret("a"))
        self.call(one, "PUT", f"{SECRETS}/a", secret("a", PLAIN + "-2"))
        self.call(one, "POST", SECRETS, secret("b"))
        self.call(one, "DELETE", f"{SECRETS}/b")
        self.call(one, "POST", "/api/v1/namespaces/default/configmaps",
                  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"key": "for-everybody"}})
        self.assertEqual(self.found(PLAIN, CODED[:30]), [], "while it runs: store, log, audit")
        self.assertTrue(self.found("for-everybody"), "the search itself works")
        self.assertEqual(one.stop(), 0)
        self.assertEqual(self.found(PLAIN, CODED[:30]), [], "after it stopped")
        self.assertEqual(self.password(self.run_server(), "a"), PLAIN + "-2")

    def test_a_key_can_be_added_changed_and_removed(self):
        one = self.run_server(keys=False)
        self.call(one, "POST", SECRETS, secret("a"))
        self.call(one, "POST", SECRETS, secret("b"))
        self.call(one, "DELETE", f"{SECRETS}/b")
        self.assertTrue(self.found(CODED[:30]), "without a key it is as before")
        one.stop()

        self.write_keys(self.first)
        one = self.run_server()
        self.assertEqual(self.found(PLAIN, CODED[:30]), [], "what was there before is sealed, and old places are cleared")
        self.assertEqual(self.password(one, "a"), PLAIN)
        one.stop()
        self.assertIn("--secrets-key-file", self.refused())

        self.write_keys(self.second, self.first)
        one = self.run_server()
        self.assertEqual(self.password(one, "a"), PLAIN)
        one.stop()
        self.write_keys(self.first)
        self.assertRegex(self.refused("--secrets-key-file", self.keys), r"encrypted with key [0-9a-f]{16}")

        self.write_keys("plain", self.second)
        one = self.run_server()
        self.assertEqual(self.password(one, "a"), PLAIN)
        one.stop()
        self.assertEqual(self.password(self.run_server(keys=False), "a"), PLAIN)

    def test_a_killed_server_leaves_nothing_readable(self):
        self.write_keys(self.first)
        one = self.run_server()
        self.call(one, "POST", SECRETS, secret("a"))
        one.process.kill()
        one.ended()
        self.assertEqual(self.found(PLAIN, CODED[:30]), [])
        self.assertEqual(self.password(self.run_server(), "a"), PLAIN)

    def test_a_value_of_another_row_is_refused(self):
        self.write_keys(self.first)
        one = self.run_server()
        for name in ("mine", "theirs"):
            self.call(one, "POST", SECRETS, secret(name))
        one.stop()
        database = sqlite3.connect(os.path.join(self.state, "store.db"))
        database.text_factory = bytes
        with database:
            database.execute("UPDATE versions SET json=(SELECT json FROM versions WHERE name='theirs' AND resource='secrets') "
                             "WHERE name='mine' AND resource='secrets'")
        database.close()
        self.assertIn("damaged", self.refused("--secrets-key-file", self.keys))

    def test_a_key_that_others_can_read_is_refused(self):
        self.write_keys(self.first, mode=0o644)
        self.assertIn("chmod 600", self.refused("--secrets-key-file", self.keys))
        self.write_keys("too-short")
        self.assertIn("openssl rand -base64 32", self.refused("--secrets-key-file", self.keys))
        self.assertIn("No such file", self.refused("--secrets-key-file", self.keys + "-none"))

    def test_a_key_beside_the_store_is_warned_of(self):
        os.mkdir(self.state, 0o700)
        self.keys = os.path.join(self.state, "keys")
        self.write_keys(self.first)
        self.assertIn("store it elsewhere", self.run_server().errors())

    def test_backups_and_exports_need_the_key_too(self):
        self.write_keys(self.first)
        one = self.run_server()
        self.call(one, "POST", SECRETS, secret("a"))
        backup = os.path.join(self.folder, "backup")
        tool = lambda *arguments: subprocess.run([BINARY, *arguments], capture_output=True, text=True)  # noqa: E731
        done = tool("backup", "--state", self.state, backup)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(backup, "rb") as file:
            content = file.read()
        self.assertNotIn(CODED[:30].encode(), content)
        self.assertEqual(one.stop(), 0)

        self.assertEqual(tool("state", "check", "--state", self.state).returncode, 0, "rows can be checked without reading them")
        done = tool("state", "export", "--state", self.state)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(CODED[:30], done.stdout)
        self.assertIn("--secrets-key-file", done.stderr)
        done = tool("state", "export", "--state", self.state, "--secrets-key-file", self.keys)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(CODED[:30], done.stdout)

        self.state = os.path.join(self.folder, "restored")
        done = tool("restore", "--state", self.state, backup)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.found(PLAIN, CODED[:30]), [])
        self.assertIn("--secrets-key-file", self.refused())
        self.assertEqual(self.password(self.run_server(), "a"), PLAIN)

    def test_a_copy_of_the_folder_stays_sealed(self):
        self.write_keys(self.first)
        one = self.run_server()
        self.call(one, "POST", SECRETS, secret("a"))
        one.stop()
        before, self.state = self.state, os.path.join(self.folder, "copy")
        shutil.copytree(before, self.state)
        self.assertIn("--secrets-key-file", self.refused())
        self.assertEqual(self.password(self.run_server(), "a"), PLAIN)


if __name__ == "__main__":
    if not BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
