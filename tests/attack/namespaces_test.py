#!/usr/bin/env python3
"""What somebody does to their own namespace, so that the server's own objects there cannot be kept, costs the others
nothing: their namespaces are complete at once all the same.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import time
import unittest

from harness import Attack

# More than the server looks at together.
FULL = 70


class Namespaces(Attack):
    flags = ("--api-only=false",)

    def objects(self, ns):
        return [f"/api/v1/namespaces/{ns}/serviceaccounts/default", f"/api/v1/namespaces/{ns}/configmaps/kube-root-ca.crt"]

    def complete_after_s(self, ns):
        began = time.monotonic()
        while any(self.call("GET", path)[0] != 200 for path in self.objects(ns)):
            self.assertLess(time.monotonic() - began, 30, "the namespace stays without them")
            time.sleep(0.002)
        return time.monotonic() - began

    def test_full_quotas_keep_no_other_namespace_waiting(self):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": {"configmaps": "0"}}}
        for i in range(FULL):
            ns = f"a{i:02}"  # before all other names
            self.namespace(ns)
            self.complete_after_s(ns)
            self.must("POST", f"/api/v1/namespaces/{ns}/resourcequotas", quota)
            self.must("DELETE", self.objects(ns)[1])
        self.namespace("other")
        took = self.complete_after_s("other")
        self.assertLess(took, 0.5 * self.slowness().waiting())
        # And what was full is complete when there is room again.
        self.must("DELETE", "/api/v1/namespaces/a00/resourcequotas/full")
        self.complete_after_s("a00")


if __name__ == "__main__":
    unittest.main()
