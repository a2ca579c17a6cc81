#!/usr/bin/env python3
"""`virtgate cluster` while things around it fail and are replaced: the API server, what it says, certificates, tokens, the clock.

What must hold all the time: readiness tells the truth, nothing is allowed that nobody allowed, everything works again within seconds of the
end of a fault without a restart, and nothing grows.

VIRTGATE_BINARY names the program. With VIRTGATE_LONG=1 the API server is away for 60 s instead of a few. Every wait is for an event, with a
deadline. The jumps of the clock need Debian's package faketime.
"""
import base64
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import ssl
import tempfile
import threading
import time
import unittest

from support import actions
from support import cluster
import fault_proxy
from support import serve as e2e
from support.cluster import ADMIN, KUBEVIRT, MAPS, OF_VM, PROXY_MAP, TEMPLATE, until

LONG = os.environ.get("VIRTGATE_LONG", "") != ""
OUTAGE_S = 60 if LONG else 0  # beyond what it takes until readiness says so
RECOVERY_S = 5 * (4 if e2e.SANITIZED else 1)
UNREADY_S = 12
FAKETIME = f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketime.so.1"
REVIEWS = "/subjectaccessreviews"
VMIS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
UNKNOWN_MACHINE = OF_VM + "missing/start"  # 404 from whoever knows that it is allowed

MACHINE = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "missing"}


class Faulty(cluster.Cluster):
    """A gateway whose way to the API server goes through a FaultProxy. Tests begin and end with everything in order, so one is enough for all."""

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def begin(cls):
        super().setUpClass()
        code, made = cls.kube("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "steady"},
                                             "spec": TEMPLATE["spec"]})
        assert code == 201, made

    @classmethod
    def write_kubeconfig(cls):
        super().write_kubeconfig()
        cluster.make_authority(cls.folder, "api-ca")
        cluster.make_certificate(cls.folder, "api-ca", "api", "kube-apiserver", "serverAuth")
        cls.api_server = fault_proxy.FaultProxy(cls.api.port, cls.api.context(), cls.folder, "api")
        cls.addClassCleanup(cls.api_server.down)
        path = os.path.join(cls.folder, "kubeconfig")
        config = json.loads(e2e.read(path))
        config["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{cls.api_server.port}", "certificate-authority": "api-ca.crt"}
        with open(path, "w") as file:
            json.dump(config, file)

    def setUp(self):
        self.recovers("before the test")

    def tearDown(self):
        self.api_server.heal()
        self.recovers("after the test")

    # What is asked of the gateway.

    def status(self, path, gateway=None):
        return (gateway or self.gateway).ask("GET", path)[0]

    def action(self, gateway=None):
        """The answer to an action that the administrator may take."""
        return (gateway or self.gateway).as_proxy("PUT", UNKNOWN_MACHINE, ADMIN)[0]

    def review_allowed(self, path, spec, gateway=None):
        group, version, resource, sub_resource, kind = next(row[1:] for row in e2e.WEBHOOKS if row[0] == path)
        body = e2e.review(group, version, resource, sub_resource, kind)
        body["request"]["object"]["spec"] = spec
        code, text = (gateway or self.gateway).ask("POST", path, body)
        return code == 200 and json.loads(text)["response"]["allowed"]

    def migration_allowed(self, gateway=None):
        """Of a review that cannot be judged without asking the API server."""
        return self.review_allowed("/migration-validate-create", {"vmiName": "steady"}, gateway)

    def restore_allowed(self):
        """Of another one, which looks at a copy of all restores, too."""
        return self.review_allowed("/virtualmachinerestores-validate", {"target": MACHINE, "virtualMachineSnapshotName": "missing"})

    def pure_review_allowed(self):
        """Of a review that needs nobody."""
        return self.review_allowed("/virtualmachineinstances-validate-create", {"architecture": "amd64", **TEMPLATE["spec"]})

    def metric(self, name, gateway=None):
        text = (gateway or self.gateway).ask("GET", "/metrics")[1]
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.gateway.process.pid}/fd"))

    # What must hold.

    def works(self, gateway=None):
        return self.status("/readyz", gateway) == 200 and self.status("/healthz", gateway) == 200 and self.action(gateway) == 404

    def recovers(self, what, gateway=None):
        until("everything works " + what, lambda: self.works(gateway), seconds=RECOVERY_S)
        self.assertTrue(self.migration_allowed())
        self.assertIsNone(self.gateway.process.poll(), "it is still the same process")

    def allows_nothing(self):
        self.assertEqual(self.action(), 500, "what is not known is not allowed")
        self.assertFalse(self.migration_allowed())
        self.assertTrue(self.pure_review_allowed(), "what needs nobody is judged as ever")

    def change_configuration(self, verbosity):
        """The resource version of a KubeVirt object that was changed behind the gateway's back."""
        changed = self.change(KUBEVIRT, lambda found: found["spec"].update(configuration={"developerConfiguration": {"logVerbosity": {"virtAPI": verbosity}}}))
        return int(changed["metadata"]["resourceVersion"])

    def sees(self, version):
        until("the gateway uses the new configuration",
              lambda: int(json.loads(self.gateway.ask("GET", "/healthz")[1])["config-resource-version"]) >= version, seconds=RECOVERY_S)

    def faulty(self, part, fault):
        """That fault for requests whose path has that part, from here on."""
        self.api_server.fault = lambda method, path, headers: fault if part in path else None


