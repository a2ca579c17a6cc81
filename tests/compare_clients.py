#!/usr/bin/env python3
"""The same kubectl and virtctl calls against `virtgate serve --api-only` and against a real kube-apiserver with a real virt-api.

Run by hand, it is no part of the suites: the calls of compare_calls.txt are given to both sides, one after the other, and where the
exit code, the reason, a functional phrase or what is shown differ, the call is printed. EXPLAINED holds the differences that are known,
with their reasons. The exit code is 1 when something is unexplained, or when a row there explains nothing any more.

    VIRTGATE_BINARY=... VIRTGATE_KUBE_APISERVER=... VIRTGATE_KUBE_CONTROLLER_MANAGER=... VIRTGATE_ETCD=... VIRTGATE_VIRT_API=... \\
        VIRTGATE_VIRTCTL=... VIRTGATE_KUBECTLS=ONE:OTHER tests/compare_clients.py [--all] [REGULAR EXPRESSION OF GROUPS]

--all prints the explained ones too. Each kubectl gets both sides anew. What one answers is what its API does: of controllers the real
side has the one that aggregates roles, and a stand-in (stand_in_node.py) plays the node for both. Everything listens on the loopback
address.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from support import cluster
from support import kubectl as kubectl_side
from support import real_kube as real
from support import serve as e2e
from support.real_kube import CONTROLLER, NODE, VMIS, VMS, named

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_calls.txt")
PROGRAMS = ("VIRTGATE_BINARY", "VIRTGATE_KUBE_APISERVER", "VIRTGATE_KUBE_CONTROLLER_MANAGER", "VIRTGATE_ETCD", "VIRTGATE_VIRT_API", "VIRTGATE_VIRTCTL",
            "VIRTGATE_KUBECTLS")
CALL_DEADLINE_S = 60
SHOWN_LINES = 30

# (the call, a line that differs, why): regular expressions, of which the second must match as a whole every line of the difference. A row
# explains one difference: what else the same call does differently is unexplained. A row that explains nothing any more is told as well.
OF_KUBEVIRT = "vm|vmi|vmirs|pool|instancetype|clusterinstancetype|preference|clusterpreference|preset|migration|snapshot|restore|clone|export|policy"
NOT_SERVED = r"ours: (exit code 1|phrase the server doesn't have a resource type|reason client)"
EXPLAINED = [
    (rf"^k (create|apply) .*< ({OF_KUBEVIRT})\b|^k patch vm running ", r"ours: phrase [\w.\[\]-]+: (Required value|Invalid value|Unsupported value|Forbidden)",
     "the field is the same; where virt-api has prose, our message names the kind of fault"),
    (r"^k version", r"(ours|real): shown \.serverVersion\.(compiler|gitCommit|gitTreeState|gitVersion|goVersion)=.*", "builds tell their own versions and compilers"),
    (r"^v version$", r"(ours|real): shown Server Version: version\.Info\{GitVersion:\"v1\.9\.0\", .*", "likewise"),
    (r"api-versions", r"ours: shown cdi\.kubevirt\.io/v1beta1", "CDI's kinds are served"),
    (r"api-resources", r"real: shown componentstatuses( cs v1 false ComponentStatus)?", "component statuses are not served"),
    (r"get componentstatuses", NOT_SERVED + r"|real: (a warning|exit code 0|shown (NAME STATUS MESSAGE ERROR|controller-manager|etcd-0|scheduler))",
     "component statuses are not served"),
    (r"get datavolumes", NOT_SERVED.replace("ours", "real") + r"|ours: exit code 0", "CDI's kinds are served"),
    (r"get crd -o name", r"ours: shown customresourcedefinition\.apiextensions\.k8s\.io/\w+\.cdi\.kubevirt\.io", "CDI's kinds are served"),
    (r"get apiservices -o name", r"ours: shown apiservice\.apiregistration\.k8s\.io/v1beta1\.cdi\.kubevirt\.io", "CDI's kinds are served"),
    (r"config view", r"ours: shown default", "our kubeconfig names the namespace"),
    (r"^k auth whoami$", r"ours: shown Username kubernetes-admin|real: shown (Username admin|Extra: authentication\.kubernetes\.io/credential-id \[X509SHA256=\w+\])",
     "the administrators have other names; the hash of a certificate is not told, see COMPATIBILITY.md"),
    (r"^k get (-f )?pod.*-o json|^k run .*-o json", r"real: shown \.spec\.(preemptionPolicy=\"PreemptLowerPriority\"|priority=0|tolerations\[[01]\]\.(effect=\"NoExecute\"|"
     r"key=\"node\.kubernetes\.io/(not-ready|unreachable)\"|operator=\"Exists\"|tolerationSeconds=300))|ours: shown \.spec\.serviceAccount(Name)?=\"default\"",
     "nothing schedules pods; the real side runs without the ServiceAccount plugin"),
    (r"^k describe .*pod", r"real: shown Priority:|ours: shown Service Account:", "likewise"),
    (r"^k get (-f node\.json|node node01) -o json", r"ours: shown \.spec=\{\}|real: shown \.spec\.taints\[0\]\.(effect=\"NoSchedule\"|key=\"node\.kubernetes\.io/not-ready\")",
     "no taint that no controller would take off; see COMPATIBILITY.md"),
    (r"patch svc sv1 .*clusterIP", r"ours: (exit code 0|shown service/sv1 patched)|real: (exit code 1|field spec\.clusterIPs\[0\]|phrase spec\.clusterIPs\[0\]: Invalid value|"
     r"reason Invalid)", "services have no address here, so one may be set"),
    (r"get svc kubernetes -o json", r"(ours|real): shown \.spec\.ports\[0\]\.(port|targetPort)=\d+", "the Service names this server's own port; see COMPATIBILITY.md"),
    (r"get ipaddresses", r"real: shown (NAME PARENTREF|10\.0\.0\.\d+)", "no addresses are given out; see COMPATIBILITY.md"),
    (r"get (validating|mutating)webhookconfigurations", r"real: shown (NAME WEBHOOKS AGE|virt-api)", "the rules of virt-api are built in"),
    (r"^k logs logs$", r"ours: (exit code 1|phrase the server could not find the requested resource|reason (NotFound|server))|real: exit code 0",
     "nothing runs pods, so what nodes do for them is not served"),
    (r"^k (exec|attach|cp) (key\.pub )?logs", r"ours: (phrase the server could not find the requested resource|reason NotFound)|real: reason BadRequest", "likewise"),
    (r"^k debug logs .*--profile", r"ours: (exit code 1|phrase the server could not find the requested resource|reason client)|"
     r"real: (exit code 0|shown Defaulting debug container name to debugger-SUFFIX\.)", "likewise"),
    (r'limits.0.type=""', r"ours: phrase spec\.limits\[0\]\.type: Required value|real: phrase spec\.limits\[0\]\.type: Invalid value", "a type that is missing is said to be required"),
    (r"deployment .spec.selector-", r"real: (field spec\.template\.metadata\.labels|phrase spec\.template\.metadata\.labels: Invalid value)",
     "one cause for one fault: no labels match a selector that is missing"),
    (r"preset.json .*--subresource=status", r"real: a warning", "a kind without that subresource: the path is not served, so nothing is deprecated"),
    (r"removevolume running --volume-name=bogus", r'ours: phrase volume "bogus" not found', "virt-api has words of its own for a volume that is missing"),
    (r"vmiName=bogus", r'ours: phrase virtualmachineinstances\.kubevirt\.io "bogus" not found', "virt-api has words of its own for a VMI that is missing"),
    (r"patch vm running .*kubevirt\.io/v9", r'ours: reason BadRequest|real: (a warning|phrase unknown field "(spec|status)"|reason InternalError)',
     "a bad request, where the real server has an internal error"),
]
# Likewise, of differences that are there only sometimes.
EXPLAINED_AT_TIMES = [
    (r"^k events", r"real: shown (LAST SEEN TYPE REASON OBJECT MESSAGE|AGE Warning IPAddressWrongReference IPAddress/[\d.]+ .*; cleaning up)",
     "an event of the real side's allocator of addresses, when it checks them while a Service is being made"),
    (r"^k get events$", r"real: shown (LAST SEEN TYPE REASON OBJECT MESSAGE|AGE)", "likewise"),
]

# --- documents that calls send
RBAC, APPS = "rbac.authorization.k8s.io/v1", "apps/v1"
POD = {"containers": [{"name": "c", "image": "example/i:1"}]}
PODS = {"metadata": {"labels": {"app": "a"}}, "spec": POD}
SELECTED = {"selector": {"matchLabels": {"app": "a"}}, "template": PODS}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
ROLE_OF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
ZOE = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "zoe"}]
VM_SOURCE = {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "running"}


def of_kubevirt(kind, group, version, **more):
    return named(kind, "a", f"{group}.kubevirt.io/{version}", **more)


DOCUMENTS = {
    "vm": kubectl_side.virtual_machine("a"),
    "vmi": kubectl_side.instance("a"),
    "vmirs": kubectl_side.replica_set("a", 1),
    "pool": kubectl_side.pool("a", 1),
    "instancetype": kubectl_side.instancetype("VirtualMachineInstancetype", "a"),
    "clusterinstancetype": kubectl_side.instancetype("VirtualMachineClusterInstancetype", "a"),
    "preference": of_kubevirt("VirtualMachinePreference", "instancetype", "v1beta1", spec={"cpu": {"preferredCPUTopology": "cores"}}),
    "clusterpreference": of_kubevirt("VirtualMachineClusterPreference", "instancetype", "v1beta1", spec={}),
    "preset": named("VirtualMachineInstancePreset", "a", "kubevirt.io/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "domain": {"devices": {}}}),
    "migration": named("VirtualMachineInstanceMigration", "a", "kubevirt.io/v1", spec={"vmiName": "running"}),
    "snapshot": of_kubevirt("VirtualMachineSnapshot", "snapshot", "v1beta1", spec={"source": VM_SOURCE}),
    "restore": of_kubevirt("VirtualMachineRestore", "snapshot", "v1beta1", spec={"target": VM_SOURCE, "virtualMachineSnapshotName": "a"}),
    "clone": of_kubevirt("VirtualMachineClone", "clone", "v1beta1", spec={"source": VM_SOURCE, "target": {**VM_SOURCE, "name": "copy"}}),
    "export": of_kubevirt("VirtualMachineExport", "export", "v1beta1", spec={"source": VM_SOURCE}),
    "policy": of_kubevirt("MigrationPolicy", "migrations", "v1alpha1", spec={"selectors": {"namespaceSelector": {"a": "b"}}}),
    "cm": kubectl_side.config_map("a", {"k": "v"}),
    "secret": named("Secret", "a", stringData={"k": "v"}),
    "service": kubectl_side.service("a", 80),
    "pod": named("Pod", "a", spec=POD),
    "node": named("Node", "a"),
    "namespace": named("Namespace", "a"),
    "account": named("ServiceAccount", "a"),
    "quota": named("ResourceQuota", "a", spec={"hard": {"services": "100"}}),
    "limits": named("LimitRange", "a", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]}),
    "claim": named("PersistentVolumeClaim", "a", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
    "volume": named("PersistentVolume", "a", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/a"}}),
    "class": named("StorageClass", "a", "storage.k8s.io/v1", provisioner="example.org/p"),
    "priority": named("PriorityClass", "a", "scheduling.k8s.io/v1", value=10),
    "lease": named("Lease", "a", "coordination.k8s.io/v1", spec={"holderIdentity": "x", "leaseDurationSeconds": 10}),
    "role": named("Role", "a", RBAC, rules=RULES),
    "clusterrole": named("ClusterRole", "a", RBAC, rules=RULES),
    "rolebinding": named("RoleBinding", "a", RBAC, roleRef=ROLE_OF, subjects=ZOE),
    "clusterrolebinding": named("ClusterRoleBinding", "a", RBAC, roleRef={**ROLE_OF, "kind": "ClusterRole"}, subjects=ZOE),
    "deployment": named("Deployment", "a", APPS, spec={"replicas": 1, **SELECTED}),
    "replicaset": named("ReplicaSet", "a", APPS, spec={"replicas": 1, **SELECTED}),
    "statefulset": named("StatefulSet", "a", APPS, spec={"serviceName": "a", "replicas": 1, **SELECTED}),
    "daemonset": named("DaemonSet", "a", APPS, spec=SELECTED),
    "job": named("Job", "a", "batch/v1", spec={"template": {"spec": {**POD, "restartPolicy": "Never"}}}),
    "cronjob": named("CronJob", "a", "batch/v1", spec={"schedule": "* * * * *", "jobTemplate": {
        "spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}}),
    "hpa": named("HorizontalPodAutoscaler", "a", "autoscaling/v2", spec={
        "maxReplicas": 3, "scaleTargetRef": {"apiVersion": APPS, "kind": "Deployment", "name": "a"}}),
    "pdb": named("PodDisruptionBudget", "a", "policy/v1", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}),
    "ingress": named("Ingress", "a", "networking.k8s.io/v1", spec={"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}),
    "netpol": named("NetworkPolicy", "a", "networking.k8s.io/v1", spec={"podSelector": {}, "policyTypes": ["Ingress"]}),
    "list": kubectl_side.listed(kubectl_side.config_map("l1", {"k": "v"}), kubectl_side.virtual_machine("l2")),
}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEx4YW1wbGUga2V5IGZvciB0ZXN0cyBvbmx5IDEyMzQ1 a@b\n"


def edited(document, edits):
    """The document with `.path=VALUE` set, where VALUE is JSON or else a string, and `.path-` taken out; numbers in a path are places in a list."""
    document = json.loads(json.dumps(document))
    for edit in edits:
        path, equals, value = edit.partition("=")
        *above, last = path.removesuffix("-" if not equals else "").removeprefix(".").split(".")
        holder = document
        for step in above:
            holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
        last = int(last) if isinstance(holder, list) else last
        if equals:
            with contextlib.suppress(ValueError):
                value = json.loads(value)
            holder[last] = value
        else:
            del holder[last]
    return document


class Call:
    """A line of the table: `k ARGUMENTS` or `v ARGUMENTS`, with `< DOCUMENT[/NAME] EDIT...` where it reads one from its input."""

    def __init__(self, group, line):
        self.group, self.line = group, line
        words = shlex.split(line)
        sent = words.index("<") if "<" in words else len(words)
        self.program, *self.arguments = words[:sent]
        self.stdin = self.document(words[sent + 1:])

    @staticmethod
    def document(words):
        if not words:
            return ""
        name, _, called = words[0].partition("/")
        edits = [f".metadata.name={called}"] if called else []
        return json.dumps(edited(DOCUMENTS[name], edits + words[1:]))


def calls(wanted):
    """Those of the groups that are wanted. A group `## NAME: WORD...` is run once for every word, which takes the place of every %."""
    found = []
    for block in e2e.read(CALLS).split("\n## ")[1:]:
        heading, *lines = block.splitlines()
        group, _, words = heading.partition(":")
        if re.search(wanted, group):
            found += [Call(group, line.replace("%", word) if word else line) for word in words.split() or [""]
                      for line in lines if line and not line.startswith("#")]
    return found


# --- what is compared of an answer
FIELD = r"[\w./\[\]-]+: (?:Required value|Invalid value|Unsupported value|Forbidden|Duplicate value|Not found|Too long|Too many)"
PHRASES = [re.compile(pattern) for pattern in (
    r'[\w.]+ "[^"]*" not found', r'[\w.]+ "[^"]*" already exists', "the object has been modified", "the server could not find the requested resource",
    r'User "[^"]*" cannot \w+ resource "[^"]*" in API group "[^"]*" (?:in the namespace "[^"]*"|at the cluster scope)', "Unauthorized",
    "the server does not allow this method on the requested resource", FIELD, "exceeded quota", "too many requests", r'unknown field "[^"]*"',
    "strict decoding error", "the server doesn't have a resource type")]
REFUSED_FIELD = re.compile(r"^(?:The \S+ (?:\"[^\"]*\" )?is invalid:|\*) ([\w./\[\]-]+):", re.MULTILINE)
REASONS = [(re.compile(pattern, re.MULTILINE), name) for pattern, name in (
    (r"Error from server \((\w+)\)", None), (r'^The \S+ (?:"[^"]*" )?is invalid', "Invalid"), (r"^Error from server", "server"), (r"^error:", "client"))]
VOLATILE_MEMBERS = {"uid", "resourceVersion", "creationTimestamp", "clusterIP", "clusterIPs", "nodePort", "selfLink", "time", "lastTransitionTime",
                    "deletionTimestamp", "token", "expirationTimestamp"}
VOLATILE_TEXT = [(re.compile(pattern), name) for pattern, name in (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"), (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME"), (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"/tmp/[\w./-]+", "PATH"), (r"eyJ[\w.-]+", "TOKEN"), (r"\b(debugger(?:-node01)?)-[a-z0-9]{5}\b", r"\1-SUFFIX"),
    (r"\b(kubevirt-migrate-vm)-[a-z0-9]{5}\b", r"\1-SUFFIX"), (r'resourceVersion: "\d+"', "VERSION"), (r"\b\d+(?:ms|s|m\d+s|m)\b", "AGE"))]


def steady(text):
    for pattern, name in VOLATILE_TEXT:
        text = pattern.sub(name, text)
    return text


def place(number, item):
    """Entries of managed fields go by their owners: their order depends on the second in which they were written."""
    if isinstance(item, dict) and "manager" in item:
        return "/".join((item["manager"], item.get("operation", ""), item.get("subresource", "")))
    return number


def flat(value, path=""):
    """`path=value` of every leaf, but for what every server makes up by itself."""
    if isinstance(value, dict) and value:
        return [line for name, below in value.items() if name not in VOLATILE_MEMBERS for line in flat(below, f"{path}.{name}")]
    if isinstance(value, list) and value:
        return [line for number, below in enumerate(value) for line in flat(below, f"{path}[{place(number, below)}]")]
    return [f"{path}={steady(json.dumps(value))}"]


def left_column(text):
    """Of a description: what is told, without what is told about it."""
    return [match.group().strip() for match in re.finditer(r"^ {0,4}[A-Z][\w. ()-]*:", text, re.MULTILINE)]


def fields_explained(text):
    """Their names, and which are required: kube-apiserver knows no names of the types of foreign kinds."""
    return [" ".join(re.sub("<.*?>", "", match.group()).split()) for match in re.finditer(r"^(?:KIND|VERSION|GROUP|FIELD):.*|^ +\w+\t+<.*", text, re.MULTILINE)]


def shown(call, text):
    """The lines of what a call prints that can be compared: prose is each side's own."""
    if re.search(r"-o[= ]?json\b", call.line):
        with contextlib.suppress(ValueError):
            return flat(json.loads(text))
    if call.arguments[0] in ("describe", "explain"):
        return (left_column if call.arguments[0] == "describe" else fields_explained)(text)
    lines = steady(text).splitlines()
    if call.arguments[0] == "get" and not re.search(r" -o|--output|--raw|--template", call.line):
        return [" ".join(lines[0].split())] + [line.split()[0] for line in lines[1:] if line.strip()] if lines else []
    return [" ".join(line.split()) for line in lines]


