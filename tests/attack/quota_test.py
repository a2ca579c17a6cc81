#!/usr/bin/env python3
"""Quotas are looked at by the one thread that writes for everybody: neither large quotas nor large pods may keep it busy.
Costs are compared as CPU time of the server, so that it does not matter what else the machine does.

VIRTGATE_BINARY names the program.
"""
import os
import statistics
import unittest

from harness import Attack

MERGE = {"Content-Type": "application/merge-patch+json"}
QUOTAS = "/api/v1/namespaces/with/resourcequotas"


class Quota(Attack):
    flags = ("--api-only=false",)

    def setUp(self):
        super().setUp()
        self.namespace("with")
        self.namespace("without")

    def quota(self, name, labels=0, hard=None):
        return self.call("POST", QUOTAS, {
            "apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard or {"configmaps": "1000"}},
            "metadata": {"name": name, "labels": {f"label-{i}": "" for i in range(labels)}}})

    def cpu_s(self):
        total, threads = 0, f"/proc/{self.one.process.pid}/task"
        for thread in os.listdir(threads):
            try:
                with open(f"{threads}/{thread}/schedstat") as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass  # it has ended
        return total / 1e9

    def cost_s(self, times, work):
        costs = []
        for i in range(times):
            before = self.cpu_s()
            work(i)
            costs.append(self.cpu_s() - before)
        return statistics.median(costs)

    def test_quotas_are_small(self):
        self.assertEqual(self.quota("small")[0], 201)
        code, answer = self.quota("large", labels=10000)
        self.assertEqual((code, answer["reason"]), (413, "RequestEntityTooLarge"), answer)
        codes = [self.quota(f"q{i}", labels=1500)[0] for i in range(10)]
        self.assertEqual(set(codes), {201, 413})
        # Those that are there can still be changed, and count.
        code, answer = self.call("PATCH", f"{QUOTAS}/q0", {"metadata": {"labels": {"label-0": None}}}, headers=MERGE)
        self.assertEqual(code, 200, answer)
        self.must("POST", "/api/v1/namespaces/with/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}})
        self.assertEqual(self.must("GET", f"{QUOTAS}/q0")["status"]["used"], {"configmaps": "2"})

    def test_updates_that_take_nothing_do_not_pay_for_quotas(self):
        for i in range(16):
            self.assertEqual(self.quota(f"q{i}", labels=450)[0], 201)
        cost = {}
        for ns in ("without", "with"):
            maps = f"/api/v1/namespaces/{ns}/configmaps"
            self.must("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}})
            cost[ns] = self.cost_s(30, lambda i: self.call("PATCH", f"{maps}/one", {"data": {"a": str(i)}}, headers=MERGE))
        self.assertLess(cost["with"], 1.5 * cost["without"] + 0.0005)

    def test_large_pods_are_looked_at_once_for_all_quotas(self):
        names = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
        for i in range(16):
            self.assertEqual(self.quota(f"q{i}", hard={"pods": "100", **{name: "1000Gi" for name in names}})[0], 201)
        containers = [{"name": f"c{i}", "image": "a", "resources": {"limits": {"cpu": "1m", "memory": "1"}}} for i in range(4000)]
        cost = {}
        for ns in ("without", "with"):
            cost[ns] = self.cost_s(5, lambda i: self.must("POST", f"/api/v1/namespaces/{ns}/pods", {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {"containers": containers}}))
        self.assertLess(cost["with"], 2 * cost["without"])


if __name__ == "__main__":
    unittest.main()
