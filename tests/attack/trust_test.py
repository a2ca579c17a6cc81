#!/usr/bin/env python3
"""Whom the server believes and whom it dials: a user with few rights, or somebody in the network, tries to choose.

VIRTGATE_BINARY names the program.
"""
import base64
import json
import os
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import cluster  # noqa: E402
import cluster_faults_e2e_test as faults  # noqa: E402
import fault_proxy  # noqa: E402
import harness  # noqa: E402
from support import serve as e2e  # noqa: E402
import stand_in_node  # noqa: E402

CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
SPEC = {"domain": {"devices": {"autoattachVSOCK": False}, "memory": {"guest": "64Mi"}}}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
RIGHTS = [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["create", "get", "update", "patch"]},
          {"apiGroups": ["subresources.kubevirt.io"], "resources": ["*"], "verbs": ["get", "update"]},
          {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]}]


class Listener:
    """Somebody who must not be reached."""

    hung_up = 0

    def __init__(self, kind=socket.SOCK_STREAM, address="127.0.0.1", port=0):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.port = self.socket.getsockname()[1]
        if kind == socket.SOCK_STREAM:
            self.socket.listen(8)
        self.socket.setblocking(False)

    def reached(self):
        try:
            self.socket.accept()[0].close()
            return True
        except BlockingIOError:
            return False

    def hang_up(self):
        """From here on whoever comes is sent away, and counted."""
        self.socket.setblocking(True)
        threading.Thread(target=self.send_away, daemon=True).start()

    def send_away(self):
        while True:
            try:
                caller = self.socket.accept()[0]
                self.hung_up += 1  # before the caller can know it
                caller.close()
            except OSError:
                return

    def close(self):
        self.socket.close()