class Answer:
    def __init__(self, call, code, out, err):
        self.code, self.err = code, err
        self.lines = {f"exit code {code}"}
        if code:
            found = [(pattern.search(err + out), name) for pattern, name in REASONS]
            self.lines |= {"reason " + (name or match.group(1)) for match, name in found if match}
            self.lines |= {"field " + field for field in REFUSED_FIELD.findall(err)}
            self.lines |= {"phrase " + match.group() for pattern in PHRASES for match in pattern.finditer(err + out)}
        if re.search("^Warning:", err, re.MULTILINE):
            self.lines.add("a warning")
        if not code or call.arguments[0] == "diff":
            self.lines |= {"shown " + line for line in shown(call, out)}


# --- the two sides
class Ours:
    """`virtgate serve --api-only`, with the face of real_kube_e2e_test.Kube."""
    label = "ours"

    def __init__(self, folder, ends):
        self.folder = folder
        pki = os.path.join(folder, "nodes")
        self.node = real.StandInNode(self, folder)
        self.server = e2e.Server(os.path.join(folder, "state"), "--console-server-port", str(self.node.port), "--handler-cert-file", f"{pki}/client.crt",
                                 "--handler-key-file", f"{pki}/client.key", "--guest-networks", "127.0.0.0/8")
        ends.callback(self.server.clean_up)
        self.server.start()
        self.kubeconfig = os.path.join(folder, "state", "admin.kubeconfig")
        self.good("DELETE", "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca")
        ends.callback(self.node.stop)
        self.node.start()

    def good(self, method, path, body=None, headers=None):
        typed = {"Content-Type": "application/json"} if body is not None else {}
        code, _, text = self.server.ask(method, path, body if body is None else json.dumps(body), {**self.server.as_admin(), **typed, **(headers or {})})
        assert code < 300, (method, path, code, text)
        return json.loads(text)

    def made(self, path, document, headers=None):
        return self.good("POST", path, document, headers)

    def patched(self, path, document, headers=None):
        return self.good("PATCH", path, document, {"Content-Type": "application/merge-patch+json", **(headers or {})})


