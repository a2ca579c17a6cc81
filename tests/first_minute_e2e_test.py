#!/usr/bin/env python3
"""What a client finds in the first minute of a fresh `virtgate serve`, as kubectl and virtctl ask for it: the objects of a
control plane, the KubeVirt object as the operator leaves it, the usual instance types, and what --api-only leaves to others.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import functools
import json
import subprocess
import time
import unittest

from support import serve as e2e

DEFAULT = "/api/v1/namespaces/default"
KUBEVIRTS = "/apis/kubevirt.io/v1/kubevirts"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
TYPES = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes"
PREFERENCES = "/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterpreferences"
MACHINES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
INSTANCES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"
ACTIONS = "/apis/subresources.kubevirt.io/v1"
AUTHENTICATION = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", "kubevirt")
CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
TEMPLATE = {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}, "resources": {"requests": {"memory": "64Mi"}}}}}


# A server that is a cluster by itself, unless the flags say otherwise.
Whole = functools.partial(e2e.Server, role=("--node", "none"))


class Scratch(e2e.Scratch):
    def server(self, *flags, **more):
        self.one = Whole(more.pop("state", self.state), *flags, **more)
        self.addCleanup(self.one.clean_up)
        return self.one.start()

    def restart(self, *flags):
        self.assertEqual(self.one.stop(), 0)
        self.one.clean_up()
        return self.server(*flags)

    def call(self, method, path, body=None, headers=None, kind="application/json"):
        typed = {} if body is None else {"Content-Type": kind}
        code, _, text = self.one.ask(method, path, body=None if body is None else json.dumps(body),
                                     headers=self.one.as_admin(**typed, **(headers or {})))
        return code, json.loads(text) if text else None

    def good(self, method, path, body=None, headers=None, **more):
        code, answer = self.call(method, path, body, headers, **more)
        self.assertIn(code, (200, 201, 202), answer)
        return answer

    def names(self, path):
        return [item["metadata"]["name"] for item in self.good("GET", path)["items"]]

    def until(self, what, holds):
        end = time.monotonic() + e2e.DEADLINE_S
        while not holds():
            self.assertLess(time.monotonic(), end, "did not happen: " + what)
            time.sleep(0.005)

    def has_its_own(self, namespace):
        """A namespace with its service account and its certificate."""
        account = self.call("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")[0]
        code, certificate = self.call("GET", f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
        return account == 200 and code == 200 and certificate["data"] == {"ca.crt": e2e.read(self.one.pki("ca.crt"))}


class ControlPlane(Scratch):
    def test_every_namespace_has_an_account_and_a_certificate(self):
        self.server()
        for namespace in NAMESPACES:
            self.assertTrue(self.has_its_own(namespace), namespace)
        self.good("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
        self.until("the new namespace is complete", lambda: self.has_its_own("mine"))
        self.good("DELETE", "/api/v1/namespaces/mine/serviceaccounts/default")
        self.good("DELETE", "/api/v1/namespaces/mine/configmaps/kube-root-ca.crt")
        self.until("they are back", lambda: self.has_its_own("mine"))
        self.good("DELETE", "/api/v1/namespaces/mine")
        self.until("the namespace is gone", lambda: self.call("GET", "/api/v1/namespaces/mine")[0] == 404)

    def test_the_account_gets_tokens(self):
        self.server()
        token = self.good("POST", DEFAULT + "/serviceaccounts/default/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        code, _, _ = self.one.get("/apis", headers={"Authorization": "Bearer " + token["status"]["token"]})
        self.assertEqual(code, 200)

    def test_the_service_leads_to_the_server(self):
        self.server()
        service = self.good("GET", DEFAULT + "/services/kubernetes")
        port, = service["spec"]["ports"]
        self.assertEqual((service["spec"]["clusterIP"], port["port"], port["name"]), (self.one.host, self.one.port, "https"))
        self.assertEqual(service["metadata"]["labels"], {"component": "apiserver", "provider": "kubernetes"})
        # A client puts back what it read.
        self.good("PUT", DEFAULT + "/services/kubernetes?dryRun=All&fieldValidation=Strict", service)

    def test_authorities_are_told(self):
        self.server()
        self.assertEqual(self.good("GET", AUTHENTICATION)["data"], {"client-ca-file": e2e.read(self.one.pki("ca.crt"))})

    def test_front_proxies_are_told(self):
        authority = self.folder + "/proxies.crt"
        e2e.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=proxies",
                    "-keyout", self.folder + "/proxies.key", "-out", authority)
        self.server("--requestheader-client-ca-file", authority, "--requestheader-allowed-names", "front,other")
        data = self.good("GET", AUTHENTICATION)["data"]
        self.assertEqual(data["requestheader-client-ca-file"], e2e.read(authority))
        self.assertEqual(json.loads(data["requestheader-allowed-names"]), ["front", "other"])
        self.assertEqual(json.loads(data["requestheader-username-headers"]), ["X-Remote-User"])

    def test_a_later_start_changes_nothing(self):
        self.server()
        before = self.good("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"]
        address = self.one.port
        self.assertEqual(self.one.stop(), 0)
        self.one.clean_up()
        self.server(port=address)
        self.assertEqual(self.good("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"], before)

    def test_with_api_only_others_do_it(self):
        self.server("--api-only")
        self.assertEqual(self.names("/api/v1/namespaces"), sorted(NAMESPACES))
        self.assertEqual([name for name in self.names("/api/v1/serviceaccounts") if name == "default"], [])
        # But where this server is, nobody else can know.
        self.assertEqual(self.names("/api/v1/services"), ["kubernetes"])
        self.assertEqual(self.names("/api/v1/endpoints"), ["kubernetes"])
        self.assertEqual(self.names("/apis/discovery.k8s.io/v1/endpointslices"), ["kubernetes"])
        port, = self.good("GET", "/api/v1/namespaces/default/services/kubernetes")["spec"]["ports"]
        self.assertEqual((port["name"], port["port"]), ("https", self.one.port))
        self.assertEqual(self.call("GET", AUTHENTICATION)[0], 404)
        self.assertEqual(self.names(TYPES) + self.names(PREFERENCES), [])


class KubeVirt(Scratch):
    def test_log_verbosity_can_be_set(self):
        """`virtctl adm log-verbosity` looks for the one object in all namespaces and sends a JSON patch."""
        self.server()
        found, = self.good("GET", KUBEVIRTS)["items"]
        self.assertIn("developerConfiguration", found["spec"]["configuration"])
        changed = self.good("PATCH", KUBEVIRT, [{"op": "add", "path": "/spec/configuration/developerConfiguration/logVerbosity", "value": {"virtAPI": 5}}],
                            kind="application/json-patch+json")
        self.assertEqual(changed["spec"]["configuration"]["developerConfiguration"]["logVerbosity"], {"virtAPI": 5})

    def test_guestfs_finds_an_image(self):
        """`virtctl guestfs` makes REGISTRY/PREFIXlibguestfs-tools:TAG of it."""
        self.server()
        image = self.good("GET", ACTIONS + "/guestfs")
        self.assertTrue(image["registry"])
        self.assertEqual((image["tag"], image["imagePrefix"], image["gsImage"]), (e2e.KUBEVIRT_RELEASE, "", ""))

    def test_the_status_is_that_of_a_deployed_one(self):
        self.server()
        found = self.good("GET", KUBEVIRT)
        status = found["status"]
        self.assertEqual(status["phase"], "Deployed")
        for which in ("observed", "target"):
            self.assertEqual(status[which + "KubeVirtVersion"], e2e.KUBEVIRT_RELEASE)
        self.assertEqual({condition["type"]: condition["status"] for condition in status["conditions"]},
                         {"Available": "True", "Created": "True", "Progressing": "False", "Degraded": "False"})
        # Nothing in it is unknown or written otherwise than a client would.
        again = self.good("PUT", KUBEVIRT + "/status?dryRun=All&fieldValidation=Strict", found)
        self.assertEqual(again["status"], status)
        self.assertEqual(self.good("PUT", KUBEVIRT + "?dryRun=All&fieldValidation=Strict", found)["spec"], found["spec"])


class InstanceTypes(Scratch):
    def test_all_of_them_are_valid(self):
        """Each is accepted as a new object of somebody's, and stored as it stands."""
        self.server()
        for path, count in ((TYPES, 65), (PREFERENCES, 54)):
            items = self.good("GET", path)["items"]
            self.assertEqual(len(items), count)
            for item in items:
                copy = {"apiVersion": item["apiVersion"], "kind": item["kind"], "spec": item["spec"],
                        "metadata": {"name": "copy." + item["metadata"]["name"], "labels": item["metadata"]["labels"],
                                     "annotations": item["metadata"]["annotations"]}}
                made = self.good("POST", path + "?dryRun=All&fieldValidation=Strict", copy)
                self.assertEqual(made["spec"], item["spec"], item["metadata"]["name"])

    def test_a_machine_of_one(self):
        self.server()
        self.good("POST", MACHINES, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "demo"},
                                     "spec": {"runStrategy": "Halted", "instancetype": {"name": "u1.small"}, "preference": {"name": "fedora"},
                                              "template": {"spec": {"domain": {"devices": {}}}}}})
        whole = self.good("GET", ACTIONS + "/namespaces/default/virtualmachines/demo/expand-spec")
        domain = whole["spec"]["template"]["spec"]["domain"]
        self.assertEqual((domain["cpu"]["sockets"], domain["memory"]["guest"]), (1, "2Gi"))
        self.assertTrue(domain["firmware"]["bootloader"]["efi"]["secureBoot"])
        code, refusal = self.call("POST", MACHINES, {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "small"},
            "spec": {"runStrategy": "Halted", "instancetype": {"name": "u1.nano"}, "preference": {"name": "windows.11"},
                     "template": {"spec": {"domain": {"devices": {}}}}}})
        self.assertEqual(code, 422, refusal)

    def test_they_are_found_by_label(self):
        self.server()
        of_four = self.names(TYPES + "?labelSelector=instancetype.kubevirt.io/cpu%3D4,instancetype.kubevirt.io/hugepages%3D1Gi")
        self.assertEqual(of_four, ["cx1.xlarge1gi", "m1.xlarge1gi", "n1.large", "n1.medium", "rt1.xlarge"])

    def test_what_is_deleted_stays_deleted(self):
        self.server()
        self.good("DELETE", TYPES + "/u1.small")
        self.good("PATCH", PREFERENCES + "/fedora", {"spec": {"requirements": None}}, kind="application/merge-patch+json")
        self.restart()
        self.assertEqual(self.call("GET", TYPES + "/u1.small")[0], 404)
        self.assertNotIn("requirements", self.good("GET", PREFERENCES + "/fedora")["spec"])

    def test_the_flag(self):
        self.server("--default-instancetypes=false")
        self.assertEqual(self.names(TYPES), [])
        self.restart("--api-only", "--default-instancetypes=true")
        self.assertEqual(len(self.names(TYPES)), 65)
        refused = subprocess.run([e2e.BINARY, "serve", "--default-instancetypes=some"], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--default-instancetypes", refused.stderr)


class MemoryDump(Scratch):
    def dump(self, claimed):
        """Asks for the memory of a running VM in a claim of that size."""
        self.good("POST", DEFAULT + "/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "dump"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": claimed}}}})
        machine = self.good("POST", MACHINES, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "demo"},
                                               "spec": {"runStrategy": "Always", "template": TEMPLATE}})
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "demo", "uid": machine["metadata"]["uid"], "controller": True}
        instance = self.good("POST", INSTANCES, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                                                 "metadata": {"name": "demo", "ownerReferences": [owner]}, **TEMPLATE}, CONTROLLER)
        instance["status"] = {"phase": "Running", "nodeName": "node01"}
        self.good("PUT", INSTANCES + "/demo", instance, CONTROLLER)
        machine["status"] = {"created": True, "printableStatus": "Running"}
        self.good("PUT", MACHINES + "/demo/status", machine, CONTROLLER)
        return self.call("PUT", ACTIONS + "/namespaces/default/virtualmachines/demo/memorydump", {"claimName": "dump"})

    def test_a_claim_with_room_is_taken(self):
        self.server()
        code, answer = self.dump("1Gi")
        self.assertEqual(code, 202, answer)
        self.assertEqual(self.good("GET", MACHINES + "/demo")["status"]["memoryDumpRequest"], {"claimName": "dump", "phase": "Associating"})

    def test_a_claim_that_is_just_large_enough_is_taken(self):
        """64 MiB of guest and 100 MiB more: files of this server have no filesystem of their own."""
        self.server()
        self.assertEqual(self.dump("164Mi")[0], 202)

    def test_a_claim_without_room_is_refused(self):
        self.server()
        code, answer = self.dump("163Mi")
        self.assertEqual((code, answer["details"]["kind"]), (409, "persistentvolumeclaim"), answer)

    def test_with_api_only_it_is_as_in_a_cluster_without_cdi(self):
        self.server("--api-only")
        self.assertEqual(self.dump("1Gi")[0], 500)


if __name__ == "__main__":
    unittest.main()
