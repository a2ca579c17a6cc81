#!/usr/bin/env python3
"""From client-side to server-side apply: what others set on an object stays, and who owns what is told as kube-apiserver does.

kubectl 1.26 and newer hand over by themselves: the fields of whoever owns the annotation of client-side apply become those of
`kubectl apply --server-side`, and go where the file does not have them. The same hand-over is also done here step by step, so
that it is tested with any kubectl and with none. VIRTGATE_BINARY names the program.
"""
import glob
import json
import os
import tempfile
import unittest

from support import kubectl as e2e
from support.kubectl import config_map, instancetype, pool, replica_set, service, virtual_machine

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MERGE, APPLY, JSON_PATCH = "application/merge-patch+json", "application/apply-patch+yaml", "application/json-patch+json"
CORE = "/api/v1"

# What others put on objects after client-side apply, as merge patches, and under which name.
ON_A_MACHINE = [
    ("labeller", {"metadata": {"labels": {"team": "blue"}}}),
    ("backup", {"metadata": {"annotations": {"example.org/backup": "daily"}, "finalizers": ["example.org/backup"]}}),
    ("licences", {"spec": {"template": {"spec": {"domain": {"firmware": {"uuid": "6f2a8b7e-0f5c-4f0a-9d5e-0d1f6d8a4c11", "serial": "S-42"}}}}}}),
]
ON_A_MAP = [
    ("injector", {"data": {"ca.crt": "PEM"}}),
    ("labeller", {"metadata": {"labels": {"team": "blue"}, "annotations": {"example.org/seen": "yes"}, "finalizers": ["example.org/hold"]}}),
]


def machine():
    return virtual_machine("a", labels={"app": "shop", "old": "1"}, annotations={"example.org/note": "mine"})


def settings():
    return config_map("a", {"mine": "1", "old": "1"}, labels={"app": "shop"})


def with_last_applied(item):
    """As client-side apply sends it."""
    item = json.loads(json.dumps(item))
    text = json.dumps(item, separators=(",", ":"), sort_keys=True) + "\n"
    item["metadata"].setdefault("annotations", {})[LAST_APPLIED] = text
    return item


def has(fields, *path):
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return True


def unite(one, other):
    for element, below in other.items():
        unite(one.setdefault(element, {}), below)


def hand_over(entries, to="kubectl"):
    """What kubectl makes of the managed fields: the entry that owns the annotation becomes that of the one who applies."""
    path = ("f:metadata", "f:annotations", "f:" + LAST_APPLIED)
    owners = {entry["manager"] for entry in entries if entry["operation"] == "Update" and has(entry["fieldsV1"], *path)}
    entries = json.loads(json.dumps(entries))
    mine = next((entry for entry in entries if (entry["manager"], entry["operation"], entry.get("subresource")) == (to, "Apply", None)), None)
    kept = [entry for entry in entries if entry is mine]
    for entry in entries:
        if entry is mine:
            continue
        if entry["manager"] not in owners or entry["operation"] != "Update" or "subresource" in entry:
            kept.append(entry)
        elif mine is None:
            entry.update(manager=to, operation="Apply")
            mine = entry
            kept.append(entry)
        else:
            unite(mine["fieldsV1"], entry["fieldsV1"])
    return kept


