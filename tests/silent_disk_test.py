#!/usr/bin/env python3
"""A disk that does not answer: `virtgate serve` says so, answers who waits, and says of nothing that it is absent before
that is known.

A library that is loaded before the C library holds the syncs of the store's log back. VIRTGATE_BINARY names the program.
"""
import os
import shutil
import subprocess
import sys
import threading
import unittest

import durability_test
from durability_test import BINARY, KINDS, content, document


# The store's log is not synced for as long as a file is there.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void wait_while_held(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = 0;
  if (size < 4 || strcmp(path + size - 4, "-wal") != 0) return;
  while (access(getenv("TEST_HELD"), F_OK) == 0) usleep(5000);
}
int fdatasync(int file) { wait_while_held(file); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file); }
int fsync(int file) { wait_while_held(file); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file); }
"""


class SilentDisk(durability_test.DiskCase):
    def setUp(self):
        super().setUp()
        if durability_test.SANITIZED:
            self.skipTest("a sanitizer wants to be the first library")
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        source, library, self.held = (os.path.join(self.folder, name) for name in ("shim.c", "shim.so", "held"))
        with open(source, "w") as file:
            file.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        for name, value in (("LD_PRELOAD", library), ("TEST_HELD", self.held)):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def test_a_sync_that_does_not_come_back(self):
        server = self.server().start()
        client, waiting = self.client(server), self.client(server)
        path, answers = KINDS["maps"][2], []
        code, first = client.document("POST", path, document("maps", "first", content(0, "x")))
        self.assertEqual(code, 201)
        with open(self.held, "w"):
            pass
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
        os.remove(self.held)
        self.await_ready(client)
        code, late = client.document("GET", path + "/late")
        self.assertEqual(code, 200, "it has happened, and was never said to be absent after its writer was answered")
        server.kill()
        self.assertEqual(self.client(server.start()).document("GET", path + "/late"), (200, late))
        server.kill()


if __name__ == "__main__":
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"VIRTGATE_BINARY must name the program; it is {BINARY!r}")
    unittest.main()
