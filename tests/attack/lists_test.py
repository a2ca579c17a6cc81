#!/usr/bin/env python3
"""Long lists: they are held by nobody, neither while they are read nor afterwards, and others are served meanwhile."""
# RUN_SERIAL: it measures how long others wait.
import json
import os
import socket
import subprocess
import time
import unittest

from harness import DEADLINE_S, LONG, SANITIZED, Attack, Bystander

MAPS = "/api/v1/namespaces/default/configmaps"
OBJECTS, MEMBERS, OBJECT_BYTES = 220, 2000, 60 * 1024  # 13 MiB
READERS = 20
STALLED = 8  # of each form; a user has only so many lists at once
LISTERS = 4
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


class Lists(Attack):
    def setUp(self):
        super().setUp()
        connection = self.one.connect()
        for number in range(OBJECTS):
            # Text that packs badly, as what fills memory in earnest does, and many members, so that reading them takes time.
            text = os.urandom(MEMBERS * 10).hex()
            data = {f"k{member:04}": text[member * 20:member * 20 + 20] for member in range(MEMBERS)}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{number:04}", "labels": {"n": str(number % 10)}}, "data": data}
            connection.request("POST", MAPS, body=json.dumps(body), headers=self.one.as_admin(**{"Content-Type": "application/json"}))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 201)
        connection.close()

    def list(self, connection, path=MAPS, accept="application/json", method="GET"):
        connection.request(method, path, headers=self.one.as_admin(Accept=accept))
        return connection.getresponse()

    def body(self, path=MAPS, accept="application/json"):
        connection = self.one.connect()
        answer = self.list(connection, path, accept)
        body = answer.read()
        connection.close()
        self.assertEqual(answer.status, 200)
        return body

    def items(self, *arguments, key="items"):
        return json.loads(self.body(*arguments))[key]

    def pages(self, path, accept, key):
        """The same in pages that are short enough to be answered as a whole."""
        found, token = [], ""
        while True:
            page = json.loads(self.body(f"{path}{'&' if '?' in path else '?'}limit=1&continue={token}", accept))
            found += page[key]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def grown_mib(self, act):
        before = self.one.resident_mib()
        act()
        return self.one.resident_mib() - before

    def test_pieces_make_the_same_list(self):
        for accept, key, query in (("application/json", "items", ""), ("application/json", "items", "?labelSelector=n+in+(3,4)"), (TABLE, "rows", "?includeObject=Object")):
            whole, pages = self.items(MAPS + query, accept, key=key), self.pages(MAPS + query, accept, key)
            for row in whole + pages:
                row.get("cells", [None]).pop()  # its age
            self.assertTrue(whole == pages, (accept, query))
        self.assertGreater(len(self.body(MAPS, PROTOBUF)), OBJECTS * OBJECT_BYTES)
        connection = self.one.connect()
        self.assertEqual(self.list(connection).headers["Transfer-Encoding"], "chunked")
        connection.close()
        code, headers, text = self.one.get(MAPS + "?limit=1", headers=self.one.as_admin())
        self.assertEqual((code, int(headers["Content-Length"])), (200, len(text)))

        self.old_clients_and_those_who_leave()

    def old_clients_and_those_who_leave(self):
        old = self.raw()
        old.sendall(f"GET {MAPS} HTTP/1.0\r\nAuthorization: Bearer {self.one.token()}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: old.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertNotIn(b"chunked", head.lower())
        self.assertGreaterEqual(len(json.loads(body)["items"]), OBJECTS)
        old.close()
        for accept in ("application/json", TABLE, PROTOBUF):
            gone = self.raw()
            gone.sendall(f"GET {MAPS} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nAuthorization: Bearer {self.one.token()}\r\n\r\n".encode())
            gone.recv(1000)
            gone.close()
        connection = self.one.connect()
        answer = self.list(connection, "/apis/kubevirt.io/v1/namespaces/default/virtualmachines", method="HEAD")
        self.assertEqual((answer.status, answer.read()), (200, b""))
        connection.close()
        self.alive()

    @unittest.skipIf(SANITIZED, "memory means nothing here")
    def test_readers_leave_nothing_behind(self):
        self.body()
        readers = [self.one.connect() for _ in range(READERS)]
        for reader in readers:
            reader.connect()

        def read_all():
            for reader in readers:
                self.assertGreater(len(self.list(reader).read()), OBJECTS * OBJECT_BYTES)

        self.assertLess(self.grown_mib(read_all), 16)
        for reader in readers:
            reader.close()
        self.readers_who_stall_hold_little()

    def readers_who_stall_hold_little(self):
        stalled = []

        def stall():
            for accept in ("application/json", PROTOBUF):
                for _ in range(STALLED):
                    plain = socket.socket()
                    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    plain.settimeout(DEADLINE_S)
                    plain.connect((self.one.host, self.one.port))
                    reader = self.one.context().wrap_socket(plain, server_hostname=self.one.host)
                    reader.sendall(f"GET {MAPS} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nAuthorization: Bearer {self.one.token()}\r\n\r\n".encode())
                    self.assertEqual(reader.recv(12), b"HTTP/1.1 200")
                    stalled.append(reader)

        self.assertLess(self.grown_mib(stall), 2 * STALLED * 1.5 + 8)
        for reader in stalled:
            reader.close()

    def lets_others_in(self, accept, query):
        """Whether those who ask for something else while lists are written are answered soon: within 50 ms, or more
        on a host that is slow or busy otherwise, or in a fraction of the time that a list takes there."""
        rounds = 10 if LONG else 2
        # Other processes, which give way, so that only the server is what everybody waits for.
        url = f"https://{self.one.host}:{self.one.port}{MAPS}{query}{'&' if query else '?'}again=[1-{rounds}]"
        command = ["nice", "-n", "19", "curl", "-sS", "--cacert", self.one.pki("ca.crt"), "-H", f"Accept: {accept}", "-H", f"Authorization: Bearer {self.one.token()}", "-o", "/dev/null", url]
        with Bystander(self.one) as one, Bystander(self.one) as another:  # the next connection is on the next core
            began = time.monotonic()
            listers = [subprocess.Popen(command) for _ in range(LISTERS)]
            self.assertEqual([lister.wait() for lister in listers], [0] * LISTERS)
            list_s = (time.monotonic() - began) / rounds
        self.assertEqual(one.failures + another.failures, [])
        took_s = sorted(one.took_s + another.took_s)
        late = took_s[int(len(took_s) * 0.99)]
        print(f"{accept[:40]} {query}: {len(took_s)} asked, p99 {late * 1000:.1f} ms, a list {list_s * 1000:.1f} ms", flush=True)
        return late < max(0.050 * self.slowness().waiting(), list_s / 6)

    @unittest.skipIf(SANITIZED, "times mean nothing here")
    def test_others_are_served_meanwhile(self):
        for accept, query in ((TABLE, ""), (PROTOBUF, ""), ("application/json", ""), ("application/json", "?labelSelector=no%3Dmatch")):
            # The best of a few: what else the host does is not the server's doing, and a server that lets nobody in
            # while it works does so every time.
            self.assertTrue(any(self.lets_others_in(accept, query) for _ in range(3)), (accept, query))
        self.alive()


if __name__ == "__main__":
    unittest.main(verbosity=2)
