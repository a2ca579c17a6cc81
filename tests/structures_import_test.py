#!/usr/bin/env python3
"""tools/structures_import.py: which structures and members it finds in Go sources."""
import os
import sys
import tempfile
import unittest

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tools"))
sys.dont_write_bytecode = True

import structures_import  # noqa: E402

API = '''package v1
import (
	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)
/* type Hidden struct { X string } */
type VirtualMachineInstance struct {
	metav1.TypeMeta `json:",inline"`
	Spec Spec `json:"spec"`
	// Phase is a word.
	Phase Phase `json:"phase,omitempty"` // behind the line
	unexported string
}
type Phase string
type Spec struct {
	CPUs *uint32 `json:"cpus"`
	Labels map[string]string `json:"labels"`
	Blob []byte `json:"-"`
	Claim
	Claims []k8sv1.Claim `json:"claims"`
}
type Claim struct {
	k8sv1.Claim `json:",inline"`
	Hot bool `json:"hot"`
}
type Empty struct{}
'''
CORE = '''package v1
type Claim struct {
	ClaimName string `json:"claimName"`
	Inner *Empty `json:"inner"`
}
type Empty struct {
}
'''
META = '''package v1
type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
}
'''
XML = '''package libvirtxml
import "encoding/xml"
type Domain struct {
	XMLName xml.Name `xml:"domain"`
	Memory *DomainMemory `xml:"memory"`
}
type DomainMemory struct {
	Value uint `xml:",chardata"`
}
'''


class Structures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.out = os.path.join(folder.name, "kubevirt"), os.path.join(folder.name, "src/cel")
        os.makedirs(self.out)
        for path, text in (("staging/src/kubevirt.io/api/core/v1", API), ("vendor/k8s.io/api/core/v1", CORE),
                           ("vendor/k8s.io/apimachinery/pkg/apis/meta/v1", META), ("vendor/libvirt.org/go/libvirtxml", XML)):
            os.makedirs(os.path.join(self.root, path))
            with open(os.path.join(self.root, path, "types.go"), "w", encoding="utf-8") as file:
                file.write(text)

    def rows(self, name):
        self.assertEqual(structures_import.main(["--kubevirt", self.root, "--out", self.out]), 0)
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("do not edit", text)
        return [line.strip() for line in text.split("rows[] = {\n")[1].split("\n};")[0].split("\n")]

    def test_members_promoted_ones_and_names_in_json(self):
        self.assertEqual(self.rows("machine_structures.cpp"), [
            '{"v1.Claim", "Claim/:Claim Hot:bool ClaimName/:string Inner/:Empty"},',  # of two with one name the first that is met
            '{"v1.Empty", ""},',
            '{"v1.Spec",', '"CPUs/cpus:uint Labels:map[string]string Blob/:bytes Claim/Claim:Claim Claims:[]Claim Hot/:bool ClaimName/:string "',
            '"Inner/:Empty"},',
            '{"v1.TypeMeta", "Kind:string APIVersion/apiVersion:string"},',
            '{"v1.VirtualMachineInstance", "TypeMeta/:TypeMeta Spec:Spec Phase:string Kind/:string APIVersion/:string"},',
        ])

    def test_domains_go_by_their_names_in_go(self):
        self.assertEqual(self.rows("domain_structures.cpp"), [
            '{"libvirtxml.Domain", "XMLName:xml.Name Memory:DomainMemory"},', '{"libvirtxml.DomainMemory", "Value:uint"},',
            '{"xml.Name", "Space:string Local:string"},'])

    def test_a_package_that_is_not_known_is_an_error(self):
        with open(os.path.join(self.root, "vendor/libvirt.org/go/libvirtxml/types.go"), "w", encoding="utf-8") as file:
            file.write('package libvirtxml\nimport "example.io/other"\ntype Domain struct {\n\tX other.Thing `xml:"x"`\n}\n')
        with self.assertRaisesRegex(SystemExit, "other.Thing"):
            structures_import.main(["--kubevirt", self.root, "--out", self.out])


if __name__ == "__main__":
    unittest.main(verbosity=2)
