#!/usr/bin/env python3
"""Drives `virtgate serve` with real kubectls: the one on PATH, and the old one that Debian packages (1.20).

The same suite runs with both, each against a fresh server of its own. Debian's kubectl is unpacked into
build/kubectl-1.20 when another one owns /usr/bin/kubectl; where that cannot be done its half is skipped, with the reason.
VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import serve as e2e
from support.kubectl import (
    DEADLINE_S, Kubectl, SOURCE, config_map, instance, instancetype,
    kubectl_on_path, listed, one_line, pool, replica_set, service,
    version_of, virtual_machine,
)

DEBIAN = os.path.join(SOURCE, "build", "kubectl-1.20")


def kubectl_of_debian():
    """The program and, when there is none, the reason. Unpacks the package once, beside the other things that are built."""
    program = os.path.join(DEBIAN, "usr", "bin", "kubectl")
    if os.path.exists(program):
        return program, None
    usual = shutil.which("kubectl")
    if usual and version_of(usual) == (1, 20):
        return None, "the kubectl on PATH is already 1.20"
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return None, "Debian's kubectl 1.20 is not in build/kubectl-1.20, and this is no Debian that could fetch it"
    os.makedirs(os.path.dirname(DEBIAN), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(DEBIAN)) as folder:
        try:
            subprocess.run(["apt-get", "download", "-qq", "kubernetes-client"], cwd=folder, check=True, capture_output=True,
                           text=True, timeout=DEADLINE_S)
            package = [name for name in os.listdir(folder) if name.endswith(".deb")][0]
            tree = os.path.join(folder, "tree")
            subprocess.run(["dpkg-deb", "-x", package, tree], cwd=folder, check=True, capture_output=True, text=True)
            shutil.rmtree(DEBIAN, ignore_errors=True)
            os.rename(tree, DEBIAN)
        except (subprocess.SubprocessError, IndexError, OSError) as problem:
            reason = (getattr(problem, "stderr", "") or str(problem)).strip().splitlines()
            return None, "Debian's kubernetes-client cannot be fetched: " + (reason[-1] if reason else "no reason given")
    if not os.path.exists(program) or version_of(program) != (1, 20):
        return None, "Debian's kubernetes-client here is not 1.20"
    return program, None


VM_YAML = """\
# a small machine
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: small
  labels: {app: shop, tier: "1"}
spec:
  runStrategy: Halted
  template:
    metadata:
      labels: &labels {app: shop}
    spec:
      domain:
        resources:
          requests: {memory: 64Mi}
        devices:
          disks:
          - name: root
            disk: {bus: virtio}
      volumes:
      - name: root
        containerDisk: {image: "example/disk:1"}
