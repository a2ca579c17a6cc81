#!/usr/bin/env python3
"""Many watches and lists of one user that all have to be told about one large object: whose text has to be made for each
of them (protobuf, tables, another form of the kind), or only to be sent. The others are served meanwhile.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import threading
import unittest

from harness import DEADLINE_S, LONG, SANITIZED, Attack, Bystander

EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
PODS = "/api/v1/namespaces/a/pods"
AUTOSCALERS = "/apis/autoscaling/{}/namespaces/a/horizontalpodautoscalers"
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WATCHES = 1000 if LONG else 30 if SANITIZED else 120


class Watches(Attack):
    def setUp(self):
        super().setUp()
        self.namespace("a")
        self.token = self.user("a", "mallory", EVERYTHING)

    def large_pod(self):
        containers = [{"name": f"c{i}", "image": "a"} for i in range(5000)]
        self.must("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"}, "spec": {"containers": containers}}, self.token)

    def large_autoscaler(self):
        metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}
        self.must("POST", AUTOSCALERS.format("v2"), {
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "large"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "metrics": [metric] * 8000}}, self.token)

    def watch(self, path, accept, version):
        watch = self.raw()
        watch.settimeout(4 * DEADLINE_S)  # the last of many to be told, on a machine that others use as well
        watch.sendall(f"GET {path}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
                      f"Accept: {accept}\r\n\r\n".encode())
        self.assertTrue(watch.recv(1000).startswith(b"HTTP/1.1 200"))
        self.addCleanup(watch.close)
        return watch

    def read_until(self, watch, text, seen=b""):
        while text not in seen:
            more = watch.recv(1 << 20)
            self.assertTrue(more, "the watch ended early")
            seen = seen[-100:] + more

    def undisturbed(self, bystander, limit_s):
        slow = self.slowness()
        self.assertEqual(bystander.failures, [])
        self.assertLess(max(bystander.took_s), limit_s * slow.waiting(), f"somebody waited, while the machine was {slow.waiting():.1f} times as slow")

    def told_of(self, path, stored, accept):
        """All watches hear of a change of what is stored; meanwhile others are served."""
        version = self.must("GET", stored, token=self.token)["metadata"]["resourceVersion"]
        watches = [self.watch(path, accept, version) for _ in range(WATCHES)]
        patience = threading.Event()
        with Bystander(self.one) as bystander:
            code, answer = self.call("PATCH", stored, {"metadata": {"labels": {"changed": "once-more"}}}, self.token, MERGE)
            self.assertEqual(code, 200, answer)
            self.read_until(watches[0], b"once-more")
            self.read_until(watches[-1], b"once-more")
            patience.wait(0.5)
        self.undisturbed(bystander, 0.1)
        for watch in watches:
            watch.close()

    def test_watches_in_protobuf(self):
        self.large_pod()
        self.told_of(PODS, PODS + "/large", PROTOBUF)

    def test_watches_of_another_form_of_the_kind(self):
        self.large_autoscaler()
        self.told_of(AUTOSCALERS.format("v1"), AUTOSCALERS.format("v2") + "/large", JSON)

    def test_watches_of_what_only_has_to_be_sent(self):
        self.large_pod()
        self.told_of(PODS, PODS + "/large", JSON)

    def test_somebody_elses_watch_does_not_wait_for_all_of_them(self):
        """Users take turns: the small news of one do not come after all of the large news of another."""
        self.namespace("b")
        other = self.user("b", "bob", EVERYTHING)
        self.large_autoscaler()
        path, stored = AUTOSCALERS.format("v1"), AUTOSCALERS.format("v2") + "/large"
        version = self.must("GET", stored, token=self.token)["metadata"]["resourceVersion"]
        watches = [self.watch(path, JSON, version) for _ in range(WATCHES)]
        maps = "/api/v1/namespaces/b/configmaps"
        mallory, self.token = self.token, other
        bobs = self.watch(maps, JSON, version)
        self.call("PATCH", stored, {"metadata": {"labels": {"changed": "once-more"}}}, mallory, MERGE)
        self.read_until(watches[0], b"once-more")
        self.must("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small-news"}}, other)
        self.read_until(bobs, b"small-news")
        for watch in watches[1:]:
            watch.setblocking(False)

        def has_news(watch):
            try:
                return bool(watch.recv(100))
            except OSError:
                return False
        self.assertFalse(all(has_news(watch) for watch in watches[1:]), "all of the large news came before the small ones")

    def test_lists(self):
        """Several at once, each of large objects."""
        self.large_pod()
        self.large_autoscaler()
        stop = threading.Event()

        def list_again_and_again(path, accept):
            connection = self.one.connect()
            while not stop.is_set():
                connection.request("GET", path, headers={"Authorization": "Bearer " + self.token, "Accept": accept})
                connection.getresponse().read()
            connection.close()

        asked = [(PODS, PROTOBUF), (PODS, TABLE), (AUTOSCALERS.format("v1"), JSON), (AUTOSCALERS.format("v1"), PROTOBUF)] * 3
        with Bystander(self.one) as bystander:
            threads = [threading.Thread(target=list_again_and_again, args=each) for each in asked]
            for thread in threads:
                thread.start()
            stop.wait(20 if LONG else 3)
            stop.set()
            for thread in threads:
                thread.join()
        slow = self.slowness()
        self.assertEqual(bystander.failures, [])
        self.assertLess(bystander.percentile_s(0.99), 0.05 * slow.waiting())


if __name__ == "__main__":
    unittest.main()
