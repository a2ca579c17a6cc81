#!/usr/bin/env python3
"""The questions that operators ask about a request, answered with kubectl and `virtgate explain`: it fails at once; it was
accepted and nothing happens; why a patch here and an object there. And which request an object comes from.

VIRTGATE_BINARY names the program. Every wait is for a state, with a deadline.
"""
import json
import os
import subprocess
import unittest

from support import kubectl as kubectl_side
from support import serve as e2e
from support.simulated import ACTIONS, MERGE, MIGRATIONS, VMIS, VMS, Simulated

REQUESTS = "/apis/trace.virtgate.io/v1/namespaces/default/requests"
KUBECTL, NO_KUBECTL = kubectl_side.kubectl_on_path()
MARKS = ("trace.virtgate.io/request", "trace.virtgate.io/user")


class Asking(Simulated):
    def request(self, query):
        """The newest one."""
        return self.good("GET", f"{REQUESTS}?fieldSelector={query}")["items"][-1]

    def kubectl(self, *arguments):
        environment = {**os.environ, "HOME": self.state, "KUBECONFIG": os.path.join(self.state, "admin.kubeconfig")}
        return subprocess.run([KUBECTL, *arguments], capture_output=True, text=True, timeout=60, check=True, env=environment).stdout

    def explain(self, request):
        command = [e2e.BINARY, "explain", request["metadata"]["name"], "--state", self.state]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
class Stories(Asking):
    def told(self, request, *parts):
        """The same in kubectl's list, in its description and in the explanation."""
        self.assertIn(request["metadata"]["name"], self.kubectl("get", "vgr"))
        described = kubectl_side.one_line(self.kubectl("describe", "vgr", request["metadata"]["name"]))
        explained = kubectl_side.one_line(self.explain(request))
        for part in parts:
            self.assertIn(part, described)
            self.assertIn(part, explained)

    def test_migrate_fails_at_once(self):
        self.vm("demo", spec={"nodeSelector": {"colour": "green"}})
        self.until_printable("demo", "ErrorUnschedulable")
        code, answer = self.ask("PUT", f"{ACTIONS}/virtualmachines/demo/migrate", {})
        self.assertEqual(code, 409, answer)
        request = self.request("spec.subresource=migrate")
        self.told(request, "only a running VMI can be migrated", "virtualmachines/migrate", "refused (409 Conflict)")
        self.assertEqual(request["status"]["decidedBy"], "virtualmachines/migrate")
        self.assertTrue(any("virtualmachineinstances default/demo" in one["object"] for one in request["status"]["seen"]), request)
        self.assertNotIn("objects", request["status"])

    def test_accepted_but_nothing_happens(self):
        self.vm("demo", strategy="Manual", spec={"nodeSelector": {"colour": "green"}})
        self.until_printable("demo", "Stopped")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.until_printable("demo", "ErrorUnschedulable")
        request = self.request("spec.subresource=start")
        self.assertEqual(request["status"]["code"], 202)
        self.told(request, "no node takes the VMI", "was changed")
        self.assertIn("run strategy Manual", request["status"]["seen"][0]["state"])

    def test_a_patch_here_and_an_object_there(self):
        self.vm("demo", strategy="Manual")
        self.until_printable("demo", "Stopped")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.until_printable("demo", "Running")
        self.until("migratable", lambda: self.conditions(f"{VMIS}/demo").get("LiveMigratable") == "True")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/migrate", {})
        self.until("the migration", lambda: self.get(MIGRATIONS)["items"])
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {})
        started, migrated, paused = (self.request(f"spec.subresource={action}")["status"]["objects"][0] for action in ("start", "migrate", "pause"))
        self.assertEqual((started["action"], started["object"]), ("was changed", "kubevirt.io/v1/namespaces/default/virtualmachines/demo"))
        self.assertTrue(started["uid"] and started["resourceVersion"], started)
        made = self.get(MIGRATIONS)["items"][0]["metadata"]
        self.assertEqual((migrated["action"], migrated["uid"]), ("was created", made["uid"]))
        self.assertTrue(migrated["object"].endswith(f"virtualmachineinstancemigrations/{made['name']}"), migrated)
        self.assertEqual(paused["action"], "called the node")
        self.told(self.request("spec.subresource=migrate"), made["name"], made["uid"])

    def test_what_a_write_changed_by_names_alone(self):
        self.vm("demo", strategy="Halted")
        self.assertIn("spec.template.spec.architecture", {one["field"] for one in self.request("spec.name=demo")["status"]["changes"]})
        self.good("PATCH", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines/demo",
                  {"metadata": {"annotations": {"hidden": "word"}}, "spec": {"runStrategy": "Manual", "template": {"spec": {"domain": {"cpu": {"cores": 3}}}}}},
                  headers=MERGE)
        status = self.request("spec.name=demo")["status"]
        self.assertIn({"field": "spec.runStrategy", "value": "Manual"}, status["changes"])
        self.assertIn("metadata.annotations", {one["field"] for one in status["changes"]})
        self.assertNotIn("hidden", json.dumps(status))
        self.assertLessEqual({"access", "decision", "write"}, set(status["timesMilliseconds"]))