def own_address():
    """One of this host's that is not loopback, where there is one. Nothing is sent for that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return one.getsockname()[0]
        except OSError:
            return None


def vmi(name, **more):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name}, "spec": SPEC, **more}


def at(address):
    return {"phase": "Running", "nodeName": "node01", "interfaces": [{"name": "default", "ipAddress": address}]}


def upgrade(connection, path, headers):
    """Asks for a WebSocket, and returns the code of the answer."""
    lines = [f"GET {path} HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Protocol: plain.kubevirt.io"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    with connection.makefile("rb") as answer:
        return int(answer.readline().split()[1])


class Standalone(harness.Attack):
    def setUp(self):
        super().setUp()
        self.namespace("team")
        self.token = self.user("team", "few", RIGHTS)
        self.vmis = "/apis/kubevirt.io/v1/namespaces/team/virtualmachineinstances"
        self.actions = "/apis/subresources.kubevirt.io/v1/namespaces/team/virtualmachineinstances"

    def listener(self, *arguments, **more):
        made = Listener(*arguments, **more)
        self.addCleanup(made.close)
        return made

    def ask_stream(self, path, token=None):
        with self.raw() as connection:
            return upgrade(connection, path, {"Authorization": "Bearer " + (token or self.token)})

    def status_by_component(self, name, status):
        made = self.must("GET", f"{self.vmis}/{name}")
        code, answer = self.call("PUT", f"{self.vmis}/{name}", {**made, "status": status}, headers=CONTROLLER)
        self.assertEqual(code, 200, answer)
        self.assertEqual(answer["status"].get("nodeName"), status.get("nodeName"))


class WhomAUserChooses(Standalone):
    def setUp(self):
        folder = os.path.join(self.make_keys(), "")
        self.flags = ("--console-server-port", str(harness.free_port()), "--handler-cert-file", folder + "client.crt", "--handler-key-file",
                      folder + "client.key")
        super().setUp()
        bundle = "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca"
        self.must("PUT", bundle, {**self.must("GET", bundle), "data": {"ca-bundle": harness.read(folder, "ca.crt")}})

    @classmethod
    def make_keys(cls):
        if not hasattr(cls, "keys"):
            cls.keys = tempfile.mkdtemp(prefix="virtgate-attack-")
            cls.addClassCleanup(shutil.rmtree, cls.keys, ignore_errors=True)
            stand_in_node.make_pki(cls.keys)
        return cls.keys

    def test_a_status_of_ones_own_does_not_choose_the_guest(self):
        guest = self.listener()
        ways = {
            "posted": lambda: self.call("POST", self.vmis, vmi("posted", status=at("127.0.0.1")), self.token),
            "applied": lambda: self.call("PATCH", f"{self.vmis}/applied?fieldManager=few", vmi("applied", status=at("127.0.0.1")), self.token, APPLY),
            "replaced": lambda: (self.must("POST", self.vmis, vmi("replaced"), self.token), self.call(
                "PUT", f"{self.vmis}/replaced", {**self.must("GET", f"{self.vmis}/replaced"), "status": at("127.0.0.1")}, self.token))[1],
            "patched": lambda: (self.must("POST", self.vmis, vmi("patched"), self.token), self.call(
                "PATCH", f"{self.vmis}/patched", {"status": at("127.0.0.1")}, self.token, MERGE))[1],
        }
        for name, write in ways.items():
            code, answer = write()
            self.assertLess(code, 300, answer)
            status = self.must("GET", f"{self.vmis}/{name}").get("status", {})
            self.assertEqual([status.get(member) for member in ("interfaces", "nodeName")], [None, None], name)
            self.assertEqual(status.get("phase"), "Pending", name)
            for protocol in ("tcp", "udp"):
                self.assertEqual(self.ask_stream(f"{self.actions}/{name}/portforward/{guest.port}/{protocol}"), 400, name)
        self.assertFalse(guest.reached())
        self.alive()

    def test_components_and_administrators_still_write_it(self):
        for name, headers in (("component", CONTROLLER), ("admin", {})):
            code, answer = self.call("POST", self.vmis, vmi(name, status=at("10.0.0.1")), headers=headers)
            self.assertEqual(code, 201, answer)
            self.assertEqual(answer["status"]["interfaces"][0]["ipAddress"], "10.0.0.1", name)

    def test_a_selector_in_a_node_name_finds_no_handler(self):
        handler = self.listener(port=int(self.one.flags[1]))
        handler.hang_up()
        pods = "/api/v1/namespaces/kubevirt/pods"
        pod = self.must("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "labels": {"kubevirt.io": "virt-handler"}},
                                       "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
        self.must("PUT", pods + "/virt-handler-1/status", {**pod, "status": {"phase": "Running", "podIP": "127.0.0.1"}})
        self.must("POST", self.vmis, vmi("crafted"), self.token)
        for node in ("node02,spec.nodeName!=node02", "x,spec.nodeName=node01", "=node01", "node01,metadata.name=virt-handler-1"):
            self.status_by_component("crafted", {"phase": "Running", "nodeName": node})
            self.assertEqual(self.ask_stream(f"{self.actions}/crafted/console"), 400, node)
        self.status_by_component("crafted", {"phase": "Running", "nodeName": "node01"})
        self.assertEqual(handler.hung_up, 0)
        self.assertEqual(self.ask_stream(f"{self.actions}/crafted/console"), 500, "found, but it hangs up")
        self.assertGreater(handler.hung_up, 0)

    def test_a_pod_of_ones_own_is_no_handler(self):
        handler = self.listener(port=int(self.one.flags[1]))
        code, made = self.call("POST", "/api/v1/namespaces/team/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "labels": {"kubevirt.io": "virt-handler"}},
            "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "podIP": "127.0.0.1", "hostIP": "127.0.0.1"}}, self.token)
        self.assertEqual(code, 201, made)
        self.assertEqual([made["status"].get(member) for member in ("podIP", "hostIP", "phase")], [None, None, "Pending"])
        self.must("POST", self.vmis, vmi("mine"), self.token)
        self.status_by_component("mine", {"phase": "Running", "nodeName": "node01"})
        self.assertEqual(self.ask_stream(f"{self.actions}/mine/console"), 400)
        self.assertFalse(handler.reached())


class WhereNoGuestIs(Standalone):
    """Whoever wrote it: such an address is not dialled."""

    ADDRESSES = ("127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::1", "64:ff9b::127.0.0.1", "2002:7f00:1::",
                 "0.0.0.0", "::", "169.254.169.254", "fe80::1", "224.0.0.1", "255.255.255.255", "localhost", "127.1", "2130706433", "0x7f.1", "")

    def test_nothing_is_dialled(self):
        listeners = [self.listener(address="127.0.0.1"), None]
        port = listeners[0].port
        try:
            listeners[1] = self.listener(address="::1", port=port)
        except OSError:
            listeners.pop()
        self.must("POST", self.vmis, vmi("odd"), self.token)
        own = own_address()
        for address in self.ADDRESSES + ((own, "::ffff:" + own) if own else ()):
            self.status_by_component("odd", at(address))
            for protocol in ("tcp", "udp") if address in ("127.0.0.1", "::1", own) else ("tcp",):
                code = self.ask_stream(f"{self.actions}/odd/portforward/{port}/{protocol}")
                self.assertIn(code, (400, 500), (address, protocol))
        # virtgate itself, too
        self.status_by_component("odd", at("127.0.0.1"))
        self.assertEqual(self.ask_stream(f"{self.actions}/odd/portforward/{self.one.port}"), 500)
        self.assertEqual([one.reached() for one in listeners], [False] * len(listeners))
        self.alive()


class WhatTheOperatorPermits(Standalone):
    flags = ("--guest-networks", "127.0.0.0/8")

    def test_only_networks_of_guests(self):
        guest = self.listener()
        self.must("POST", self.vmis, vmi("here"), self.token)
        self.status_by_component("here", at("127.0.0.1"))
        self.assertEqual(self.ask_stream(f"{self.actions}/here/portforward/{guest.port}"), 101)
        self.assertTrue(guest.reached())
        for address in ("::1", "10.0.0.1"):
            self.status_by_component("here", at(address))
            self.assertEqual(self.ask_stream(f"{self.actions}/here/portforward/{guest.port}"), 500, address)


class NobodyIsNobody(harness.Attack):
    """A front proxy that names an empty user, in front of a standalone server."""

    def setUp(self):
        harness.Scratch.setUp(self)
        cluster.make_authority(self.folder, "proxy-ca")
        cluster.make_certificate(self.folder, "proxy-ca", "front", "front-proxy-client", "clientAuth")
        self.one = self.server("--requestheader-client-ca-file", f"{self.folder}/proxy-ca.crt").start()

    def test_an_empty_user_is_refused(self):
        for name in ("", "   "):
            with self.raw((f"{self.folder}/front.crt", f"{self.folder}/front.key")) as connection:
                connection.sendall(f"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nX-Remote-User: {name}\r\nX-Remote-Group: system:masters\r\n\r\n".encode())
                with connection.makefile("rb") as answer:
                    self.assertEqual(int(answer.readline().split()[1]), 401)


class Gateway(cluster.Cluster):
    """The same in a cluster."""

    def test_an_empty_user_is_refused(self):
        self.machine("kept", runStrategy="Always")
        for name in ("", "  "):
            code, text = self.gateway.as_proxy("PUT", cluster.OF_VM + "kept/stop", {"X-Remote-User": name, "X-Remote-Group": "system:masters"})
            self.assertEqual(code, 401, text)
        self.assertEqual(self.kube("GET", cluster.VMS + "/kept")[1]["spec"]["runStrategy"], "Always")

    def forward(self, name, address, port, protocol="tcp"):
        """The code of a port-forward to a VMI whose first interface says that address."""
        path = f"{faults.VMIS}/{name}"
        found = self.kube("GET", path)[1]
        code, answer = self.kube("PUT", path, {**found, "status": at(address)}, CONTROLLER)
        self.assertEqual(code, 200, answer)
        plain = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=harness.DEADLINE_S)
        with self.gateway.context("front").wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            return upgrade(connection, f"{cluster.BASE}/namespaces/default/virtualmachineinstances/{name}/portforward/{port}/{protocol}", cluster.ADMIN)

    def launcher(self, name, address):
        """The pod that the VMI runs in, which has this address."""
        pods, uid = "/api/v1/namespaces/default/pods", self.kube("GET", f"{faults.VMIS}/{name}")[1]["metadata"]["uid"]
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": name, "uid": uid, "controller": True}
        pod = self.made(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod-" + name, "labels": {"kubevirt.io/created-by": uid}, "ownerReferences": [owner]},
                               "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
        code, answer = self.kube("PUT", f"{pods}/pod-{name}/status", {**pod, "status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}})
        self.assertEqual(code, 200, answer)

    def test_nothing_is_dialled(self):
        guest = Listener()
        self.addCleanup(guest.close)
        self.made(faults.VMIS, vmi("odd"))
        addresses = ("127.0.0.1", "::ffff:127.0.0.1", "::1", "169.254.169.254")
        for address in addresses:
            self.assertEqual(self.forward("odd", address, guest.port), 500, "nobody vouches for it")
        for number, address in enumerate(addresses):
            self.made(faults.VMIS, vmi(f"odd{number}"))
            self.launcher(f"odd{number}", address)
            for protocol in ("tcp", "udp"):
                self.assertEqual(self.forward(f"odd{number}", address, guest.port, protocol), 500, address)
        self.assertFalse(guest.reached())

    def test_a_status_of_ones_own_does_not_choose_the_guest(self):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": "CREATE", "namespace": "default", "name": "mine", "userInfo": {"username": "zoe", "groups": ["dev"]},
            "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachineInstance"},
            "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachineinstances"},
            "object": vmi("mine", status={**at("10.0.0.1"), "VSOCKCID": 7})}}
        code, text = self.gateway.ask("POST", "/virtualmachineinstances-mutate", review)
        self.assertEqual(code, 200, text)
        patch = json.loads(base64.b64decode(json.loads(text)["response"]["patch"]))
        status = next(step["value"] for step in patch if step["path"] == "/status")
        self.assertEqual([status.get(member) for member in ("interfaces", "VSOCKCID", "phase")], [None, None, "Pending"])


class GuestsWithPods(Gateway):
    """An operator says where guests are: there, too, the guest's agent does not choose one of them."""
    flags = (*cluster.Cluster.flags, "--guest-networks", "127.0.0.0/8")

    def test_nothing_is_dialled(self):
        pod = Listener(address="127.0.0.2")
        other = Listener(address="127.0.0.9", port=pod.port)
        for listener in (pod, other):
            self.addCleanup(listener.close)
        self.made(faults.VMIS, vmi("led"))
        self.launcher("led", "127.0.0.2")
        for said in ("127.0.0.9", "127.0.0.2"):
            self.assertEqual(self.forward("led", said, pod.port), 101, said)
            self.assertTrue(pod.reached(), said)
            self.assertFalse(other.reached(), said)


