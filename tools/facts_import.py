#!/usr/bin/env python3
"""Brings what a newer KubeVirt release says into the sources that repeat it.

usage: facts_import.py [--check] [schema|gates|webhooks]...    (all three unless told)

  schema    facts/types.json into schema/*.vgs: fields that are new, gone, or of another type; new types behind the one that
            names them. Words behind a field (limits, merging) and descriptions are written by hand: a new field carries
            the description UNDESCRIBED, with which the schema does not build.
  gates     the gates of spec server 7.5 into src/config/gates.h and gates.cpp, whose lists are never edited by hand.
  webhooks  prints a row for each registration in facts/webhooks.json that src/admission/webhook.cpp does not have, and the
            paths that it has and no registration names. What a webhook does cannot be imported, so nothing is written.

With --check nothing is written, and the exit code is 1 when something would be.
"""
import argparse
import json
import os
import re
import sys

UNDESCRIBED = "UNDESCRIBED: say in a sentence what this does for a user"
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- schema ----------------------------------------------------------------------------------------------------------

VALUES = {"k8s:meta/v1.Time": "time", "k8s:meta/v1.MicroTime": "microtime", "k8s:meta/v1.Duration": "duration",
          "k8s:api/resource.Quantity": "quantity", "k8s:util/intstr.IntOrString": "intorstring",
          "k8s:pkg/runtime.RawExtension": "raw", "k8s:meta/v1.FieldsV1": "fields", "[]byte": "bytes", "[]uint8": "bytes"}
FIELD = re.compile(r"^  (\w[\w.-]*)(\??): (\S+)(.*)$")


def go_to_package(packages):
    return {go: name for name, go in re.findall(r"^package (\S+)\s+go (\S+)", packages, re.M)}


def type_text(fact, package, packages):
    """Our notation of a type of the facts, as it is written in a type of that package."""
    if fact in VALUES:
        return VALUES[fact]
    if fact.startswith("*"):
        return "*" + type_text(fact[1:], package, packages)
    if fact.startswith("[]"):
        return "[" + type_text(fact[2:], package, packages) + "]"
    if fact.startswith("map["):
        return "{" + type_text(fact[fact.index("]") + 1:], package, packages) + "}"
    if "." not in fact:
        return fact
    go, name = fact.rsplit(".", 1)
    home = packages.get(go)
    if not home:
        raise SystemExit(f"facts_import.py: schema/packages.vgs has no package for {go}")
    return name if home == package else f"{home}.{name}"


def parsed(lines):
    """The lines of a type below its head: [(field name or None, lines with the descriptions of the field)]."""
    parts = []
    for line in lines:
        field = FIELD.match(line)
        if field or line.startswith("  + "):
            parts.append((field.group(1) if field else line.strip(), [line]))
        elif parts:
            parts[-1][1].append(line)
        else:
            parts.append((None, [line]))  # the description of the type itself
    return parts


def merged(body, facts, package, packages):
    """The lines of a type once its fields are those of the facts, in their order. `facts`: [[name, type, omission]]"""
    parts = parsed(body)
    head = [line for name, lines in parts if name is None for line in lines]
    have = {name: lines for name, lines in parts if name is not None}
    ours_alone = [lines for name, lines in parts if name and not name.startswith("+") and "api-only" in lines[0].split()]
    result = head
    for name, fact, omission in facts:
        if name == "<inline>":
            line = "+ " + type_text(fact, package, packages)
            result += have.get(line, ["  " + line])
            continue
        text, optional = type_text(fact, package, packages), "" if omission == "always" else "?"
        if name not in have:
            words = "  omitzero" if "omitzero" in omission else ""
            result += [f"  {name}{optional}: {text}{words}", f'    "{UNDESCRIBED}"']
            continue
        _, was_optional, was, rest = FIELD.match(have[name][0]).groups()
        same = was == text and was_optional == optional
        result += have[name] if same else [f"  {name}{optional}: {text}{rest}"] + have[name][1:]
    return result + [line for lines in ours_alone for line in lines]


def blocks(text):
    """[(head line or None, package, lines)] of a .vgs, which join to the same text again."""
    found, package = [[None, None, []]], None
    for line in text.split("\n"):
        if line.startswith("in "):
            package = line.split()[1]
        if line and line[0] not in " #":
            found.append([line, package, []])
        else:
            found[-1][2].append(line)
    return found


def import_schema(top):
    """{path: text} of the files that change."""
    packages = go_to_package(read(f"{top}/schema/packages.vgs"))
    ours = {name: go for go, name in packages.items()}
    facts = json.loads(read(f"{top}/facts/types.json"))
    files, described = {}, set()
    names = [name for name in sorted(os.listdir(f"{top}/schema")) if name.endswith(".vgs") and not name.startswith("k8s-")]
    for name in names:
        files[name] = blocks(read(f"{top}/schema/{name}"))
        described |= {f"{ours[package]}.{head.split()[1]}" for head, package, _ in files[name] if head and head.startswith("type ")}
    for name in names:
        index = 0
        while index < len(files[name]):  # types that are added below are visited as well
            head, package, lines = files[name][index]
            fact = facts.get(f"{ours[package]}.{head.split()[1]}") if head and head.startswith("type ") else None
            if fact and not ours[package].startswith("k8s:"):
                body = [line for line in lines if line]
                files[name][index][2] = merged(body, fact, package, packages) + [""] * (len(lines) - len(body))
                for wanted in dict.fromkeys(re.sub(r"^.*[*\]]", "", row[1]) for row in fact):
                    if wanted.rsplit(".", 1)[0] == ours[package] and wanted in facts and wanted not in described:
                        described.add(wanted)
                        files[name][index][2] = [line for line in files[name][index][2] if line] + [""]
                        files[name].insert(index + 1, [f"type {wanted.rsplit('.', 1)[1]}", package, [f'  "{UNDESCRIBED}"', ""]])
            index += 1
    changed = {}
    for name in names:
        text = "\n".join(line for head, _, lines in files[name] for line in ([head] if head else []) + lines)
        if text != read(f"{top}/schema/{name}"):
            changed[f"{top}/schema/{name}"] = text.rstrip("\n") + "\n"
    return changed


