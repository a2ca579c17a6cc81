#!/usr/bin/env python3
"""Answers of `virtgate serve` say which FlowSchema and PriorityLevelConfiguration a request belongs to, as a client sees it.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import os
import tempfile
import time
import unittest

from support import serve as e2e

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
FIELDS = ("X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID")


class FlowControlCase(unittest.TestCase):
    def serve(self, *flags):
        folder = tempfile.TemporaryDirectory(prefix="virtgate-flows-")
        self.addCleanup(folder.cleanup)
        self.server = e2e.Server(os.path.join(folder.name, "state"), *flags).start()
        self.addCleanup(self.server.clean_up)
        self.connection = self.server.connect()
        self.addCleanup(self.connection.close)

    def send(self, method, path, body=None, **headers):
        self.connection.request(method, path, body=None if body is None else json.dumps(body).encode(), headers=headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        return answer.status, text, tuple(answer.getheader(name) for name in FIELDS)

    def as_admin(self, method, path, body=None, **headers):
        return self.send(method, path, body, **self.server.as_admin(**headers))

    def uids(self, schema, level):
        """What answers to requests of this schema and level say."""
        return tuple(json.loads(self.as_admin("GET", f"{GROUP}/{path}")[1])["metadata"]["uid"]
                     for path in (f"flowschemas/{schema}", f"prioritylevelconfigurations/{level}"))

    def until(self, what, wanted):
        deadline = time.monotonic() + 20
        while (found := what()) != wanted:
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.02)

    def version(self, **headers):
        return self.as_admin("GET", "/version", **headers)[2]

    def make(self, plural, name, spec):
        kind = {"flowschemas": "FlowSchema", "prioritylevelconfigurations": "PriorityLevelConfiguration"}[plural]
        status, text, _ = self.as_admin("POST", f"{GROUP}/{plural}", {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
        self.assertEqual(status, 201, text)

    def test_requests_are_classified(self):
        self.serve("--api-only=false")
        exempt, everybody = self.uids("exempt", "exempt"), self.uids("global-default", "global-default")
        self.until(self.version, exempt)
        noxu = {"Impersonate-User": "noxu"}
        self.assertEqual(self.version(**noxu), everybody)
        self.make("prioritylevelconfigurations", "own", {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}})
        self.make("flowschemas", "own", {"matchingPrecedence": 1000, "priorityLevelConfiguration": {"name": "own"}, "rules": [
            {"subjects": [{"kind": "User", "user": {"name": "noxu"}}], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}]})
        own = self.uids("own", "own")
        self.until(lambda: self.version(**noxu), own)
        self.assertIn('apiserver_flowcontrol_nominal_limit_seats{priority_level="own"} 3\n', self.as_admin("GET", "/metrics")[1])
        # Whatever the answer is: one object, one that is not there, a refusal.
        self.assertEqual(self.as_admin("GET", "/api/v1/namespaces/default")[::2], (200, exempt))
        self.assertEqual(self.as_admin("GET", "/api/v1/namespaces/missing")[::2], (404, exempt))
        self.assertEqual(self.as_admin("GET", "/metrics", **noxu)[::2], (403, own))
        self.assertEqual(self.as_admin("GET", "/api/v1/nodes", **noxu)[::2], (403, everybody))
        # Nobody is classified who is not known.
        self.assertEqual(self.send("GET", "/version")[::2], (200, (None, None)))
        self.assertEqual(self.send("GET", "/version", Authorization="Bearer wrong")[::2], (401, (None, None)))
        self.assertEqual(self.send("GET", "/api/v1/nodes")[::2], (401, (None, None)))

    def test_without_controllers_too(self):
        self.serve()
        self.until(self.version, self.uids("exempt", "exempt"))


if __name__ == "__main__":
    unittest.main()
