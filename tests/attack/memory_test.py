#!/usr/bin/env python3
"""Memory: what clients make the server hold is bounded while they do it, and is given back when they are done.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: so many at once are to be worked on that none of them may wait for the CPU.
import json
import os
import re
import resource
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import cluster  # noqa: E402
from harness import DEADLINE_S, LONG, SANITIZED, Attack  # noqa: E402

MIB = 1 << 20


def memory_mib(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(field + r":\s+(\d+)", file.read()).group(1)) / 1024


def forget_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def head_of_answer(connection):
    """The status of the next answer on a raw connection, without its body; 0 when the connection ended."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        try:
            more = connection.recv(1)
        except OSError:
            more = b""
        if not more:
            return 0
        answer += more
    return int(answer.split()[1])


@unittest.skipIf(SANITIZED, "sanitizers keep freed memory for a while")
class Lists(Attack):
    """Readers of a list of 13 MB, by a user who may read it."""
    READERS = 100 if LONG else 20
    PATH = "/api/v1/namespaces/attacked/configmaps"

    def setUp(self):
        super().setUp()
        self.namespace("attacked")
        for number in range(13):
            self.must("POST", self.PATH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{number}"},
                                          "data": {"text": os.urandom(MIB // 2).hex()}})
        self.token = self.user("attacked", "reader", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}])
        self.ask_list = {"Authorization": "Bearer " + self.token}
        self.assertGreater(len(self.one.ask("GET", self.PATH, headers=self.ask_list)[2]), 13 * MIB)
        self.before = memory_mib(self.one.process.pid)
        forget_peak(self.one.process.pid)

    def grown(self, field="VmRSS"):
        return memory_mib(self.one.process.pid, field) - self.before

    def test_connections_that_stay_hold_nothing_of_what_they_read(self):
        readers = [self.one.connect() for _ in range(self.READERS)]
        for reader in readers:
            reader.request("GET", self.PATH, headers=self.ask_list)
            answer = reader.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertGreater(len(answer.read()), 13 * MIB)
        self.assertLess(self.grown(), 40, "MiB more after everything was read")
        for reader in readers:
            reader.close()

    def test_readers_that_do_not_read_hold_a_bounded_share(self):
        self.do_not_read(self.PATH)

    def test_watchers_that_do_not_read_hold_a_bounded_share(self):
        self.do_not_read(self.PATH + "?watch=true")

    def do_not_read(self, path):
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode()
        context, readers = self.one.context(), []
        for _ in range(self.READERS):
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.settimeout(DEADLINE_S)
            plain.connect((self.one.host, self.one.port))
            readers.append(context.wrap_socket(plain, server_hostname=self.one.host))
            readers[-1].sendall(request)
        statuses = [head_of_answer(reader) for reader in readers]
        self.assertTrue(set(statuses) <= {200, 429}, statuses)
        self.assertIn(200, statuses)
        # An object of 1 MiB each, as text and not also as what it was made of; of many readers, no more than a quarter of 256 MiB,
        # the one that is being made, and the connections themselves.
        self.assertLess(self.grown(), min(1.5 * self.READERS, 120), "MiB more while nobody reads")
        # Another user is not concerned.
        code, answer = self.call("GET", self.PATH + "/large-1")
        self.assertEqual(code, 200, answer)
        for reader in readers:
            reader.close()
        cluster.until("the answers are given up", lambda: self.grown() < 40)
        self.assertEqual(self.one.ask("GET", self.PATH, headers=self.ask_list)[0], 200)


@unittest.skipIf(SANITIZED, "sanitizers need more of the address space than any limit leaves")
class Threads(Attack):
    """A system that has no thread for the first large body."""

    def test_a_thread_that_cannot_be_had_is_asked_for_again(self):
        pid = self.one.process.pid
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"text": "x" * (MIB // 12)}}
        path = "/api/v1/namespaces/default/configmaps?dryRun=All"
        _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        # Enough for a body, and less than a thread's stack.
        resource.prlimit(pid, resource.RLIMIT_AS, (int(memory_mib(pid, "VmSize") * MIB) + 3 * MIB // 2, hard))
        for _ in range(70):  # more than may wait for a thread
            code, answer = self.call("POST", path, document)
            self.assertEqual(code, 429, answer)
        resource.prlimit(pid, resource.RLIMIT_AS, (hard, hard))
        self.must("POST", path, document)
        self.alive()


@unittest.skipIf(SANITIZED, "sanitizers keep freed memory for a while")
class Webhooks(cluster.Cluster):
    """Bodies for a cluster's webhooks, from somebody who has no certificate."""
    BODIES = 80
    PATH = "/virtualmachines-validate"

    def begin(self, length, certificate=None):
        """A connection on which a body of that length was offered, and what the server says to it."""
        plain = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=DEADLINE_S)
        connection = (self.gateway.context(certificate) if certificate else self.context).wrap_socket(plain, server_hostname="127.0.0.1")
        connection.sendall((f"POST {self.PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n").encode())
        return connection, head_of_answer(connection)

    def test_large_bodies_are_bounded_and_given_back(self):
        pid = self.gateway.process.pid
        self.context = self.gateway.context()
        before = memory_mib(pid)
        forget_peak(pid)
        body = b'{"a":"' + b"x" * (8 * MIB - 8) + b'"}'
        taken, refused = [], []
        for _ in range(self.BODIES):
            connection, status = self.begin(len(body))
            self.assertIn(status, (100, 429))
            (taken if status == 100 else refused).append(connection)
            if status == 100:
                connection.sendall(body[:-1])
        # Their share is used up by now; those who prove who they are, and small reviews, have theirs.
        self.assertEqual(self.gateway.ask("POST", self.PATH, {"small": "x" * 5000})[0], 400)
        large, status = self.begin(MIB, certificate="front")
        self.assertEqual(status, 100)
        large.close()
        self.assertLess(memory_mib(pid) - before, 160, "MiB more while bodies arrive")
        self.assertGreater(len(refused), 0)
        for connection in taken:
            connection.sendall(body[-1:])
        for connection in taken:
            self.assertIn(head_of_answer(connection), (200, 400))
        # Connections stay, and so does none of what came over them.
        cluster.until("the bodies are given back", lambda: memory_mib(pid) - before < 60, seconds=5)
        self.assertLess(memory_mib(pid, "VmHWM") - before, 250, "MiB more at most")
        for connection in taken + refused:
            connection.close()
        self.assertEqual(self.gateway.ask("POST", self.PATH, {"large": "x" * (4 * MIB)})[0], 400)


def vm_text(labels=None, **template):
    return json.dumps({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "large", "namespace": "attacked", "labels": labels or {}},
                       "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}, **template}}}},
                      separators=(",", ":")).encode()


@unittest.skipIf(SANITIZED, "sanitizers keep freed memory for a while")
class Values(Attack):
    """What a body becomes is many times as large as the body: many at once, of several users, stay bounded.

    A body that is too large to be kept is refused as soon as it is read (413), so it shows what reading holds. The others
    are just small enough for that, and are worked on to the end: of all shapes that bodies_test knows, these two make it
    hold the most, 80 times their text. No change is made in any of them, so all of it is to be given back.
    """
    CLIENTS, USERS = (48, 6) if LONG else (24, 6)
    PATH = "/apis/kubevirt.io/v1/namespaces/attacked/virtualmachines"
    KEPT_BYTES = 1400 * 1024  # less than stored_object_bytes_max, with what defaults add
    LABELS = {f"k{i:06d}": "v" for i in range(KEPT_BYTES // 14)}

    def setUp(self):
        super().setUp()
        self.namespace("attacked")
        rules = [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["create", "patch"]}]
        self.tokens = [self.user("attacked", f"user-{i}", rules) for i in range(self.USERS)]

    def flood(self, method, path, content_type, body, worked_on):
        """Sends it many times at once. All are answered with the code of one that was worked on, or told to come again."""
        pid = self.one.process.pid
        before = memory_mib(pid)
        forget_peak(pid)
        codes = []

        def ask(token):
            connection = self.raw()
            connection.settimeout(60)
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                               f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            codes.append(head_of_answer(connection))
            connection.close()

        clients = [threading.Thread(target=ask, args=(self.tokens[i % self.USERS],)) for i in range(self.CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual(len(codes), self.CLIENTS)
        self.assertEqual(set(codes) - {worked_on, 429}, set(), codes)
        self.assertGreaterEqual(codes.count(worked_on), 4, codes)  # heavy_seats: so many hold their memory at the same time
        peak = memory_mib(pid, "VmHWM")
        deadline = time.monotonic() + DEADLINE_S
        while memory_mib(pid) > before + 48 and time.monotonic() < deadline:
            time.sleep(0.1)
        after = memory_mib(pid)
        print(f"  {codes.count(worked_on)} of {len(codes)} worked on; {before:.0f} MiB before, {peak:.0f} at most, {after:.0f} after", file=sys.stderr)
        self.assertLess(peak, 768)
        self.assertLessEqual(after, before + 48, "it is given back")
        self.alive()
        return peak - before

    def test_bodies_that_are_read_and_then_too_large(self):
        start = b'{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"x"},"spec":{"template":{"spec":{"domain":{"devices":{"disks":['
        self.flood("POST", self.PATH, "application/json", start + b'{"name":"d","disk":{}},' * 80000 + b"{}]}}}}}}", 413)

    def test_bodies_that_are_judged_to_the_end(self):
        """100,000 claims of one name: as many values as there is room for, and each of them is wrong."""
        body = vm_text(resourceClaims=[{"name": "c"}] * (self.KEPT_BYTES // 13))
        self.assertGreater(self.flood("POST", self.PATH + "?dryRun=All", "application/json", body, 422), 64, "MiB: they were judged")

    def test_bodies_that_are_merged_judged_and_noted(self):
        """100,000 labels, applied over as many by another manager: three sets of values, and two sets of notes of who set them."""
        self.must("POST", self.PATH, vm_text(self.LABELS))
        self.assertGreater(self.flood("PATCH", self.PATH + "/large?dryRun=All&fieldManager=other&force=true", "application/apply-patch+yaml",
                                      vm_text(self.LABELS), 413), 64, "MiB: they were judged")


if __name__ == "__main__":
    unittest.main()
