#!/usr/bin/env python3
"""The recorded cases, asked of `virtgate cluster` with `virtgate serve --api-only` as its API server: whatever `virtgate
serve` answers as recorded, the cluster mode answers so, too.

VIRTGATE_BINARY names the program. VIRTGATE_CONFORM_CASES says how many cases of each file are asked (default 0: all of
them; fewer are spread over the file). The reviews made from upstream's tests are not in the repository: they are asked where
they are found.
"""
import lzma
import os
import subprocess
import sys
import unittest

from support import cluster
from support import serve as e2e

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", ".")
RECORDED = os.path.join(SOURCE, "tests/conformance")
UPSTREAM = os.path.join(SOURCE, "../shared/conformance/admission-upstream.jsonl")
CASES = int(os.environ.get("VIRTGATE_CONFORM_CASES", "0"))
HANDLER_PORT = 8186  # the one that conform.py's node has when it did not start the server


def sample(folder, recording):
    with (lzma.open if recording.endswith(".xz") else open)(recording, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    step = max(1, len(lines) // CASES) if CASES else 1
    path = os.path.join(folder, os.path.basename(recording).removesuffix(".xz"))
    with open(path, "w") as file:
        file.writelines(lines[::step])
    return path


def make_node_pki(folder):
    cluster.make_authority(folder, "kvca")
    cluster.make_certificate(folder, "kvca", "handler", "kubevirt.io:system:node:virt-handler", "serverAuth")
    cluster.make_certificate(folder, "kvca", "client", "kubevirt.io:system:client:virt-handler", "clientAuth")


class Conformance(cluster.Cluster):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_node_pki(cls.folder)
        cls.gateway.stop()
        cls.gateway = cluster.Gateway(cls.folder, "--console-server-port", str(HANDLER_PORT),
                                      "--handler-cert-file", f"{cls.folder}/client.crt", "--handler-key-file", f"{cls.folder}/client.key").start()
        cls.addClassCleanup(cls.gateway.stop)

    def differing(self, what, recording, *how):
        """Ids of the cases that are answered otherwise than recorded."""
        out = os.path.join(self.folder, "differing")
        done = subprocess.run([sys.executable, os.path.join(RECORDED, "conform.py"), what, sample(self.folder, recording), "--at-least", "0", "--list", out, *how],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(out) as file:
            return set(file.read().split("\n")) - {""}, done.stdout

    def compare(self, what, recording):
        ours, report = self.differing(what, recording, "--kube", f"https://127.0.0.1:{self.api.port}", "--virt", f"https://127.0.0.1:{self.gateway.port}",
                                      "--cert", self.api.pki("admin.crt"), self.api.pki("admin.key"),
                                      "--proxy-cert", f"{self.folder}/front.crt", f"{self.folder}/front.key", "--node-pki", self.folder)
        print(report.strip().split("\n")[-1])
        if not ours:
            return
        standalone, _ = self.differing(what, recording, "--server", f"{e2e.BINARY} serve")
        self.assertEqual(ours - standalone, set(), report)

    def test_admission_of_generated_cases(self):
        self.compare("admission", os.path.join(RECORDED, "admission-generated.jsonl.xz"))

    @unittest.skipUnless(os.path.exists(UPSTREAM), "the reviews made from upstream's tests are not here")
    def test_admission_of_upstream_cases(self):
        self.compare("admission", UPSTREAM)

    def test_flows(self):
        self.compare("flows", os.path.join(RECORDED, "flows.jsonl.xz"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