class DryRun(Asking):
    PLAN = {"Accept": "application/json;as=Status;g=virtgate.io;v=v1, */*"}

    def test_it_tells_what_it_would_do(self):
        self.vm("demo", strategy="Manual")
        self.until_printable("demo", "Stopped")
        path, body = f"{ACTIONS}/virtualmachines/demo/start", {"dryRun": ["All"]}
        self.assertEqual(self.ask("PUT", path, body), (202, None))
        code, told = self.ask("PUT", path, body, headers=self.PLAN)
        self.assertEqual((code, told["kind"], told["status"]), (202, "Status", "Success"))
        would = told["details"]["virtgate.io"]["would"]
        self.assertEqual(would[0]["subresource"], "status")
        self.assertIn("Start", json.dumps(would[0]["patch"]))
        self.assertEqual(self.printable("demo"), "Stopped")
        self.is_told_as_dry_run("start")

    def test_its_request_is_told_as_one(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.until("migratable", lambda: self.conditions(f"{VMIS}/demo").get("LiveMigratable") == "True")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/migrate", {"dryRun": ["All"]})
        self.assertEqual(self.get(MIGRATIONS)["items"], [])
        self.is_told_as_dry_run("migrate")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {"dryRun": ["All"]})
        self.is_told_as_dry_run("pause")

    def is_told_as_dry_run(self, action):
        request = self.request(f"spec.subresource={action}")
        self.assertIs(request["spec"].get("dryRun"), True, request)
        self.assertIn("dry run: nothing was changed", json.dumps(request["status"]))


class Marks(Asking):
    def run_server(self):
        return self.server(role=("--node", "simulated", "--nodes", "2", "--mark-objects")).start()

    def marks(self, thing):
        annotations = thing["metadata"].get("annotations", {})
        return tuple(annotations.get(mark) for mark in MARKS)

    def migration(self, name, **annotations):
        return self.good("POST", MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                              "metadata": {"name": name, "annotations": annotations}, "spec": {"vmiName": "demo"}})

    def test_what_an_action_makes_names_its_request(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.until("migratable", lambda: self.conditions(f"{VMIS}/demo").get("LiveMigratable") == "True")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/migrate", {})
        made = self.until("the migration", lambda: self.get(MIGRATIONS)["items"])[0]
        self.assertEqual(self.marks(made), (self.request("spec.subresource=migrate")["metadata"]["name"], "kubernetes-admin"))

    def test_a_vmi_names_the_request_that_led_to_it(self):
        """Made by a controller: by the request that made the VM, by the one that waited in its status, and by the one that changed its run strategy."""
        self.vm("always")
        self.until_printable("always", "Running")
        created = self.request("spec.name=always")["metadata"]["name"]
        self.assertEqual(self.marks(self.get(f"{VMIS}/always")), (created, "kubernetes-admin"))
        self.vm("manual", strategy="Manual")
        self.until_printable("manual", "Stopped")
        self.good("PUT", f"{ACTIONS}/virtualmachines/manual/start", {})
        self.until_printable("manual", "Running")
        started = self.request("spec.subresource=start")["metadata"]["name"]
        self.assertEqual(self.marks(self.get(f"{VMIS}/manual")), (started, "kubernetes-admin"))
        self.vm("halted", strategy="Halted")
        self.until_printable("halted", "Stopped")
        self.good("PATCH", f"{VMS}/halted", {"spec": {"runStrategy": "Always"}}, headers=MERGE)
        self.until_printable("halted", "Running")
        patched = self.request("spec.name=halted")["metadata"]["name"]
        self.assertEqual(self.marks(self.get(f"{VMIS}/halted")), (patched, "kubernetes-admin"))

    def test_nobody_forges_them(self):
        self.vm("demo", strategy="Halted")
        self.good("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                                 "metadata": {"name": "lone", "annotations": {mark: "forged" for mark in MARKS}},
                                 "spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {}}}})
        wanted = (self.request("spec.name=lone")["metadata"]["name"], "kubernetes-admin")
        self.assertEqual(self.marks(self.get(f"{VMIS}/lone")), wanted)
        self.good("PATCH", f"{VMIS}/lone", {"metadata": {"annotations": {MARKS[1]: "forged", "mine": "kept"}}}, headers=MERGE)
        self.good("PATCH", f"{VMIS}/lone", {"metadata": {"annotations": {MARKS[0]: None}}}, headers=MERGE)
        after = self.get(f"{VMIS}/lone")
        self.assertEqual((self.marks(after), after["metadata"]["annotations"]["mine"]), (wanted, "kept"))


class WithoutMarks(Asking):
    def test_they_are_dropped(self):
        self.good("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                                 "metadata": {"name": "lone", "annotations": {MARKS[0]: "forged"}},
                                 "spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {}}}})
        self.assertNotIn("forged", json.dumps(self.get(f"{VMIS}/lone")["metadata"].get("annotations", {})))


if __name__ == "__main__":
    unittest.main(verbosity=2)
