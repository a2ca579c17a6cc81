#!/usr/bin/env python3
"""Kubernetes' own kinds that `virtgate serve` keeps and nothing runs: each is created, read in every form, patched,
watched and deleted, over plain HTTP and with kubectl.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import base64
import contextlib
import json
import os
import subprocess
import tempfile
import unittest

from support import kubectl as kubectl_tests
from support import serve as e2e

PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
POD = {"containers": [{"name": "c", "image": "registry/i:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": POD}
ENDING = {"metadata": {"labels": {"app": "a"}}, "spec": {**POD, "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "a"}}


def certificate_request():
    with tempfile.TemporaryDirectory() as folder:
        key, request = os.path.join(folder, "key"), os.path.join(folder, "csr")
        subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                        "-subj", "/CN=somebody", "-out", request], check=True, capture_output=True)
        with open(request, "rb") as file:
            return base64.b64encode(file.read()).decode()


# apiVersion, plural, whether it is namespaced, the object without its name, and the first cells of its row behind the name.
KINDS = [
    ("v1", "persistentvolumes", False, {"kind": "PersistentVolume", "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "s", "path": "/p"}}},
     ["1Gi", "RWO", "Retain", "Pending", "", "", "<unset>", ""]),
    ("v1", "endpoints", True, {"kind": "Endpoints", "subsets": [
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}]},
     ["10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more..."]),
    ("v1", "limitranges", True, {"kind": "LimitRange", "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}}, []),
    ("v1", "podtemplates", True, {"kind": "PodTemplate", "template": TEMPLATE}, ["c", "registry/i:1", "app=a"]),
    ("v1", "replicationcontrollers", True, {"kind": "ReplicationController", "spec": {"replicas": 2, "template": TEMPLATE}},
     [2, 0, 0]),
    ("apps/v1", "deployments", True, {"kind": "Deployment", "spec": {"selector": SELECTOR, "template": TEMPLATE}},
     ["0/1", 0, 0]),
    ("apps/v1", "replicasets", True, {"kind": "ReplicaSet", "spec": {"selector": SELECTOR, "template": TEMPLATE}}, [1, 0, 0]),
    ("apps/v1", "statefulsets", True, {"kind": "StatefulSet", "spec": {
        "selector": SELECTOR, "template": TEMPLATE, "serviceName": "s", "volumeClaimTemplates": [
            {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}},
     ["0/1"]),
    ("apps/v1", "daemonsets", True, {"kind": "DaemonSet", "spec": {"selector": SELECTOR, "template": TEMPLATE}},
     [0, 0, 0, 0, 0, "<none>"]),
    ("batch/v1", "jobs", True, {"kind": "Job", "spec": {"template": ENDING}}, ["Running", "0/1", ""]),
    ("batch/v1", "cronjobs", True, {"kind": "CronJob", "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": ENDING}}}},
     ["*/5 * * * *", "<none>", "False", 0, "<none>"]),
    ("autoscaling/v2", "horizontalpodautoscalers", True, {"kind": "HorizontalPodAutoscaler", "spec": {
        "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}},
     ["Deployment/d", "cpu: <unknown>/80%", "1", 3, 0]),
    ("autoscaling/v1", "horizontalpodautoscalers", True, {"kind": "HorizontalPodAutoscaler", "spec": {
        "maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "targetCPUUtilizationPercentage": 55}},
     ["Deployment/d", "cpu: <unknown>/55%", "1", 3, 0]),
    ("policy/v1", "poddisruptionbudgets", True, {"kind": "PodDisruptionBudget", "spec": {"minAvailable": "50%", "selector": SELECTOR}},
     ["50%", "N/A", 0]),
    ("networking.k8s.io/v1", "ingresses", True, {"kind": "Ingress", "spec": {"rules": [{"host": "a.example", "http": {"paths": [
        {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}},
     ["<none>", "a.example", "", "80"]),
    ("networking.k8s.io/v1", "ingressclasses", False, {"kind": "IngressClass", "spec": {"controller": "example.com/c"}},
     ["example.com/c", "<none>"]),
    ("networking.k8s.io/v1", "networkpolicies", True, {"kind": "NetworkPolicy", "spec": {
        "podSelector": SELECTOR, "ingress": [{"ports": [{"port": 80}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}}, ["app=a"]),
    ("networking.k8s.io/v1", "servicecidrs", False, {"kind": "ServiceCIDR", "spec": {"cidrs": ["10.96.0.0/16", "fd00::/112"]}},
     ["10.96.0.0/16,fd00::/112"]),
    ("discovery.k8s.io/v1", "endpointslices", True, {"kind": "EndpointSlice", "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]}, ["IPv4", "80", "10.0.0.1"]),
    ("certificates.k8s.io/v1", "certificatesigningrequests", False, {"kind": "CertificateSigningRequest", "spec": {
        "request": certificate_request(), "signerName": "example.com/s", "usages": ["client auth"]}},
     [None, "example.com/s", "kubernetes-admin", "<none>", "Pending"]),
    ("storage.k8s.io/v1", "volumeattachments", False, {"kind": "VolumeAttachment", "spec": {
        "attacher": "csi.example", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}}, ["csi.example", "pv", "n", False]),
    ("storage.k8s.io/v1", "csidrivers", False, {"kind": "CSIDriver", "spec": {}},
     [True, False, False, "<unset>", False, "Persistent"]),
    ("storage.k8s.io/v1", "csinodes", False, {"kind": "CSINode", "spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}, [1]),
    ("storage.k8s.io/v1", "csistoragecapacities", True, {"kind": "CSIStorageCapacity", "storageClassName": "c", "capacity": "5Gi"},
     ["c", "5Gi"]),
    ("storage.k8s.io/v1", "volumeattributesclasses", False,
     {"kind": "VolumeAttributesClass", "driverName": "d", "parameters": {"iops": "100"}}, ["d"]),
    ("node.k8s.io/v1", "runtimeclasses", False, {"kind": "RuntimeClass", "handler": "kata"}, ["kata"]),
    ("resource.k8s.io/v1", "resourceclaims", True, {"kind": "ResourceClaim", "spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}, ["pending"]),
    ("resource.k8s.io/v1", "resourceclaimtemplates", True, {"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}}, []),
    ("resource.k8s.io/v1", "deviceclasses", False, {"kind": "DeviceClass", "spec": {
        "selectors": [{"cel": {"expression": "true"}}]}}, []),
    ("resource.k8s.io/v1", "resourceslices", False, {"kind": "ResourceSlice", "spec": {
        "driver": "gpu.example", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0", "attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "4Gi"}}}]}},
     ["n", "gpu.example", "p"]),
    ("flowcontrol.apiserver.k8s.io/v1", "flowschemas", False, {"kind": "FlowSchema", "spec": {
        "priorityLevelConfiguration": {"name": "p"}, "rules": [{"subjects": [{"kind": "User", "user": {"name": "*"}}], "nonResourceRules": [
            {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}]}}, ["p", 1000, "<none>", None, "?"]),
    ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", False, {"kind": "PriorityLevelConfiguration", "spec": {
        "type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}}, ["Limited", 30, 64, 8, 50]),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False, {"kind": "ValidatingAdmissionPolicy", "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"], "resourceNames": ["n"]}]},
        "variables": [{"name": "v", "expression": "object.spec"}], "matchConditions": [{"name": "c", "expression": "true"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "'x'"}],
        "validations": [{"expression": "variables.v.replicas > 1", "reason": "Forbidden", "messageExpression": "'few'"}]}},
     [1, "v1/ConfigMap"]),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False, {
        "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "nobody", "validationActions": ["Deny"], "matchResources": {
            "namespaceSelector": {"matchLabels": {"a": "b"}}}, "paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}}},
     ["nobody", "*/p"]),
    ("events.k8s.io/v1", "events", True, {"kind": "Event", "eventTime": "2026-01-02T03:04:05.000006Z", "action": "Act",
        "reason": "Because", "reportingController": "example.com/c", "reportingInstance": "c-0", "note": "hello", "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}}, None),
]
CUSTOM = [
    ("cdi.kubevirt.io/v1beta1", "cdis", False, {"kind": "CDI", "spec": {"config": {"featureGates": ["HonorWaitForFirstConsumer"]}}}, None),
    ("cdi.kubevirt.io/v1beta1", "cdiconfigs", False, {"kind": "CDIConfig", "spec": {"filesystemOverhead": {"global": "0.06"}}}, None),
    ("cdi.kubevirt.io/v1beta1", "storageprofiles", False, {"kind": "StorageProfile", "spec": {
        "claimPropertySets": [{"accessModes": ["ReadWriteMany"], "volumeMode": "Block"}]}}, None),
    ("cdi.kubevirt.io/v1beta1", "dataimportcrons", True, {"kind": "DataImportCron", "spec": {"schedule": "@daily", "managedDataSource": "os", "template": {
        "spec": {"source": {"registry": {"url": "docker://quay.io/os"}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}}}}, None),
]


def root(api_version):
    return f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"


def collection(api_version, plural, namespaced):
    return f"{root(api_version)}/{'namespaces/default/' if namespaced else ''}{plural}"


class KindsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="virtgate-kinds-")
        cls.server = e2e.Server(os.path.join(cls.folder.name, "state")).start()
        cls.connection = cls.server.connect()

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()
        cls.server.clean_up()
        cls.folder.cleanup()

    def bytes(self, method, path, body=None, accept="application/json", content="application/json"):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = self.server.as_admin(Accept=accept, **({"Content-Type": content} if body is not None else {}))
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()

    def ask(self, method, path, body=None, code=200, **more):
        status, _, text = self.bytes(method, path, body, **more)
        self.assertEqual(status, code, (method, path, text[:2000]))
        return json.loads(text)

    def made(self, row, name):
        api_version, plural, namespaced, object, _ = row
        path = collection(api_version, plural, namespaced)
        made = self.ask("POST", path, {"apiVersion": api_version, "metadata": {"name": name}, **object}, code=201)
        self.addCleanup(self.bytes, "DELETE", f"{path}/{name}")
        return path, made

    def test_each_kind_in_every_form(self):
        for row in KINDS + CUSTOM:
            api_version, plural, namespaced, object, cells = row
            name = "csi.example" if plural == "csidrivers" else "one"
            with self.subTest(plural, version=api_version):
                path, made = self.made(row, name)
                one = f"{path}/{name}"
                self.assertEqual((made["apiVersion"], made["kind"]), (api_version, object["kind"]))
                self.assertTrue(made["metadata"]["uid"])
                self.assertEqual(self.ask("GET", one), made)
                chosen = f"{path}?fieldSelector=metadata.name%3D{name}"  # some kinds have objects of the server's own
                listed = self.ask("GET", chosen)
                self.assertEqual(listed["kind"], object["kind"] + "List")
                self.assertEqual([item["metadata"]["name"] for item in listed["items"]], [name])
                if row not in CUSTOM:
                    self.assertEqual({**listed["items"][0], "apiVersion": api_version, "kind": object["kind"]}, made)
                    self.protobuf(one, path, made)
                table = self.ask("GET", chosen, accept=TABLE)
                self.assertEqual(len(table["rows"]), 1)
                self.assertEqual(len(table["rows"][0]["cells"]), len(table["columnDefinitions"]))
                if cells is not None:
                    shown = table["rows"][0]["cells"]
                    self.assertEqual(shown[0], name)
                    for index, cell in enumerate(cells, 1):
                        if cell is not None:
                            self.assertEqual(shown[index], cell, table["columnDefinitions"][index]["name"])
                patched = self.ask("PATCH", one, {"metadata": {"labels": {"x": "y"}}}, content="application/merge-patch+json")
                self.assertEqual(patched["metadata"]["labels"]["x"], "y")
                replaced = self.ask("PUT", one, {**patched, "metadata": {**patched["metadata"], "labels": {"x": "z"}}})
                self.assertEqual(replaced["metadata"]["labels"], {"x": "z"})
                self.watched(path, one, made, row)

    def protobuf(self, one, path, made):
        status, content, body = self.bytes("GET", one, accept=PROTOBUF)
        self.assertEqual((status, content), (200, PROTOBUF))
        self.assertEqual(body[:4], b"k8s\0")
        # What was encoded is decoded to the same object, so that nothing is written.
        self.assertEqual(self.ask("PUT", one, body, content=PROTOBUF), made)
        status, content, body = self.bytes("GET", path, accept=PROTOBUF)
        self.assertEqual((status, content), (200, PROTOBUF))
        self.assertIn(made["metadata"]["uid"].encode(), body)

    def watched(self, path, one, made, row):
        """The changes since the object was made, and its end, in the order in which they came."""
        self.bytes("DELETE", one)
        with contextlib.closing(self.server.connect()) as connection:
            connection.request("GET", f"{path}?watch=true&resourceVersion={made['metadata']['resourceVersion']}&timeoutSeconds=5",
                               headers=self.server.as_admin())
            answer = connection.getresponse()
            events = [json.loads(answer.readline()) for _ in range(3)]
        self.assertEqual([event["type"] for event in events], ["MODIFIED", "MODIFIED", "DELETED"])
        for event in events:
            self.assertEqual((event["object"]["kind"], event["object"]["apiVersion"]), (row[3]["kind"], row[0]))
            self.assertEqual(event["object"]["metadata"]["uid"], made["metadata"]["uid"])

    def test_status_is_a_part_of_its_own(self):
        for row in KINDS:
            api_version, plural, namespaced, object, _ = row
            listed = {entry["name"]: entry for entry in self.ask("GET", root(api_version))["resources"]}
            if plural + "/status" not in listed or plural == "certificatesigningrequests":
                continue
            with self.subTest(plural, version=api_version):
                name = "status"
                path, made = self.made(row, name)
                before = {key: value for key, value in made["metadata"].items() if key not in ("resourceVersion",)}
                sent = {**made, "spec": {}, "status": {}} if "spec" in made else made
                answer = self.ask("PUT", f"{path}/{name}/status", sent)
                self.assertEqual(answer.get("spec"), made.get("spec"))
                self.assertEqual({key: value for key, value in answer["metadata"].items() if key in before and key != "managedFields"},
                                 {key: value for key, value in before.items() if key != "managedFields"})
                self.bytes("DELETE", f"{path}/{name}")

    def test_scale(self):
        for row in KINDS:
            api_version, plural, namespaced, object, _ = row
            if plural not in ("deployments", "replicasets", "statefulsets", "replicationcontrollers"):
                continue
            with self.subTest(plural):
                path, made = self.made(row, "scaled")
                scale = self.ask("GET", f"{path}/scaled/scale")
                self.assertEqual((scale["kind"], scale["apiVersion"]), ("Scale", "autoscaling/v1"))
                self.assertEqual(scale["status"]["selector"], "app=a")
                scale["spec"]["replicas"] = 5
                self.assertEqual(self.ask("PUT", f"{path}/scaled/scale", scale)["spec"]["replicas"], 5)
                after = self.ask("GET", f"{path}/scaled")
                self.assertEqual(after["spec"]["replicas"], 5)
                self.assertEqual(after["metadata"]["generation"], made["metadata"]["generation"] + 1)

    def test_certificates_are_approved_at_their_own_part(self):
        row = [row for row in KINDS if row[1] == "certificatesigningrequests"][0]
        path, made = self.made(row, "approve")
        self.assertEqual(made["spec"]["username"], "kubernetes-admin")
        self.assertIn("system:masters", made["spec"]["groups"])
        condition = {"type": "Approved", "status": "True", "reason": "Fine"}
        refused = self.ask("PATCH", f"{path}/approve/status", {"status": {"conditions": [condition]}}, code=422,
                           content="application/merge-patch+json")
        self.assertIn("approval", refused["message"])
        approved = self.ask("PATCH", f"{path}/approve/approval", {"status": {"conditions": [condition]}},
                            content="application/merge-patch+json")
        self.assertTrue(approved["status"]["conditions"][0]["lastUpdateTime"])
        self.ask("PATCH", f"{path}/approve/approval", {"status": {"conditions": []}}, code=422, content="application/merge-patch+json")

    def test_events_are_the_same_in_both_groups(self):
        row = [row for row in KINDS if row[0] == "events.k8s.io/v1"][0]
        path, made = self.made(row, "both")
        core = self.ask("GET", "/api/v1/namespaces/default/events/both")
        self.assertEqual((core["message"], core["involvedObject"]["name"], core["reportingComponent"]), ("hello", "p", "example.com/c"))
        self.assertEqual(core["metadata"]["uid"], made["metadata"]["uid"])
        older = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "older"}, "message": "again", "reason": "R", "type": "Warning",
                 "count": 3, "source": {"component": "k", "host": "h"}, "firstTimestamp": "2026-01-02T03:04:05Z",
                 "lastTimestamp": "2026-01-02T03:05:05Z", "involvedObject": {"kind": "Pod", "name": "q", "namespace": "default"}}
        self.ask("POST", "/api/v1/namespaces/default/events", older, code=201)
        self.addCleanup(self.bytes, "DELETE", "/api/v1/namespaces/default/events/older")
        newer = self.ask("GET", f"{path}/older")
        self.assertEqual((newer["note"], newer["deprecatedCount"], newer["deprecatedSource"]), ("again", 3, {"component": "k", "host": "h"}))
        self.assertEqual((newer["deprecatedFirstTimestamp"], newer["deprecatedLastTimestamp"], newer["eventTime"]),
                         ("2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z", None))
        found = self.ask("GET", f"{path}?fieldSelector=regarding.name%3Dq")
        self.assertEqual([item["metadata"]["name"] for item in found["items"]], ["older"])
        changed = self.ask("PATCH", f"{path}/older", {"note": "changed"}, content="application/merge-patch+json")
        self.assertEqual(changed["note"], "changed")
        self.assertEqual(self.ask("GET", "/api/v1/namespaces/default/events/older")["message"], "changed")

    def test_autoscalers_are_the_same_in_both_versions(self):
        v1, v2 = (collection(f"autoscaling/{version}", "horizontalpodautoscalers", True) for version in ("v1", "v2"))
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
                   {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
                   {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "7"}}},
                   {"type": "Object", "object": {"metric": {"name": "o"}, "target": {"type": "Value", "value": "9"},
                                                 "describedObject": {"kind": "Service", "name": "s"}}}]
        made = self.ask("POST", v2, {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "two"},
                                     "spec": {"maxReplicas": 4, "metrics": metrics, "behavior": {"scaleDown": {"selectPolicy": "Min"}},
                                              "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}, code=201)
        self.addCleanup(self.bytes, "DELETE", f"{v2}/two")
        older = self.ask("GET", f"{v1}/two")
        self.assertEqual(older["spec"]["targetCPUUtilizationPercentage"], 70)
        self.assertNotIn("metrics", older["spec"])
        self.assertIn("autoscaling.alpha.kubernetes.io/metrics", older["metadata"]["annotations"])
        # Through the older form and back nothing is lost.
        older["spec"]["maxReplicas"] = 6
        self.ask("PUT", f"{v1}/two", older)
        after = self.ask("GET", f"{v2}/two")
        self.assertEqual(after["spec"], {**made["spec"], "maxReplicas": 6})
        self.assertNotIn("annotations", after["metadata"])
        refused = self.bytes("PATCH", f"{v1}/two?fieldManager=m", b"{}", content="application/apply-patch+yaml")
        self.assertEqual(refused[0], 415)

    def test_what_is_read_only_says_why(self):
        webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        self.assertEqual(self.ask("GET", webhooks)["items"], [])
        answer = self.ask("POST", webhooks, {"metadata": {"name": "w"}}, code=405)
        self.assertIn("calls no webhooks", answer["message"])
        services = self.ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices")["items"]
        names = {item["metadata"]["name"] for item in services}
        groups = self.ask("GET", "/apis")["groups"]
        served = {f"{version['version']}.{group['name']}" for group in groups for version in group["versions"]}
        self.assertEqual(names, {"v1."} | served - {"v1.apiregistration.k8s.io"})  # an aggregator does not list itself
        self.ask("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v1.", code=405)
        entry = [entry for entry in self.ask("GET", "/apis/apiregistration.k8s.io/v1")["resources"] if entry["name"] == "apiservices"][0]
        self.assertEqual(entry["verbs"], ["get", "list", "watch"])

    def test_limit_ranges_are_enforced(self):
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "limited"}}, code=201)
        path = "/api/v1/namespaces/limited"
        self.ask("POST", f"{path}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}},
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}}, code=201)
        pod = self.ask("POST", f"{path}/pods", {"metadata": {"name": "p"}, "spec": POD}, code=201)
        self.assertEqual(pod["spec"]["containers"][0]["resources"], {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}})
        large = {"containers": [{**POD["containers"][0], "resources": {"limits": {"cpu": "3"}}}]}
        refused = self.ask("POST", f"{path}/pods", {"metadata": {"name": "q"}, "spec": large}, code=403)
        self.assertIn('pods "q" is forbidden: maximum cpu usage per Container is 2, but limit is 3', refused["message"])
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
        refused = self.ask("POST", f"{path}/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": claim}, code=403)
        self.assertIn("maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi", refused["message"])
        self.ask("POST", f"{path}/limitranges", {"metadata": {"name": "m"}, "spec": {"limits": [{"type": "example.com/Room"}]}}, code=422)
        self.ask("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "q"}, "spec": large}, code=201)
        self.addCleanup(self.bytes, "DELETE", "/api/v1/namespaces/default/pods/q?gracePeriodSeconds=0")

    def test_defaults_and_refusals(self):
        deployments = collection("apps/v1", "deployments", True)
        made = self.ask("POST", deployments, {"metadata": {"name": "d"}, "spec": {"selector": SELECTOR, "template": TEMPLATE}}, code=201)
        self.addCleanup(self.bytes, "DELETE", f"{deployments}/d")
        self.assertEqual(made["spec"]["strategy"], {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
        self.assertEqual((made["spec"]["replicas"], made["spec"]["revisionHistoryLimit"], made["spec"]["progressDeadlineSeconds"]), (1, 10, 600))
        self.assertEqual(made["spec"]["template"]["spec"]["dnsPolicy"], "ClusterFirst")
        self.assertEqual(made["status"], {})
        refused = self.ask("PATCH", f"{deployments}/d", {"spec": {"selector": {"matchLabels": {"app": "b"}}}}, code=422,
                           content="application/merge-patch+json")
        self.assertEqual({cause["field"] for cause in refused["details"]["causes"]}, {"spec.selector", "spec.template.metadata.labels"})
        recreated = self.ask("PATCH", f"{deployments}/d", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
                             content="application/strategic-merge-patch+json")
        self.assertEqual(recreated["spec"]["strategy"], {"type": "Recreate"})
        container = self.ask("PATCH", f"{deployments}/d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}},
                             content="application/strategic-merge-patch+json")["spec"]["template"]["spec"]["containers"]
        self.assertEqual([(one["name"], one["image"]) for one in container], [("c", "i:2")])
        self.assertEqual(self.ask("GET", f"{deployments}/d")["metadata"]["generation"], 3)


class KubectlTest(unittest.TestCase):
    """The same kinds through kubectl, which asks for protobuf and tables by itself."""

    def setUp(self):
        self.program, reason = kubectl_tests.kubectl_on_path()
        if not self.program:
            self.skipTest(reason)
        folder = tempfile.TemporaryDirectory(prefix="virtgate-kinds-")
        self.addCleanup(folder.cleanup)
        self.server = e2e.Server(os.path.join(folder.name, "state")).start()
        self.addCleanup(self.server.clean_up)

    def run_kubectl(self, *arguments, sent=None):
        answer = subprocess.run([self.program, "--kubeconfig", os.path.join(self.server.state, "admin.kubeconfig"), *arguments],
                                input=sent, capture_output=True, text=True, timeout=120)
        self.assertEqual(answer.returncode, 0, (arguments, answer.stderr))
        return answer.stdout

    def versions(self, objects):
        return self.run_kubectl("get", "-f", "-", "-o", "jsonpath={.items[*].metadata.resourceVersion}", sent=objects).split()

    def test_all_kinds(self):
        objects = []
        for api_version, plural, namespaced, object, _ in KINDS + CUSTOM:
            if api_version in ("autoscaling/v1", "events.k8s.io/v1"):
                continue
            name = "csi.example" if plural == "csidrivers" else "one"
            objects.append({"apiVersion": api_version, "metadata": {"name": name}, **object})
        everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.assertEqual(self.run_kubectl("apply", "-f", "-", sent=everything).count(" created"), len(objects))
        # Applied again, nothing is written: kubectl repeats lists that got defaults, and they get the same ones.
        versions = self.versions(everything)
        self.run_kubectl("apply", "-f", "-", sent=everything)
        self.assertEqual(self.versions(everything), versions)
        for api_version, plural, namespaced, object, _ in KINDS + CUSTOM:
            if api_version in ("autoscaling/v1", "events.k8s.io/v1"):
                continue
            with self.subTest(plural):
                group = api_version.rpartition("/")[0]
                resource = f"{plural}.{group}" if group else plural
                self.assertIn("NAME", self.run_kubectl("get", resource, "-o", "wide"))
                # kubectl describe asks for v1beta1 of these, whatever is served.
                if plural not in ("volumeattributesclasses", "servicecidrs"):
                    self.assertTrue(self.run_kubectl("describe", resource))
        self.run_kubectl("scale", "deployment", "one", "--replicas=4")
        self.assertEqual(self.run_kubectl("get", "deploy", "one", "-o", "jsonpath={.spec.replicas}"), "4")
        self.run_kubectl("set", "image", "deployment/one", "c=registry/i:2")
        self.run_kubectl("certificate", "approve", "one")
        self.assertIn("Approved", self.run_kubectl("get", "csr"))
        self.assertIn("deployment.apps/one", self.run_kubectl("get", "all"))
        self.assertIn("FIELDS", self.run_kubectl("explain", "deployment.spec"))
        self.run_kubectl("delete", "-f", "-", "--wait=false", sent=everything)
        self.assertEqual(self.run_kubectl("get", "deployments,pdb,pv,csr"), "")

    def test_commands_that_make_objects(self):
        for arguments in (("deployment", "web", "--image=registry/i:1", "--replicas=2"), ("job", "once", "--image=registry/i:1"),
                          ("cronjob", "often", "--image=registry/i:1", "--schedule=*/1 * * * *"),
                          ("ingress", "way", "--rule=a.example/*=svc:80"),
                          ("poddisruptionbudget", "pdb", "--selector=app=web", "--min-available=1")):
            with self.subTest(arguments[0]):
                self.assertIn("created", self.run_kubectl("create", *arguments))
        self.assertIn("autoscaled", self.run_kubectl("autoscale", "deployment", "web", "--max=3"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
