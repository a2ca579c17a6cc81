#!/usr/bin/env python3
"""Data of another namespace is to be copied out by who may edit one namespace: controllers write what users' objects say, and are trusted.

The attacker has the ClusterRole edit in `mine`; what they want is in the PVC `treasure` of `victim`. VIRTGATE_BINARY names the program.
"""
import json
import os
import unittest

from harness import Attack

MIB = 1 << 20
TREASURE = b"what only the victim may read"
CORE, CDI = "/api/v1/namespaces", "/apis/cdi.kubevirt.io/v1beta1/namespaces"
VMS = "/apis/kubevirt.io/v1/namespaces/mine/virtualmachines"
POOLS = "/apis/pool.kubevirt.io/v1beta1/namespaces/mine/virtualmachinepools"
SNAPSHOTS = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/mine/virtualmachinesnapshots"
RESTORES = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/mine/virtualmachinerestores"
CLAIMS, VOLUMES, SOURCES = f"{CORE}/mine/persistentvolumeclaims", f"{CDI}/mine/datavolumes", f"{CDI}/mine/datasources"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces"
OF_VM = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine"}
STORAGE = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "4Mi"}}}
FOREIGN = {"pvc": {"namespace": "victim", "name": "treasure"}}
REQUEST, ASKER = "k8s.io/CloneRequest", "virtgate.io/clone-asker"
RUNNING, POD = "cdi.kubevirt.io/storage.condition.running.reason", "cdi.kubevirt.io/storage.pod.phase"
MERGE = {"Content-Type": "application/merge-patch+json"}
FORGED = json.dumps({"user": "admin", "groups": ["system:masters"], "from": "victim/treasure"})
FORGED_VOLUME = json.dumps({"user": "admin", "groups": ["system:masters"]})


