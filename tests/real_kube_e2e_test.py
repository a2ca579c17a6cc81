#!/usr/bin/env python3
"""`virtgate cluster` in virt-api's place, under a real kube-apiserver with etcd: registered with it as the webhooks and the
aggregated group of KubeVirt, and asked through it by kubectl and by WebSockets.

VIRTGATE_KUBE_APISERVER and VIRTGATE_ETCD name those two programs; without them everything here is skipped. VIRTGATE_BINARY
names ours. All of them listen on the loopback address only. What KubeVirt's operator would install (definitions of the
kinds, roles, accounts) is taken from a `virtgate serve --api-only`. Every wait is for an event, with a deadline.
"""
import asyncio
import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import types
import unittest

from support import cluster
from support import kubectl as kubectl_side
from support import serve as e2e
from support import streams
from support.real_kube import (
    API_SERVER, CONTROLLER, DEADLINE_S, ETCD, Installer, KUBEVIRT,
    Kube, MIGRATIONS, NAMESPACE, NODE, NO_KUBECTL, RBAC,
    StandInNode, VMIS, VMS, named,
)

GROUP = "/apis/subresources.kubevirt.io"
BASE = GROUP + "/v1"
OF_VM, OF_VMI = (f"{BASE}/namespaces/{NAMESPACE}/{plural}/" for plural in ("virtualmachines", "virtualmachineinstances"))


def why_not():
    missing = [name for name, program in (("VIRTGATE_KUBE_APISERVER", API_SERVER), ("VIRTGATE_ETCD", ETCD)) if not os.access(program, os.X_OK)]
    if missing:
        return f"{' and '.join(missing)} must name programs; nothing is known about how virtgate does under a real kube-apiserver"
    return NO_KUBECTL


class World:
    """All of it, running. One serves the tests of all classes."""

    def __init__(self, clean_up):
        self.folder = tempfile.mkdtemp(prefix="virtgate-real-kube-")
        clean_up(shutil.rmtree, self.folder, ignore_errors=True)
        self.kube = Kube(self.folder)
        clean_up(self.kube.stop)
        self.kube.start()
        self.kube.write_kubeconfig("admin.kubeconfig", {"client-certificate": f"{self.folder}/admin.crt", "client-key": f"{self.folder}/admin.key"})
        self.installer = Installer(self.kube, self.folder)
        self.installer.install()
        self.node = StandInNode(self.kube, self.folder)
        clean_up(self.node.stop)
        self.node.start()
        cluster.make_authority(self.folder, "serving-ca")
        cluster.make_certificate(self.folder, "serving-ca", "serving", "virt-api.kubevirt.pod.cluster.local", "serverAuth",
                                 names="DNS:virt-api.kubevirt.svc,IP:127.0.0.1")
        self.gateway = cluster.Gateway(self.folder, "--console-server-port", str(self.node.port), "--handler-cert-file", f"{self.node.pki}/client.crt",
                                       "--handler-key-file", f"{self.node.pki}/client.key", "--allow-cache-seconds", "0",
                                       "--guest-networks", "127.0.0.0/8").start()
        clean_up(self.gateway.stop)
        self.installer.register(self.gateway.port)


WORLD = None


def setUpModule():
    global WORLD
    if why_not():
        print("SKIPPED: " + why_not(), file=sys.stderr)
    else:
        WORLD = World(unittest.addModuleCleanup)


@unittest.skipIf(why_not(), "no kube-apiserver and etcd to run under")
class RealKube(unittest.TestCase):
    """Tests leave the cluster as they found it, but for objects with names of their own."""

    def setUp(self):
        self.kube, self.gateway, self.node, self.installer, self.folder = WORLD.kube, WORLD.gateway, WORLD.node, WORLD.installer, WORLD.folder

    def machine(self, name, **spec):
        return self.kube.made(VMS, named("VirtualMachine", name, "kubevirt.io/v1", spec={"template": cluster.TEMPLATE, "runStrategy": "Manual", **spec}))

    def instance(self, name, spec=None, **status):
        """A running one, as the controller would leave it."""
        self.kube.made(VMIS, named("VirtualMachineInstance", name, "kubevirt.io/v1", spec=spec or cluster.TEMPLATE["spec"]))
        return self.kube.patched(f"{VMIS}/{name}", {"status": {
            "phase": "Running", "nodeName": NODE, "interfaces": [{"name": "default", "ipAddress": "127.0.0.1"}],
            "conditions": [{"type": "LiveMigratable", "status": "True"}], **status}}, CONTROLLER)

    def put(self, path, body=None, headers=None):
        return self.kube.ask("PUT", path, "" if body is None else body, headers)

    def starts(self, name):
        self.machine(name)
        code, answer = self.put(OF_VM + name + "/start")
        self.assertEqual(code, 202, answer)
        found = self.kube.good("GET", f"{VMS}/{name}")
        self.assertEqual(found["status"]["stateChangeRequests"], [{"action": "Start"}])