def eviction(name):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "namespace": "default", "name": name, "userInfo": {"username": "drainer"},
        "kind": {"group": "policy", "version": "v1", "kind": "Eviction"}, "resource": {"version": "v1", "resource": "pods"}, "subResource": "eviction",
        "object": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}}}


def make_launcher(test, name):
    """A pod that runs a VM which must migrate when it is evicted."""
    pods = "/api/v1/namespaces/default/pods"
    test.made(faults.VMIS, vmi(name, spec={**SPEC, "evictionStrategy": "LiveMigrate"}))
    found = test.kube("GET", f"{faults.VMIS}/{name}")[1]
    code, answer = test.kube("PUT", f"{faults.VMIS}/{name}", {**found, "status": {
        "phase": "Running", "nodeName": "node01", "conditions": [{"type": "LiveMigratable", "status": "True"}]}}, CONTROLLER)
    test.assertEqual(code, 200, answer)
    pod = test.made(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "launcher-" + name, "labels": {"kubevirt.io": "virt-launcher"}, "annotations": {"kubevirt.io/domain": name}},
        "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
    code, answer = test.kube("PUT", f"{pods}/launcher-{name}/status", {**pod, "status": {"phase": "Running"}})
    test.assertEqual(code, 200, answer)
    return "launcher-" + name


