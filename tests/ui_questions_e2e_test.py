#!/usr/bin/env python3
"""What the page asks beside the API: access, stories, checks and counters, as users with many and with few rights.

VIRTGATE_BINARY names the program.
"""
import json
import os
import shutil
import tempfile
import time
import unittest

from support import serve
from support.serve import DEADLINE_S

VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
VM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "demo", "namespace": "default"},
      "spec": {"runStrategy": "Always", "template": {"spec": {
          "domain": {"cpu": {"cores": 2}, "memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "scratch", "disk": {}}], "interfaces": [{"name": "default", "masquerade": {}}]}},
          "networks": [{"name": "default", "pod": {}}], "volumes": [{"name": "scratch", "emptyDisk": {"capacity": "1Gi"}}]}}}}
HALTED = {**VM, "metadata": {"name": "halted", "namespace": "default"}, "spec": {**VM["spec"], "runStrategy": "Halted"}}
STATS = "/ui/api/stats/namespaces/default/virtualmachineinstances/demo"
STORY = "/ui/api/story/namespaces/default/"


def role(name, user, rules, namespace="default"):
    yield f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    yield f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}, "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]}


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="virtgate-ui-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.server = serve.Server(os.path.join(cls.folder, "state"), role=("--node", "simulated"))
        cls.server.start()
        cls.addClassCleanup(cls.server.clean_up)
        with open(os.open(cls.server.pki("tokens.csv"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("viewer-token,viewer,,\nstranger-token,stranger,,\n")
        for path, document in (*role("sees-vms", "viewer", [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines", "virtualmachineinstances"], "verbs": ["get", "list"]}]),
                               (VMS, VM), (VMS, HALTED)):
            code, _, body = cls.server.ask("POST", path, json.dumps(document), cls.server.as_admin(**{"Content-Type": "application/json"}))
            assert code == 201, body
        deadline = time.monotonic() + DEADLINE_S
        while cls.ask("GET", STATS)[0] != 200 or cls.ask("GET", "/ui/session", user="viewer")[0] != 200:
            assert time.monotonic() < deadline, cls.ask("GET", STATS)

    @classmethod
    def ask(cls, method, path, body=None, user=None, **headers):
        token = cls.server.token() if user is None else f"{user}-token"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        code, _, text = cls.server.ask(method, path, body, {"Authorization": f"Bearer {token}", **headers})
        return code, json.loads(text)

    # --- access -----------------------------------------------------------------------------------------------------

    def test_access_answers_as_a_review_does(self):
        checks = [{"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace, "name": name}
                  for verb in ("get", "list", "create", "delete", "update", "*")
                  for group, resource, subresource, namespace, name in (
                      ("kubevirt.io", "virtualmachines", "", "default", ""), ("kubevirt.io", "virtualmachines", "", "other", ""), ("kubevirt.io", "virtualmachines", "", "", ""),
                      ("kubevirt.io", "virtualmachineinstances", "", "default", "demo"), ("subresources.kubevirt.io", "virtualmachines", "start", "default", "demo"), ("", "secrets", "", "default", ""))]
        for user in (None, "viewer", "stranger"):
            code, answer = self.ask("POST", "/ui/api/access", {"checks": checks}, user)
            self.assertEqual(code, 200, answer)
            self.assertEqual(len(answer["allowed"]), len(checks))
            for check, allowed in zip(checks, answer["allowed"]):
                review = self.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                  {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": check}}, user,
                                  **{"Content-Type": "application/json"})[1]
                self.assertEqual(review["status"]["allowed"], allowed, f"{user} {check}")
        self.assertTrue(all(self.ask("POST", "/ui/api/access", {"checks": checks})[1]["allowed"]))

    def test_access_is_bounded(self):
        check = {"verb": "get", "resource": "pods"}
        self.assertEqual(self.ask("POST", "/ui/api/access", {"checks": [check] * 200}, "viewer")[0], 200)
        self.assertEqual(self.ask("POST", "/ui/api/access", {"checks": [check] * 201}, "viewer")[0], 400)
        self.assertEqual(self.ask("POST", "/ui/api/access", {"checks": [{**check, "name": "x" * 70000}]}, "viewer")[0], 413)
        for body in ("", "x", "[]", "{}", '{"checks":1}', '{"checks":[[]]}'):
            self.assertEqual(self.ask("POST", "/ui/api/access", body, "viewer")[0], 400, body)

    # --- stories ----------------------------------------------------------------------------------------------------

    def test_a_story_is_what_explain_tells(self):
        code, story = self.ask("GET", STORY + "virtualmachines/demo")
        self.assertEqual(code, 200, story)
        self.assertEqual(story["verdict"], story["verdicts"][0])
        self.assertEqual(set(story["verdict"]), {"id", "text", "next"})
        self.assertIn("VM demo created", [event["text"] for event in story["events"]])
        self.assertTrue(any(event["text"].startswith("event ") for event in story["events"]), story["events"])
        self.assertEqual(story["unread"], [])
        self.assertEqual(self.ask("GET", STORY + "virtualmachines/halted")[0], 200)

    def test_who_may_not_read_it_is_told_nothing(self):
        for path in ("virtualmachines/demo", "virtualmachines/none", "virtualmachineinstances/demo", "virtualmachineinstancemigrations/none"):
            code, answer = self.ask("GET", STORY + path, user="stranger")
            self.assertEqual((code, answer["reason"]), (403, "Forbidden"), path)
        self.assertEqual(self.ask("GET", "/ui/api/story/namespaces/other/virtualmachines/demo", user="viewer")[0], 403)
        self.assertEqual(self.ask("GET", STORY + "virtualmachineinstancemigrations/none", user="viewer")[0], 403)
        self.assertEqual(self.ask("GET", STORY + "virtualmachines/none", user="viewer")[0], 404)

    def test_a_story_is_told_from_what_the_user_may_read(self):
        code, story = self.ask("GET", STORY + "virtualmachines/demo", user="viewer")
        self.assertEqual(code, 200)
        self.assertEqual(sorted(story["unread"]), ["datavolumes", "events", "nodes", "persistentvolumeclaims", "virtualmachineinstancemigrations"])
        self.assertFalse([event for event in story["events"] if event["text"].startswith("event ")], "events may not be read")

    def test_paths_that_are_none(self):
        for path in ("", "namespaces", "namespaces/default/pods/x", "namespaces/default/virtualmachines/", "namespaces/default/virtualmachines/a/b", "../../session"):
            self.assertIn(self.ask("GET", "/ui/api/story/" + path)[0], (400, 404), path)

    # --- checks -----------------------------------------------------------------------------------------------------

    def test_findings_have_line_and_rule(self):
        text = ("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: demo\nspec:\n  runStrategy: Always\n  template:\n    spec:\n      domain:\n"
                "        devices:\n          disks:\n          - name: ghost\n        memory: {guest: 64Mi}\n")
        code, answer = self.ask("POST", "/ui/api/check", text, "stranger", **{"Content-Type": "text/plain"})
        self.assertEqual(code, 200)
        found = [(finding["line"], finding["rule"], finding["severity"]) for finding in answer["findings"]]
        self.assertIn((12, "MAP-01", "error"), found)

    def test_untrusted_texts(self):
        bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i-1}'] * 10)}]\n" for i in range(1, 30))
        for text in (bomb, "[" * 100000, "{" * 100000, "- " * 50000, "\x00\x01", "a: b: c", "&a [*a]", "%YAML 9.9\n---\n", "---\n" * 20000, "!!python/object:os.system x", "\"" + "x" * 200000,
                     '{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"' + "x" * 200000 + '"}}',
                     "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec: {template: {spec: {volumes: [" + "{name: x}," * 20000 + "]}}}\n",
                     "apiVersion: v1\nkind: List\nitems: [" + ",".join(["{kind: VirtualMachine, apiVersion: kubevirt.io/v1}"] * 5000) + "]\n",
                     "apiVersion: v1\nkind: List\nitems:\n" + "- {kind: VirtualMachine, apiVersion: kubevirt.io/v1}\n" * 4500, "---\n".join(["kind: VirtualMachine\napiVersion: kubevirt.io/v1\n"] * 4000)):
            began = time.monotonic()
            code, answer = self.ask("POST", "/ui/api/check", text, "stranger")
            self.assertIn(code, (200, 429), text[:40])
            self.assertLess(time.monotonic() - began, DEADLINE_S, text[:40])
            if code == 200:
                self.assertLessEqual(len(answer["findings"]), 500)
        self.assertEqual(self.ask("POST", "/ui/api/check", "x" * 300000, "stranger")[0], 413)
        self.assertLess(self.server.resident_mib(), 150)

    # --- counters ---------------------------------------------------------------------------------------------------

    def test_counters(self):
        code, first = self.ask("GET", STATS, user="viewer")
        self.assertEqual(code, 200, first)
        self.assertRegex(first["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(first["cpu"]["vcpus"], 2)
        self.assertEqual([disk["name"] for disk in first["disks"]], ["scratch"])
        self.assertEqual([network["name"] for network in first["networks"]], ["default"])
        self.assertEqual(first["memory"]["availableBytes"], 64 << 20)
        deadline = time.monotonic() + DEADLINE_S
        while self.ask("GET", STATS)[1]["cpu"]["timeNanoseconds"] <= first["cpu"]["timeNanoseconds"]:
            self.assertLess(time.monotonic(), deadline)

    def test_counters_need_the_right_and_a_guest(self):
        self.assertEqual(self.ask("GET", STATS, user="stranger")[0], 403)
        self.assertEqual(self.ask("GET", STATS.replace("demo", "none"), user="stranger")[0], 403)
        self.assertEqual(self.ask("GET", STATS.replace("demo", "none"), user="viewer")[0], 404)
        self.assertEqual(self.ask("GET", STATS.replace("default", "other"), user="viewer")[0], 403)
        waits = {**VM, "metadata": {"name": "waits", "namespace": "default"}}
        waits["spec"] = json.loads(json.dumps(VM["spec"]))
        waits["spec"]["template"]["spec"]["nodeSelector"] = {"no": "such"}
        self.assertEqual(self.ask("POST", VMS, waits, **{"Content-Type": "application/json"})[0], 201)
        deadline = time.monotonic() + DEADLINE_S
        while self.ask("GET", STATS.replace("demo", "waits"))[0] == 404:
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(self.ask("GET", STATS.replace("demo", "waits"))[0], 409)


if __name__ == "__main__":
    unittest.main(verbosity=2)
