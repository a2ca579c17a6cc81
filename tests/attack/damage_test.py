#!/usr/bin/env python3
"""Damage to the files of a server that was killed: it never comes up green with less than it had acknowledged.

The store's own tests damage files at random (store_damage_test.cpp); here is what a user sees.
"""
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BINARY, DEADLINE_S, LONG, Server  # noqa: E402

OBJECTS = 300
MAPS = "/api/v1/namespaces/default/configmaps"


def names(items):
    return {item["metadata"]["name"] for item in items if item["kind"] == "ConfigMap" and item["metadata"]["name"].startswith("kept-")}


class DamagedStore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One server writes and is killed; every test damages a copy of what it left."""
        cls.root = tempfile.mkdtemp(prefix="virtgate-damage-")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.whole = os.path.join(cls.root, "whole")
        server = Server(cls.whole).start()
        cls.acknowledged = {f"kept-{number}" for number in range(OBJECTS)}
        connection = server.connect()
        for name in cls.acknowledged:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "x" * 500}}
            connection.request("POST", MAPS, body=json.dumps(body), headers=server.as_admin(**{"Content-Type": "application/json"}))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 201, text
        connection.close()
        server.process.kill()
        server.clean_up()

    def setUp(self):
        self.state = os.path.join(self.root, self.id().rsplit(".", 1)[1])
        self.kept = set(self.acknowledged)
        self.heal()

    def file(self, suffix):
        return os.path.join(self.state, "store.db" + suffix)

    def heal(self):
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.whole, self.state)

    def flip(self, suffix, at):
        with open(self.file(suffix), "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def outcome(self):
        """Starts the server: what it said when it refused, or None when it came up, with everything."""
        server = Server(self.state).launch()
        try:
            until = time.monotonic() + DEADLINE_S
            while server.process.poll() is None:
                try:
                    if server.get("/readyz")[0] == 200:
                        return self.compare(server)
                except (OSError, http.client.HTTPException):
                    pass
                self.assertLess(time.monotonic(), until, "neither ready nor ended")
                time.sleep(0.005)
            self.assertEqual(server.process.returncode, 1)
            return server.errors()
        finally:
            server.process.kill()
            server.clean_up()

    def compare(self, server):
        code, _, text = server.ask("GET", MAPS, headers=server.as_admin())
        self.assertEqual(code, 200)
        there = {item["metadata"]["name"] for item in json.loads(text)["items"]}
        self.assertEqual(len(self.kept - there), 0, f"ready, with {len(self.kept & there)} of {OBJECTS} acknowledged objects")

    def refused(self):
        message = self.outcome()
        self.assertIsNotNone(message)
        self.assertIn("virtgate restore", message)
        self.assertIn("virtgate state accept-loss", message)
        return message

    def command(self, *arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=DEADLINE_S)

    def test_nothing_is_wrong_with_a_kill(self):
        self.assertIsNone(self.outcome())

    def test_a_byte_of_the_log(self):
        self.flip("-wal", os.path.getsize(self.file("-wal")) // 3)
        message = self.refused()
        self.assertIn("acknowledged changes are missing", message)
        self.assertRegex(message, r"it has revision \d+ with \d+ rows.*the mark says revision \d+ with \d+ rows")
        check = self.command("state", "check", "--state", self.state)
        self.assertEqual(check.returncode, 1, check)
        # The rows behind the damaged place are all still there.
        export = self.command("state", "export", "--state", self.state)
        self.assertEqual(export.returncode, 1, export.stderr)
        saved = names(json.loads(export.stdout)["items"])
        self.assertGreaterEqual(len(saved), OBJECTS - 20)
        accepted = self.command("state", "accept-loss", "--state", self.state)
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        self.kept = saved
        self.assertIsNone(self.outcome())

    def test_a_lost_log(self):
        os.remove(self.file("-wal"))
        self.refused()

    def test_a_log_that_was_cut(self):
        os.truncate(self.file("-wal"), os.path.getsize(self.file("-wal")) // 2)
        self.refused()

    def test_a_store_that_was_emptied_or_removed(self):
        for removed in ("", "-wal"):
            os.truncate(self.file(removed), 0)
        self.assertIn("it is empty", self.refused())
        for removed in ("", "-wal"):
            os.remove(self.file(removed))
        self.assertIn("it is missing", self.refused())
        os.remove(self.file("-mark"))  # nothing but the keys is left
        self.assertIn("shows that there was one", self.refused())
        self.assertEqual(self.command("state", "accept-loss", "--state", self.state).returncode, 0)
        self.kept = set()
        self.assertIsNone(self.outcome(), "begins anew when it was told to")

    def test_a_lost_mark(self):
        os.remove(self.file("-mark"))
        self.refused()
        export = self.command("state", "export", "--state", self.state)
        self.assertEqual(names(json.loads(export.stdout)["items"]), self.kept)

    def test_random_damage(self):
        chance = random.Random(1)
        for _ in range(60 if LONG else 6):
            self.heal()
            suffix = chance.choice(("", "-wal", "-wal", "-mark"))
            self.flip(suffix, chance.randrange(os.path.getsize(self.file(suffix))))
            message = self.outcome()  # either all is there, or it says no
            if message is not None:
                self.assertIn("virtgate state export", message)


if __name__ == "__main__":
    unittest.main(verbosity=2)
