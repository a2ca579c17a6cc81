"""virtgate render --as domain, as its users call it: every recorded conversion, libvirt's own schema, and what is refused."""
import concurrent.futures
import json
import lzma
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BINARY = os.environ["VIRTGATE_BINARY"]
SOURCE = os.environ["VIRTGATE_SOURCE_DIR"]
RECORDING = os.path.join(SOURCE, "tests/conformance/domains.jsonl.xz")
SCHEMA = "/usr/share/libvirt/schemas/domain.rng"  # what virt-xml-validate gives to xmllint
DEADLINE_S = 30
VMI = {
    "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "demo", "namespace": "default", "uid": "u"},
    "spec": {"domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "1Gi"}},
             "volumes": [{"name": "root", "containerDisk": {"image": "i"}}]}}
YAML = """
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: demo, namespace: default}
spec:
  domain: {devices: {}, memory: {guest: 64Mi}}
"""


def render(*arguments, stdin=""):
    return subprocess.run([BINARY, "render", *arguments], input=stdin, capture_output=True, text=True, timeout=DEADLINE_S)


def render_case(case):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vmi", "context"):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
                json.dump(case[name], file)
        return render("--as", "domain", "--context", f"{folder}/context.json", f"{folder}/vmi.json").stdout


def without(root, path, attribute=None, when=lambda element: True):
    """Takes elements, or one attribute of them, out of the document; says how many there were."""
    parents = {child: parent for parent in root.iter() for child in parent}
    found = [e for e in root.findall(path) if when(e) and (attribute is None or attribute in e.attrib)]
    for element in found:
        if attribute:
            del element.attrib[attribute]
        else:
            parents[element].remove(element)
    return len(found)


def changed(root, path, change):
    found = root.findall(path)
    return sum(change(element) for element in found)


def written_mac(mac):
    """Before a guest starts, the address is replaced by one in libvirt's own form (DOM-TAP-01)."""
    other = mac.get("address").replace("-", ":").lower()
    differs = other != mac.get("address")
    mac.set("address", other)
    return differs


def default_policy(feature):
    differs = "policy" not in feature.attrib
    feature.attrib.setdefault("policy", "require")
    return differs


# What the schema does not take, with the reason. All of it is what KubeVirt writes; libvirt itself reads it.
KUBEVIRT = {
    "empty groups of sysinfo": lambda r: without(r, "sysinfo/*", when=lambda e: len(e) == 0),
    "name of a block device's source": lambda r: without(r, ".//source[@dev]", "name"),
    "a CPU feature without policy": lambda r: changed(r, "cpu/feature", default_policy),
    "accessMode, which libvirt spells accessmode": lambda r: without(r, "devices/filesystem", "accessMode"),
    "an empty dir beside a socket": lambda r: without(r, "devices/filesystem/source", "dir", lambda e: e.get("dir") == ""),
    "a MAC address as users write it": lambda r: changed(r, "devices/interface/mac", written_mac),
    "an interface without attachment": lambda r: without(r, "devices/interface", when=lambda e: e.get("type") == ""),
}
# What libvirt 9.0, which Debian 12 has, does not know yet.
TOO_OLD = {
    "passt over vhost-user": lambda r: without(r, "devices/interface", when=lambda e: e.get("type") == "vhostuser"),
    "panic model pvpanic": lambda r: without(r, "devices/panic", when=lambda e: e.get("model") == "pvpanic"),
    "direct and extended TLB flushes": lambda r: without(r, "features/hyperv/tlbflush/*"),
    "launch security sev-snp and tdx": lambda r: without(r, "launchSecurity", when=lambda e: e.get("type") != "sev"),
    "discard_granularity": lambda r: without(r, "devices/disk/blockio", "discard_granularity"),
    "several IO threads of a disk": lambda r: without(r, "devices/disk/driver/iothreads"),
    "migration of reservations": lambda r: without(r, "devices/disk/source/reservations", "migration"),
}


