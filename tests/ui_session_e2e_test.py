#!/usr/bin/env python3
"""Sign in to the page of `virtgate serve`, and what others try: sessions of the page against a running server.

VIRTGATE_BINARY names the program.
"""
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from support import serve
from support.serve import BINARY, DEADLINE_S

VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
COOKIE = "__Host-virtgate-session"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
                               "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
}
OWN = {"X-Virtgate-UI": "1"}
VM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "demo", "namespace": "default"},
      "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}}


class Sessions(serve.Scratch):
    """One server for all tests: each makes the sessions it needs."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="virtgate-ui-")
        cls.running = serve.Server(os.path.join(cls.place, "state"), role=("--node", "simulated"))
        cls.running.start()
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.addClassCleanup(cls.running.clean_up)
        with open(os.open(cls.running.pki("tokens.csv"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("alice-token,alice,,\nbob-token,bob,,people\nleaver-token,leaver,,\n")
        deadline = time.monotonic() + DEADLINE_S
        while cls.running.ask("GET", "/ui/session", headers={"Authorization": "Bearer alice-token"})[0] != 200:
            assert time.monotonic() < deadline, "the token file is not read"

    def ask(self, method, path, body=None, **headers):
        return self.running.ask(method, path, json.dumps(body) if body is not None else None,
                                {name.replace("_", "-"): value for name, value in headers.items()})

    def origin(self):
        return f"https://{self.running.listen}"

    def sign_in(self, token="alice-token", **headers):
        answer = self.ask("POST", "/ui/session", {"token": token}, **OWN, **headers)
        self.assertEqual(answer[0], 201, answer[2])
        return re.match(rf"({COOKIE}=[\w-]+); Path=/; Secure; HttpOnly; SameSite=Strict$", answer[1]["Set-Cookie"]).group(1)

    def user_of(self, cookie, **headers):
        code, _, body = self.ask("GET", "/ui/session", Cookie=cookie, **{**OWN, **headers})
        return json.loads(body)["user"] if code == 200 else code

    # --- files ------------------------------------------------------------------------------------------------------

    def test_every_answer_has_the_security_headers(self):
        for method, path, code in (("GET", "/ui", 308), ("GET", "/ui/", 200), ("GET", "/ui/none", 404), ("PUT", "/ui/", 405), ("GET", "/ui/session", 401),
                                   ("POST", "/ui/session", 403), ("GET", "/ui/api/none", 401), ("POST", "/ui/codes", 401)):
            answer = self.ask(method, path)
            self.assertEqual(answer[0], code, path)
            for name, value in HEADERS.items():
                self.assertEqual(answer[1].get_all(name), [value], f"{path} {name}")

    def test_files_are_revalidated(self):
        code, headers, body = self.running.ask_bytes("GET", "/ui/", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((code, headers["Content-Encoding"], headers["Cache-Control"]), (200, "gzip", "no-cache"))
        self.assertEqual(body[:2], b"\x1f\x8b")
        self.assertEqual(self.ask("GET", "/ui/", Accept_Encoding="gzip", If_None_Match=headers["ETag"])[0], 304)
        self.assertIn("<html", self.ask("GET", "/ui/index.html")[2])

    # --- signing in -------------------------------------------------------------------------------------------------

    def test_a_session_is_its_user(self):
        cookie = self.sign_in()
        self.assertEqual(self.user_of(cookie), "alice")
        self.assertEqual(self.ask("GET", VMS, Cookie=cookie, **OWN)[0], 403)  # alice may nothing
        document = json.loads(self.ask("GET", VMS, Cookie=cookie, **OWN)[2])
        self.assertIn('User "alice" cannot list', document["message"])
        admin = self.sign_in(self.running.token())
        self.assertEqual(self.ask("GET", VMS, Cookie=admin, **OWN)[0], 200)
        who = json.loads(self.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                  {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, Cookie=cookie, Content_Type="application/json", **OWN)[2])
        self.assertEqual(who["status"]["userInfo"]["username"], "alice")
        self.assertIn("system:authenticated", who["status"]["userInfo"]["groups"])

    def test_the_link_of_the_command_signs_in_once(self):
        told = subprocess.run([BINARY, "ui", "--state", self.running.state], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(told.returncode, 0, told.stderr)
        link = re.fullmatch(rf"{self.origin()}/ui/#/login/([\w-]{{43}})\n", told.stdout)
        self.assertTrue(link, told.stdout)
        answer = self.ask("POST", "/ui/session", {"code": link.group(1)}, **OWN)
        self.assertEqual(answer[0], 201, answer[2])
        self.assertIn("system:masters", json.loads(answer[2])["groups"])
        self.assertEqual(self.ask("POST", "/ui/session", {"code": link.group(1)}, **OWN)[0], 401)  # replayed
        cookie = answer[1]["Set-Cookie"].split(";")[0]
        self.assertEqual(self.ask("GET", VMS, Cookie=cookie, **OWN)[0], 200)
        self.assertEqual(self.ask("POST", "/ui/codes", Cookie=cookie, **OWN)[0], 403)  # a session makes no other one

    def test_signing_out_ends_it(self):
        cookie = self.sign_in()
        self.assertEqual(self.ask("DELETE", "/ui/session", Cookie=cookie)[0], 403)  # another site's form
        self.assertEqual(self.user_of(cookie), "alice")
        answer = self.ask("DELETE", "/ui/session", Cookie=cookie, **OWN)
        self.assertEqual(answer[0], 204)
        self.assertIn("Max-Age=0", answer[1]["Set-Cookie"])
        self.assertEqual(self.user_of(cookie), 401)

    def test_a_revoked_token_ends_its_session(self):
        cookie = self.sign_in("leaver-token")
        self.assertEqual(self.user_of(cookie), "leaver")
        with open(self.running.pki("tokens.csv")) as file:
            kept = [line for line in file if not line.startswith("leaver-token")]
        with open(self.running.pki("tokens.csv"), "w") as file:
            file.writelines(kept)
        deadline = time.monotonic() + DEADLINE_S
        while self.user_of(cookie) != 401:
            self.assertLess(time.monotonic(), deadline)

    def test_a_restart_ends_all(self):
        server = self.server("--ui-session", "1h").start()
        answer = server.ask("POST", "/ui/session", json.dumps({"token": server.token()}), OWN)
        self.assertEqual(answer[0], 201)
        expires = json.loads(answer[2])["expires"]
        left = time.mktime(time.strptime(expires, "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(time.gmtime())
        self.assertTrue(3500 <= left <= 3600, left)
        server.stop()
        server.start()
        self.assertEqual(server.ask("GET", "/ui/session", None, {**OWN, "Cookie": answer[1]["Set-Cookie"].split(";")[0]})[0], 401)

    def test_the_page_can_be_turned_off(self):
        server = self.server("--ui=false").start()
        for path in ("/ui", "/ui/", "/ui/session"):
            self.assertIn(server.ask("GET", path, None, server.as_admin())[0], (404,), path)
        told = subprocess.run([BINARY, "ui", "--state", self.state], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(told.returncode, 1)
        self.assertIn("--ui=false", told.stderr)
        for wrong in ("0s", "x", "10000h", "-1h"):
            refused = subprocess.run([BINARY, "serve", "--state", self.state, f"--ui-session={wrong}"], capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual((refused.returncode, "--ui-session" in refused.stderr), (2, True), refused.stderr)

    # --- attacks ----------------------------------------------------------------------------------------------------

    def test_another_site_cannot_use_the_cookie(self):
        cookie = self.sign_in(self.running.token())
        body = {**VM, "metadata": {"name": "stolen"}}
        for headers in ({}, {"Origin": "https://evil.example"}, {**OWN, "Origin": "https://evil.example"}, {**OWN, "Origin": "null"},
                        {**OWN, "Origin": f"http://{self.running.listen}"}, {**OWN, "Origin": self.origin() + ".evil.example"},
                        {**OWN, "Sec-Fetch-Site": "cross-site"}, {**OWN, "Sec-Fetch-Site": "same-site"}, {**OWN, "Sec-Fetch-Site": "none"},
                        {"X-Virtgate-UI": "yes"}, {"Content-Type": "text/plain"}):
            for method, path in (("GET", VMS), ("POST", VMS), ("DELETE", VMS), ("GET", "/ui/session"), ("GET", "/ui/api/none")):
                answer = self.running.ask(method, path, json.dumps(body) if method == "POST" else None, {"Cookie": cookie, **headers})
                self.assertEqual(answer[0], 401, f"{method} {path} {headers}")
                self.assertNotIn("Access-Control-Allow-Origin", answer[1])
        self.assertEqual(self.ask("GET", VMS + "/stolen", Cookie=cookie, **OWN)[0], 404)
        for headers in ({"Origin": self.origin()}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": self.origin().upper(), "Sec-Fetch-Site": "same-origin"}):
            self.assertEqual(self.running.ask("GET", VMS, None, {"Cookie": cookie, **OWN, **headers})[0], 200, headers)

    def test_another_site_cannot_sign_in_or_out(self):
        for headers in ({}, {**OWN, "Origin": "https://evil.example"}, {**OWN, "Sec-Fetch-Site": "cross-site"}):
            for method in ("POST", "DELETE"):
                answer = self.running.ask(method, "/ui/session", json.dumps({"token": "alice-token"}), headers)
                self.assertEqual(answer[0], 403, headers)
                self.assertNotIn("Set-Cookie", answer[1])

    def test_no_preflight_allows_it(self):
        answer = self.running.ask("OPTIONS", VMS, None, {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
                                                         "Access-Control-Request-Headers": "x-virtgate-ui"})
        self.assertNotEqual(answer[0], 200)
        for path in ("/ui/session", "/ui/", "/ui/api/access"):
            answer = self.running.ask("OPTIONS", path, None, {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
                                                              "Access-Control-Request-Headers": "x-virtgate-ui"})
            self.assertIn(answer[0], (401, 405), path)
            for name in answer[1]:
                self.assertFalse(name.lower().startswith("access-control"), name)

    def test_forged_and_ambiguous_cookies(self):
        cookie = self.sign_in()
        value = cookie.split("=", 1)[1]
        changed = value[:-2] + ("AA" if value[-2:] != "AA" else "BB")
        for forged in (f"{COOKIE}={changed}", f"{COOKIE}=", f"{COOKIE}", f"{COOKIE}={'A' * 43}", f"{COOKIE}={value}; {COOKIE}={changed}",
                       f"{COOKIE}={changed}; {COOKIE}={value}", f"{COOKIE}=\"{value}\"", f"virtgate-session={value}", f"{COOKIE}={'x' * 4000}", f"{COOKIE}={value}\x80"):
            self.assertEqual(self.ask("GET", VMS, Cookie=forged.encode("latin-1"), **OWN)[0], 401, forged)
        self.assertEqual(self.user_of("theme=dark; " + cookie + "; a=b"), "alice")

    def test_a_session_cannot_be_fixed(self):
        """An attacker plants an id of theirs; the victim who signs in with it gets another one."""
        planted = f"{COOKIE}={'A' * 43}"
        cookie = self.sign_in(Cookie=planted)
        self.assertNotEqual(cookie, planted)
        self.assertEqual(self.user_of(planted), 401)
        attacker = self.sign_in("bob-token")
        victim = self.sign_in("alice-token", Cookie=attacker)
        self.assertNotEqual(victim, attacker)
        self.assertEqual(self.user_of(attacker), 401)

    def test_cookie_and_authorization_are_never_mixed(self):
        cookie = self.sign_in(self.running.token())
        self.assertEqual(self.user_of(cookie, Authorization="Bearer bob-token"), "bob")
        self.assertEqual(self.ask("GET", VMS, Cookie=cookie, Authorization="Bearer bob-token", **OWN)[0], 403)
        for wrong in ("Bearer wrong", "Basic x", "x", "Bearer"):
            self.assertEqual(self.ask("GET", VMS, Cookie=cookie, Authorization=wrong, **OWN)[0], 401, wrong)

    def test_impersonation_needs_the_right(self):
        cookie = self.sign_in()
        self.assertEqual(self.ask("GET", VMS, Cookie=cookie, Impersonate_User="virtgate-admin", Impersonate_Group="system:masters", **OWN)[0], 403)
        admin = self.sign_in(self.running.token())
        answer = self.ask("GET", VMS, Cookie=admin, Impersonate_User="alice", **OWN)
        self.assertEqual(answer[0], 403)
        self.assertIn('User "alice"', json.loads(answer[2])["message"])

    def test_websockets_need_the_origin(self):
        admin = {**self.running.as_admin(), "Content-Type": "application/json"}
        self.running.ask("POST", VMS, json.dumps(VM), admin)
        deadline = time.monotonic() + DEADLINE_S
        while '"phase":"Running"' not in self.running.ask("GET", VMS.replace("machines", "machineinstances") + "/demo", None, admin)[2]:
            self.assertLess(time.monotonic(), deadline)
        cookie, other = self.sign_in(self.running.token()), self.sign_in("alice-token")
        own = [f"Origin: {self.origin()}"]
        self.assertEqual(self.upgrade([f"Cookie: {cookie}", *own]), 101)
        self.assertEqual(self.upgrade([f"Cookie: {cookie}", *own, "Sec-Fetch-Site: same-origin"]), 101)
        self.assertEqual(self.upgrade([f"Cookie: {other}", *own]), 403)
        for headers in ([], ["Origin: https://evil.example"], ["X-Virtgate-UI: 1"], ["Origin: null"], ["Origin: https://evil.example", "X-Virtgate-UI: 1"],
                        [*own, "Origin: https://evil.example"], [*own, "Sec-Fetch-Site: cross-site"], ["Host: evil.example", "Origin: https://evil.example"]):
            self.assertIn(self.upgrade([f"Cookie: {cookie}", *headers]), (400, 401), headers)
        self.assertEqual(self.upgrade(own), 401)
        token = base64.urlsafe_b64encode(b"alice-token").decode().rstrip("=")
        self.assertEqual(self.upgrade([f"Cookie: {cookie}", *own], f"plain.kubevirt.io, base64url.bearer.authorization.k8s.io.{token}"), 403)  # alice, not the cookie's

    def upgrade(self, headers, protocols="plain.kubevirt.io"):
        path = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/demo/console"
        lines = [f"GET {path} HTTP/1.1", f"Host: {self.running.listen}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: {protocols}", *headers]
        plain = socket.create_connection((self.running.host, self.running.port), timeout=DEADLINE_S)
        with self.running.context().wrap_socket(plain, server_hostname=self.running.host) as tls:
            tls.sendall("\r\n".join([*lines, "", ""]).encode())
            answer = b""
            while b"\r\n" not in answer:
                more = tls.recv(1000)
                self.assertTrue(more, answer)
                answer += more
        return int(answer.split()[1])

    def test_huge_and_broken_bodies(self):
        for body, codes in ((b"x" * 20000, (413,)), (b'{"token":"' + b"y" * 9000 + b'"}', (401,)), (b"[" * 10000, (400,)), (b'{"token":["alice-token"]}', (400,)),
                            (b"", (400,)), (b'{"token":""}', (400,)), (b'{"code":"","token":""}', (400,)), (b"null", (400,)), (b"\xff\xfe", (400,))):
            answer = self.running.ask("POST", "/ui/session", body, OWN)
            self.assertIn(answer[0], codes, body[:40])
        try:
            self.assertIn(self.running.ask("POST", "/ui/session", b"x" * (64 << 20), OWN)[0], (413,))
        except OSError:
            pass  # the server closed the connection while the body was sent
        self.assertEqual(self.ask("GET", "/ui/")[0], 200)

    def test_the_journal_says_how_it_was_let_in(self):
        cookie = self.sign_in(self.running.token())
        body = {**VM, "metadata": {"name": "told", "namespace": "default"}}
        answer = self.ask("POST", VMS, body, Cookie=cookie, Content_Type="application/json", **OWN)
        self.assertEqual(answer[0], 201, answer[2])
        told = json.loads(self.ask("GET", "/apis/trace.virtgate.io/v1/namespaces/default/requests", Cookie=cookie, **OWN)[2])
        mine = [item for item in told["items"] if item["spec"].get("name") == "told" and item["spec"]["verb"] == "create"]
        self.assertEqual([item["spec"]["credential"] for item in mine], ["ui session"])
        self.assertNotIn(cookie.split("=", 1)[1], json.dumps(told))

    def test_secrets_are_nowhere(self):
        code = json.loads(self.ask("POST", "/ui/codes", Authorization="Bearer bob-token")[2])["code"]
        self.ask("POST", "/ui/session", {"token": "wrong-token-of-nobody"}, **OWN)
        cookie = self.sign_in("bob-token")
        self.ask("GET", VMS, Cookie=cookie, **OWN)
        needles = [code, cookie.split("=", 1)[1], "wrong-token-of-nobody"]
        texts = [self.running.errors()]
        for folder, _, names in os.walk(self.running.state):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    texts.append(file.read().decode("latin-1"))
        for needle in needles:
            self.assertFalse(any(needle in text for text in texts), needle)


class Guesses(serve.Scratch):
    def test_ten_thousand_guesses(self):
        server = self.server().start()
        good = json.loads(server.ask("POST", "/ui/codes", None, server.as_admin())[2])["code"]
        connection = server.connect()
        codes = {}
        before = server.resident_mib()
        for number in range(10000):
            guess = f"{number:043d}"
            if number % 2:
                connection.request("POST", "/ui/session", json.dumps({"code": guess}), OWN)
            else:
                connection.request("GET", "/ui/session", None, {**OWN, "Cookie": f"{COOKIE}={guess}"})
            answer = connection.getresponse()
            answer.read()
            codes[answer.status] = codes.get(answer.status, 0) + 1
            if answer.getheader("Connection") == "close":
                connection.close()
                connection = server.connect()
        connection.close()
        self.assertEqual(set(codes), {401, 429}, codes)
        self.assertGreater(codes[429], 5000, codes)
        self.assertLess(server.resident_mib() - before, 20)
        # Who has a good credential is let in all the while.
        self.assertEqual(server.ask("GET", "/ui/session", None, server.as_admin())[0], 200)
        self.assertEqual(server.ask("POST", "/ui/session", json.dumps({"code": good}), OWN)[0], 201)


if __name__ == "__main__":
    unittest.main(verbosity=2)
