#!/usr/bin/env python3
"""tools/facts_import.py: the sources have what the facts say, and what they lack is brought in."""
import os
import re
import shutil
import sys
import tempfile
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tools"))
sys.dont_write_bytecode = True

import facts_import  # noqa: E402

PARTS = ("schema", "facts", "src/config", "spec")


def read(*path):
    return facts_import.read(os.path.join(*path))


class Repository(unittest.TestCase):
    def test_nothing_is_to_be_brought_in(self):
        said = []
        self.assertEqual(facts_import.import_schema(SOURCE), {})
        self.assertEqual(facts_import.import_gates(SOURCE), {})
        self.assertTrue(facts_import.import_webhooks(SOURCE, said.append), said)


class Importing(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        for part in PARTS:
            shutil.copytree(os.path.join(SOURCE, part), os.path.join(self.top, part))
        os.makedirs(os.path.join(self.top, "src/admission"))
        shutil.copy(os.path.join(SOURCE, "src/admission/webhook.cpp"), os.path.join(self.top, "src/admission"))

    def edit(self, path, change):
        text = read(self.top, path)
        changed = change(text)
        self.assertNotEqual(text, changed)
        with open(os.path.join(self.top, path), "w", encoding="utf-8") as file:
            file.write(changed)

    def imported(self, path):
        return facts_import.import_schema(self.top)[os.path.join(self.top, path)]

    def test_a_new_field_comes_in_at_its_place_without_a_description(self):
        self.edit("schema/vmi-devices.vgs", lambda text: re.sub(r"  bootOrder\?: \*uint\n(    \".*\"\n)+", "", text, count=1))
        text = self.imported("schema/vmi-devices.vgs")
        disk = text[text.index("type Disk\n"):]
        self.assertRegex(disk, r'  \+ DiskDevice\n  bootOrder\?: \*uint\n    "UNDESCRIBED[^\n]*"\n  serial\?: string')

    def test_a_field_that_is_gone_goes_with_its_description(self):
        self.edit("schema/plugin.vgs", lambda text: text.replace("  condition?: string\n", '  older?: [string]  atomic\n    "Old"\n  condition?: string\n', 1))
        self.assertEqual(self.imported("schema/plugin.vgs"), read(SOURCE, "schema/plugin.vgs"))

    def test_another_type_keeps_words_and_description(self):
        self.edit("schema/plugin.vgs", lambda text: text.replace("  domainHooks?: [DomainHook]  atomic", "  domainHooks: [string]  atomic", 1))
        self.assertEqual(self.imported("schema/plugin.vgs"), read(SOURCE, "schema/plugin.vgs"))

    def test_a_new_type_stands_behind_the_one_that_names_it(self):
        self.edit("schema/plugin.vgs", lambda text: re.sub(r"type CELDomainHook\n.*?\n\n", "", text, flags=re.S))
        text = self.imported("schema/plugin.vgs")
        self.assertRegex(text, r'(?s)type DomainHook\n.*?\n\ntype CELDomainHook\n  "UNDESCRIBED[^\n]*"\n  expression: string\n    "UNDESCRIBED[^\n]*"\n\ntype ')

    def test_what_is_undescribed_does_not_build(self):
        import schemagen_model
        self.edit("schema/plugin.vgs", lambda text: text.replace('"What it does"', '"x"').replace('    "Calls to a service on the node"', f'    "{facts_import.UNDESCRIBED}"'))
        reader = schemagen_model.Reader()
        reader.read_packages(os.path.join(self.top, "schema/packages.vgs"))
        reader.read_file(os.path.join(self.top, "schema/plugin.vgs"))
        self.assertEqual(len(reader.errors), 1)
        self.assertIn("no description yet", reader.errors[0])

    def test_a_gate_that_is_new_moved_or_gone(self):
        self.edit("spec/server.md", lambda text: text.replace("| `VSOCK` | Alpha |", "| `VSOCK` | Beta |").replace(
            "| `WorkloadEncryptionSEV` |", "| `WarpDriveForCPUs` | Alpha | | nowhere |\n| `WorkloadEncryptionSEV` |").replace("`PasstIPStackMigration` (1.8)", "`OlderSELinuxThing` (1.8)"))
        changed = facts_import.import_gates(self.top)
        header, table = (changed[os.path.join(self.top, "src/config", name)] for name in ("gates.h", "gates.cpp"))
        self.assertIn('{Gate::vsock, "VSOCK", beta},\n    {Gate::warp_drive_for_cpus, "WarpDriveForCPUs", alpha},', table)
        self.assertIn("  vsock,\n  warp_drive_for_cpus,\n", header)
        self.assertIn("  older_selinux_thing,\n};", header)
        self.assertIn("Gate::older_selinux_thing) + 1", header)
        self.assertNotIn("passt_ip_stack", header + table)

    def test_a_new_name_gets_the_identifier_that_old_ones_have(self):
        known = dict(re.findall(r'\{Gate::(\w+), "(\w+)", \w+\}', read(SOURCE, "src/config/gates.cpp")))
        self.assertGreater(len(known), 80)
        usual = [gate for gate, name in known.items() if facts_import.identifier(name, {}) == gate]
        self.assertGreaterEqual(len(usual), len(known) - 6)

    def test_a_webhook_without_a_row_and_a_row_without_a_webhook(self):
        self.edit("src/admission/webhook.cpp", lambda text: text.replace("/plugin-validate", "/older-validate"))
        said = []
        self.assertFalse(facts_import.import_webhooks(self.top, said.append))
        self.assertIn('.path = "/plugin-validate"', said[0])
        self.assertIn('.group = "plugin.kubevirt.io"', said[0])
        self.assertEqual(said[1:], ["no registration names /older-validate"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
