"""A server with simulated nodes, and what its VMs have come to. Every wait is for an event, with a deadline."""
import json

from support import serve as e2e

DEADLINE_S = 40
NS = "/apis/kubevirt.io/v1/namespaces/default"
VMS, VMIS, MIGRATIONS = (f"{NS}/{kind}" for kind in ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"))
ACTIONS = "/apis/subresources.kubevirt.io/v1/namespaces/default"
QUICK = {"simulated.virtgate.io/boot": "100ms", "simulated.virtgate.io/shutdown": "100ms", "simulated.virtgate.io/migration": "300ms"}
MERGE = {"Content-Type": "application/merge-patch+json"}


class Simulated(e2e.Scratch):
    nodes = 2

    def setUp(self):
        super().setUp()
        self.one = self.run_server()

    def run_server(self):
        return self.server(role=("--node", "simulated", "--nodes", str(self.nodes))).start()

    def ask(self, method, path, body=None, headers=None):
        headers = self.one.as_admin(**{"Content-Type": "application/json", "Accept": "application/json, */*", **(headers or {})})
        code, _, text = self.one.ask_again(method, path, body=None if body is None else json.dumps(body), headers=headers)
        try:
            return code, json.loads(text) if text else None
        except ValueError:
            return code, text

    def good(self, *arguments, **more):
        code, answer = self.ask(*arguments, **more)
        self.assertIn(code, (200, 201, 202), answer)
        return answer

    def vm(self, name, strategy="Always", volumes=(), spec=None, **annotations):
        annotations = {**QUICK, **{f"simulated.virtgate.io/{key.replace('_', '-')}": value for key, value in annotations.items()}}
        return self.good("POST", VMS, {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name},
            "spec": {"runStrategy": strategy, "template": {"metadata": {"annotations": annotations}, "spec": {
                "domain": {"memory": {"guest": "64Mi"}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [{"name": "root", "containerDisk": {"image": "example/disk:1"}}, *volumes], **(spec or {})}}}})

    def get(self, path):
        code, found = self.ask("GET", path)
        return found if code == 200 else None

    def printable(self, name):
        return (self.get(f"{VMS}/{name}") or {}).get("status", {}).get("printableStatus")

    def until_printable(self, name, wanted):
        self.until(f"{name} {wanted}, it is {self.printable(name)}", lambda: self.printable(name) == wanted)

    def conditions(self, path):
        return {one["type"]: one["status"] for one in (self.get(path) or {}).get("status", {}).get("conditions", [])}

    def events(self, name):
        items = self.good("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")["items"]
        return {one["reason"] for one in items}

    def until_told(self, name, reasons):
        self.until(f"events {reasons} of {name}", lambda: reasons <= self.events(name))

    def annotate(self, name, **annotations):
        marks = {f"simulated.virtgate.io/{key}": value for key, value in annotations.items()}
        self.good("PATCH", f"{VMIS}/{name}", {"metadata": {"annotations": marks}}, headers=MERGE)
