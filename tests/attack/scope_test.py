#!/usr/bin/env python3
"""Rights in one namespace, or for one name, are used on what they are not for; and what is done is hidden from the audit log.

VIRTGATE_BINARY names the program.
"""
import glob
import json
import os
import time
import unittest

from harness import DEADLINE_S, Attack

EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
MERGE = {"Content-Type": "application/merge-patch+json"}
NO_VERBS = ("LIST", "list", "WATCH", "CREATE", "UPDATE", "DELETECOLLECTION", "DeleteCollection", "get", "OPTIONS")


def secret(name):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"k": "c2VlbiBvbmx5IGJ5IGZldw=="}}


class Scope(Attack):
    def setUp(self):
        super().setUp()
        for name in ("mine", "theirs"):
            self.namespace(name)

    def test_rights_in_a_namespace_are_for_no_other(self):
        token = self.user("mine", "owner", EVERYTHING)
        inside, merge = "/api/v1/namespaces/mine/namespaces", {"metadata": {"labels": {"a": "b"}}}
        before = self.must("GET", "/api/v1/namespaces/theirs")
        for method, path, body, headers in (
                ("GET", inside, None, {}), ("GET", inside + "/theirs", None, {}), ("GET", inside + "/theirs/status", None, {}),
                ("GET", "/api/v1/watch/namespaces/mine/namespaces?timeoutSeconds=1", None, {}),
                ("POST", inside, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}, {}),
                ("PUT", inside + "/theirs", before, {}), ("PUT", inside + "/theirs/finalize", before, {}),
                ("PATCH", inside + "/theirs", merge, MERGE), ("DELETE", inside + "/theirs", None, {}), ("DELETE", inside, None, {})):
            self.assertEqual(self.call(method, path, body, token, headers)[0], 404, (method, path))
        self.assertEqual(self.must("GET", "/api/v1/namespaces/theirs"), before)
        self.assertEqual(self.call("GET", "/api/v1/namespaces/new")[0], 404)
        self.assertEqual(self.call("PATCH", "/api/v1/namespaces/mine", merge, token, MERGE)[0], 200, "one's own")

    def test_reviews_of_everybody_are_in_no_namespace(self):
        token = self.user("mine", "owner", EVERYTHING)
        asked = {"user": "somebody", "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "mine"}}
        for group, plural, kind, spec in (("authorization", "subjectaccessreviews", "SubjectAccessReview", asked),
                                          ("authentication", "tokenreviews", "TokenReview", {"token": self.one.token()})):
            review = {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}
            self.assertEqual(self.call("POST", f"/apis/{group}.k8s.io/v1/namespaces/mine/{plural}", review, token)[0], 404, kind)
            self.assertEqual(self.call("POST", f"/apis/{group}.k8s.io/v1/{plural}", review, token)[0], 403, kind)
        local = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": asked}
        self.assertEqual(self.call("POST", "/apis/authorization.k8s.io/v1/namespaces/mine/localsubjectaccessreviews", local, token)[0], 201)

    def test_a_method_is_no_verb(self):
        """Allowed for one name, done to all."""
        secrets = "/api/v1/namespaces/mine/secrets"
        for name in ("allowed", "hidden"):
            self.must("POST", secrets, secret(name))
        token = self.user("mine", "few", [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["allowed"], "verbs": [
            "get", "list", "watch", "create", "update", "delete", "deletecollection"]}])
        for method in NO_VERBS:
            self.assertEqual(self.call(method, secrets + "/allowed", None, token)[0], 403, method)
            self.assertEqual(self.call(method, secrets + "/allowed")[0], 405, method)
        self.assertEqual(self.call("GET", secrets + "/hidden")[0], 200)
        self.assertEqual(self.call("GET", secrets + "/allowed", None, token)[0], 200)


class Recorded(Attack):
    def lines(self, log, *words):
        found = []
        for path in glob.glob(os.path.join(self.state, log)):
            with open(path) as file:
                found += [line for line in file if line.endswith("\n") and all(word in line for word in words)]
        return [json.loads(line) for line in found]

    def assert_recorded(self, log, *words):
        end = time.monotonic() + DEADLINE_S
        while not self.lines(log, *words):
            self.assertLess(time.monotonic(), end, (log, words))
            time.sleep(0.02)

    def test_what_claims_to_be_a_dry_run(self):
        self.namespace("mine")
        token = self.user("mine", "mallory", EVERYTHING)
        base, secrets = "/api/v1/namespaces/mine", "/api/v1/namespaces/mine/secrets"
        for name in ("gone", "shown", "kept"):
            self.must("POST", secrets, secret(name))
        self.must("POST", base + "/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "evicted"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        machine = {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}
        self.must("POST", "/apis/kubevirt.io/v1/namespaces/mine/virtualmachines", {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "started"}, "spec": {"runStrategy": "Halted", "template": machine}})
        # Refusals are summed up from some number on, and then there is room for no line of any attempt.
        for _ in range(150):
            self.call("GET", "/api/v1/namespaces/kubevirt/secrets", None, token)
        dry = "?dryRun=All"
        for method, path, body, log, words in (
                ("DELETE", secrets + "/gone" + dry, {"apiVersion": "v1", "kind": "DeleteOptions"}, "audit.log", ('"delete"', '"gone"')),
                ("POST", base + "/pods/evicted/eviction" + dry, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted"}, "deleteOptions": {}},
                 "audit.log", ('"eviction"', '"evicted"')),
                ("POST", base + "/serviceaccounts/mallory/token" + dry, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
                 "audit.log", ('"token"', ':mallory"')),
                ("PUT", "/apis/subresources.kubevirt.io/v1/namespaces/mine/virtualmachines/started/start" + dry, {}, "audit.log", ('"start"', '"started"')),
                ("PATCH", secrets + "/shown" + dry, {}, "audit-reads.log", ('"patch"', '"shown"')),
                ("DELETE", secrets + dry, None, "audit-reads.log", ('"deletecollection"',))):
            code, answer = self.call(method, path, body, token, MERGE if method == "PATCH" else None)
            self.assertLess(code, 300, answer)
            self.assert_recorded(log, ":mallory", *words)
        self.assertEqual(self.call("GET", secrets + "/gone")[0], 404)
        self.assertEqual(self.call("GET", secrets + "/kept")[0], 200)


if __name__ == "__main__":
    unittest.main()
