#!/usr/bin/env python3
"""Users have controllers say of objects what they must not say themselves, and make objects that pass for a VM's own.

VIRTGATE_BINARY names the program.
"""
import unittest

from harness import Attack

KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/mine"
VMS, VMIS, SETS = f"{KUBEVIRT}/virtualmachines", f"{KUBEVIRT}/virtualmachineinstances", f"{KUBEVIRT}/virtualmachineinstancereplicasets"
POOLS = "/apis/pool.kubevirt.io/v1beta1/namespaces/mine/virtualmachinepools"
MERGE = {"Content-Type": "application/merge-patch+json"}
MACHINE = {"domain": {"memory": {"guest": "64Mi"}, "devices": {}}}
RESERVED = {"kubevirt.io/created-by": "x", "kubevirt.io/nodeName": "x", "kubevirt.io/migrationJobUID": "x", "kubevirt.io/schedulable": "true"}
MARKS = {"trace.virtgate.io/user": "admin", "trace.virtgate.io/request": "forged", "trace.virtgate.io/other": "x", "virtgate.io/clone-asker": "{}"}


def template(**labels):
    return {"metadata": {"labels": {"app": "a", **labels}, "annotations": {"mine": "yes", **MARKS}, "ownerReferences": [
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "theirs", "uid": "u", "controller": True}]}, "spec": MACHINE}


def marks_of(made):
    return {key: value for key, value in made["metadata"]["annotations"].items() if key.startswith("trace.virtgate.io/")}


