"""virtgate check, render and explain as people and programs call them: exit codes, every form of a report, hostile files."""
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from support import serve as e2e

BINARY = e2e.BINARY
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check")
DEADLINE_S = 120
FORMS = {"text": "txt", "json": "json", "sarif": "sarif", "junit": "xml", "github": "github"}
VM = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: %s}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        memory: {guest: 1Gi}
        devices: {}
"""
TYPED = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: typed}
spec:
  runStrategy: Always
  instancetype: {name: small, kind: VirtualMachineInstancetype}
  template: {spec: {domain: {devices: {}}}}
"""
SMALL = """apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: default}
spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}
"""


def run(*arguments, text=None, cwd=None):
    return subprocess.run([BINARY, *arguments], input=text, capture_output=True, text=True, timeout=DEADLINE_S, cwd=cwd, env={**os.environ, "TERM": "xterm"})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="check-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(text, bytes) else "w") as f:
            f.write(text)
        return path


class Reports(unittest.TestCase):
    """VIRTGATE_WRITE_GOLDEN=1 writes what is expected anew."""

    def report(self, form):
        done = run("check", "example.yaml", "-o", form, cwd=GOLDEN)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        return re.sub(r'("version":")\d+\.\d+\.\d+"(?=,|})(?!,"runs)', r'\1X.Y.Z"', done.stdout) if form == "sarif" else done.stdout

    def test_every_form_is_as_it_was(self):
        for form, extension in FORMS.items():
            with self.subTest(form):
                golden, text = os.path.join(GOLDEN, f"example.{extension}"), self.report(form)
                if os.environ.get("VIRTGATE_WRITE_GOLDEN"):
                    with open(golden, "w") as f:
                        f.write(text)
                with open(golden) as f:
                    self.assertEqual(text, f.read())

    def test_sarif_has_what_its_schema_requires(self):
        log = json.loads(self.report("sarif"))
        self.assertEqual(log["version"], "2.1.0")
        self.assertTrue(log["$schema"].endswith("sarif-2.1.0.json"))
        self.assertEqual(len(log["runs"]), 1)
        one = log["runs"][0]
        rules = {rule["id"] for rule in one["tool"]["driver"]["rules"]}
        self.assertEqual(one["tool"]["driver"]["name"], "virtgate")
        self.assertTrue(one["results"])
        for rule in one["tool"]["driver"]["rules"]:
            self.assertTrue(rule["shortDescription"]["text"])
        for result in one["results"]:
            self.assertIn(result["ruleId"], rules)
            self.assertIn(result["level"], ("error", "warning", "note"))
            self.assertTrue(result["message"]["text"])
            place = result["locations"][0]["physicalLocation"]
            self.assertEqual(place["artifactLocation"]["uri"], "example.yaml")
            self.assertGreaterEqual(place["region"]["startLine"], 1)
            self.assertGreaterEqual(place["region"]["startColumn"], 1)
        self.assertIs(one["invocations"][0]["executionSuccessful"], True)

    def test_junit_counts_what_it_has(self):
        suite = xml.etree.ElementTree.fromstring(self.report("junit")).find("testsuite")
        self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
        self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))

    def test_colours_only_when_asked_for(self):
        self.assertNotIn("\x1b", run("check", "example.yaml", cwd=GOLDEN).stdout)
        self.assertIn("\x1b[1;31m", run("check", "example.yaml", "--color", "always", cwd=GOLDEN).stdout)


