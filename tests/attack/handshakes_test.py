#!/usr/bin/env python3
"""TLS handshakes of people who have shown no credentials: what they cost the server, and what they leave behind.

A client hello is made once and sent again and again, so that it costs its sender nothing. VIRTGATE_LONG=1 sends it for
longer. VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import multiprocessing
import os
import resource
import socket
import ssl
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LONG, Attack, Bystander  # noqa: E402

HALF_OPEN = 5000


def client_hello(curve=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if curve:
        context.set_ecdh_curve(curve)
    sent = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("a handshake without a server")



def resident_mib(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1048576


class Handshakes(Attack):
    def connect(self, source="127.0.0.1"):
        return socket.create_connection((self.one.host, self.one.port), timeout=10, source_address=(source, 0))

    def test_no_key_exchange_that_costs_us_more_than_the_client(self):
        for group, agreed in (("X25519", True), ("P-256", True), ("P-384", True), ("P-521", True), ("ffdhe2048", False), ("ffdhe8192", False)):
            ran = subprocess.run(["openssl", "s_client", "-connect", f"{self.one.host}:{self.one.port}", "-groups", group],
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
            self.assertEqual(ran.returncode == 0, agreed, (group, ran.stderr[-300:]))

    def test_others_are_served_while_a_stranger_wants_handshakes(self):
        hello = client_hello("secp384r1")  # the dearest that is offered
        sent = [multiprocessing.Value("q", 0) for _ in range(4)]

        def flood(index):
            os.nice(10)  # what they cost themselves is not what others wait for
            while True:
                batch = []
                for _ in range(50):
                    try:
                        one = self.connect(f"127.0.2.{index + 1}")
                        one.sendall(hello)
                        batch.append(one)
                    except OSError:
                        pass
                sent[index].value += len(batch)
                for one in batch:
                    one.close()

        with Bystander(self.one) as quiet:
            time.sleep(1)
        floods = [multiprocessing.Process(target=flood, args=(index,)) for index in range(len(sent))]
        for one in floods:
            one.start()
        try:
            with Bystander(self.one) as during:
                time.sleep(10 if LONG else 3)
                newcomers = []
                for number in range(5):
                    began = time.monotonic()
                    with self.one.context().wrap_socket(self.connect(f"127.0.3.{number + 1}"), server_hostname=self.one.host):
                        newcomers.append(time.monotonic() - began)
        finally:
            for one in floods:
                one.kill()
                one.join()
        before, after = quiet.percentile_s(0.99), during.percentile_s(0.99)
        print(f"{sum(one.value for one in sent)} hellos; others' p99 {before * 1000:.1f} ms, then {after * 1000:.1f} ms; "
              f"new connections of others {max(newcomers) * 1000:.0f} ms at most", file=sys.stderr)
        self.assertEqual(during.failures, [])
        allowed = max(0.020, 2 * before) * self.slowness().waiting()
        self.assertLess(after, allowed)
        self.assertLess(max(newcomers), 1.0 * self.slowness().waiting())

    def test_half_open_handshakes_leave_no_memory_behind(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * HALF_OPEN), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        pid = self.one.process.pid
        before = resident_mib(pid)
        hello = client_hello()
        held = []
        for number in range(HALF_OPEN):
            one = self.connect(f"127.0.4.{number % 200 + 1}")
            one.sendall(hello)
            held.append(one)
        self.assertEqual(self.one.get("/livez")[0], 200)
        deadline = time.monotonic() + 30
        while resident_mib(pid) < before + 40 and time.monotonic() < deadline:  # each has its turn
            time.sleep(0.05)
        most = resident_mib(pid)
        self.assertGreater(most, before + 40, "the handshakes were begun")
        for one in held:
            one.close()
        deadline = time.monotonic() + 30
        while resident_mib(pid) > before + 20 and time.monotonic() < deadline:
            time.sleep(0.1)
        print(f"resident: {before:.0f} MiB, with {HALF_OPEN} half-open {most:.0f} MiB, then {resident_mib(pid):.0f} MiB", file=sys.stderr)
        self.assertLess(resident_mib(pid), before + 20)


if __name__ == "__main__":
    unittest.main()