class Posing(Attack):
    def setUp(self):
        super(Attack, self).setUp()
        self.one = self.server("--mark-objects", role=("--node", "external")).start()
        self.namespace("mine")

    def made_by(self, kind):
        return self.until(f"the VMI of a {kind}", lambda: [vmi for vmi in self.must("GET", VMIS)["items"] if any(
            owner["kind"] == kind for owner in vmi["metadata"].get("ownerReferences", []))])[0]

    def assert_clean(self, vmi, maker):
        meta = vmi["metadata"]
        self.assertEqual(meta["labels"]["app"], "a")
        self.assertEqual(meta["annotations"]["mine"], "yes")
        self.assertEqual(set(meta["labels"]) & set(RESERVED), set())
        self.assertEqual([owner["kind"] for owner in meta["ownerReferences"]], [maker])
        self.assertFalse({"trace.virtgate.io/other", "virtgate.io/clone-asker"} & set(meta["annotations"]), meta["annotations"])
        for mark in ("trace.virtgate.io/user", "trace.virtgate.io/request"):
            self.assertNotEqual(meta["annotations"].get(mark), MARKS[mark])
        return meta["annotations"]

    def test_a_replica_set_says_what_its_user_must_not(self):
        token = self.user("mine", "mallory", [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstancereplicasets"], "verbs": ["*"]}])
        self.must("POST", SETS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "metadata": {"name": "set"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template(**RESERVED)}}, token)
        self.assert_clean(self.made_by("VirtualMachineInstanceReplicaSet"), "VirtualMachineInstanceReplicaSet")

    def test_a_vm_and_a_pool_say_what_their_user_must_not(self):
        token = self.user("mine", "mallory", [{"apiGroups": ["kubevirt.io", "pool.kubevirt.io"], "resources": ["virtualmachines", "virtualmachinepools"], "verbs": ["*"]}])
        self.must("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}, "spec": {
            "runStrategy": "Always", "template": template()}}, token)
        annotations = self.assert_clean(self.made_by("VirtualMachine"), "VirtualMachine")
        self.assertEqual(annotations["trace.virtgate.io/user"], "system:serviceaccount:mine:mallory")
        self.must("DELETE", f"{VMS}/vm", None, token)
        self.until("the end of the VM", lambda: not self.must("GET", VMS)["items"] and not self.must("GET", VMIS)["items"])
        vm = {"metadata": {"labels": {"app": "a", **RESERVED}, "annotations": {"mine": "yes", **MARKS}}, "spec": {"runStrategy": "Always", "template": template()}}
        self.must("POST", POOLS, {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "pool"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "virtualMachineTemplate": vm}}, token)
        self.assert_clean(self.made_by("VirtualMachine"), "VirtualMachine")
        made = self.must("GET", f"{VMS}/pool-0")
        self.assertEqual(set(made["metadata"]["labels"]) & set(RESERVED), set())
        self.assertFalse({*MARKS} & {key for key, value in made["metadata"]["annotations"].items() if value == MARKS.get(key)})

    def test_a_subresource_says_what_its_user_must_not(self):
        """A request that waits in a VM's status says whose it is, and its VMI inherits that; annotations come with a Binding, too."""
        token = self.user("mine", "mallory", [
            {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines", "virtualmachines/status"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["pods", "pods/status", "pods/binding"], "verbs": ["*"]}])
        made = self.must("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}, "spec": {
            "runStrategy": "Manual", "template": template()}})
        forged = {"metadata": {"name": "vm", "annotations": {**MARKS, "trace.virtgate.io/request": "another"}},
                  "status": {"stateChangeRequests": [{"action": "Start", "data": {"mine": "yes", **MARKS}}]}}
        whole = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": made["spec"], **forged}
        for method, query, body, headers in (("PUT", "", {**whole, "metadata": {**made["metadata"], **forged["metadata"]}}, {}), ("PATCH", "", forged, MERGE),
                                             ("PATCH", "&fieldManager=m&force=true", whole, {"Content-Type": "application/apply-patch+yaml"})):
            def sent():
                if method == "PUT":  # on a version that the controller may have changed meanwhile
                    body["metadata"]["resourceVersion"] = self.must("GET", f"{VMS}/vm")["metadata"]["resourceVersion"]
                code, answer = self.call(method, f"{VMS}/vm/status?dryRun=All{query}", body, token, headers)
                return (code, answer) if code != 409 or method != "PUT" else None
            code, answer = self.until("an answer", sent)
            self.assertEqual(code, 200, answer)
            self.assertEqual(marks_of(answer), marks_of(made))
            data, = (change["data"] for change in answer["status"]["stateChangeRequests"])
            self.assertEqual((data["mine"], data["trace.virtgate.io/user"]), ("yes", "system:serviceaccount:mine:mallory"))
            self.assertFalse({*MARKS.items()} & {*data.items()} - {("virtgate.io/clone-asker", "{}")}, data)
        code, answer = self.call("PATCH", f"{VMS}/vm/status", forged, token, MERGE)
        self.assertEqual(code, 200, answer)
        annotations = self.assert_clean(self.made_by("VirtualMachine"), "VirtualMachine")
        self.assertEqual(annotations["trace.virtgate.io/user"], "system:serviceaccount:mine:mallory")

        pods = "/api/v1/namespaces/mine/pods"
        self.must("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, token)
        self.must("POST", f"{pods}/pod/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "pod", "annotations": {"mine": "yes", **MARKS}},
                                                  "target": {"kind": "Node", "name": "n"}}, token)
        code, answer = self.call("PATCH", f"{pods}/pod/status", {"metadata": {"annotations": MARKS}}, token, MERGE)
        self.assertEqual(code, 200, answer)
        pod = self.must("GET", f"{pods}/pod")
        self.assertEqual(pod["metadata"]["annotations"]["mine"], "yes")
        self.assertEqual(marks_of(pod), {})

    def test_a_vmi_that_passes_for_a_vms_own(self):
        vm = self.must("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "theirs"}, "spec": {
            "runStrategy": "Manual", "template": {"spec": MACHINE}}})
        owner = [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "theirs", "uid": vm["metadata"]["uid"], "controller": True}]
        token = self.user("mine", "mallory", [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["*"]}])

        def vmi(name, **metadata):
            return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name, **metadata}, "spec": MACHINE}
        for posing in (vmi("theirs"), vmi("theirs", ownerReferences=owner), vmi("other", ownerReferences=owner)):
            for query in ("", "?dryRun=All"):
                code, answer = self.call("POST", VMIS + query, posing, token)
                self.assertEqual(code, 403, answer)
                self.assertIn('VirtualMachine "theirs"', answer["message"])
        self.must("POST", VMIS, vmi("mine"), token)
        for body, headers in (({"metadata": {"ownerReferences": owner}}, MERGE),
                              ({**vmi("mine"), "metadata": {"name": "mine", "ownerReferences": owner}}, {"Content-Type": "application/apply-patch+yaml"})):
            code, answer = self.call("PATCH", f"{VMIS}/mine?fieldManager=m", body, token, headers)
            self.assertEqual(code, 403, answer)
        self.assertNotIn("created", (self.must("GET", f"{VMS}/theirs").get("status") or {}))
        # Whoever may change the VM may say what is its own.
        self.must("POST", VMIS, vmi("theirs"))
        self.until("its VM", lambda: (self.must("GET", f"{VMS}/theirs").get("status") or {}).get("created"))


if __name__ == "__main__":
    unittest.main()