class ExitCodes(Folder):
    def test_clean_refused_and_not_read(self):
        good, bad = self.write("good.yaml", VM % "good"), self.write("bad.yaml", VM % "Bad")
        self.assertEqual(run("check", good).returncode, 0)
        self.assertEqual(run("check", good, bad).returncode, 1)
        self.assertEqual(run("check", self.folder).returncode, 1)
        self.assertEqual(run("check", "-", text=VM % "good").returncode, 0)
        missing = run("check", bad, os.path.join(self.folder, "none.yaml"))
        self.assertEqual(missing.returncode, 2)
        self.assertIn("No such file", missing.stderr)
        self.assertIn("metadata.name", missing.stdout)  # the others are checked all the same
        self.assertEqual(run("check").returncode, 2)
        os.mkdir(os.path.join(self.folder, "empty"))
        empty = run("check", os.path.join(self.folder, "empty"))
        self.assertEqual(empty.returncode, 2)
        self.assertIn("no manifests", empty.stderr)

    def test_what_is_no_text_is_said_so(self):
        for name, content, words in (("a.yaml", b"\x7fELF\0\0", "not a text file"), ("b.yaml", "a: 1".encode("utf-16"), "UTF-16")):
            done = run("check", self.write(name, content))
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def test_strict_skip_and_complete(self):
        path = self.write("vm.yaml", TYPED)
        self.assertEqual(run("check", path).returncode, 0)
        self.assertEqual(run("check", path, "--strict").returncode, 1)
        self.assertEqual(run("check", path, "--strict", "--skip", "REF-01").returncode, 0)
        self.assertEqual(run("check", path, "--complete").returncode, 1)
        self.assertEqual(run("check", path, "--complete", "--with", self.write("types/small.yaml", SMALL)).returncode, 0)
        self.assertEqual(run("check", path, "--complete", "--with", os.path.join(self.folder, "types")).returncode, 0)
        for wrong in ("MEM-01", "NONE-99"):
            refused = run("check", path, "--skip", wrong)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(wrong, refused.stderr)

    def test_the_configuration_counts(self):
        vmi = self.write("vmi.yaml", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n  domain: {devices: {}, memory: {guest: 1Gi}}\n"
                                     "  volumes:\n  - {name: a, hostDisk: {path: /a.img, type: Disk}}\n")
        self.assertEqual(run("check", vmi).returncode, 1)
        gates = self.write("kubevirt.yaml", "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\nspec: {configuration: {developerConfiguration: {featureGates: [HostDisk]}}}\n")
        done = run("check", vmi, "--config", gates)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(run("check", vmi, "--config", vmi).returncode, 2)

    def test_links_that_lead_in_circles_end(self):
        self.write("a/vm.yaml", VM % "good")
        os.symlink(self.folder, os.path.join(self.folder, "a", "circle"))
        os.mkfifo(os.path.join(self.folder, "a", "pipe.yaml"))  # nobody ever writes to it
        done = run("check", self.folder)
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 object of 1 file", done.stdout)


class ManyManifests(Folder):
    def check(self, path):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("check", path)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(done.returncode, 0, done.stdout[-300:])
        self.assertIn("10000 objects", done.stdout)
        if e2e.SANITIZED:
            return
        # Seconds of all threads together: what else runs on the machine does not count.
        self.assertLess(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, 3.0)
        self.assertLess(used.ru_maxrss, 60 * 1024)  # KiB, the most that any child had so far

    def test_ten_thousand_in_a_file(self):
        self.check(self.write("many.yaml", "".join("---\n" + VM % f"vm-{i:05}" for i in range(10000))))

    def test_ten_thousand_in_a_list(self):
        head = "apiVersion: v1\nkind: List\nitems:\n"
        self.check(self.write("list.yaml", head + "".join("- " + (VM % f"vm-{i:05}").rstrip("\n").replace("\n", "\n  ") + "\n" for i in range(10000))))
        vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}}}
        items = ",".join(json.dumps({**vm, "metadata": {"name": f"vm-{i:05}"}}, indent=4) for i in range(10000))
        self.check(self.write("list.json", '{"apiVersion": "v1", "kind": "List", "items": [' + items + "]}"))

    def test_ten_thousand_files(self):
        for i in range(10000):
            self.write(f"many/{i:05}.yaml", VM % f"vm-{i:05}")
        self.check(os.path.join(self.folder, "many"))


