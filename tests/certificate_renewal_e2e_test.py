#!/usr/bin/env python3
"""A certificate that comes into its last month while the server runs is renewed at once, and served.

VIRTGATE_BINARY names the program.
"""
import os
import socket
import ssl
import time
import unittest

from support.serve import DEADLINE_S, Scratch, openssl, read

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