class Theirs(real.Kube):
    """kube-apiserver and etcd, with virt-api registered as KubeVirt's operator does."""
    label = "real"

    def __init__(self, folder, ends):
        super().__init__(folder)
        ends.callback(self.stop)
        self.start()
        self.kubeconfig = os.path.join(folder, "admin.kubeconfig")
        self.write_kubeconfig("admin.kubeconfig", {"client-certificate": f"{folder}/admin.crt", "client-key": f"{folder}/admin.key"})
        self.start_controllers(ends)
        installer = real.Installer(self, folder)
        installer.install()
        self.patched(real.KUBEVIRT, {"spec": {"configuration": {"developerConfiguration": {}}}})  # as the operator ships it
        node = real.StandInNode(self, folder)
        ends.callback(node.stop)
        node.start()
        cluster.make_authority(folder, "serving-ca")
        cluster.make_certificate(folder, "serving-ca", "serving", "virt-api.kubevirt.pod.cluster.local", "serverAuth",
                                 names="DNS:virt-api.kubevirt.svc,IP:127.0.0.1")
        served = os.path.join(folder, "served")  # virt-api reads its certificate anew when anything changes in the folder, logs included
        os.mkdir(served)
        for name in ("serving.crt", "serving.key"):
            shutil.move(os.path.join(folder, name), served)
        port = e2e.free_port()
        program = os.path.join(folder, "virt-api")
        os.symlink(os.environ["VIRTGATE_VIRT_API"], program)  # its name is that of the manager of fields
        virt_api = real.Process(folder, "virt-api", program, "--kubeconfig", f"{folder}/kubeconfig",
                                "--listen", "127.0.0.1", "--port", str(port), "--tls-cert-file", f"{served}/serving.crt",
                                "--tls-key-file", f"{served}/serving.key", "--console-server-port", str(node.port),
                                "--handler-cert-file", f"{node.pki}/client.crt", "--handler-key-file", f"{node.pki}/client.key")
        ends.callback(virt_api.stop)
        virt_api.start()
        cluster.until("virt-api serves", lambda: virt_api.lives() and e2e_answers(port), real.DEADLINE_S)
        installer.register(port)

    def flags(self):
        """Plugins that COMPATIBILITY.md says are not there: they would hold claims, and give pods volumes. It tells others an address, as in
        a cluster, where nobody goes; a loopback address would be refused."""
        other = {"advertise-address": "192.0.2.1", "endpoint-reconciler-type": "lease", "disable-admission-plugins": "ServiceAccount,StorageObjectInUseProtection"}
        return [flag for flag in super().flags() if flag[2:].partition("=")[0] not in other] + [f"--{name}={value}" for name, value in other.items()]

    def start_controllers(self, ends):
        controllers = real.Process(self.folder, "kube-controller-manager", os.environ["VIRTGATE_KUBE_CONTROLLER_MANAGER"], "--kubeconfig", self.kubeconfig,
                                   "--authentication-skip-lookup", "--bind-address=127.0.0.1", f"--secure-port={e2e.free_port()}", f"--cert-dir={self.folder}",
                                   "--leader-elect=false", "--controllers=clusterrole-aggregation-controller")
        ends.callback(controllers.stop)
        controllers.start()
        edits = real.RBAC + "/clusterroles/edit"
        cluster.until("roles are aggregated", lambda: controllers.lives() and self.good("GET", edits).get("rules"), real.DEADLINE_S)


