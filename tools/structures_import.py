#!/usr/bin/env python3
"""Writes the structures that expressions of plugins may name, from the Go sources of a KubeVirt release.

usage: structures_import.py --kubevirt FOLDER --out FOLDER    (--out: where machine_structures.cpp and domain_structures.cpp stand)

Two worlds: what a VirtualMachineInstance is made of, and libvirt's domain in Go's libvirtxml. Taken over are facts alone:
names of structs and fields, names in JSON, types. The notation is explained in structures.h. A second run changes nothing.
"""
import argparse
import os
import re
import sys
import textwrap

API = "staging/src/kubevirt.io/api/"
K8S = "vendor/k8s.io/"

# Go packages by the folder that holds them; the last word is the name that expressions use.
PACKAGES = {
    API + "core/v1": "v1",
    API + "backup/v1alpha1": "v1alpha1",
    K8S + "api/core/v1": "v1",
    K8S + "apimachinery/pkg/apis/meta/v1": "v1",
    K8S + "apimachinery/pkg/api/resource": "resource",
    K8S + "apimachinery/pkg/util/intstr": "intstr",
    K8S + "apimachinery/pkg/types": "types",
    "vendor/libvirt.org/go/libvirtxml": "libvirtxml",
}
SCALARS = {"string": "string", "bool": "bool", "float32": "double", "float64": "double", "[]byte": "bytes",
           "time.Time": "timestamp", "time.Duration": "duration",
           **{name: "int" for name in ("int", "int8", "int16", "int32", "int64")},
           **{name: "uint" for name in ("uint", "uint8", "uint16", "uint32", "uint64", "byte")}}
# Members that are not exported are not seen, but the types they lead to are known by name.
HIDDEN = {"resource.Quantity": ("resource.infDecAmount", "resource.int64Amount")}
# Of another module, which is not among the sources.
FOREIGN = {"xml.Name": [("Space", None, "string"), ("Local", None, "string")]}

WORLDS = (
    # file, function, what it is about, where it begins
    ("machine_structures.cpp", "machine_structures", "The structures that a VirtualMachineInstance is made of, by name.",
     (API + "core/v1", "VirtualMachineInstance")),
    ("domain_structures.cpp", "domain_structures", "The structures that libvirt's domain is made of in Go's libvirtxml, by name.",
     ("vendor/libvirt.org/go/libvirtxml", "Domain")),
)


class Package:
    """The structs and named types of the Go files of a folder, as far as they are exported."""

    def __init__(self, texts):
        self.structs, self.named, self.imports = {}, {}, {}
        for text in texts:
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
            text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
            for alias, path in re.findall(r'^\s*(?:import\s+)?(\w+)?\s*"([\w./-]+)"\s*$', text, flags=re.M):
                self.imports[alias or path.rsplit("/", 1)[-1]] = path
            for name, body in re.findall(r"^(?:type|\t)\s*([A-Z]\w*) struct \{(.*?)^\t?\}", text, flags=re.M | re.S):
                self.structs[name] = fields_of(body)
            for name in re.findall(r"^type ([A-Z]\w*) struct ?\{\}", text, flags=re.M):
                self.structs[name] = []
            for name, go in re.findall(r"^(?:type|\t)\s*([A-Z]\w*) =? ?([\w.*\[\]]+)\s*(?://.*)?$", text, flags=re.M):
                if go not in ("struct", "interface"):
                    self.named.setdefault(name, go)


def fields_of(body):
    """[(name in Go or None where embedded, type, name in JSON or None where the tag gives none)]"""
    found = []
    for line in body.split("\n"):
        line = re.sub(r"\s+//[^`]*$", "", line.strip())
        match = re.match(r"(?:([A-Z]\w*)\s+)?([\w.*\[\]]+)\s*(?:`(.*)`)?$", line)
        if not line or not match or (not match.group(1) and match.group(2)[0].islower() and "." not in match.group(2)):
            continue
        tags = dict(re.findall(r'(\w+):"([^"]*)"', match.group(3) or ""))
        found.append((match.group(1), match.group(2), tags["json"] if "json" in tags else None))
    return found


