#!/usr/bin/env python3
"""`virtgate simulate` against `virtgate serve --api-only`: VMs that seem to run, and what can then be asked of them.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import os
import signal
import subprocess
import unittest

from support import serve as e2e

DEADLINE_S = 30
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
VMIS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
MIGRATIONS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
OF_VM = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/"
OF_VMI = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/"


class Simulate(e2e.Scratch):
    def setUp(self):
        super().setUp()
        self.one = self.server().start()

    def ask(self, method, path, body=None, **headers):
        headers = self.one.as_admin(**{"Content-Type": "application/json", "Accept": "application/json, */*", **headers})
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body), headers=headers)
        try:
            return code, json.loads(text) if text else None
        except ValueError:
            return code, text

    def good(self, answer, *codes):
        self.assertIn(answer[0], codes or (200, 201, 202), answer[1])
        return answer[1]

    def machine(self, name, strategy, **spec):
        return self.good(self.ask("POST", VMS, {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name},
            "spec": {"runStrategy": strategy, **spec,
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
                                           "networks": [{"name": "default", "pod": {}}],
                                           "volumes": [{"name": "root", "containerDisk": {"image": "example/disk:1"}}]}}}}))

    def command(self, *arguments):
        return [e2e.BINARY, "simulate", "--state", self.state, *arguments]

    def simulate(self, *arguments, code=0):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def phase(self, name):
        code, vmi = self.ask("GET", f"{VMIS}/{name}")
        return vmi.get("status", {}).get("phase") if code == 200 else None

    def runs_as_other_than(self, uid):
        code, vmi = self.ask("GET", f"{VMIS}/demo")
        return code == 200 and vmi["metadata"]["uid"] != uid and vmi.get("status", {}).get("phase") == "Running"

    def printable(self, name):
        return self.good(self.ask("GET", f"{VMS}/{name}")).get("status", {}).get("printableStatus")

    def conditions(self, name):
        vmi = self.good(self.ask("GET", f"{VMIS}/{name}"))
        return {one["type"]: one["status"] for one in vmi["status"]["conditions"]}

    def test_one_vm_once(self):
        self.machine("demo", "Always")
        done = self.simulate("demo", "--guest-agent", "--ip", "10.9.8.7", "--node", "worker-3")
        self.assertEqual(done.stdout, "default/demo: VMI created\ndefault/demo: phase Running on worker-3\n")
        vmi = self.good(self.ask("GET", f"{VMIS}/demo"))
        status = vmi["status"]
        self.assertEqual((status["phase"], status["nodeName"]), ("Running", "worker-3"))
        self.assertEqual(vmi["metadata"]["labels"], {"app": "demo", "kubevirt.io/nodeName": "worker-3"})
        self.assertEqual(vmi["metadata"]["ownerReferences"][0]["name"], "demo")
        self.assertEqual(status["interfaces"][0]["ipAddress"], "10.9.8.7")
        self.assertEqual(list(status["activePods"].values()), ["worker-3"])
        self.assertEqual([one["phase"] for one in status["phaseTransitionTimestamps"]], ["Pending", "Scheduling", "Scheduled", "Running"])
        self.assertEqual(self.conditions("demo"), {"Ready": "True", "LiveMigratable": "True", "StorageLiveMigratable": "True", "AgentConnected": "True"})
        vm = self.good(self.ask("GET", f"{VMS}/demo"))["status"]
        self.assertEqual((vm["printableStatus"], vm["ready"], vm["created"]), ("Running", True, True))
        version = vmi["metadata"]["resourceVersion"]
        self.simulate("demo", "--guest-agent", "--ip", "10.9.8.7", "--node", "worker-3")
        self.assertEqual(self.good(self.ask("GET", f"{VMIS}/demo"))["metadata"]["resourceVersion"], version, "there was nothing to change")
        # What needs a running VMI can be asked now.
        self.good(self.ask("PUT", OF_VM + "demo/migrate", {}), 202)
        self.good(self.ask("PUT", OF_VM + "demo/restart", {}), 202)
        self.simulate("demo", "--phase", "Failed")
        self.assertEqual((self.phase("demo"), self.printable("demo")), ("Failed", "Stopped"))

    def test_a_vmi_of_its_own_and_all_of_them(self):
        self.good(self.ask("POST", VMIS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "alone"},
                                          "spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {}}}}))
        self.machine("runs", "Always")
        self.machine("rests", "Halted")
        done = self.simulate("--all")
        self.assertNotIn("rests", done.stdout)
        self.assertEqual((self.phase("alone"), self.phase("runs"), self.phase("rests")), ("Running", "Running", None))

    def test_refusals(self):
        self.machine("rests", "Halted")
        self.assertIn("start it first", self.simulate("rests", code=1).stderr)
        self.assertIn('virtualmachineinstances.kubevirt.io "nobody" not found', self.simulate("nobody", code=1).stderr)
        self.assertIn("state folder", subprocess.run([e2e.BINARY, "simulate", "--state", self.folder + "/none", "x"], capture_output=True,
                                                     text=True, timeout=DEADLINE_S).stderr)
        self.one.stop()
        self.simulate("rests", code=1)

    def test_an_ordinary_user_cannot(self):
        """The rights to VMIs are not enough: the status of a VMI is the components', and acting as one is impersonation."""
        self.machine("demo", "Always")
        self.simulate("demo")
        self.good(self.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "jane"}}))
        self.good(self.ask("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "jane"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "jane", "namespace": "default"}]}))
        token = self.good(self.ask("POST", "/api/v1/namespaces/default/serviceaccounts/jane/token",
                                   {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}))["status"]["token"]
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                  "clusters": [{"name": "x", "cluster": {"server": f"https://127.0.0.1:{self.one.port}", "certificate-authority": self.one.pki("ca.crt")}}],
                  "users": [{"name": "x", "user": {"token": token}}]}
        path = os.path.join(self.folder, "jane.kubeconfig")
        with open(path, "w") as file:
            json.dump(config, file)
        done = subprocess.run([e2e.BINARY, "simulate", "--kubeconfig", path, "demo", "--phase", "Failed"], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("impersonate", done.stderr)
        self.assertEqual(self.phase("demo"), "Running")

    def watching(self):
        process = subprocess.Popen(self.command("--all", "--watch"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()) if process.poll() is None else None)
        return process

    def test_watching_begins_with_what_is_there(self):
        self.machine("before", "Always")
        self.watching()
        self.until("the VM runs", lambda: self.printable("before") == "Running")

    def test_watching(self):
        process = self.watching()
        self.machine("demo", "Always")
        self.until("the VM runs", lambda: self.printable("demo") == "Running")
        first = self.good(self.ask("GET", f"{VMIS}/demo"))["metadata"]["uid"]

        self.good(self.ask("PUT", OF_VM + "demo/restart", {}), 202)
        self.until("another VMI runs", lambda: self.runs_as_other_than(first))
        self.until("no request is left", lambda: "stateChangeRequests" not in self.good(self.ask("GET", f"{VMS}/demo"))["status"])

        self.good(self.ask("PUT", OF_VM + "demo/migrate", {}), 202)
        self.until("the migration is done", lambda: [one.get("status", {}).get("phase") for one in
                                                     self.good(self.ask("GET", MIGRATIONS))["items"]] == ["Succeeded"])
        vmi = self.good(self.ask("GET", f"{VMIS}/demo"))
        self.assertEqual((vmi["status"]["nodeName"], vmi["metadata"]["labels"]["kubevirt.io/nodeName"]), ("node01-target",) * 2)

        self.good(self.ask("PUT", OF_VM + "demo/stop", {}), 202)
        self.until("it is stopped", lambda: self.phase("demo") is None and self.printable("demo") == "Stopped")
        self.good(self.ask("PUT", OF_VM + "demo/start", {}), 202)
        self.until("it runs again", lambda: self.printable("demo") == "Running")
        settled = self.good(self.ask("GET", f"{VMS}/demo"))["metadata"]["resourceVersion"]

        self.machine("other", "Manual")
        self.good(self.ask("PUT", OF_VM + "other/start", {"paused": True}), 202)
        self.until("it is paused", lambda: self.printable("other") == "Paused")
        self.assertEqual(self.good(self.ask("GET", f"{VMS}/demo"))["metadata"]["resourceVersion"], settled, "what is done is left alone")

        self.good(self.ask("DELETE", f"{VMS}/other"))
        self.until("VM and VMI are gone", lambda: self.ask("GET", f"{VMS}/other")[0] == 404 and self.ask("GET", f"{VMIS}/other")[0] == 404)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("default/demo: VMI created\n", out)

    def test_an_instance_type_is_applied(self):
        self.good(self.ask("POST", "/apis/instancetype.kubevirt.io/v1beta1/namespaces/default/virtualmachineinstancetypes", {
            "apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype", "metadata": {"name": "two"},
            "spec": {"cpu": {"guest": 2}, "memory": {"guest": "128Mi"}}}))
        self.good(self.ask("POST", VMS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "typed"},
                                         "spec": {"runStrategy": "Always", "instancetype": {"kind": "VirtualMachineInstancetype", "name": "two"},
                                                  "template": {"spec": {"domain": {"devices": {}}}}}}))
        self.simulate("typed")
        spec = self.good(self.ask("GET", f"{VMIS}/typed"))["spec"]["domain"]
        self.assertEqual((spec["cpu"]["sockets"], spec["memory"]["guest"]), (2, "128Mi"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
