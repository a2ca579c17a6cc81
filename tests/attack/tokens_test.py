#!/usr/bin/env python3
"""Continue tokens that the server did not write, or wrote for another list: they lead nowhere.

A token says behind which object a list goes on. Whoever could make one would read and delete behind any object, in
namespaces where they have no rights.
"""
import base64
import unittest
import urllib.parse

from harness import Attack

SECRETS = [{"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch", "create", "delete", "deletecollection"]}]


def forged(namespace, name, revision=0):
    """As the server wrote them before it sealed them."""
    return base64.urlsafe_b64encode(f"1 {revision} {namespace} {name}".encode()).decode().rstrip("=")


def altered(token):
    """The token with each of its characters changed in turn, and some lengths that it should not have."""
    for at, character in enumerate(token):
        yield token[:at] + ("A" if character != "A" else "B") + token[at + 1:]
    yield from (token[:-1], token + "A", token[: len(token) // 2], token * 2, token + "=")


class Tokens(Attack):
    def setUp(self):
        super().setUp()
        for namespace in ("a", "b"):
            self.namespace(namespace)
            for name in ("one", "two", "three"):
                self.secret(namespace, name)
        self.mallory = self.user("a", "mallory", SECRETS)

    def secret(self, namespace, name, kind="secrets"):
        meta = {"name": name, "namespace": namespace, "labels": {"of": namespace}}
        body = {"apiVersion": "v1", "metadata": meta}
        body |= {"kind": "Secret", "stringData": {"word": f"{namespace}-{name}"}} if kind == "secrets" else {"kind": "ConfigMap"}
        self.must("POST", f"/api/v1/namespaces/{namespace}/{kind}", body)

    def names(self, namespace, kind="secrets"):
        return [item["metadata"]["name"] for item in self.must("GET", f"/api/v1/namespaces/{namespace}/{kind}")["items"]]

    def ask(self, method, path, token, user=None, **query):
        query = urllib.parse.urlencode({"continue": token, **query})
        return self.call(method, f"{path}?{query}", token=user or self.mallory)

    def refused(self, answer):
        code, status = answer
        self.assertEqual((code, status.get("reason")), (400, "BadRequest"), status)

    def test_nobody_reads_secrets_of_other_namespaces(self):
        self.assertEqual(self.call("GET", "/api/v1/namespaces/b/secrets", token=self.mallory)[0], 403)
        for limit in (1, 2):
            code, answer = self.ask("GET", "/api/v1/namespaces/a/secrets", forged("b", "one"), limit=limit)
            shown = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in answer.get("items", [])]
            self.assertEqual(shown, [], "secrets of another namespace")
            self.refused((code, answer))

    def test_nobody_deletes_secrets_of_other_namespaces(self):
        code, answer = self.ask("DELETE", "/api/v1/namespaces/a/secrets", forged("b", "one"), limit=2)
        self.assertEqual(self.names("b"), ["one", "three", "two"])
        self.assertEqual(self.names("a"), ["one", "three", "two"])
        self.refused((code, answer))

    def test_a_start_behind_everything_ends_nothing(self):
        for path in ("/apis/kubevirt.io/v1/namespaces/a/kubevirts", "/api/v1/namespaces/a/secrets", "/api/v1/namespaces/a/pods"):
            for token in ("MSAwIHp6IHp6", forged("zz", "zz"), forged("b", "zz"), forged("", "zz"), forged("a", "zz")):
                for method in ("GET", "DELETE"):
                    with self.subTest(path=path, token=token, method=method):
                        code, answer = self.ask(method, path, token, user=self.one.token())
                        self.refused((code, answer))
        self.alive()

    def test_real_tokens_stay_with_their_list(self):
        for namespace in ("a", "b"):
            self.secret(namespace, "map", kind="configmaps")
        secrets = "/api/v1/namespaces/b/secrets"
        token = self.must("GET", f"{secrets}?limit=1")["metadata"]["continue"]
        admin = self.one.token()
        for path, query in (("/api/v1/namespaces/a/secrets", {}), ("/api/v1/secrets", {}), ("/api/v1/namespaces/b/configmaps", {}),
                            (secrets, {"labelSelector": "of=b"}), (secrets, {"fieldSelector": "metadata.name=two"})):
            with self.subTest(path=path, query=query):
                self.refused(self.ask("GET", path, token, user=admin, **query))
        self.refused(self.ask("DELETE", "/api/v1/namespaces/a/secrets", token))
        self.assertEqual(self.names("a"), ["one", "three", "two"])
        chosen = self.must("GET", f"{secrets}?limit=1&labelSelector=of%3Db")["metadata"]["continue"]
        self.refused(self.ask("GET", secrets, chosen, user=admin))
        code, page = self.ask("GET", secrets, chosen, user=admin, labelSelector="of==b")
        self.assertEqual([item["metadata"]["name"] for item in page["items"]], ["three", "two"], code)

    def test_every_character_counts(self):
        path = "/api/v1/namespaces/a/secrets"
        token = self.must("GET", f"{path}?limit=1", token=self.mallory)["metadata"]["continue"]
        for other in altered(token):
            self.refused(self.ask("GET", path, other))
        for other in ("x", "=", "0" * 5000, "\x00", "1 0 b !", "../../secrets"):
            self.refused(self.ask("GET", path, other))
        code, page = self.ask("GET", path, token)
        self.assertEqual([item["metadata"]["name"] for item in page["items"]], ["three", "two"], code)

    def test_tokens_outlive_the_process_and_not_the_server(self):
        path = "/api/v1/namespaces/a/secrets"
        token = self.must("GET", f"{path}?limit=1")["metadata"]["continue"]
        self.assertEqual(self.one.stop(), 0)
        self.one.start()
        self.assertEqual([item["metadata"]["name"] for item in self.must("GET", f"{path}?continue={token}")["items"]], ["three", "two"])
        other = self.server(state=self.state + "-other").start()
        code, _, text = other.get(f"/api/v1/namespaces/default/secrets?continue={token}", headers=other.as_admin())
        self.assertEqual(code, 400, text)

    def test_other_positions_are_bounded_too(self):
        path = "/api/v1/namespaces/a/secrets"
        largest = 2**64 - 1
        for query, codes in ((f"resourceVersion={largest}", {504}), (f"resourceVersion={largest + 1}", {400}), ("resourceVersion=-1", {400}),
                             (f"resourceVersion={largest}&resourceVersionMatch=Exact", {504}), ("limit=-1", {200}), (f"limit={2**63 - 1}", {200}),
                             (f"limit={2**63}", {400}), (f"watch=1&resourceVersion={largest}&timeoutSeconds=1", {504}),
                             ("watch=1&sendInitialEvents=true", {422}), (f"watch=1&timeoutSeconds={2**63 - 1}&resourceVersion={largest}", {504}),
                             ("resourceVersion=1&resourceVersionMatch=Exact", {200, 410})):
            with self.subTest(query=query):
                self.assertIn(self.call("GET", f"{path}?{query}", token=self.mallory)[0], codes)
        for grace in (2**63 - 1, -(2**63), 2**62):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
            self.must("POST", "/api/v1/namespaces/a/pods", pod)
            self.assertLess(self.call("DELETE", f"/api/v1/namespaces/a/pods/p?gracePeriodSeconds={grace}")[0], 500)
            self.call("DELETE", "/api/v1/namespaces/a/pods/p?gracePeriodSeconds=0")
        self.alive()


if __name__ == "__main__":
    unittest.main(verbosity=2)