class KubeVirtExamples(unittest.TestCase):
    """VIRTGATE_KUBEVIRT_EXAMPLES names the folder examples/ of the KubeVirt that is followed, which is not kept here. Each refusal is one that virt-api gives."""

    REFUSED = {
        # Without the feature gates Sidecar, HostDisk and HostDevices.
        "vm-cirros-with-sidecar-hook-configmap.yaml": {"META-03"}, "vmi-with-sidecar-hook-configmap.yaml": {"META-03"}, "vmi-with-sidecar-hook.yaml": {"META-03"},
        "vmi-host-disk.yaml": {"HDISK-01"}, "vmi-usb.yaml": {"HDV-01"},
        # They set the memory that their instance type sets.
        "vm-cirros-clarge.yaml": {"CF13"}, "vm-cirros-clarge-virtio.yaml": {"CF13"}, "vm-cirros-clarge-windows.yaml": {"CF13"}, "vm-cirros-cluster-csmall.yaml": {"CF13"},
        "vm-cirros-csmall.yaml": {"CF13"}, "vm-windows-clarge-windows.yaml": {"CF13"},
    }

    @unittest.skipUnless(os.environ.get("VIRTGATE_KUBEVIRT_EXAMPLES"), "VIRTGATE_KUBEVIRT_EXAMPLES is not set")
    def test_what_is_refused(self):
        done = run("check", ".", "-o", "json", cwd=os.environ["VIRTGATE_KUBEVIRT_EXAMPLES"])
        refused = {}
        for finding in json.loads(done.stdout)["findings"]:
            if finding["severity"] == "refused":
                refused.setdefault(os.path.basename(finding["file"]), set()).add(finding["rule"])
        self.assertEqual(refused, self.REFUSED)


class Cluster(e2e.Scratch):
    def test_a_running_server_answers_look_ups_and_says_the_configuration(self):
        server = self.server().start()
        path, kubeconfig = os.path.join(self.folder, "vm.yaml"), os.path.join(self.state, "admin.kubeconfig")
        with open(path, "w") as f:
            f.write(TYPED)
        # A VM may come before its instance type, so the server takes it.
        missing = run("check", path, "--kubeconfig", kubeconfig)
        self.assertEqual(missing.returncode, 0, missing.stdout + missing.stderr)
        self.assertIn("nor in the cluster", missing.stdout)
        small = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype", "metadata": {"name": "small"}, "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}}
        code, _, text = server.ask("POST", "/apis/instancetype.kubevirt.io/v1beta1/namespaces/default/virtualmachineinstancetypes", body=json.dumps(small),
                                   headers=server.as_admin(**{"Content-Type": "application/json"}))
        self.assertEqual(code, 201, text)
        taken = run("check", path, "--kubeconfig", kubeconfig)
        self.assertEqual(taken.returncode, 0, taken.stdout + taken.stderr)
        self.assertIn("0 warnings", taken.stdout)
        server.stop()
        gone = run("check", path, "--kubeconfig", kubeconfig)
        self.assertEqual(gone.returncode, 2, gone.stdout + gone.stderr)


class Render(Folder):
    def test_objects_with_their_defaults(self):
        path = self.write("vm.yaml", VM % "demo")
        done = run("render", path, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        vm = json.loads(done.stdout)
        self.assertEqual(vm["spec"]["template"]["spec"]["architecture"], "amd64")
        self.assertNotIn("uid", vm["metadata"])
        self.assertEqual(run("render", path).stdout, run("render", path).stdout)
        self.assertIn('+ spec.template.spec.architecture: "amd64"\n', run("render", path, "--diff").stdout)
        again = self.write("again.yaml", run("render", path).stdout)
        self.assertEqual(json.loads(run("render", again, "-o", "json").stdout), vm)

    def test_the_instance_of_a_vm(self):
        path = self.write("vm.yaml", TYPED + "---\n" + SMALL)
        done = run("render", "--as", "vmi", path, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        vmi = json.loads(done.stdout)
        self.assertEqual((vmi["kind"], vmi["metadata"]["name"], vmi["metadata"]["namespace"]), ("VirtualMachineInstance", "typed", "default"))
        self.assertEqual(vmi["spec"]["domain"]["cpu"]["sockets"], 2)
        self.assertEqual(vmi["metadata"]["annotations"]["kubevirt.io/instancetype-name"], "small")

    def test_what_is_refused_says_why(self):
        done = run("render", self.write("vm.yaml", VM % "Bad"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("metadata.name", done.stderr)


class Explain(unittest.TestCase):
    def test_every_rule_is_explained(self):
        for rule in json.loads(run("rules", "-o", "json").stdout)[::25]:
            done = run("explain", rule["id"])
            self.assertEqual(done.returncode, 0, rule["id"])
            self.assertIn(rule["id"] + ": ", done.stdout)

    def test_examples_are_shown(self):
        done = run("explain", "WISE-01")
        self.assertIn("\nGood:\n", done.stdout)
        self.assertIn("\nBad:\n", done.stdout)
        near = run("explain", "WISE-1")
        self.assertEqual(near.returncode, 2)
        self.assertIn("did you mean WISE-", near.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
