#!/usr/bin/env python3
"""Somebody without credentials guesses the names of exports: every answer must be the same.

VIRTGATE_BINARY names the program.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

EXPORTS = "/apis/export.kubevirt.io/v1/namespaces/default/virtualmachineexports"
DOWNLOADS = "/api/export.kubevirt.io/v1/namespaces/default/virtualmachineexports"


class ExportNames(harness.Attack):
    def setUp(self):
        harness.Scratch.setUp(self)
        self.one = self.server(role=("--node", "external")).start()
        self.must("POST", EXPORTS, {"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "there"},
                                    "spec": {"source": {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "c"}}})

    def answer(self, name, path, method, headers):
        code, fields, text = self.one.ask(method, f"{DOWNLOADS}/{name}/{path}", headers=headers)
        return code, {key: value for key, value in fields.items() if key not in ("Date", "X-Request-Id", "Audit-Id")}, text

    def test_one_that_is_there_is_answered_as_one_that_is_not(self):
        for path in ("volumes/c/disk.img", "volumes/c/dir/", "internal/manifests/all", "external/manifests/secret"):
            for method in ("GET", "HEAD", "POST"):
                for headers in ({}, {"x-kubevirt-export-token": "guess"}):
                    there, absent = (self.answer(name, path, method, headers) for name in ("there", "absent"))
                    self.assertEqual(there, absent, (path, method, headers))
                    self.assertEqual(there[0], 401)


if __name__ == "__main__":
    unittest.main(verbosity=2)
