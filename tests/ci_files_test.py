"""The files of docs/ci: what they run is run here, in a repository with good and with bad manifests."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from support import serve as e2e

try:
    import yaml
except ImportError:
    yaml = None

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEADLINE_S = 60
VM = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: %s}
spec:
  runStrategy: Always
  instancetype: {name: small, kind: VirtualMachineInstancetype}
  template: {spec: {domain: {devices: {}}}}
"""
SMALL = """apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small}
spec: {cpu: {guest: 2}, memory: {guest: 1Gi}}
"""


def text_of(name):
    with open(os.path.join(SOURCE, "docs/ci", name), encoding="utf-8") as f:
        return f.read()


def scalars(name, key):
    """The values of a key, each on the line of its key."""
    return re.findall(rf"^[ -]*{key}: (.*?)(?:  #.*)?$", text_of(name), re.M)


def script(name):
    """The items of the list below script."""
    below = text_of(name).split("  script:\n")[1]
    return re.findall(r"^  - (.*)$", below.split("\n  artifacts:")[0], re.M)


class Repository(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ci-files-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        programs = os.path.join(self.folder, "programs")
        os.mkdir(programs)
        os.symlink(os.path.abspath(e2e.BINARY), os.path.join(programs, "virtgate"))
        self.repository = os.path.join(self.folder, "repository")
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
                            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
        self.write("manifests/types/small.yaml", SMALL)
        self.write("manifests/vm.yaml", VM % "good")
        self.write("other.yaml", "no: manifest\n")

    def write(self, name, text):
        path = os.path.join(self.repository, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run_program(self, *arguments):
        return subprocess.run(arguments, cwd=self.repository, env=self.environment, capture_output=True, text=True, timeout=DEADLINE_S)

    @unittest.skipUnless(yaml, "PyYAML is not installed")
    def test_they_are_yaml_and_read_as_here(self):
        workflow = yaml.safe_load(text_of("github-workflow.yml"))
        self.assertEqual([step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step], scalars("github-workflow.yml", "run"))
        self.assertEqual(yaml.safe_load(text_of("gitlab-ci.yml"))["virtgate"]["script"], script("gitlab-ci.yml"))
        hook = yaml.safe_load(text_of("pre-commit-config.yaml"))["repos"][0]["hooks"][0]
        self.assertEqual([hook["entry"], hook["files"]], scalars("pre-commit-config.yaml", "entry") + scalars("pre-commit-config.yaml", "files"))

    def test_github(self):
        check, collect = scalars("github-workflow.yml", "run")
        for name, code in (("good", 0), ("Bad", 1)):
            self.write("manifests/vm.yaml", VM % name)
            done = self.run_program("sh", "-e", "-c", check)  # as in a container
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(code == 1, "::error file=manifests/vm.yaml,line=3," in done.stdout, done.stdout)
            self.assertEqual(self.run_program("sh", "-e", "-c", collect).returncode, 0)
            with open(os.path.join(self.repository, "virtgate.sarif"), encoding="utf-8") as f:
                self.assertEqual(len(json.load(f)["runs"][0]["results"]), code)
        shutil.rmtree(os.path.join(self.repository, "manifests"))
        self.assertNotEqual(self.run_program("sh", "-e", "-c", collect).returncode, 0)

    def test_gitlab(self):
        lines = "\n".join(script("gitlab-ci.yml"))
        for name, code in (("good", 0), ("Bad", 1)):
            self.write("manifests/vm.yaml", VM % name)
            done = self.run_program("bash", "-eo", "pipefail", "-c", lines)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            suite = xml.etree.ElementTree.parse(os.path.join(self.repository, "virtgate.xml")).getroot().find("testsuite")
            self.assertEqual(int(suite.get("failures")), code)
        shutil.rmtree(os.path.join(self.repository, "manifests"))
        self.assertEqual(self.run_program("bash", "-eo", "pipefail", "-c", lines).returncode, 1)

    def test_pre_commit(self):
        """A hook that does what pre-commit does: the entry with the names of files of the commit that the pattern finds."""
        entry, pattern = scalars("pre-commit-config.yaml", "entry") + scalars("pre-commit-config.yaml", "files")
        self.assertEqual(self.run_program("git", "init", "-q").returncode, 0)
        hook = os.path.join(self.repository, ".git/hooks/pre-commit")
        os.makedirs(os.path.dirname(hook), exist_ok=True)
        with open(hook, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\ngit diff --cached --name-only | grep -E '{pattern}' | xargs -r {entry}\n")
        os.chmod(hook, 0o755)

        def commit():
            self.assertEqual(self.run_program("git", "add", "-A").returncode, 0)
            return self.run_program("git", "commit", "-qm", "x")
        first = commit()
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        self.write("manifests/vm.yaml", VM % "another")
        second = commit()  # the instance type is not in this commit, and exists
        self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
        self.assertIn("0 refused, 0 warnings in 1 object of 1 file", second.stdout + second.stderr)
        self.write("manifests/vm.yaml", VM % "Bad")
        third = commit()
        self.assertNotEqual(third.returncode, 0)
        self.assertIn("manifests/vm.yaml:3:", third.stdout + third.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
