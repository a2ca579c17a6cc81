#!/usr/bin/env python3
"""What tools/schema_import.py makes of Go types: the facts in tags and markers, and none of the words."""
import os
import sys
import tempfile
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tools"))
sys.dont_write_bytecode = True

import schema_import  # noqa: E402

GO = '''
package v1

// Strategy says how.
// +enum
type Strategy string

type PodDisruptionBudget struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec Inner `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// Inner is embedded in words.
// +structType=atomic
type Inner struct {
	Plain string `json:"plain" protobuf:"bytes,1,opt,name=plain"`
	// +optional
	Kept Strategy `json:"kept" protobuf:"bytes,2,opt,name=kept,casttype=Strategy"`
	// +required
	Needed *int32 `json:"needed,omitempty" protobuf:"varint,3,opt,name=needed"` // behind the line
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge,retainKeys
	Parts []Part `json:"parts,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name" protobuf:"bytes,4,rep,name=parts"`
	// +patchStrategy=replace
	Selector *metav1.LabelSelector `json:"selector,omitempty" patchStrategy:"replace" protobuf:"bytes,5,opt,name=selector"`
	// +mapType=atomic
	// +default="x"
	Amounts map[string]resource.Quantity `json:"amounts,omitempty" protobuf:"bytes,6,rep,name=amounts"`
	Hidden string `json:"-"`
}

type Part struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	At metav1.MicroTime `json:"at,omitempty,omitzero" protobuf:"bytes,2,opt,name=at"`
	Raw []byte `json:"raw,omitempty" protobuf:"bytes,3,opt,name=raw"`
	Extra map[string][]string `json:"extra,omitempty" protobuf:"bytes,4,rep,name=extra"`
}
'''

WANTED = '''# Disruption budgets.
in policy

kind PodDisruptionBudget in policy
  plural poddisruptionbudgets
  singular poddisruptionbudget
  short pdb
  scope Namespaced
  builtin
  version v1 storage
  status

type PodDisruptionBudget
  "Ours"
  + meta.TypeMeta
  metadata?: meta.ObjectMeta @1
  spec?: Inner @2
    "Ours too"

type Inner map-atomic
  plain: string @1
  kept: string @2  optional
  needed?: *int32 @3  required
  parts?: [Part] @4  keys(name) merge(name)
  selector?: *meta.LabelSelector @5  replace
  amounts?: {quantity} @6  map-atomic api-default("x")

type Part
  name: string @1
  at?: microtime @2  omitzero
  raw?: bytes @3
  extra?: {[string]} @4
'''


class SchemaImportTest(unittest.TestCase):
    def test_facts_come_over_and_descriptions_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "go", "policy", "v1"))
            with open(os.path.join(folder, "go", "policy", "v1", "types.go"), "w") as file:
                file.write(GO)
            out = os.path.join(folder, "k8s-disruption.vgs")
            with open(out, "w") as file:
                file.write('in policy\n\ntype PodDisruptionBudget\n  "Ours"\n  spec?: Inner @2\n    "Ours too"\n')
            schema_import.write_file(schema_import.Importer(os.path.join(folder, "go"), set()), "k8s-disruption", folder)
            with open(out) as file:
                self.assertEqual(file.read(), WANTED)

    def test_every_row_is_in_the_schema(self):
        for name, (_, _, parts) in schema_import.IMPORTS.items():
            with open(os.path.join(SOURCE, "schema", name + ".vgs")) as file:
                text = file.read()
            for _, kinds in parts:
                for row in kinds:
                    self.assertIn("\n".join(schema_import.kind_lines(row, schema_import.IMPORTS[name][1])), text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
