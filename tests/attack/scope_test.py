#!/usr/bin/env python3
"""Rights in one namespace, or for one name, are used on what they are not for.

VIRTGATE_BINARY names the program.
"""
import unittest

from harness import Attack

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


if __name__ == "__main__":
    unittest.main()
