#!/usr/bin/env python3
"""Bodies of every kind at their size limit: each is answered soon, and nobody else waits for it.

A body is one shape (a long list, many members, deep nesting, one long name above many small ones, duplicates, unknown
fields, mistakes) in one kind of request. Whether a body is taken or refused does not matter here, only that it is
answered at once and by the server's own choice: never with a 5xx, and never by keeping others waiting.

VIRTGATE_BODIES=NAME asks only bodies whose name contains NAME and prints what each took.
"""
# RUN_SERIAL: it measures how long others wait.
import contextlib
import http.client
import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LONG, SANITIZED, Attack, Bystander  # noqa: E402
from support.serve import WEBHOOKS, review  # noqa: E402

OBJECT_BYTES = 3 * 1024 * 1024 - 1024
STORED_BYTES = 1400 * 1024
REVIEW_BYTES = 8 * 1024 * 1024 - 4096
# What a sanitizer adds is not what is measured. What a slow or busy machine adds is found out beside each measurement
# (Slowness): times are divided by it before they are held to these.
FACTOR = 20 if SANITIZED else 1
ANSWER_S = 0.250 * FACTOR
OTHERS_S = 0.050 * FACTOR
# A body that took too long is asked again, and its best counts: somebody who used the machine for a moment is not what
# is measured, and a body that is dear is dear every time.
ASKED_MAX = 3
ONLY = os.environ.get("VIRTGATE_BODIES", "")
# Of creates and reviews, without VIRTGATE_LONG: the dearest, and one of each kind. Changes are always asked whole.
IN_SHORT = {"create-" + name for name in (
    "vm-labels-wrong", "vm-finalizers", "vm-finalizers-same", "vm-managed-fields", "vm-unknown", "vm-disks-volumes", "vm-interfaces", "vm-ports",
    "vm-templates", "vm-requests", "vm-claims", "vm-deep", "configmap-data", "secret-data", "service-ports", "pod-containers", "json-duplicates",
    "json-below-long-name", "json-below-long-names", "json-brackets", "yaml-lines", "yaml-flow", "yaml-nested-anchors", "yaml-aliases",
    "protobuf-data", "ClusterRole-rules", "ClusterRole-product", "ClusterRole-gathered", "ClusterRoleBinding-subjects")}
IN_SHORT |= {"sar-groups", "sar-extra", "sar-selector", "review/virtualmachines-mutate-disks-volumes", "review/plugin-validate-cel-or"}
IN_SHORT |= {"review/virtualmachineinstances-validate-create-" + name for name in ("disks-volumes", "interfaces", "claims", "unknown")}


def asked(name):
    return ONLY in name and (LONG or ONLY != "" or name in IN_SHORT)

CORE = "/api/v1/namespaces/default"
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


def dumps(value):
    return json.dumps(value, separators=(",", ":"))


def fill(size, make):
    """make(0), make(1), ... as many as surely fit into so many bytes of JSON."""
    return [make(i) for i in range(size // (len(dumps(make(10**6))) + 1))]


def members(size, key="k{:06d}", value="v"):
    one = len(dumps({key.format(10**6): value})) - 1
    return {key.format(i): value for i in range(size // one)}


def nest(depth, inner, key="a"):
    for _ in range(depth):
        inner = {key: inner}
    return inner


def vm(name="attack", **spec):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "default"},
            "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {
                "devices": {}, "memory": {"guest": "64Mi"}}}}, **spec}}


def vm_with(devices=None, **template):
    made = vm()
    made["spec"]["template"]["spec"].update(template)
    made["spec"]["template"]["spec"]["domain"]["devices"].update(devices or {})
    return made


def with_metadata(made, **metadata):
    made["metadata"].update(metadata)
    return made


def config_map(name="attack", data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}, "data": data or {}}


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "attack", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def owner(i):
    return {"apiVersion": "v1", "kind": "Pod", "name": f"p{i}", "uid": f"{i}"}


def notes(size, fields=3):
    return fill(size, lambda i: {"manager": f"m{i}", "operation": "Update", "apiVersion": "kubevirt.io/v1", "fieldsType": "FieldsV1",
                                 "fieldsV1": {"f:metadata": {"f:labels": {f"f:l{i}-{j}": {} for j in range(fields)}}}})


