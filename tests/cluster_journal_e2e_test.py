#!/usr/bin/env python3
"""The journal of requests in a cluster: `virtgate cluster` behind what stands in for kube-apiserver and its front proxy.

VIRTGATE_BINARY names the program.
"""
import http.client
import json
import unittest

from support import serve as e2e
from support.cluster import ADMIN, Cluster, Gateway, OF_VM, ZOE, make_authority, make_certificate, until

GROUP = "/apis/trace.virtgate.io"
REQUESTS = f"{GROUP}/v1/namespaces/default/requests"
BOSS = {"X-Remote-User": "boss", "X-Remote-Group": "admins"}  # may do everything, by a role


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


class Replicas(Cluster):
    """Two replicas, which have one port on addresses of their own, as pods have. A third pod is there and answers nobody."""
    PODS = "/api/v1/namespaces/kubevirt/pods"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_certificate(cls.folder, "serving-ca", "serving", "virt-api.kubevirt.pod.cluster.local", "serverAuth",
                         names="DNS:localhost,DNS:virt-api.kubevirt.svc,IP:127.0.0.1,IP:127.0.0.2")
        make_authority(cls.folder, "component-ca")
        make_certificate(cls.folder, "component-ca", "client", "kubevirt.io:system:client:virt-handler", "clientAuth")
        make_certificate(cls.folder, "component-ca", "other", "kubevirt.io:system:client:other", "clientAuth")
        authorities = e2e.read(cls.folder, "component-ca.crt") + e2e.read(cls.folder, "serving-ca.crt")
        cls.kube("POST", "/api/v1/namespaces/kubevirt/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubevirt-ca"}})
        code, answer = cls.kube("PATCH", "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca", {"data": {"ca-bundle": authorities}},
                                {"Content-Type": "application/merge-patch+json"})
        assert code == 200, answer
        flags = (*cls.flags, "--handler-cert-file", f"{cls.folder}/client.crt", "--handler-key-file", f"{cls.folder}/client.key")
        cls.gateway.stop()
        cls.one = Gateway(cls.folder, *flags)
        cls.two = Gateway(cls.folder, *flags, host="127.0.0.2", port=cls.one.port)
        for number, replica in enumerate((cls.one, cls.two), 1):
            replica.start()
            cls.addClassCleanup(replica.stop)
            cls.add_pod(f"virt-api-{number}", replica.host)
        code, answer = cls.kube("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "admins"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "admins"}]})
        assert code == 201, answer

    @classmethod
    def add_pod(cls, name, address):
        code, answer = cls.kube("POST", cls.PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"kubevirt.io": "virt-api"}},
                                                   "spec": {"containers": [{"name": "virt-api", "image": "i"}]}})
        assert code == 201, answer
        code, answer = cls.kube("PATCH", f"{cls.PODS}/{name}/status", {"status": {"phase": "Running", "podIP": address}}, {"Content-Type": "application/merge-patch+json"})
        assert code == 200, answer

    def names(self, replica, user=BOSS, query=""):
        code, text = replica.as_proxy("GET", REQUESTS + query, user)
        self.assertEqual(code, 200, text)
        return [(one["spec"]["name"], one["spec"]["subresource"]) for one in json.loads(text)["items"]]

    def start(self, replica, name):
        self.machine(name, runStrategy="Manual")
        self.assertEqual(replica.as_proxy("PUT", OF_VM + f"{name}/start", ADMIN)[0], 202)

    def test_each_tells_what_both_have_in_the_order_of_time(self):
        for replica, name in ((self.one, "a1"), (self.two, "a2"), (self.one, "a3")):
            self.start(replica, name)
        wanted = [("a1", "start"), ("a2", "start"), ("a3", "start")]
        for replica in (self.one, self.two):
            until("both are asked", lambda: [one for one in self.names(replica) if one[0].startswith("a")] == wanted)
            self.assertIsNone(replica.answer_headers["Warning"])
            self.assertEqual(self.names(replica, query="?fieldSelector=spec.name=a2"), [("a2", "start")])
            self.assertEqual(len(self.names(replica, query="?limit=2")), 2)
        code, text = self.one.ask("GET", REQUESTS, headers={**BOSS, "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, certificate="front")
        table = json.loads(text)
        self.assertEqual([row["cells"][2] for row in table["rows"] if "virtualmachines/start a" in row["cells"][2]], [f"update virtualmachines/start a{i}" for i in (1, 2, 3)])

    def test_one_is_found_wherever_it_is(self):
        self.start(self.two, "elsewhere")
        until("it is told", lambda: self.names(self.one, query="?fieldSelector=spec.name=elsewhere"))
        name = json.loads(self.one.as_proxy("GET", REQUESTS + "?fieldSelector=spec.name=elsewhere", BOSS)[1])["items"][0]["metadata"]["name"]
        code, text = self.one.as_proxy("GET", f"{REQUESTS}/{name}", BOSS)
        self.assertEqual((code, json.loads(text)["spec"]["name"]), (200, "elsewhere"), text)
        self.assertEqual(self.one.as_proxy("GET", f"{REQUESTS}/none", BOSS)[0], 404)
        self.assertEqual(self.one.as_proxy("GET", f"{REQUESTS}/{name}", ZOE)[0], 404)

    def test_rights_count_at_every_replica(self):
        self.start(self.two, "hidden")
        self.assertEqual(self.names(self.one, ZOE, "?fieldSelector=spec.name=hidden"), [])

    def test_a_watch_tells_what_others_have(self):
        version = json.loads(self.one.as_proxy("GET", REQUESTS, BOSS)[1])["metadata"]["resourceVersion"]
        connection = http.client.HTTPSConnection("127.0.0.1", self.one.port, context=self.one.context("front"), timeout=e2e.DEADLINE_S)
        self.addCleanup(connection.close)
        connection.request("GET", f"{REQUESTS}?watch=1&resourceVersion={version}&fieldSelector=spec.subresource=start", headers=BOSS)
        answer = connection.getresponse()
        for replica, name in ((self.two, "w1"), (self.one, "w2"), (self.two, "w3")):
            self.start(replica, name)
        seen = set()
        while len(seen) < 3:
            seen.add(json.loads(answer.readline())["object"]["spec"]["name"])
        self.assertEqual(seen, {"w1", "w2", "w3"})

    def test_who_does_not_answer_is_named(self):
        self.add_pod("virt-api-3", "127.0.0.3")
        self.addCleanup(self.kube, "DELETE", f"{self.PODS}/virt-api-3?gracePeriodSeconds=0")
        self.start(self.two, "still-told")

        def warned():
            self.assertIn(("still-told", "start"), self.names(self.one))
            return self.one.answer_headers["Warning"]
        told = until("it is named", warned)
        self.assertIn("virt-api-3", told)
        self.assertTrue(told.startswith("299 "), told)

    def token(self, account):
        accounts = "/api/v1/namespaces/kubevirt/serviceaccounts"
        self.kube("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}})
        code, answer = self.kube("POST", f"{accounts}/{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        self.assertEqual(code, 201, answer)
        return {"Authorization": "Bearer " + answer["status"]["token"]}

    def test_only_replicas_ask_as_replicas(self):
        own = self.token("kubevirt-apiserver")
        asked = {**BOSS, "X-Virtgate-Replica": "me"}
        for certificate in (None, "front"):
            self.assertEqual(self.one.ask("GET", REQUESTS, headers={**asked, **own}, certificate=certificate)[0], 401)
        self.assertEqual(self.one.ask("GET", REQUESTS, headers={**BOSS, **own}, certificate="client")[0], 401, "a replica asks for somebody, and says that it is one")
        self.assertEqual(self.one.ask("PUT", OF_VM + "none/start", headers={**asked, **own}, certificate="client")[0], 401, "and only for requests")
        with self.assertRaises(OSError):
            self.one.ask("GET", REQUESTS, headers={**asked, **own}, certificate="other")
        self.start(self.two, "forwarded")
        code, text = self.one.ask("GET", REQUESTS + "?fieldSelector=spec.name=forwarded", headers={**asked, **own}, certificate="client")
        self.assertEqual((code, json.loads(text)["items"]), (200, []), "who is asked by a replica asks nobody")

    def test_the_key_of_virt_handler_makes_no_replica(self):
        """Every virt-handler has it, and with it one node that was taken over would read everything."""
        self.start(self.one, "secret")
        handler = self.token("kubevirt-handler")
        for user in (ADMIN, BOSS):
            for proof in ({}, handler, {"Authorization": "Bearer none"}, {"Authorization": "Basic YTpi"}):
                code, text = self.one.ask("GET", REQUESTS, headers={**user, "X-Virtgate-Replica": "me", **proof}, certificate="client")
                self.assertEqual(code, 401, text)

    def test_a_peer_gives_nobody_the_groups_of_the_system(self):
        self.start(self.one, "grouped")
        own = {**self.token("kubevirt-apiserver"), "X-Virtgate-Replica": "me"}
        query = REQUESTS + "?fieldSelector=spec.name=grouped"

        def seen(user):
            code, text = self.one.ask("GET", query, headers={**user, **own}, certificate="client")
            self.assertEqual(code, 200, text)
            return len(json.loads(text)["items"])
        self.assertEqual(seen(BOSS), 1)
        self.assertEqual(seen({**ADMIN, "X-Remote-User": "eve"}), 0)
        self.assertIn("system:masters", self.listed_as_admin().answer_headers["Warning"], "who is one by that group is told")

    def listed_as_admin(self):
        self.names(self.one, ADMIN)
        return self.one


if __name__ == "__main__":
    unittest.main(verbosity=2)