def e2e_answers(port):
    return subprocess.run(["curl", "-skf", f"https://127.0.0.1:{port}/healthz"], capture_output=True).returncode == 0


def make_machines(side):
    """What a controller and a node would have made: a VM that runs, one that is stopped, and a VMI without a VM."""
    made = {name: side.made(VMS, {**kubectl_side.virtual_machine(name), "spec": {**DOCUMENTS["vm"]["spec"], "runStrategy": strategy}})
            for name, strategy in (("running", "Always"), ("stopped", "Halted"), ("manual", "Manual"))}
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "running", "uid": made["running"]["metadata"]["uid"], "controller": True,
             "blockOwnerDeletion": True}
    status = {"phase": "Running", "nodeName": NODE, "interfaces": [{"name": "default", "ipAddress": "127.0.0.1"}], "conditions": [
        {"type": kind, "status": "True"} for kind in ("Ready", "AgentConnected", "LiveMigratable")]}
    for name, more in (("running", {"ownerReferences": [owner]}), ("alone", {})):
        side.made(VMIS, kubectl_side.instance(name, **more), headers=CONTROLLER)
        side.patched(f"{VMIS}/{name}", {"status": status}, CONTROLLER)
    side.patched(f"{VMS}/running/status", {"status": {"created": True, "ready": True, "printableStatus": "Running"}}, CONTROLLER)


