#!/usr/bin/env python3
"""`virtgate cluster` in virt-api's place: `virtgate serve --api-only` plays the API server behind it, and this test plays
kube-apiserver's front proxy and webhook caller in front of it, with certificates of their own.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import unittest

from support import serve as e2e
from support.cluster import (
    ADMIN, BASE, Cluster, Gateway, KUBEVIRT, MAPS,
    OF_VM, PROXY_MAP, TEMPLATE, VMS, ZOE, make_authority,
    make_certificate, until,
)


class Serving(Cluster):
    def review(self, path, resource, kind, spec, group="kubevirt.io", version="v1"):
        body = e2e.review(group, version, resource, "", kind)
        body["request"]["object"]["spec"] = spec
        code, text = self.gateway.ask("POST", path, body)
        self.assertEqual(code, 200, text)
        return json.loads(text)["response"]

    def test_every_webhook_answers_without_credentials(self):
        for path, group, version, resource, sub, kind in e2e.WEBHOOKS:
            code, text = self.gateway.ask("POST", path, e2e.review(group, version, resource, sub, kind))
            self.assertEqual(code, 200, path)
            self.assertEqual(json.loads(text)["response"]["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002", path)

    def test_rules_know_the_objects_of_the_api_server(self):
        migration = ("/migration-validate-create", "virtualmachineinstancemigrations", "VirtualMachineInstanceMigration", {"vmiName": "late"})
        refused = self.review(*migration)
        self.assertFalse(refused["allowed"], refused)
        self.made("/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances", {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "late"}, "spec": TEMPLATE["spec"]})
        allowed = self.review(*migration)
        self.assertTrue(allowed["allowed"], allowed)

    def test_an_action_is_authorized_and_done(self):
        self.machine("worker", runStrategy="Manual")
        code, text = self.gateway.as_proxy("PUT", OF_VM + "worker/start", ZOE)
        self.assertEqual(code, 401, text)
        code, text = self.gateway.as_proxy("PUT", OF_VM + "worker/start", ADMIN)
        self.assertEqual(code, 202, text)
        _, found = self.kube("GET", VMS + "/worker")
        self.assertEqual([r["action"] for r in found["status"]["stateChangeRequests"]], ["Start"])
        self.made("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "zoe-starts"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "dev"}]})
        self.machine("helper", runStrategy="Manual")
        code, text = self.gateway.as_proxy("PUT", OF_VM + "helper/start", ZOE)
        self.assertEqual(code, 202, text)
        code, text = self.gateway.as_proxy("PUT", OF_VM + "missing/start", ZOE)
        self.assertEqual(code, 404, text)

    def test_only_the_front_proxy_speaks_for_users(self):
        code, text = self.gateway.ask("PUT", OF_VM + "worker/stop", headers=ADMIN)
        self.assertEqual(code, 401, "headers without a certificate are nobody's word")
        for certificate in ("impostor", "foreign"):
            with self.assertRaises((ssl.SSLError, http.client.HTTPException, OSError)):
                self.gateway.as_proxy("PUT", OF_VM + "worker/stop", ADMIN, certificate=certificate)
        code, text = self.gateway.as_proxy("PUT", OF_VM + "worker/stop", {"X-Remote-User": "root-admin"})
        self.assertEqual(code, 401, text)

    def test_documents_are_open(self):
        for path in ("/", "/apis", "/openapi/v2", "/openapi/v3", BASE, f"/openapi/v3{BASE}", BASE + "/version", BASE + "/healthz", "/healthz"):
            code, text = self.gateway.ask("GET", path)
            self.assertEqual(code, 200, path)
            json.loads(text)
        _, text = self.gateway.ask("GET", BASE)
        self.assertIn("virtualmachines/start", [r["name"] for r in json.loads(text)["resources"]])
        self.assertEqual(self.gateway.ask("GET", "/apis/subresources.kubevirt.io")[0], 401)
        self.assertEqual(self.gateway.ask("GET", "/nope")[0], 401)
        code, text = self.gateway.ask("GET", "/metrics")
        self.assertEqual(code, 200)
        for line in ("kubevirt_virt_api_ready_status 1", 'virtgate_cache_fresh{cache="kubevirts"} 1', "kubevirt_rest_client_requests_total{"):
            self.assertIn(line, text)
        code, text = self.gateway.ask("GET", "/readyz?verbose")
        self.assertEqual(code, 200, text)
        self.assertIn("[+]cache-kubevirts ok", text)

    def test_created_machines_are_counted(self):
        body = e2e.review("kubevirt.io", "v1", "virtualmachines", "", "VirtualMachine")
        body["request"]["namespace"] = "counted"
        body["request"]["object"]["spec"] = {"runStrategy": "Halted", "template": {"spec": {"architecture": "amd64", **TEMPLATE["spec"]}}}
        for dry_run, wanted in ((True, False), (False, True)):
            body["request"]["dryRun"] = dry_run
            response = json.loads(self.gateway.ask("POST", "/virtualmachines-validate", body)[1])["response"]
            self.assertTrue(response["allowed"], response)
            self.assertEqual('kubevirt_vm_created_by_pod_total{namespace="counted"} 1' in self.gateway.ask("GET", "/metrics")[1], wanted)

    @unittest.skipIf(e2e.SANITIZED, "figures mean nothing under sanitizers")
    def test_starts_quickly_and_stays_small(self):
        self.assertLess(self.gateway.took_s, 3)
        with open(f"/proc/{self.gateway.process.pid}/status") as file:
            self.assertLess(int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024, 64)

    def test_configuration_is_live(self):
        def sidecars_allowed():
            body = e2e.review("kubevirt.io", "v1", "virtualmachineinstances", "", "VirtualMachineInstance")
            body["request"]["object"].update(spec={"architecture": "amd64", **TEMPLATE["spec"]})
            body["request"]["object"]["metadata"]["annotations"] = {"hooks.kubevirt.io/hookSidecars": "[]"}
            return json.loads(self.gateway.ask("POST", "/virtualmachineinstances-validate-create", body)[1])["response"]["allowed"]
        self.assertFalse(sidecars_allowed())
        changed = self.change(KUBEVIRT, lambda found: found["spec"].update(configuration={"developerConfiguration": {"featureGates": ["Sidecar"]}}))
        wanted = int(changed["metadata"]["resourceVersion"])
        until("the gateway uses the configuration",
              lambda: int(json.loads(self.gateway.ask("GET", "/healthz")[1])["config-resource-version"]) >= wanted)
        self.assertTrue(sidecars_allowed())

    def test_new_serving_certificates_are_used(self):
        make_authority(self.folder, "next-ca")
        make_certificate(self.folder, "next-ca", "serving", "virt-api", "serverAuth")

        def verified():
            try:
                return self.gateway.ask("GET", "/healthz", authority="next-ca")[0] == 200
            except ssl.SSLError:
                return False
        until("the new certificate is shown", verified)
        make_certificate(self.folder, "serving-ca", "serving", "virt-api", "serverAuth")
        until("the old authority counts again", self.gateway.serves)

    def test_allowed_names_are_live(self):
        def rename(names):
            self.change(f"{MAPS}/{PROXY_MAP}", lambda found: found["data"].update({"requestheader-allowed-names": json.dumps(names)}))

        def accepted(certificate):
            try:
                return self.gateway.as_proxy("PUT", OF_VM + "missing/stop", ADMIN, certificate=certificate)[0] == 404
            except (ssl.SSLError, http.client.HTTPException, OSError):
                return False
        self.assertTrue(accepted("front"))
        rename(["somebody-else"])
        until("the other name counts", lambda: accepted("impostor"))
        self.assertFalse(accepted("front"))
        rename(["front-proxy-client"])
        until("the first name counts again", lambda: accepted("front"))


class Stopping(Cluster):
    def test_serves_for_a_while_and_then_ends(self):
        self.gateway.process.send_signal(signal.SIGTERM)
        until("it is not ready any more", lambda: self.gateway.ask("GET", "/readyz")[0] == 500)
        self.assertEqual(self.gateway.ask("GET", "/healthz")[0], 200, "requests on their way here are still served")
        self.assertIn("kubevirt_virt_api_ready_status 0", self.gateway.ask("GET", "/metrics")[1])
        self.assertEqual(self.gateway.process.wait(e2e.DEADLINE_S), 0, self.gateway.errors())

    def test_does_not_start_without_a_cluster(self):
        for flags in ([], ["--kubeconfig", "/nonexistent"], ["--master", "ftp://x"]):
            environment = {k: v for k, v in os.environ.items() if not k.startswith("KUBERNETES_")}
            ended = subprocess.run([e2e.BINARY, "cluster", *flags], env=environment, capture_output=True, text=True, timeout=e2e.DEADLINE_S)
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertTrue(ended.stderr)


class Crowd(Cluster):
    """Many machines in many namespaces. With VIRTGATE_LONG=1 as many as the promises of the program are about."""
    namespaces, machines = (1000, 10000) if os.environ.get("VIRTGATE_LONG", "") not in ("", "0") else (50, 500)

    @unittest.skipIf(e2e.SANITIZED, "figures mean nothing under sanitizers")
    def test_is_ready_soon_and_stays_small(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.api.port, context=self.api.context(), timeout=e2e.DEADLINE_S)
        self.addCleanup(connection.close)

        def create(path, body):
            connection.request("POST", path, body=json.dumps(body), headers=self.api.as_admin(**{"Content-Type": "application/json"}))
            answer = connection.getresponse()
            text = answer.read()
            self.assertEqual(answer.status, 201, text)
        for number in range(self.namespaces):
            create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"crowd-{number}"}})
        for number in range(self.machines):
            place = f"/apis/kubevirt.io/v1/namespaces/crowd-{number % self.namespaces}/virtualmachineinstances"
            create(place, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": f"vmi-{number}"}, **TEMPLATE})
        gateway = Gateway(self.folder).start()
        self.addCleanup(gateway.stop)
        until("it is ready", lambda: gateway.ask("GET", "/readyz")[0] == 200)
        with open(f"/proc/{gateway.process.pid}/status") as file:
            resident = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
        print(f"{self.machines} machines: serves after {1000 * gateway.took_s:.0f} ms, {resident:.1f} MiB", file=sys.stderr)
        self.assertLess(gateway.took_s, 3)
        self.assertLess(resident, 64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
