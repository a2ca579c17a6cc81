#!/usr/bin/env python3
"""The journal of requests: who sees what of it, what it tells, what it keeps over a restart, and what it never holds.

VIRTGATE_BINARY names the program.
"""
import glob
import json
import os
import signal
import subprocess
import threading
import unittest

from support import serve as e2e
from support.simulated import ACTIONS, MERGE, VMS, Simulated

REQUESTS = "/apis/trace.virtgate.io/v1/namespaces/default/requests"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


class Journal(Simulated):
    nodes = 1

    def requests(self, query="", user=None):
        return self.good("GET", REQUESTS + query, headers={"Impersonate-User": user} if user else None)["items"]

    def allow(self, user, verbs, group, resource, name=None):
        rule = {"apiGroups": [group], "resources": [resource], "verbs": verbs, **({"resourceNames": [name]} if name else {})}
        role = f"{user}-{resource}-{verbs[0]}".replace("/", "-")
        self.good("POST", f"{RBAC}/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": role}, "rules": [rule]})
        self.good("POST", f"{RBAC}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]})


class Stories(Journal):
    def test_what_was_done_and_what_became_of_it(self):
        self.vm("demo", strategy="Manual")
        self.until_printable("demo", "Stopped")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.until_printable("demo", "Running")
        code, refused = self.ask("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.assertEqual(code, 409, refused)
        first, started, again = self.requests("?fieldSelector=spec.name=demo")
        self.assertEqual((first["spec"]["verb"], first["status"]["code"]), ("create", 201))
        self.assertEqual(first["status"]["uid"], self.get(f"{VMS}/demo")["metadata"]["uid"])
        self.assertEqual((started["spec"]["subresource"], started["status"]["code"]), ("start", 202))
        self.assertIn("virtualmachines/demo", started["status"]["objects"][0]["object"])
        self.assertIn("the guest runs", started["status"]["verdict"])
        self.assertEqual((again["status"]["code"], again["status"]["reason"]), (409, "Conflict"))
        self.assertIn("refused (409 Conflict)", again["status"]["verdict"])

    def test_a_refusal_names_its_rule_and_field(self):
        body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "bad"},
                "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"memory": {"guest": "1Ki"}, "devices": {
                    "disks": [{"name": "nothing", "disk": {}}]}}}}}}
        code, answer = self.ask("POST", VMS, body)
        self.assertEqual(code, 422, answer)
        request = self.requests()[-1]
        self.assertTrue(request["status"]["rules"][0]["id"], request)
        self.assertTrue(request["status"]["rules"][0]["field"].startswith("spec.template.spec"), request)
        self.assertNotIn("message", request["status"])
        self.assertIn("virtgate explain", request["status"]["next"])

    def test_explain_tells_a_request_in_four_steps(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {})
        self.until_printable("demo", "Paused")
        paused = self.requests("?fieldSelector=spec.subresource=pause")[0]
        told = subprocess.run([e2e.BINARY, "explain", paused["metadata"]["name"], "--state", self.state], capture_output=True, text=True, timeout=30, check=True).stdout
        for part in ("1. What was asked for", "update virtualmachineinstances/pause demo", "by user kubernetes-admin", "2. Was it let in", "200",
                     "3. What it touched", "called the node", "4. What became of it", "paused by a user", "Next: virtctl unpause vmi demo", "What happened"):
            self.assertIn(part, told)
        none = subprocess.run([e2e.BINARY, "explain", "00000000-1", "--state", self.state], capture_output=True, text=True, timeout=30)
        self.assertEqual(none.returncode, 1)
        self.assertIn("not found", none.stderr)

    def test_table_and_watch(self):
        self.vm("demo", strategy="Halted")
        table = self.good("GET", REQUESTS, headers=TABLE)
        self.assertEqual([one["name"] for one in table["columnDefinitions"]], ["Name", "User", "Request", "Code", "Verdict", "Age"])
        self.assertEqual(table["rows"][0]["cells"][1:4], ["kubernetes-admin", "create virtualmachines demo", 201])
        seen, done = [], threading.Event()

        def follow():
            connection = self.one.connect()
            connection.request("GET", f"{REQUESTS}?watch=true&resourceVersion={table['metadata']['resourceVersion']}", headers=self.one.as_admin())
            answer = connection.getresponse()
            seen.append(json.loads(answer.readline()))
            done.set()
            connection.close()

        threading.Thread(target=follow, daemon=True).start()
        self.good("PATCH", f"{VMS}/demo", {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
        self.assertTrue(done.wait(20))
        self.assertEqual((seen[0]["type"], seen[0]["object"]["spec"]["verb"]), ("ADDED", "patch"))

    def test_it_lasts_over_a_kill(self):
        self.vm("demo", strategy="Halted")
        before = self.requests()
        self.until("written", lambda: any(os.path.getsize(path) > 100 for path in glob.glob(os.path.join(self.state, "journal", "*"))))
        self.one.stop(signal.SIGKILL)
        self.one = self.run_server()
        self.assertEqual([one["metadata"]["name"] for one in self.requests()], [one["metadata"]["name"] for one in before])

    def test_what_components_write_is_not_a_request_of_a_user(self):
        self.vm("demo", strategy="Halted")
        component = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters", **MERGE}
        self.good("PATCH", f"{VMS}/demo", {"metadata": {"labels": {"by": "controller"}}}, headers=component)
        self.assertEqual([one["spec"]["verb"] for one in self.requests()], ["create"])

    def test_only_reading(self):
        self.vm("demo", strategy="Halted")
        name = self.requests()[0]["metadata"]["name"]
        for method, path in (("POST", REQUESTS), ("DELETE", f"{REQUESTS}/{name}"), ("PUT", f"{REQUESTS}/{name}"), ("DELETE", REQUESTS)):
            self.assertEqual(self.ask(method, path, {})[0], 405, (method, path))
        self.assertEqual(self.ask("GET", f"{REQUESTS}/no-such")[0], 404)
        self.assertEqual(self.ask("GET", f"{REQUESTS}?fieldSelector=spec.colour=red")[0], 400)
        self.assertEqual(self.ask("GET", f"{REQUESTS}?limit=x")[0], 400)


class Visibility(Journal):
    def test_who_may_read_the_object_may_read_its_requests(self):
        for name in ("one", "two"):
            self.vm(name, strategy="Halted")
        self.assertEqual(self.requests(user="eve"), [])
        name = self.requests("?fieldSelector=spec.name=two")[0]["metadata"]["name"]
        self.assertEqual(self.ask("GET", f"{REQUESTS}/{name}", headers={"Impersonate-User": "eve"})[0], 404)
        self.allow("eve", ["get"], "kubevirt.io", "virtualmachines", name="two")
        self.assertEqual([one["spec"]["name"] for one in self.requests(user="eve")], ["two"])
        self.assertEqual(self.ask("GET", f"{REQUESTS}/{name}", headers={"Impersonate-User": "eve"})[0], 200)

    def test_others_are_named_to_those_who_may_know(self):
        self.vm("one", strategy="Halted")
        self.allow("eve", ["get", "update"], "kubevirt.io", "virtualmachines")
        request = self.requests(user="eve")[0]
        self.assertNotIn("user", request["spec"])
        self.assertNotIn("kubernetes-admin", json.dumps(request))
        self.assertEqual(self.requests("?fieldSelector=spec.user=kubernetes-admin", user="eve"), [])
        self.allow("eve", ["identify"], "trace.virtgate.io", "requests")
        self.assertEqual(self.requests(user="eve")[0]["spec"]["user"], "kubernetes-admin")

    def test_who_was_refused_sees_that(self):
        self.vm("one", strategy="Halted")
        code, _ = self.ask("DELETE", f"{VMS}/one", headers={"Impersonate-User": "eve"})
        self.assertEqual(code, 403)
        # Impersonated: it is the impersonator's.
        self.assertEqual(self.requests(user="eve"), [])
        self.assertIn("forbidden", [one for one in self.requests() if one["status"]["code"] == 403][0]["status"]["verdict"])


class Secrets(Journal):
    WORD = "correcthorsebatterystaple"

    def test_nothing_that_was_sent_is_in_it(self):
        word = self.WORD
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": word}}
        self.good("POST", "/api/v1/namespaces/default/secrets", secret)
        self.ask("POST", "/api/v1/namespaces/default/secrets", {**secret, "metadata": {"name": "bad"}, "type": word, "data": {"x": word}})
        self.ask("POST", "/api/v1/namespaces/default/secrets", {**secret, "metadata": {"name": f"{word}!"}})
        self.vm("demo", strategy="Halted", volumes=[{"name": "ci", "cloudInitNoCloud": {"userData": f"#cloud-config\npassword: {word}"}}])
        for patch in ({"spec": {"template": {"spec": {"volumes": word}}}}, {"spec": {"runStrategy": word}}, {"metadata": {"annotations": {"a": {"b": word}}}},
                      {"spec": {"template": {"spec": {"accessCredentials": [{"sshPublicKey": {"source": {"secret": {"secretName": word + "/"}}}}]}}}}):
            self.ask("PATCH", f"{VMS}/demo", patch, headers=MERGE)
        self.ask("POST", VMS, word)
        self.ask("PUT", f"{ACTIONS}/virtualmachines/demo/addvolume", {"name": "x", "disk": {"serial": word, "disk": {"bus": word}}, "volumeSource": {"x": word}})
        self.assertGreater(len(self.requests()), 6)
        self.one.stop()
        text = b""
        for path in glob.glob(os.path.join(self.state, "journal", "*")):
            with open(path, "rb") as file:
                text += file.read()
        self.assertGreater(len(text), 1000)
        # A name is what a request is about, and is told; the one that was refused for it stays out as well.
        self.assertNotIn(word.encode(), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
