#!/usr/bin/env python3
"""What `virtgate cluster` is on the wire and to its pod: TLS as the KubeVirt object wants it, whom it believes, certificates
that are replaced, preflights, log lines, signals, and CRDs that come and go. The set-up is that of cluster_e2e_test.py.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import base64
import contextlib
import http.client
import http.server
import json
import lzma
import os
import signal
import socket
import ssl
import sys
import threading
import time
import unittest
import warnings

from support import cluster
from support import serve as e2e
from support.cluster import ADMIN, BASE, KUBEVIRT, MAPS, OF_VM, PROXY_MAP, TEMPLATE, until

RECORDINGS = os.path.join(os.environ.get("VIRTGATE_SOURCE_DIR", "."), "tests/conformance")
TLS10, TLS11, TLS12, TLS13 = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
UNREACHED = (ssl.SSLError, http.client.HTTPException, OSError)
FAREWELL_S = 5


def agreed(port, newest=TLS13, ciphers="ALL"):
    """Version and cipher of a handshake with a client that takes everything up to these; None when there was none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is why they are tried
        context.minimum_version, context.maximum_version = TLS10, newest
    context.set_ciphers(ciphers + ":@SECLEVEL=0")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=e2e.DEADLINE_S) as plain, context.wrap_socket(plain) as tls:
            return tls.version(), tls.cipher()[0]
    except (ssl.SSLError, ConnectionError):
        return None