def setUpModule():
    Faulty.begin()
    unittest.addModuleCleanup(Faulty.doClassCleanups)


class Outages(Faulty):
    def test_an_api_server_that_is_gone(self):
        self.assertTrue(self.restore_allowed())
        self.api_server.down()
        began = time.monotonic()
        self.allows_nothing()
        self.assertFalse(self.restore_allowed())
        until("health tells the truth at once", lambda: self.status("/healthz") == 500, seconds=3)
        until("readiness tells the truth", lambda: self.status("/readyz") == 500, seconds=UNREADY_S)
        self.assertEqual(self.metric('virtgate_cache_fresh{cache="kubevirts"}'), 0)
        while True:
            self.allows_nothing()
            self.assertEqual((self.status("/readyz"), self.status("/healthz"), self.status("/livez")), (500, 500, 200))
            if time.monotonic() - began >= OUTAGE_S:
                break
        version = self.change_configuration(3)
        self.api_server.heal()
        self.recovers("after the API server came back")
        self.sees(version)
        self.assertEqual(self.metric('virtgate_cache_fresh{cache="kubevirts"}'), 1)

    def test_an_api_server_that_falls_silent(self):
        """Connections stay and nothing comes, also not after it is back: those connections are dead."""
        before = self.api_server.all()
        self.assertTrue(before)
        self.api_server.freeze()
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.action()))
        asking.start()
        until("readiness tells the truth", lambda: self.status("/readyz") == 500, seconds=UNREADY_S)
        self.assertEqual(self.status("/healthz"), 500)
        version = self.change_configuration(4)
        self.api_server.heal()
        self.recovers("over new connections")
        self.sees(version)
        asking.join()
        self.assertEqual(answers, [500])

    @unittest.skipUnless(LONG, "takes its time")
    def test_one_kind_of_objects_that_cannot_be_followed(self):
        self.faulty("/kubevirts?", fault_proxy.answer(500))
        self.api_server.cut(self.api_server.watches("/kubevirts"))
        until("readiness tells the truth", lambda: self.status("/readyz") == 500, seconds=UNREADY_S)
        self.assertIn("[-]cache-kubevirts", self.gateway.ask("GET", "/readyz?verbose")[1])
        self.assertEqual((self.status("/healthz"), self.action()), (200, 404), "the rest works")
        version = self.change_configuration(6)
        self.api_server.heal()
        self.recovers("after it can be followed")
        self.sees(version)

    def test_watches_that_are_cut_every_second(self):
        lists = 'virtgate_cache_lists_total{cache="kubevirts"}'
        # Readiness forgives a cache that cannot follow for some seconds: faults of the test before may not be over for this one.
        until("the cache follows", lambda: self.metric('virtgate_cache_fresh{cache="kubevirts"}') == 1 and self.api_server.watches("/kubevirts"),
              seconds=RECOVERY_S)
        before, stop, cuts = self.metric(lists), threading.Event(), []

        def cut():
            while not stop.wait(1):
                cuts.append(len(self.api_server.watches()))
                self.api_server.cut(self.api_server.watches())
        cutting = threading.Thread(target=cut)
        cutting.start()
        try:
            while len(cuts) < 3 or sum(cuts) <= 10:
                seen = len(cuts)
                self.sees(self.change_configuration(3 + seen % 5))
                self.assertEqual((self.status("/readyz"), self.action()), (200, 404))
                until("watches are cut", lambda: len(cuts) > seen)
        finally:
            stop.set()
            cutting.join()
        self.assertGreater(sum(cuts), 10)
        self.assertEqual(self.metric(lists), before, "a watch goes on where it was")

    def test_nothing_grows(self):
        def round_of_faults():
            self.api_server.cut()
            self.assertIn(self.action(), (404, 500))
            for fault in (fault_proxy.raw(b"HTTP/1.1 200 OK\r\nContent-Le"), fault_proxy.answer(503)):
                self.faulty("", fault)
                self.allows_nothing()
            self.api_server.heal()
            until("it works again", self.works, seconds=RECOVERY_S)

        def resident_kib():
            return int(re.search(r"VmRSS:\s+(\d+)", e2e.read(f"/proc/{self.gateway.process.pid}/status")).group(1))
        round_of_faults()
        descriptors, resident = self.descriptors(), resident_kib()
        for _ in range(20 if LONG else 1):
            round_of_faults()
        until("descriptors are given back", lambda: self.descriptors() <= descriptors + 8)
        if not e2e.SANITIZED:
            self.assertLess(resident_kib() - resident, 4096)


