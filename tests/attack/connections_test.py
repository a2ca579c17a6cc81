#!/usr/bin/env python3
"""Connections: one client holds as many as it can get, and everybody else is served all the same.

A small limit of open files makes the attack cheap: it is what the server's limit of connections follows. VIRTGATE_LONG=1
has it with the usual limits and 16,500 sockets. VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import http.client
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BINARY, LONG, Attack, Scratch, Server  # noqa: E402

PATIENCE_S = 5  # others are served "at once": what a busy machine needs for a handshake, and no back-off


class LimitedServer(Server):
    """A server that may open so many files."""

    def __init__(self, *arguments, files=0):
        super().__init__(*arguments)
        self.files = files

    def launch(self):
        self.log = tempfile.TemporaryFile()
        limited = ["sh", "-c", f'ulimit -n {self.files} && exec "$@"', "sh"] if self.files else []
        self.process = subprocess.Popen([*limited, BINARY, "serve", "--api-only", "--state", self.state, "--listen", self.listen, *self.flags],
                                        stdout=subprocess.PIPE, stderr=self.log)
        return self


class Held(Attack):
    files = 0

    def setUp(self):
        Scratch.setUp(self)
        self.one = LimitedServer(self.state, files=self.files)
        self.addCleanup(self.one.clean_up)
        self.one.start()
        self.context = self.one.context()
        self.held = []
        self.addCleanup(lambda: [one.close() for one in self.held])

    def plain(self, source="127.0.0.1"):
        return socket.create_connection((self.one.host, self.one.port), timeout=PATIENCE_S, source_address=(source, 0))

    def connected(self, source):
        connection = http.client.HTTPSConnection(self.one.host, self.one.port, context=self.context, timeout=PATIENCE_S, source_address=(source, 0))
        connection.connect()
        return connection

    def get(self, connection, path, headers=None):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def hold(self, count, greeted, request=b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"):
        """Opens so many and leaves them; greeted ones after a handshake and a request. The server may close any."""
        for _ in range(count):
            try:
                one = self.plain()
                if greeted:
                    one = self.context.wrap_socket(one, server_hostname=self.one.host)
                    one.sendall(request)
                    if request.endswith(b"\r\n\r\n"):
                        one.recv(4096)
                self.held.append(one)
            except OSError:
                pass  # that, too, is an answer

    def others_are_served(self, known):
        self.assertEqual(self.get(known, "/api/v1/namespaces", self.one.as_admin()), 200, "an established user, on the connection they have")
        for number in range(10):
            for source in ("127.0.0.2", f"127.0.1.{number + 1}", "127.0.0.1"):
                began = time.monotonic()
                probe = self.connected(source)
                self.assertEqual(self.get(probe, "/livez"), 200)
                self.assertLess(time.monotonic() - began, PATIENCE_S)
                probe.close()
        self.assertEqual(self.get(known, "/api/v1/namespaces", self.one.as_admin()), 200)

    def known(self):
        connection = self.connected("127.0.0.1")
        self.assertEqual(self.get(connection, "/api/v1/namespaces", self.one.as_admin()), 200)
        self.addCleanup(connection.close)
        connection.auto_open = False  # a new connection would hide that this one was closed
        return connection

    def metric(self, name):
        for line in self.one.get("/metrics", headers=self.one.as_admin())[2].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError("no metric " + name)


class FewFiles(Held):
    files = 600

    def test_silent_sockets_of_one_client(self):
        known = self.known()
        self.hold(1000, greeted=False)
        self.others_are_served(known)
        self.assertLess(self.metric("virtgate_http_connections_open"), 200)

    def test_idle_connections_of_one_client(self):
        known = self.known()
        self.hold(700, greeted=True)
        self.others_are_served(known)
        self.assertGreater(self.metric('virtgate_http_connections_closed_total{reason="evicted"}'), 300)
        self.assertLess(self.metric("virtgate_http_connections_open"), 200)

    def test_connections_of_a_user_with_few_rights(self):
        """Known users are not counted by their source, so these take every place there is; others are served all the same."""
        self.namespace("small")
        token = self.user("small", "guest", [])
        said = f"Host: x\r\nAuthorization: Bearer {token}\r\n".encode()
        self.hold(450, greeted=True, request=b"GET /api/v1/namespaces HTTP/1.1\r\n" + said + b"\r\n")
        # A body that never comes is no work either.
        self.hold(300, greeted=True, request=b"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\r\n" + said + b"Content-Length: 9\r\n\r\n{")
        self.others_are_served(self.known())

    def test_out_of_files_in_spite_of_all(self):
        known = self.known()
        self.hold(20, greeted=True)
        used = len(os.listdir(f"/proc/{self.one.process.pid}/fd"))
        resource.prlimit(self.one.process.pid, resource.RLIMIT_NOFILE, (used, self.files))
        self.others_are_served(known)
        self.assertIn("cannot accept a connection", self.one.errors())
        # The listener rests instead of spinning while nobody can leave.
        with open(f"/proc/{self.one.process.pid}/stat") as file:
            ticks = file.read().rsplit(") ", 1)[1].split()
        time.sleep(0.5)
        with open(f"/proc/{self.one.process.pid}/stat") as file:
            later = file.read().rsplit(") ", 1)[1].split()
        spent = sum(int(later[i]) - int(ticks[i]) for i in (11, 12)) / os.sysconf("SC_CLK_TCK")
        self.assertLess(spent, 0.3)

    def test_says_that_more_files_are_recommended(self):
        self.assertIn("open file limit is 600, 33024 recommended; raise ulimit -n", self.one.errors())


class TooFewFiles(Scratch):
    def test_says_so_and_ends(self):
        for files in (8, 20, 60, 100):
            server = LimitedServer(self.state, files=files)
            self.addCleanup(server.clean_up)
            server.launch()
            self.assertEqual(server.ended(), 1, server.errors())
            self.assertIn(f"open file limit is {files}, at least 128 needed", server.errors())
            self.assertIn("raise ulimit -n", server.errors())


@unittest.skipUnless(LONG, "16,500 sockets take half a minute; VIRTGATE_LONG=1 has it run")
class UsualLimits(Held):
    def test_as_many_sockets_as_one_client_can_have(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        known = self.known()
        self.hold(16500, greeted=False)
        self.others_are_served(known)
        self.hold(2000, greeted=True)
        self.others_are_served(known)


class Trailers(Attack):
    def test_a_trailer_without_a_colon_is_refused(self):
        for trailer in (b"nocolon", b"a b: c", b"Content-Length: 5", b"Transfer-Encoding: chunked"):
            connection = self.raw()
            connection.sendall(b"POST /virtualmachines-validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + self.one.token().encode() +
                               b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + trailer + b"\r\n\r\n")
            answer = connection.recv(4096)
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
            self.assertIn(b"trailer", answer)
            self.assertIn(b"Connection: close", answer)
            connection.close()


if __name__ == "__main__":
    unittest.main()
