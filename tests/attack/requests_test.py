#!/usr/bin/env python3
"""Who tries to see requests of others in requests.trace.virtgate.io, and who knocks at the port of a node's handler without the server's certificate.

VIRTGATE_BINARY names the program.
"""
import http.client
import json
import os
import ssl
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node  # noqa: E402
from support import serve as e2e  # noqa: E402
from support.simulated import MERGE, VMS, Simulated  # noqa: E402

GROUP = "/apis/trace.virtgate.io/v1"
REQUESTS = f"{GROUP}/namespaces/default/requests"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
EVE = {"Impersonate-User": "eve"}


class Watch(threading.Thread):
    """Follows requests as eve, from now on."""

    def __init__(self, server, version):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.connection.request("GET", f"{REQUESTS}?watch=1&resourceVersion={version}", headers=server.as_admin(**EVE))
        self.answer = self.connection.getresponse()
        self.seen = []
        self.start()

    def run(self):
        try:
            for line in self.answer:
                self.seen.append(json.loads(line)["object"]["spec"])
        except (OSError, ValueError, http.client.HTTPException):
            pass


class Requests(Simulated):
    nodes = 1

    def allow(self, name):
        rule = {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["get"], "resourceNames": [name]}
        self.good("POST", f"{RBAC}/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": [rule]})
        self.good("POST", f"{RBAC}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}]})

    def touch(self, name, value):
        self.good("PATCH", f"{VMS}/{name}", {"metadata": {"labels": {"touched": value}}}, headers=MERGE)

    def names(self, headers=EVE, path=REQUESTS):
        return {one["spec"].get("name") for one in self.good("GET", path, headers=headers)["items"]}

    def test_a_watch_sees_no_more_than_its_user_may_see_now(self):
        for name in ("mine", "other"):
            self.vm(name, strategy="Halted")
            self.allow(name)
        watch = Watch(self.one, self.good("GET", REQUESTS)["metadata"]["resourceVersion"])
        self.touch("mine", "1")
        self.until("the first", lambda: [one["name"] for one in watch.seen] == ["mine"])
        self.good("DELETE", f"{RBAC}/rolebindings/mine")
        self.touch("mine", "2")
        self.touch("other", "1")
        self.until("the other", lambda: len(watch.seen) > 1)
        self.assertEqual([one["name"] for one in watch.seen], ["mine", "other"])
        watch.connection.close()

    def test_no_spelling_of_a_path_or_selector_shows_more(self):
        self.vm("mine", strategy="Halted")
        self.vm("other", strategy="Halted")
        self.allow("mine")
        hidden = next(one["metadata"]["name"] for one in self.good("GET", REQUESTS)["items"] if one["spec"].get("name") == "other")
        self.assertEqual(self.names(), {"mine"})
        self.assertEqual(self.names(path=f"{GROUP}/requests"), {"mine"})
        for query in ("fieldSelector=spec.name%3Dother", "fieldSelector=metadata.name%3D" + hidden, "limit=500", "fieldSelector=spec.user%3Dkubernetes-admin"):
            code, answer = self.ask("GET", f"{REQUESTS}?{query}", headers=EVE)
            self.assertTrue(code == 400 or "other" not in {one["spec"].get("name") for one in answer["items"]}, query)
        for path in (f"{REQUESTS}/{hidden}", f"{GROUP}/namespaces/kube-system/requests/{hidden}", f"{GROUP}/requests/{hidden}", f"{REQUESTS}/{hidden}/status",
                     f"{REQUESTS}/..%2f{hidden}", f"{REQUESTS}/{hidden}%00"):
            code, answer = self.ask("GET", path, headers=EVE)
            self.assertGreaterEqual(code, 400, path)
            self.assertNotIn('"other"', json.dumps(answer), path)
        # The same answer as for one that is not there: nobody learns that it is.
        def without_name(name):
            return json.dumps(self.ask("GET", f"{REQUESTS}/{name}", headers=EVE)).replace(name, "")
        self.assertEqual(without_name(hidden), without_name("no-such-request"))


class HandlerPort(node.Node):
    def ports(self):
        for pod in self.get("/api/v1/namespaces/kubevirt/pods?labelSelector=kubevirt.io%3Dvirt-handler")["items"]:
            for port in (8186, *(one["containerPort"] for container in pod["spec"]["containers"] for one in container.get("ports", []))):
                yield pod["status"]["podIP"], port

    def knock(self, certificate, path="/v1/namespaces/default/virtualmachineinstances/demo/pause", method="PUT"):
        """The answer's code, or why there is none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(*certificate)
        for host, port in self.ports():
            try:
                connection = http.client.HTTPSConnection(host, port, context=context, timeout=e2e.DEADLINE_S)
                connection.request(method, path)
                return connection.getresponse().status
            except ConnectionRefusedError:
                continue
            except (ssl.SSLError, OSError, http.client.HTTPException) as problem:
                return repr(problem)
        self.fail("the handler listens nowhere")

    def pairs(self):
        """Every certificate of this server with its key."""
        for folder, _, files in os.walk(self.state):
            for name in files:
                path = os.path.join(folder, name)
                if name.endswith(".crt") and os.path.exists(path[:-4] + ".key"):
                    yield path, path[:-4] + ".key"

    def test_only_the_servers_own_certificate_opens_it(self):
        self.until("the node's port", lambda: self.get("/api/v1/nodes/node01") is not None)
        self.until("an answer", lambda: self.knock(None, "/healthz", "GET") == 200)
        for path in ("/metrics", "/v1/namespaces/default/virtualmachineinstances/demo/console", "/v1/../metrics", "//metrics", "/healthz/../metrics"):
            self.assertNotIn(self.knock(None, path, "GET"), (200, 101), path)
        opened = {os.path.relpath(pair[0], self.state) for pair in self.pairs() if self.knock(pair) == 404}  # there is no such VMI
        self.assertEqual(len(opened), 1, opened)
        self.assertNotIn("admin", opened.pop())


if __name__ == "__main__":
    unittest.main()
