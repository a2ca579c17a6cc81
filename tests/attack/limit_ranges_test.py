#!/usr/bin/env python3
"""LimitRanges give every container what they name: a small pod must not become large, nor keep an event loop busy.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import unittest

from harness import Attack, Bystander

RANGES, PODS = "/api/v1/namespaces/a/limitranges", "/api/v1/namespaces/a/pods"


class LimitRanges(Attack):
    def setUp(self):
        super().setUp()
        self.namespace("a")

    def range(self, name, resources):
        names = [f"example.com/r{i}" for i in range(resources)]
        self.must("POST", RANGES, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": [
            {"type": "Container", "max": {name: "9" for name in names}, "min": {name: "1" for name in names}}]}})

    def pod(self, containers):
        return self.call("POST", PODS + "?dryRun=All", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": f"c{i}", "image": "a"} for i in range(containers)]}})

    def test_many_resources_for_many_containers(self):
        self.range("wide", 300)
        self.assertEqual(self.pod(2)[0], 201)
        with Bystander(self.one) as bystander:
            for containers in (500, 1000, 2000):
                code, answer = self.pod(containers)
                self.assertEqual((code, answer["reason"]), (403, "Forbidden"), answer)
                self.assertIn("LimitRanges", answer["message"])
        self.assertLess(max(bystander.took_s), 0.1 * self.slowness().waiting())

    def test_many_ranges(self):
        for i in range(20):
            self.range(f"range-{i}", 300)
        code, answer = self.pod(1)
        self.assertEqual(code, 403, answer)
        self.assertIn("LimitRanges", answer["message"])
        self.must("DELETE", RANGES)
        self.assertEqual(self.pod(1)[0], 201)


if __name__ == "__main__":
    unittest.main()
