#!/usr/bin/env python3
"""`virtgate backup`, `restore` and `state`, as an administrator runs them."""
import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.serve import BINARY, DEADLINE_S, Scratch  # noqa: E402

MAPS = "/api/v1/namespaces/default/configmaps"


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=DEADLINE_S)


class StateCommands(Scratch):
    def setUp(self):
        super().setUp()
        self.one = self.server().start()
        self.backup_file = os.path.join(self.folder, "backup.vgb")

    def call(self, method, path, body=None, server=None):
        server = server or self.one
        fields = {"Authorization": "Bearer " + server.token(), "Content-Type": "application/json"}
        code, _, text = server.ask(method, path, body=json.dumps(body) if body else None, headers=fields)
        return code, json.loads(text)

    def create(self, name, text="x"):
        code, made = self.call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
        self.assertEqual(code, 201, made)
        return made

    def names(self, server=None):
        return {item["metadata"]["name"] for item in self.call("GET", MAPS, server=server)[1]["items"]}

    def test_a_backup_of_a_server_that_writes_is_one_moment(self):
        """Objects are made in order, so a backup has all up to one of them and none after it."""
        done, count = threading.Event(), 0

        def write():
            nonlocal count
            while not done.is_set():
                self.create(f"m{count}", "x" * 2000)
                count += 1
        writer = threading.Thread(target=write)
        writer.start()
        try:
            while count < 20:
                self.assertTrue(writer.is_alive())
            at_least = count
            made = run("backup", "--state", self.one.state, self.backup_file)
            at_most = count + 1
        finally:
            done.set()
            writer.join()
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.backup_file).st_mode), 0o600)
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])
        other = os.path.join(self.folder, "other")
        restored = run("restore", "--state", other, self.backup_file)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        two = self.server(state=other).start()
        found = {name for name in self.names(two) if name.startswith("m")}
        self.assertTrue(at_least <= len(found) <= at_most, (at_least, len(found), at_most))
        self.assertEqual(found, {f"m{number}" for number in range(len(found))})
        # The same keys: clients of the first are clients of the second, and no version is given out twice.
        self.assertEqual(self.one.token(), two.token())
        newest = int(self.call("GET", MAPS)[1]["metadata"]["resourceVersion"])
        self.assertGreater(int(self.call("GET", MAPS, server=two)[1]["metadata"]["resourceVersion"]), newest)

    def test_a_backup_leaves_the_audit_logs_alone(self):
        """Users fill them with what they do, beyond what a file of the state folder may have."""
        for log in ("audit-attempts.log", "audit-busy.log", "audit-reads.log", "audit-reads.log.1", "audit.log.2"):
            with open(os.path.join(self.one.state, log), "a") as file:
                file.write("{}\n" * 500000)
        made = run("backup", "--state", self.one.state, self.backup_file)
        self.assertEqual(made.returncode, 0, made.stderr)
        with contextlib.closing(sqlite3.connect(self.backup_file)) as db:
            names = [name for name, in db.execute("SELECT name FROM backup_files")]
        self.assertIn("pki/ca.key", names)
        self.assertFalse([name for name in names if name.startswith("audit")])

    def test_a_backup_with_programs_is_refused(self):
        """A view without end would be read for ever."""
        self.assertEqual(run("backup", "--state", self.one.state, self.backup_file).returncode, 0)
        with contextlib.closing(sqlite3.connect(self.backup_file)) as db:
            db.execute("DROP TABLE backup")
            db.execute("CREATE VIEW backup(made,files,checksum) AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
                       "SELECT x,x,x FROM c WHERE x<0")
            db.commit()
        refused = run("restore", "--state", os.path.join(self.folder, "other"), self.backup_file)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("views or triggers", refused.stderr)

    def test_a_damaged_backup_is_refused_and_nothing_is_changed(self):
        self.create("a")
        self.assertEqual(run("backup", "--state", self.one.state, self.backup_file).returncode, 0)
        with open(self.backup_file, "rb") as file:
            whole = file.read()
        place = whole.index(b'"name":"a"')
        with open(self.backup_file, "wb") as file:
            file.write(whole[:place] + b'"name":"b"' + whole[place + 10:])
        other = os.path.join(self.folder, "other")
        refused = run("restore", "--state", other, self.backup_file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is damaged", refused.stderr)
        self.assertEqual(os.listdir(other), ["lock"])

    def test_restore_leaves_alone_what_is_in_use_or_holds_objects(self):
        self.create("first")
        self.assertEqual(run("backup", "--state", self.one.state, self.backup_file).returncode, 0)
        self.assertIn("already exists", run("backup", "--state", self.one.state, self.backup_file).stderr)
        self.create("second")
        refused = run("restore", "--state", self.one.state, "--replace", self.backup_file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("in use", refused.stderr)
        self.one.stop()
        refused = run("restore", "--state", self.one.state, self.backup_file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--replace", refused.stderr)
        replaced = run("restore", "--state", self.one.state, "--replace", self.backup_file)
        self.assertEqual(replaced.returncode, 0, replaced.stderr)
        aside = [name for name in os.listdir(self.one.state) if name.startswith("replaced-")]
        self.assertEqual(len(aside), 1)
        self.assertIn("store.db", os.listdir(os.path.join(self.one.state, aside[0])))
        self.one.start()
        self.assertIn("first", self.names())
        self.assertNotIn("second", self.names())

    def test_an_interrupted_exchange_is_not_started_from(self):
        self.one.stop()
        with open(os.path.join(self.one.state, "exchange.pending"), "w"):
            pass
        self.one.launch()
        self.assertEqual(self.one.ended(), 1)
        self.assertIn("interrupted", self.one.errors())

    def watch(self, path, version):
        """The code with which a watch from this version is refused; None: it goes on."""
        answer = self.one.get(f"{path}?watch=1&timeoutSeconds=1&resourceVersion={version}", headers=self.one.as_admin())[2]
        return json.loads(answer.splitlines()[0])["object"].get("code") if answer else None

    def test_nobody_resumes_from_what_a_restore_took_away(self):
        secrets = "/api/v1/namespaces/default/secrets"
        self.assertEqual(run("backup", "--state", self.one.state, self.backup_file).returncode, 0)
        made = self.call("POST", secrets, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}})[1]
        version = made["metadata"]["resourceVersion"]
        self.assertIsNone(self.watch(secrets, version))
        self.one.stop()
        restored = run("restore", "--state", self.one.state, "--replace", self.backup_file)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.one.start()
        self.assertEqual(self.call("GET", secrets)[1]["items"], [])
        self.assertEqual(self.watch(secrets, version), 410, "there is no Secret any more, and the watcher must hear of it")

    def test_no_version_is_given_out_twice_whatever_is_lost(self):
        versions = []
        for _ in range(3):
            versions.append(int(self.create("a")["metadata"]["resourceVersion"]))
            self.one.stop()
            for suffix in ("", "-mark"):
                os.remove(os.path.join(self.one.state, "store.db" + suffix))
            accepted = run("state", "accept-loss", "--state", self.one.state)
            self.assertEqual(accepted.returncode, 0, accepted.stderr)
            self.one.start()
        self.assertEqual(sorted(set(versions)), versions)

    def test_an_emptied_store_without_a_mark_is_not_begun_anew(self):
        self.create("a")
        self.one.stop()
        os.truncate(os.path.join(self.one.state, "store.db"), 0)
        os.remove(os.path.join(self.one.state, "store.db-mark"))
        self.one.launch()
        self.assertEqual(self.one.ended(), 1)
        self.assertIn("shows that there was one", self.one.errors())
        self.assertEqual(run("state", "accept-loss", "--state", self.one.state).returncode, 0)
        self.one.start()

    def test_files_that_cannot_be_written_are_no_store_to_serve(self):
        self.one.stop()
        mark = os.path.join(self.one.state, "store.db-mark")
        os.chmod(mark, 0o400)
        self.one.launch()
        self.assertEqual(self.one.ended(), 1, "not served with a green readiness until somebody writes")
        self.assertIn(f"chmod u+rw {mark}", self.one.errors())
        os.chmod(mark, 0o600)
        self.one.start()

    def test_a_backup_has_no_audit_log_however_long(self):
        for name in ("audit-busy.log", "audit-reads.log.1"):
            with open(os.path.join(self.one.state, name), "a") as file:
                file.write("{}\n" * 1000000)
        made = run("backup", "--state", self.one.state, self.backup_file)
        self.assertEqual(made.returncode, 0, made.stderr)
        other = os.path.join(self.folder, "other")
        self.assertEqual(run("restore", "--state", other, self.backup_file).returncode, 0)
        self.assertEqual([name for name in os.listdir(other) if "audit" in name], [])

    def test_half_of_an_exchange_is_not_backed_up(self):
        self.one.stop()
        with open(os.path.join(self.one.state, "exchange.pending"), "w"):
            pass
        self.assertIn("interrupted", run("backup", "--state", self.one.state, self.backup_file).stderr)
        self.assertFalse(os.path.exists(self.backup_file))

    def test_check_and_export(self):
        self.create("a")
        running = run("state", "check", "--state", self.one.state)
        self.assertEqual(running.returncode, 2)
        self.assertIn("in use", running.stderr)
        self.assertEqual(run("state", "export", "--state", self.one.state).returncode, 2)
        self.one.stop()
        check = run("state", "check", "--state", self.one.state)
        self.assertEqual((check.returncode, check.stderr), (0, ""), check.stdout)
        self.assertIn("the store is intact", check.stdout)
        target = os.path.join(self.folder, "export.json")
        self.assertEqual(run("state", "export", "--state", self.one.state, "-o", target).returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o600)
        with open(target) as file:
            found = json.load(file)
        self.assertEqual(found["kind"], "List")
        self.assertIn("a", [item["metadata"]["name"] for item in found["items"] if item["kind"] == "ConfigMap"])
        self.assertEqual(run("state", "accept-loss", "--state", self.one.state).returncode, 1, "there is no loss")
        with open(os.path.join(self.one.state, "store.db"), "r+b") as file:
            file.seek(file.read().index(b'"kind":"ConfigMap"'))
            file.write(b'"kind":"ConfigMop"')
        check = run("state", "check", "--state", self.one.state)
        self.assertEqual(check.returncode, 1, check.stdout)
        self.assertRegex(check.stdout, r"the record of configmaps \S+ at revision \d+ is damaged")
        self.assertEqual(run("state", "check", "--state", os.path.join(self.folder, "nothing")).returncode, 2)

    def test_usage(self):
        for arguments in (("state",), ("state", "mend"), ("backup",), ("restore",), ("state", "check", "more"), ("backup", "--no", "x")):
            self.assertEqual(run(*arguments).returncode, 2, arguments)
        for arguments in (("state", "--help"), ("backup", "--help"), ("restore", "--help"), ("state", "export", "--help")):
            self.assertEqual(run(*arguments).returncode, 0, arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)
