"""tools/rolegen.py: what facts become, and that it refuses what the rows cannot say instead of leaving it out."""
import copy
import os
import sys
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(SOURCE, "tools"))

import rolegen  # noqa: E402

ROLE = {"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "r", "labels": {"kubevirt.io": ""}},
        "rules": [{"apiGroups": ["", "kubevirt.io"], "resources": ["pods"], "verbs": ["get", "list"]}]}
BINDING = {"kind": "RoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "b", "namespace": "kubevirt", "labels": {"kubevirt.io": ""}},
           "subjects": [{"kind": "Group", "name": "system:authenticated"}], "roleRef": {"kind": "Role", "name": "r"}}


def changed(fact, change):
    fact = copy.deepcopy(fact)
    change(fact)
    return [fact]


class RoleGenerator(unittest.TestCase):
    def test_rows(self):
        made = rolegen.generate([ROLE, BINDING])
        self.assertIn("do not edit", made.splitlines()[0])
        self.assertIn('{.verbs = "get list", .groups = "core kubevirt.io", .resources = "pods"},', made)
        self.assertIn('{.name = "r", .kubevirt = true, .rules = kubevirt_rules_0},', made)
        self.assertIn('{.name = "b", .ns = "kubevirt", .kubevirt = true, .role_kind = "Role", .role = "r", .subjects = "group:system:authenticated"},', made)

    def test_what_rows_cannot_say_is_refused(self):
        for facts in (changed(ROLE, lambda role: role.update(aggregationRule={})), changed(ROLE, lambda role: role["rules"][0].update(when="now")),
                      changed(ROLE, lambda role: role["metadata"]["labels"].update(other="label")), changed(ROLE, lambda role: role["metadata"].update(annotations={"a": "b"})),
                      changed(ROLE, lambda role: role["metadata"].pop("labels")), changed(ROLE, lambda role: role["rules"][0].update(verbs=['ge"t'])),
                      changed(BINDING, lambda binding: binding["subjects"].append({"kind": "ServiceAccount", "name": "x", "namespace": "other"})),
                      [{"kind": "Pod", "metadata": {"name": "p"}}]):
            with self.assertRaises(rolegen.CannotSay, msg=facts):
                rolegen.generate(facts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