class TlsSettings(cluster.Cluster):
    def configure(self, **configuration):
        self.change(KUBEVIRT, lambda found: found["spec"].update(configuration=configuration))

    def tls(self, **settings):
        self.configure(tlsConfiguration=settings)

    def tearDown(self):
        self.configure()
        until("the usual settings are back", lambda: agreed(self.gateway.port, TLS12) and not agreed(self.gateway.port, TLS11))

    def agree(self, *client):
        return agreed(self.gateway.port, *client)

    def test_usual_settings(self):
        self.assertEqual(self.agree()[0], "TLSv1.3")
        self.assertEqual(self.agree(TLS12)[0], "TLSv1.2")
        self.assertIsNone(self.agree(TLS11))

    def test_a_newer_least_version_is_live_and_leaves_connections_alone(self):
        context = self.gateway.context()
        context.maximum_version = TLS12
        kept = http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=context, timeout=e2e.DEADLINE_S)
        self.addCleanup(kept.close)
        kept.connect()
        self.assertEqual(kept.sock.version(), "TLSv1.2")
        self.tls(minTLSVersion="VersionTLS13")
        until("only 1.3 is spoken", lambda: not self.agree(TLS12))
        self.assertEqual(self.agree()[0], "TLSv1.3")
        kept.request("GET", "/healthz")
        self.assertEqual(kept.getresponse().status, 200, "connections that exist go on")

    def test_older_versions_can_be_had(self):
        self.tls(minTLSVersion="VersionTLS11")
        until("1.1 is spoken", lambda: self.agree(TLS11))
        self.assertIsNone(self.agree(TLS10))
        self.tls(minTLSVersion="VersionTLS10")
        until("1.0 is spoken", lambda: self.agree(TLS10))
        self.assertEqual(self.agree()[0], "TLSv1.3")

    def test_ciphers(self):
        self.tls(ciphers=["TLS_NO_SUCH", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"])
        until("the one cipher is left", lambda: not self.agree(TLS12, "ECDHE-ECDSA-AES128-GCM-SHA256"))
        self.assertEqual(self.agree(TLS12), ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"))
        self.assertEqual(self.agree()[0], "TLSv1.3", "its suites are not for choosing")
        self.tls(ciphers=["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"])
        until("an old cipher when asked for", lambda: self.agree(TLS12, "ECDHE-ECDSA-AES128-SHA"))
        self.tls(ciphers=["TLS_NO_SUCH"])
        until("the usual ones when none is known", lambda: self.agree(TLS12, "ECDHE-ECDSA-AES128-GCM-SHA256"))

    def test_a_mistake_elsewhere_does_not_matter(self):
        before = self.gateway.ask("GET", "/healthz")[1]
        self.configure(network={"defaultNetworkInterface": "nonsense"}, tlsConfiguration={"minTLSVersion": "VersionTLS13"})
        until("only 1.3 is spoken", lambda: not self.agree(TLS12))
        self.assertEqual(json.loads(self.gateway.ask("GET", "/healthz")[1]), json.loads(before), "the configuration before stays in force")


class Trust(cluster.Cluster):
    """Whom the gateway believes to be kube-apiserver's front proxy."""

    def proxy_map(self, **data):
        def edit(found):
            for key, value in data.items():
                key = "requestheader-" + key.replace("_", "-")
                found["data"].pop(key, None) if value is None else found["data"].update({key: value})
        self.change(f"{MAPS}/{PROXY_MAP}", edit)

    def believed(self, certificate="front"):
        try:
            return self.gateway.as_proxy("PUT", OF_VM + "missing/stop", ADMIN, certificate=certificate)[0] == 404
        except UNREACHED:
            return False

    def tearDown(self):
        self.proxy_map(client_ca_file=e2e.read(self.folder, "proxy-ca.crt"), allowed_names='["front-proxy-client"]')
        until("the front proxy is believed again", self.believed)

    def assert_nobody_is_believed(self):
        until("nobody is believed", lambda: not self.believed())
        self.assertFalse(self.believed("impostor"))
        code, text = self.gateway.ask("POST", "/virtualmachines-mutate", e2e.review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine"))
        self.assertEqual(code, 200, "webhooks need no front proxy")

    def test_what_cannot_be_read_is_not_believed(self):
        for data in ({"client_ca_file": None}, {"client_ca_file": "no certificate"}, {"allowed_names": None}, {"allowed_names": "no list"}):
            with self.subTest(data):
                self.proxy_map(**data)
                self.assert_nobody_is_believed()
                self.tearDown()

    def test_any_name_when_none_is_given(self):
        for names in ("", "[]"):
            self.proxy_map(allowed_names=names)
            until("any name will do", lambda: self.believed("impostor"))
            self.assertFalse(self.believed("foreign"), "but not any authority")
            self.tearDown()

    def test_the_authority_is_replaced(self):
        both = e2e.read(self.folder, "proxy-ca.crt") + e2e.read(self.folder, "foreign-ca.crt")
        self.proxy_map(client_ca_file=both)
        until("the second authority counts", lambda: self.believed("foreign"))
        self.assertTrue(self.believed("front"))
        self.proxy_map(client_ca_file=e2e.read(self.folder, "foreign-ca.crt"))
        until("the first one does not count any more", lambda: not self.believed("front"))
        self.assertTrue(self.believed("foreign"))

    def test_readiness_says_so(self):
        self.proxy_map(client_ca_file=None)
        until("it is not ready", lambda: self.gateway.ask("GET", "/readyz")[0] == 500)
        self.assertIn("[-]front-proxy failed", self.gateway.ask("GET", "/readyz")[1])

    def test_nothing_is_served_before_it_is_known(self):
        path = f"{MAPS}/{PROXY_MAP}"
        _, kept = self.kube("GET", path)
        self.kube("DELETE", path)
        gateway = cluster.Gateway(self.folder)
        gateway.launch()
        try:
            until("it says what it waits for", lambda: PROXY_MAP in gateway.errors(), seconds=30)
            with self.assertRaises(OSError):
                gateway.ask("GET", "/healthz")
        finally:
            kept["metadata"] = {"name": PROXY_MAP}
            self.made(MAPS, kept)
        until("it serves", gateway.serves)
        gateway.stop()
        self.assertTrue(self.believed(), "the other one went by what it knew")


class CertificateFiles(cluster.Cluster):
    """Certificates in a Secret volume: the kubelet writes a new folder and swaps a symbolic link to it."""

    def publish(self, generation, authority, key=None):
        volume, name = f"{self.folder}/volume", f"..{generation}"
        os.makedirs(f"{volume}/{name}")
        cluster.make_certificate(self.folder, authority, "pair", "virt-api", "serverAuth")
        for file, text in (("tls.crt", e2e.read(self.folder, "pair.crt")), ("tls.key", key or e2e.read(self.folder, "pair.key"))):
            with open(f"{volume}/{name}/{file}", "w") as out:
                out.write(text)
            if not os.path.islink(f"{volume}/{file}"):
                os.symlink(f"..data/{file}", f"{volume}/{file}")
        os.symlink(name, f"{volume}/..new")
        os.replace(f"{volume}/..new", f"{volume}/..data")

    def shown_by(self, gateway, authority):
        try:
            return gateway.ask("GET", "/healthz", authority=authority)[0] == 200
        except UNREACHED:
            return False

    def test_follow_the_volume(self):
        gateway = cluster.Gateway(self.folder, "--tls-cert-file", f"{self.folder}/volume/tls.crt", "--tls-key-file", f"{self.folder}/volume/tls.key")
        self.addCleanup(gateway.stop)
        gateway.launch()  # the Secret is optional: there is nothing yet
        until("it says that there is no certificate", lambda: "no serving certificate" in gateway.errors())
        self.assertFalse(self.shown_by(gateway, "serving-ca"))
        self.publish(1, "serving-ca")
        until("the first certificate is shown", lambda: self.shown_by(gateway, "serving-ca"), seconds=90)
        cluster.make_authority(self.folder, "second-ca")
        self.publish(2, "second-ca")
        until("the second certificate is shown", lambda: self.shown_by(gateway, "second-ca"))
        logged = len(gateway.errors())
        self.publish(3, "serving-ca", key="no key")
        until("the mistake is logged", lambda: '"level":"error"' in gateway.errors()[logged:])
        self.assertTrue(self.shown_by(gateway, "second-ca"), "what was loaded stays")


class Requests(cluster.Cluster):
    def preflight(self, path, **fields):
        connection = http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=self.gateway.context(), timeout=e2e.DEADLINE_S)
        connection.request("OPTIONS", path, headers=fields)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}

    def test_preflights_tell_the_methods_of_the_path(self):
        of_vmi = OF_VM.replace("virtualmachines", "virtualmachineinstances")
        for path, methods in ((OF_VM + "x/start", "PUT"), (OF_VM + "x/start/", "PUT"), (OF_VM + "x/expand-spec", "GET"), (of_vmi + "x/console", "GET"),
                              (of_vmi + "x/sev/setupsession", "PUT"), (of_vmi + "x/portforward/80", "GET"), (OF_VM + "x/portforward/80/tcp", "GET"),
                              (BASE + "/namespaces/default/expand-vm-spec", "PUT"), (BASE, "GET"), (BASE + "/version", "GET"), ("/", "GET"), ("/healthz", "GET"),
                              ("/apis/subresources.kubevirt.io", "GET"), ("/start-profiler", "GET"), (BASE + "/dump-cluster-profiler", "GET"), ("/openapi/v3", "GET"),
                              (OF_VM + "x/nope", ""), (OF_VM + "x", ""), ("/nope", ""), (OF_VM.replace("/v1/", "/v9/") + "x/start", "")):
            code, body, fields = self.preflight(path, Origin="https://ui.example", **{"Access-Control-Request-Headers": "authorization"})
            self.assertEqual((code, body, fields["allow"], fields["access-control-allow-methods"]), (200, b"", methods, methods), path)
            self.assertEqual(fields["access-control-allow-origin"], "https://ui.example")
            self.assertEqual(fields["access-control-allow-headers"], "authorization")
            self.assertEqual(fields["x-content-type-options"], "nosniff")

    def test_other_methods_are_told_which_there_are(self):
        for path in ("/healthz", BASE + "/healthz", "/", "/apis", BASE, "/openapi/v2", BASE + "/version", "/stop-profiler"):
            connection = http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=self.gateway.context(), timeout=e2e.DEADLINE_S)
            connection.request("POST", path)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.getheader("Allow"), answer.getheader("X-Content-Type-Options")), (405, "GET", "nosniff"), path)
            connection.close()

    def test_plain_http_is_told_what_is_wrong(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=e2e.DEADLINE_S)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 400)
        self.assertIn("https", answer.read().decode())
        connection.close()

    def test_documents_as_recorded(self):
        for path, answers in json.loads(e2e.read(RECORDINGS, "documents.json")).items():
            for who, certificate, headers in (("front-proxy admin", "front", ADMIN), ("nobody", None, {})):
                connection = http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=self.gateway.context(certificate), timeout=e2e.DEADLINE_S)
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                self.assertEqual(answer.status, answers[who]["status"], path)
                self.assertTrue(answers[who]["headers"]["Content-Type"].startswith(answer.getheader("Content-Type")), path)
                if path != "/metrics":
                    self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff", path)
                if answer.status == 200 and "body" in answers[who]:
                    self.assert_tells_the_same(path, json.loads(body), answers["front-proxy admin"]["body"])

    def assert_tells_the_same(self, path, ours, theirs):
        if "openapi" in ours or "swagger" in ours:
            methods = [{at: sorted(set(entry) & {"get", "put", "post"}) for at, entry in document["paths"].items()} for document in (ours, theirs)]
            self.assertEqual(*methods, path)
            names = [sorted(document.get("definitions", document.get("components", {}).get("schemas", {}))) for document in (ours, theirs)]
            self.assertEqual(*names, path)
        elif path.startswith("/openapi") or path.endswith(("/version", "/healthz")):
            self.assertEqual(ours.keys(), theirs.keys(), path)  # what is in them is of the moment
        else:
            self.assertEqual(ours, theirs, path)

    def test_access_as_recorded(self):
        # Where this was recorded somebody had given the controller this role; which one it is does not matter here.
        self.made("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "stops"},
            "rules": [{"apiGroups": ["subresources.kubevirt.io"], "resources": ["virtualmachines/stop"], "verbs": ["update"]}]})
        self.made("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "controller-stops"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stops"},
            "subjects": [{"kind": "ServiceAccount", "name": "kubevirt-controller", "namespace": "kubevirt"}]})
        differing = []
        with lzma.open(os.path.join(RECORDINGS, "access.jsonl.xz")) as file:
            rows = [json.loads(line) for line in file]
        for row in rows:
            wanted = row["status"]
            if wanted == 307:
                wanted = 401  # on purpose: see COMPATIBILITY.md
            certificate = {"front-proxy": "front", "none": None, "other": "foreign"}[row["certificate"]]
            try:
                code = self.gateway.ask(row["method"], row["path"], headers=row["headers"], certificate=certificate)[0]
            except UNREACHED:
                code = 0
            if code != wanted:
                differing.append((row["method"], row["path"], row["headers"], row["status"], code))
        self.assertEqual(differing, [])
        self.assertGreater(len(rows), 100)


