#!/usr/bin/env python3
"""Actions on machines over real sockets: `virtgate serve --api-only` and a stand-in for a node's handler with mutual TLS.

VIRTGATE_BINARY names the program. VIRTGATE_RACES says how often two users race (default 300).
"""
import collections
import json
import os
import threading
import unittest

from support import serve as e2e
from support.actions import CONTROLLER, Handler, make_pki

RACES = int(os.environ.get("VIRTGATE_RACES", "300"))
RECORDED = os.path.join(os.environ.get("VIRTGATE_SOURCE_DIR", "."), "tests/conformance/documents.json")
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
VMIS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
BASE = "/apis/subresources.kubevirt.io/v1"
OF_VM = BASE + "/namespaces/default/virtualmachines/"
OF_VMI = BASE + "/namespaces/default/virtualmachineinstances/"
TEMPLATE = {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}


class Session:
    """One user's connection, kept open."""

    def __init__(self, server, headers=None):
        self.connection, self.headers = server.connect(), {**server.as_admin(), **(headers or {})}

    def ask(self, method, path, body=None, headers=None):
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        more = {"Content-Type": "application/json"} if data is not None else {}
        self.connection.request(method, path, body=data, headers={**self.headers, **more, **(headers or {})})
        answer = self.connection.getresponse()
        text = answer.read().decode(errors="replace")
        self.last = answer.headers
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, text

    def close(self):
        self.connection.close()