"""


STRATEGIC = "virtualmachines takes no strategic merge patch"
REPORTER = 'missing required field "reportingComponent"'


def known_gap(complaint, what):
    """A gap of the server that a test runs into. The test counts as skipped, loudly, when exactly that complaint stops it;
    as failed when anything else does; and as any other test once the gap is closed."""
    def decorate(test):
        @functools.wraps(test)
        def wrapper(self):
            try:
                test(self)
            except AssertionError as problem:
                if complaint not in str(problem):
                    raise
                print(f"KNOWN GAP {self.id()}: {what}", file=sys.stderr)
                self.skipTest("known gap: " + what)
        return wrapper
    return decorate


# kubectl 1.27 and later ask OpenAPI v3 whether a kind takes strategic merge patches.
asks_for_patches = known_gap(STRATEGIC, "OpenAPI v3 promises strategic merge patches for custom kinds")


class Suite(Kubectl):
    # --- what is there
    def test_versions(self):
        found = json.loads(self.kubectl("version", "-o", "json"))
        whole = json.loads(self.one.get("/version", headers=self.one.as_admin())[2])
        self.assertEqual(found["serverVersion"], {key: whole[key] for key in found["serverVersion"]})  # an old one knows fewer
        self.assertRegex(found["serverVersion"]["gitVersion"], r"^v1\.\d+\.\d+")

    def test_cluster_info(self):
        self.assertIn(f"https://{self.one.listen}", self.kubectl("cluster-info"))

    def needs(self, *resources):
        """Skips where the server does not keep these kinds."""
        served = self.kubectl("api-resources", "-o", "name").split()
        missing = [name for name in resources if name not in served]
        if missing:
            self.skipTest("not served: " + ", ".join(missing))

    def test_cluster_info_dump(self):
        self.needs("replicationcontrollers", "daemonsets.apps", "deployments.apps", "replicasets.apps")
        self.assertIn('"kind": "NodeList"', self.kubectl("cluster-info", "dump"))

    def test_apply_prune(self):
        kept, gone = (config_map(name, labels={"app": "pruned"}) for name in ("kept", "gone"))
        flag = "--prune-whitelist" if self.version < (1, 26) else "--prune-allowlist"
        prune = ("apply", "-f", "-", "--prune", "-l", "app=pruned")
        named = (*prune, f"{flag}=core/v1/ConfigMap")
        self.kubectl(*named, stdin=listed(kept, gone))
        self.assertIn("configmap/gone pruned", self.kubectl(*named, stdin=listed(kept)))
        if self.version < (1, 26):
            return  # without a list it wants batch/v1beta1, which Kubernetes 1.35 does not have either
        self.needs("endpoints", "replicationcontrollers", "cronjobs.batch", "ingresses.networking.k8s.io", "statefulsets.apps")
        self.kubectl("apply", "-f", "-", stdin=listed(kept, gone))
        self.assertIn("configmap/gone pruned", self.kubectl(*prune, stdin=listed(kept)))

    def test_debug_says_what_is_missing(self):
        self.need(1, 27, "debug profile general")
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "debugged"}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
        self.assertIn("ephemeral containers are disabled", self.refused("debug", "debugged", "--image=x", "--profile=general"))

    def test_api_versions(self):
        found = self.kubectl("api-versions").split()
        self.assertEqual(found, sorted(found))
        for version in ("v1", "kubevirt.io/v1", "kubevirt.io/v1alpha3", "pool.kubevirt.io/v1beta1", "snapshot.kubevirt.io/v1beta1",
                        "instancetype.kubevirt.io/v1beta1", "rbac.authorization.k8s.io/v1", "subresources.kubevirt.io/v1"):
            self.assertIn(version, found)

    def test_api_resources(self):
        rows = {row[0]: row for row in self.rows("api-resources", "--no-headers")}
        self.assertEqual(rows["virtualmachines"], ["virtualmachines", "vm,vms", "kubevirt.io/v1", "true", "VirtualMachine"])
        self.assertEqual(rows["virtualmachineinstances"][1], "vmi,vmis")
        self.assertEqual(rows["virtualmachineclusterinstancetypes"][3], "false")
        self.assertEqual(rows["configmaps"], ["configmaps", "cm", "v1", "true", "ConfigMap"])
        self.assertEqual(rows["roles"], ["roles", "rbac.authorization.k8s.io/v1", "true", "Role"])
        self.assertFalse([name for name in rows if "/" in name], "subresources are not listed")

    def test_api_resources_by_group_scope_and_verb(self):
        group = self.kubectl("api-resources", "--api-group=kubevirt.io", "-o", "name").split()
        self.assertEqual(set(group), {name + ".kubevirt.io" for name in (
            "kubevirts", "virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations",
            "virtualmachineinstancepresets", "virtualmachineinstancereplicasets")})
        cluster = self.kubectl("api-resources", "--namespaced=false", "-o", "name").split()
        self.assertIn("namespaces", cluster)
        self.assertIn("virtualmachineclusterpreferences.instancetype.kubevirt.io", cluster)
        self.assertNotIn("virtualmachines.kubevirt.io", cluster)
        listable = self.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        self.assertIn("virtualmachines.kubevirt.io", listable)
        self.assertNotIn("tokenreviews.authentication.k8s.io", listable)

    def test_raw_paths(self):
        self.assertEqual(self.kubectl("get", "--raw", "/healthz"), "ok")
        self.assertEqual(self.kubectl("get", "--raw", "/readyz/ping"), "ok")
        self.assertEqual(json.loads(self.kubectl("get", "--raw", "/version/"))["minor"], "35")
        ready = self.kubectl("get", "--raw", "/readyz?verbose")
        self.assertIn("[+]store ok\n", ready)
        self.assertTrue(ready.endswith("readyz check passed\n"), ready)
        self.assertEqual(self.kubectl("get", "--raw", "/livez"), "ok")
        self.assertIn("\nkubevirt_virt_api_ready_status 1\n", self.kubectl("get", "--raw", "/metrics"))
        documents = json.loads(self.kubectl("get", "--raw", "/openapi/v3"))["paths"]
        vm_document = json.loads(self.kubectl("get", "--raw", documents["apis/kubevirt.io/v1"]["serverRelativeURL"]))
        self.assertIn(self.path("virtualmachines", namespace="{namespace}"), vm_document["paths"])
        self.assertIn("gitVersion", json.loads(self.kubectl("get", "--raw", "/version")))
        self.assertIn("NotFound", self.refused("get", "--raw", "/nothing/here"))

    def test_explain(self):
        definitions = json.loads(self.kubectl("get", "--raw", "/openapi/v2"))["definitions"]
        devices = [value for name, value in definitions.items() if name.endswith("v1.Devices")][0]
        ours = one_line(devices["properties"]["disks"]["description"])
        self.assertGreater(len(ours), 20)
        text = one_line(self.kubectl("explain", "vm.spec.template.spec.domain.devices.disks"))
        self.assertIn("KIND: VirtualMachine VERSION: ", text)
        self.assertIn(ours, text)
        self.assertIn("bootOrder <integer>", text)
        self.assertIn("name <string> -required-", text)
        tree = self.kubectl("explain", "vmi.spec.domain.cpu", "--recursive")
        self.assertRegex(tree, r"\n\s+cores\s+<integer>")
        self.assertRegex(self.kubectl("explain", "configmap.data"), r"<map\[string\]string>")
        self.assertIn('field "nothing" does not exist', self.refused("explain", "vm.spec.nothing"))

    # --- create
    def test_create_from_yaml(self):
        self.assertEqual(self.kubectl("create", "-f", "-", stdin=VM_YAML), "virtualmachine.kubevirt.io/small created\n")
        found = self.read("vm", "small")
        self.assertEqual(found["metadata"]["labels"], {"app": "shop", "tier": "1"})
        self.assertEqual(found["metadata"]["namespace"], self.namespace)
        self.assertEqual(found["metadata"]["generation"], 1)
        self.assertEqual(found["spec"]["template"]["spec"]["domain"]["resources"]["requests"], {"memory": "64Mi"})
        self.assertIn("AlreadyExists", self.refused("create", "-f", "-", stdin=VM_YAML))

    def test_create_many_kinds(self):
        out = self.create(virtual_machine("a"), instance("b"), replica_set("c", 1), pool("d", 1),
                          instancetype("VirtualMachineInstancetype", "e"),
                          instancetype("VirtualMachineClusterInstancetype", "cluster-wide"),
                          {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "f"}, "stringData": {"key": "value"}},
                          {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "g"},
                           "spec": {"vmiName": "b"}})
        self.assertEqual(out.splitlines(), [
            "virtualmachine.kubevirt.io/a created", "virtualmachineinstance.kubevirt.io/b created",
            "virtualmachineinstancereplicaset.kubevirt.io/c created", "virtualmachinepool.pool.kubevirt.io/d created",
            "virtualmachineinstancetype.instancetype.kubevirt.io/e created",
            "virtualmachineclusterinstancetype.instancetype.kubevirt.io/cluster-wide created", "secret/f created",
            "virtualmachineinstancemigration.kubevirt.io/g created"])
        self.assertEqual(self.read("secret", "f")["data"], {"key": "dmFsdWU="})
        self.assertNotIn("namespace", self.read("vmcf", "cluster-wide")["metadata"])
        # Short names, several kinds in one call
        names = self.kubectl("get", "vm,vmi,vmirs,vmpool,vmim,vmf", "-o", "name").split()
        self.assertEqual([name.split("/")[1] for name in names], ["a", "b", "c", "d", "g", "e"])

    def test_generated_names(self):
        made = self.kubectl("create", "-f", "-", "-o", "name", stdin={
            **config_map("x"), "metadata": {"generateName": "part-"}}).strip()
        self.assertRegex(made, r"^configmap/part-[a-z0-9]{5}$")
        self.assertEqual(self.read(made)["kind"], "ConfigMap")

    def test_create_dry_run(self):
        client = self.kubectl("create", "-f", "-", "--dry-run=client", "-o", "json", stdin=VM_YAML)
        self.assertNotIn("uid", json.loads(client)["metadata"])
        server = json.loads(self.kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", stdin=VM_YAML))
        self.assertIn("uid", server["metadata"])
        self.assertNotIn("resourceVersion", server["metadata"])
        self.assertEqual(self.kubectl("create", "-f", "-", "--dry-run=server", stdin=VM_YAML),
                         "virtualmachine.kubevirt.io/small created (server dry run)\n")
        self.assertFalse(self.there(self.path("virtualmachines", "small")))

    def test_create_into_a_namespace_that_is_not_there(self):
        self.assertIn("NotFound", self.refused("create", "-n", "nowhere", "-f", "-", stdin=VM_YAML))

    def test_validation_of_fields(self):
        misspelt = VM_YAML.replace("disks:", "diskz:")
        complaint = self.refused("create", "-f", "-", stdin=misspelt)
        self.assertRegex(complaint, r'unknown field "([a-z.]*\.)?diskz"')
        self.assertFalse(self.there(self.path("virtualmachines", "small")))
        self.kubectl("create", "-f", "-", "--validate=false", stdin=misspelt)
        self.assertEqual(self.read("vm", "small")["spec"]["template"]["spec"]["domain"]["devices"], {})

    def test_validation_of_types(self):
        wrong = VM_YAML.replace("runStrategy: Halted", "runStrategy: Halted\n  instancetype: 7")
        self.assertIn("instancetype", self.refused("create", "-f", "-", stdin=wrong))
        self.assertIn("spec.instancetype", self.refused("create", "-f", "-", "--validate=false", stdin=wrong))
        self.assertFalse(self.there(self.path("virtualmachines", "small")))

    def test_validation_of_core_kinds(self):
        wrong = {**config_map("x"), "dataa": {}}
        self.assertIn('unknown field "dataa"', self.refused("create", "-f", "-", stdin=wrong))
        self.assertIn('no matches for kind "Nothing"', self.refused("create", "-f", "-", stdin={**config_map("x"), "kind": "Nothing"}))
        invalid = self.refused("create", "-f", "-", stdin=config_map("UPPER"))
        self.assertIn('"UPPER" is invalid: metadata.name', invalid)

    # --- get
    def test_get_tables(self):
        self.create(virtual_machine("a", labels={"app": "shop"}), instance("b"), pool("c", 3))
        self.assertEqual(self.rows("get", "vm")[0], ["NAME", "AGE", "STATUS", "READY"])
        self.assertRegex(self.kubectl("get", "vm", "a", "--no-headers"), r"^a +\d+s *\n$")
        self.assertEqual(self.rows("get", "vmi")[0], ["NAME", "AGE", "PHASE", "IP", "NODENAME", "READY"])
        self.assertEqual(self.rows("get", "vmi", "-o", "wide")[0][:6], ["NAME", "AGE", "PHASE", "IP", "NODENAME", "READY"])
        self.assertIn("LIVE-MIGRATABLE", self.rows("get", "vmi", "-o", "wide")[0])
        self.assertEqual(self.rows("get", "vmpool")[1][:2], ["c", "3"])
        self.assertEqual(self.rows("get", "vm", "--show-labels")[1][-1], "app=shop")
        self.assertEqual(self.rows("get", "vm", "-L", "app")[0][-1], "APP")
        everywhere = self.rows("get", "vm", "-A")
        self.assertEqual(everywhere[0], ["NAMESPACE", "NAME", "AGE", "STATUS", "READY"])
        self.assertIn([self.namespace, "a"], [row[:2] for row in everywhere])
        installed = self.rows("get", "kv", "-A")[1]
        self.assertEqual(installed[:2] + installed[3:], ["kubevirt", "kubevirt", "Deployed"])
        self.assertIn(["default", "Active"], [row[:2] for row in self.rows("get", "ns")])

    def test_tables_show_the_status(self):
        self.create(virtual_machine("a"))
        self.api("PATCH", self.path("virtualmachines", "a/status"),
                 {"status": {"printableStatus": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
                 "application/merge-patch+json")
        self.assertEqual(self.rows("get", "vm")[1][2:], ["Running", "True"])

    def test_get_outputs(self):
        self.create(virtual_machine("a"), virtual_machine("b"))
        self.assertEqual(self.kubectl("get", "vm", "-o", "name"), "virtualmachine.kubevirt.io/a\nvirtualmachine.kubevirt.io/b\n")
        self.assertEqual(self.kubectl("get", "vm", "-o", "jsonpath={.items[*].metadata.name}"), "a b")
        image = "jsonpath={.spec.template.spec.volumes[?(@.name=='root')].containerDisk.image}"
        self.assertEqual(self.kubectl("get", "vm", "a", "-o", image), "example/disk:1")
        self.assertEqual(self.rows("get", "vm", "-o", "custom-columns=WHO:.metadata.name,RUN:.spec.runStrategy,NO:.spec.nothing"),
                         [["WHO", "RUN", "NO"], ["a", "Halted", "<none>"], ["b", "Halted", "<none>"]])
        self.assertEqual(self.kubectl("get", "vm", "-o", "go-template={{range .items}}{{.metadata.name}};{{end}}"), "a;b;")
        self.assertRegex(self.kubectl("get", "vm", "a", "-o", "yaml"),
                         r"(?s)\AapiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n.*\n  runStrategy: Halted\n")
        self.assertEqual(self.kubectl("get", "vm", "--sort-by={.metadata.creationTimestamp}", "-o", "name").count("\n"), 2)
        whole = self.read("vm")
        self.assertEqual((whole["kind"], len(whole["items"])), ("List", 2))
        whole = self.api("GET", self.path("virtualmachines", "a"))
        if self.version >= (1, 21):
            del whole["metadata"]["managedFields"]  # which newer ones only show when asked to
        self.assertEqual(self.read("vm", "a"), whole)

    def test_get_by_selector(self):
        self.create(config_map("a", labels={"app": "x", "n": "1"}), config_map("b", labels={"app": "y", "n": "1"}),
                    config_map("c", labels={"n": "2"}))
        for selector, expected in {"app=x": "a", "app!=x,n": "b c", "app in (x,y)": "a b", "!app": "c", "n notin (1)": "c",
                                   "app,n=1": "a b"}.items():
            names = self.kubectl("get", "cm", "-l", selector, "--field-selector", "metadata.name!=kube-root-ca.crt",
                                 "-o", "jsonpath={.items[*].metadata.name}")
            self.assertEqual(names, expected, selector)
        for selector, expected in {"metadata.name=b": "b", "metadata.name!=b": "a c"}.items():
            names = self.kubectl("get", "cm", "-l", "n", "--field-selector", selector, "-o", "jsonpath={.items[*].metadata.name}")
            self.assertEqual(names, expected, selector)
        self.assertIn("BadRequest", self.refused("get", "vm", "--field-selector", "spec.runStrategy=Halted"))

    def test_get_in_chunks(self):
        self.create(*[config_map(f"part-{number:02}", labels={"many": "yes"}) for number in range(35)])
        done = self.run_it("get", "cm", "-l", "many", "--chunk-size=10", "-o", "name", "-v=6")
        self.assertEqual(done.stdout.split(), [f"configmap/part-{number:02}" for number in range(35)])
        calls = [line for line in done.stderr.splitlines() if "/configmaps?" in line and "200 OK" in line]
        self.assertEqual([("limit=10" in call, "continue=" in call) for call in calls], [(True, False)] + 3 * [(True, True)])

    def test_get_what_is_not_there(self):
        done = self.run_it("get", "vm")
        self.assertEqual((done.stdout, done.stderr), ("", f"No resources found in {self.namespace} namespace.\n"))
        self.assertIn('Error from server (NotFound): ', self.refused("get", "vm", "nobody"))
        self.assertEqual(self.kubectl("get", "vm", "nobody", "--ignore-not-found"), "")
        self.assertIn('doesn\'t have a resource type "nothings"', self.refused("get", "nothings"))

    def test_get_all(self):
        self.create(virtual_machine("a"), service("b", 80), pool("c", 1), config_map("d"))
        names = self.kubectl("get", "all", "-o", "name").split()
        self.assertEqual(set(names), {"service/b", "virtualmachine.kubevirt.io/a", "virtualmachinepool.pool.kubevirt.io/c"})

    def test_get_by_version(self):
        self.create(pool("a", 1))
        self.assertEqual(self.read("virtualmachinepools.v1alpha1.pool.kubevirt.io", "a")["apiVersion"], "pool.kubevirt.io/v1alpha1")
        self.assertEqual(self.read("vmpool", "a")["apiVersion"], "pool.kubevirt.io/v1beta1")

    def test_watch(self):
        self.create(virtual_machine("a"))
        watch = self.begin("get", "vm", "--watch", "--output-watch-events", "--no-headers")
        watch.read_until(r"ADDED +a ")
        self.create(virtual_machine("b"))
        watch.read_until(r"ADDED +b ")
        self.api("PATCH", self.path("virtualmachines", "b/status"), {"status": {"printableStatus": "Stopped"}},
                 "application/merge-patch+json")
        watch.read_until(r"MODIFIED +b +\d+s +Stopped")
        self.kubectl("delete", "vm", "a")
        watch.read_until(r"DELETED +a ")

    def test_watch_only(self):
        self.create(virtual_machine("a", labels={"seen": "no"}), virtual_machine("b", labels={"seen": "yes"}))
        watch = self.begin("get", "vm", "--watch", "-l", "seen=yes", "-o", "jsonpath={.metadata.name}:{.metadata.annotations.n};")
        watch.read_until(r"b:;")
        self.kubectl("annotate", "vm", "a", "b", "n=1")
        watch.read_until(r"b:1;")
        self.assertNotIn(b"a:", watch.seen)

    # --- describe and events
    def test_describe(self):
        self.create(virtual_machine("a", annotations={"note": "kept"}))
        uid = self.read("vm", "a")["metadata"]["uid"]
        self.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1"}, "type": "Normal", "reason": "Noticed",
                     "message": "something was seen", "count": 1, "source": {"component": "test"},
                     "reportingComponent": "", "reportingInstance": "",
                     "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
                     "involvedObject": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "a",
                                        "namespace": self.namespace, "uid": uid}})
        text = one_line(self.kubectl("describe", "vm", "a"))
        for part in (f"Name: a Namespace: {self.namespace} ", "Annotations: note: kept API Version: kubevirt.io/v1 ",
                     "Run Strategy: Halted", "UID: " + uid, "Normal Noticed"):
            self.assertIn(part, text)
        self.assertTrue(text.endswith("test something was seen"), text)
        for selector, count in {"involvedObject.name=a,type=Normal": 1, "involvedObject.name=b": 0, "reason=Noticed": 1}.items():
            self.assertEqual(len(self.read("events", "--field-selector", selector)["items"]), count, selector)
        self.assertRegex(self.kubectl("get", "events"), r"(?m)^\S+ +Normal +Noticed +virtualmachine/a +something was seen$")

    def test_describe_core_kinds(self):
        self.create(service("a", 80), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}, "stringData": {"key": "12345"}})
        self.assertIn("Port: p80 80/TCP", one_line(self.kubectl("describe", "service", "a")))
        self.assertRegex(self.kubectl("describe", "secret", "b"), r"key: +5 bytes")
        self.assertRegex(self.kubectl("describe", "ns", self.namespace), r"Status: +Active")

    @known_gap(REPORTER, "the schema demands reportingComponent and reportingInstance of an Event")
    def test_event_that_names_no_reporter(self):
        self.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1"}, "message": "so",
                     "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": self.namespace}})
        self.assertEqual(self.read("event", "a.1")["message"], "so")

    def test_events_command(self):
        self.need(1, 26, "events")
        self.assertIn("No events found", self.run_it("events").stderr)
        self.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a.1"}, "type": "Warning", "reason": "Seen",
                     "message": "so", "lastTimestamp": "2026-01-01T00:00:00Z", "reportingComponent": "", "reportingInstance": "",
                     "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": self.namespace}})
        self.assertEqual(self.rows("events", "--types=Warning")[1][1:], ["Warning", "Seen", "ConfigMap/a", "so"])

    # --- changes
    def test_edit(self):
        self.create(virtual_machine("a"))
        self.assertEqual(self.kubectl("edit", "vm", "a", environment={"KUBE_EDITOR": "sed -i s/Halted/Manual/"}),
                         "virtualmachine.kubevirt.io/a edited\n")
        found = self.read("vm", "a")
        self.assertEqual((found["spec"]["runStrategy"], found["metadata"]["generation"]), ("Manual", 2))
        done = self.run_it("edit", "vm", "a", environment={"KUBE_EDITOR": "true"})
        self.assertIn("Edit cancelled, no changes made.", done.stdout + done.stderr)

    def test_patch(self):
        self.create(virtual_machine("a"))
        self.assertEqual(self.kubectl("patch", "vm", "a", "--type=json", "-p",
                                      '[{"op":"test","path":"/spec/runStrategy","value":"Halted"},'
                                      '{"op":"replace","path":"/spec/runStrategy","value":"Manual"}]'),
                         "virtualmachine.kubevirt.io/a patched\n")
        self.assertEqual(self.kubectl("patch", "vm", "a", "--type=merge", "-p",
                                      '{"spec":{"runStrategy":"Always"},"metadata":{"labels":{"x":"y"}}}', "-o",
                                      "jsonpath={.spec.runStrategy}{.metadata.labels.x}"), "Alwaysy")
        self.assertEqual(self.kubectl("patch", "vm", "a", "--type=merge", "-p", '{"metadata":{"labels":{"x":"y"}}}'),
                         "virtualmachine.kubevirt.io/a patched (no change)\n")
        self.kubectl("patch", "vm", "a", "--type=merge", "--dry-run=server", "-p", '{"spec":{"runStrategy":"Halted"}}')
        self.assertEqual(self.read("vm", "a")["spec"]["runStrategy"], "Always")
        self.refused("patch", "vm", "a", "--type=json", "-p", '[{"op":"test","path":"/spec/runStrategy","value":"Other"}]')
        self.refused("patch", "vm", "a", "--type=json", "-p", '[{"op":"remove","path":"/spec/nothing"}]')
        self.assertIn("strategic merge patch", self.refused("patch", "vm", "a", "-p", '{"spec":{}}'))
        self.assertIn("NotFound", self.refused("patch", "vm", "b", "--type=merge", "-p", '{"spec":{}}'))

    def test_patch_strategic(self):
        self.create(service("a", 80))
        self.kubectl("patch", "service", "a", "-p", '{"spec":{"ports":[{"port":443,"name":"p443"}]}}')
        self.assertEqual({port["port"] for port in self.read("service", "a")["spec"]["ports"]}, {80, 443})
        self.kubectl("patch", "service", "a", "-p", '{"spec":{"ports":[{"port":80,"$patch":"delete"}]}}')
        self.assertEqual([port["port"] for port in self.read("service", "a")["spec"]["ports"]], [443])

    def test_patch_the_status(self):
        self.need(1, 24, "--subresource")
        self.create(virtual_machine("a"))
        self.kubectl("patch", "vm", "a", "--subresource=status", "--type=merge", "-p",
                     '{"status":{"printableStatus":"Paused"},"spec":{"runStrategy":"Always"}}')
        found = self.read("vm", "a")
        self.assertEqual((found["status"]["printableStatus"], found["spec"]["runStrategy"]), ("Paused", "Halted"))

    def test_label_and_annotate(self):
        self.create(virtual_machine("a"), virtual_machine("b"))
        self.assertEqual(self.kubectl("label", "vm", "a", "tier=gold"), "virtualmachine.kubevirt.io/a labeled\n")
        self.assertIn("--overwrite is false", self.refused("label", "vm", "a", "tier=iron"))
        self.kubectl("label", "vm", "--all", "--overwrite", "tier=iron")
        self.assertEqual(self.kubectl("get", "vm", "-l", "tier=iron", "-o", "jsonpath={.items[*].metadata.name}"), "a b")
        self.kubectl("label", "vm", "a", "tier-")
        self.assertEqual(self.kubectl("get", "vm", "-l", "!tier", "-o", "jsonpath={.items[*].metadata.name}"), "a")
        self.kubectl("annotate", "vm", "a", "note=two words")
        self.assertEqual(self.read("vm", "a")["metadata"]["annotations"], {"note": "two words"})
        self.kubectl("annotate", "vm", "a", "note-")
        self.assertNotIn("annotations", self.read("vm", "a")["metadata"])
        self.assertEqual(self.read("vm", "a")["metadata"]["generation"], 1)

    def test_replace(self):
        self.create(virtual_machine("a"))
        before = self.read("vm", "a")
        changed = json.loads(json.dumps(before))
        changed["spec"]["runStrategy"] = "Manual"
        self.assertEqual(self.kubectl("replace", "-f", "-", stdin=changed), "virtualmachine.kubevirt.io/a replaced\n")
        self.assertIn("(Conflict)", self.refused("replace", "-f", "-", stdin=changed))
        after = self.read("vm", "a")
        self.assertEqual((after["spec"]["runStrategy"], after["metadata"]["uid"]), ("Manual", before["metadata"]["uid"]))
        self.assertIn("(NotFound)", self.refused("replace", "-f", "-", stdin=virtual_machine("b")))

    def test_replace_by_force(self):
        self.create(config_map("a", {"k": "1"}))
        before = self.read("cm", "a")
        with open(os.path.join(self.folder, "forced.json"), "w") as file:
            json.dump(config_map("a", {"k": "2"}), file)
        self.kubectl("replace", "--force", "-f", file.name)
        after = self.read("cm", "a")
        self.assertEqual(after["data"], {"k": "2"})
        self.assertNotEqual(after["metadata"]["uid"], before["metadata"]["uid"])

    @asks_for_patches
    def test_apply(self):
        first = virtual_machine("a", labels={"one": "1", "two": "2"})
        second = virtual_machine("a", labels={"one": "1"})
        second["spec"]["runStrategy"] = "Manual"
        said = [self.kubectl("apply", "-f", "-", stdin=item).strip() for item in (first, first, second)]
        self.assertEqual(said, ["virtualmachine.kubevirt.io/a " + word for word in ("created", "unchanged", "configured")])
        found = self.read("vm", "a")
        self.assertEqual((found["metadata"]["labels"], found["spec"]["runStrategy"]), ({"one": "1"}, "Manual"))
        self.assertEqual(json.loads(self.kubectl("apply", "view-last-applied", "vm", "a", "-o", "json"))["spec"]["runStrategy"], "Manual")
        self.assertIn("configured (server dry run)", self.kubectl("apply", "--dry-run=server", "-f", "-", stdin=first))
        self.assertEqual(self.read("vm", "a"), found)

    def test_apply_core_kinds(self):
        self.kubectl("apply", "-f", "-", stdin=service("a", 80, 443))
        self.kubectl("patch", "service", "a", "-p", '{"spec":{"ports":[{"port":22,"name":"p22"}]}}')
        self.kubectl("apply", "-f", "-", stdin=service("a", 443, 8080))
        self.assertEqual({port["port"] for port in self.read("service", "a")["spec"]["ports"]}, {22, 443, 8080})

    def test_apply_on_the_server(self):
        item = virtual_machine("a", labels={"one": "1", "two": "2"})
        apply = lambda who, changed, *more: self.kubectl("apply", "--server-side", "--validate=false", "--field-manager", who, *more, "-f", "-", stdin=changed)
        self.assertIn("serverside-applied", apply("first", item))
        version = self.read("vm", "a")["metadata"]["resourceVersion"]
        apply("first", item)
        self.assertEqual(self.read("vm", "a")["metadata"]["resourceVersion"], version, "the same again must write nothing")
        other = virtual_machine("a")
        del other["spec"]["template"]
        other["spec"]["runStrategy"] = "Manual"
        complaint = self.refused("apply", "--server-side", "--validate=false", "--field-manager", "second", "-f", "-", stdin=other)
        self.assertIn(".spec.runStrategy", complaint)
        self.assertIn("first", complaint)
        apply("second", other, "--force-conflicts")
        item["metadata"]["labels"] = {"one": "1"}
        del item["spec"]["runStrategy"]
        apply("first", item)
        found = self.read("vm", "a")
        self.assertEqual((found["metadata"]["labels"], found["spec"]["runStrategy"]), ({"one": "1"}, "Manual"))
        # kubectl leaves them out of what it prints.
        whole = json.loads(self.kubectl("get", "--raw", self.path("virtualmachines", "a")))
        self.assertEqual({owner["manager"] for owner in whole["metadata"]["managedFields"]}, {"first", "second"})

    def test_apply_a_core_kind_on_the_server(self):
        for item in (service("a", 80, 443), service("a", 443, 8080)):
            self.kubectl("apply", "--server-side", "-f", "-", stdin=item)
        self.assertEqual({port["port"] for port in self.read("service", "a")["spec"]["ports"]}, {443, 8080})

    @asks_for_patches
    def test_diff(self):
        item = virtual_machine("a")
        self.kubectl("apply", "-f", "-", stdin=item)
        self.assertEqual(self.kubectl("diff", "-f", "-", stdin=item), "")
        item["spec"]["runStrategy"] = "Manual"
        shown = self.run_it("diff", "-f", "-", stdin=item, code=1).stdout
        self.assertIn("\n-  runStrategy: Halted\n+  runStrategy: Manual\n", shown)

    def test_scale(self):
        self.create(replica_set("a", 2), pool("b", 1))
        self.assertEqual(self.kubectl("scale", "vmirs", "a", "--replicas=5", "--current-replicas=2"),
                         "virtualmachineinstancereplicaset.kubevirt.io/a scaled\n")
        self.assertIn("xpected replicas to be 2, was 5", self.refused("scale", "vmirs", "a", "--replicas=6", "--current-replicas=2"))
        self.kubectl("scale", "vmpool", "b", "--replicas=0")
        self.assertEqual((self.read("vmirs", "a")["spec"]["replicas"], self.read("vmpool", "b")["spec"]["replicas"]), (5, 0))
        self.create(virtual_machine("c"))
        self.refused("scale", "vm", "c", "--replicas=2")

    # --- wait
    def test_wait_for_a_condition(self):
        self.create(virtual_machine("a"))
        self.assertIn("timed out", self.refused("wait", "--for=condition=Ready", "vm/a", "--timeout=500ms"))
        waiting = self.begin("wait", "--for=condition=Ready", "vm/a", f"--timeout={DEADLINE_S}s")
        self.api("PATCH", self.path("virtualmachines", "a/status"), {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
                 "application/merge-patch+json")
        waiting.read_until(r"virtualmachine.kubevirt.io/a condition met\n")
        self.assertEqual(waiting.code(), 0)

    def test_wait_for_the_end(self):
        self.create(config_map("a", finalizers=["example.org/hold"]))
        self.kubectl("delete", "cm", "a", "--wait=false")
        waiting = self.begin("wait", "--for=delete", "cm/a", f"--timeout={DEADLINE_S}s")
        self.assertIn("timed out", self.refused("wait", "--for=delete", "cm/a", "--timeout=500ms"))
        self.assertIsNone(waiting.process.poll())
        self.kubectl("patch", "cm", "a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        waiting.read_until(r"configmap/a condition met\n")
        self.assertEqual(waiting.code(), 0)

    def test_wait_for_a_value(self):
        self.need(1, 23, "wait --for=jsonpath")
        self.create(virtual_machine("a"))
        waiting = self.begin("wait", "--for=jsonpath={.status.printableStatus}=Running", "vm/a", f"--timeout={DEADLINE_S}s")
        self.api("PATCH", self.path("virtualmachines", "a/status"), {"status": {"printableStatus": "Running"}},
                 "application/merge-patch+json")
        waiting.read_until(r"virtualmachine.kubevirt.io/a condition met\n")
        self.assertEqual(waiting.code(), 0)

    # --- delete
    def test_delete(self):
        self.create(*[virtual_machine(name, labels={"set": name[0]}) for name in ("a1", "a2", "b1", "c1")])
        self.assertEqual(self.kubectl("delete", "vm", "c1", "--dry-run=server").replace(" from " + self.namespace + " namespace", ""),
                         'virtualmachine.kubevirt.io "c1" deleted (server dry run)\n')
        self.kubectl("delete", "vm", "c1")
        self.kubectl("delete", "vm", "-l", "set=a")
        self.assertEqual(self.kubectl("get", "vm", "-o", "name"), "virtualmachine.kubevirt.io/b1\n")
        self.kubectl("delete", "vm", "--all")
        self.assertEqual(self.kubectl("get", "vm", "-o", "name"), "")
        self.assertIn("(NotFound)", self.refused("delete", "vm", "c1"))
        self.assertEqual(self.kubectl("delete", "vm", "c1", "--ignore-not-found"), "")

    def test_delete_waits_for_finalizers(self):
        self.create(instance("a", finalizers=["example.org/hold"]))
        deleting = self.begin("delete", "vmi", "a", f"--timeout={DEADLINE_S}s")
        deleting.read_until(r'virtualmachineinstance.kubevirt.io "a" deleted')
        self.assertIn("deletionTimestamp", self.read("vmi", "a")["metadata"])
        self.assertIsNone(deleting.process.poll())
        self.assertIn("timed out", self.refused("delete", "vmi", "a", "--timeout=500ms"))
        self.refused("patch", "vmi", "a", "--type=merge", "-p", '{"metadata":{"finalizers":["example.org/hold","example.org/more"]}}')
        self.kubectl("patch", "vmi", "a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        self.assertEqual(deleting.code(), 0)
        self.assertFalse(self.there(self.path("virtualmachineinstances", "a")))

    def owned(self, owner, name, **meta):
        return config_map(name, ownerReferences=[{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": owner,
                                                  "uid": self.read("vm", owner)["metadata"]["uid"], "blockOwnerDeletion": True}],
                          **meta)

    def test_delete_in_the_background(self):
        self.create(virtual_machine("a"))
        self.create(self.owned("a", "part"))
        self.kubectl("delete", "vm", "a")
        self.gone(self.path("configmaps", "part", "/api/v1"))

    def test_delete_and_orphan(self):
        self.create(virtual_machine("a"))
        self.create(self.owned("a", "part"))
        self.kubectl("delete", "vm", "a", "--cascade=orphan")
        self.assertFalse(self.there(self.path("virtualmachines", "a")))
        self.assertNotIn("ownerReferences", self.read("cm", "part")["metadata"])

    def test_delete_in_the_foreground(self):
        self.create(virtual_machine("a"))
        self.create(self.owned("a", "part", finalizers=["example.org/hold"]), self.owned("a", "free"))
        deleting = self.begin("delete", "vm", "a", "--cascade=foreground", f"--timeout={DEADLINE_S}s")
        self.gone(self.path("configmaps", "free", "/api/v1"))
        self.assertEqual(self.read("vm", "a")["metadata"]["finalizers"], ["foregroundDeletion"])
        self.assertIsNone(deleting.process.poll())
        self.kubectl("patch", "cm", "part", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        self.assertEqual(deleting.code(), 0)
        self.assertFalse(self.there(self.path("virtualmachines", "a")))

    def test_delete_a_namespace(self):
        self.api("POST", "/api/v1/namespaces", {"metadata": {"name": "short-lived"}, "apiVersion": "v1", "kind": "Namespace"})
        for item in (virtual_machine("a"), config_map("held", finalizers=["example.org/hold"])):
            self.kubectl("create", "-n", "short-lived", "-f", "-", stdin=item)
        deleting = self.begin("delete", "ns", "short-lived", f"--timeout={DEADLINE_S}s")
        self.gone(self.path("virtualmachines", "a", namespace="short-lived"))
        self.assertEqual(self.rows("get", "ns", "short-lived")[1][1], "Terminating")
        self.assertIn("(Forbidden)", self.refused("create", "-n", "short-lived", "-f", "-", stdin=config_map("late")))
        self.assertIsNone(deleting.process.poll())
        self.kubectl("patch", "-n", "short-lived", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        self.assertEqual(deleting.code(), 0)
        self.assertIn("(NotFound)", self.refused("get", "ns", "short-lived"))
        self.assertIn("(Forbidden)", self.refused("delete", "ns", "default"))

    # --- who may
    def generate(self, *arguments):
        """What `kubectl create KIND` makes, sent as a file would be."""
        return self.kubectl("create", "-f", "-", stdin=self.kubectl("create", *arguments, "--dry-run=client", "-o", "yaml"))

    def test_roles_and_impersonation(self):
        self.create(virtual_machine("a"))
        self.assertIn('(Forbidden): ', self.refused("get", "vm", "--as=jane"))
        self.assertEqual(self.generate("role", "reader", "--verb=get,list", "--resource=virtualmachines.kubevirt.io"),
                         "role.rbac.authorization.k8s.io/reader created\n")
        self.generate("rolebinding", "reader", "--role=reader", "--user=jane", "--group=staff")
        self.assertEqual(self.kubectl("get", "vm", "--as=jane", "-o", "name"), "virtualmachine.kubevirt.io/a\n")
        self.assertEqual(self.kubectl("get", "vm", "--as=joe", "--as-group=staff", "-o", "name"), "virtualmachine.kubevirt.io/a\n")
        self.assertIn("(Forbidden)", self.refused("get", "vm", "--as=joe"))
        self.assertIn("(Forbidden)", self.refused("get", "vm", "-A", "--as=jane"))
        complaint = self.refused("delete", "vm", "a", "--as=jane")
        self.assertIn('User "jane" cannot delete resource "virtualmachines" in API group "kubevirt.io"', complaint)
        self.kubectl("delete", "rolebinding", "reader")
        self.assertIn("(Forbidden)", self.refused("get", "vm", "--as=jane"))

    def test_default_roles_of_kubevirt(self):
        self.create(virtual_machine("a"))
        self.generate("rolebinding", "viewer", "--clusterrole=kubevirt.io:view", "--user=ann")
        self.assertEqual(self.kubectl("get", "vm", "--as=ann", "-o", "name"), "virtualmachine.kubevirt.io/a\n")
        self.assertIn("(Forbidden)", self.refused("label", "vm", "a", "x=y", "--as=ann"))
        self.generate("rolebinding", "editor", "--clusterrole=kubevirt.io:edit", "--user=ann")
        self.kubectl("label", "vm", "a", "x=y", "--as=ann")

    def test_no_role_gives_more_than_its_giver_has(self):
        self.generate("rolebinding", "admin", "--clusterrole=admin", "--user=amy")
        self.assertIn("(Forbidden)", self.refused("create", "-f", "-", "--as=amy", stdin={
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "all"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}))
        self.kubectl("create", "-f", "-", "--as=amy", stdin={
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "some"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]})

    def with_token(self, token, *arguments):
        return [f"--kubeconfig={os.devnull}", f"--server=https://{self.one.listen}",
                "--certificate-authority=" + self.one.pki("ca.crt"), "--token=" + token, *arguments]

    def test_service_account_tokens(self):
        self.create(virtual_machine("a"))
        self.generate("serviceaccount", "robot")
        self.generate("rolebinding", "robot", "--clusterrole=kubevirt.io:view", f"--serviceaccount={self.namespace}:robot")
        answer = self.kubectl("create", "--raw", self.path("serviceaccounts", "robot/token", "/api/v1"), "-f", "-", stdin={
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
        token = json.loads(answer)["status"]["token"]
        self.assertEqual(self.kubectl(*self.with_token(token, "get", "vm", "-o", "name")), "virtualmachine.kubevirt.io/a\n")
        self.assertIn("(Forbidden)", self.refused(*self.with_token(token, "get", "secrets")))
        self.refused(*self.with_token(token[:-8] + "AAAAAAAA", "get", "vm"))
        self.kubectl("delete", "sa", "robot")
        self.refused(*self.with_token(token, "get", "vm"))

    def test_can_i(self):
        self.assertEqual(self.kubectl("auth", "can-i", "create", "vm"), "yes\n")
        self.assertEqual(self.run_it("auth", "can-i", "list", "vm", "--as=jane", code=1).stdout, "no\n")
        self.generate("rolebinding", "viewer", "--clusterrole=kubevirt.io:view", "--group=staff")
        self.assertEqual(self.kubectl("auth", "can-i", "list", "vm", "--as=jane", "--as-group=staff"), "yes\n")
        elsewhere = self.run_it("auth", "can-i", "list", "vm", "--as=jane", "--as-group=staff", "-n", "default", code=1)
        self.assertEqual(elsewhere.stdout, "no\n")
        self.assertEqual(self.kubectl("auth", "can-i", "get", "/healthz", "--as=jane", "--as-group=system:authenticated"), "yes\n")
        rows = self.rows("auth", "can-i", "--list", "--as=jane", "--as-group=staff")
        self.assertEqual(rows[0], ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"])
        self.assertIn(["virtualmachines.kubevirt.io", "[]", "[]", "[get list watch]"], rows)
        self.assertNotIn("*.*", [row[0] for row in rows])
        self.assertIn("*.*", [row[0] for row in self.rows("auth", "can-i", "--list")])

    def test_who_am_i(self):
        self.need(1, 28, "auth whoami")
        found = json.loads(self.kubectl("auth", "whoami", "--as=jane", "--as-group=staff", "-o", "json"))["status"]["userInfo"]
        self.assertEqual((found["username"], found["groups"]), ("jane", ["staff", "system:authenticated"]))

    def test_create_token(self):
        self.need(1, 24, "create token")
        self.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        token = self.kubectl("create", "token", "robot", "--duration=1h").strip()
        self.assertIn(f"system:serviceaccount:{self.namespace}:robot", self.refused(*self.with_token(token, "get", "vm")))

    def test_create_commands(self):
        """The commands that build an object themselves; kubectl 1.32 and later send these as protobuf and get it back."""
        for arguments, name in ((("namespace", "made-here"), "namespace/made-here"),
                                (("configmap", "c", "--from-literal=key=value"), "configmap/c"),
                                (("secret", "generic", "s", "--from-literal=key=value"), "secret/s"),
                                (("serviceaccount", "robot"), "serviceaccount/robot"),
                                (("role", "r", "--verb=get", "--resource=configmaps"), "role.rbac.authorization.k8s.io/r"),
                                (("rolebinding", "r", "--role=r", "--user=jane"), "rolebinding.rbac.authorization.k8s.io/r"),
                                (("clusterrole", "r", "--verb=get", "--resource=nodes"), "clusterrole.rbac.authorization.k8s.io/r"),
                                (("clusterrolebinding", "r", "--clusterrole=r", "--group=g"),
                                 "clusterrolebinding.rbac.authorization.k8s.io/r"),
                                (("quota", "q", "--hard=pods=3"), "resourcequota/q"),
                                (("service", "clusterip", "web", "--tcp=80:8080"), "service/web"),
                                (("priorityclass", "p", "--value=7", "--description=x"), "priorityclass.scheduling.k8s.io/p")):
            self.assertEqual(self.kubectl("create", *arguments), name + " created\n")
        self.assertEqual(self.read("cm", "c")["data"], {"key": "value"})
        self.assertEqual(self.read("secret", "s")["data"], {"key": "dmFsdWU="})
        self.assertEqual(self.read("role", "r")["rules"], [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
        self.assertEqual(self.read("clusterrolebinding", "r")["subjects"],
                         [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "g"}])
        self.assertEqual(self.read("quota", "q")["spec"], {"hard": {"pods": "3"}})
        self.assertEqual(self.read("service", "web")["spec"]["ports"],
                         [{"name": "80-8080", "port": 80, "protocol": "TCP", "targetPort": 8080}])
        self.assertEqual(self.read("priorityclass", "p")["value"], 7)
        self.assertIn("TargetPort: 8080/TCP", one_line(self.kubectl("describe", "service", "web")))

    def test_reconcile_roles(self):
        """Reads, creates and replaces through a typed client."""
        def role(*verbs):
            return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                    "metadata": {"name": "r", "namespace": self.namespace, "labels": {"a": "b"}},
                    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}]}
        self.kubectl("auth", "reconcile", "-f", "-", stdin=role("get"))
        self.kubectl("auth", "reconcile", "-f", "-", stdin=role("get", "list"))
        found = self.read("role", "r")
        self.assertEqual(found["metadata"]["labels"], {"a": "b"})
        self.assertEqual({verb for rule in found["rules"] for verb in rule["verbs"]}, {"get", "list"})

    def test_describe_a_pod(self):
        """Read as protobuf by kubectl 1.32 and later: what it shows has come through all kinds of fields."""
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {
            "priority": -5, "terminationGracePeriodSeconds": 0, "nodeSelector": {"k": "v"},
            "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
            "volumes": [{"name": "e", "emptyDir": {"medium": "Memory", "sizeLimit": "1536Mi"}},
                        {"name": "c", "configMap": {"name": "settings"}}],
            "containers": [{
                "name": "c", "image": "example/c", "command": ["run", "it"],
                "env": [{"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}}],
                "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                "volumeMounts": [{"name": "e", "mountPath": "/e", "readOnly": True}],
                "livenessProbe": {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 7},
                "readinessProbe": {"httpGet": {"path": "/h", "port": "web"}, "periodSeconds": 3}}]}})
        text = one_line(self.kubectl("describe", "pod", "p"))
        for part in ("Priority: -5", "Labels: a=b", "Image: example/c", "Port: 80/TCP", "Command: run it",
                     "Limits: cpu: 500m memory: 1Gi", "<set to the key 'k' in secret 's'> Optional: true", "/e from e (ro)",
                     "tcp-socket :8080 delay=7s", "http-get http://:web/h delay=0s timeout=1s period=3s", "Medium: Memory",
                     "SizeLimit: 1536Mi", "Name: settings", "Node-Selectors: k=v", "t:NoExecute op=Exists for 30s"):
            self.assertIn(part, text)

    def test_drain(self):
        """Evicts the pods of a node, which every kubectl does where the group policy is served, and waits until they are gone."""
        self.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.namespace}},
                    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                     "spec": {"nodeName": self.namespace, "containers": [{"name": "c", "image": "example/c"}]}})
        self.addCleanup(self.api, "DELETE", f"/api/v1/nodes/{self.namespace}")
        said = self.kubectl("drain", self.namespace, "--force", "--grace-period=0")
        self.assertIn("pod/p evicted", said)
        self.gone(self.path("pods", "p", "/api/v1"))
        self.assertTrue(self.read("node", self.namespace)["spec"]["unschedulable"])


class OnPath(Suite, unittest.TestCase):
    find = staticmethod(kubectl_on_path)


class Debian(Suite, unittest.TestCase):
    find = staticmethod(kubectl_of_debian)


def run_both():
    """Each half in a process of its own, at the same time; what they say comes one after the other."""
    halves = []
    for half in (OnPath, Debian):
        output = tempfile.TemporaryFile()
        command = [sys.executable, os.path.abspath(__file__), half.__name__]
        halves.append((subprocess.Popen(command, stdout=output, stderr=output), output))
    codes = []
    for process, output in halves:
        codes.append(process.wait())
        output.seek(0)
        sys.stderr.write(output.read().decode())
        output.close()
    return 1 if any(codes) else 0


if __name__ == "__main__":
    if not os.access(e2e.BINARY, os.X_OK):
        sys.exit(f"VIRTGATE_BINARY must name the program; it is {e2e.BINARY!r}")
    if len(sys.argv) > 1:
        unittest.main()
    sys.exit(run_both())