class Logging(cluster.Cluster):
    def lines(self, **wanted):
        found = [json.loads(line) for line in self.gateway.errors().splitlines() if line.startswith("{")]
        return [line for line in found if all(line.get(key) == value for key, value in wanted.items())]

    def configure(self, **verbosity):
        self.change(KUBEVIRT, lambda found: found["spec"].update(configuration={"developerConfiguration": {"logVerbosity": verbosity}}))

    def asks(self, mark):
        """Asks once, and says whether that was logged. Lines are written before the next request is answered."""
        url = f"{BASE}/version?{mark}"
        self.gateway.ask("GET", url)
        self.gateway.ask("GET", "/metrics")
        return bool(self.lines(url=url))

    def test_request_lines(self):
        self.gateway.ask("GET", BASE + "/version?seen")
        line = until("the request is logged", lambda: self.lines(url=BASE + "/version?seen"))[0]
        self.assertEqual({key: line[key] for key in ("component", "level", "method", "proto", "statusCode", "username", "remoteAddress")},
                         {"component": "virt-api", "level": "info", "method": "GET", "proto": "HTTP/1.1", "statusCode": 200, "username": "-",
                          "remoteAddress": "127.0.0.1"})
        self.assertGreater(line["contentLength"], 0)
        self.assertRegex(line["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertRegex(line["pos"], r"^\w+\.(cpp|h):\d+$")
        self.assertNotIn("msg", line)
        self.assertEqual(list(line), sorted(line))
        self.gateway.as_proxy("PUT", OF_VM + "missing/stop?seen", ADMIN)
        line = until("the request is logged", lambda: self.lines(url=OF_VM + "missing/stop?seen"))[0]
        self.assertEqual((line["username"], line["statusCode"]), ("root-admin", 404))
        self.gateway.ask("POST", "/virtualmachines-mutate?seen", e2e.review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine"))
        self.gateway.ask("GET", "/metrics?seen")
        self.assertTrue(self.asks("after"))
        self.assertEqual(self.lines(url="/metrics?seen") + self.lines(url="/virtualmachines-mutate?seen"), [], "webhooks and scrapes are not logged")

    def test_verbosity_is_live(self):
        numbers = iter(range(1000))
        self.assertTrue(self.asks(next(numbers)))
        self.configure(virtAPI=1)
        until("requests are not logged any more", lambda: not self.asks(next(numbers)))
        self.configure(virtAPI=1, nodeVerbosity={"somewhere-else": 9})
        self.assertFalse(self.asks(next(numbers)))
        self.configure(virtAPI=1, nodeVerbosity={socket.gethostname(): 2})
        until("this host has a verbosity of its own", lambda: self.asks(next(numbers)))
        self.configure()
        until("requests are logged", lambda: self.asks(next(numbers)))


class Listening(cluster.Cluster):
    def test_the_unspecified_address_means_both_families(self):
        gateway = cluster.Gateway(self.folder, "--listen", "0.0.0.0").start()
        self.addCleanup(gateway.stop)
        addresses = ["127.0.0.1"]
        with contextlib.suppress(OSError):  # a machine without IPv6
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
            addresses.append("::1")
        for address in addresses:
            context = gateway.context()
            context.check_hostname = False
            with contextlib.closing(http.client.HTTPSConnection(address, gateway.port, context=context, timeout=e2e.DEADLINE_S)) as connection:
                connection.request("GET", BASE + "/version?from=" + address)
                self.assertEqual(connection.getresponse().status, 200, address)

            def logged():
                return [line for line in map(json.loads, gateway.errors().splitlines()) if line.get("url", "").endswith("?from=" + address)]
            self.assertEqual(until("the request is logged", logged)[0]["remoteAddress"], address)

    def test_a_port_that_is_taken_is_told(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            gateway = cluster.Gateway(self.folder, "--port", str(taken.getsockname()[1]))
            gateway.launch()
            self.addCleanup(gateway.stop)
            self.assertNotEqual(gateway.process.wait(e2e.DEADLINE_S), 0)
            self.assertIn("cannot listen on 127.0.0.1", gateway.errors())


class RateLimits(cluster.Cluster):
    def waited_s(self):
        """How long questions to the API server have waited for their turn, altogether."""
        lines = self.gateway.ask("GET", "/metrics")[1].splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("kubevirt_rest_client_rate_limiter_duration_seconds_sum"))

    def limit(self, **bucket):
        limits = {"restClient": {"rateLimiter": {"tokenBucketRateLimiter": bucket}}}
        changed = self.change(KUBEVIRT, lambda found: found["spec"].update(configuration={"apiConfiguration": limits}))
        wanted = int(changed["metadata"]["resourceVersion"])
        until("the configuration is in force", lambda: int(json.loads(self.gateway.ask("GET", "/healthz")[1])["config-resource-version"]) >= wanted)

    def ask_the_api_server(self, times):
        body = e2e.review("kubevirt.io", "v1", "virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration")
        body["request"]["object"]["spec"] = {"vmiName": "nobody"}
        for _ in range(times):
            self.assertEqual(self.gateway.ask("POST", "/migration-validate-create", body)[0], 200)

    def test_are_live(self):
        before = self.waited_s()
        self.ask_the_api_server(4)
        self.assertEqual(self.waited_s(), before)
        self.limit(qps=4, burst=1)
        self.ask_the_api_server(4)
        limited = self.waited_s()
        self.assertGreater(limited, before + 0.3)
        self.limit(qps=0, burst=0)  # nobody means nothing at all: the usual limits
        self.ask_the_api_server(4)
        self.assertLess(self.waited_s(), limited + 0.3)


class Signals(cluster.Cluster):
    def test_every_one_of_them_ends_it_in_order(self):
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
        gateways = [cluster.Gateway(self.folder).start() for _ in numbers]
        for gateway in gateways:
            self.addCleanup(gateway.stop)
        began = time.monotonic()
        for gateway, number in zip(gateways, numbers):
            gateway.process.send_signal(number)
        for gateway, number in zip(gateways, numbers):
            until("it is not ready any more", lambda: gateway.ask("GET", "/readyz")[0] == 500)
            self.assertEqual(gateway.ask("GET", "/healthz")[0], 200, "requests on their way here are still served")
        for gateway, number in zip(gateways, numbers):
            self.assertEqual(gateway.process.wait(e2e.DEADLINE_S), 0, number)
        self.assertGreater(time.monotonic() - began, FAREWELL_S - 0.5)

    def test_at_once_before_anything_is_served(self):
        kubeconfig = json.loads(e2e.read(self.folder, "kubeconfig"))
        kubeconfig["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{e2e.free_port()}"
        with open(os.path.join(self.folder, "kubeconfig-nowhere"), "w") as file:
            json.dump(kubeconfig, file)
        gateway = cluster.Gateway(self.folder, "--kubeconfig", f"{self.folder}/kubeconfig-nowhere")
        gateway.launch()
        self.addCleanup(gateway.stop)
        until("it has begun", lambda: "kubevirts" in gateway.errors())
        gateway.process.send_signal(signal.SIGQUIT)
        self.assertIn(gateway.process.wait(FAREWELL_S - 1), (-signal.SIGQUIT, 128 + signal.SIGQUIT))

    def test_a_second_one_ends_it_at_once(self):
        gateway = cluster.Gateway(self.folder).start()
        self.addCleanup(gateway.stop)
        gateway.process.send_signal(signal.SIGTERM)
        until("it is not ready any more", lambda: gateway.ask("GET", "/readyz")[0] == 500)
        gateway.process.send_signal(signal.SIGTERM)
        self.assertEqual(gateway.process.wait(FAREWELL_S - 1), 0)

    def test_a_review_that_runs_is_finished(self):
        """It waits for the API server when the signal comes, and is answered after the listener is closed."""
        gateway = cluster.Gateway(self.folder).start()
        self.addCleanup(gateway.stop)
        self.made("/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances", {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "slow"}, "spec": TEMPLATE["spec"]})
        body = e2e.review("kubevirt.io", "v1", "virtualmachineinstancemigrations", "", "VirtualMachineInstanceMigration")
        body["request"]["object"]["spec"] = {"vmiName": "slow"}
        answers = []
        thread = threading.Thread(target=lambda: answers.append(gateway.ask("POST", "/migration-validate-create", body)))
        self.api.process.send_signal(signal.SIGSTOP)
        try:
            thread.start()
            until("the review waits", lambda: "virtgate_http_requests_in_flight 1" in gateway.ask("GET", "/metrics")[1])
            gateway.process.send_signal(signal.SIGTERM)

            def closed():
                try:
                    socket.create_connection(("127.0.0.1", gateway.port), timeout=1).close()
                except ConnectionError:
                    return True
                return False
            until("the listener is closed", closed)
            self.assertEqual(answers, [])
        finally:
            self.api.process.send_signal(signal.SIGCONT)
            thread.join()
        code, text = answers[0]
        self.assertEqual(code, 200)
        self.assertTrue(json.loads(text)["response"]["allowed"], text)
        self.assertEqual(gateway.process.wait(e2e.DEADLINE_S), 0)


class Relay(http.server.ThreadingHTTPServer):
    """Stands before the API server and has DataSources when told to, as a cluster has once CDI was installed."""
    daemon_threads = True

    def __init__(self, test):
        super().__init__(("127.0.0.1", 0), Relay.Passing)
        self.upstream, self.trust, self.installed = test.api.port, test.api.context(), False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{test.folder}/serving.crt", f"{test.folder}/serving.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.thread = threading.Thread(target=self.serve_forever)

    def handle_error(self, *_):
        pass  # connections end when the test does

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        self.thread.join()

    class Passing(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def send(self, code, document):
            body = json.dumps(document).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.startswith("/apis/cdi.kubevirt.io/") and self.server.installed:
                return self.send(200, {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "spec": {"source": {}},
                                       "metadata": {"name": "image", "namespace": "default", "labels": {"template.kubevirt.io/architecture": "s390x"}}})
            with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", self.server.upstream, context=self.server.trust)) as upstream:
                upstream.request(self.command, self.path, body=body or None, headers=dict(self.headers))
                self.answer_with(upstream.getresponse())

        def answer_with(self, answer):
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while piece := answer.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on


class ImporterComesAndGoes(cluster.Cluster):
    def test_without_a_restart(self):
        with Relay(self) as relay:
            kubeconfig = json.loads(e2e.read(self.folder, "kubeconfig"))
            kubeconfig["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{relay.server_address[1]}",
                                                    "certificate-authority": f"{self.folder}/serving-ca.crt"}
            with open(os.path.join(self.folder, "kubeconfig-relay"), "w") as file:
                json.dump(kubeconfig, file)
            gateway = cluster.Gateway(self.folder, "--kubeconfig", f"{self.folder}/kubeconfig-relay").start()
            try:
                for installed, architecture in ((False, "amd64"), (True, "s390x"), (False, "amd64"), (True, "s390x")):
                    relay.installed = installed
                    self.assertEqual(self.architecture_of(gateway), architecture)
                self.assertIsNone(gateway.process.poll())
            finally:
                gateway.stop()

    def architecture_of(self, gateway):
        """That of a machine whose disk comes from a DataSource, after defaulting."""
        body = e2e.review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine")
        body["request"]["object"]["spec"] = {
            "runStrategy": "Halted", "dataVolumeTemplates": [{"metadata": {"name": "disk"}, "spec": {
                "sourceRef": {"kind": "DataSource", "name": "image", "namespace": "default"}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}}],
            "template": {"spec": {**TEMPLATE["spec"], "volumes": [{"name": "disk", "dataVolume": {"name": "disk"}}]}}}
        response = json.loads(gateway.ask("POST", "/virtualmachines-mutate", body)[1])["response"]
        self.assertTrue(response["allowed"], response)
        patch = json.loads(base64.b64decode(response["patch"]))
        spec = next(step["value"] for step in patch if step["path"] == "/spec")
        return spec["template"]["spec"]["architecture"]


if __name__ == "__main__":
    if not e2e.BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