class Answers(Faulty):
    """An API server that answers, but not what it should."""

    def test_watches_that_say_that_their_place_is_gone(self):
        lists = 'virtgate_cache_lists_total{cache="kubevirts"}'
        for line in (b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n',
                     b'{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}\n', b"<html>\n"):
            before = self.metric(lists)
            until("the watch goes on", lambda: self.api_server.watches("/kubevirts"))
            self.api_server.inject("/kubevirts", line)
            until("all objects are listed again", lambda: self.metric(lists) > before, seconds=RECOVERY_S)
            self.sees(self.change_configuration(3))
            self.assertEqual(self.status("/readyz"), 200)

    def test_a_place_that_is_always_gone_is_not_asked_for_without_end(self):
        self.faulty("watch=true", fault_proxy.answer(410, b'{"kind":"Status","code":410,"reason":"Expired"}'))
        self.api_server.cut(self.api_server.watches())
        began, before = time.monotonic(), len(self.api_server.asked("/kubevirts"))
        for verbosity in (4, 5):
            self.sees(self.change_configuration(verbosity))
        until("some time has passed", lambda: time.monotonic() - began > 1.5)
        self.assertLess(len(self.api_server.asked("/kubevirts")) - before, 40)
        self.assertEqual(self.status("/readyz"), 200, "lists tell what watches do not")

    def test_answers_that_allow_nothing(self):
        allowed = b'{"status":{"allowed":true}}'
        pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        long_answer = b"HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n"
        for name, fault in {
                "500": fault_proxy.answer(500, allowed), "503": fault_proxy.answer(503, allowed), "504": fault_proxy.answer(504, allowed),
                "401": fault_proxy.answer(401, allowed), "403": fault_proxy.answer(403, allowed), "302": fault_proxy.answer(302, allowed, Location="/"),
                "429 for long": fault_proxy.answer(429, allowed, Retry_After="3600"), "503 for long": fault_proxy.answer(503, allowed, Retry_After="3600"),
                "no JSON": fault_proxy.answer(201, b"<html>"), "no status": fault_proxy.answer(201, b'{"allowed":true}'), "nothing": fault_proxy.answer(201, b""),
                "a word": fault_proxy.answer(201, b'{"status":{"allowed":"true"}}'), "two documents": fault_proxy.answer(201, allowed + allowed),
                "half an answer": fault_proxy.raw(long_answer + allowed), "half a chunk": fault_proxy.raw(
                    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + allowed),
                "no last chunk": fault_proxy.raw(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\n" + allowed + b"\r\n"),
                "the end": fault_proxy.raw(), "another protocol": fault_proxy.raw(b"SSH-2.0-OpenSSH_9\r\n")}.items():
            with self.subTest(name):
                self.api_server.fault = lambda method, path, headers: fault if REVIEWS in path or VMIS in path else None
                migration = pool.submit(self.migration_allowed)
                # A word is an answer, if not one that allows.
                self.assertEqual(self.action(), 401 if name == "a word" else 500, name)
                self.assertFalse(migration.result())
                self.assertEqual(self.status("/readyz"), 200, "the API server answers other questions")

    def test_pauses_that_the_api_server_asks_for(self):
        turned_away = []

        def once(method, path, headers):
            if REVIEWS not in path or turned_away:
                return None
            turned_away.append(time.monotonic())
            return fault_proxy.answer(429, Retry_After="1")
        self.api_server.fault = once
        self.assertEqual(self.action(), 404)
        self.assertGreaterEqual(time.monotonic() - turned_away[0], 1)

    def test_slow_answers_hold_up_nobody_else(self):
        release = threading.Event()
        self.faulty(REVIEWS, fault_proxy.slow(release))
        answers, before = [], len(self.api_server.asked(REVIEWS))
        asking = [threading.Thread(target=lambda: answers.append(self.action())) for _ in range(8)]
        for thread in asking:
            thread.start()
        until("they wait", lambda: len(self.api_server.asked(REVIEWS)) - before == len(asking))
        began = time.monotonic()
        self.assertTrue(self.pure_review_allowed() and self.migration_allowed())
        self.assertEqual(self.status("/readyz"), 200)
        self.assertLess(time.monotonic() - began, 1 if not e2e.SANITIZED else 10)
        self.assertEqual(answers, [])
        release.set()
        for thread in asking:
            thread.join()
        self.assertEqual(answers, [404] * len(asking))


class Rotation(Faulty):
    """Certificates, authorities and tokens that are replaced while everything runs."""

    def test_the_api_servers_certificate_and_authority(self):
        cluster.make_authority(self.folder, "api-ca-2")
        cluster.make_certificate(self.folder, "api-ca-2", "api-2", "kube-apiserver", "serverAuth")
        self.api_server.show("api-2")
        self.api_server.cut()
        self.allows_nothing()
        until("health tells the truth", lambda: self.status("/healthz") == 500, seconds=3)
        for half_written in ("", e2e.read(self.folder, "api-ca-2.crt")[:200]):
            self.replace_file("api-ca.crt", half_written)
            self.assertEqual(self.action(), 500)
        self.replace_file("api-ca.crt", e2e.read(self.folder, "api-ca-2.crt"))
        self.recovers("with the new authority")

    def test_the_token(self):
        old = e2e.read(self.folder, "token")
        path = "/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-apiserver/token"
        fresh = self.made(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}})["status"]["token"]
        self.assertNotEqual(old, fresh)
        refusal = fault_proxy.answer(401, b'{"kind":"Status","code":401,"reason":"Unauthorized"}')
        self.api_server.fault = lambda method, path, headers: refusal if headers.get("authorization") == "Bearer " + old else None
        self.api_server.cut(self.api_server.watches())
        self.allows_nothing()
        until("health tells the truth", lambda: self.status("/healthz") == 500, seconds=3)
        self.replace_file("token", "")
        self.allows_nothing()
        self.replace_file("token", fresh)
        self.recovers("with the new token")

    def test_the_authority_of_the_front_proxy(self):
        cluster.make_authority(self.folder, "proxy-ca-2")
        cluster.make_certificate(self.folder, "proxy-ca-2", "front-2", "front-proxy-client", "clientAuth")

        def trust(*names):
            bundle = "".join(e2e.read(self.folder, name + ".crt") for name in names)
            self.change(f"{MAPS}/{PROXY_MAP}", lambda found: found["data"].update({"requestheader-client-ca-file": bundle}))

        def taken(certificate, session=None):
            try:
                return self.gateway_session(certificate, session)[0] == 404
            except (OSError, ssl.SSLError):
                return False
        code, session = self.gateway_session("front")
        self.assertEqual(code, 404)
        self.assertFalse(taken("front-2"))
        trust("proxy-ca", "proxy-ca-2")
        until("both are taken", lambda: taken("front-2"))
        self.assertTrue(taken("front"))
        trust("proxy-ca-2")
        until("the old one is not taken any more", lambda: not taken("front"))
        self.assertFalse(taken("front", session), "nor one that was taken before")
        self.assertTrue(taken("front-2"))
        trust("proxy-ca")
        until("the first one is taken again", lambda: taken("front"))

    def test_our_own_certificate(self):
        whole = e2e.read(self.folder, "serving.crt")
        self.replace_file("serving.crt", whole[:200])
        until("the broken file is noticed", lambda: self.metric('virtgate_certificate_load_failures_total{name="serving"}') > 0)
        self.assertEqual(self.status("/readyz"), 200, "the one before is shown")
        cluster.make_certificate(self.folder, "serving-ca", "serving", "virt-api-2", "serverAuth")

        def shown():
            with contextlib.closing(self.gateway_socket()) as connection:
                return dict(item[0] for item in connection.getpeercert()["subject"])["commonName"]
        until("the new certificate is shown", lambda: shown() == "virt-api-2")

    def test_the_authority_of_the_nodes(self):
        pki = [tempfile.mkdtemp(dir=self.folder) for _ in range(2)]
        for folder in pki:
            actions.make_pki(folder)
        port = e2e.free_port()
        for name in ("client.crt", "client.key"):
            self.replace_file(name, e2e.read(pki[0], name))
        gateway = cluster.Gateway(self.folder, "--console-server-port", str(port), "--handler-cert-file", f"{self.folder}/client.crt",
                                  "--handler-key-file", f"{self.folder}/client.key")
        self.make_node()
        self.trust_nodes_of(pki[0])
        gateway.start()
        self.addCleanup(gateway.stop)

        def answered():
            return gateway.as_proxy("GET", cluster.BASE + "/namespaces/default/virtualmachineinstances/guest/guestosinfo", ADMIN)[0]
        first = actions.Handler(pki[0], port)
        try:
            first.answers["guestosinfo"] = (200, b"{}")
            until("the node is trusted", lambda: answered() == 200)
        finally:
            first.stop()
        second = actions.Handler(pki[1], port)  # an impostor, as far as anybody knows
        self.addCleanup(second.stop)
        second.answers["guestosinfo"] = (200, b"{}")
        self.assertNotEqual(answered(), 200)
        self.assertEqual(second.calls, [])
        for name in ("client.crt", "client.key"):
            self.replace_file(name, e2e.read(pki[1], name))
        self.trust_nodes_of(pki[1])
        until("the node with the new authority is trusted", lambda: answered() == 200, seconds=RECOVERY_S)

    def replace_file(self, name, content):
        """As the kubelet does it: at once."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w") as file:
            file.write(content)
        os.replace(path + ".new", path)

    def gateway_socket(self, certificate=None, session=None):
        context = self.sessions.setdefault(certificate, self.gateway.context(certificate))
        plain = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=e2e.DEADLINE_S)
        try:
            return context.wrap_socket(plain, server_hostname="127.0.0.1", session=session)
        except OSError:
            plain.close()
            raise

    def gateway_session(self, certificate, session=None):
        """The code of an action over a connection of its own, and a session that the next one may resume."""
        with contextlib.closing(self.gateway_socket(certificate, session)) as connection:
            fields = "".join(f"{name}: {value}\r\n" for name, value in ADMIN.items())
            connection.sendall(f"PUT {UNKNOWN_MACHINE} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n{fields}\r\n".encode())
            answer = connection.recv(65536)
            while answer and (more := connection.recv(65536)):
                answer += more
            return int(answer.split(b" ", 2)[1]) if answer else 0, connection.session

    def setUp(self):
        super().setUp()
        self.sessions = {}

    def make_node(self):
        pods = "/api/v1/namespaces/kubevirt/pods"
        pod = self.made(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "labels": {"kubevirt.io": "virt-handler"}},
                               "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
        pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
        self.assertEqual(self.kube("PUT", pods + "/virt-handler-1/status", pod)[0], 200)
        guest = self.made(VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "guest"}, "spec": TEMPLATE["spec"]})
        guest["status"] = {"phase": "Running", "nodeName": "node01", "conditions": [{"type": "AgentConnected", "status": "True"}]}
        code, answer = self.kube("PUT", f"{VMIS}/guest", guest, actions.CONTROLLER)
        self.assertEqual(code, 200, answer)

    def trust_nodes_of(self, folder):
        bundle = e2e.read(folder, "ca.crt")
        self.change("/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca", lambda found: found.update(data={"ca-bundle": bundle}))


@unittest.skipUnless(os.path.exists(FAKETIME), "THE CLOCK CANNOT JUMP: package faketime is not installed, so this is NOT tested")
@unittest.skipIf(e2e.SANITIZED, "two libraries that want to come first")
class Clocks(Faulty):
    def test_a_clock_that_jumps(self):
        clock = os.path.join(self.folder, "clock")

        def jump(offset):
            with open(clock + ".new", "w") as file:
                file.write(offset)
            os.replace(clock + ".new", clock)
        jump("+0")
        gateway = cluster.Gateway(self.folder, "--allow-cache-seconds", "0", environment={
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}).start()
        self.addCleanup(gateway.stop)
        for offset in ("+7200", "+60", "+3600", "+0"):  # before that there were no certificates
            jump(offset)
            self.assertEqual((self.status("/readyz", gateway), self.action(gateway)), (200, 404), offset)
            self.api_server.cut()  # what goes on over old connections proves nothing
            until("it goes on at " + offset, lambda: self.works(gateway), seconds=RECOVERY_S)
        jump("+30d")
        until("its own certificate has expired", lambda: self.status("/readyz", gateway) == 500)
        self.assertIn("[-]serving-certificate", gateway.ask("GET", "/readyz?verbose")[1])
        self.api_server.cut()
        with self.assertRaises(OSError):
            self.action(gateway)  # and so has the front proxy's
        self.assertFalse(self.migration_allowed(gateway), "and the API server's")
        jump("+0")
        until("everything works again", lambda: self.works(gateway), seconds=RECOVERY_S)


class Proxies(Faulty):
    """A way to the API server that the gateway does not find by itself."""

    def setUp(self):
        super().setUp()
        self.proxy = fault_proxy.ConnectProxy(self.api_server.port, base64.b64encode(b"zoe:p@ss").decode())
        self.addCleanup(self.proxy.stop)
        config = json.loads(e2e.read(self.folder, "kubeconfig"))
        config["clusters"][0]["cluster"].update({"server": "https://api.invalid:6443", "tls-server-name": "localhost"})
        with open(os.path.join(self.folder, "kubeconfig-far"), "w") as file:
            json.dump(config, file)

    def gateway_with(self, **environment):
        return cluster.Gateway(self.folder, "--kubeconfig", f"{self.folder}/kubeconfig-far", "--allow-cache-seconds", "0", environment=environment)

    def test_the_environment_names_it(self):
        gateway = self.gateway_with(HTTPS_PROXY=f"http://zoe:p%40ss@127.0.0.1:{self.proxy.port}", NO_PROXY="10.0.0.0/8,.cluster.local").start()
        self.addCleanup(gateway.stop)
        self.assertTrue(self.works(gateway))
        self.assertEqual(set(self.proxy.asked), {"CONNECT api.invalid:6443 HTTP/1.1"})
        self.assertNotIn("p@ss", gateway.errors())
        self.assertNotIn("p%40ss", gateway.errors())

    def test_what_it_refuses_is_told(self):
        gateway = self.gateway_with(https_proxy=f"127.0.0.1:{self.proxy.port}")
        gateway.launch()
        self.addCleanup(gateway.stop)
        until("it says what is wrong", lambda: "requires credentials (407)" in gateway.errors())
        self.assertIsNone(gateway.process.poll(), "it waits for better times")

    def test_a_kind_that_cannot_be_used_is_refused_at_the_start(self):
        gateway = self.gateway_with(HTTPS_PROXY="https://zoe:secret@proxy.example.com")
        gateway.launch()
        self.addCleanup(gateway.stop)
        self.assertEqual(gateway.process.wait(e2e.DEADLINE_S), 1)
        self.assertIn("https://", gateway.errors())
        self.assertNotIn("secret", gateway.errors())


if __name__ == "__main__":
    unittest.main(verbosity=2)
