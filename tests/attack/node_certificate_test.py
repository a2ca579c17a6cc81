#!/usr/bin/env python3
"""A node that was taken over: what its certificate is good for beyond reporting about itself and the VMIs on it.

VIRTGATE_BINARY names the program.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
MERGE = {"Content-Type": "application/merge-patch+json"}
CORE = "/api/v1/namespaces/default"
VMIS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
NODE = "/api/v1/nodes/node01"
SPEC = {"domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "64Mi"}},
        "volumes": [{"name": "root", "emptyDisk": {"capacity": "1Mi"}}]}
KEYS = [{"sshPublicKey": {"source": {"secret": {"secretName": "treasure"}}, "propagationMethod": {"noCloud": {}}}}]
BOTH = {"name": "hot", "persistentVolumeClaim": {"claimName": "c", "hotpluggable": True}, "serviceAccount": {"serviceAccountName": "boss"}}
HOT_DISK = {"name": "hot", "disk": {"bus": "scsi"}}


class NodeCertificate(harness.Attack):
    def setUp(self):
        super().setUp()
        self.certificate = self.sign("node01")
        self.must("POST", f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "treasure"}, "stringData": {"k": "gold"}})
        self.must("POST", f"{CORE}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "boss"}})
        for name, node in (("here", "node01"), ("there", "node02")):
            self.vmi(name, node)

    def sign(self, node):
        """What the server makes for a node: signed by its authority."""
        base = os.path.join(self.folder, node)
        with open(base + ".ext", "w") as file:
            file.write("extendedKeyUsage=clientAuth\n")
        harness.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/O=system:nodes/CN=system:node:{node}",
                        "-keyout", base + ".key", "-out", base + ".csr")
        harness.openssl("x509", "-req", "-in", base + ".csr", "-CA", self.one.pki("ca.crt"), "-CAkey", self.one.pki("ca.key"), "-CAcreateserial",
                        "-CAserial", base + ".srl", "-days", "2", "-extfile", base + ".ext", "-out", base + ".crt")
        return base + ".crt", base + ".key"

    def vmi(self, name, node):
        """As virt-controller leaves it when it was placed and runs."""
        self.must("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name}, "spec": SPEC})
        status = {"phase": "Running", "nodeName": node, "volumeStatus": [{"name": "root", "target": "vda"}]}
        code, answer = self.call("PATCH", f"{VMIS}/{name}", {"metadata": {"labels": {"kubevirt.io/nodeName": node}}, "status": status}, headers={**MERGE, **CONTROLLER})
        self.assertEqual(code, 200, answer)

    def as_node(self, method, path, body=None, headers=None):
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body), certificate=self.certificate,
                                     headers={"Content-Type": "application/json", **(headers or {})})
        return code, text

    def patch(self, path, body):
        return self.as_node("PATCH", path, body, MERGE)

    def refused(self, answer):
        self.assertEqual(answer[0], 403, answer[1])
        self.assertIn("a node ", json.loads(answer[1])["message"])

    def test_it_does_not_say_what_a_vmi_mounts(self):
        self.assertEqual(self.as_node("GET", f"{VMIS}/here")[0], 200)
        self.assertEqual(self.as_node("GET", f"{CORE}/secrets/treasure")[0], 403)
        volumes = {"domain": {"devices": {"disks": [*SPEC["domain"]["devices"]["disks"], HOT_DISK]}}, "volumes": [*SPEC["volumes"], BOTH]}
        self.refused(self.patch(f"{VMIS}/here", {"spec": volumes}))
        self.refused(self.patch(f"{VMIS}/here", {"spec": {"accessCredentials": KEYS}}))
        stored = self.must("GET", f"{VMIS}/here")
        stored["spec"]["accessCredentials"] = KEYS
        self.refused(self.as_node("PUT", f"{VMIS}/here", stored))
        apply = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "here"}, "spec": {"accessCredentials": KEYS}}
        self.refused(self.as_node("PATCH", f"{VMIS}/here?fieldManager=x&force=true", apply, {"Content-Type": "application/apply-patch+yaml"}))
        self.assertEqual(self.as_node("GET", f"{CORE}/secrets/treasure")[0], 403)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        self.assertEqual(self.as_node("POST", f"{CORE}/serviceaccounts/boss/token", request)[0], 403)

    def test_it_does_not_say_where_a_vmi_runs_or_whose_it_is(self):
        for metadata in ({"labels": {"kubevirt.io/nodeName": "node02"}}, {"labels": {"kubevirt.io/migrationTargetNodeName": "node02"}}, {"labels": {"a": "b"}},
                         {"annotations": {"trace.virtgate.io/user": "somebody"}}, {"finalizers": ["x.y/z"]},
                         {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "treasure", "uid": "u"}]}):
            self.refused(self.patch(f"{VMIS}/here", {"metadata": metadata}))
        self.refused(self.patch(f"{VMIS}/here", {"status": {"nodeName": "node02"}}))

    def test_it_reports_about_its_vmis(self):
        self.assertEqual(self.patch(f"{VMIS}/here", {"status": {"phase": "Failed"}})[0], 200)
        stored = self.must("GET", f"{VMIS}/here")
        stored["status"]["reason"] = "Told"
        self.assertEqual(self.as_node("PUT", f"{VMIS}/here", stored)[0], 200)
        self.assertEqual(self.patch(f"{VMIS}/there", {"status": {"phase": "Failed"}})[0], 403)

    def test_its_node_has_no_labels_that_attract_others(self):
        own = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node01", "labels": {"kubernetes.io/os": "linux"}}, "spec": {}, "status": {}}
        for name in ("node-role.kubernetes.io/control-plane", "node-restriction.kubernetes.io/pci"):
            self.refused(self.as_node("POST", "/api/v1/nodes", {**own, "metadata": {"name": "node01", "labels": {name: ""}}}))
        self.refused(self.as_node("POST", "/api/v1/nodes", {**own, "metadata": {"name": "node02"}}))
        code, text = self.as_node("POST", "/api/v1/nodes", own)
        self.assertEqual(code, 201, text)
        self.assertIn("node-role.kubernetes.io/worker", json.loads(text)["metadata"]["labels"], "which the server gives it")
        taint = {"key": "quarantine", "effect": "NoExecute"}
        self.assertEqual(self.call("PATCH", NODE, {"spec": {"taints": [taint]}}, headers=MERGE)[0], 200)
        for change in ({"metadata": {"labels": {"node-restriction.kubernetes.io/pci": "true"}}}, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
                       {"metadata": {"labels": {"node-role.kubernetes.io/worker": None}}}, {"metadata": {"labels": {"kubernetes.io/hostname": "node02"}}},
                       {"metadata": {"labels": {"zone": "secure"}}}, {"spec": {"taints": None}}, {"spec": {"unschedulable": True}},
                       {"metadata": {"annotations": {"some/thing": "x"}}}, {"metadata": {"finalizers": ["x.y/z"]}}):
            self.refused(self.patch(NODE, change))
        self.assertEqual(self.patch(NODE, {"metadata": {"labels": {"kubevirt.io/schedulable": "true", "kubernetes.io/hostname": "node01"}}})[0], 200)
        self.assertEqual(self.patch(NODE + "/status", {"status": {"capacity": {"cpu": "4"}}, "spec": {"taints": None}})[0], 200)
        self.assertEqual(self.must("GET", NODE)["spec"]["taints"][0]["key"], "quarantine")

    def test_events_are_told_in_its_own_name_about_its_own(self):
        def event(name, about, host="node01", kind="VirtualMachineInstance"):
            return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, "reason": "R", "message": "m", "type": "Normal",
                    "involvedObject": {"apiVersion": "kubevirt.io/v1", "kind": kind, "namespace": "default", "name": about},
                    "source": {"component": "virt-handler", "host": host}, "reportingComponent": "virt-handler", "reportingInstance": host}
        events = f"{CORE}/events"
        for wrong in (event("a", "here", host="node02"), event("a", "here", host=""), event("a", "there"), event("a", "treasure", kind="Secret")):
            self.refused(self.as_node("POST", events, wrong))
        code, text = self.as_node("POST", events, event("a", "here"))
        self.assertEqual(code, 201, text)
        self.assertEqual(self.patch(f"{events}/a", {"count": 2})[0], 200)
        self.must("POST", events, event("b", "there", host="node02"))
        self.refused(self.patch(f"{events}/b", {"message": "forged"}))

    def test_a_volume_has_one_source_whoever_plugs_it_in(self):
        volumes = {"domain": {"devices": {"disks": [*SPEC["domain"]["devices"]["disks"], HOT_DISK]}}, "volumes": [*SPEC["volumes"], BOTH]}
        code, answer = self.call("PATCH", f"{VMIS}/here", {"spec": volumes}, headers={**MERGE, **CONTROLLER})
        self.assertGreaterEqual(code, 400, answer)
        self.assertIn("exactly one", answer["message"])
        only = {key: BOTH[key] for key in ("name", "persistentVolumeClaim")}
        volumes["volumes"] = [*SPEC["volumes"], only]
        code, answer = self.call("PATCH", f"{VMIS}/here", {"spec": volumes}, headers={**MERGE, **CONTROLLER})
        self.assertEqual(code, 200, answer)


if __name__ == "__main__":
    unittest.main(verbosity=2)