class WhoCallsWebhooks(cluster.Cluster):
    flags = cluster.Cluster.flags + ("--webhook-client-ca-file", "hooks-ca.crt", "--webhook-allowed-names", "kube-apiserver")

    @classmethod
    def write_kubeconfig(cls):
        super().write_kubeconfig()
        cluster.make_authority(cls.folder, "hooks-ca")
        cluster.make_certificate(cls.folder, "hooks-ca", "hooks", "kube-apiserver", "clientAuth")
        cluster.make_certificate(cls.folder, "hooks-ca", "other", "somebody-else", "clientAuth")
        cls.flags = tuple(f"{cls.folder}/{flag}" if flag == "hooks-ca.crt" else flag for flag in cls.flags)

    def evacuates(self, name):
        return self.kube("GET", f"{faults.VMIS}/{name}")[1]["status"].get("evacuationNodeName")

    def test_strangers_have_no_effect(self):
        pod = make_launcher(self, "guarded")
        code, text = self.gateway.ask("POST", "/pod-eviction-validate", eviction(pod))
        self.assertEqual(code, 401, text)
        for certificate in ("other", "foreign"):
            with self.assertRaises((ssl.SSLError, OSError, cluster.http.client.HTTPException)):
                self.gateway.ask("POST", "/pod-eviction-validate", eviction(pod), certificate=certificate)
        self.assertIsNone(self.evacuates("guarded"))
        code, text = self.gateway.ask("POST", "/pod-eviction-validate", eviction(pod), certificate="hooks")
        self.assertEqual((code, json.loads(text)["response"]["status"]["code"]), (200, 429))
        self.assertEqual(self.evacuates("guarded"), "node01")

    def test_every_webhook_is_closed(self):
        for path, group, version, resource, sub, kind in e2e.WEBHOOKS:
            self.assertEqual(self.gateway.ask("POST", path, e2e.review(group, version, resource, sub, kind))[0], 401, path)

    def test_the_certificate_speaks_for_no_user(self):
        self.machine("kept", runStrategy="Always")
        code, text = self.gateway.as_proxy("PUT", cluster.OF_VM + "kept/stop", cluster.ADMIN, certificate="hooks")
        self.assertEqual(code, 401, text)
        self.assertEqual(self.gateway.as_proxy("PUT", cluster.OF_VM + "missing/stop", cluster.ADMIN)[0], 404, "the front proxy's does")