class Render(unittest.TestCase):
    def test_every_recorded_conversion(self):
        conform = os.path.join(SOURCE, "tests/conformance/conform.py")
        done = subprocess.run([sys.executable, conform, "domains", "--program", BINARY, "--at-least", "1.0", RECORDING], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(os.path.exists(SCHEMA) and shutil.which("xmllint"), "libvirt's schemas or xmllint are not installed")
    def test_libvirt_accepts_what_amd64_gets(self):
        with lzma.open(RECORDING, "rt", encoding="utf-8") as file:
            cases = [case for case in map(json.loads, file) if case["vmi"]["spec"]["architecture"] == "amd64" and "xml" in case["expect"]]
        self.assertGreater(len(cases), 800)
        xml.etree.ElementTree.register_namespace("qemu", "http://libvirt.org/schemas/domain/qemu/1.0")
        used = dict.fromkeys([*KUBEVIRT, *TOO_OLD], 0)
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
            names = []
            for case, text in zip(cases, pool.map(render_case, cases)):
                root = xml.etree.ElementTree.fromstring(text)
                for name, adapt in {**KUBEVIRT, **TOO_OLD}.items():
                    used[name] += adapt(root)
                names.append(f"{case['id']}.xml")
                xml.etree.ElementTree.ElementTree(root).write(os.path.join(folder, names[-1]))
            done = subprocess.run(["xmllint", "--noout", "--relaxng", SCHEMA, *names], cwd=folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual([name for name, count in used.items() if count == 0], [], "these explain nothing any more")

    def test_reads_yaml_and_standard_input(self):
        done = render("--as", "domain", "-", stdin=YAML)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        root = xml.etree.ElementTree.fromstring(done.stdout)
        self.assertEqual((root.findtext("name"), root.findtext("memory")), ("default_demo", str(64 << 20)))
        self.assertEqual(render("--as", "domain", "-", stdin=json.dumps(VMI)).returncode, 0)

    def test_a_vm_has_the_domain_of_its_vmi(self):
        with tempfile.TemporaryDirectory() as folder:
            vm, types = os.path.join(folder, "vm.yaml"), os.path.join(folder, "types.yaml")
            with open(types, "w", encoding="utf-8") as file:
                file.write("apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: small}\nspec: {cpu: {guest: 2}, memory: {guest: 1Gi}}\n")
            with open(vm, "w", encoding="utf-8") as file:
                file.write("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: demo}\nspec:\n  runStrategy: Always\n  instancetype: {name: small, kind: VirtualMachineInstancetype}\n"
                           "  template: {spec: {domain: {devices: {}}}}\n")
            done = render("--as", "domain", vm, "--with", types)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            vmi = render("--as", "vmi", vm, "--with", types).stdout
            self.assertEqual(done.stdout, render("--as", "domain", "-", stdin=vmi).stdout)
            self.assertEqual(xml.etree.ElementTree.fromstring(done.stdout).findtext("vcpu"), "8")  # 2, and room for what may be plugged in
            with open(types, encoding="utf-8") as more, open(vm, encoding="utf-8") as first:
                both = first.read() + "---\n" + more.read()
            self.assertEqual(render("--as", "domain", "-", stdin=both).stdout, done.stdout)

    def test_says_what_it_does_not_take(self):
        vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "Demo"}, "spec": {"runStrategy": "Always", "template": {"spec": VMI["spec"]}}}
        disk = json.loads(json.dumps(VMI))
        disk["spec"]["volumes"] = []
        for text, told in (
            (json.dumps(vm), "VirtualMachine default/Demo is refused"),
            (json.dumps({"kind": "Pod", "apiVersion": "v1"}), "kind must be VirtualMachine or VirtualMachineInstance of kubevirt.io/v1, not \"Pod\" of \"v1\""),
            (json.dumps(disk), "spec.domain.devices.disks[0].name: Invalid value: \"root\": spec.volumes has no volume of this name"),
            ("{", "-: "), ("a: [", "-: "), ("[]", "kind must be VirtualMachine or"),
            ("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n", "there is no VM or VMI in it"),
        ):
            done = render("--as", "domain", "-", stdin=text)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)
            self.assertIn(told, done.stderr)
        self.assertIn("/nowhere", render("--as", "domain", "/nowhere").stderr)
        for arguments, told in ((("--as", "domain", "x", "y"), "--as domain takes one file"), (("--as", "pod", "x"), "--as must be one of object, vmi, domain, not \"pod\""), (("--as", "domain"), "FILE")):
            done = render(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(told, done.stderr)

    def test_a_context_with_a_mistake_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "context.yaml")
            for text, told in (("kvm: maybe", "kvm of the context must be true or false"), ("kmv: true", "unknown member \"kmv\" of the context"), ("{", path)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                done = render("--as", "domain", "--context", path, "-", stdin=json.dumps(VMI))
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(told, done.stderr)
            with open(path, "w", encoding="utf-8") as file:
                file.write("kvm: false\ncpuSet: [1, 2]\n")
            self.assertIn('<domain type="qemu"', render("--as", "domain", "--context", path, "-", stdin=json.dumps(VMI)).stdout)

    def test_hostile_objects_cost_little(self):
        many = json.loads(json.dumps(VMI))
        many["spec"]["domain"]["devices"]["disks"] = [{"name": f"d{i}", "disk": {"bus": "virtio"}} for i in range(20000)]
        many["spec"]["volumes"] = [{"name": f"d{i}", "emptyDisk": {"capacity": "1"}} for i in range(20000)]
        wide = json.loads(json.dumps(VMI))
        wide["spec"]["domain"]["cpu"] = {"maxSockets": 4294967295, "cores": 65535, "threads": 3}
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for vmi, code in ((many, 0), (wide, 1)):
            done = render("--as", "domain", "-", stdin=json.dumps(vmi))
            self.assertEqual(done.returncode, code, done.stderr[:300])
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began, 20)  # with sanitizers too


if __name__ == "__main__":
    unittest.main(verbosity=2)
