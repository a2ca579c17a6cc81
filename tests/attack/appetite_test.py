#!/usr/bin/env python3
"""Small requests that make the server go over much: what a user stored before decides what they cost, so the others must
not have to wait for that, and no memory may be held for it.

VIRTGATE_BINARY names the program.
"""
# RUN_SERIAL: it measures how long others wait.
import concurrent.futures
import json
import re
import sys
import time
import unittest

from harness import DEADLINE_S, LONG, SANITIZED, Attack, review

EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
MAPS = "/api/v1/namespaces/a/configmaps"
MACHINES = "/apis/kubevirt.io/v1/namespaces/a"
LARGE = "x" * 900_000  # packs to almost nothing


class Appetite(Attack):
    def setUp(self):
        super().setUp()
        self.namespace("a")
        self.token = self.user("a", "mallory", EVERYTHING)

    def peak_mib(self):
        with open(f"/proc/{self.one.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024

    def stalls(self):
        """How often an event loop did not answer for a quarter of a second."""
        text = self.one.ask("GET", "/metrics", headers=self.one.as_admin())[2]
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("virtgate_loop_stalls_total"))

    def map(self, name, **more):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}

    def test_slow_watches_hold_little_of_what_they_missed(self):
        first = self.must("POST", MAPS, self.map("first"), self.token)
        for i in range(60):
            self.must("POST", MAPS, self.map(f"m{i}", data={"a": LARGE}), self.token)
        before = self.peak_mib()
        watches = []
        for _ in range(20):
            watch = self.raw()
            watch.sendall(f"GET {MAPS}?watch=1&resourceVersion={first['metadata']['resourceVersion']} HTTP/1.1\r\nHost: x\r\n"
                          f"Authorization: Bearer {self.token}\r\n\r\n".encode())
            watches.append(watch)
        for watch in watches:
            self.assertTrue(watch.recv(1000).startswith(b"HTTP/1.1 200"))  # and not a byte more
        time.sleep(1)
        self.assertLess(self.peak_mib() - before, 200, "60 objects for each of 20 watches are a gigabyte")
        # Those who read get everything.
        text = b""
        while b'"name":"m59"' not in text:
            more = watches[0].recv(1 << 20)
            self.assertTrue(more, "the watch ended early")
            text = text[-100:] + more
        for watch in watches:
            watch.close()
        self.alive()

    @unittest.skipIf(SANITIZED, "everything takes long there")
    def test_large_look_ups_of_a_small_object_do_not_stop_the_others(self):
        """A new VMI is compared with all presets of its namespace."""
        preset = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstancePreset", "spec": {"domain": {"devices": {}}, "selector": {"matchLabels": {"x": "y"}}}}
        for i in range(40):
            preset["metadata"] = {"name": f"p{i}", "annotations": {f"k{j}": "v" for j in range(16000)}}
            self.must("POST", MACHINES + "/virtualmachineinstancepresets", preset, self.token)
        machine = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "v"},
                   "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}
        stalls = self.stalls()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.call("POST", MACHINES + "/virtualmachineinstances?dryRun=All", machine, self.token),
                                    range(200 if LONG else 48)))
        self.assertLessEqual({code for code, _ in answers}, {201, 429})
        self.assertIn(201, {code for code, _ in answers})
        self.assertLess(self.stalls() - stalls, 4, "every eight of them stopped the server for a second")
        # What it is judged by is the same as ever.
        preset["metadata"] = {"name": "taken"}
        preset["spec"]["domain"]["cpu"] = {"cores": 3}
        self.must("POST", MACHINES + "/virtualmachineinstancepresets", preset, self.token)
        machine["metadata"]["labels"] = {"x": "y"}
        self.assertEqual(self.must("POST", MACHINES + "/virtualmachineinstances?dryRun=All", machine, self.token)["spec"]["domain"]["cpu"]["cores"], 3)

    def test_refused_reviews_do_not_fill_the_log(self):
        body = review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine")
        body["request"]["object"]["metadata"]["name"] = "n" * 5000
        connection, count = self.one.connect(), 1000
        for _ in range(count):
            connection.request("POST", "/virtualmachines-validate", body=json.dumps(body), headers=self.one.as_admin(**{"Content-Type": "application/json"}))
            answer = connection.getresponse()
            self.assertIn(b'"allowed":false', answer.read())
        connection.close()
        lines = [line for line in self.one.errors().splitlines() if "a review was denied" in line or "a review could not be validated" in line]
        self.assertGreaterEqual(len(lines), 100)
        self.assertLess(len(lines), 500, "a line for each of them")
        deadline = time.monotonic() + DEADLINE_S  # those that were left out are told with the next one
        while "were left out" not in self.one.errors():
            self.assertLess(time.monotonic(), deadline)
            self.call("POST", "/virtualmachines-validate", body)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
