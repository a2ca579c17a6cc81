#!/usr/bin/env python3
"""The page of `virtgate cluster --ui`: users sign in with a token of the cluster, everything goes to the API server with that token, and what others try.

`virtgate serve --node simulated` plays the API server; between the two stands a recorder that keeps what the gateway sends. VIRTGATE_BINARY names the program.
"""
import json
import os
import re
import subprocess
import threading
import time
import unittest

from support import page, serve as e2e
from support.cluster import Cluster, Gateway, until
from support.recorder import Recorder

PREFIX = "/ui/cluster"
NS = "/apis/kubevirt.io/v1/namespaces/default"
VMS, VMIS = NS + "/virtualmachines", NS + "/virtualmachineinstances"
ACTIONS = "/apis/subresources.kubevirt.io/v1/namespaces/default"
CONSOLE = f"{ACTIONS}/virtualmachineinstances/demo/console"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
SOON_S = 5
RECHECK_S = 15  # limits::ui_cluster_recheck_interval


def vm(name, strategy="Always"):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "default"},
            "spec": {"runStrategy": strategy, "template": {"metadata": {"annotations": {"simulated.virtgate.io/boot": "10ms"}},
                                                           "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}}


class PageCluster(Cluster):
    flags = ("--ui", "--allow-cache-seconds", "0", "-v", "4")
    role = ("--node", "simulated")

    @classmethod
    def write_kubeconfig(cls):
        super().write_kubeconfig()
        cls.recorder = Recorder(f"{cls.folder}/serving.crt", f"{cls.folder}/serving.key", "127.0.0.1", cls.api.port, cls.api.pki("ca.crt"))
        cls.addClassCleanup(cls.recorder.stop)
        path = os.path.join(cls.folder, "kubeconfig")
        config = json.loads(e2e.read(path))
        config["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{cls.recorder.port}", "certificate-authority": f"{cls.folder}/serving-ca.crt"}
        cls.more_identity(config)
        with open(path, "w") as file:
            json.dump(config, file)

    @classmethod
    def more_identity(cls, config):
        pass

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = {name: cls.account(name) for name in ("reader", "editor", "nobody")}
        for name, role in (("reader", "kubevirt.io:view"), ("editor", "kubevirt.io:edit")):
            cls.bind(name, role)
        code, answer = cls.kube("POST", VMS, vm("demo"))
        assert code == 201, answer
        until("the guest runs", cls.demo_runs)

    @classmethod
    def demo_runs(cls):
        code, found = cls.kube("GET", VMIS + "/demo")
        return code == 200 and found.get("status", {}).get("phase") == "Running"

    @classmethod
    def account(cls, name):
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        cls.kube("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
        code, answer = cls.kube("POST", f"{accounts}/{name}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        assert code == 201, answer
        return answer["status"]["token"]

    @classmethod
    def bind(cls, name, role):
        code, answer = cls.kube("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"page-{name}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}]})
        assert code == 201, answer

    def browser(self, token=None):
        made = page.Browser(self.gateway.host, self.gateway.port, self.gateway.context(), PREFIX)
        return made.sign_in(self.tokens.get(token, token)) if token else made

    def asked_by_page(self):
        """What reached the API server in the name of a user of the page."""
        return [(first, fields) for first, fields in self.recorder.requests()
                if fields.get("user-agent", [""])[0].startswith("virtgate-ui/") and "tokenreviews" not in first]


class Page(PageCluster):
    # --- signing in -------------------------------------------------------------------------------------------------

    def test_every_answer_has_the_security_headers(self):
        browser = self.browser("reader")
        files = re.findall(r'(?:src|href)="([\w./-]+)"', browser.ask("GET", "/ui/")[2].decode())
        self.assertIn("app.js", files)
        for method, path, code in (("GET", "/ui", 308), ("GET", "/ui/none", 404), ("GET", "/ui/session", 200), ("GET", "/ui/sign-in", 200), ("POST", "/ui/codes", 405),
                                   ("GET", PREFIX + VMS, 200), ("GET", PREFIX + "/api/v1/secrets", 404), ("OPTIONS", PREFIX + VMS, 405), *(("GET", "/ui/" + name, 200) for name in files)):
            got, headers, _ = browser.ask(method, path)
            self.assertEqual(got, code, path)
            self.assertEqual(headers.get_all("Content-Security-Policy"), [POLICY], path)
            self.assertEqual(headers.get_all("X-Content-Type-Options"), ["nosniff"], path)
            self.assertFalse([name for name in headers if name.lower().startswith("access-control")], path)

    def test_a_session_is_the_user_of_its_token(self):
        self.assertEqual(json.loads(self.browser().ask("GET", "/ui/sign-in")[2]), {"mode": "cluster", "ways": ["token"]})
        document = json.loads(self.browser("reader").ask("GET", "/ui/session")[2])
        self.assertEqual((document["user"], document["mode"], document["api"]), ("system:serviceaccount:default:reader", "cluster", PREFIX))
        self.assertEqual(document["questions"], ["access", "check", "story"])
        self.assertIn("system:authenticated", document["groups"])

    def test_wrong_tokens_are_refused_and_not_repeated(self):
        browser = self.browser()
        for token, code in (("wrong-token-of-nobody", 401), ("x" * 9000, 401), ("a b", 401), ("a\r\nX: y", 401), ("", 400), (7, 400)):
            got, headers, body = browser.ask("POST", "/ui/session", {"token": token})
            self.assertEqual(got, code, str(token)[:30])
            self.assertNotIn("Set-Cookie", headers)
            self.assertNotIn(b"wrong-token-of-nobody", body)
        self.assertEqual(browser.ask("POST", "/ui/session", {"code": "x" * 43})[0], 401)
        self.assertNotIn("wrong-token-of-nobody", self.gateway.errors())

    def test_without_the_flag_there_is_no_page(self):
        plain = Gateway(self.folder).start()
        self.addCleanup(plain.stop)
        for path in ("/ui", "/ui/", "/ui/session", "/ui/sign-in", PREFIX + VMS):
            self.assertEqual(plain.ask("GET", path)[0], 401, path)
        refused = subprocess.run([e2e.BINARY, "cluster", "--ui-session", "0s"], capture_output=True, text=True, timeout=20)
        self.assertEqual((refused.returncode, "--ui-session" in refused.stderr), (2, True), refused.stderr)

    # --- what the user may do, and no more --------------------------------------------------------------------------

    def test_users_do_what_they_may(self):
        reader, editor, nobody = self.browser("reader"), self.browser("editor"), self.browser("nobody")
        self.assertEqual([b.ask("GET", PREFIX + VMS)[0] for b in (reader, editor, nobody)], [200, 200, 403])
        body = vm("made", "Halted")
        self.assertEqual([b.ask("POST", PREFIX + VMS, body)[0] for b in (reader, nobody)], [403, 403])
        self.assertEqual(editor.ask("POST", PREFIX + VMS, body)[0], 201)

        def saved():  # controllers write it too
            code, headers, yaml = editor.ask("GET", f"{PREFIX}{VMS}/made", headers={"Accept": "application/yaml"})
            self.assertEqual((code, headers["Content-Type"]), (200, "application/yaml"))
            code = editor.ask("PUT", f"{PREFIX}{VMS}/made?dryRun=All", yaml, {"Content-Type": "application/yaml"})[0]
            self.assertIn(code, (200, 409))
            return code == 200
        until("the text is taken", saved)
        code, headers, text = reader.ask("PUT", f"{PREFIX}{ACTIONS}/virtualmachines/made/start", {})
        self.assertEqual(code, 403, text)
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(json.loads(text)["reason"], "Forbidden")
        self.assertEqual(editor.ask("PUT", f"{PREFIX}{ACTIONS}/virtualmachines/made/start", {})[0], 202)
        self.assertEqual(editor.ask("DELETE", f"{PREFIX}{VMS}/made")[0], 200)

    def test_it_is_never_this_program_s_own_right(self):
        own = e2e.read(self.folder, "token").strip()
        for name in ("reader", "editor", "nobody"):
            browser = self.browser(name)
            browser.ask("GET", PREFIX + VMS)
            browser.ask("POST", "/ui/api/access", {"checks": [{"verb": "get", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": "default"}]})
            browser.ask("GET", "/ui/api/story/namespaces/default/virtualmachines/demo")
        asked = self.asked_by_page()
        self.assertGreater(len(asked), 8)
        tokens = {f"Bearer {token}" for token in self.tokens.values()}
        for first, fields in asked:
            self.assertIn(fields["authorization"][0], tokens, first)
            self.assertNotIn(own, str(fields))
        # What only the program may read, a user does not through it.
        self.assertEqual(self.browser("nobody").ask("GET", "/ui/api/story/namespaces/default/virtualmachines/demo")[0], 403)

    def test_questions_go_by_the_user_s_token(self):
        checks = [{"verb": "get", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": "default"},
                  {"verb": "create", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": "default"},
                  {"verb": "update", "group": "subresources.kubevirt.io", "resource": "virtualmachines", "subresource": "start", "namespace": "default"}]
        for name, allowed in (("reader", [True, False, False]), ("editor", [True, True, True]), ("nobody", [False, False, False])):
            code, _, body = self.browser(name).ask("POST", "/ui/api/access", {"checks": checks})
            self.assertEqual((code, json.loads(body)["allowed"]), (200, allowed), name)
        reader = self.browser("reader")
        story = json.loads(reader.ask("GET", "/ui/api/story/namespaces/default/virtualmachines/demo")[2])
        self.assertTrue(story["verdict"]["text"])
        self.assertIn("nodes", story["unread"])
        self.assertEqual(reader.ask("GET", "/ui/api/story/namespaces/default/virtualmachines/none")[0], 404)
        self.assertEqual(reader.ask("GET", "/ui/api/story/namespaces/../virtualmachines/demo")[0], 400)
        findings = json.loads(reader.ask("POST", "/ui/api/check", "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: x}\nspec: {}\n", {"Content-Type": "text/plain"})[2])
        self.assertTrue(findings["findings"])
        self.assertEqual(reader.ask("GET", "/ui/api/stats/namespaces/default/virtualmachineinstances/demo")[0], 404)

    def test_long_lists_pass_whole(self):
        names = [f"long-{number:03}" for number in range(60)]
        padding = {"note": "x" * 8000}
        for name in names:
            body = vm(name, "Halted")
            body["metadata"]["annotations"] = padding
            self.made(VMS, body)
        browser = self.browser("reader")
        code, headers, text = browser.ask("GET", PREFIX + VMS)
        self.assertEqual(code, 200)
        self.assertGreater(len(text), 400_000)
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertLessEqual(set(names), {item["metadata"]["name"] for item in json.loads(text)["items"]})
        for name in names:
            self.kube("DELETE", f"{VMS}/{name}")

    # --- streams ----------------------------------------------------------------------------------------------------

    def open_all(self, browser):
        version = json.loads(browser.ask("GET", PREFIX + VMS)[2])["metadata"]["resourceVersion"]
        console = browser.upgrade(CONSOLE)
        self.assertIsInstance(console, page.Socket)
        console.write(b"x\r")
        console.read()
        watch = browser.watch(f"{VMS}?watch=1&resourceVersion={version}")
        for one in (console, watch):
            self.addCleanup(one.close)
        return console, watch

    def label(self, value):
        code, answer = self.kube("PATCH", VMS + "/demo", {"metadata": {"labels": {"turn": value}}}, {"Content-Type": "application/merge-patch+json"})
        self.assertEqual(code, 200, answer)

    def assert_over(self, console, watch, within_s):
        began = time.monotonic()
        ended = console.end()
        self.assertEqual((ended.code, ended.reason), (1008, "the session has ended; sign in again"))
        watch.rest()
        self.assertLess(time.monotonic() - began, within_s)

    def test_consoles_and_watches_work_and_end_with_the_session(self):
        browser, other = self.browser("editor"), self.browser("editor")
        console, watch = self.open_all(browser)
        _, others = self.open_all(other)
        self.label("one")
        self.assertEqual(watch.event()["object"]["metadata"]["labels"]["turn"], "one")
        self.assertEqual(browser.sign_out(), 204)
        self.label("two")
        self.assert_over(console, watch, SOON_S)
        self.assertEqual([others.event()["object"]["metadata"]["labels"]["turn"] for _ in range(2)], ["one", "two"])
        self.assertEqual(browser.ask("GET", PREFIX + VMS)[0], 401)
        self.assertEqual(self.browser("reader").upgrade(CONSOLE), 403)

    def test_a_revoked_token_ends_the_session_and_what_is_open(self):
        self.tokens["leaver"] = self.account("leaver")
        self.bind("leaver", "kubevirt.io:edit")
        quiet, busy = self.browser("leaver"), self.browser("leaver")
        console, watch = self.open_all(quiet)
        code, _ = self.kube("DELETE", "/api/v1/namespaces/default/serviceaccounts/leaver")
        self.assertEqual(code, 200)
        # Who asks hears of it at once, and is signed out; what is merely open is looked at now and then.
        code, _, text = busy.ask("GET", PREFIX + VMS)
        self.assertEqual(code, 401, text)
        self.assertIn(b"not valid any more", text)
        self.assertEqual(busy.ask("GET", "/ui/session")[0], 401)
        self.assert_over(console, watch, RECHECK_S + 10)
        self.assertEqual(quiet.ask("GET", "/ui/session")[0], 401)

    # --- attacks ----------------------------------------------------------------------------------------------------

    def test_another_site_cannot_use_the_cookie(self):
        browser = self.browser("editor")
        origin = browser.origin
        own = page.OWN
        for headers in ({}, {"Origin": "https://evil.example"}, {**own, "Origin": "https://evil.example"}, {**own, "Origin": "null"}, {**own, "Origin": origin + ".evil.example"},
                        {**own, "Origin": origin.replace("https", "http")}, {**own, "Sec-Fetch-Site": "cross-site"}, {**own, "Sec-Fetch-Site": "same-site"}, {"X-Virtgate-UI": "yes"}):
            for method, path in (("GET", PREFIX + VMS), ("POST", PREFIX + VMS), ("DELETE", f"{PREFIX}{VMS}/demo"), ("GET", "/ui/session"), ("POST", "/ui/api/access")):
                code, answer, _ = browser.ask(method, path, vm("stolen") if method == "POST" else None, headers, own=False)
                self.assertEqual(code, 401, f"{method} {path} {headers}")
                self.assertNotIn("Access-Control-Allow-Origin", answer)
        for headers in ({"Origin": None}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Cookie": None}, {"Cookie": f"{page.COOKIE}={'A' * 43}"}):
            self.assertEqual(browser.upgrade(CONSOLE, headers), 401, headers)
        self.assertEqual(browser.ask("POST", "/ui/session", {"token": self.tokens["reader"]}, {"Origin": "https://evil.example"})[0], 403)
        self.assertEqual(browser.ask("DELETE", "/ui/session", own=False)[0], 403)
        self.assertEqual(self.kube("GET", VMS + "/stolen")[0], 404)
        self.assertEqual(browser.ask("GET", PREFIX + VMS, headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"})[0], 200)

    def test_paths_do_not_escape(self):
        browser = self.browser(self.api.token())  # who may everything
        for path in ("/api/v1/../../apis/kubevirt.io/v1/virtualmachines", "/api/../api/v1/nodes", "/api/v1/%2e%2e/v1/nodes", "/api/v1/namespaces/default%2fsecrets", "//api/v1/nodes",
                     "/api//v1/nodes", "/api/v1/nodes/", "/api/v1/./nodes", "/api%2fv1/nodes", "/%61pi/v1/nodes", "/api/v1/nodes%00", "/api/v1/nodes%3fwatch=1", "/..%2f..%2fhealthz", "/..", "/api/v1/nodes;a"):
            self.assertEqual(browser.ask("GET", PREFIX + path)[0], 400, path)
        for path in ("/ui/%63luster/api/v1/nodes", "/ui/cluster%2fapi/v1/nodes", "/ui%2fcluster/api/v1/nodes"):
            self.assertIn(browser.ask("GET", path)[0], (400, 404), path)
        for path in ("/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/serviceaccounts/editor/token", "/metrics", "/apis", "/api/v1",
                     "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/nodes/node01/proxy/x", f"{ACTIONS}/virtualmachineinstances/demo/portforward/22", "/ui/session"):
            for method in ("GET", "POST"):
                self.assertEqual(browser.ask(method, PREFIX + path, {} if method == "POST" else None)[0], 404, path)
        self.assertEqual(browser.ask("GET", "/ui/cluster/../../api/v1/nodes")[0], 400)
        self.assertEqual(browser.ask("DELETE", PREFIX + VMS)[0], 405)
        sent = [first.partition("?")[0] for first, _ in self.asked_by_page()]
        self.assertFalse([first for first in sent if re.search(r"%|\.\.|//|secrets|portforward|tokenreviews", first)], sent)
        self.assertEqual(browser.ask("GET", PREFIX + "/api/v1/nodes")[0], 200)

    def test_headers_of_the_browser_stay_here(self):
        browser = self.browser("reader")
        smuggled = {"X-Remote-User": "root-admin", "X-Remote-Group": "system:masters", "X-Remote-Extra-Scopes": "all", "X-Forwarded-For": "10.9.8.7", "X-Forwarded-User": "root-admin", "Referer": "https://evil.example/",
                    "X-Smuggled": "1", "Origin": browser.origin, "Proxy-Authorization": "Basic eDp5", "X-Original-URL": "/api/v1/secrets", "X-HTTP-Method-Override": "DELETE", "TE": "trailers", "Accept-Encoding": "gzip"}
        self.assertEqual(browser.ask("GET", f"{PREFIX}{VMS}/demo", headers=smuggled)[0], 200)
        self.assertEqual(self.kube("GET", VMS + "/demo")[0], 200)
        for name in ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "impersonate-extra-scopes"):
            self.assertEqual(browser.ask("GET", PREFIX + VMS, headers={name: "system:masters"})[0], 400, name)
            self.assertEqual(browser.ask("POST", "/ui/api/access", {"checks": []}, headers={name: "system:masters"})[0], 400, name)
        # Credentials of the browser's own count alone, and there are none here but the session's.
        for authorization in (f"Bearer {self.tokens['editor']}", "Basic eDp5", "x"):
            self.assertEqual(browser.ask("GET", PREFIX + VMS, headers={"Authorization": authorization})[0], 401)
        socket = browser.upgrade(CONSOLE, smuggled)
        self.assertEqual(socket, 403)
        secret = browser.cookie.split("=", 1)[1]
        allowed = {"host", "user-agent", "authorization", "accept", "content-type", "content-length", "connection", "upgrade", "traceparent", "tracestate",
                   "sec-websocket-version", "sec-websocket-key", "sec-websocket-protocol"}
        for first, fields in self.asked_by_page():
            self.assertLessEqual(set(fields), allowed, first)
            self.assertEqual(len(fields["authorization"]), 1, first)
        self.assertFalse(any(secret.encode() in sent for sent in self.recorder.sent))

    def test_no_request_hides_in_another(self):
        browser = self.browser("reader")
        for headers in ({"Accept": "application/json\x0bx"}, {"Content-Type": "application/json\x00"}):
            code = browser.ask("GET", PREFIX + VMS, headers=headers)[0]
            self.assertIn(code, (200, 400), headers)
        before = len(self.asked_by_page())
        body = b"0\r\n\r\nGET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n"
        editor = self.browser("editor")
        self.assertIn(editor.ask("POST", PREFIX + VMS, body, {"Content-Type": "application/json"})[0], (400, 422))
        until("it was sent on", lambda: len(self.asked_by_page()) > before)
        self.assertEqual(editor.ask("POST", PREFIX + VMS, b"x", {"Content-Type": "text/html"})[0], 415)

    def test_bodies_are_bounded(self):
        editor = self.browser("editor")
        before = len(self.asked_by_page())
        try:
            self.assertEqual(editor.ask("POST", PREFIX + VMS, b"x" * (4 << 20), {"Content-Type": "application/json"})[0], 413)
        except OSError:
            pass  # the connection was closed while the body was sent
        self.assertEqual(len(self.asked_by_page()), before)
        self.assertEqual(editor.ask("GET", PREFIX + VMS)[0], 200)

    def test_secrets_are_nowhere(self):
        browser = self.browser("editor")
        shown = browser.ask("GET", "/ui/session")[2] + browser.ask("GET", PREFIX + VMS)[2]
        needles = [self.tokens["editor"], browser.cookie.split("=", 1)[1]]
        for needle in needles:
            self.assertNotIn(needle.encode(), shown)
            self.assertNotIn(needle, self.gateway.errors())
        metrics = self.gateway.ask("GET", "/metrics")[1]
        self.assertFalse(any(needle in metrics for needle in needles))

    def test_guesses_are_few(self):
        answers = []

        def guess():
            browser = self.browser()
            for _ in range(60):
                answers.append(browser.ask("POST", "/ui/session", {"token": "guess"})[0])
        began = time.monotonic()
        before = sum("tokenreviews" in first for first, _ in self.recorder.requests())
        threads = [threading.Thread(target=guess) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        asked = sum("tokenreviews" in first for first, _ in self.recorder.requests()) - before
        self.assertEqual(set(answers) - {401, 429}, set())
        self.assertLess(asked, 40 + 21 * took + 5, f"{asked} reviews in {took} s")
        self.assertEqual(self.browser("reader").ask("GET", PREFIX + VMS)[0], 200)


class Certificate(PageCluster):
    """A gateway whose own credential is a certificate of an administrator: on a connection of a user's it would count for the user."""

    @classmethod
    def more_identity(cls, config):
        config["users"][0]["user"] = {"client-certificate": cls.api.pki("admin.crt"), "client-key": cls.api.pki("admin.key")}
        config["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{cls.api.port}", "certificate-authority": cls.api.pki("ca.crt")}

    def test_users_stay_who_they_are(self):
        nobody = self.browser("nobody")
        code, _, text = nobody.ask("GET", PREFIX + VMS)
        self.assertEqual(code, 403, text)
        self.assertIn("system:serviceaccount:default:nobody", json.loads(text)["message"])
        self.assertEqual(nobody.upgrade(CONSOLE), 403)
        checks = {"checks": [{"verb": "delete", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": "default"}]}
        self.assertEqual(json.loads(nobody.ask("POST", "/ui/api/access", checks)[2])["allowed"], [False])


if __name__ == "__main__":
    unittest.main(verbosity=2)
