#!/usr/bin/env python3
"""ValidatingAdmissionPolicies of `virtgate serve`: what they refuse, warn of and record, and which of them are refused.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import os
import subprocess
import tempfile
import unittest

from support import kubectl as kubectl_tests
from support import serve as e2e

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
MERGE = "application/merge-patch+json"
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]}
DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["*"]}


class PolicyCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="virtgate-policy-")
        cls.server = e2e.Server(os.path.join(cls.folder.name, "state")).start()
        cls.connection = cls.server.connect()
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        cls.server.clean_up()
        cls.folder.cleanup()

    def setUp(self):
        type(self).count += 1
        self.ns = f"policies-{self.count}"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.ns, "labels": {"case": self.ns}}}, code=201)

    def send(self, method, path, body=None, content="application/json", **headers):
        self.connection.request(method, path, body=None if body is None else json.dumps(body).encode(),
                                headers=self.server.as_admin(**{"Content-Type": content, **headers}))
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text), answer.headers.get_all("Warning") or []

    def ask(self, method, path, body=None, code=200, **more):
        status, answer, self.warnings = self.send(method, path, body, **more)
        self.assertEqual(status, code, (method, path, answer))
        return answer

    def restart(self):
        self.connection.close()
        self.server.stop()
        self.server.log.close()
        self.server.start()
        type(self).connection = self.server.connect()

    def policy(self, *validations, rules=(CONFIG_MAPS,), code=201, name=None, **spec):
        """One about this test's namespace alone. A validation is an expression, or all of it."""
        written = [{"expression": one} if isinstance(one, str) else one for one in validations]
        return self.ask("POST", POLICIES, {"metadata": {"name": name or self.ns}, "spec": {
            "matchConstraints": {"resourceRules": list(rules), "namespaceSelector": {"matchLabels": {"case": self.ns}}},
            "validations": written, **spec}}, code=code)

    def bind(self, *actions, name=None, policy=None, code=201, **spec):
        return self.ask("POST", BINDINGS, {"metadata": {"name": name or self.ns}, "spec": {
            "policyName": policy or self.ns, "validationActions": list(actions) or ["Deny"], **spec}}, code=code)

    def config_map(self, name, data=None, code=201, query="", **metadata):
        return self.ask("POST", f"/api/v1/namespaces/{self.ns}/configmaps{query}",
                        {"metadata": {"name": name, **metadata}, "data": data or {}}, code=code)

    def deployment(self, name, replicas, code=201):
        return self.ask("POST", f"/apis/apps/v1/namespaces/{self.ns}/deployments", {"metadata": {"name": name}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}, code=code)

    def refused(self, answer, why, reason="Invalid"):
        self.assertEqual(answer["reason"], reason)
        self.assertEqual(answer["details"]["causes"][0]["message"], why)
        self.assertTrue(answer["message"].endswith(f"is forbidden: {why}"), answer["message"])