def metadata_shapes(size):
    """What every object has."""
    yield "labels", lambda: {"labels": members(size)}
    yield "labels-wrong", lambda: {"labels": members(size, "-k{:06d}", "-v-")}
    yield "annotations", lambda: {"annotations": members(size)}
    yield "finalizers", lambda: {"finalizers": fill(size, lambda i: f"a/{i}")}
    yield "finalizers-bare", lambda: {"finalizers": fill(size, lambda i: f"f{i}")}
    yield "finalizers-same", lambda: {"finalizers": fill(size, lambda i: "a/b")}
    yield "owners", lambda: {"ownerReferences": fill(size, owner)}
    yield "owners-same", lambda: {"ownerReferences": fill(size, lambda i: owner(0))}
    yield "managed-fields", lambda: {"managedFields": notes(size)}
    yield "unknown", lambda: members(size)
    yield "name-long", lambda: {"name": "a" * size}


def vm_shapes(size):
    for name, metadata in metadata_shapes(size):
        yield name, lambda made=metadata: with_metadata(vm(), **made())
    yield "disks", lambda: vm_with({"disks": fill(size, lambda i: {"name": f"d{i}"})})
    yield "disks-same", lambda: vm_with({"disks": fill(size, lambda i: {"name": "d"})})
    half = size // 2
    yield "disks-volumes", lambda: vm_with({"disks": fill(half, lambda i: {"name": f"d{i}"})},
                                   volumes=fill(half, lambda i: {"name": f"d{i}", "emptyDisk": {"capacity": "1Gi"}}))
    yield "disks-boot", lambda: vm_with({"disks": fill(half, lambda i: {"name": f"d{i}", "bootOrder": i + 1})},
                                volumes=fill(half, lambda i: {"name": f"d{i}", "containerDisk": {"image": "x"}}))
    yield "interfaces", lambda: vm_with({"interfaces": fill(half, lambda i: {"name": f"n{i}", "bridge": {}})},
                                networks=fill(half, lambda i: {"name": f"n{i}", "multus": {"networkName": f"x{i}"}}))
    yield "ports", lambda: vm_with({"interfaces": [{"name": "default", "masquerade": {}, "ports": fill(size, lambda i: {"name": f"p{i}", "port": 1 + i % 65535})}]},
                           networks=[{"name": "default", "pod": {}}])
    yield "gpus", lambda: vm_with({"gpus": fill(size, lambda i: {"name": f"g{i}", "deviceName": "x/y"})})
    yield "filesystems", lambda: vm_with({"filesystems": fill(size, lambda i: {"name": f"f{i}", "virtiofs": {}})})
    yield "templates", lambda: vm(dataVolumeTemplates=fill(size, lambda i: {"metadata": {"name": f"t{i}"}, "spec": {"source": {"blank": {}}, "storage": {}}}))
    yield "templates-volumes", lambda: vm(
        dataVolumeTemplates=fill(half, lambda i: {"metadata": {"name": f"t{i}"}, "spec": {}}),
        template={"spec": {"domain": {"devices": {}}, "volumes": fill(half, lambda i: {"name": f"v{i}", "dataVolume": {"name": f"t{i}"}})}})
    yield "credentials", lambda: vm_with(accessCredentials=fill(size, lambda i: {"userPassword": {"source": {"secret": {"secretName": f"s{i}"}}, "propagationMethod": {"qemuGuestAgent": {}}}}))
    yield "cpu-features", lambda: vm() | {"spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {
        "devices": {}, "cpu": {"features": fill(size, lambda i: {"name": f"f{i}"})}}}}}}
    yield "requests", lambda: vm() | {"spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {
        "devices": {}, "resources": {"requests": members(size, "r{}", "1e3")}}}}}}
    yield "selector", lambda: vm_with(nodeSelector=members(size))
    yield "affinity", lambda: vm_with(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fill(
        size, lambda i: {"matchExpressions": [{"key": f"k{i}", "operator": "In", "values": ["a"]}]})}}})
    yield "tolerations", lambda: vm_with(tolerations=fill(size, lambda i: {"key": f"k{i}", "operator": "Exists"}))
    yield "unknown-spec", lambda: vm(**members(size))
    yield "deep", lambda: vm(**{"x": nest(120, members(size - 2000))})
    yield "long-text", lambda: vm(**{"instancetype": {"name": "n" * size}})
    yield "claims", lambda: vm_with(resourceClaims=fill(size, lambda i: {"name": f"c{i}"}))
    yield "wrong-types", lambda: vm_with({"disks": fill(size, lambda i: {"name": 1, "bootOrder": "x"})})