class Handover(e2e.Kubectl, unittest.TestCase):
    find = staticmethod(e2e.kubectl_on_path)

    def owners(self, path):
        """(manager, operation, subresource) of every entry."""
        return {(entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
                for entry in self.api("GET", path)["metadata"].get("managedFields", [])}

    def change(self, path, changes):
        for manager, patch in changes:
            self.api("PATCH", f"{path}?fieldManager={manager}", patch, MERGE)

    def apply_on_the_server(self, item, *more):
        return self.kubectl("apply", "--server-side", "--validate=false", *more, "-f", "-", stdin=item)

    def apply_step_by_step(self, path, item):
        """As kubectl does it: apply, hand over where the annotation is still somebody else's, apply again."""
        applying = f"{path}?fieldManager=kubectl&fieldValidation=Ignore"
        found = self.api("PATCH", applying, item, APPLY)
        before = found["metadata"]["managedFields"]
        after = hand_over(before)
        if after == before:
            return
        self.api("PATCH", f"{path}?fieldManager=kubectl", [
            {"op": "replace", "path": "/metadata/managedFields", "value": after},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}], JSON_PATCH)
        self.api("PATCH", applying, item, APPLY)

    def check_machine(self, path, others="licences"):
        found = self.api("GET", path)
        meta, firmware = found["metadata"], found["spec"]["template"]["spec"]["domain"]["firmware"]
        self.assertEqual(meta["labels"], {"app": "shop", "team": "blue"})
        self.assertEqual(meta["annotations"].get("example.org/backup"), "daily")
        self.assertEqual(meta["annotations"].get("example.org/note"), "mine")
        self.assertEqual(meta["finalizers"], ["example.org/backup"])
        self.assertEqual(firmware, {"uuid": "6f2a8b7e-0f5c-4f0a-9d5e-0d1f6d8a4c11", "serial": "S-42"})
        self.assertEqual(found["spec"]["runStrategy"], "Manual")
        owners = self.owners(path)
        self.assertIn(("kubectl", "Apply", ""), owners)
        self.assertIn("f:uuid", json.dumps(owners[(others, "Update", "")]))
        self.assertNotIn("f:uuid", json.dumps(owners[("kubectl", "Apply", "")]))

    def check_settings(self, path):
        found = self.api("GET", path)
        self.assertEqual(found["data"], {"mine": "2", "ca.crt": "PEM"})
        self.assertEqual(found["metadata"]["labels"], {"app": "shop", "team": "blue"})
        self.assertEqual(found["metadata"]["annotations"].get("example.org/seen"), "yes")
        self.assertEqual(found["metadata"]["finalizers"], ["example.org/hold"])

    def changed_files(self):
        """The next version of both files: something goes, something changes."""
        vm, data = machine(), settings()
        del vm["metadata"]["labels"]["old"]
        vm["spec"]["runStrategy"] = "Manual"
        data["data"] = {"mine": "2"}
        return vm, data

    def release(self, *paths):
        for path in paths:
            self.api("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)

    def test_kubectl_hands_over_and_nothing_of_others_goes(self):
        self.need(1, 26, "hand-over to server-side apply")
        vm, data = self.path("virtualmachines", "a"), self.path("configmaps", "a", CORE)
        self.kubectl("apply", "--validate=false", "-f", "-", stdin=e2e.listed(machine(), settings()))
        self.assertIn(("kubectl-client-side-apply", "Update", ""), self.owners(vm))
        self.change(vm, ON_A_MACHINE)
        self.change(data, ON_A_MAP)
        for _ in range(2):
            self.apply_on_the_server(e2e.listed(*self.changed_files()))
            self.check_machine(vm)
            self.check_settings(data)
        # kubectl keeps the annotation for whoever goes back, up to date and under a name of its own.
        kept = self.api("GET", data)["metadata"]["annotations"][LAST_APPLIED]
        self.assertEqual(json.loads(kept)["data"], {"mine": "2"})
        self.assertIn(("kubectl-last-applied", "Apply", ""), self.owners(data))
        self.release(vm, data)

    def test_objects_from_before_owners_were_kept(self):
        vm, data = self.path("virtualmachines", "a"), self.path("configmaps", "a", CORE)
        self.api("POST", self.path("virtualmachines"), with_last_applied(machine()))
        self.api("POST", self.path("configmaps", root=CORE), with_last_applied(settings()))
        self.change(vm, ON_A_MACHINE)
        self.change(data, ON_A_MAP)
        changed_vm, changed_data = self.changed_files()
        for path, changed in ((vm, changed_vm), (data, changed_data)):
            self.api("PATCH", path, {"metadata": {"managedFields": [{}]}}, MERGE)
            self.assertEqual(self.owners(path), {})
            if self.version >= (1, 26):
                self.apply_on_the_server(changed)
            else:
                self.apply_step_by_step(path, changed)
        self.check_machine(vm, "before-first-apply")
        self.check_settings(data)
        self.release(vm, data)

    def test_step_by_step_nothing_of_others_goes(self):
        vm, data = self.path("virtualmachines", "a"), self.path("configmaps", "a", CORE)
        client_side = "?fieldManager=kubectl-client-side-apply"
        self.api("POST", self.path("virtualmachines") + client_side, with_last_applied(machine()))
        self.api("POST", self.path("configmaps", root=CORE) + client_side, with_last_applied(settings()))
        self.change(vm, ON_A_MACHINE)
        self.change(data, ON_A_MAP)
        changed_vm, changed_data = self.changed_files()
        for _ in range(2):
            self.apply_step_by_step(vm, changed_vm)
            self.apply_step_by_step(data, changed_data)
            self.check_machine(vm)
            self.check_settings(data)
            for path in (vm, data):
                self.assertNotIn(LAST_APPLIED, self.api("GET", path)["metadata"]["annotations"])
        self.release(vm, data)

    def test_what_others_changed_is_a_conflict(self):
        path = self.path("virtualmachines", "a")
        self.api("POST", self.path("virtualmachines") + "?fieldManager=kubectl-client-side-apply", with_last_applied(machine()))
        self.change(path, [("operator", {"spec": {"runStrategy": "Always"}})])
        complaint = self.refused("apply", "--server-side", "--validate=false", "-f", "-", stdin=machine())
        self.assertIn("operator", complaint)
        self.assertIn(".spec.runStrategy", complaint)
        self.assertNotIn("kubectl-client-side-apply", complaint)

    def test_diff_shows_what_would_go(self):
        path = self.path("configmaps", "a", CORE)
        self.apply_on_the_server(settings())
        self.change(path, ON_A_MAP)
        self.assertEqual(self.kubectl("diff", "--server-side", "-f", "-", stdin=settings()), "")
        changed = settings()
        del changed["data"]["old"]
        shown = self.run_it("diff", "--server-side", "-f", "-", stdin=changed, code=1).stdout
        # Who owns what is in it as well.
        lines = {line[0] + line[1:].strip() for line in shown.splitlines() if line[:1] in "+-"}
        self.assertIn('-old: "1"', lines)
        self.assertFalse([line for line in lines if "ca.crt" in line or "team" in line], shown)
        self.assertIn("old", self.api("GET", path)["data"])
        self.release(path)

    def test_forced_apply_again_changes_nothing(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [
            {"name": "c", "image": "example/i:1", "ports": [{"containerPort": 80}],
             "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}]}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
        items = [virtual_machine("a"), replica_set("b", 2), pool("d", 1), config_map("m", {"k": "v"}), service("w", 80),
                 instancetype("VirtualMachineInstancetype", "t"), secret, pod, claim, role]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "all.json"), "w") as file:
                json.dump(e2e.listed(*items), file)
            files = [file.name, *sorted(glob.glob(os.path.join(e2e.SOURCE, "examples", "**", "*.yaml"), recursive=True))]
            self.assertGreater(len(files), 1, "no examples")
            before = None
            for manager, rounds in (("argocd-controller", 3), ("kustomize-controller", 3)):
                for number in range(rounds):
                    for name in files:
                        self.kubectl("apply", "--server-side", "--force-conflicts", "--validate=false", "--field-manager", manager, "-f", name)
                    now = self.everything(files)
                    if number > 0:
                        self.assertEqual(now, before, f"round {number + 1} of {manager}")
                    before = now

    def everything(self, files):
        names = []
        for name in files:
            names += self.kubectl("get", "-f", name, "-o", "name").split()
        return [json.loads(self.kubectl("get", name, "-o", "json", "--show-managed-fields" if self.version >= (1, 21) else "--chunk-size=500"))
                for name in names]

    # --- who owns what
    def test_owners_of_every_kind_of_write(self):
        path = self.path("virtualmachines", "a")
        agent = lambda method, where, body, kind="application/json", name="prog/1.0 (linux)": self.one.ask(
            method, where, json.dumps(body), self.one.as_admin(**{"Content-Type": kind, "User-Agent": name}))
        code, _, text = agent("POST", self.path("virtualmachines"), virtual_machine("a"))
        self.assertEqual(code, 201, text)
        self.assertEqual(set(self.owners(path)), {("prog", "Update", "")})
        made = self.api("GET", path)
        self.assertNotIn("f:firmware", json.dumps(made["metadata"]["managedFields"]), "what admission rules add is nobody's")
        # Nothing changes: neither owners, nor the version.
        for method, where, body, kind in (("PUT", path, made, "application/json"),
                                          ("PATCH", path, {"spec": {"runStrategy": "Halted"}}, MERGE),
                                          ("PATCH", path, [{"op": "replace", "path": "/spec/runStrategy", "value": "Halted"}], JSON_PATCH),
                                          ("PATCH", path + "/status", {"spec": {"runStrategy": "Always"}}, MERGE)):
            code, _, text = agent(method, where, body, kind, "other/2")
            self.assertEqual((code, json.loads(text)), (200, made), kind)
        made["spec"]["runStrategy"] = "Manual"
        code, _, text = agent("PUT", path, made, name="editor")
        self.assertEqual(code, 200, text)
        agent("PATCH", path + "/status", {"status": {"printableStatus": "Stopped", "ready": False}}, MERGE, "virt-controller/v1")
        owners = self.owners(path)
        self.assertEqual(owners[("editor", "Update", "")], {"f:spec": {"f:runStrategy": {}}})
        self.assertNotIn("f:runStrategy", owners[("prog", "Update", "")]["f:spec"])
        self.assertEqual(set(owners[("virt-controller", "Update", "status")]), {"f:status"})
        # virt-api writes what its subresources are asked for.
        code, _, text = agent("PUT", path.replace("/apis/kubevirt.io", "/apis/subresources.kubevirt.io") + "/start", {}, name="virtctl/1")
        self.assertEqual(code, 202, text)
        self.assertTrue([who for who in self.owners(path) if who[0] == "virt-api"], self.owners(path))
        self.assertFalse([who for who in self.owners(path) if who[0] in ("virtctl", "unknown")], self.owners(path))
        # A dry run shows what would be.
        shown = agent("PATCH", path + "?dryRun=All", {"metadata": {"labels": {"x": "1"}}}, MERGE, "dry")[2]
        self.assertIn("dry", [entry["manager"] for entry in json.loads(shown)["metadata"]["managedFields"]])
        self.assertNotIn(("dry", "Update", ""), self.owners(path))

    def test_scale_has_an_entry_of_its_own(self):
        self.create(replica_set("a", 2))
        self.kubectl("scale", "vmirs", "a", "--replicas=5")
        owners = self.owners(self.path("virtualmachineinstancereplicasets", "a"))
        scaled = [fields for (_, operation, subresource), fields in owners.items() if (operation, subresource) == ("Update", "scale")]
        self.assertEqual(scaled, [{"f:spec": {"f:replicas": {}}}])
        for (_, _, subresource), fields in owners.items():
            if subresource == "":
                self.assertNotIn("f:replicas", fields["f:spec"])

    def test_owners_can_be_forgotten(self):
        path = self.path("configmaps", "a", CORE)
        for nothing in ([], [{}]):
            self.api("POST", self.path("configmaps", root=CORE) + "?fieldManager=one", settings())
            self.assertEqual(set(self.owners(path)), {("one", "Update", "")})
            self.api("PATCH", path, {"metadata": {"managedFields": nothing}}, MERGE)
            self.assertEqual(self.owners(path), {})
            # Then as for objects from before owners were kept.
            self.api("PATCH", path + "?fieldManager=two", {"data": {"x": "1"}}, MERGE)
            self.assertEqual(self.owners(path), {})
            self.api("PATCH", path + "?fieldManager=three", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "1"}}, APPLY)
            self.assertEqual(set(self.owners(path)), {("before-first-apply", "Update", ""), ("three", "Apply", "")})
            self.api("DELETE", path)

    def test_what_is_sent_about_owners_is_minded(self):
        path = self.path("configmaps", "a", CORE)
        entry = {"manager": "earlier", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:data": {"f:mine": {}, "f:gone": {}}}}
        made = settings()
        made["metadata"]["managedFields"] = [entry]
        self.api("POST", self.path("configmaps", root=CORE) + "?fieldManager=one", made)
        owners = self.owners(path)
        # Whoever makes the object owns all of it.
        self.assertEqual(owners[("earlier", "Update", "")], {"f:data": {"f:gone": {}}})
        self.assertEqual(owners[("one", "Update", "")]["f:data"], {".": {}, "f:mine": {}, "f:old": {}})
        # What cannot be read is passed over.
        for broken in ({"operation": "Other"}, {"fieldsType": "FieldsV2"}, {"apiVersion": ""}, {"fieldsV1": {"x": {}}}):
            self.api("PATCH", path + "?fieldManager=one", {"metadata": {"managedFields": [{**entry, **broken}]}}, MERGE)
            self.assertEqual(self.owners(path), owners, broken)
        # An owner may be taken out, by a write of the object itself.
        self.api("PATCH", path + "?fieldManager=one", {"metadata": {"managedFields": [entry]}}, MERGE)
        self.assertEqual(set(self.owners(path)), {("earlier", "Update", "")})


if __name__ == "__main__":
    unittest.main()
