#!/usr/bin/env python3
"""Writes the description of Kubernetes' own kinds (schema/*.vgs) from the Go types of a release.

usage: schema_import.py --types FOLDER --out schema NAME...    (NAME: a row of IMPORTS, such as k8s-batch)

FOLDER holds GROUP/VERSION/types.go of k8s.io/api, and apiregistration/v1/types.go of kube-aggregator. Taken from them are
facts alone: names, types, tags, numbers, and the markers that say how lists merge. Descriptions are not taken:
a file that is written already keeps every description that was put into it by hand.
What stands in other files of the schema is not written again.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import schemagen_model  # noqa: E402

# Short names of Go packages in the sources, and what schema/packages.vgs calls them.
GO_PACKAGES = {"core": "k8s", "policy": "policy", "networking": "networking", "discovery": "discovery", "events": "events",
               "certificates": "certificates", "apps": "apps", "batch": "batch", "autoscaling/v1": "autoscaling",
               "autoscaling/v2": "autoscalingv2", "storage": "storage", "node": "node", "resource": "resource",
               "admissionregistration": "admissionregistration", "apiregistration": "apiregistration",
               "flowcontrol": "flowcontrol"}
ALIASES = {"v1": "k8s", "corev1": "k8s", "core": "k8s", "metav1": "meta", "apiv1": "k8s"}
VALUES = {"metav1.Time": "time", "metav1.MicroTime": "microtime", "metav1.Duration": "duration",
          "resource.Quantity": "quantity", "apiresource.Quantity": "quantity", "intstr.IntOrString": "intorstring",
          "runtime.RawExtension": "raw", "types.UID": "string", "types.NodeName": "string", "[]byte": "bytes",
          "metav1.FieldsV1": "fields", "metav1.StatusReason": "string",
          "v1.ResourceList": "{quantity}", "v1.ResourceName": "string"}
GO_SCALARS = {"string", "bool", "int32", "int64", "int", "float64", "uint8", "uint32", "uint64"}


def kind(name, plural, scope="Namespaced", short="", categories="", status=False, scale="", group="", version="v1"):
    return dict(name=name, plural=plural, scope=scope, short=short, categories=categories, status=status, scale=scale,
                version=version)


REPLICAS = ".spec.replicas .status.replicas .spec.selector"

# One row a file: what it is about, the group, and for each Go package the kinds.
IMPORTS = {
    "k8s-core-more": ("Kinds of the core group that controllers and their clients ask for.", "core", [("core/v1", [
        kind("PersistentVolume", "persistentvolumes", "Cluster", "pv", status=True),
        kind("Endpoints", "endpoints", short="ep"),
        kind("LimitRange", "limitranges", short="limits"),
        kind("PodTemplate", "podtemplates"),
        kind("ReplicationController", "replicationcontrollers", short="rc", categories="all", status=True, scale=REPLICAS),
    ])]),
    "k8s-workloads": ("Workloads: pods that are made and replaced by controllers.", "apps", [("apps/v1", [
        kind("Deployment", "deployments", short="deploy", categories="all", status=True, scale=REPLICAS),
        kind("ReplicaSet", "replicasets", short="rs", categories="all", status=True, scale=REPLICAS),
        kind("StatefulSet", "statefulsets", short="sts", categories="all", status=True, scale=REPLICAS),
        kind("DaemonSet", "daemonsets", short="ds", categories="all", status=True),
    ])]),
    "k8s-batch": ("Jobs.", "batch", [("batch/v1", [
        kind("Job", "jobs", categories="all", status=True),
        kind("CronJob", "cronjobs", short="cj", categories="all", status=True),
    ])]),
    "k8s-autoscaling": ("Autoscalers: v2 is kept, v1 is the same in an older form.", "autoscaling", [
        ("autoscaling/v2", [kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", short="hpa", categories="all",
                                 status=True, version="v2")]),
        ("autoscaling/v1", [kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", short="hpa", categories="all",
                                 status=True)]),
    ]),
    "k8s-disruption": ("Disruption budgets.", "policy", [("policy/v1", [
        kind("PodDisruptionBudget", "poddisruptionbudgets", short="pdb", status=True)])]),
    "k8s-networking": ("Ways into the cluster and between pods.", "networking.k8s.io", [("networking/v1", [
        kind("Ingress", "ingresses", short="ing", status=True),
        kind("IngressClass", "ingressclasses", "Cluster"),
        kind("NetworkPolicy", "networkpolicies", short="netpol"),
        kind("IPAddress", "ipaddresses", "Cluster", "ip"),
        kind("ServiceCIDR", "servicecidrs", "Cluster", status=True),
    ])]),
    "k8s-discovery": ("Endpoints of services, in slices.", "discovery.k8s.io", [("discovery/v1", [
        kind("EndpointSlice", "endpointslices")])]),
    "k8s-events": ("Events in their newer form; they are the events of the core group.", "events.k8s.io", [
        ("events/v1", [kind("Event", "events", short="ev")])]),
    "k8s-certificates": ("Requests for certificates.", "certificates.k8s.io", [("certificates/v1", [
        kind("CertificateSigningRequest", "certificatesigningrequests", "Cluster", "csr", status=True)])]),
    "k8s-storage-more": ("What drivers of storage and the cluster tell each other.", "storage.k8s.io", [("storage/v1", [
        kind("VolumeAttachment", "volumeattachments", "Cluster", status=True),
        kind("CSIDriver", "csidrivers", "Cluster"),
        kind("CSINode", "csinodes", "Cluster"),
        kind("CSIStorageCapacity", "csistoragecapacities"),
        kind("VolumeAttributesClass", "volumeattributesclasses", "Cluster", "vac"),
    ])]),
    "k8s-node": ("Runtime classes.", "node.k8s.io", [("node/v1", [
        kind("RuntimeClass", "runtimeclasses", "Cluster")])]),
    "k8s-resource": ("Devices that are asked for by claims.", "resource.k8s.io", [("resource/v1", [
        kind("ResourceClaim", "resourceclaims", status=True),
        kind("ResourceClaimTemplate", "resourceclaimtemplates"),
        kind("DeviceClass", "deviceclasses", "Cluster"),
        kind("ResourceSlice", "resourceslices", "Cluster"),
    ])]),
    "k8s-webhooks": ("Registrations of webhooks and admission policies.", "admissionregistration.k8s.io", [
        ("admissionregistration/v1", [
            kind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "Cluster", categories="api-extensions"),
            kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "Cluster", categories="api-extensions",
                 status=True),
            kind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "Cluster",
                 categories="api-extensions"),
            kind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "Cluster",
                 categories="api-extensions"),
        ])]),
    "k8s-flowcontrol": ("Priority and fairness of requests.", "flowcontrol.apiserver.k8s.io", [("flowcontrol/v1", [
        kind("FlowSchema", "flowschemas", "Cluster", status=True),
        kind("PriorityLevelConfiguration", "prioritylevelconfigurations", "Cluster", status=True),
    ])]),
    "k8s-apiservices": ("What this server serves, as an aggregator tells it.", "apiregistration.k8s.io", [
        ("apiregistration/v1", [kind("APIService", "apiservices", "Cluster", categories="api-extensions", status=True)])]),
}


class GoFile:
    """The structs and named types of a types.go."""

    def __init__(self, path, package):
        self.package, self.structs, self.named = package, {}, {}
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        comments, struct = [], None
        for line in lines:
            text = line.strip()
            if text.startswith("//"):
                comments.append(text[2:].strip())
                continue
            if struct is not None:
                if text == "}":
                    struct = None
                elif text:
                    struct.append((text, comments))
                comments = []
                continue
            match = re.match(r"(?:type )?([A-Z]\w*) struct \{(\})?$", text)
            named = re.match(r"type ([A-Z]\w*) ([^ {]+)$", text)
            if match:
                fields = []
                self.structs[match.group(1)] = (fields, comments)
                struct = None if match.group(2) else fields
            elif named:
                self.named[named.group(1)] = named.group(2)
            if text:
                comments = []
            elif comments and not any(comment.startswith("+") for comment in comments):
                comments = []


def markers(comments):
    found = {}
    for comment in comments:
        match = re.match(r"\+([A-Za-z:]+)(?:=(.*))?$", comment)
        if match:
            found.setdefault(match.group(1), []).append((match.group(2) or "").strip())
    return found


class Importer:
    def __init__(self, folder, known):
        self.folder, self.known, self.files, self.wanted = folder, known, {}, []

    def file(self, package):
        if package not in self.files:
            path = [go for go, ours in GO_PACKAGES.items() if ours == package][0]
            path = path if "/" in path else path + "/v1"
            self.files[package] = GoFile(os.path.join(self.folder, path, "types.go"), package)
        return self.files[package]

    def type_text(self, go, package):
        """Our notation of a Go type; structs that are met are wanted."""
        if go in VALUES:
            return VALUES[go]
        if go.startswith("*"):
            return "*" + self.type_text(go[1:], package)
        if go.startswith("[]"):
            return "[" + self.type_text(go[2:], package) + "]"
        if go.startswith("map["):
            return "{" + self.type_text(go[go.index("]") + 1:], package) + "}"
        if go in GO_SCALARS:
            return go
        alias, _, name = go.rpartition(".")
        home = package
        if alias:
            home = ALIASES.get(alias) or GO_PACKAGES.get(alias)
            if alias == "v1" and package == "k8s":
                home = "k8s"
            if not home:
                raise SystemExit("no package is known for %s" % go)
        if home == "meta":
            return "meta." + name
        source = self.file(home)
        if name in source.named:
            return self.type_text(source.named[name], home)
        if name not in source.structs:
            raise SystemExit("%s: no type %s in %s" % (package, name, home))
        if (home, name) not in self.wanted:
            self.wanted.append((home, name))
        return name if home == package else home + "." + name

    def field_line(self, text, comments, package):
        text = re.sub(r"\s+//.*$", "", text)
        match = re.match(r"((?:\w+,? )*?)?([\w.*\[\]]+)\s+`(.*)`$", text)
        if not match:
            raise SystemExit("cannot read the field %r" % text)
        go, tags = match.group(2), dict(re.findall(r'(\w+):"([^"]*)"', match.group(3)))
        name, *options = tags["json"].split(",")
        if name == "-":
            return None
        number = re.match(r"\w+,(\d+)", tags.get("protobuf", ""))
        number = " @" + number.group(1) if number else ""
        if not name:
            if go == "metav1.TypeMeta":
                return "  + meta.TypeMeta"
            return "  + %s%s" % (self.type_text(go, package), number)
        said = markers(comments)
        omits = "omitempty" in options or "omitzero" in options
        words = []
        if "omitzero" in options:
            words.append("omitzero")
        if not omits and "optional" in said:
            words.append("optional")
        if omits and "required" in said:
            words.append("required")
        list_type = (said.get("listType") or [""])[0]
        if list_type == "map":
            words.append("keys(%s)" % ",".join(said["listMapKey"]))
        elif list_type:
            words.append(list_type)
        if said.get("mapType") == ["atomic"] or said.get("structType") == ["atomic"]:
            words.append("map-atomic")
        strategy = tags.get("patchStrategy", "").split(",")
        if "merge" in strategy:
            key = tags.get("patchMergeKey")
            words.append("merge(%s)" % key if key else "merge")
        if "replace" in strategy:
            words.append("replace")
        if "default" in said and said["default"][0]:
            words.append("api-default(%s)" % said["default"][0])
        return "  %s%s: %s%s%s" % (name, "?" if omits else "", self.type_text(go, package), number,
                                   "  " + " ".join(words) if words else "")

    def struct_lines(self, package, name):
        fields, comments = self.file(package).structs[name]
        said = markers(comments)
        atomic = " map-atomic" if said.get("structType") == ["atomic"] or said.get("mapType") == ["atomic"] else ""
        lines = ["type %s%s" % (name, atomic)]
        for text, field_comments in fields:
            line = self.field_line(text, field_comments, package)
            if line:
                lines.append(line)
        return lines


def kind_lines(row, group):
    lines = ["kind %s in %s" % (row["name"], group), "  plural " + row["plural"], "  singular " + row["name"].lower()]
    for word in ("short", "categories"):
        if row[word]:
            lines.append("  %s %s" % (word, row[word]))
    lines += ["  scope " + row["scope"], "  builtin", "  version %s storage" % row["version"]]
    if row["status"]:
        lines.append("  status")
    if row["scale"]:
        lines.append("  scale " + row["scale"])
    return lines


def descriptions_of(path):
    """What was written by hand into a file before: {(package, type, field or None): lines}."""
    found, package, name, field = {}, "", "", None
    if not os.path.exists(path):
        return found
    with open(path, encoding="utf-8") as file:
        for line in file:
            text = line.rstrip()
            words = text.split()
            if text.startswith("in "):
                package = words[1]
            elif text.startswith(("type ", "kind ")):
                name, field = words[1], None
            elif text.strip().startswith('"'):
                found.setdefault((package, name, field), []).append(text)
            elif re.match(r"  [^ +]\S*:", text):
                field = words[0].rstrip("?:")
    return found


def write_file(importer, name, out):
    title, group, parts = IMPORTS[name]
    path = os.path.join(out, name + ".vgs")
    kept = descriptions_of(path)
    lines = ["# " + title]
    for go_package, kinds in parts:
        package = GO_PACKAGES.get(go_package) or GO_PACKAGES[go_package.split("/")[0]]
        lines += ["in " + package, ""]
        for row in kinds:
            lines += kind_lines(row, group) + [""]
        importer.wanted = [(package, row["name"]) for row in kinds]
        done, here = set(), package
        while importer.wanted:
            home, struct = importer.wanted.pop(0)
            if (home, struct) in done or "%s.%s" % (home, struct) in importer.known:
                continue
            done.add((home, struct))
            importer.known.add("%s.%s" % (home, struct))
            if home != here:
                lines += ["in " + home, ""]
                here = home
            written = importer.struct_lines(home, struct)
            lines.append(written[0])
            lines += kept.get((home, struct, None), [])
            for line in written[1:]:
                lines.append(line)
                lines += kept.get((home, struct, line.split()[0].rstrip("?:")), [])
            lines.append("")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", required=True, help="folder with GROUP/VERSION/types.go")
    parser.add_argument("--out", required=True, help="folder of the schema")
    parser.add_argument("names", nargs="*", default=list(IMPORTS))
    options = parser.parse_args(arguments)
    names = options.names or list(IMPORTS)
    others = [os.path.join(options.out, name) for name in sorted(os.listdir(options.out))
              if name.endswith(".vgs") and name[:-4] not in names]
    reader = schemagen_model.Reader()
    for path in others:
        reader.read_packages(path)
    for path in others:
        reader.read_file(path)
    importer = Importer(options.types, set(reader.model.types))
    for name in names:
        write_file(importer, name, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
