#!/usr/bin/env python3
"""A certificate that comes into its last month while the server runs, or that begins only after the time that a clock was
set back to, is renewed at once, and served. What cannot be renewed is told by /readyz.

VIRTGATE_BINARY names the program.
"""
import os
import shutil
import socket
import ssl
import time
import unittest

from support.faults import FaultLibrary
from support.serve import DEADLINE_S, SANITIZED, Scratch, openssl, read

MARGIN_S = 30 * 86400  # renewal_margin in src/local/pki.cpp
AHEAD_S = 15  # a start takes less, so that it does not renew the certificate itself
CONFIG = """
[ca]
default_ca = own
[own]
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
copy_extensions = none
unique_subject = no
[any]
commonName = supplied
[leaf]
extendedKeyUsage = serverAuth
subjectAltName = {names}
"""


class Renewal(Scratch):
    def reissue(self, server, ends):
        """The serving certificate again, with another end."""
        config = os.path.join(self.folder, "ca.conf")
        names = openssl("x509", "-in", server.pki("server.crt"), "-noout", "-ext", "subjectAltName").splitlines()[1].strip().replace("IP Address:", "IP:")
        for name, text in (("ca.conf", CONFIG.format(folder=self.folder, names=names)), ("index.txt", ""), ("serial", "01\n")):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        request = os.path.join(self.folder, "server.csr")
        openssl("req", "-new", "-key", server.pki("server.key"), "-subj", "/CN=virtgate", "-out", request)
        openssl("ca", "-batch", "-notext", "-config", config, "-extensions", "leaf", "-cert", server.pki("ca.crt"), "-keyfile", server.pki("ca.key"), "-in", request,
                "-startdate", time.strftime("%y%m%d%H%M%SZ", time.gmtime(time.time() - 3600)), "-enddate", time.strftime("%y%m%d%H%M%SZ", time.gmtime(ends)),
                "-out", server.pki("server.crt"))

    def served(self, server):
        with socket.create_connection((server.host, server.port), timeout=DEADLINE_S) as plain:
            with server.context().wrap_socket(plain, server_hostname=server.host) as secure:
                return ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True))

    def test_it_is_renewed_when_it_is_time(self):
        server = self.server().start()
        server.stop()
        self.reissue(server, time.time() + MARGIN_S + AHEAD_S)
        short = read(server.pki("server.crt"))
        due = time.monotonic() + AHEAD_S
        server.start()
        self.assertEqual(read(server.pki("server.crt")), short, "the start took so long that it renewed the certificate itself")
        self.assertEqual(self.served(server).split(), short.split())
        while self.served(server).split() == short.split():
            self.assertLess(time.monotonic(), due + DEADLINE_S, "the old certificate is still served")
            time.sleep(0.1)
        self.assertEqual(self.served(server).split(), read(server.pki("server.crt")).split())

    def until(self, what, holds):
        end = time.monotonic() + DEADLINE_S
        while not (found := holds()):
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)
        return found

    def ready(self, server):
        """Whatever its certificate says of the time, which is not that of this process."""
        with socket.create_connection((server.host, server.port), timeout=DEADLINE_S) as plain:
            with ssl._create_unverified_context().wrap_socket(plain) as secure:
                begins = openssl("x509", "-noout", "-startdate", "-dateopt", "iso_8601", given=ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True)))
                secure.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                with secure.makefile("rb") as answer:
                    return begins.strip().removeprefix("notBefore="), answer.read().decode()

    def test_it_is_renewed_when_the_clock_is_set_back(self):
        if SANITIZED or not shutil.which("cc"):
            self.skipTest("there is no C compiler, or a sanitizer that wants to be the first library")
        faults, day_s = FaultLibrary(self.folder), 86400
        for name, value in faults.environment.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
        server = self.server().start()
        for days in (340, 100, 50):  # into its last month, and back twice: before the new one begins, not before the CA does
            faults.set(clock_step_s=days * day_s)
            earliest, latest = (time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(time.time() + day * day_s)) for day in (days - 1, days))
            self.until(f"it is not renewed {days} days ahead", lambda: earliest <= self.ready(server)[0] <= latest)
            self.until("it does not become ready", lambda: " 200 " in self.ready(server)[1])
        faults.set(clock_step_s=-3 * day_s)
        self.until("it says nothing of the CA", lambda: "[-]certificates failed: the certificate of the CA is not valid now" in self.ready(server)[1])
        faults.set()
        self.until("it does not become ready again", lambda: " 200 " in self.ready(server)[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
