#!/usr/bin/env python3
"""rolegen.py facts/rbac.json OUTPUT.h: the service accounts, roles and bindings of KubeVirt's operator, as rows of
src/local/bootstrap_roles_rows.h. Ends with an error where a fact has something that the rows cannot say."""
import json
import os
import sys

LABEL, BOOTSTRAPPING, AUTOUPDATE = "kubevirt.io", "kubernetes.io/bootstrapping", "rbac.authorization.kubernetes.io/autoupdate"
AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
LISTS = {"verbs": "verbs", "apiGroups": "groups", "resources": "resources", "nonResourceURLs": "urls", "resourceNames": "names"}
SUBJECTS = {"ServiceAccount": "account", "Group": "group", "User": "user"}


class CannotSay(Exception):
    pass


def only(what, allowed, where):
    """Refuses members that nobody here looks at."""
    if unknown := set(what) - set(allowed):
        raise CannotSay(f"{where} has {', '.join(sorted(unknown))}, which no row can say")
    return what


def words(values, where):
    values = ["core" if value == "" else value for value in values]
    if any(not value or " " in value or '"' in value or "\\" in value for value in values):
        raise CannotSay(f"{where}: a word of {values} cannot stand in a list of words")
    return " ".join(values)


def row(members):
    return "{" + ", ".join(f".{name} = {value}" for name, value in members if value not in ('""', None)) + "}"


def text(value):
    return json.dumps(value)


def marks(metadata, where):
    """What name, namespace, labels and annotations say, as members of a row."""
    only(metadata, ("name", "namespace", "labels", "annotations"), where)
    labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    if labels.pop(LABEL, None) != "":
        raise CannotSay(f"{where} has no label {LABEL}")
    bootstrapping = labels.pop(BOOTSTRAPPING, None)
    autoupdate = annotations.pop(AUTOUPDATE, None)
    aggregate = [name.removeprefix(AGGREGATE) for name, value in labels.items() if name.startswith(AGGREGATE) and value == "true"]
    if len(aggregate) != len(labels) or len(aggregate) > 1 or annotations or bootstrapping not in (None, "rbac-defaults") or autoupdate not in (None, "true"):
        raise CannotSay(f"{where} has other labels or annotations: {metadata}")
    return [("name", text(metadata["name"])), ("ns", text(metadata.get("namespace", ""))), ("kubevirt", "true"), ("bootstrapping", "true" if bootstrapping else None),
            ("autoupdate", "true" if autoupdate else None), ("aggregate_to", text(aggregate[0]) if aggregate else None)]


def rules_of(role, where):
    only(role, ("kind", "apiVersion", "metadata", "rules"), where)
    for rule in role["rules"]:
        only(rule, LISTS, where)
        yield row([(LISTS[name], text(words(rule[name], where))) for name in LISTS if rule.get(name)])


def subject(value, where):
    if value["kind"] == "ServiceAccount" and value.get("namespace") != "kubevirt" or value["kind"] not in SUBJECTS:
        raise CannotSay(f"{where} has the subject {value}")
    return f"{SUBJECTS[value['kind']]}:{value['name']}"


def binding_row(binding, where):
    only(binding, ("kind", "apiVersion", "metadata", "subjects", "roleRef"), where)
    members = marks(binding["metadata"], where)
    if any(name in ("bootstrapping", "aggregate_to") and value for name, value in members):
        raise CannotSay(f"{where} has labels of a role")
    reference = binding["roleRef"]
    return row([member for member in members if member[0] not in ("bootstrapping", "aggregate_to")] +
               [("role_kind", text(reference["kind"])), ("role", text(reference["name"])), ("subjects", text(words([subject(one, where) for one in binding["subjects"]], where)))])


def generate(facts):
    rules, roles, bindings, accounts = [], [], [], []
    for fact in facts:
        kind, metadata = fact["kind"], fact["metadata"]
        where = f"{kind} {metadata['name']}"
        if kind == "ServiceAccount":
            only(fact, ("kind", "apiVersion", "metadata"), where)
            if metadata.get("namespace") != "kubevirt" or metadata.get("labels") != {LABEL: ""} or metadata.get("annotations"):
                raise CannotSay(f"{where} is not an account of KubeVirt's namespace with its label alone")
            accounts.append(f"    {text(metadata['name'])},")
        elif kind in ("ClusterRole", "Role"):
            name = f"kubevirt_rules_{len(roles)}"
            rules.append(f"inline constexpr RuleRow {name}[] = {{  // {where}\n" + "".join(f"    {one},\n" for one in rules_of(fact, where)) + "};")
            roles.append(f"    {row(marks(metadata, where) + [('rules', name)])},")
        elif kind in ("ClusterRoleBinding", "RoleBinding"):
            bindings.append(f"    {binding_row(fact, where)},")
        else:
            raise CannotSay(f"{where}: rows are for accounts, roles and bindings")
    return "\n".join(["// Generated from facts/rbac.json by tools/rolegen.py, do not edit.", "#pragma once", "", '#include "local/bootstrap_roles_rows.h"', "", "namespace vg::local::tables {", "",
                      *rules, "", "inline constexpr RoleRow kubevirt_roles[] = {", *roles, "};", "", "inline constexpr BindingRow kubevirt_bindings[] = {", *bindings, "};", "",
                      "inline constexpr std::string_view kubevirt_accounts[] = {", *accounts, "};", "", "}  // namespace vg::local::tables", ""])


def main():
    source, output = sys.argv[1:]
    try:
        with open(source) as file:
            made = generate(json.load(file))
    except CannotSay as problem:
        sys.exit(f"rolegen.py: {source}: {problem}")
    if os.path.exists(output):
        with open(output) as file:
            if file.read() == made:
                return
    os.makedirs(os.path.dirname(os.path.abspath(output)), exist_ok=True)
    with open(output, "w") as file:
        file.write(made)


if __name__ == "__main__":
    main()
