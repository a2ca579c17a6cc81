#!/usr/bin/env python3
"""The journal of requests in a cluster: `virtgate cluster` behind what stands in for kube-apiserver and its front proxy.

VIRTGATE_BINARY names the program.
"""
import json
import unittest

from support import serve as e2e
from support.cluster import ADMIN, Cluster, OF_VM, ZOE

GROUP = "/apis/trace.virtgate.io"
REQUESTS = f"{GROUP}/v1/namespaces/default/requests"


class ClusterJournal(Cluster):
    def requests(self, user, query=""):
        code, text = self.gateway.as_proxy("GET", REQUESTS + query, user)
        self.assertEqual(code, 200, text)
        return json.loads(text)["items"]

    def test_the_group_is_described_to_everybody(self):
        code, text = self.gateway.ask("GET", f"{GROUP}/v1")
        self.assertEqual(code, 200, text)
        self.assertEqual([(one["name"], one["shortNames"]) for one in json.loads(text)["resources"]], [("requests", ["vgr"])])
        self.assertEqual(self.gateway.ask("GET", GROUP)[0], 200)

    def test_only_the_front_proxy_asks(self):
        self.assertEqual(self.gateway.ask("GET", REQUESTS, headers=ADMIN)[0], 401)

    def test_every_action_is_told(self):
        self.machine("told", runStrategy="Manual")
        self.assertEqual(self.gateway.as_proxy("PUT", OF_VM + "told/start", ADMIN)[0], 202)
        self.assertEqual(self.gateway.as_proxy("PUT", OF_VM + "told/migrate", ADMIN)[0], 404)
        started, migrated = self.requests(ADMIN, "?fieldSelector=spec.name=told")
        self.assertEqual((started["spec"]["subresource"], started["spec"]["credential"], started["status"]["code"]), ("start", "front proxy", 202))
        self.assertEqual(started["status"]["decidedBy"], "virtualmachines/start")
        self.assertIn("run strategy Manual", started["status"]["seen"][0]["state"])
        self.assertEqual(started["status"]["objects"][0]["action"], "was changed")
        self.assertTrue(started["status"]["objects"][0]["resourceVersion"])
        self.assertEqual((migrated["status"]["code"], migrated["status"]["reason"]), (404, "NotFound"))
        code, text = self.gateway.as_proxy("GET", f"{REQUESTS}/{started['metadata']['name']}", ADMIN)
        self.assertEqual(code, 200, text)
        self.assertIn("accepted; ", json.loads(text)["status"]["verdict"])

    def test_a_refused_review_is_told_with_its_rules(self):
        body = e2e.review("kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance")
        body["request"].update(namespace="default", name="refused")
        body["request"]["object"]["spec"] = {"domain": {"devices": {"disks": [{"name": "nothing", "disk": {}}]}}}
        code, text = self.gateway.ask("POST", "/virtualmachineinstances-validate-create", body)
        self.assertFalse(json.loads(text)["response"]["allowed"], text)
        found = self.requests(ADMIN, "?fieldSelector=spec.name=refused")[-1]
        self.assertEqual(found["status"]["decidedBy"], "webhook /virtualmachineinstances-validate-create")
        self.assertTrue(found["status"]["rules"][0]["id"], found)

    def test_who_may_not_read_the_object_sees_nothing_of_it(self):
        self.machine("private", runStrategy="Manual")
        self.assertEqual(self.gateway.as_proxy("PUT", OF_VM + "private/start", ADMIN)[0], 202)
        self.assertEqual(self.gateway.as_proxy("PUT", OF_VM + "private/stop", ZOE)[0], 401)
        seen = self.requests(ZOE, "?fieldSelector=spec.name=private")
        self.assertEqual([one["spec"]["subresource"] for one in seen], ["stop"])
        self.assertIn("forbidden", seen[0]["status"]["verdict"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