class Registration(RealKube):
    def test_every_definition_is_sound(self):
        self.assertGreater(len(self.installer.names), 15)
        for name in self.installer.names:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name
            self.assertIn(self.installer.condition(path, "NonStructuralSchema"), (None, "False"), name)
            self.assertEqual(self.installer.condition(path, "NamesAccepted"), "True", name)

    def test_discovery(self):
        found = self.kube.good("GET", GROUP)
        self.assertEqual([v["version"] for v in found["versions"]], ["v1", "v1alpha3"])
        for version in ("v1", "v1alpha3"):
            code, text = self.kube.kubectl("get", "--raw", f"{GROUP}/{version}")
            self.assertEqual(code, 0, text)
            self.assertIn("virtualmachines/start", [r["name"] for r in json.loads(text)["resources"]])
        code, text = self.kube.kubectl("api-resources", "--api-group", "kubevirt.io")
        self.assertEqual(code, 0, text)
        self.assertIn("virtualmachineinstances", text)

    def test_aggregated_discovery(self):
        def group():
            found = self.kube.good("GET", "/apis", headers={"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
            self.assertEqual(found["kind"], "APIGroupDiscoveryList")
            versions = [v for item in found["items"] if item["metadata"]["name"] == "subresources.kubevirt.io" for v in item["versions"]]
            return [v["version"] for v in versions if v.get("freshness") == "Current"] == ["v1", "v1alpha3"]
        cluster.until("the group is in the aggregated document", group, DEADLINE_S)

    def test_openapi(self):
        version, start = "apis/subresources.kubevirt.io/v1", OF_VM.replace(NAMESPACE, "{namespace}") + "{name}/start"
        cluster.until("the group is in the list", lambda: version in self.kube.good("GET", "/openapi/v3")["paths"], DEADLINE_S)
        place = self.kube.good("GET", "/openapi/v3")["paths"][version]["serverRelativeURL"]
        self.assertIn(start, self.kube.good("GET", place)["paths"])
        cluster.until("the group is in the old document", lambda: start in self.kube.good("GET", "/openapi/v2")["paths"], DEADLINE_S)
        code, text = self.kube.kubectl("explain", "virtualmachines.spec.runStrategy")
        self.assertEqual(code, 0, text)

    def test_documents_for_everybody(self):
        nobody_special = {"Impersonate-User": "zoe", "Impersonate-Group": "system:authenticated"}
        self.assertEqual(self.kube.good("GET", BASE + "/version", headers=nobody_special)["gitVersion"], e2e.KUBEVIRT_RELEASE)
        self.assertEqual(self.kube.good("GET", BASE + "/guestfs", headers=nobody_special),
                         {"registry": "example.org/kv", "tag": e2e.KUBEVIRT_RELEASE, "digest": "", "imagePrefix": "p-", "gsImage": "gs"})
        health = self.kube.good("GET", BASE + "/healthz")
        self.assertEqual(health["apiserver"]["connectivity"], "ok")
        self.assertEqual(health["apiserver"]["version"]["gitVersion"], self.kube.good("GET", "/version")["gitVersion"])
        self.assertEqual(health["config-resource-version"], self.kube.good("GET", KUBEVIRT)["metadata"]["resourceVersion"])


class Webhooks(RealKube):
    def test_a_bad_machine_is_refused_with_every_cause(self):
        bad = named("VirtualMachine", "bad", "kubevirt.io/v1", spec={"runStrategy": "Halted", "template": {"spec": {
            "domain": {"devices": {"disks": [{"name": "a", "disk": {"bus": "nope"}}]}, "memory": {"guest": "64Mi"}},
            "volumes": [{"name": "b", "containerDisk": {"image": "i"}}]}}})
        code, answer = self.kube.ask("POST", VMS, bad)
        self.assertEqual((code, answer["reason"]), (422, "Invalid"), answer)
        fields = {cause["field"] for cause in answer["details"]["causes"]}
        self.assertLessEqual({"spec.template.spec.domain.devices.disks[0].name", "spec.template.spec.domain.devices.disks[0].disk.bus"}, fields, answer)
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(bad))
        self.assertEqual(code, 1, text)
        self.assertIn("disks[0]", text)
        self.assertEqual(self.kube.ask("GET", VMS + "/bad")[0], 404)

    def test_a_good_machine_is_defaulted(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.virtual_machine("good")))
        self.assertEqual(code, 0, text)
        spec = self.kube.good("GET", VMS + "/good")["spec"]["template"]["spec"]
        self.assertTrue(spec["architecture"])
        self.assertTrue(spec["domain"]["machine"]["type"])

    def test_an_instance_is_defaulted_and_guarded(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.instance("alone")))
        self.assertEqual(code, 0, text)
        found = self.kube.good("GET", VMIS + "/alone")
        self.assertTrue(found["spec"]["domain"]["firmware"]["uuid"])
        code, text = self.kube.kubectl("patch", "vmi", "alone", "--type=merge", "-p", '{"spec":{"domain":{"memory":{"guest":"128Mi"}}}}')
        self.assertEqual(code, 1, text)

    def test_the_older_version(self):
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps({**kubectl_side.virtual_machine("older"), "apiVersion": "kubevirt.io/v1alpha3"}))
        self.assertEqual(code, 0, text)
        self.assertTrue(self.kube.good("GET", VMS + "/older")["spec"]["template"]["spec"]["architecture"], "defaulted all the same")

    def test_apply_on_the_servers_side(self):
        machine = json.dumps(kubectl_side.virtual_machine("applied"))
        for _ in range(2):
            code, text = self.kube.kubectl("apply", "--server-side", "-f", "-", stdin=machine)
            self.assertEqual(code, 0, text)
        code, text = self.kube.kubectl("delete", "vm", "applied", "--wait=false")
        self.assertEqual(code, 0, text)

    def test_every_kind_can_be_created(self):
        objects = [kubectl_side.replica_set("set", 1), kubectl_side.pool("pool", 1),
                   kubectl_side.instancetype("VirtualMachineInstancetype", "it"), kubectl_side.instancetype("VirtualMachineClusterInstancetype", "cit")]
        code, text = self.kube.kubectl("create", "-f", "-", stdin=json.dumps(kubectl_side.listed(*objects)))
        self.assertEqual(code, 0, text)
        code, text = self.kube.kubectl("scale", "vmirs/set", "--replicas=3")
        self.assertEqual(code, 0, text)
        self.assertEqual(self.kube.kubectl("get", "vmirs", "set", "-o", "jsonpath={.spec.replicas}"), (0, "3"))

    def test_rules_look_objects_up(self):
        migration = named("VirtualMachineInstanceMigration", "lost", "kubevirt.io/v1", spec={"vmiName": "not-there"})
        code, answer = self.kube.ask("POST", MIGRATIONS, migration)
        self.assertGreaterEqual(code, 400, answer)
        self.assertIn("not-there", answer["message"])

    def test_an_eviction_becomes_a_migration(self):
        self.instance("guarded", spec={**cluster.TEMPLATE["spec"], "evictionStrategy": "LiveMigrate"})
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        self.kube.made(pods, named("Pod", "virt-launcher-guarded", meta={"labels": {"kubevirt.io": "virt-launcher"},
                                                                        "annotations": {"kubevirt.io/domain": "guarded"}},
                                   spec={"nodeName": NODE, "containers": [{"name": "c", "image": "i"}]}))
        eviction = named("Eviction", "virt-launcher-guarded", "policy/v1")
        code, answer = self.kube.ask("POST", pods + "/virt-launcher-guarded/eviction?dryRun=All", {**eviction, "deleteOptions": {"dryRun": ["All"]}})
        self.assertEqual(code, 429, answer)
        self.assertFalse(self.kube.good("GET", VMIS + "/guarded")["status"].get("evacuationNodeName"))
        code, answer = self.kube.ask("POST", pods + "/virt-launcher-guarded/eviction", eviction)
        self.assertEqual(code, 429, answer)
        self.assertEqual(self.kube.good("GET", VMIS + "/guarded")["status"]["evacuationNodeName"], NODE)
        code, answer = self.put(OF_VMI + "guarded/evacuate/cancel", {"evacuationNodeName": NODE})
        self.assertEqual(code, 200, answer)
        self.assertFalse(self.kube.good("GET", VMIS + "/guarded")["status"].get("evacuationNodeName"))


