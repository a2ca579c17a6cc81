#!/usr/bin/env python3
"""A page of another site in a browser that has a client certificate of this server: the browser shows it with every request.

VIRTGATE_BINARY names the program.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
BINDING = json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "mine"},
                      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                      "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}]})
CONSOLE = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/none/console"
WEBSOCKET = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
# What browsers say of requests that a page elsewhere made: a form, fetch() without CORS, a picture, a sandboxed frame, a link, another port.
FOREIGN = ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
           {"Sec-Fetch-Site": "same-site"})


class CrossSite(harness.Attack):
    def setUp(self):
        super().setUp()
        self.certificate = (self.one.pki("admin.crt"), self.one.pki("admin.key"))

    def browse(self, method, path, marks, body=None):
        code, _, text = self.one.ask(method, path, body=body, headers=marks, certificate=self.certificate)
        return code, text

    def test_a_page_of_another_site_gets_nothing(self):
        for marks in FOREIGN:
            code, text = self.browse("POST", BINDINGS, marks, BINDING)  # no content type, as a form with text/plain can do
            self.assertEqual(code, 403, (marks, text))
            self.assertIn("another site", text)
            self.assertEqual(self.browse("POST", BINDINGS, {**marks, "Content-Type": "text/plain"}, BINDING)[0], 403, marks)
            self.assertEqual(self.browse("GET", "/api/v1/secrets", marks)[0], 403, marks)
            self.assertEqual(self.browse("DELETE", f"{BINDINGS}/cluster-admin", marks)[0], 403, marks)
            self.assertEqual(self.browse("GET", CONSOLE, {**WEBSOCKET, **marks})[0], 403, marks)
        self.assertEqual(self.call("GET", f"{BINDINGS}/mine")[0], 404)

    def test_others_are_served_as_before(self):
        own = f"https://{self.one.host}:{self.one.port}"
        for marks in ({}, {"Origin": own}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
            self.assertEqual(self.browse("GET", "/api/v1/namespaces/default", marks)[0], 200, marks)
            self.assertEqual(self.browse("GET", CONSOLE, {**WEBSOCKET, **marks})[0], 404, marks)
        # A token is no credential that browsers add by themselves.
        token = {"Authorization": "Bearer " + self.one.token(), "Origin": "https://console.example", "Sec-Fetch-Site": "cross-site"}
        self.assertEqual(self.browse("GET", "/api/v1/namespaces/default", token)[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