class Importer:
    def __init__(self, root):
        self.root, self.packages, self.rows, self.members = root, {}, {}, {}

    def package(self, folder):
        if folder not in self.packages:
            at = os.path.join(self.root, folder)
            texts = []
            for name in sorted(os.listdir(at)):
                if name.endswith(".go") and not name.endswith("_test.go") and "generated" not in name:
                    with open(os.path.join(at, name), encoding="utf-8") as file:
                        texts.append(file.read())
            self.packages[folder] = Package(texts)
        return self.packages[folder]

    def home_of(self, go, folder):
        """The folder and name of a type that is written in this folder's sources."""
        alias, _, name = go.rpartition(".")
        if not alias:
            return folder, name
        path = self.package(folder).imports.get(alias)
        homes = [known for known in PACKAGES if path and known.endswith("/" + path)]
        if not homes:
            raise SystemExit(f"{folder}: the package of {go} is not among the known ones")
        return homes[0], name

    def type_text(self, go, folder, package):
        """Our notation of a Go type in a member of a structure of that package; structs that are met get their row."""
        if go in SCALARS:
            return SCALARS[go]
        if go in FOREIGN:
            self.rows[go] = FOREIGN[go]
            return go
        if go.startswith("*"):
            return self.type_text(go[1:], folder, package)
        if go.startswith("[]"):
            return "[]" + self.type_text(go[2:], folder, package)
        if go.startswith("map["):
            key, _, value = go[4:].partition("]")
            return f"map[{self.type_text(key, folder, package)}]{self.type_text(value, folder, package)}"
        home, name = self.home_of(go, folder)
        source = self.package(home)
        if name not in source.structs:
            if name not in source.named:
                raise SystemExit(f"{folder}: no type {name} in {home}")
            return self.type_text(source.named[name], home, package)
        self.struct(home, name)
        return name if PACKAGES[home] == package else f"{PACKAGES[home]}.{name}"

    def struct(self, folder, name):
        """Its members. Two packages may have a struct of one name; the one that is met first has the row."""
        if (folder, name) in self.members:
            return self.members[folder, name]
        package = PACKAGES[folder]
        self.members[folder, name] = members = []
        self.rows.setdefault(f"{package}.{name}", members)
        for hidden in HIDDEN.get(f"{package}.{name}", ()):
            self.rows[hidden] = []
        promoted = []
        for go_name, go, tag in self.package(folder).structs[name]:
            kind = self.type_text(go, folder, package)
            if go_name is None:
                go_name = go.lstrip("*").rpartition(".")[2]
                promoted += self.promoted_by(go.lstrip("*"), folder)
            members.append((go_name, json_name(go_name, tag, package), kind))
        own = {member for member, _, _ in members}
        members += [row for row in promoted if row[0] not in own]
        return members

    def promoted_by(self, go, folder):
        """The members that an embedded type lends to the struct around it."""
        if go in SCALARS:
            return []
        home, name = self.home_of(go, folder)
        if name not in self.package(home).structs:
            return []
        package = PACKAGES[folder]
        hidden = None if package == "libvirtxml" else ""
        return [(member, hidden, self.seen_from(kind, home, package)) for member, _, kind in self.struct(home, name)]

    @staticmethod
    def seen_from(kind, home, package):
        """A type of that folder's package, written in a structure of another package."""
        if PACKAGES[home] == package or kind in set(SCALARS.values()) or "." in kind:
            return kind
        return re.sub(r"\b([A-Z]\w*)", PACKAGES[home] + r".\1", kind)


def json_name(go_name, tag, package):
    """None: the usual one. Domains are never written as JSON, so their names do not matter."""
    if package == "libvirtxml":
        return None
    if tag is None:
        return go_name
    name = tag.split(",")[0]
    return "" if name == "-" else name


def small(name):
    return name[:1].lower() + name[1:]


def member_text(go_name, json_name, kind):
    if json_name is None or json_name == small(go_name):
        return f"{go_name}:{kind}"
    return f"{go_name}/{json_name}:{kind}"


def row_text(name, members):
    words = " ".join(member_text(*member) for member in members)
    line = f'    {{"{name}", "{words}"}},'
    if len(line) <= 120:
        return line
    parts = textwrap.wrap(words, 112, break_long_words=False, break_on_hyphens=False)
    return f'    {{"{name}",\n' + "\n".join(f'     "{part} "' for part in parts[:-1]) + ("\n" if parts[:-1] else "") + f'     "{parts[-1]}"}},'


def file_text(function, subject, rows, namespace):
    body = "\n".join(row_text(name, rows[name]) for name in sorted(rows))
    return f"""// {subject}
// Written by tools/structures_import.py from a release's sources; do not edit.
// The notation is explained in structures.h.
#include "{namespace}/structures.h"

namespace vg::{namespace.replace("/", "::")} {{
namespace {{

// clang-format off
constexpr Structure rows[] = {{
{body}
}};
// clang-format on

}}  // namespace

std::span<const Structure> {function}() {{ return rows; }}

}}  // namespace vg::{namespace.replace("/", "::")}
"""


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubevirt", required=True, help="a release's sources, with vendor/")
    parser.add_argument("--out", required=True, help="folder of the two files, such as src/cel")
    options = parser.parse_args(arguments)
    namespace = os.path.normpath(options.out).replace(os.sep, "/").rpartition("src/")[2]
    for name, function, subject, (folder, struct) in WORLDS:
        importer = Importer(options.kubevirt)
        importer.struct(folder, struct)
        with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
            file.write(file_text(function, subject, importer.rows, namespace))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
