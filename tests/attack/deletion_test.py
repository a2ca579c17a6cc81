#!/usr/bin/env python3
"""Deletions that somebody wants never to end, or to cost the others their time.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import json
import sys
import threading
import time
import unittest

from harness import DEADLINE_S, LONG, SANITIZED, Attack, Bystander, Server

MAPS = "/api/v1/namespaces/default/configmaps"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
LEVELS_MAX = 128  # of what a client may send


class Deletions(Attack):
    def server(self, *flags, **more):
        server = Server(more.pop("state", self.state), *flags, role=("--node", "none"), **more)
        self.addCleanup(server.clean_up)
        return server

    def create(self, name, *owners, **metadata):
        references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                       "blockOwnerDeletion": True} for owner in owners]
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": references, **metadata}}

    def gone(self, *names, seconds=DEADLINE_S):
        end = time.monotonic() + seconds
        for name in names:
            while self.call("GET", f"{MAPS}/{name}")[0] != 404:
                self.assertLess(time.monotonic(), end, f"{name} does not go")
                time.sleep(0.01)

    def circle(self, *names):
        made = [self.must("POST", MAPS, self.create(name)) for name in names]
        for i, one in enumerate(made):
            one["metadata"]["ownerReferences"] = self.create("", made[(i + 1) % len(made)])["metadata"]["ownerReferences"]
            self.must("PUT", f"{MAPS}/{one['metadata']['name']}", one)

    def longest_stall_ms(self):
        """For how long an event loop did not come round, as the server says itself."""
        lines = [json.loads(line) for line in self.one.errors().splitlines() if "stalledMs" in line]
        return max([line["stalledMs"] for line in lines], default=0)

    @unittest.skipIf(SANITIZED, "everything takes long there")
    def test_large_dependents_cost_the_others_nothing(self):
        """They pack to almost nothing, so a user can have thousands; each takes milliseconds to read and write."""
        count = 2000 if LONG else 300
        owner = self.must("POST", MAPS, self.create("owner"))
        connection = self.one.connect()
        for i in range(count):
            connection.request("POST", MAPS, body=json.dumps({**self.create(f"d{i}", owner), "data": {"a": "x" * 900_000}}),
                               headers=self.one.as_admin(**{"Content-Type": "application/json"}))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 201)
        connection.close()
        with Bystander(self.one) as bystander:
            self.must("DELETE", f"{MAPS}/owner?propagationPolicy=Foreground")
            self.gone("owner", *(f"d{i}" for i in range(count)), seconds=3 * DEADLINE_S * self.slowness().waiting())
        self.assertEqual(bystander.failures, [])
        self.assertLess(self.longest_stall_ms(), 600, "an event loop went through all of them in one turn")

    def test_a_namespace_full_of_what_stays_goes_with_the_last_of_it(self):
        self.namespace("full")
        maps, count = "/api/v1/namespaces/full/configmaps", 3000 if LONG else 200
        connection = self.one.connect()
        headers = self.one.as_admin(**{"Content-Type": "application/json"})

        def ask(method, path, body, kind="application/json"):
            connection.request(method, path, body=json.dumps(body), headers={**headers, "Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read()
            self.assertLess(answer.status, 300, text)
        for i in range(count):
            ask("POST", maps, self.create(f"m{i:05}", finalizers=["x.y/z"]))
        self.must("DELETE", "/api/v1/namespaces/full")
        for i in reversed(range(count)):
            ask("PATCH", f"{maps}/m{i:05}", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        connection.close()
        end = time.monotonic() + DEADLINE_S
        while self.call("GET", "/api/v1/namespaces/full")[0] != 404:
            self.assertLess(time.monotonic(), end, "the namespace does not go")
            time.sleep(0.01)

    def test_owners_of_each_other_go(self):
        for names in (["alone"], ["one", "two"], [f"c{i}" for i in range(200 if LONG else 20)]):
            self.circle(*names)
            self.must("DELETE", f"{MAPS}/{names[0]}?propagationPolicy=Foreground")
            self.gone(*names)

    def test_owners_of_each_other_go_when_both_are_deleted(self):
        self.circle("one", "two")
        for name in ("one", "two"):
            self.call("DELETE", f"{MAPS}/{name}?propagationPolicy=Foreground")
        self.gone("one", "two")

    def test_many_dependents_cost_others_little(self):
        count = 20000 if LONG else 2000
        owner = self.must("POST", MAPS, self.create("owner"))

        def some(first):
            connection = self.one.connect()
            for i in range(first, count, 4):
                connection.request("POST", MAPS, body=json.dumps(self.create(f"d{i}", owner)), headers=self.one.as_admin(**{"Content-Type": "application/json"}))
                connection.getresponse().read()
            connection.close()
        threads = [threading.Thread(target=some, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        began = time.monotonic()
        with Bystander(self.one) as others:
            self.must("DELETE", f"{MAPS}/owner?propagationPolicy=Foreground")
            self.gone("owner", seconds=120)
        print(f"{count} dependents went in {time.monotonic() - began:.2f} s; others waited {1000 * others.percentile_s(0.99):.1f} ms (99 %), "
              f"{1000 * others.percentile_s(1):.1f} ms at most", file=sys.stderr)
        self.assertEqual(others.failures, [])
        self.assertLess(others.percentile_s(0.99), 1)
        self.assertEqual([item["metadata"]["name"] for item in self.must("GET", f"{MAPS}?limit=10")["items"]], ["kube-root-ca.crt"])

    def test_what_nests_as_deep_as_it_may_can_be_read_again(self):
        """Managed fields name every level of an object, some levels below its metadata: they nest deeper than it does."""
        owner = self.must("POST", MAPS, self.create("owner"))
        data = {"z": 1}
        for _ in range(LEVELS_MAX - 2):
            data = {"a": data}
        wanted = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": data,
                  "metadata": {"name": "deep", "ownerReferences": self.create("", owner)["metadata"]["ownerReferences"]}}
        deep = REVISIONS + "/deep"
        code, made = self.call("PATCH", deep + "?fieldManager=x", wanted, headers={"Content-Type": "application/apply-patch+yaml"})
        self.assertEqual(code, 201, made)
        self.one.stop()
        self.one = self.server().start()
        code, made = self.call("PATCH", deep, {"revision": 2}, headers={"Content-Type": "application/merge-patch+json"})
        self.assertEqual(code, 200, made)
        # The answer is no text.
        connection = self.one.connect()
        connection.request("GET", REVISIONS, headers=self.one.as_admin(Accept="application/vnd.kubernetes.protobuf"))
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.must("DELETE", f"{MAPS}/owner?propagationPolicy=Foreground")
        self.gone("owner")
        self.assertEqual(self.call("GET", deep)[0], 404)
        self.alive()


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
