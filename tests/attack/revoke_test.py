#!/usr/bin/env python3
"""Whoever was let in once and is to be kept out now: revoking takes effect, and what is doubtful lets nobody in.

VIRTGATE_BINARY names the program.
"""
import base64
import json
import os
import subprocess
import sys
import time
import unittest

from harness import DEADLINE_S, Attack

YEAR_S = 365 * 24 * 3600


def until(what, holds):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end, "it did not happen: " + what
        time.sleep(0.02)


def text_of(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def bytes_of(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class TokenFile(Attack):
    def setUp(self):
        super().setUp()
        self.path = self.one.pki("tokens.csv")
        self.write('jane-token,jane,1,"system:masters"\njoe-token,joe,2,"system:masters"\n')
        until("both are known", lambda: self.knows("jane-token") and self.knows("joe-token"))

    def write(self, text, mode=0o600):
        with open(os.open(self.path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
            file.write(text)
        os.chmod(self.path + ".new", mode)
        os.rename(self.path + ".new", self.path)

    def knows(self, token):
        return self.call("GET", "/api/v1/namespaces", token=token)[0] == 200

    def keeps_out(self, why, *words):
        until(why, lambda: not self.knows("jane-token") and not self.knows("joe-token"))
        self.assertTrue(self.knows(self.one.token()), "the administrator's token is in another file")
        certificate = (self.one.pki("admin.crt"), self.one.pki("admin.key"))
        self.assertEqual(self.one.get("/api/v1/namespaces", certificate=certificate)[0], 200, "and so is the certificate")
        code, _, text = self.one.get("/readyz?verbose")
        self.assertEqual(code, 200)
        for word in ("[~]tokens degraded", "tokens.csv", *words):
            self.assertIn(word, text)
        self.assertIn("[~]tokens", self.one.get("/readyz")[2], "also for who asks in short")
        for secret in ("jane-token", "joe-token"):
            self.assertNotIn(secret, text)
            self.assertNotIn(secret, self.one.errors())

    def right_again(self):
        if os.path.islink(self.path):
            os.unlink(self.path)
        if os.path.isdir(self.path):
            os.rmdir(self.path)
        self.write('jane-token,jane,1,"system:masters"\njoe-token,joe,2,"system:masters"\n')
        until("it is read again", lambda: self.knows("jane-token") and self.knows("joe-token"))
        self.assertEqual(self.one.get("/readyz")[2], "ok")

    def link(self):
        os.unlink(self.path)
        os.symlink("/nowhere/tokens.csv", self.path)

    def folder_there(self):
        os.unlink(self.path)
        os.mkdir(self.path)

    def test_what_is_doubtful_lets_nobody_in(self):
        # In each of them Joe is revoked, and something goes wrong with it.
        for why, spoil, words in (
                ("a line lacks a comma", lambda: self.write("jane-token,jane\n"), ["line 1"]),
                ("a quote does not end", lambda: self.write('jane-token,jane,1,"system:masters\n'), ["line 1"]),
                ("others can read it", lambda: self.write("jane-token,jane,1,system:masters\n", 0o644), ["chmod 600"]),
                ("it cannot be opened", self.link, ["link"]),
                ("it is a folder", self.folder_there, ["not a regular file"])):
            with self.subTest(why):
                spoil()
                self.keeps_out(why, *words)
                self.right_again()

    def test_a_file_that_is_gone(self):
        os.unlink(self.path)
        until("nobody is known", lambda: not self.knows("jane-token") and not self.knows("joe-token"))
        self.assertEqual(self.one.get("/readyz")[2], "ok", "that is how all are revoked")

    def test_a_server_starts_without_them(self):
        self.write("jane-token,jane\n")
        self.one.stop()
        self.one = self.server(port=self.one.port).start()
        self.keeps_out("a line is wrong at the start", "line 1")
        until("a metric says so", lambda: 'virtgate_health_degraded{check="tokens"} 1' in self.one.get("/metrics", headers=self.one.as_admin())[2])


class AdministratorsToken(Attack):
    def test_it_is_what_its_file_says(self):
        path, old = self.one.pki("admin.token"), self.one.token()
        fresh = "a-fresh-token-of-the-administrator-0123456789"
        with open(path + ".new", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(fresh + "\n")
        os.rename(path + ".new", path)
        ask = lambda token: self.call("GET", "/api/v1/namespaces", token=token)[0]  # noqa: E731
        until("the old one is refused", lambda: ask(old) == 401)
        self.assertEqual(ask(fresh), 200)
        os.unlink(path)
        until("none is taken", lambda: ask(fresh) == 401)
        certificate = (self.one.pki("admin.crt"), self.one.pki("admin.key"))
        self.assertEqual(self.one.get("/api/v1/namespaces", certificate=certificate)[0], 200)


class ServiceAccountTokens(Attack):
    def setUp(self):
        super().setUp()
        self.namespace("a")
        self.token = self.user("a", "bot", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}])
        self.account = "/api/v1/namespaces/a/serviceaccounts/bot"

    def ask(self, token):
        return self.call("GET", "/api/v1/namespaces/a/configmaps", token=token)[0]

    def order(self, **spec):
        return self.must("POST", f"{self.account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})

    def sign(self, token, **changes):
        """The token with other claims, signed with the server's own key, as an earlier version may have made it."""
        head, body, _ = token.split(".")
        claims = {**json.loads(bytes_of(body)), **changes}
        signed = head + "." + text_of(json.dumps(claims).encode())
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.one.pki("service-account.key")], input=signed.encode(),
                             check=True, capture_output=True).stdout
        numbers, at = [], 2
        for _ in range(2):  # two integers of ASN.1
            size = der[at + 1]
            numbers.append(der[at + 2:at + 2 + size].lstrip(b"\0").rjust(32, b"\0"))
            at += 2 + size
        return signed + "." + text_of(b"".join(numbers))

    def test_no_token_outlives_a_year(self):
        answer = self.order(expirationSeconds=1 << 32)
        self.assertEqual(answer["spec"]["expirationSeconds"], YEAR_S, "it says what was granted")
        self.assertLess(answer["status"]["expirationTimestamp"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + YEAR_S + 60)))
        self.assertEqual(self.ask(answer["status"]["token"]), 200)
        self.assertEqual(self.order(expirationSeconds=7200)["spec"]["expirationSeconds"], 7200)
        now = int(time.time())
        self.assertEqual(self.ask(self.sign(self.token, iat=now, nbf=now, exp=now + 3600)), 200, "the test signs as the server does")
        self.assertEqual(self.ask(self.sign(self.token, iat=now, nbf=now, exp=now + (1 << 32))), 401)

    def test_they_go_with_their_account_at_once(self):
        self.assertEqual(self.ask(self.token), 200)
        self.must("DELETE", self.account)
        self.assertEqual(self.ask(self.token), 401)
        self.must("POST", "/api/v1/namespaces/a/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}})
        self.assertEqual(self.ask(self.token), 401, "one of the same name is another one")

    def test_they_go_with_the_secret_they_are_bound_to(self):
        self.must("POST", "/api/v1/namespaces/a/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        token = self.order(boundObjectRef={"apiVersion": "v1", "kind": "Secret", "name": "s"})["status"]["token"]
        self.assertEqual(self.ask(token), 200)
        self.must("DELETE", "/api/v1/namespaces/a/secrets/s")
        self.assertEqual(self.ask(token), 401)
        self.assertEqual(self.ask(self.token), 200)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