class Enforced(PolicyCase):
    def test_what_an_expression_forbids_is_refused_until_the_policy_goes(self):
        self.policy("object.spec.replicas > 1", rules=[DEPLOYMENTS])
        self.deployment("before", 1)  # no binding yet
        self.bind()
        answer = self.deployment("one", 1, code=422)
        self.refused(answer, f"ValidatingAdmissionPolicy '{self.ns}' with binding '{self.ns}' denied request: "
                             "failed expression: object.spec.replicas > 1")
        self.assertEqual(answer["message"].split(" is ")[0], 'deployments.apps "one"')
        self.deployment("two", 2)
        path = f"/apis/apps/v1/namespaces/{self.ns}/deployments/two"
        self.ask("PATCH", path, {"spec": {"replicas": 1}}, code=422, content=MERGE)
        self.ask("PATCH", path, {"spec": {"replicas": 3}}, content=MERGE)
        self.ask("PATCH", f"{path}?dryRun=All", {"spec": {"replicas": 1}}, code=422, content=MERGE)
        self.ask("DELETE", f"{BINDINGS}/{self.ns}")
        self.deployment("one", 1)

    def test_every_operation_and_part_is_asked(self):
        self.policy("request.operation != 'DELETE' || oldObject.metadata.name != 'kept'",
                    "request.operation != 'UPDATE' || !has(request.subResource) || request.kind.kind == 'Scale' && "
                    "object.spec.replicas < 5 && request.kind.group == 'autoscaling'",
                    rules=[DEPLOYMENTS, {**DEPLOYMENTS, "resources": ["deployments/scale"]}])
        self.bind()
        for name in ("kept", "other"):
            self.deployment(name, 1)
        path = f"/apis/apps/v1/namespaces/{self.ns}/deployments"
        self.ask("PATCH", f"{path}/other/scale", {"spec": {"replicas": 2}}, content=MERGE)
        self.ask("PATCH", f"{path}/other/scale", {"spec": {"replicas": 7}}, code=422, content=MERGE)
        self.ask("DELETE", f"{path}/kept", code=422)
        self.ask("DELETE", f"{path}/other")
        self.ask("DELETE", path, code=422)  # all of them
        self.assertEqual([item["metadata"]["name"] for item in self.ask("GET", path)["items"]], ["kept"])

    def test_which_requests_are_matched(self):
        self.policy("false", matchConditions=[{"name": "marked", "expression": "has(object.data) && 'mark' in object.data"}])
        self.bind(matchResources={"objectSelector": {"matchLabels": {"judged": "yes"}},
                                  "excludeResourceRules": [{**CONFIG_MAPS, "resourceNames": ["exempt"]}]})
        self.config_map("no-label", {"mark": ""})
        self.config_map("no-mark", labels={"judged": "yes"})
        self.config_map("exempt", {"mark": ""}, labels={"judged": "yes"})
        self.config_map("judged", {"mark": ""}, labels={"judged": "yes"}, code=422)
        self.ask("POST", "/api/v1/namespaces/default/configmaps",
                 {"metadata": {"name": self.ns, "labels": {"judged": "yes"}}, "data": {"mark": ""}}, code=201)

    def test_another_version_of_the_resource_is_judged_as_the_one_that_is_named(self):
        rule = {"apiGroups": ["kubevirt.io"], "apiVersions": ["v1alpha3"], "resources": ["virtualmachines"], "operations": ["CREATE"]}
        self.policy({"expression": "false", "messageExpression": "object.apiVersion + ' ' + request.requestKind.version"}, rules=[rule])
        self.bind()
        machine = kubectl_tests.virtual_machine("m")
        answer = self.ask("POST", f"/apis/kubevirt.io/v1/namespaces/{self.ns}/virtualmachines", machine, code=422)
        self.assertTrue(answer["message"].endswith("denied request: kubevirt.io/v1alpha3 v1"), answer["message"])
        self.ask("PATCH", f"{POLICIES}/{self.ns}", {"spec": {"matchConstraints": {"matchPolicy": "Exact"}}}, content=MERGE)
        self.ask("POST", f"/apis/kubevirt.io/v1/namespaces/{self.ns}/virtualmachines", machine, code=201)

    def test_variables_messages_and_reasons(self):
        self.policy({"expression": "variables.ok", "reason": "Forbidden",
                     "messageExpression": "'has ' + string(variables.count) + ' keys in ' + namespaceObject.metadata.name"},
                    {"expression": "!('b' in object.data)", "message": " plain words ", "reason": "RequestEntityTooLarge"},
                    variables=[{"name": "count", "expression": "has(object.data) ? size(object.data) : 0"},
                               {"name": "ok", "expression": "variables.count < 3"}])
        self.bind()
        said = f"ValidatingAdmissionPolicy '{self.ns}' with binding '{self.ns}' denied request: "
        self.refused(self.config_map("m", {"a": "", "c": "", "d": ""}, code=403), said + f"has 3 keys in {self.ns}", "Forbidden")
        self.refused(self.config_map("m", {"b": ""}, code=413), said + "plain words", "RequestEntityTooLarge")
        self.config_map("m", {"a": ""})

    def test_errors_follow_the_failure_policy(self):
        self.policy("object.missing.member == 1", failurePolicy="Ignore")
        self.bind()
        self.config_map("ignored")
        self.ask("PATCH", f"{POLICIES}/{self.ns}", {"spec": {"failurePolicy": "Fail"}}, content=MERGE)
        self.refused(self.config_map("failed", code=422), f"ValidatingAdmissionPolicy '{self.ns}' with binding '{self.ns}' denied "
                     "request: expression 'object.missing.member == 1' resulted in error: no such key: missing")

    def test_a_policy_that_takes_too_long_is_ended(self):
        self.policy("lists.range(900).all(a, lists.range(900).all(b, a + b >= 0))")
        self.bind()
        self.assertIn("cost limit exceeded", self.config_map("slow", code=422)["message"])

    def test_warnings_and_the_audit_log(self):
        self.policy("false", auditAnnotations=[{"key": "who", "valueExpression": "'by ' + request.userInfo.username"}])
        self.bind("Warn", "Audit")
        self.config_map("m")
        self.assertIn(f"Validation failed for ValidatingAdmissionPolicy '{self.ns}' with binding '{self.ns}': failed expression: false",
                      " ".join(self.warnings))
        self.restart()
        with open(os.path.join(self.server.state, "audit.log"), encoding="utf-8") as file:
            lines = [json.loads(line)["annotations"] for line in file]
        found = [notes for notes in lines if f"{self.ns}/who" in notes][-1]
        self.assertTrue(found[f"{self.ns}/who"].startswith("by "), found)
        failure = json.loads(found["validation.policy.admission.k8s.io/validation_failure"])
        self.assertEqual(failure, [{"message": "failed expression: false", "policy": self.ns, "binding": self.ns,
                                    "expressionIndex": 0, "validationActions": ["Warn", "Audit"]}])

    def test_parameters(self):
        self.config_map("limits", {"max": "2"})
        self.policy({"expression": "params == null || size(object.data) <= int(params.data.max)",
                     "messageExpression": "'more than ' + params.data.max"},
                    paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
        self.bind(paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
        three = {"a": "", "b": "", "c": ""}
        self.assertIn("more than 2", self.config_map("three", three, code=422)["message"])
        self.config_map("two", {"a": "", "b": ""})
        self.ask("DELETE", f"/api/v1/namespaces/{self.ns}/configmaps/limits")
        answer = self.config_map("none", {"a": ""}, code=422)
        self.assertIn("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
                      answer["message"])
        self.ask("PATCH", f"{BINDINGS}/{self.ns}", {"spec": {"paramRef": {"parameterNotFoundAction": "Allow"}}}, content=MERGE)
        self.config_map("three", three)
        self.config_map("one", {"max": "1"}, labels={"limit": "yes"})
        self.config_map("nine", {"max": "9"}, labels={"limit": "yes"})
        self.ask("PATCH", f"{BINDINGS}/{self.ns}", {"spec": {"paramRef": {
            "name": None, "selector": {"matchLabels": {"limit": "yes"}}}}}, content=MERGE)
        self.assertIn("more than 1", self.config_map("all", three, code=422)["message"])

    def test_permissions_can_be_asked_for(self):
        self.policy("authorizer.group('').resource('secrets').namespace(request.namespace).check('delete').allowed()",
                    "!authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('delete').allowed()",
                    "authorizer.requestResource.check('create').allowed()",
                    {"expression": "authorizer.path('/healthz').check('get').allowed()", "message": "no health"})
        self.bind()
        self.config_map("admin")
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + self.ns
        self.ask("POST", roles + "/roles", {"metadata": {"name": "r"}, "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}, code=201)
        self.ask("POST", roles + "/rolebindings", {"metadata": {"name": "r"}, "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}, code=201)
        code, answer, _ = self.send("POST", f"/api/v1/namespaces/{self.ns}/configmaps", {"metadata": {"name": "jane"}},
                                    **{"Impersonate-User": "jane"})
        self.assertEqual(code, 422, answer)
        self.assertIn("failed expression: authorizer.group('').resource('secrets')", answer["message"])

    def test_nobody_is_locked_out_of_policies(self):
        everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
        self.ask("POST", POLICIES, {"metadata": {"name": self.ns}, "spec": {
            "matchConstraints": {"resourceRules": [everything]}, "validations": [{"expression": "false"}]}}, code=201)
        self.bind()
        self.config_map("m", code=422)
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "locked"}}, code=422)
        self.restart()  # what the server does by itself is not asked
        self.config_map("m", code=422)
        self.ask("DELETE", f"{POLICIES}/{self.ns}")
        self.config_map("m")


class Written(PolicyCase):
    def test_defaults_status_and_generation(self):
        made = self.policy("object.spec.replicas > '1'", rules=[DEPLOYMENTS])
        spec = made["spec"]
        self.assertEqual((spec["failurePolicy"], spec["matchConstraints"]["matchPolicy"]), ("Fail", "Equivalent"))
        self.assertEqual((spec["matchConstraints"]["objectSelector"], spec["matchConstraints"]["resourceRules"][0]["scope"]), ({}, "*"))
        self.assertEqual((made["metadata"]["generation"], made["status"]["observedGeneration"]), (1, 1))
        warning = made["status"]["typeChecking"]["expressionWarnings"]
        self.assertEqual([one["fieldRef"] for one in warning], ["spec.validations[0].expression"])
        self.assertIn("found no matching overload for '_>_' applied to '(int, string)'", warning[0]["warning"])
        made["spec"]["validations"] = [{"expression": "object.spec.replicas > 1"}]
        changed = self.ask("PUT", f"{POLICIES}/{self.ns}", made)
        self.assertEqual((changed["metadata"]["generation"], changed["status"]), (2, {"observedGeneration": 2, "typeChecking": {}}))
        status = {"status": {"conditions": [{"type": "T", "status": "True", "reason": "R", "message": "",
                                             "lastTransitionTime": "2024-01-01T00:00:00Z"}]}}
        self.assertEqual(len(self.ask("PATCH", f"{POLICIES}/{self.ns}/status", status, content=MERGE)["status"]["conditions"]), 1)
        del changed["metadata"]["resourceVersion"]
        self.assertIn("must be specified for an update", self.ask("PUT", f"{POLICIES}/{self.ns}", changed, code=422)["message"])

    def causes(self, path, spec):
        answer = self.ask("POST", path, {"metadata": {"name": "wrong"}, "spec": spec}, code=422)
        return {(cause["field"], cause["reason"]) for cause in answer["details"]["causes"]}

    def test_what_is_wrong_with_a_policy(self):
        rule = {"matchConstraints": {"resourceRules": [CONFIG_MAPS]}}
        invalid, required, unsupported = "FieldValueInvalid", "FieldValueRequired", "FieldValueNotSupported"
        for spec, causes in [
                ({}, {("spec.matchConstraints", required), ("spec.validations", required), ("spec.auditAnnotations", required)}),
                ({**rule, "validations": [{"expression": "object.x"}]}, {("spec.validations[0].expression", invalid)}),
                ({**rule, "validations": [{"expression": "object.x >"}]}, {("spec.validations[0].expression", invalid)}),
                ({**rule, "validations": [{"expression": " "}]}, {("spec.validations[0].expression", required)}),
                ({**rule, "validations": [{"expression": "true", "messageExpression": "1", "reason": "Bad", "message": "a\nb"}]},
                 {("spec.validations[0].messageExpression", invalid), ("spec.validations[0].reason", unsupported),
                  ("spec.validations[0].message", invalid)}),
                ({**rule, "validations": [{"expression": "params.x == 1"}]}, {("spec.validations[0].expression", invalid)}),
                ({**rule, "validations": [{"expression": "true"}], "variables": [{"name": "in", "expression": "1 +"}]},
                 {("spec.variables[0].name", invalid), ("spec.variables[0].expression", invalid)}),
                ({**rule, "validations": [{"expression": "true"}], "matchConditions": [{"name": "", "expression": "1"}]},
                 {("spec.matchConditions[0].name", required), ("spec.matchConditions[0].expression", invalid)}),
                ({**rule, "failurePolicy": "Perhaps", "paramKind": {"kind": "ConfigMap"}, "validations": [{"expression": "true"}]},
                 {("spec.failurePolicy", unsupported), ("spec.paramKind.apiVersion", required)}),
                ({"matchConstraints": {"resourceRules": [{**CONFIG_MAPS, "operations": ["MAKE"], "resources": ["*/*", "a"]}]},
                  "validations": [{"expression": "true"}]},
                 {("spec.matchConstraints.resourceRules[0].operations[0]", unsupported),
                  ("spec.matchConstraints.resourceRules[0].resources", invalid)}),
                ({**rule, "auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
                 {("spec.auditAnnotations[0].valueExpression", invalid)})]:
            with self.subTest(spec=spec):
                self.assertEqual(self.causes(POLICIES, spec), causes)

    def test_what_is_wrong_with_a_binding(self):
        for spec, causes in [
                ({}, {("spec.policyName", "FieldValueRequired"), ("spec.validationActions", "FieldValueRequired")}),
                ({"policyName": "p", "validationActions": ["Deny", "Warn"]}, {("spec.validationActions", "FieldValueInvalid")}),
                ({"policyName": "p", "validationActions": ["Deny", "Deny"]}, {("spec.validationActions[1]", "FieldValueDuplicate")}),
                ({"policyName": "p", "validationActions": ["Deny"], "paramRef": {}},
                 {("spec.paramRef", "FieldValueRequired"), ("spec.paramRef.parameterNotFoundAction", "FieldValueRequired")})]:
            with self.subTest(spec=spec):
                self.assertEqual(self.causes(BINDINGS, spec), causes)

    def test_whoever_uses_parameters_may_read_them(self):
        roles = "/apis/rbac.authorization.k8s.io/v1"
        self.ask("POST", roles + "/clusterroles", {"metadata": {"name": "policies"}, "rules": [
            {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]}, code=201)
        self.ask("POST", roles + "/clusterrolebindings", {"metadata": {"name": "policies"}, "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "policies"}, "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]}, code=201)
        policy = {"metadata": {"name": self.ns}, "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "Secret"}, "matchConstraints": {"resourceRules": [CONFIG_MAPS]},
            "validations": [{"expression": "params.data.x == 'guess'"}]}}
        code, answer, _ = self.send("POST", POLICIES, policy, **{"Impersonate-User": "jane"})
        self.assertEqual((code, answer["details"]["causes"][0]["field"]), (422, "spec.paramKind"), answer)
        del policy["spec"]["paramKind"]
        policy["spec"]["validations"] = [{"expression": "true"}]
        self.assertEqual(self.send("POST", POLICIES, policy, **{"Impersonate-User": "jane"})[0], 201)


class WithKubectl(kubectl_tests.Kubectl, unittest.TestCase):
    find = staticmethod(kubectl_tests.kubectl_on_path)

    def run_kubectl(self, *arguments, body=None):
        return subprocess.run([self.program, "-n", self.namespace, *arguments], input=body, capture_output=True, text=True,
                              env=self.environment, timeout=kubectl_tests.DEADLINE_S)

    def test_apply_and_be_refused(self):
        policy = kubectl_tests.listed(
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "small"}, "spec": {
                "matchConstraints": {"resourceRules": [CONFIG_MAPS]},
                "validations": [{"expression": "object.metadata.name != 'big'", "message": "must be small"}]}},
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "small"},
             "spec": {"policyName": "small", "validationActions": ["Deny"]}})
        applied = self.run_kubectl("apply", "-f", "-", body=json.dumps(policy))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        refused = self.run_kubectl("create", "configmap", "big")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ValidatingAdmissionPolicy 'small' with binding 'small' denied request: must be small", refused.stderr)
        self.assertEqual(self.run_kubectl("create", "configmap", "little").returncode, 0)
        table = self.run_kubectl("get", "validatingadmissionpolicies,validatingadmissionpolicybindings").stdout
        self.assertIn("small", table)
        self.assertEqual(self.run_kubectl("delete", "validatingadmissionpolicy", "small").returncode, 0)
        self.assertEqual(self.run_kubectl("create", "configmap", "big").returncode, 0)


class Health(PolicyCase):
    """kube-apiserver's names, which its own tests and many monitors ask for."""

    def test_checks_have_the_names_of_kube_apiserver(self):
        names = ("ping", "log", "etcd", "poststarthook/start-apiserver-admission-initializer", "poststarthook/crd-informer-synced",
                 "poststarthook/bootstrap-controller", "poststarthook/scheduling/bootstrap-system-priority-classes",
                 "poststarthook/apiservice-status-remote-available-controller", "autoregister-completion")
        for path, more in (("/healthz", ()), ("/livez", ()), ("/readyz", ("informer-sync",))):
            text = self.server.get(f"{path}?verbose=1")[2]
            lines = (text.decode() if isinstance(text, bytes) else text).split("\n")
            for name in names + more:
                self.assertIn(f"[+]{name} ok", lines)
                self.assertEqual(self.server.get(f"{path}/{name}")[0], 200, name)


if __name__ == "__main__":
    unittest.main()
