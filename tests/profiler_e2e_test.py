#!/usr/bin/env python3
"""Profiles of KubeVirt's components, asked for of `virtgate serve` and of `virtgate cluster` alike: both find the same pods.

The components are stand-ins at addresses of the loopback device, on the port that real ones have, and one more process of
`virtgate cluster`. Profiles tell addresses; their names are looked for in the program's file, as pprof does. Where Go is
installed its pprof opens them, too.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import base64
import glob
import http.client
import http.server
import json
import os
import random
import ssl
import subprocess
import threading
import unittest

from support import cluster
from support import pprof
from support import serve as e2e

BASE = "/apis/subresources.kubevirt.io/v1"
PODS = "/api/v1/namespaces/kubevirt/pods"
PORT = 8443
NAMES = {"allocs.pprof", "block.pprof", "cpu.pprof", "goroutine.pprof", "heap.pprof", "mutex.pprof", "threadcreate.pprof"}
PPROF = sorted(glob.glob("/usr/lib/go*/pkg/tool/*/pprof") + glob.glob("/usr/local/go/pkg/tool/*/pprof"))


def loopback_address():
    return "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))


def in_both_modes(test):
    def run(self):
        for mode in ("serve", "cluster"):
            with self.subTest(mode):
                try:
                    test(self, mode)
                finally:
                    self.doCleanups()
    return run


def large_review():
    """Of a machine with so many disks that a rule or two must be broken."""
    body = e2e.review("kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance")
    names = [f"disk-{number}" for number in range(300)]
    body["request"]["object"]["spec"] = {"domain": {"devices": {"disks": [{"name": name, "disk": {"bus": "virtio"}} for name in names]}},
                                         "volumes": [{"name": name, "emptyDisk": {"capacity": "1Gi"}} for name in names]}
    return json.dumps(body)


def keep_busy(connection, headers=None):
    """Some hundred milliseconds of work."""
    review = large_review()
    for _ in range(50 if e2e.SANITIZED else 400):
        connection.request("POST", "/virtualmachineinstances-validate-create", review, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read(), answer.status
    connection.close()


class Component:
    """Answers what `answers` has for a path, else 200 without a word, and notes what it is asked."""

    def __init__(self, folder, address):
        self.address, self.calls, self.answers = address, [], {}
        outer = self

        class Requests(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.calls.append(self.path)
                code, data = outer.answers.get(self.path, (200, b""))
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        # Nobody knows the authority of this certificate, and it is for another name.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/foreign.crt", f"{folder}/foreign.key")
        self.server = http.server.ThreadingHTTPServer((address, PORT), Requests)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class RealComponent(cluster.Gateway):
    """`virtgate cluster` as one of the pods."""

    def __init__(self, folder, address):
        super().__init__(folder, "--allow-cache-seconds", "0")
        self.address = address

    def launch(self):
        self.log = cluster.tempfile.TemporaryFile()
        self.process = subprocess.Popen([e2e.BINARY, "cluster", "--kubeconfig", f"{self.folder}/kubeconfig", "--listen", self.address, "--port", str(PORT),
                                         "--tls-cert-file", f"{self.folder}/serving.crt", "--tls-key-file", f"{self.folder}/serving.key", *self.flags],
                                        stdout=subprocess.DEVNULL, stderr=self.log)

    def connect(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self.address, PORT, context=context, timeout=e2e.DEADLINE_S)

    def ask(self, method, path, *_, **__):
        connection = self.connect()
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


class Profiler(cluster.Cluster):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cluster.make_certificate(cls.folder, "foreign-ca", "foreign", "somebody", "serverAuth")

    def tearDown(self):
        self.switch(False)

    def connect(self, mode):
        if mode == "serve":
            return self.api.connect()
        return http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=self.gateway.context(), timeout=e2e.DEADLINE_S)

    def ask(self, mode, path, body=None):
        """(code, text), of one of the two servers."""
        if mode == "serve":
            code, _, text = self.api.ask("GET", path, body, self.api.as_admin())
            return code, text
        connection = self.connect(mode)
        try:
            connection.request("GET", path, body=body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def switch(self, on, *others):
        changed = self.change(cluster.KUBEVIRT, lambda found: found["spec"].update(configuration={"developerConfiguration": {"clusterProfiler": on}}))
        wanted = int(changed["metadata"]["resourceVersion"])
        for gateway in (self.gateway, *others):
            cluster.until("the gateway uses the configuration",
                          lambda: int(json.loads(gateway.ask("GET", "/healthz")[1])["config-resource-version"]) >= wanted)

    def pod(self, name, address, phase="Running", ready="True", labels=None):
        made = self.made(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {"kubevirt.io": name.rsplit("-", 1)[0]}},
                                "spec": {"containers": [{"name": "c", "image": "i"}]}})
        self.addCleanup(self.kube, "DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        made["status"] = {"phase": phase, "podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": ready}]}
        code, answer = self.kube("PUT", f"{PODS}/{name}/status", made)
        self.assertEqual(code, 200, answer)

    def component(self, name, **more):
        for _ in range(10):
            try:
                component = Component(self.folder, loopback_address())
                break
            except OSError as error:
                problem = error
        else:
            self.skipTest(f"port {PORT} cannot be had on the loopback device: {problem}")
        self.addCleanup(component.stop)
        self.pod(name, component.address, **more)
        return component

    @in_both_modes
    def test_the_switch(self, mode):
        component = self.component("virt-api-a")
        for path in ("/start-profiler", "/stop-profiler", "/dump-profiler", *(f"{BASE}/{word}-cluster-profiler" for word in ("start", "stop", "dump"))):
            code, text = self.ask(mode, path)
            self.assertEqual(code, 403, path)
            self.assertIn("clusterProfiler", text)
        self.assertEqual(component.calls, [])
        self.assertEqual(self.api.ask("GET", "/start-profiler", None, {})[0], 401, "one machine's own profiles are for its administrators")

    @in_both_modes
    def test_nobody_to_ask(self, mode):
        self.switch(True)
        self.pod("virt-launcher-a", "127.0.0.1")
        self.pod("virt-api-a", "127.0.0.1", phase="Pending")
        self.pod("virt-api-b", "127.0.0.1", ready="False")
        for word in ("start", "stop"):
            self.assertEqual(self.ask(mode, f"{BASE}/{word}-cluster-profiler")[0], 500)
        self.assertEqual(self.ask(mode, f"{BASE}/dump-cluster-profiler", "{}"), (204, ""))
        for body in ("", "x", "[]", '{"labelSelector":"a in"}', '{"pageSize":"1"}', '{"continue":"nonsense"}'):
            self.assertEqual(self.ask(mode, f"{BASE}/dump-cluster-profiler", body)[0], 400, body)

    @in_both_modes
    def test_orders_go_to_all_components(self, mode):
        self.switch(True)
        components = [self.component(name) for name in ("virt-api-a", "virt-controller-a", "virt-handler-a", "virt-operator-a")]
        launcher, unlabelled = self.component("virt-launcher-a"), self.component("virt-handler-b", labels={"other": "label"})
        for word in ("start", "stop"):
            self.assertEqual(self.ask(mode, f"{BASE}/{word}-cluster-profiler"), (200, ""))
            self.assertEqual([component.calls.pop() for component in components], [f"/{word}-profiler"] * 4)
        self.assertEqual((launcher.calls, unlabelled.calls), ([], []))

    @in_both_modes
    def test_who_refuses_and_who_is_away_are_named(self, mode):
        self.switch(True)
        good, bad = self.component("virt-api-a"), self.component("virt-handler-bad")
        bad.answers["/stop-profiler"] = (500, b"out of order")
        bad.answers["/dump-profiler"] = (200, b"no JSON")
        self.pod("virt-handler-gone", loopback_address())  # nobody listens there
        code, text = self.ask(mode, f"{BASE}/stop-cluster-profiler")
        self.assertEqual(code, 500)
        self.assertIn("2 of 3", text)
        self.assertIn("virt-handler-bad: code 500, out of order", text)
        self.assertIn("virt-handler-gone: ", text)
        self.assertEqual(good.calls.pop(), "/stop-profiler", "the others are asked all the same")
        self.assertEqual(self.ask(mode, f"{BASE}/dump-cluster-profiler", "{}")[0], 500)

    @in_both_modes
    def test_dumps_come_in_pages(self, mode):
        self.switch(True)
        names = [f"virt-handler-{letter}" for letter in "abcde"]
        for name in names:
            profiles = {"pprofData": {"heap.pprof": base64.b64encode(name.encode()).decode()}}
            self.component(name).answers["/dump-profiler"] = (200, json.dumps(profiles).encode())
        self.pod("virt-handler-c1", "127.0.0.1", phase="Failed")
        self.pod("another", "127.0.0.1")
        found, sizes, token = {}, [], ""
        while True:
            request = {"labelSelector": "kubevirt.io=virt-handler", "pageSize": 2, "continue": token}
            code, text = self.ask(mode, f"{BASE}/dump-cluster-profiler", json.dumps(request))
            self.assertEqual(code, 200, text)
            answer = json.loads(text)
            sizes.append(len(answer["componentResults"]))
            found.update(answer["componentResults"])
            token = answer.get("continue", "")
            if not token:
                break
        self.assertEqual(sum(sizes), 5)
        self.assertLessEqual(max(sizes), 2)
        self.assertEqual({name: base64.b64decode(result["pprofData"]["heap.pprof"]).decode() for name, result in found.items()}, {n: n for n in names})
        # One page of all pods: the default size, and no other one.
        answer = json.loads(self.ask(mode, f"{BASE}/dump-cluster-profiler", "{}")[1])
        self.assertEqual((set(answer["componentResults"]), answer.get("continue")), (set(names), None))

    @in_both_modes
    def test_a_real_component(self, mode):
        component = RealComponent(self.folder, loopback_address())
        component.launch()
        self.addCleanup(component.stop)
        cluster.until("the component serves", component.serves)
        self.switch(True, component)
        self.pod("virt-api-real", component.address)
        self.assertEqual(self.ask(mode, f"{BASE}/start-cluster-profiler"), (200, ""))
        keep_busy(component.connect())
        profiles = self.dump(mode)
        self.assertEqual(set(profiles), NAMES - {"cpu.pprof"}, "a profile that runs is not told")
        self.assertEqual(self.ask(mode, f"{BASE}/stop-cluster-profiler"), (200, ""))
        profiles = self.dump(mode)
        self.assertEqual(set(profiles), NAMES)
        self.look_at(profiles)
        self.assertIsNone(component.process.poll())

    @in_both_modes
    def test_our_own_profiles(self, mode):
        self.switch(True)
        self.assertEqual(self.ask(mode, "/start-profiler"), (200, ""))
        keep_busy(self.connect(mode), self.api.as_admin() if mode == "serve" else {})
        self.assertEqual(self.ask(mode, "/stop-profiler"), (200, ""))
        code, text = self.ask(mode, "/dump-profiler")
        self.assertEqual(code, 200)
        profiles = {name: base64.b64decode(data) for name, data in json.loads(text)["pprofData"].items()}
        self.assertEqual(set(profiles), NAMES)
        self.look_at(profiles)

    def dump(self, mode):
        code, text = self.ask(mode, f"{BASE}/dump-cluster-profiler", "{}")
        self.assertEqual(code, 200, text)
        return {name: base64.b64decode(data) for name, data in json.loads(text)["componentResults"]["virt-api-real"]["pprofData"].items()}

    def look_at(self, profiles):
        program = os.path.realpath(e2e.BINARY)
        read = {name: pprof.Profile(data) for name, data in profiles.items()}
        self.assertEqual(read["cpu.pprof"].types, [("samples", "count"), ("cpu", "nanoseconds")])
        self.assertEqual({mapping.build_id for mapping in read["cpu.pprof"].mappings.values() if mapping.file == program}, {pprof.build_id(program)})
        self.assertEqual({name for _, _, name in read["cpu.pprof"].places.values()}, {""}, "names are pprof's to find")
        for name in ("allocs.pprof", "block.pprof", "mutex.pprof"):
            self.assertEqual((read[name].samples, len(read[name].comments)), ([], 1), name)
        if e2e.SANITIZED:  # a sanitizer brings a heap of its own, and keeps signals back
            return
        self.assertIn("malloc: arenas", {name for _, _, name in read["heap.pprof"].places.values()})
        self.assertIn("vg::", "".join(pprof.names(read["cpu.pprof"], program)), "the program's file knows its functions by name")
        if PPROF:
            self.open_with_pprof(profiles, program)

    def open_with_pprof(self, profiles, program):
        for name, data in profiles.items():
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(data)
            told = subprocess.run([PPROF[-1], "-top", program, path], capture_output=True, text=True, timeout=e2e.DEADLINE_S,
                                  env={**os.environ, "PPROF_TMPDIR": self.folder, "HOME": self.folder})
            self.assertEqual(told.returncode, 0, (name, told.stderr))


if __name__ == "__main__":
    unittest.main()