class Actions(e2e.Scratch):
    def setUp(self):
        super().setUp()
        make_pki(self.folder)
        self.port = e2e.free_port()
        self.running = self.server("--console-server-port", str(self.port), "--handler-cert-file", f"{self.folder}/client.crt", "--handler-key-file",
                                   f"{self.folder}/client.key").start()
        self.admin = self.session()

    def session(self, headers=None):
        session = Session(self.running, headers)
        self.addCleanup(session.close)
        return session

    def good(self, answer, *codes):
        self.assertIn(answer[0], codes or (200, 201, 202), answer[1])
        return answer[1]

    def machine(self, name, **spec):
        return self.good(self.admin.ask("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name},
                                                      "spec": {"template": TEMPLATE, **spec}}))

    def instance(self, name, **status):
        made = self.good(self.admin.ask("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name},
                                                       "spec": TEMPLATE["spec"]}))
        made["status"] = {"phase": "Running", "nodeName": "node01", **status}
        return self.good(self.admin.ask("PUT", f"{VMIS}/{name}", made, CONTROLLER))

    def node(self):
        handler = Handler(self.folder, self.port)
        self.addCleanup(handler.stop)
        with open(f"{self.folder}/ca.crt") as file:
            bundle = file.read()
        path = "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca"
        trusted = self.good(self.admin.ask("GET", path))
        trusted["data"] = {"ca-bundle": bundle}
        self.good(self.admin.ask("PUT", path, trusted))
        pods = "/api/v1/namespaces/kubevirt/pods"
        pod = self.good(self.admin.ask("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "labels": {"kubevirt.io": "virt-handler"}},
                                                      "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}}))
        pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
        self.good(self.admin.ask("PUT", pods + "/virt-handler-1/status", pod))
        return handler

    def test_a_machine_is_started_and_stopped(self):
        self.machine("demo", runStrategy="Halted")
        self.good(self.admin.ask("PUT", OF_VM + "demo/start"), 202)
        self.assertEqual(self.admin.last["X-Virtgate-Object"], "kubevirt.io/v1/namespaces/default/virtualmachines/demo")
        request = self.admin.last["X-Request-Id"]
        self.assertEqual(self.good(self.admin.ask("GET", f"{VMS}/demo"))["spec"]["runStrategy"], "Always")
        code, refusal = self.admin.ask("PUT", OF_VM + "demo/start")
        self.assertEqual((code, refusal["reason"], refusal["details"]["kind"]), (409, "Conflict", "virtualmachine"))
        self.assertIn("virtctl restart demo", refusal["message"])
        self.good(self.admin.ask("PUT", OF_VM + "demo/stop", "dryRun: [All]"), 202)
        self.assertEqual(self.good(self.admin.ask("GET", f"{VMS}/demo"))["spec"]["runStrategy"], "Always")
        self.good(self.admin.ask("PUT", OF_VM + "demo/stop"), 202)
        self.assertEqual(self.good(self.admin.ask("GET", f"{VMS}/demo"))["spec"]["runStrategy"], "Halted")
        lines = [json.loads(line) for line in self.running.errors().splitlines() if request in line]
        self.assertIn("kubevirt.io/v1/namespaces/default/virtualmachines/demo", [line.get("object") for line in lines])

    def test_permissions_are_those_of_the_action(self):
        self.machine("demo", runStrategy="Halted")
        bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
        for user, role in (("eve", "kubevirt.io:view"), ("ann", "kubevirt.io:edit")):
            self.good(self.admin.ask("POST", bindings, {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": user},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]}))
        eve, ann = self.session({"Impersonate-User": "eve"}), self.session({"Impersonate-User": "ann"})
        self.assertEqual(eve.ask("PUT", OF_VM + "demo/start")[0], 403)
        self.assertEqual(eve.ask("GET", OF_VM + "demo/expand-spec")[0], 200)
        self.assertEqual(eve.ask("GET", OF_VMI + "demo/portforward/22/tcp")[0], 403)
        self.assertEqual(ann.ask("GET", OF_VMI + "demo/portforward/22/tcp")[0], 404)  # may, but there is no such instance
        self.assertEqual(ann.ask("PUT", OF_VM + "demo/start")[0], 202)

    def test_the_node_is_asked(self):
        handler = self.node()
        self.instance("demo", conditions=[{"type": "AgentConnected", "status": "True"}])
        at = "/v1/namespaces/default/virtualmachineinstances/demo/"
        for _ in range(3):
            self.good(self.admin.ask("PUT", OF_VMI + "demo/freeze", {"unfreezeTimeout": "5m"}), 200)
        self.assertEqual(handler.calls, [("PUT", at + "freeze", '{"unfreezeTimeout": "5m"}', "kubevirt.io:system:client:virt-handler")] * 3)
        self.assertEqual(len(handler.connections), 1, "connections are used again")
        handler.answers["guestosinfo"] = (200, b'{"z":1,"hostname":"guest"}')
        self.assertEqual(self.admin.ask("GET", OF_VMI + "demo/guestosinfo"), (200, {"hostname": "guest", "z": 1}))
        handler.answers["screenshot"] = (200, b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.admin.ask("GET", OF_VMI + "demo/vnc/screenshot")[0], 200)
        self.assertEqual(self.admin.last["Content-Type"], "image/png")
        handler.answers["reset"] = (422, b"no such thing")
        code, refusal = self.admin.ask("PUT", OF_VMI + "demo/reset")
        self.assertEqual((code, refusal["reason"]), (500, "InternalError"))
        self.assertIn("422 (422 Unprocessable Entity): no such thing", refusal["message"])
        self.assertEqual(self.admin.ask("GET", OF_VMI + "demo/console")[0], 500)
        self.assertEqual(handler.calls[-1][:2], ("GET", at + "console"))

    def test_a_node_that_is_gone_is_told(self):
        self.instance("demo")
        code, refusal = self.admin.ask("PUT", OF_VMI + "demo/pause")
        self.assertEqual(code, 400)
        self.assertIn('no virt-handler pod is running on node "node01"', refusal["message"])

    def test_documents(self):
        code, version = self.admin.ask("GET", BASE + "/version")
        self.assertEqual((code, version["gitVersion"]), (200, e2e.KUBEVIRT_RELEASE))
        self.assertEqual(self.admin.ask("GET", BASE + "/guestfs")[0], 500)
        self.assertEqual(self.admin.ask("GET", BASE + "/healthz")[1]["apiserver"]["connectivity"], "ok")
        self.assertEqual(self.admin.ask("GET", BASE + "/start-cluster-profiler")[0], 403)
        self.assertEqual(self.admin.ask("GET", "/start-profiler")[0], 403)
        self.assertEqual(self.admin.ask("GET", BASE.replace("v1", "v9") + "/namespaces/default/virtualmachines/x/start")[0], 404)
        self.assertEqual(self.admin.ask("PUT", BASE + "/namespaces/default/expand-vm-spec", "{}", {"Content-Type": "text/plain"})[0], 415)
        with open(RECORDED) as file:
            recorded = {path: answers["front-proxy admin"] for path, answers in json.load(file).items()}
        for path in (BASE, BASE + "alpha3"):
            self.assertEqual(self.admin.ask("GET", path), (200, recorded[path]["body"]), path)
        self.assertEqual(set(version), set(recorded[BASE + "/version"]["body"]))
        nope = OF_VM + "x/nope"
        self.assertEqual(self.admin.ask("GET", nope)[0], recorded[nope]["status"])
        self.assertEqual(self.admin.last["Content-Type"], recorded[nope]["headers"]["Content-Type"])
        code, openapi = self.admin.ask("GET", "/openapi/v3/apis/subresources.kubevirt.io/v1")
        self.assertEqual((code, set(openapi["paths"])), (200, set(recorded["/openapi/v3/apis/subresources.kubevirt.io/v1"]["body"]["paths"])))

    def test_expansion_of_a_machine_that_is_sent(self):
        sent = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "x"}, "spec": {"runStrategy": "Halted", "template": TEMPLATE}}
        path = BASE + "/namespaces/default/expand-vm-spec"
        answer = self.good(self.admin.ask("PUT", path, sent), 200)
        self.assertEqual(answer["metadata"]["namespace"], "default")
        self.assertEqual(self.admin.ask("PUT", path, {**sent, "metadata": {"namespace": "other"}})[0], 400)
        code, refusal = self.admin.ask("PUT", path, {**sent, "spec": {**sent["spec"], "nonsense": 1}})
        self.assertEqual((code, list(refusal["details"])), (400, ["causes"]))
        self.assertEqual(self.admin.ask("PUT", path, "")[0], 400)

    def race(self, *paths):
        """Two users each ask for the paths in turn; what each was answered, counted by path and code."""
        answers, together = collections.Counter(), threading.Barrier(2)

        def user(session):
            for number in range(RACES):
                together.wait()
                path = paths[number % len(paths)]
                answers[path, session.ask("PUT", path)[0]] += 1

        threads = [threading.Thread(target=user, args=(self.session(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual({code for _, code in answers}, {202, 409}, answers)
        return answers

    def test_two_users_race(self):
        before = self.machine("demo", runStrategy="Halted")["metadata"]["generation"]
        answers = self.race(OF_VM + "demo/start", OF_VM + "demo/stop")
        after = self.good(self.admin.ask("GET", f"{VMS}/demo"))
        accepted = sum(count for (_, code), count in answers.items() if code == 202)
        self.assertEqual(after["metadata"]["generation"] - before, accepted, "every 202 changed the spec once, no 409 did")
        started, stopped = answers[OF_VM + "demo/start", 202], answers[OF_VM + "demo/stop", 202]
        self.assertEqual(started - stopped, 1 if after["spec"]["runStrategy"] == "Always" else 0)

        self.machine("moving", runStrategy="Always")
        self.instance("moving")
        answers = self.race(OF_VM + "moving/migrate")
        made = self.good(self.admin.ask("GET", MIGRATIONS))["items"]
        self.assertEqual(len(made), answers[OF_VM + "moving/migrate", 202], "every 202 made a migration, no 409 did")


if __name__ == "__main__":
    unittest.main()