# --- gates -----------------------------------------------------------------------------------------------------------

STATES = {"Alpha": "alpha", "Beta": "beta", "GA": "ga", "Deprecated": "deprecated", "Discontinued": "discontinued"}
GROUPS = ("Looked at when requests are judged.", "Other components look at these.", "Generally available.", "Deprecated.",
          "Discontinued.")
# Names whose words the usual rule would cut elsewhere, and one that C++ keeps for itself.
IDENTIFIERS = {"Template": "template_", "IOMMUFD": "iommufd", "SELinux": "selinux", "GPUs": "gpus", "CPUs": "cpus", "NICs": "nics",
               "KubevirtSeccomp": "kubevirt_seccomp", "HypervStrict": "hyperv_strict"}


def gates_of_spec(text):
    """[[(name, state)]], a list for each of GROUPS."""
    section = re.search(r"^### 7\.5 .*?(?=^Checks that do not follow|^##)", text, re.M | re.S).group()
    groups = [[(name, STATES[state]) for name, state in re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.M)], [], [], [], []]
    place = {"alpha": 1, "beta": 1, "ga": 2, "deprecated": 3, "discontinued": 4}
    for state, names in re.findall(r"^\| (Alpha|Beta|GA|Deprecated|Discontinued)\b[^|]*\| (`.*) \|$", section, re.M):
        for name in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", names)):
            groups[place[STATES[state]]].append((name, STATES[state]))
    return groups


def identifier(name, known):
    """The one that it has already, else CamelCase in small words."""
    if name in known:
        return known[name]
    for word, joined in IDENTIFIERS.items():
        name = name.replace(word, f"_{joined}_") if word != name else joined
    return re.sub(r"_+", "_", re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3_\2", name).lower()).strip("_")


def import_gates(top):
    header, table = f"{top}/src/config/gates.h", f"{top}/src/config/gates.cpp"
    known = {name: gate for gate, name in re.findall(r'\{Gate::(\w+), "(\w+)", \w+\}', read(table))}
    groups = [[(identifier(name, known), name, state) for name, state in group] for group in gates_of_spec(read(f"{top}/spec/server.md"))]
    enumerators = "".join(f"  // {about}\n" + "".join(f"  {gate},\n" for gate, _, _ in group) for about, group in zip(GROUPS, groups))
    rows = "\n".join("".join(f'    {{Gate::{gate}, "{name}", {state}}},\n' for gate, name, state in group) for group in groups)
    last = groups[-1][-1][0]
    texts = {
        header: re.sub(r"(gate_count = static_cast<std::size_t>\(Gate::)\w+", rf"\g<1>{last}",
                       re.sub(r"(enum class Gate : std::uint8_t \{\n).*?(?=\};)", lambda m: m.group(1) + enumerators, read(header), count=1, flags=re.S)),
        table: re.sub(r"(to_array<GateRow>\(\{\n).*?(?=\}\);)", lambda m: m.group(1) + rows, read(table), count=1, flags=re.S),
    }
    return {path: text for path, text in texts.items() if text != read(path)}


# --- webhooks --------------------------------------------------------------------------------------------------------

OPERATIONS = {("CREATE",): "Operations::create", ("UPDATE",): "Operations::update"}


def registered(facts):
    """{path: (name, rule)} of every webhook of the facts."""
    return {hook["clientConfig"]["service"]["path"]: (hook["name"], hook["rules"][0])
            for configuration in facts for hook in configuration.get("webhooks", ()) if "service" in hook["clientConfig"]}


def webhook_row(path, name, rule):
    operations = OPERATIONS.get(tuple(rule["operations"]))
    rows = [f'    {{.path = "{path}",', f'     .name = "{name}",', f'     .group = "{rule["apiGroups"][0]}",',
            f'     .versions = ...,  // {" ".join(rule["apiVersions"])}', f'     .subjects = ...,  // {" ".join(rule["resources"])}']
    rows += [f"     .operations = {operations},"] if operations else []
    return "\n".join(rows + ["     .steps = ...,", "     .rules = ...},"])


def import_webhooks(top, say=print):
    """True when the table has a row for every registration and no other."""
    facts = json.loads(read(f"{top}/facts/webhooks.json"))
    wanted = registered(facts["items"] if isinstance(facts, dict) and "items" in facts else facts)
    have = set(re.findall(r'\.path = "([^"]+)"', read(f"{top}/src/admission/webhook.cpp")))
    for path in sorted(set(wanted) - have):
        say(webhook_row(path, *wanted[path]))
    for path in sorted(have - set(wanted)):
        say(f"no registration names {path}")
    return set(wanted) == have


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("subjects", nargs="*", metavar="schema|gates|webhooks")
    options = parser.parse_args(arguments)
    subjects = options.subjects or ["schema", "gates", "webhooks"]
    changed = {}
    if "schema" in subjects:
        changed |= import_schema(TOP)
    if "gates" in subjects:
        changed |= import_gates(TOP)
    for path, text in changed.items():
        print("changed ", os.path.relpath(path, TOP))
        if not options.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    complete = import_webhooks(TOP) if "webhooks" in subjects else True
    return 1 if options.check and (changed or not complete) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