class WhatCannotBeLookedUp(faults.Faulty):
    @classmethod
    def setUpClass(cls):
        cls.begin()

    def test_an_eviction_is_not_let_through(self):
        pod = make_launcher(self, "must-migrate")
        for fault in (fault_proxy.answer(500), fault_proxy.answer(403), fault_proxy.raw()):
            self.faulty(f"/pods/{pod}", fault)
            code, text = self.gateway.ask("POST", "/pod-eviction-validate", eviction(pod))
            said = json.loads(text)["response"]
            self.assertEqual((code, said["allowed"], said.get("status", {}).get("code")), (200, False, 429), text)
        self.api_server.heal()
        code, text = self.gateway.ask("POST", "/pod-eviction-validate", eviction("nobody"))
        self.assertTrue(json.loads(text)["response"]["allowed"], "upstream's answer when there is no such pod")

    def test_a_vm_whose_instance_type_cannot_be_read(self):
        spec = {"runStrategy": "Halted", "instancetype": {"name": "big", "kind": "VirtualMachineClusterInstancetype"},
                "preference": {"name": "big", "kind": "VirtualMachineClusterPreference"},
                "template": {"spec": {"domain": {"devices": {}}, "architecture": "amd64"}}}
        body = e2e.review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine")
        body["request"]["object"]["spec"] = spec
        for fault in (fault_proxy.answer(500), fault_proxy.answer(503), fault_proxy.raw()):
            for path, unreadable in (("/virtualmachines-validate", "/virtualmachineclusterinstancetypes/big"),
                                     ("/virtualmachines-mutate", "/virtualmachineclusterpreferences/big")):
                self.faulty(unreadable, fault)
                code, text = self.gateway.ask("POST", path, body)
                said = json.loads(text)["response"]
                self.assertEqual((code, said["allowed"]), (200, False), (path, text))
                self.assertEqual((said["status"]["code"], said["status"]["reason"]), (503, "ServiceUnavailable"), (path, text))
                self.assertGreater(said["status"]["details"]["retryAfterSeconds"], 0)


if __name__ == "__main__":
    unittest.main()