def plain_shapes(size):
    """Of Kubernetes' own kinds."""
    for name, metadata in metadata_shapes(size):
        yield "configmap-" + name, "configmaps", config_map(**metadata())
    yield "configmap-data", "configmaps", config_map(data=members(size))
    yield "configmap-wrong-keys", "configmaps", config_map(data=members(size, "k {:06d}"))
    yield "configmap-one", "configmaps", config_map(data={"k": "x" * size})
    yield "secret-data", "secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "attack"}, "data": members(size, value="dg==")}
    yield "secret-text", "secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "attack"}, "stringData": members(size)}
    yield "service-ports", "services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "attack"}, "spec": {"ports": fill(
        size, lambda i: {"name": f"p{i}", "port": 1 + i % 65535})}}
    yield "pod-containers", "pods", pod(containers=fill(size, lambda i: {"name": f"c{i}", "image": "i"}))
    yield "pod-volumes", "pods", pod(volumes=fill(size, lambda i: {"name": f"v{i}", "emptyDir": {}}))
    yield "pod-env", "pods", pod(containers=[{"name": "c", "image": "i", "env": fill(size, lambda i: {"name": f"E{i}", "value": "v"})}])
    yield "quota", "resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "attack"}, "spec": {"hard": members(size, "r{}", "1e3")}}
    yield "account-secrets", "serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "attack"}, "secrets": fill(
        size, lambda i: {"name": f"s{i}"})}
    yield "claim", "persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "attack"}, "spec": {
        "accessModes": fill(size, lambda i: f"m{i}"), "resources": {"requests": {"storage": "1Gi"}}}}


def rule(i, **more):
    return {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [f"n{i}"], **more}


def role_shapes(size):
    meta = {"name": "attack"}
    for kind, plural in (("ClusterRole", f"{RBAC}/clusterroles"), ("Role", f"{RBAC}/namespaces/default/roles")):
        base = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta}
        yield f"{kind}-rules", plural, {**base, "rules": fill(size, rule)}
        yield f"{kind}-names", plural, {**base, "rules": [rule(0, resourceNames=fill(size, lambda i: f"n{i}"))]}
        yield f"{kind}-product", plural, {**base, "rules": [{"verbs": fill(size // 4, lambda i: f"v{i}"), "apiGroups": fill(size // 4, lambda i: f"g{i}"),
                                                             "resources": fill(size // 4, lambda i: f"r{i}"), "resourceNames": fill(size // 4, lambda i: f"n{i}")}]}
        yield f"{kind}-gathered", plural, {**base, "metadata": {"name": "attack", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                                           "rules": fill(size, rule)}
        if kind == "ClusterRole":
            yield f"{kind}-paths", plural, {**base, "rules": [{"verbs": ["get"], "nonResourceURLs": fill(size, lambda i: f"/p{i}*")}]}
            yield f"{kind}-selectors", plural, {**base, "aggregationRule": {"clusterRoleSelectors": fill(size, lambda i: {"matchLabels": {f"k{i}": "v"}})}}
    subjects = fill(size, lambda i: {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": f"u{i}"})
    for kind, plural in (("ClusterRoleBinding", f"{RBAC}/clusterrolebindings"), ("RoleBinding", f"{RBAC}/namespaces/default/rolebindings")):
        yield f"{kind}-subjects", plural, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "subjects": subjects,
                                           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}


def review_bodies(size):
    base = {"apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    path = "/apis/authorization.k8s.io/v1"
    attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
    yield "sar-groups", f"{path}/subjectaccessreviews", {**base, "kind": "SubjectAccessReview", "spec": {
        "user": "u", "groups": fill(size, lambda i: f"g{i}"), "resourceAttributes": attributes}}
    yield "sar-extra", f"{path}/subjectaccessreviews", {**base, "kind": "SubjectAccessReview", "spec": {
        "user": "u", "extra": members(size, value=["v"]), "resourceAttributes": attributes}}
    yield "sar-selector", f"{path}/selfsubjectaccessreviews", {**base, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        **attributes, "labelSelector": {"requirements": fill(size, lambda i: {"key": f"k{i}", "operator": "In", "values": ["a"]})}}}}
    yield "sar-selector-wrong", f"{path}/selfsubjectaccessreviews", {**base, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        **attributes, "labelSelector": {"requirements": fill(size, lambda i: {"key": f"-k{i}", "operator": "In", "values": []})}}}}
    yield "sar-raw-selector", f"{path}/selfsubjectaccessreviews", {**base, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
        **attributes, "labelSelector": {"rawSelector": ",".join(fill(size, lambda i: f"k{i}=v"))}}}}
    yield "rules-review", f"{path}/selfsubjectrulesreviews", {**base, "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default", **members(size)}}
    yield "token-review", "/apis/authentication.k8s.io/v1/tokenreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "e." * (size // 4) + "e" * (size // 2)}}
    yield "token-audiences", "/apis/authentication.k8s.io/v1/tokenreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x", "audiences": fill(size, lambda i: f"a{i}")}}
    yield "token-request", f"{CORE}/serviceaccounts/default/token", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": fill(size, lambda i: f"a{i}")}}