def machine(disk):
    return {"domain": {"memory": {"guest": "64Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
            "volumes": [{"name": "root", "dataVolume": {"name": disk}}]}


def vm_spec(disk, source):
    return {"runStrategy": "Halted", "template": {"spec": machine(disk)},
            "dataVolumeTemplates": [{"metadata": {"name": disk}, "spec": {"source": source, "storage": STORAGE}}]}


class Clones(Attack):
    def setUp(self):
        super(Attack, self).setUp()
        self.one = self.server(role=("--node", "external")).start()
        for name in ("mine", "victim", "golden"):
            self.namespace(name)
        self.must("POST", f"{CDI}/victim/datavolumes", self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "treasure", {"source": {"blank": {}}, "storage": STORAGE}))
        self.until("the treasure", lambda: self.phase("victim", "treasure") == "Succeeded")
        with open(self.disk("victim", "treasure"), "r+b") as file:
            file.write(TREASURE)
        self.token = self.editor("mallory")

    # --- what is asked

    def editor(self, name):
        """Somebody with the ClusterRole edit in `mine`, and nothing else."""
        self.must("POST", f"{CORE}/mine/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
        self.bind("mine", name, {"kind": "ClusterRole", "name": "edit"})
        return self.must("POST", f"{CORE}/mine/serviceaccounts/{name}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})["status"]["token"]

    def bind(self, namespace, account, role, name=None):
        self.must("POST", f"{ROLES}/{namespace}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name or account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **role}, "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "mine"}]})

    def allow(self, namespace, account, resources, verbs):
        name = f"cdi-{account}"
        self.must("POST", f"{ROLES}/{namespace}/roles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"apiGroups": ["cdi.kubevirt.io"], "resources": resources, "verbs": verbs}]})
        self.bind(namespace, account, {"kind": "Role", "name": name}, name)

    def allow_volumes(self, account):
        """What CDI adds to edit where it is installed: DataVolumes and DataSources of their own namespace."""
        self.allow("mine", account, ["datavolumes", "datasources"], ["*"])

    def allow_clones(self, account):
        self.allow("victim", account, ["datavolumes/source"], ["create"])

    @staticmethod
    def object(version, kind, name, spec, **metadata):
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}

    def make(self, path, version, kind, name, spec, **metadata):
        return self.must("POST", path, self.object(version, kind, name, spec, **metadata), self.token)

    def get(self, path):
        code, answer = self.call("GET", path)
        return answer if code == 200 else None

    def phase(self, namespace, volume):
        return ((self.get(f"{CDI}/{namespace}/datavolumes/{volume}") or {}).get("status") or {}).get("phase")

    def says(self, volume, reason):
        return any(c.get("reason") == reason for c in (self.get(f"{VOLUMES}/{volume}").get("status") or {}).get("conditions", []))

    def marks(self, claim):
        return ((self.get(f"{CLAIMS}/{claim}") or {}).get("metadata") or {}).get("annotations") or {}

    def disk(self, namespace, claim):
        return os.path.join(self.state, "disks", namespace, claim, "disk.img")

    def has_treasure(self, claim):
        try:
            with open(self.disk("mine", claim), "rb") as file:
                return TREASURE in file.read(MIB)
        except FileNotFoundError:
            return False

    def assert_refused(self, claim, reason="CloneNotAllowed"):
        """The clone controller has looked at the claim, and it stays empty."""
        self.until(f"a decision about {claim}", lambda: self.marks(claim).get(RUNNING) == reason or self.marks(claim).get(POD) == "Succeeded")
        self.assertFalse(self.has_treasure(claim), self.marks(claim))
        self.assertEqual(self.marks(claim).get(RUNNING), reason)

    def assert_filled(self, claim):
        self.until(f"the data of {claim}", lambda: self.marks(claim).get(POD) == "Succeeded")
        self.assertTrue(self.has_treasure(claim))

    # --- the attack

    def snapshot(self, source=None):
        """Of a VM with a blank disk, whose template comes to name something else."""
        immediate = {"kubevirt.io/immediate-data-volume-creation": "true"}
        self.make(VMS, "kubevirt.io/v1", "VirtualMachine", "vm", vm_spec("bait", {"blank": {}}), annotations=immediate)
        self.until("the bait", lambda: self.phase("mine", "bait") == "Succeeded")
        self.until("the VM's disk", lambda: [v["enabled"] for v in (self.get(f"{VMS}/vm").get("status") or {}).get("volumeSnapshotStatuses", [])] == [True])
        if source:
            code, answer = self.call("PATCH", f"{VMS}/vm", {"spec": {"dataVolumeTemplates": vm_spec("bait", source)["dataVolumeTemplates"]}}, self.token, MERGE)
            self.assertEqual(code, 200, answer)
        self.make(SNAPSHOTS, "snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", "s", {"source": {**OF_VM, "name": "vm"}})
        self.until("the snapshot", lambda: (self.get(f"{SNAPSHOTS}/s").get("status") or {}).get("readyToUse"))

    def restored_volume(self):
        """A DataVolume that names the treasure, made in virt-controller's name out of a VM's template."""
        self.snapshot(FOREIGN)
        self.make(RESTORES, "snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", "r", {"target": {**OF_VM, "name": "vm"}, "virtualMachineSnapshotName": "s"})
        self.until("the restore", lambda: (self.get(f"{RESTORES}/r").get("status") or {}).get("complete"))
        name = self.get(f"{VMS}/vm")["spec"]["template"]["spec"]["volumes"][0]["dataVolume"]["name"]
        made = self.get(f"{VOLUMES}/{name}")
        self.assertEqual(made["spec"]["source"], FOREIGN, "a restore is not hindered by a source that it does not need")
        return made

    def claim(self, name, owner=None, **annotations):
        references = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}] if owner else []
        return self.call("POST", CLAIMS, self.object("v1", "PersistentVolumeClaim", name, STORAGE, ownerReferences=references, annotations={
            REQUEST: "victim/treasure", **annotations}), self.token)[0]

    def test_by_a_restore_and_a_claim_of_ones_own(self):
        volume = self.restored_volume()
        if self.claim("loot", volume) == 201:
            self.assert_refused("loot")
        self.allow_volumes("mallory")  # else nothing is theirs to say that it is a DataVolume's
        self.assertEqual(self.claim("again", volume), 201)
        self.assert_refused("again")
        # The volume's own claim is deleted, and the volume told that it is not full.
        name = volume["metadata"]["name"]
        self.must("DELETE", f"{CLAIMS}/{name}", None, self.token)
        self.until("the end of the claim", lambda: not self.get(f"{CLAIMS}/{name}"))
        code, answer = self.call("PATCH", f"{VOLUMES}/{name}", {"metadata": {"annotations": {
            "cdi.kubevirt.io/storage.prePopulated": None, ASKER: FORGED_VOLUME}}}, self.token, MERGE)
        self.assertEqual(code, 200, answer)
        self.assertNotIn(ASKER, answer["metadata"]["annotations"])
        self.until("a word about it", lambda: self.says(name, "CloneNotAllowed") or self.has_treasure(name))
        self.assertFalse(self.has_treasure(name))

    def test_by_the_annotations_of_a_restored_claim(self):
        self.snapshot()
        self.make(RESTORES, "snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", "r", {
            "target": {**OF_VM, "name": "vm"}, "virtualMachineSnapshotName": "s",
            "volumeRestoreOverrides": [{"volumeName": "root", "restoreName": "loot", "annotations": {REQUEST: "victim/treasure", ASKER: FORGED}}]})
        self.assert_refused("loot", "TargetNotEmpty")  # what was restored is not replaced, whoever asks

    def test_by_what_only_the_server_writes(self):
        """Who asked is written down by the server: at the creation, and never again."""
        self.assertEqual(self.claim("created", **{ASKER: FORGED}), 201)
        self.assert_refused("created")
        self.make(CLAIMS, "v1", "PersistentVolumeClaim", "patched", STORAGE)
        forged = {"metadata": {"annotations": {REQUEST: "victim/treasure", ASKER: FORGED}}}
        code, answer = self.call("PATCH", f"{CLAIMS}/patched", forged, self.token, MERGE)
        self.assertEqual((code, ASKER in answer["metadata"]["annotations"]), (200, False), answer)
        self.assert_refused("patched")
        stored = self.get(f"{CLAIMS}/patched")
        stored["metadata"]["annotations"][ASKER] = FORGED
        self.assertNotIn(ASKER, self.must("PUT", f"{CLAIMS}/patched", stored, self.token)["metadata"]["annotations"])
        applied = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "patched", **forged["metadata"]}}
        code, answer = self.call("PATCH", f"{CLAIMS}/patched?fieldManager=m&force=true", applied, self.token, {"Content-Type": "application/apply-patch+yaml"})
        self.assertEqual((code, ASKER in answer["metadata"]["annotations"]), (200, False), answer)
        self.assert_refused("patched")

    def test_by_the_permission_of_a_colleague(self):
        """A colleague may clone from there, and has asked for something: their word is for that alone."""
        self.must("POST", f"{CDI}/victim/datavolumes", self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "harmless", {"source": {"blank": {}}, "storage": STORAGE}))
        self.until("the source", lambda: self.phase("victim", "harmless") == "Succeeded")
        self.must("POST", f"{CDI}/victim/datasources", self.object("cdi.kubevirt.io/v1beta1", "DataSource", "shown", {"source": {"pvc": {"namespace": "victim", "name": "harmless"}}}))
        colleague = self.editor("alice")
        self.allow_volumes("alice")
        self.allow_clones("alice")
        self.must("POST", VOLUMES, self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "theirs", {
            "sourceRef": {"kind": "DataSource", "namespace": "victim", "name": "shown"}, "storage": STORAGE}), colleague)
        self.until("the colleague's disk", lambda: self.phase("mine", "theirs") == "Succeeded")
        volume, record = self.get(f"{VOLUMES}/theirs"), self.marks("theirs").get(ASKER, "")
        self.allow_volumes("mallory")
        self.assertEqual(self.claim("loot", volume, **{ASKER: record.replace("harmless", "treasure")}), 201)
        self.assert_refused("loot")
        # What they are allowed, they get.
        self.must("POST", VOLUMES, self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "granted", {"source": FOREIGN, "storage": STORAGE}), colleague)
        self.assert_filled("granted")

    def test_by_a_data_source_that_changes_its_mind(self):
        self.allow_volumes("mallory")
        self.make(SOURCES, "cdi.kubevirt.io/v1beta1", "DataSource", "turned", {"source": {"pvc": {"namespace": "mine", "name": "later"}}})
        self.make(VOLUMES, "cdi.kubevirt.io/v1beta1", "DataVolume", "loot", {"sourceRef": {"kind": "DataSource", "name": "turned"}, "storage": STORAGE})
        code, answer = self.call("PATCH", f"{SOURCES}/turned", {"spec": {"source": FOREIGN}}, self.token, MERGE)
        self.assertEqual(code, 200, answer)
        self.assert_refused("loot")

    def test_by_vms_pools_and_plain_volumes(self):
        self.allow_volumes("mallory")
        code, answer = self.call("POST", VOLUMES, self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "plain", {"source": FOREIGN, "storage": STORAGE}), self.token)
        self.assertEqual(code, 422, answer)
        immediate = {"kubevirt.io/immediate-data-volume-creation": "true"}
        self.make(VMS, "kubevirt.io/v1", "VirtualMachine", "direct", vm_spec("of-vm", FOREIGN), annotations=immediate)
        template = {"metadata": {"labels": {"a": "b"}, "annotations": immediate}, "spec": vm_spec("of-pool", FOREIGN)}
        self.make(POOLS, "pool.kubevirt.io/v1beta1", "VirtualMachinePool", "pool", {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "virtualMachineTemplate": template})
        for vm in ("direct", "pool-0"):
            self.until(f"a refusal for {vm}", lambda vm=vm: any(
                event["reason"] == "UnauthorizedDataVolumeCreate" and event["involvedObject"]["name"] == vm for event in self.must("GET", f"{CORE}/mine/events")["items"]))
        self.assertEqual(self.must("GET", VOLUMES)["items"], [])

    def test_by_a_cron(self):
        """Its DataVolumes are made for whoever made it."""
        crons = f"{CDI}/mine/dataimportcrons"
        cron = {"managedDataSource": "followed", "schedule": "", "template": {"spec": {"source": FOREIGN, "storage": STORAGE}}}
        self.allow("mine", "mallory", ["dataimportcrons"], ["*"])
        code, answer = self.call("POST", crons, self.object("cdi.kubevirt.io/v1beta1", "DataImportCron", "refused", cron), self.token)
        self.assertEqual(code, 422, answer)
        colleague = self.editor("alice")
        self.allow("mine", "alice", ["dataimportcrons"], ["*"])
        self.allow_clones("alice")
        made = self.must("POST", crons, self.object("cdi.kubevirt.io/v1beta1", "DataImportCron", "allowed", cron, annotations={ASKER: FORGED_VOLUME}), colleague)
        self.assertEqual(json.loads(made["metadata"]["annotations"][ASKER])["user"], "system:serviceaccount:mine:alice")
        claim = self.until("the import", lambda: [claim["metadata"]["name"] for claim in self.must("GET", CLAIMS)["items"]])[0]
        self.assert_filled(claim)

    def test_what_is_allowed_no_more(self):
        """The permission is asked about when the data moves."""
        colleague = self.editor("alice")
        self.allow_volumes("alice")
        self.allow_clones("alice")
        self.must("POST", VOLUMES, self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "late", {
            "source": {"pvc": {"namespace": "victim", "name": "later"}}, "storage": STORAGE}), colleague)
        self.until("the wait", lambda: self.says("late", "CloneWithoutSource"))
        self.must("DELETE", f"{ROLES}/victim/rolebindings/cdi-alice")
        self.must("POST", f"{CDI}/victim/datavolumes", self.object("cdi.kubevirt.io/v1beta1", "DataVolume", "later", {"source": {"blank": {}}, "storage": STORAGE}))
        self.assert_refused("late")
        self.bind("victim", "alice", {"kind": "Role", "name": "cdi-alice"}, "cdi-alice")
        self.until("the data", lambda: self.phase("mine", "late") == "Succeeded")


if __name__ == "__main__":
    unittest.main()
