#!/usr/bin/env python3
"""A disk that does not answer: `virtgate serve` says so, answers who waits, and says of nothing that it is absent before
that is known.

A library that is loaded before the C library (support/faults.c) holds syncs back, or all that changes files, as on a file
system that is frozen. VIRTGATE_BINARY names the program.
"""
import json
import os
import shutil
import sys
import threading
import time
import unittest

import durability_test
from durability_test import BINARY, KINDS, MERGE, content, document
from support.faults import FaultLibrary


class SilentDisk(durability_test.DiskCase):
    def setUp(self):
        super().setUp()
        if durability_test.SANITIZED:
            self.skipTest("a sanitizer wants to be the first library")
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        self.faults = FaultLibrary(self.folder)
        for name, value in self.faults.environment.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def test_a_sync_that_does_not_come_back(self):
        server = self.server().start()
        client, waiting = self.client(server), self.client(server)
        path, answers = KINDS["maps"][2], []
        code, first = client.document("POST", path, document("maps", "first", content(0, "x")))
        self.assertEqual(code, 201)
        self.faults.set(sync_hangs=1)
        waiting.connection.timeout = 90
        writer = threading.Thread(target=lambda: answers.append(waiting.document("POST", path, document("maps", "late", content(1, "x")))))
        writer.start()
        self.await_not_ready(client)
        self.assertIn("the disk does not answer", client.ask("GET", "/readyz")[1].decode())
        self.assertEqual(client.ask("GET", "/livez")[0], 200)
        self.assertEqual(client.document("GET", path + "/first"), (200, first))
        self.assertEqual(client.ask("GET", path + "/late")[0], 404, "its writer has not been told anything")
        writer.join(90)
        (code, status), = answers
        self.assertEqual((code, status["reason"]), (504, "Timeout"), status)
        self.assertIn("the outcome of this write is unknown", status["message"])
        for asked in (("GET", path + "/late"), ("GET", path), ("DELETE", path + "/late")):
            self.refused(*client.ask(*asked))
        self.assertEqual(client.document("GET", path + "/first"), (200, first))
        self.faults.set()
        self.await_ready(client)
        code, late = client.document("GET", path + "/late")
        self.assertEqual(code, 200, "it has happened, and was never said to be absent after its writer was answered")
        server.kill()
        self.assertEqual(self.client(server.start()).document("GET", path + "/late"), (200, late))
        server.kill()

    def test_a_file_system_that_is_frozen(self):
        """Nobody waits for it but who writes: not the loops, which also write the audit log, the journal and the log."""
        server = self.server().start()
        client, watching = self.client(server), self.client(server)
        path, writers = KINDS["maps"][2], []
        code, first = client.document("POST", path, document("maps", "first", content(0, "x")))
        self.assertEqual(code, 201)
        self.faults.set(frozen=os.stat(self.folder).st_dev)
        for number in range(8):  # on every core; each is recorded when it was answered, as is who is refused
            writers.append(self.client(server))
            writers[-1].connection.request("PATCH", path + "/first", json.dumps({"metadata": {"annotations": content(number, "x")}}),
                                           {**writers[-1].fields, "Content-Type": MERGE})
        slowest_s, told, end = 0, "", time.monotonic() + 12  # longer than the store is patient, and many flushes
        while time.monotonic() < end:
            for asked, good in (("/livez", (200,)), ("/readyz", (200, 500)), (path + "/first", (200,)), (path + "/none", (404,))):
                began = time.monotonic()
                code, body = watching.ask("GET", asked)
                slowest_s = max(slowest_s, time.monotonic() - began)
                self.assertIn(code, good, body)
                told = body.decode() if asked == "/readyz" else told
            client.ask("POST", path + "?dryRun=All", {"kind": "Nonsense"})  # a line of its own in audit log and journal
        self.assertIn("the disk does not answer", told)
        self.assertLess(slowest_s, 1)
        self.faults.set()
        self.await_ready(client)
        for writer in writers:
            self.assertEqual(writer.connection.getresponse().status, 200)
        server.kill()


if __name__ == "__main__":
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"VIRTGATE_BINARY must name the program; it is {BINARY!r}")
    unittest.main()
