#!/usr/bin/env python3
"""ResourceQuotas of `virtgate serve`: what they let pass and refuse, and that status.used is exact whoever writes at once.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import concurrent.futures
import json
import os
import tempfile
import time
import unittest

from support import serve as e2e

PATCH = "application/merge-patch+json"


class QuotaCase(unittest.TestCase):
    """Counts secrets: of config maps every namespace gets some from the server."""
    FLAGS = ("--api-only=false",)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="virtgate-quota-")
        cls.server = e2e.Server(os.path.join(cls.folder.name, "state"), *cls.FLAGS).start()
        cls.connection = cls.server.connect()
        cls.namespaces = 0

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        cls.server.clean_up()
        cls.folder.cleanup()

    def setUp(self):
        type(self).namespaces += 1
        self.ns = f"quota-{self.namespaces}"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.ns}}, code=201)

    def send(self, method, path, body=None, connection=None, content="application/json"):
        connection = connection or self.connection
        connection.request(method, path, body=None if body is None else json.dumps(body).encode(),
                           headers=self.server.as_admin(**{"Content-Type": content}))
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)

    def ask(self, method, path, body=None, code=200, **more):
        status, answer = self.send(method, path, body, **more)
        self.assertEqual(status, code, (method, path, answer))
        return answer

    def at(self, plural, name="", group="", version="v1", query=""):
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{root}/namespaces/{self.ns}/{plural}{'/' + name if name else ''}{query}"

    def quota(self, name="q", code=201, **spec):
        return self.ask("POST", self.at("resourcequotas"), {"metadata": {"name": name}, "spec": spec}, code=code)

    def status(self, name="q"):
        return self.ask("GET", self.at("resourcequotas", name)).get("status", {})

    def used(self, name="q"):
        return self.status(name).get("used", {})

    def secret(self, name, code=201, query="", **more):
        return self.ask("POST", self.at("secrets", query=query), {"metadata": {"name": name}}, code=code, **more)

    def pod(self, name, requests=None, limits=None, code=201, query="", **spec):
        resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
        return self.ask("POST", self.at("pods", query=query), {"metadata": {"name": name}, "spec": {
            "containers": [{"name": "c", "image": "i", "resources": resources}], **spec}}, code=code)

    def claim(self, name, storage, code=201, storage_class="gold"):
        return self.ask("POST", self.at("persistentvolumeclaims"), {"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
            "resources": {"requests": {"storage": storage}}}}, code=code)

    def remove(self, plural, name, **more):
        self.ask("DELETE", self.at(plural, name, query="?gracePeriodSeconds=0"), **more)

    def at_once(self, workers, work):
        def run(number):
            connection = self.server.connect()
            try:
                return work(number, connection)
            finally:
                connection.close()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(run, range(workers)))


class KeptUsage(QuotaCase):
    def test_exactly_as_many_as_the_quota_allows_when_eight_create_at_once(self):
        limit, workers, each = 40, 8, 10
        self.quota(hard={"secrets": str(limit), "count/secrets": "1000"})
        self.assertEqual(self.used(), {"secrets": "0", "count/secrets": "0"})

        def create(number, connection):
            return [self.send("POST", self.at("secrets"), {"metadata": {"name": f"c-{number}-{i}"}}, connection)
                    for i in range(each)]
        answers = [answer for some in self.at_once(workers, create) for answer in some]
        self.assertEqual(sorted({code for code, _ in answers}), [201, 403])
        self.assertEqual(sum(code == 201 for code, _ in answers), limit)
        self.assertEqual(self.used(), {"secrets": str(limit), "count/secrets": str(limit)})
        name = next(answer["details"]["name"] for code, answer in answers if code == 403)
        self.assertIn(f'secrets "{name}" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=40, '
                      "limited: secrets=40", [answer["message"] for code, answer in answers if code == 403])

        names = [item["metadata"]["name"] for item in self.ask("GET", self.at("secrets"))["items"]]
        self.assertEqual(len(names), limit)

        def remove(number, connection):
            return [self.send("DELETE", self.at("secrets", name), None, connection)[0] for name in names[number:30:workers]]
        self.assertEqual({code for some in self.at_once(workers, remove) for code in some}, {200})
        self.assertEqual(self.used()["secrets"], str(limit - 30))
        self.ask("DELETE", self.at("secrets"))
        self.assertEqual(self.used(), {"secrets": "0", "count/secrets": "0"})

    def test_creates_and_deletes_at_once_leave_the_exact_number(self):
        self.quota(hard={"count/secrets": "5", "secrets": "1000"})

        def churn(number, connection):
            for i in range(12):
                code, _ = self.send("POST", self.at("secrets"), {"metadata": {"name": f"s-{number}-{i}"}}, connection)
                if code == 201 and i % 3:
                    self.send("DELETE", self.at("secrets", f"s-{number}-{i}"), None, connection)
        self.at_once(8, churn)
        left = len(self.ask("GET", self.at("secrets"))["items"])
        self.assertLessEqual(left, 5)
        self.assertEqual(self.used(), {"count/secrets": str(left), "secrets": str(left)})

    def test_a_quota_that_comes_later_counts_what_is_there_while_others_write(self):
        for i in range(30):
            self.secret(f"before-{i}")

        def work(number, connection):
            if number == 0:
                return self.send("POST", self.at("resourcequotas"),
                                 {"metadata": {"name": "q"}, "spec": {"hard": {"secrets": "900"}}}, connection)[0]
            for i in range(20):
                self.send("POST", self.at("secrets"), {"metadata": {"name": f"c-{number}-{i}"}}, connection)
                if i % 2:
                    self.send("DELETE", self.at("secrets", f"c-{number}-{i}"), None, connection)
            return 201
        self.assertEqual(self.at_once(8, work), [201] * 8)
        self.assertEqual(self.status(), {"hard": {"secrets": "900"}, "used": {"secrets": str(30 + 7 * 10)}})

    def test_a_changed_quota_is_counted_again_and_its_status_is_the_servers(self):
        self.secret("one")
        self.quota(hard={"replicationcontrollers": "3"})
        self.assertEqual(self.status(), {"hard": {"replicationcontrollers": "3"}, "used": {"replicationcontrollers": "0"}})
        path = self.at("resourcequotas", "q")
        self.ask("PATCH", path, {"spec": {"hard": {"replicationcontrollers": "4", "secrets": "1"}}}, content=PATCH)
        self.assertEqual(self.status(), {"hard": {"secrets": "1", "replicationcontrollers": "4"}, "used": {"secrets": "1", "replicationcontrollers": "0"}})
        self.secret("two", code=403)
        written = self.ask("PATCH", path + "/status", {"status": {"used": {"secrets": "0"}, "hard": {"secrets": "9"}}}, content=PATCH)
        self.assertEqual((written["status"]["used"]["secrets"], written["status"]["hard"]["secrets"]), ("0", "9"))
        self.assertEqual(self.status(), {"hard": {"secrets": "1", "replicationcontrollers": "4"}, "used": {"secrets": "1", "replicationcontrollers": "0"}})
        self.secret("two", code=403)
        self.ask("PATCH", path, {"spec": {"hard": {"replicationcontrollers": None, "secrets": "2"}}}, content=PATCH)
        self.assertEqual(self.status(), {"hard": {"secrets": "2"}, "used": {"secrets": "1"}})
        self.secret("two")
        self.ask("DELETE", path)
        self.secret("three")

    def test_a_watch_that_is_cut_between_the_quotas_of_one_write_learns_of_the_others(self):
        names = {"q-1", "q-2", "q-3", "q-4"}
        for name in sorted(names):
            self.quota(name, hard={"secrets": "10"})
        version = self.ask("GET", self.at("resourcequotas"))["metadata"]["resourceVersion"]
        self.secret("s")  # one write, which all four count
        seen = []
        for _ in names:
            connection = self.server.connect()
            self.addCleanup(connection.close)
            connection.request("GET", self.at("resourcequotas", query=f"?watch=1&timeoutSeconds=10&resourceVersion={version}"), headers=self.server.as_admin())
            line = connection.getresponse().readline()
            connection.close()  # after one of them
            self.assertTrue(line, f"the watch from {version} saw nothing more than {seen}")
            found = json.loads(line)["object"]
            seen.append(found["metadata"]["name"])
            self.assertEqual(found["status"]["used"], {"secrets": "1"})
            version = found["metadata"]["resourceVersion"]
        self.assertEqual(sorted(seen), sorted(names))

    def test_a_dry_run_is_judged_and_not_counted(self):
        self.quota(hard={"secrets": "1"})
        self.secret("one", query="?dryRun=All")
        self.assertEqual(self.used(), {"secrets": "0"})
        self.secret("one")
        refused = self.secret("two", code=403, query="?dryRun=All")
        self.assertEqual(refused["message"], 'secrets "two" is forbidden: exceeded quota: q, requested: secrets=1, '
                                             "used: secrets=1, limited: secrets=1")
        self.assertEqual(refused["reason"], "Forbidden")
        self.ask("DELETE", self.at("secrets", "one", query="?dryRun=All"))
        self.assertEqual(self.used(), {"secrets": "1"})

    def test_virtual_machines_are_counted(self):
        self.quota(hard={"count/virtualmachines.kubevirt.io": "1", "count/foo.example.com": "0"})
        self.assertEqual(self.status(), {"hard": {"count/virtualmachines.kubevirt.io": "1", "count/foo.example.com": "0"},
                                         "used": {"count/virtualmachines.kubevirt.io": "0"}})
        vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"runStrategy": "Halted", "template": {
            "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}}
        path = self.at("virtualmachines", group="kubevirt.io")
        self.ask("POST", path, {**vm, "metadata": {"name": "a"}}, code=201)
        refused = self.ask("POST", path, {**vm, "metadata": {"name": "b"}}, code=403)
        self.assertTrue(refused["message"].startswith('virtualmachines.kubevirt.io "b" is forbidden: exceeded quota: q, '), refused)
        self.ask("DELETE", self.at("virtualmachines", "a", group="kubevirt.io"))
        deadline = time.monotonic() + e2e.DEADLINE_S
        while self.used() != {"count/virtualmachines.kubevirt.io": "0"} and time.monotonic() < deadline:
            time.sleep(0.05)  # a VM goes once its controller has let it go
        self.ask("POST", path, {**vm, "metadata": {"name": "b"}}, code=201)

    def test_compute_of_pods(self):
        self.quota(hard={"requests.cpu": "1", "limits.memory": "1Gi", "pods": "3"})
        refused = self.pod("lacks", requests={"cpu": "1"}, code=403)
        self.assertEqual(refused["message"], 'pods "lacks" is forbidden: failed quota: q: must specify limits.memory for: c')
        self.pod("a", requests={"cpu": "600m"}, limits={"memory": "512Mi"})
        self.assertEqual(self.used(), {"limits.memory": "512Mi", "pods": "1", "requests.cpu": "600m"})
        refused = self.pod("b", requests={"cpu": "500m"}, limits={"memory": "1Gi"}, code=403)
        self.assertEqual(refused["message"], 'pods "b" is forbidden: exceeded quota: q, requested: limits.memory=1Gi,requests.cpu=500m, '
                                             "used: limits.memory=512Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1")
        self.ask("PATCH", self.at("pods", "a/status"), {"status": {"phase": "Succeeded"}}, content=PATCH)
        self.assertEqual(self.used(), {"limits.memory": "0", "pods": "0", "requests.cpu": "0"})
        self.pod("b", requests={"cpu": "500m"}, limits={"memory": "1Gi"})
        self.remove("pods", "b")
        self.remove("pods", "a")
        self.assertEqual(self.used(), {"limits.memory": "0", "pods": "0", "requests.cpu": "0"})

    def test_scopes(self):
        self.quota("best", hard={"pods": "1"}, scopes=["BestEffort"])
        self.quota("late", hard={"pods": "1"}, scopes=["Terminating"])
        self.pod("a")
        self.pod("b", code=403)
        self.pod("c", requests={"cpu": "1"})
        self.pod("d", requests={"cpu": "1"}, activeDeadlineSeconds=60)
        self.assertEqual((self.used("best"), self.used("late")), ({"pods": "1"}, {"pods": "1"}))
        refused = self.pod("e", requests={"cpu": "1"}, activeDeadlineSeconds=60, code=403)
        self.assertIn("exceeded quota: late, requested: pods=1", refused["message"])

    def test_claims_may_grow_only_within_the_quota(self):
        self.quota(hard={"requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2"})
        self.claim("a", "4Gi")
        self.claim("b", "5Gi", storage_class="silver")
        self.claim("c", "2Gi", code=403)
        path = self.at("persistentvolumeclaims", "a")
        self.ask("PATCH", path + "/status", {"status": {"phase": "Bound", "capacity": {"storage": "4Gi"}}}, content=PATCH)
        grown = {"spec": {"resources": {"requests": {"storage": "7Gi"}}}}
        refused = self.ask("PATCH", path, grown, code=403, content=PATCH)
        self.assertEqual(refused["message"], 'persistentvolumeclaims "a" is forbidden: exceeded quota: q, requested: requests.storage=3Gi, '
                                             "used: requests.storage=9Gi, limited: requests.storage=10Gi")
        self.ask("PATCH", path + "?dryRun=All", grown, code=403, content=PATCH)
        used = {"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1", "requests.storage": "9Gi"}
        self.assertEqual(self.used(), used)
        self.ask("PATCH", path, {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}, content=PATCH)
        self.assertEqual(self.used(), {**used, "requests.storage": "10Gi"})

    def test_services(self):
        self.quota(hard={"services": "2", "services.nodeports": "1", "services.loadbalancers": "0"})

        def service(name, type, code, ports=1):
            self.ask("POST", self.at("services"), {"metadata": {"name": name}, "spec": {
                "type": type, "ports": [{"name": f"p{i}", "port": 80 + i} for i in range(ports)]}}, code=code)
        service("two", "NodePort", 403, ports=2)
        service("one", "NodePort", 201)
        service("balanced", "LoadBalancer", 403)
        service("plain", "ClusterIP", 201)
        service("third", "ClusterIP", 403)
        self.assertEqual(self.used(), {"services": "2", "services.loadbalancers": "0", "services.nodeports": "1"})

    def test_devices_are_counted_by_class(self):
        names = {"claims": "count/resourceclaims.resource.k8s.io", "gpus": "gpu.deviceclass.resource.k8s.io/devices"}
        self.quota(hard={names["claims"]: "3", names["gpus"]: "2"})

        def claim(name, code, **exactly):
            self.ask("POST", self.at("resourceclaims", group="resource.k8s.io"), {"metadata": {"name": name}, "spec": {"devices": {"requests": [
                {"name": "r", "exactly": {"deviceClassName": "gpu", **exactly}}]}}}, code=code)
        claim("all", 403, allocationMode="All")
        claim("two", 201, count=2)
        claim("one", 403)
        self.assertEqual(self.used(), {names["claims"]: "1", names["gpus"]: "2"})
        self.ask("DELETE", self.at("resourceclaims", "two", group="resource.k8s.io"))
        self.assertEqual(self.used(), {names["claims"]: "0", names["gpus"]: "0"})

    def test_what_is_too_much_to_count_is_refused(self):
        self.quota(code=422, hard={f"count/r{i}.example.com": "1" for i in range(129)})
        for i in range(16):
            self.quota(f"q{i}", hard={"pods": "1"})
        self.quota("one-more", code=403, hard={"pods": "1"})

    def test_a_restart_counts_again(self):
        self.quota(hard={"secrets": "2"})
        self.secret("one")
        self.connection.close()
        self.server.stop()
        self.server.ended()
        self.server.start()
        type(self).connection = self.server.connect()
        self.assertEqual(self.used(), {"secrets": "1"})
        self.secret("two")
        self.secret("three", code=403)


class ReportedUsage(QuotaCase):
    """Without controllers somebody else counts, and the server takes from what they report."""
    FLAGS = ()  # the stand-in for a user starts it with --api-only

    def test_usage_is_taken_from_what_was_reported(self):
        self.quota(hard={"secrets": "2"})
        self.secret("free")  # nothing was reported yet
        path = self.at("resourcequotas", "q/status")
        self.ask("PATCH", path, {"status": {"hard": {"secrets": "2"}}}, content=PATCH)
        unknown = self.secret("unknown", code=403)
        self.assertEqual(unknown["message"], 'secrets "unknown" is forbidden: status unknown for quota: q, resources: secrets')
        self.ask("PATCH", path, {"status": {"used": {"secrets": "1"}}}, content=PATCH)
        self.secret("taken")
        self.secret("more", code=403)
        self.assertEqual(self.used(), {"secrets": "2"})
        self.remove("secrets", "taken")
        self.assertEqual(self.used(), {"secrets": "2"})
        self.ask("PATCH", path, {"status": {"used": {"secrets": "1"}}}, content=PATCH)
        self.secret("more")


if __name__ == "__main__":
    unittest.main()
