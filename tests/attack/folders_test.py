#!/usr/bin/env python3
"""What other users of the same computer could read or change: the server does not trust it.

VIRTGATE_BINARY names the program.
"""
import os
import stat
import sys
import unittest

from harness import Scratch


class Folders(Scratch):
    def setUp(self):
        super().setUp()
        self.server().start().stop()

    def at(self, name):
        return os.path.join(self.state, name)

    def refused(self, *words):
        server = self.server()
        try:
            with self.assertRaisesRegex(AssertionError, "the server ended with 1"):
                server.start()
        finally:
            if server.process.poll() is None:
                server.stop()
        for word in words:
            self.assertIn(word, server.errors())
        self.assertNotIn("request", server.errors(), "there was none")

    def test_what_others_could_change_is_refused(self):
        for name, mode in (("pki", 0o777), ("pki", 0o770), ("store.db", 0o666), ("audit.log", 0o620), ("admin.kubeconfig", 0o602),
                           ("pki/ca.crt", 0o666), ("pki/service-account.key", 0o620)):
            with self.subTest(name=name, mode=oct(mode)):
                before = stat.S_IMODE(os.stat(self.at(name)).st_mode)
                os.chmod(self.at(name), mode)
                self.refused(self.at(name), "chmod go-w")
                os.chmod(self.at(name), before)
        self.server().start().stop()

    def test_what_others_could_read_is_closed(self):
        for name in ("store.db", "audit.log", "admin.kubeconfig"):
            os.chmod(self.at(name), 0o644)
        server = self.server().start()
        for name in ("store.db", "audit.log", "admin.kubeconfig"):
            self.assertEqual(stat.S_IMODE(os.stat(self.at(name)).st_mode), 0o600, name)
        self.assertIn("could be read by other users", server.errors())
        for entry in os.scandir(self.state):
            if entry.is_file():
                self.assertEqual(stat.S_IMODE(entry.stat().st_mode) & 0o077, 0, entry.name)
        server.stop()

    def test_links_are_refused(self):
        for name in ("store.db", "pki/ca.key", "audit.log"):
            with self.subTest(name=name):
                elsewhere = os.path.join(self.folder, "elsewhere")
                os.rename(self.at(name), elsewhere)
                os.symlink(elsewhere, self.at(name))
                self.refused(self.at(name), "link")
                os.unlink(self.at(name))
                os.rename(elsewhere, self.at(name))

    @unittest.skipIf(os.geteuid() != 0, "only the superuser can give files away")
    def test_files_of_others_are_refused(self):
        for name in ("pki", "store.db", "pki/server.key"):
            with self.subTest(name=name):
                os.chown(self.at(name), 12345, 12345)
                self.refused(self.at(name), "user id 12345", "chown 0 ")
                os.chown(self.at(name), 0, 0)

    def test_a_failed_start_speaks_of_no_request(self):
        os.rename(self.at("store.db"), self.at("store.db.away"))
        os.mkdir(self.at("store.db"))
        self.refused("store.db")
        os.rmdir(self.at("store.db"))
        os.rename(self.at("store.db.away"), self.at("store.db"))
        os.unlink(self.at("audit.log"))
        os.mkdir(self.at("audit.log"))
        self.refused("audit.log")
        os.rmdir(self.at("audit.log"))
        with open(self.at("store.db"), "r+b") as file:
            file.write(b"this is no database" * 100)
        self.refused("store.db")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
