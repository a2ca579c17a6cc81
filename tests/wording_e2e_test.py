#!/usr/bin/env python3
"""How the server speaks. Programs match a few phrases, which a request for each must bring back word for word; people
read the rest, in the words of the field, so words that are not used in messages are looked for in the program's texts.

VIRTGATE_BINARY names the program, VIRTGATE_SOURCE_DIR the checkout.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import serve as e2e

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
CORE = "/api/v1/namespaces/default/"
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
REPLICA_SETS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancereplicasets"
OF_VM = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
DOMAIN = {"devices": {}, "memory": {"guest": "64Mi"}}
MERGE, JSON_PATCH, STRATEGIC = (f"application/{kind}+json" for kind in ("merge-patch", "json-patch", "strategic-merge-patch"))


def vm(name, **spec):
    spec = {"template": {"spec": {"domain": DOMAIN}}, **({} if spec else {"runStrategy": "Halted"}), **spec}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}, "spec": spec}


def core(kind, name, **more):
    metadata = {"name": name, **more.pop("metadata", {})} if name else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def pod(name, container=None, **spec):
    return core("Pod", name, spec={"containers": [{"name": "c", "image": "i", **(container or {})}], **spec})


class Phrases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="virtgate-e2e-")
        cls.one = e2e.Server(os.path.join(cls.folder, "state")).start()
        for path, document in ((VMS, vm("demo")), (VMS, vm("always", runStrategy="Always")), (CORE + "serviceaccounts", core("ServiceAccount", "sam")),
                               (CORE + "configmaps", core("ConfigMap", "fixed", immutable=True, data={"a": "b"})),
                               (CORE + "secrets", core("Secret", "typed", type="a/b"))):
            code, _, text = cls.ask("POST", path, document)
            assert code == 201, text

    @classmethod
    def tearDownClass(cls):
        cls.one.clean_up()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def ask(cls, method, path, document=None, kind="application/json", **headers):
        headers = {"Authorization": "Bearer " + cls.one.token(), "Content-Type": kind, **{k.replace("_", "-"): v for k, v in headers.items()}}
        headers = {name: value for name, value in headers.items() if value}
        return cls.one.ask(method, path.replace(" ", "%20"), body=None if document is None else json.dumps(document), headers=headers)

    def message(self, code, *question, **headers):
        answer = self.ask(*question, **headers)
        self.assertEqual(answer[0], code, answer[2])
        return json.loads(answer[2])["message"] if answer[1]["Content-Type"] == "application/json" else answer[2]

    def begins(self, phrase, code, *question, **headers):
        message = self.message(code, *question, **headers)
        self.assertTrue(message.startswith(phrase), f"{message!r} does not begin with {phrase!r}")

    def holds(self, phrase, code, *question, **headers):
        self.assertIn(phrase, self.message(code, *question, **headers))

    def test_an_object_is_missing(self):
        self.begins('virtualmachines.kubevirt.io "x" not found; check the namespace (default)', 404, "GET", VMS + "/x")
        self.begins('pods "x" not found', 404, "DELETE", CORE + "pods/x")
        self.begins('namespaces "nowhere" not found', 404, "POST", "/api/v1/namespaces/nowhere/configmaps", core("ConfigMap", "a"))
        self.begins('virtualmachine.kubevirt.io "x" not found', 404, "PUT", OF_VM + "x/start", {})

    def test_an_object_is_there_already(self):
        self.begins('virtualmachines.kubevirt.io "demo" already exists', 409, "POST", VMS, vm("demo"))
        self.begins('configmaps "fixed" already exists', 409, "POST", CORE + "configmaps", core("ConfigMap", "fixed"))
        held = core("ConfigMap", "held", metadata={"finalizers": ["example.com/hold"]})
        self.assertEqual(self.ask("POST", CORE + "configmaps", held)[0], 201)
        self.assertEqual(self.ask("DELETE", CORE + "configmaps/held")[0], 200)
        self.begins('object is being deleted: configmaps "held" already exists', 409, "POST", CORE + "configmaps", held)

    def test_a_conflict(self):
        stale = vm("demo")
        stale["metadata"]["resourceVersion"] = "3"
        self.begins('Operation cannot be fulfilled on virtualmachines.kubevirt.io "demo": the object has been modified', 409, "PUT", VMS + "/demo", stale)
        self.holds("must be specified for an update", 422, "PUT", VMS + "/demo", vm("demo"))
        self.begins('Operation cannot be fulfilled on virtualmachine.kubevirt.io "demo": VM is not running', 409, "PUT", OF_VM + "demo/stop", {})
        self.holds("the VM has no VMI: it is not running", 409, "PUT", OF_VM + "demo/evacuate/cancel", {})
        self.holds("a VM with run strategy Always starts by itself and cannot be started manually", 409, "PUT", OF_VM + "always/start", {})

    def test_a_path_is_not_served(self):
        self.begins("the server could not find the requested resource; extensions/v1beta1 is not served", 404, "GET", "/apis/extensions/v1beta1/ingresses")
        self.begins("the server could not find the requested resource", 404, "GET", "/apis/kubevirt.io/v1/nothings")
        self.begins("the server could not find the requested resource", 404, "PUT", OF_VM + "demo/frob", {})

    def test_no_rights(self):
        jane = {"Impersonate_User": "jane"}
        self.begins('virtualmachines.kubevirt.io is forbidden: User "jane" cannot list resource "virtualmachines" in API group "kubevirt.io" '
                    'in the namespace "default"', 403, "GET", VMS, **jane)
        self.begins('pods "x" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "default"',
                    403, "GET", CORE + "pods/x", **jane)
        self.begins('nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope', 403, "GET", "/api/v1/nodes", **jane)
        self.begins('virtualmachines.subresources.kubevirt.io "demo" is forbidden: User "jane" cannot update resource "virtualmachines/start" in API group '
                    '"subresources.kubevirt.io" in the namespace "default"', 403, "PUT", OF_VM + "demo/start", {}, **jane)
        token = json.loads(self.ask("POST", CORE + "serviceaccounts/sam/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                                                                "spec": {}})[2])["status"]["token"]
        self.begins('users "jane" is forbidden: User "system:serviceaccount:default:sam" cannot impersonate resource "users" in API group "" '
                    'at the cluster scope', 403, "GET", VMS, Authorization="Bearer " + token, **jane)
        self.holds("because it is being terminated", 403, "POST", self.leaving_namespace() + "/configmaps", core("ConfigMap", "late"))

    def leaving_namespace(self):
        """The path of a namespace that is being deleted and still holds something."""
        path = "/api/v1/namespaces/leaving"
        self.assertEqual(self.ask("POST", "/api/v1/namespaces", core("Namespace", "leaving"))[0], 201)
        held = core("ConfigMap", "held", metadata={"finalizers": ["example.com/hold"]})
        self.assertEqual(self.ask("POST", path + "/configmaps", held)[0], 201)
        self.assertEqual(self.ask("DELETE", path)[0], 200)
        return path

    def test_credentials(self):
        self.begins("Unauthorized: no credentials were sent; use admin.kubeconfig", 401, "GET", VMS, Authorization=None)
        self.begins("Unauthorized: invalid bearer token", 401, "GET", VMS, Authorization="Bearer wrong")

    def test_a_method(self):
        phrase = "the server does not allow this method on the requested resource: "
        self.begins(phrase + "customresourcedefinitions", 405, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {})
        self.begins(phrase + "use GET", 405, "DELETE", "/metrics")
        self.begins(phrase + "use PUT", 405, "POST", OF_VM + "demo/start", {})

    def test_an_invalid_object(self):
        self.begins('ConfigMap "UPPER" is invalid: metadata.name: Invalid value: "UPPER": ', 422, "POST", CORE + "configmaps", core("ConfigMap", "UPPER"))
        bare = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "metadata": {"name": "x"}, "spec": {"selector": {}}}
        self.begins('VirtualMachineInstanceReplicaSet.kubevirt.io "x" is invalid: [spec.template: Required value, ', 422, "POST", REPLICA_SETS, bare)
        several = core("ConfigMap", "UPPER", metadata={"labels": {"-": "x"}})
        self.assertRegex(self.message(422, "POST", CORE + "configmaps", several), r'^ConfigMap "UPPER" is invalid: \[metadata\.name: .*, metadata\.labels: .*\]$')

    def test_the_words_for_fields(self):
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Foo", "name": "r"}}
        ports = [{"name": "p", "port": port} for port in (1, 2)]
        for phrase, *question in (
                ("metadata.name: Required value: name or generateName is required", "POST", CORE + "configmaps", core("ConfigMap", None)),
                ('roleRef.kind: Unsupported value: "Foo": supported values: Role, ClusterRole', "POST", ROLES + "rolebindings", role),
                ("data: Forbidden: field is immutable", "PUT", CORE + "configmaps/fixed", core("ConfigMap", "fixed", immutable=True, data={"a": "c"})),
                ("type: Invalid value: field is immutable", "PUT", CORE + "secrets/typed", core("Secret", "typed", type="c/d")),
                ('spec.ports[1].name: Duplicate value: "p"', "POST", CORE + "services", core("Service", "s", spec={"ports": ports})),
                ('volumeMounts[0].name: Not found: "v"', "POST", CORE + "pods", pod("p", {"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
                ("fieldManager: Too long: ", "POST", CORE + "configmaps?fieldManager=" + 200 * "x", core("ConfigMap", "y"))):
            with self.subTest(phrase):
                self.holds(phrase, 422, *question)

    def test_denials_of_admission(self):
        denied = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: '
        self.begins(denied + "spec.running: Forbidden: mutually exclusive with runStrategy", 422, "POST", VMS, vm("y", running=True, runStrategy="Always"))
        none = vm("y")
        del none["spec"]["runStrategy"]
        self.begins(denied + "spec.runStrategy: Required value: for example Always", 422, "POST", VMS, none)
        self.begins(denied + 'spec.runStrategy: Unsupported value: "Often": supported values: Always, ', 422, "POST", VMS, vm("y", runStrategy="Often"))

    def test_what_cannot_be_read(self):
        self.begins('VirtualMachine in version "v1" cannot be handled as a VirtualMachine: strict decoding error: unknown field "spec.foo"', 400, "POST", VMS + "?fieldValidation=Strict", vm("y", runStrategy="Halted", foo=1))
        self.begins('invalid label selector "a in": expected "(" after "in"', 400, "GET", VMS + "?labelSelector=a in")
        self.begins("strategic merge patch is not supported for virtualmachines; use --type=merge", 415, "PATCH", VMS + "/demo", {}, kind=STRATEGIC)
        self.holds("jsonpatch test operation does not apply", 422, "PATCH", VMS + "/demo",
                   [{"op": "test", "path": "/spec/runStrategy", "value": "Manual"}], kind=JSON_PATCH)
        self.holds("Too large resource version: ", 504, "GET", VMS + "?resourceVersion=99999999&resourceVersionMatch=NotOlderThan")


# What is not said in a message: a pattern, and what to say instead.
NOT_SAID = {
    r"\bmachines?\b(?! types?\b)": "VM, VMI or host",
    r"\binstances?\b(?! types?\b)": "VMI",
    r"on its way out": "is deprecated",
    r"there is no \S+ named": '... "NAME" not found',
    r"(is|are) (already there|there already)": "already exists",
    r"(?<!there )\bis no (?!t)[a-z]": "is not a ...",
    r"\bdoes not take\b|\btakes no\b": "does not support",
    r"\bcall(s|ed)? (it |\S+ )?off\b": "cancel",
    r"\bunder way\b": "in progress",
    r"\bin two ways\b|\bgoes? (only )?with\b": "is mutually exclusive with, requires",
    r"\bsay (which|where|what|how)\b": "... is required",
    r"\bcannot be had\b|\bnobody (knows|is believed)\b|\bwants to know\b": "plain words",
    r"\bphotographed\b": "screenshot",
}
# Phrases of base/phrases.h: others build them with it.
BY_HAND = (r"could not find the requested resource|does not allow this method|the object has been modified|object is being deleted:|"
           r"[Tt]oo (old|large) resource version|field is immutable|must be specified for an update|name or generateName is required|"
           r"strict decoding error|jsonpatch test operation|is forbidden: |cannot be fulfilled on|denied the request|"
           r"\bis invalid: |^(Required value|Invalid value|Unsupported value|Forbidden|Duplicate value|Not found|Too long|Too many)(:|$)")
# Files whose texts are not messages, and a text that means something else: the reason of a Status.
NO_MESSAGES = ("src/base/phrases.", "src/base/status.cpp", "src/cel/domain_structures", "src/domain/catalogue.cpp", "src/local/bootstrap_roles_table.h")
ALLOWED = ("Forbidden",)

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'


def texts_of(path):
    """The texts of a source file, each with its line; literals that stand side by side are one text."""
    with open(path) as file:
        source = re.sub(r"(?m)^\s*(//|#include).*$", "", file.read())
    for found in re.finditer(rf"(?:{LITERAL}\s*)+", source):
        yield source.count("\n", 0, found.start()) + 1, "".join(re.findall(LITERAL, found.group(0))).replace('\\"', '"')


def sources():
    for top in ("src", "cmd"):
        for folder, _, names in os.walk(os.path.join(SOURCE, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), SOURCE)
                if not name.endswith((".cpp", ".h")) or re.search(r"_(test|examples)\.cpp$|testing|_test_support|contract", path) or path.startswith(NO_MESSAGES):
                    continue
                yield path


class Words(unittest.TestCase):
    def complaints(self, text):
        if " " in text:
            for pattern, better in NOT_SAID.items():
                if re.search(pattern, text):
                    yield f"{text!r}: say {better} ({pattern})"

    def test_no_source_says_what_is_not_said(self):
        self.assertTrue(list(self.complaints("the machine is gone")) and not list(self.complaints("machine type q35")), "the check itself works")
        found = [f"{path}:{line}: {complaint}" for path in sources() for line, text in texts_of(os.path.join(SOURCE, path))
                 for complaint in self.complaints(text)]
        self.assertEqual(found, [])

    def test_deprecation_warnings_say_so(self):
        schema = "".join(e2e.read(path) for path in glob.glob(os.path.join(SOURCE, "schema", "*.vgs")))
        told = re.findall(rf"^\s*version .*\bdeprecated {LITERAL}", schema, re.MULTILINE)
        self.assertGreater(len(told), 5)
        self.assertEqual([text for text in told if " is deprecated; use " not in text], [])

    def test_phrases_that_programs_match_are_written_once(self):
        found = [f"{path}:{line}: {text!r}" for path in sources() for line, text in texts_of(os.path.join(SOURCE, path))
                 if text not in ALLOWED and re.search(BY_HAND, text)]
        self.assertEqual(found, [])

    def test_listings_speak_the_same_way(self):
        for listing in ("rules", "actions"):
            rows = json.loads(subprocess.run([e2e.BINARY, listing, "-o", "json"], capture_output=True, text=True, check=True).stdout)
            told = [text for row in rows for text in self.strings(row)]
            self.assertGreater(len(told), 50)
            self.assertEqual([complaint for text in told for complaint in self.complaints(text)], [])

    def strings(self, value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                yield from self.strings(item)


if __name__ == "__main__":
    unittest.main()