def texts(size):
    """Documents that no encoder would write: duplicates, aliases, comments, wrong ends."""
    head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"attack"},'
    yield "json-same-member", "application/json", head + '"data":{' + ",".join(['"a":"b"'] * (size // 8)) + "}}"
    yield "json-duplicates", "application/json", head + '"data":{' + ",".join(f'"k{i}":"","k{i}":""' for i in range(size // 26)) + "}}"
    yield "json-below-long-name", "application/json", head + '"' + "x" * (size // 2) + '":{' + ",".join(['"a":1'] * (size // 14)) + "}}"
    yield "json-below-long-names", "application/json", head + '"data":{"' + "x" * (size // 2) + '":{' + ",".join(f'"{i}":1,"{i}":1' for i in range(size // 50)) + "}}}"
    yield "json-unknown-below-long-name", "application/json", head + '"' + "x" * (size // 2) + '":{' + ",".join(f'"{i}":1' for i in range(size // 26)) + "}}"
    yield "json-brackets", "application/json", "[" * size
    yield "json-escapes", "application/json", head + '"data":{"a":"' + "\\ud800" * (size // 6 - 20) + '"}}'
    yield "json-numbers", "application/json", head + '"data":[' + ",".join(["1e300"] * (size // 6)) + "]}"
    yield "json-long-number", "application/json", head + '"data":' + "1" * size + "}"
    yield "json-cut", "application/json", head + '"data":{' + ",".join(f'"k{i}":""' for i in range(size // 16))
    top = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: attack}\n"
    yield "yaml-lines", "application/yaml", top + "data:\n" + "".join(f"  k{i}: v\n" for i in range(size // 14))
    yield "yaml-flow", "application/yaml", top + "data: {" + ", ".join(f"k{i}: v" for i in range(size // 14)) + "}\n"
    yield "yaml-nested-anchors", "application/yaml", top + "data: " + "".join(f"&a{i} [" for i in range(100)) + "1," * (size // 2 - 2000) + "]" * 100 + "\n"
    yield "yaml-aliases", "application/yaml", top + "x0: &x0 [1,2,3,4,5,6,7,8,9,0]\n" + "".join(
        f"x{i}: &x{i} [{','.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 8)) + "#" * (size // 2) + "\n"
    yield "yaml-many-anchors", "application/yaml", top + "data:\n" + "".join(f"  k{i}: &b{i} v\n" for i in range(size // 24))
    yield "yaml-merges", "application/yaml", top + "x: &x {" + ",".join(f"a{i}: b" for i in range(2000)) + "}\n" + "y:\n" + "  - {<<: *x}\n" * 240 + "#" * (size // 2) + "\n"
    yield "yaml-brackets", "application/yaml", "[" * size
    yield "yaml-deep-flow", "application/yaml", "x: " + "[" * 100 + "1," * (size // 2 - 200) + "]" * 100
    yield "yaml-text", "application/yaml", top + "data:\n  k: |\n" + "    x\n" * (size // 6 - 20)
    yield "yaml-quoted", "application/yaml", top + 'data: {k: "' + "\\u0041" * (size // 6 - 20) + '"}\n'
    yield "yaml-comments", "application/yaml", top + "# x\n" * (size // 4 - 20)
    yield "yaml-question-keys", "application/yaml", "".join(f"? k{i}\n: v\n" for i in range(size // 14))


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def protobuf(kind, message):
    return b"k8s\0" + part(1, part(1, b"v1") + part(2, kind)) + part(2, message)


def protobuf_bodies(size):
    meta = part(1, part(1, b"attack"))
    yield "protobuf-data", protobuf(b"ConfigMap", meta + b"".join(part(2, part(1, b"k%d" % i) + part(2, b"v")) for i in range(size // 16)))
    yield "protobuf-same-key", protobuf(b"ConfigMap", meta + b"".join(part(2, part(1, b"k") + part(2, b"v")) for i in range(size // 10)))
    yield "protobuf-finalizers", protobuf(b"ConfigMap", part(1, part(1, b"attack") + b"".join(part(14, b"a/%d" % i) for i in range(size // 12))))
    yield "protobuf-unknown", protobuf(b"ConfigMap", meta + b"\xf8\x07\x01" * (size // 3 - 20))
    yield "protobuf-many-metadata", protobuf(b"ConfigMap", meta * (size // len(meta) - 20))


class Wanted:
    def __init__(self, name, method, path, body, content_type="application/json"):
        self.name, self.method, self.path, self.content_type = name, method, path, content_type
        self.body = body if isinstance(body, bytes) else (body if isinstance(body, str) else dumps(body)).encode()


def create_bodies():
    dry = "?dryRun=All"
    for name, body in vm_shapes(OBJECT_BYTES):
        if asked("create-vm-" + name):
            yield Wanted("create-vm-" + name, "POST", f"{KUBEVIRT}/virtualmachines{dry}", body())
    for name, plural, body in plain_shapes(OBJECT_BYTES):
        if asked("create-" + name):
            yield Wanted("create-" + name, "POST", f"{CORE}/{plural}{dry}", body)
    for name, content_type, body in texts(OBJECT_BYTES):
        if asked("create-" + name):
            yield Wanted("create-" + name, "POST", f"{CORE}/configmaps{dry}", body, content_type)
    for name, body in protobuf_bodies(OBJECT_BYTES):
        if asked("create-" + name):
            yield Wanted("create-" + name, "POST", f"{CORE}/configmaps{dry}", body, "application/vnd.kubernetes.protobuf")
    for name, path, body in review_bodies(OBJECT_BYTES):
        if asked(name):
            yield Wanted(name, "POST", path, body)
    # These count at once, for every request after them.
    for name, path, body in role_shapes(STORED_BYTES):
        body["metadata"] = {**body["metadata"], "name": name.lower()}
        if asked("create-" + name):
            yield Wanted("create-" + name, "POST", path, body)


def webhook_bodies():
    """Every shape of a VM to every webhook, new and changed; those for VMIs get what is inside of the template."""
    for path, group, version, resource, sub, kind in WEBHOOKS:
        made = review(group, version, resource, sub, kind)
        request, base = made["request"], dict(made["request"]["object"])

        def one(name, whole, old=None):
            request.update(object=whole, oldObject=old, operation="UPDATE" if old or path.endswith("update") else "CREATE")
            return Wanted(f"review{path}-{name}", "POST", path, made)

        for name, body in vm_shapes(REVIEW_BYTES - 10000):
            if not asked(f"review{path}-{name}"):
                continue
            body = {**body(), "apiVersion": base["apiVersion"], "kind": base["kind"]}
            if "virtualmachineinstances" in path and name not in metadata_names():
                body = {**base, "spec": body["spec"].get("template", body)["spec"]}
            yield one(name, body)
        for name in ("disks", "interfaces", "finalizers"):
            if asked(f"review{path}-update-{name}"):
                body = {**dict(vm_shapes(REVIEW_BYTES // 2 - 10000))[name](), "apiVersion": base["apiVersion"], "kind": base["kind"]}
                yield one("update-" + name, body, body)
        if asked(f"review{path}-unknown"):
            yield one("unknown", {**base, "spec": members(REVIEW_BYTES - 10000)})
    expressions = "a.b(" * 200 + "x" + ")" * 200
    made = review("plugin.kubevirt.io", "v1alpha1", "plugins", "", "Plugin")
    for name, text in (("cel-calls", expressions), ("cel-or", " || ".join(["vmi.metadata.name == 'a'"] * 3500)), ("cel-list", "[" + ",".join(["1"] * 45000) + "].size() > 0")):
        made["request"]["object"]["spec"] = {"nodeHooks": [{"permittedHooks": ["PreVMStart"], "condition": text, "socket": "/x"}],
                                             "domainHooks": fill(REVIEW_BYTES - 200000, lambda i: {"cel": {"expression": text[:99000], "condition": text[:99000]}})}
        if asked("review/plugin-validate-" + name):
            yield Wanted("review/plugin-validate-" + name, "POST", "/plugin-validate", made)


def metadata_names():
    return {name for name, _ in metadata_shapes(100)}


def change_bodies():
    """To what stands in the store: /configmaps/big (data), /virtualmachines/big (finalizers and notes), /services/big."""
    data = members(STORED_BYTES // 2, "k{:06d}", "v")
    nothing = {key: None for key in data}
    yield Wanted("merge-remove-all", "PATCH", f"{CORE}/configmaps/big?dryRun=All", {"data": nothing}, MERGE)
    yield Wanted("merge-add", "PATCH", f"{CORE}/configmaps/big?dryRun=All", {"data": members(STORED_BYTES // 2, "m{:06d}")}, MERGE)
    yield Wanted("strategic-remove-all", "PATCH", f"{CORE}/configmaps/big?dryRun=All", {"data": nothing}, STRATEGIC)
    keys = list(data)
    for op in ("remove", "replace", "add", "test", "move"):
        operations = []
        for i in range(10000):
            operation = {"op": op, "path": f"/data/{keys[i]}" if op != "add" else f"/data/x{i}"}
            if op == "move":
                operation = {"op": op, "from": f"/data/{keys[i]}", "path": f"/data/y{i}"}
            elif op != "remove":
                operation["value"] = "v"
            operations.append(operation)
        yield Wanted(f"json-patch-{op}", "PATCH", f"{CORE}/configmaps/big?dryRun=All", operations, JSON_PATCH)
    front = "/metadata/finalizers/0"
    yield Wanted("json-patch-front-add", "PATCH", f"{KUBEVIRT}/virtualmachines/big?dryRun=All", [{"op": "add", "path": front, "value": "a/b"}] * 10000, JSON_PATCH)
    yield Wanted("json-patch-front-remove", "PATCH", f"{KUBEVIRT}/virtualmachines/big?dryRun=All", [{"op": "remove", "path": front}] * 10000, JSON_PATCH)
    yield Wanted("json-patch-rotate", "PATCH", f"{KUBEVIRT}/virtualmachines/big?dryRun=All",
                 [{"op": "move", "from": front, "path": "/metadata/finalizers/-"}] * 10000, JSON_PATCH)
    yield Wanted("json-patch-copy", "PATCH", f"{KUBEVIRT}/virtualmachines/big?dryRun=All",
                 [{"op": "copy", "from": "/metadata/finalizers", "path": f"/metadata/x{i}"} for i in range(10000)], JSON_PATCH)
    yield Wanted("json-patch-test-whole", "PATCH", f"{KUBEVIRT}/virtualmachines/big?dryRun=All",
                 [{"op": "test", "path": "/metadata", "value": {}}] * 10000, JSON_PATCH)
    same = [{"name": "c", "$setElementOrder/ports": [], "ports": []}]
    yield Wanted("strategic-same-element", "PATCH", f"{CORE}/pods/big?dryRun=All", {"spec": {"containers": same * 30000}}, STRATEGIC)
    yield Wanted("strategic-retain", "PATCH", f"{CORE}/pods/big?dryRun=All", {"spec": {"containers": [{"name": "c", "$retainKeys": ["name", "ports", "image"]}] * 30000}}, STRATEGIC)
    yield Wanted("strategic-order", "PATCH", f"{CORE}/pods/big?dryRun=All", {"spec": {"containers": [{"name": "c", "ports": fill(
        STORED_BYTES, lambda i: {"containerPort": 1 + i, "protocol": "UDP"})}]}}, STRATEGIC)
    finalizers = fill(450 * 1024, lambda i: f"a/{i}")
    some = config_map(finalizers=finalizers)
    del some["data"]
    for manager in ("one", "two"):
        yield Wanted("apply-finalizers-" + manager, "PATCH", f"{CORE}/configmaps/attack?fieldManager={manager}&force=true", some, APPLY)
    some["metadata"]["finalizers"] = finalizers[::-2]
    yield Wanted("apply-finalizers-fewer", "PATCH", f"{CORE}/configmaps/attack?fieldManager=one&force=true", some, APPLY)
    yield Wanted("apply-finalizers-conflict", "PATCH", f"{CORE}/configmaps/attack?fieldManager=three",
                 config_map(labels=members(400 * 1024)), APPLY)
    yield Wanted("apply-data", "PATCH", f"{CORE}/configmaps/attack2?fieldManager=one", config_map("attack2", members(STORED_BYTES // 3)), APPLY)
    yield Wanted("apply-data-other", "PATCH", f"{CORE}/configmaps/attack2?fieldManager=two", config_map("attack2", members(STORED_BYTES // 3, value="w")), APPLY)
    yield Wanted("apply-limit", "PATCH", f"{CORE}/configmaps/attack3?fieldManager=one", config_map("attack3", finalizers=fill(OBJECT_BYTES, lambda i: f"a/{i}")), APPLY)
    long_name = config_map("attack4")
    long_name["x" * (OBJECT_BYTES // 2)] = members(OBJECT_BYTES // 2 - 1000, "{}", 1)
    yield Wanted("apply-below-long-name", "PATCH", f"{CORE}/configmaps/attack4?fieldManager=one", long_name, APPLY)
    machine = vm_with({"disks": fill(STORED_BYTES // 6, lambda i: {"name": f"d{i}"})},
                      volumes=fill(STORED_BYTES // 6, lambda i: {"name": f"d{i}", "emptyDisk": {"capacity": "1Gi"}}))
    yield Wanted("apply-vm", "PATCH", f"{KUBEVIRT}/virtualmachines/attack?fieldManager=one", machine, APPLY)
    yield Wanted("apply-vm-again", "PATCH", f"{KUBEVIRT}/virtualmachines/attack?fieldManager=two&force=true", machine, APPLY)
    yield Wanted("update-notes", "PUT", f"{KUBEVIRT}/virtualmachines/big", with_metadata(vm("big"), managedFields=notes(STORED_BYTES), labels=members(200 * 1024)))
    yield Wanted("update-finalizers", "PUT", f"{KUBEVIRT}/virtualmachines/big", with_metadata(vm("big"), finalizers=fill(STORED_BYTES, lambda i: f"f{i}")))
    for action in ("start", "stop", "restart", "addvolume", "migrate", "expand-spec"):
        path = f"/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines/big/{action}"
        if action == "expand-spec":
            yield Wanted("action-expand-vm-spec", "PUT", "/apis/subresources.kubevirt.io/v1/namespaces/default/expand-vm-spec", vm_with({"disks": fill(OBJECT_BYTES, lambda i: {"name": f"d{i}"})}))
            continue
        yield Wanted("action-" + action, "PUT", path, members(OBJECT_BYTES))
    yield Wanted("delete-options", "DELETE", f"{CORE}/configmaps/big?dryRun=All", {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": fill(OBJECT_BYTES, lambda i: "All"), **members(1000)})
    yield Wanted("delete-options-unknown", "DELETE", f"{CORE}/configmaps/big?dryRun=All", {"kind": "DeleteOptions", "apiVersion": "v1", **members(OBJECT_BYTES)})
    yield Wanted("scale", "PUT", "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancereplicasets/none/scale", members(OBJECT_BYTES))
    for name in ("/openapi/v2", "/openapi/v3/apis/kubevirt.io/v1", "/openapi/v3/api/v1", "/apis", "/api/v1", "/apis/kubevirt.io/v1"):
        yield Wanted("get" + name, "GET", name, b"")


def batches(bodies, size=12):
    made = []
    for body in bodies:
        made.append(body)
        if len(made) == size:
            yield made
            made = []
    if made:
        yield made


class Bodies(Attack):
    flags = ()

    def setUp(self):
        super().setUp()
        self.namespace("default") if self.call("GET", "/api/v1/namespaces/default")[0] == 404 else None
        self.must("POST", f"{CORE}/configmaps", config_map("big", members(STORED_BYTES // 2, "k{:06d}", "v")))
        self.must("POST", f"{KUBEVIRT}/virtualmachines", with_metadata(vm("big"), finalizers=fill(STORED_BYTES // 3, lambda i: f"a/{i}")))
        big = pod(containers=[{"name": "c", "image": "i", "ports": fill(STORED_BYTES // 3, lambda i: {"containerPort": 1 + i % 65000, "protocol": "TCP"})}])
        big["metadata"]["name"] = "big"
        self.call("POST", f"{CORE}/pods", big)
        self.must("POST", f"{KUBEVIRT}/virtualmachines", vm("small"))
        self.reader = self.user("default", "reader", [{"verbs": ["get"], "apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"]}])
        self.results = []

    def send(self, wanted):
        """Sends the body, then waits: how long from its last byte to the answer's first."""
        headers = {"Authorization": "Bearer " + self.one.token(), "Content-Type": wanted.content_type}
        self.connection.putrequest(wanted.method, wanted.path)
        for key, value in headers.items():
            self.connection.putheader(key, value)
        if wanted.method != "GET":
            self.connection.putheader("Content-Length", str(len(wanted.body)))
        self.connection.endheaders(wanted.body[:-1] or None)
        time.sleep(0.02)  # the server has read it all but for one byte: what follows is its own time
        began = time.monotonic()
        if wanted.body:
            self.connection.send(wanted.body[-1:])
        answer = self.connection.getresponse()
        took = time.monotonic() - began
        answer.read()
        return answer.status, took

    def attack(self, bodies):
        """A few bodies at a time, made before anybody is asked: making them keeps this process busy."""
        self.connection = self.one.connect()
        self.took = {}
        for batch in batches(wanted for wanted in bodies if ONLY in wanted.name):
            paths = {"/livez": {}, f"{KUBEVIRT}/virtualmachines/small": {"Authorization": "Bearer " + self.reader}}
            slowness = self.slowness().waiting()
            others = [Bystander(self.one, path, headers=headers) for path, headers in paths.items() for _ in range(2)]
            with contextlib.ExitStack() as stack:
                for other in others:
                    stack.enter_context(other)
                for wanted in batch:
                    self.one_body(wanted, others)
            for other in others:
                self.assertEqual(other.failures, [], [wanted.name for wanted in batch])
                self.took.setdefault(other.path, []).extend(took / slowness for took in other.took_s)
        self.connection.close()
        self.judge()

    def one_body(self, wanted, others):
        before = [len(other.took_s) for other in others]
        code, took, cpu = self.measure_cpu(wanted)
        took = self.without_slowness(code, took, cpu)
        for _ in range(1, ASKED_MAX):
            if took < ANSWER_S or not self.changed_nothing(wanted, code):
                break
            again, took_again, cpu_again = self.measure_cpu(wanted)
            if again != code:  # asked about something else by now, which may be cheaper
                break
            took = min(took, self.without_slowness(again, took_again, cpu_again))
        worst = max([max(other.took_s[at:], default=0) for other, at in zip(others, before)])
        self.results.append((took, worst, code, wanted.name))
        if ONLY:
            print(f"{took * 1000:8.1f} ms, {cpu * 1000:6.0f} ms of CPU, others {worst * 1000:7.1f} ms, {code}, {len(wanted.body) / 1e6:.2f} MB {wanted.name}", flush=True)

    def measure_cpu(self, wanted):
        cpu_before = self.cpu_s()
        code, took = self.measure(wanted)
        return code, took, self.cpu_s() - cpu_before

    def without_slowness(self, code, took, cpu):
        """Measured only where it matters: it takes as long as a body may. In a crowd the server's CPU time counts."""
        if took < ANSWER_S or not isinstance(code, int):
            return took
        slowness = self.slowness()
        return (min(took, cpu) if slowness.crowded > 1.5 else took) / slowness.speed

    @staticmethod
    def changed_nothing(wanted, code):
        """So that the same body is the same work again."""
        return isinstance(code, int) and (code >= 400 or "dryRun=All" in wanted.path or wanted.name.startswith(("review/", "sar-", "get/")))

    def cpu_s(self):
        with open(f"/proc/{self.one.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def measure(self, wanted):
        try:
            return self.send(wanted)
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.connection = self.one.connect()
            return repr(error), 99

    def judge(self):
        self.results.sort(key=lambda row: -row[0])
        table = "\n".join(f"{took * 1000:8.1f} ms, others {worst * 1000:7.1f} ms, {code} {name}" for took, worst, code, name in self.results[:25])
        self.assertTrue(self.results)
        # An apply of fields that the kind does not have is answered with 500, as kube-apiserver does.
        expected = {"apply-below-long-name"}
        self.assertEqual([row for row in self.results if row[3] not in expected and (
            not isinstance(row[2], int) or row[2] >= 500 or row[2] == 429)], [], table)
        self.assertLess(self.results[0][0], ANSWER_S, "\n" + table)
        for path, took in self.took.items():
            took.sort()
            self.assertLess(took[int(len(took) * 0.99)], OTHERS_S, path + "\n" + table)
        self.alive()

    def test_what_is_created(self):
        self.attack(create_bodies())

    def test_what_is_changed(self):
        self.attack(change_bodies())

    def test_what_is_reviewed(self):
        self.attack(webhook_bodies())


if __name__ == "__main__":
    unittest.main(verbosity=2)