class Side:
    """One of the two, and a folder with the documents from which it is asked."""

    def __init__(self, kind, ends):
        self.folder = tempfile.mkdtemp(prefix=f"virtgate-compare-{kind.label}-")
        ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = kind(self.folder, ends)
        make_machines(self.server)
        self.files = os.path.join(self.folder, "files")
        os.mkdir(self.files)
        texts = {name + ".json": json.dumps(document) for name, document in DOCUMENTS.items()}
        texts.update({"key.pub": KEY, "password": "secret", "bad.yaml": "a: [", "empty.yaml": "",
                      "kustomization.yaml": "resources: [cm.json]\nnamePrefix: k-\n", "data.env": "A=1\nB=2\n"})
        for name, text in texts.items():
            with open(os.path.join(self.files, name), "w") as file:
                file.write(text)
        shutil.copy(os.path.join(kubectl_side.SOURCE, "examples", "vm.yaml"), self.files)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.folder, "KUBECONFIG": self.server.kubeconfig, "LC_ALL": "C"}

    def ask(self, call, programs):
        try:
            done = subprocess.run([programs[call.program], *call.arguments], input=call.stdin, capture_output=True, text=True, cwd=self.files, env=self.env,
                                  timeout=CALL_DEADLINE_S)
            return Answer(call, done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired:
            return Answer(call, "none: it did not end", "", "")


def explanation(call, lines):
    """The row of EXPLAINED, if there is one."""
    return next((row for row in EXPLAINED + EXPLAINED_AT_TIMES if re.search(row[0], call.line) and all(re.fullmatch(row[1], line) for line in lines)), None)


def compare(kubectl, wanted, show_all, used):
    """How many calls were equal, explained and unexplained; rows that explain go to `used`."""
    programs = {"k": kubectl, "v": os.environ["VIRTGATE_VIRTCTL"]}
    counts = {"equal": 0, "explained": 0, "unexplained": 0}
    with contextlib.ExitStack() as ends, concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours, theirs = pool.map(lambda kind: Side(kind, ends), (Ours, Theirs))
        for call in calls(wanted):
            here, there = pool.map(lambda side: side.ask(call, programs), (ours, theirs))
            differing = sorted(f"{mark} {line}" for mark, lines in (("ours:", here.lines - there.lines), ("real:", there.lines - here.lines)) for line in lines)
            row = explanation(call, differing) if differing else None
            verdict = "equal" if not differing else "explained" if row else "unexplained"
            counts[verdict] += 1
            if row:
                used.add(row)
            if verdict == "unexplained" or show_all and differing:
                tell(call, verdict, row[2] if row else None, differing, here, there)
    return counts


def tell(call, verdict, why, differing, here, there):
    print(f"{verdict}: [{call.group}] {call.line}" + (f" ({why})" if why else ""))
    for line in differing[:SHOWN_LINES] + [f"... {len(differing) - SHOWN_LINES} more"] * (len(differing) > SHOWN_LINES):
        print("    " + line)
    for label, answer in (("ours", here), ("real", there)):
        for line in answer.err.strip().splitlines()[:3]:
            print(f"    {label} said: {line[:300]}")
    sys.stdout.flush()


def main(arguments):
    missing = [name for name in PROGRAMS if not os.environ.get(name)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} must name programs; nothing is compared with a real kube-apiserver and virt-api")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no process is left behind
    show_all = "--all" in arguments
    wanted = next((argument for argument in arguments if argument != "--all"), "")
    unexplained, used = 0, set()
    for kubectl in os.environ["VIRTGATE_KUBECTLS"].split(":"):
        counts = compare(kubectl, wanted, show_all, used)
        unexplained += counts["unexplained"]
        print(f"kubectl {'.'.join(map(str, kubectl_side.version_of(kubectl)))}: {sum(counts.values())} calls, "
              + ", ".join(f"{number} {name}" for name, number in counts.items()), flush=True)
    unused = [row for row in EXPLAINED if row not in used and not wanted]
    for row in unused:
        print(f"explains nothing any more: {row[0]} ({row[2]})")
    print(f"{len(used)} of {len(EXPLAINED + EXPLAINED_AT_TIMES)} rows explain something")
    return 1 if unexplained or unused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