class Actions(RealKube):
    def test_start_and_stop(self):
        self.starts("worker")
        empty = os.path.join(self.folder, "empty.json")
        with open(empty, "w") as file:
            file.write("{}")
        self.machine("halted", runStrategy="Halted")
        code, text = self.kube.kubectl("replace", "--raw", OF_VM + "halted/start", "-f", empty)
        self.assertEqual(code, 0, text)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Always")
        code, text = self.kube.kubectl("replace", "--raw", OF_VM + "halted/start", "-f", empty)
        self.assertEqual(code, 1, text)
        self.assertIn("Always", text)
        code, answer = self.put(OF_VM.replace("/v1/", "/v1alpha3/", 1) + "halted/stop", {"dryRun": ["All"]})
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Always")
        code, answer = self.put(OF_VM + "halted/stop")
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/halted")["spec"]["runStrategy"], "Halted")

    def test_a_word_for_dry_runs_that_nobody_knows(self):
        self.machine("rehearsed", runStrategy="Halted")
        code, answer = self.put(OF_VM + "rehearsed/start", {"dryRun": ["all"]})
        self.assertEqual((code, answer["reason"]), (500, "InternalError"), answer)
        self.assertEqual(self.kube.good("GET", VMS + "/rehearsed")["spec"]["runStrategy"], "Halted")

    def test_a_patch_that_does_not_apply_has_no_details(self):
        """By which a race is told from a refusal."""
        self.machine("raced", runStrategy="Halted")
        patch = [{"op": "test", "path": "/spec/runStrategy", "value": "Always"}, {"op": "replace", "path": "/spec/runStrategy", "value": "Manual"}]
        code, answer = self.kube.ask("PATCH", VMS + "/raced", patch, {"Content-Type": "application/json-patch+json"})
        self.assertEqual((code, answer["reason"], answer.get("details") or {}), (422, "Invalid", {}), answer)

    def test_restart_and_stop_of_a_running_one(self):
        self.machine("runner", runStrategy="Always")
        uid = self.instance("runner")["metadata"]["uid"]
        code, answer = self.put(OF_VM + "runner/restart", {"gracePeriodSeconds": 0})
        self.assertEqual(code, 202, answer)
        found = self.kube.good("GET", VMS + "/runner")
        self.assertEqual(found["status"]["stateChangeRequests"], [{"action": "Stop", "uid": uid}, {"action": "Start"}])
        self.assertEqual(self.kube.good("GET", VMIS + "/runner")["spec"]["terminationGracePeriodSeconds"], 1)
        code, answer = self.put(OF_VM + "runner/restart")
        self.assertEqual(code, 500, answer)
        code, answer = self.put(OF_VM + "runner/stop", {"gracePeriod": 5})
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.kube.good("GET", VMS + "/runner")["spec"]["runStrategy"], "Halted")

    def test_migrate(self):
        self.machine("mover", runStrategy="Always")
        self.instance("mover")
        code, answer = self.put(OF_VM + "mover/migrate")
        self.assertEqual(code, 202, answer)
        made = [m for m in self.kube.good("GET", MIGRATIONS)["items"] if m["spec"]["vmiName"] == "mover"]
        self.assertEqual(len(made), 1)
        self.assertTrue(made[0]["metadata"]["name"].startswith("kubevirt-migrate-vm-"))
        self.assertEqual(made[0]["metadata"]["labels"]["kubevirt.io/vmi-name"], "mover")
        code, answer = self.put(OF_VM + "mover/migrate")
        self.assertEqual((code, answer["reason"]), (409, "Conflict"), answer)
        self.assertIn(made[0]["metadata"]["name"], answer["message"])
        self.machine("stayer")
        self.assertEqual(self.put(OF_VM + "stayer/migrate")[0], 404)

    def test_volumes(self):
        self.machine("plugged", runStrategy="Halted")
        added = {"name": "v", "disk": {"disk": {"bus": "scsi"}}, "volumeSource": {"persistentVolumeClaim": {"claimName": "c"}}}
        code, answer = self.put(OF_VM + "plugged/addvolume", added)
        self.assertEqual(code, 202, answer)
        volumes = self.kube.good("GET", VMS + "/plugged")["spec"]["template"]["spec"]["volumes"]
        self.assertEqual(volumes, [{"name": "v", "persistentVolumeClaim": {"claimName": "c", "hotpluggable": True}}])
        code, answer = self.put(OF_VM + "plugged/addvolume", added)
        self.assertEqual((code, answer["reason"], answer["details"]["kind"]), (409, "Conflict", "virtualmachine"), answer)
        code, answer = self.put(OF_VM + "plugged/addvolume", {**added, "name": "w", "volumeSource": {"persistentVolumeClaim": {"claimName": "d"}},
                                                              "disk": {"disk": {"bus": "nope"}}})
        self.assertEqual((code, answer["reason"]), (422, "Invalid"), answer)
        code, answer = self.put(OF_VM + "plugged/removevolume", {"name": "v"})
        self.assertEqual(code, 202, answer)

    def test_what_the_node_does(self):
        self.instance("paused")
        code, answer = self.put(OF_VMI + "paused/pause")
        self.assertEqual(code, 200, answer)
        self.instance("nowhere", nodeName="node99")
        code, answer = self.put(OF_VMI + "nowhere/pause")
        self.assertEqual((code, answer["reason"]), (400, "BadRequest"), answer)

    def test_expansion(self):
        self.kube.made("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes",
                       kubectl_side.instancetype("VirtualMachineClusterInstancetype", "wide"))
        self.machine("typed", instancetype={"name": "wide", "kind": "VirtualMachineClusterInstancetype"},
                     template={"spec": {"domain": {"devices": {}}}})
        found = self.kube.good("GET", OF_VM + "typed/expand-spec")
        self.assertEqual(found["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"], 2)
        self.assertNotIn("instancetype", found["spec"])
        sent = self.kube.good("PUT", f"{BASE}/namespaces/{NAMESPACE}/expand-vm-spec", named("VirtualMachine", "sent", "kubevirt.io/v1", spec={
            "runStrategy": "Halted", "instancetype": {"name": "wide"}, "template": {"spec": {"domain": {"devices": {}}}}}))
        self.assertEqual(sent["spec"]["template"]["spec"]["domain"]["memory"]["guest"], "1Gi")

    def test_who_may_not_is_told_so(self):
        self.machine("private")
        zoe = {"Impersonate-User": "zoe", "Impersonate-Group": "dev"}
        code, answer = self.put(OF_VM + "private/start", headers=zoe)
        self.assertEqual((code, answer["reason"]), (403, "Forbidden"), answer)
        code, text = self.kube.kubectl("--as=zoe", "--as-group=dev", "get", "--raw", OF_VMI + "private/guestosinfo")
        self.assertEqual(code, 1, text)
        self.assertIn("Forbidden", text.replace("forbidden", "Forbidden"))
        self.kube.made(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", named(
            "RoleBinding", "dev-edits", "rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            subjects=[{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "dev"}]))
        cluster.until("the role counts", lambda: self.put(OF_VM + "private/start", headers=zoe)[0] == 202, DEADLINE_S)
        # The API server looks at the first part of the name alone and lets it pass; the gateway asks about the whole.
        code, answer = self.kube.ask("GET", OF_VMI + "private/vnc/screenshot", headers=zoe)
        self.assertEqual(code, 401, answer)
        code, answer = self.kube.ask("GET", OF_VMI + "private/vnc", headers=zoe)
        self.assertEqual(code, 404, answer)

    def test_only_the_front_proxy_is_believed(self):
        code, text = self.gateway.ask("PUT", OF_VM + "private/start", headers=cluster.ADMIN)
        self.assertEqual(code, 401, text)
        with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
            self.gateway.ask("PUT", OF_VM + "private/start", headers=cluster.ADMIN, certificate="admin")


class Stories(RealKube):
    """The journal through the APIService of deploy/trace.yaml: what operators ask, as tests/request_stories_e2e_test.py has it on one machine."""
    SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1.trace.virtgate.io"

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../deploy/trace.yaml")) as file:
            manifest = file.read()
        authority = base64.b64encode(e2e.read(WORLD.folder, "serving-ca.crt").encode()).decode()
        manifest = manifest.replace("CA_BUNDLE", authority).replace("port: 443", f"port: {WORLD.gateway.port}")
        code, text = WORLD.kube.kubectl("apply", "-f", "-", stdin=manifest)
        assert code == 0, text
        cluster.until("the group is available", lambda: WORLD.installer.condition(cls.SERVICE, "Available") == "True", DEADLINE_S)

    def request(self, name, action):
        """The newest one, by kubectl."""
        def found():
            code, text = self.kube.kubectl("get", "vgr", "-n", NAMESPACE, "-o", "json", "--field-selector", f"spec.name={name},spec.subresource={action}")
            return code == 0 and json.loads(text)["items"]
        return cluster.until("the request is told", found, DEADLINE_S)[-1]

    def told(self, request, *parts):
        """The same in kubectl's list, in its description and in the explanation."""
        name = request["metadata"]["name"]
        code, table = self.kube.kubectl("get", "vgr", "-n", NAMESPACE)
        self.assertEqual(code, 0, table)
        self.assertIn(name, table)
        code, text = self.kube.kubectl("describe", "vgr", name, "-n", NAMESPACE)
        self.assertEqual(code, 0, text)
        told = subprocess.run([e2e.BINARY, "explain", name, "--kubeconfig", f"{self.folder}/admin.kubeconfig"], capture_output=True, text=True, timeout=60)
        self.assertEqual(told.returncode, 0, told.stderr)
        for part in parts:
            self.assertIn(part, kubectl_side.one_line(text))
            self.assertIn(part, kubectl_side.one_line(told.stdout))

    def test_migrate_fails_at_once(self):
        self.machine("stuck")
        self.instance("stuck", phase="Scheduling")
        code, answer = self.put(OF_VM + "stuck/migrate")
        self.assertEqual(code, 409, answer)
        request = self.request("stuck", "migrate")
        self.told(request, "only a running VMI can be migrated", "virtualmachines/migrate", "refused (409 Conflict)")
        self.assertTrue(any("virtualmachineinstances" in one["object"] for one in request["status"]["seen"]), request)
        self.assertNotIn("objects", request["status"])

    def test_accepted_but_nothing_happens(self):
        self.machine("waiting")
        self.assertEqual(self.put(OF_VM + "waiting/start")[0], 202)
        request = self.request("waiting", "start")
        self.assertEqual(request["status"]["code"], 202)
        self.told(request, "a start was accepted and no VMI has been created for it yet", "was changed")

    def test_a_patch_here_and_an_object_there(self):
        self.machine("moved", runStrategy="Always")
        self.instance("moved")
        code, answer = self.put(OF_VM + "moved/migrate")
        self.assertEqual(code, 202, answer)
        self.machine("begun")
        self.assertEqual(self.put(OF_VM + "begun/start")[0], 202)
        self.assertEqual(self.put(OF_VMI + "moved/pause")[0], 200)
        migrated, started, paused = (self.request(*one)["status"]["objects"][0] for one in (("moved", "migrate"), ("begun", "start"), ("moved", "pause")))
        made = [one for one in self.kube.good("GET", MIGRATIONS)["items"] if one["spec"]["vmiName"] == "moved"][0]["metadata"]
        self.assertEqual((migrated["action"], migrated["uid"]), ("was created", made["uid"]))
        self.assertEqual((started["action"], started["object"]), ("was changed", f"kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachines/begun"))
        self.assertEqual(paused["action"], "called the node")
        self.told(self.request("moved", "migrate"), made["name"], made["uid"])

    def test_a_refused_write_is_told_with_its_rule(self):
        bad = named("VirtualMachine", "unsound", "kubevirt.io/v1", spec={"runStrategy": "Halted", "template": {"spec": {
            "domain": {"devices": {"disks": [{"name": "a", "disk": {}}]}, "memory": {"guest": "64Mi"}}}}})
        self.assertEqual(self.kube.kubectl("create", "-f", "-", stdin=json.dumps(bad))[0], 1)
        code, text = self.kube.kubectl("get", "vgr", "-n", NAMESPACE, "-o", "json", "--field-selector", "spec.name=unsound")
        self.assertEqual(code, 0, text)
        found = json.loads(text)["items"][-1]
        self.assertTrue(found["status"]["rules"][0]["id"], found)
        self.assertEqual(found["status"]["decidedBy"], "webhook /virtualmachines-validate")


class Streams(RealKube):
    def world(self, tls=None):
        """Where the clients of streams connect: the API server and not the gateway."""
        return types.SimpleNamespace(server=types.SimpleNamespace(host="127.0.0.1", port=self.kube.port), tls=tls or self.kube.context, admin={})

    def echo(self, path, *messages):
        """Sends them, awaits them back, and returns the code of the close."""
        async def run():
            client = await streams.Client.open(self.world(), path)
            for message in messages:
                await client.echo(message)
            return (await client.close()).code
        return asyncio.run(asyncio.wait_for(run(), DEADLINE_S))

    def refusal(self, path):
        with self.assertRaises(streams.Refused) as refused:
            asyncio.run(asyncio.wait_for(streams.Client.open(self.world(), path), DEADLINE_S))
        return refused.exception

    def test_console_and_display(self):
        self.instance("shown")
        for name in ("console", "vnc"):
            self.assertEqual(self.echo(OF_VMI + "shown/" + name, b"hello", bytes(range(256)) * 4096), 1000, name)

    def test_browsers_bring_their_token_among_the_subprotocols(self):
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        self.kube.made(accounts, named("ServiceAccount", "browser"))
        self.kube.made(RBAC + "/clusterrolebindings", named(
            "ClusterRoleBinding", "browser", "rbac.authorization.k8s.io/v1", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            subjects=[{"kind": "ServiceAccount", "name": "browser", "namespace": NAMESPACE}]))
        token = self.kube.made(accounts + "/browser/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]
        spelled = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        self.instance("browsed")

        async def run():
            client = await streams.Client.open(self.world(ssl.create_default_context(cafile=f"{self.folder}/kube-ca.crt")), OF_VMI + "browsed/console",
                                               protocols=f"base64url.bearer.authorization.k8s.io.{spelled}, plain.kubevirt.io")
            self.assertEqual(client.headers["sec-websocket-protocol"], "plain.kubevirt.io")
            await client.echo(b"from a browser")
            return (await client.close()).code
        self.assertEqual(asyncio.run(asyncio.wait_for(run(), DEADLINE_S)), 1000)

    def test_ports_of_the_guest(self):
        self.machine("served")
        uid = self.kube.good("GET", VMS + "/served")["metadata"]["uid"]
        self.instance("served")
        self.assertEqual(self.echo(f"{OF_VMI}served/portforward/{self.node.guest_port}", b"GET /", bytes(100000)), 1000)
        self.assertEqual(self.echo(f"{OF_VMI}served/portforward/{self.node.guest_port}/udp", b"datagram"), 1000)
        self.assertEqual(self.refusal(f"{OF_VM}served/portforward/{self.node.guest_port}").status, 409)
        self.kube.patched(VMS + "/served/status", {"status": {"created": True}})
        self.kube.patched(VMIS + "/served", {"metadata": {"ownerReferences": [
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "served", "uid": uid, "controller": True}]}}, CONTROLLER)
        self.assertEqual(self.echo(f"{OF_VM}served/portforward/{self.node.guest_port}", b"through the machine"), 1000)

    def test_what_cannot_be_opened_is_plain_http(self):
        self.assertEqual(self.refusal(OF_VMI + "missing/console").status, 404)
        self.instance("failed", phase="Failed")
        refused = self.refusal(OF_VMI + "failed/console")
        self.assertEqual(refused.status, 409)
        self.assertEqual(json.loads(refused.body)["reason"], "Conflict")


class Change(RealKube):
    """What goes on while the servers behind come and go. Each test leaves all of them running."""

    def graph(self, name):
        return self.kube.ask("GET", OF_VM + name + "/objectgraph", headers={"Content-Type": "application/json"})

    def set_gates(self, *gates):
        self.kube.patched(KUBEVIRT, {"spec": {"configuration": {"developerConfiguration": {"featureGates": list(gates)}}}})

    def follows(self, name):
        """A change of the configuration comes through."""
        self.machine(name)
        for gates, wanted in (((), 400), (("ObjectGraph",), 200), ((), 400)):
            self.set_gates(*gates)
            cluster.until(f"gates {gates} count", lambda: self.graph(name)[0] == wanted, DEADLINE_S)

    def works(self, name):
        """The API server takes part again: webhooks, reviews, look-ups and watches."""
        def answered():
            code, _ = self.kube.ask("GET", BASE + "/version")
            return code == 200 and self.gateway.ask("GET", "/readyz")[0] == 200
        cluster.until("the group answers again", answered, DEADLINE_S)
        self.starts(name)
        self.follows(name + "-2")

    def test_configuration_is_live(self):
        self.follows("configured")

    def test_kube_apiserver_restarts(self):
        self.starts("before-restart")
        self.kube.server.stop()
        cluster.until("the gateway sees it", lambda: self.gateway.ask("GET", "/readyz")[0] != 200, DEADLINE_S)
        self.assertEqual(self.gateway.ask("GET", "/livez")[0], 200)
        self.kube.start_server()
        self.works("after-restart")

    def test_kube_apiserver_dies(self):
        self.kube.server.kill()
        self.kube.start_server()
        self.works("after-death")

    def test_streams_end_when_the_api_server_dies(self):
        self.instance("cut")

        async def run():
            world = types.SimpleNamespace(server=types.SimpleNamespace(host="127.0.0.1", port=self.kube.port), tls=self.kube.context, admin={})
            client = await streams.Client.open(world, OF_VMI + "cut/console")
            await client.echo(b"while it lives")
            self.assertIn(gauge, self.gateway.ask("GET", "/metrics")[1])
            self.kube.server.kill()
            return await client.end()
        gauge = 'kubevirt_console_active_connections{namespace="default",vmi="cut"}'
        self.assertIsNone(asyncio.run(asyncio.wait_for(run(), DEADLINE_S)).code)
        cluster.until("the stream is not counted any more", lambda: gauge not in self.gateway.ask("GET", "/metrics")[1], DEADLINE_S)
        self.kube.start_server()
        self.works("after-streams")

    def test_what_happened_during_an_absence_is_caught_up_with(self):
        """The gateway's watches continue where nobody can continue them: what they know was forgotten."""
        self.machine("absent")
        cluster.until("the gate is off", lambda: self.graph("absent")[0] == 400, DEADLINE_S)
        os.kill(self.gateway.process.pid, signal.SIGSTOP)
        try:
            self.set_gates("ObjectGraph")
            for number in range(20):
                self.kube.patched(KUBEVIRT, {"metadata": {"annotations": {"n": str(number)}}})
            self.kube.compact()
            self.kube.server.kill()
            self.kube.start_server()
        finally:
            os.kill(self.gateway.process.pid, signal.SIGCONT)
        cluster.until("the gate is on", lambda: self.graph("absent")[0] == 200, DEADLINE_S)
        self.works("after-absence")

    def test_its_account_gets_another_token(self):
        account = "/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-apiserver"
        old = e2e.read(self.folder, "token")
        self.kube.good("DELETE", account)
        self.kube.made(account.rpartition("/")[0], named("ServiceAccount", "kubevirt-apiserver"))
        self.installer.make_account()
        cluster.until("the old token is nobody's", lambda: self.kube.ask_with_token(old, KUBEVIRT) == 401, DEADLINE_S)
        self.works("after-token")

    def test_the_front_proxy_gets_other_keys(self):
        cluster.make_authority(self.folder, "front-ca")
        cluster.make_certificate(self.folder, "front-ca", "front", "front-proxy-client", "clientAuth")
        self.kube.server.stop()
        self.kube.start_server()
        self.works("after-keys")

    def test_etcd_restarts(self):
        self.kube.etcd.stop()
        self.kube.start_etcd()
        cluster.until("kube-apiserver is ready again", self.kube.ready, DEADLINE_S)
        self.works("after-etcd")

    def test_the_gateway_restarts(self):
        self.gateway.stop()
        code, answer = self.kube.ask("POST", VMS, kubectl_side.virtual_machine("while-away"))
        self.assertEqual(code, 500, answer)
        self.gateway.start()
        self.works("after-gateway")


if __name__ == "__main__":
    unittest.main(verbosity=2)
