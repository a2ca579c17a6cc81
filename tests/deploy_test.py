#!/usr/bin/env python3
"""What stands in deploy/ agrees with the program and with what KubeVirt's operator does: the patches are those of a KubeVirt
object, the Deployment that comes out of them starts the program with flags that it knows, and the image holds what it
links to.

VIRTGATE_BINARY names the program.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import serve as e2e

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPLOY = os.path.join(SOURCE, "deploy")
KUBEVIRT = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"

# The container as KubeVirt's operator makes it, before anybody's patches.
COMMAND, ARGUMENTS = ["virt-api"], ["--port", "8443", "--console-server-port", "8186", "--subresources-only", "-v", "2"]
VIRT_API_FLAGS = {"listen", "port", "v", "kubeconfig", "master", "subresources-only", "console-server-port", "ca-configmap-name", "tls-cert-file",
                  "tls-key-file", "handler-cert-file", "handler-key-file", "externally-managed"}
DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "virt-api", "namespace": "kubevirt"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"kubevirt.io": "virt-api"}}, "template": {
        "metadata": {"labels": {"kubevirt.io": "virt-api"}},
        "spec": {"serviceAccountName": "kubevirt-apiserver", "securityContext": {"runAsNonRoot": True}, "containers": [{
            "name": "virt-api", "image": "quay.io/kubevirt/virt-api:" + e2e.KUBEVIRT_RELEASE, "command": COMMAND, "args": ARGUMENTS,
            "ports": [{"name": "virt-api", "containerPort": 8443}, {"name": "metrics", "containerPort": 8443}]}]}}}}


def run(*arguments, **more):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=e2e.DEADLINE_S, **more)


def containerfile():
    """The instructions, each on one line."""
    lines = [line for line in e2e.read(DEPLOY, "Containerfile").splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


class Flags(unittest.TestCase):
    def virt_api(self, *arguments):
        """The program under the name that the image gives it."""
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "virt-api")
            os.symlink(os.path.abspath(e2e.BINARY), name)
            return run(name, *arguments)

    def known(self):
        text = self.virt_api("--help").stdout
        return set(re.findall(r"^ +(?:-\w, )?--([\w-]+)", text, re.MULTILINE))

    def test_the_operators_arguments_are_taken(self):
        self.assertEqual(self.virt_api(*ARGUMENTS, "--help").returncode, 0)
        # customizeComponents.flags.api goes into the command, before the arguments.
        self.assertEqual(self.virt_api("--v", "5", "--externally-managed=true", *ARGUMENTS, "--help").returncode, 0)
        self.assertEqual(self.virt_api(*ARGUMENTS, "--no-such-flag").returncode, 2)

    def test_every_flag_is_virt_apis_or_explained(self):
        text = e2e.read(DEPLOY, "README.md")
        self.assertLessEqual(VIRT_API_FLAGS, self.known())
        for flag in self.known() - VIRT_API_FLAGS - {"help"}:
            self.assertIn(f"`--{flag}", text, "deploy/README.md says nothing of it")
        for flag in re.findall(r"`--([\w-]+)", text.partition("## Alone on one host")[0]):
            self.assertIn(flag, self.known(), "deploy/README.md names a flag that there is not")


@unittest.skipUnless(shutil.which("kubectl"), "no kubectl on PATH")
class Patches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="virtgate-deploy-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.server = e2e.Server(os.path.join(cls.folder, "state")).start()
        cls.addClassCleanup(cls.server.clean_up)

    def documented(self, file):
        """Runs the command that the file names in its comments, on a KubeVirt object of our own."""
        text = e2e.read(DEPLOY, file)
        command = re.search(r"^#\s+(kubectl .*)$", text, re.MULTILINE).group(1)
        self.assertIn(f"deploy/{file}", command)
        self.assertIn(command, e2e.read(DEPLOY, "README.md"), "the README has another command")
        kubeconfig = os.path.join(self.server.state, "admin.kubeconfig")
        done = run(*command.replace("kubectl ", f"kubectl --kubeconfig {kubeconfig} ", 1).split(), cwd=SOURCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, _, body = self.server.ask("GET", KUBEVIRT, None, self.server.as_admin())
        self.assertEqual(code, 200, body)
        return json.loads(body)["spec"]

    def test_there_and_back(self):
        before = json.loads(self.server.ask("GET", KUBEVIRT, None, self.server.as_admin())[2])["spec"]
        patches = self.documented("use-virtgate.yaml")["customizeComponents"]["patches"]
        self.assertEqual([(p["resourceType"], p["resourceName"], p["type"]) for p in patches], [("Deployment", "virt-api", "strategic")])
        self.patched_deployment(patches[0]["patch"])
        after = self.documented("back-to-virt-api.yaml")
        self.assertFalse(after.pop("customizeComponents", None), "nothing is left")
        before.pop("customizeComponents", None)
        self.assertEqual(after, before)

    def patched_deployment(self, patch):
        file = os.path.join(self.folder, "deployment.json")
        with open(file, "w") as out:
            json.dump(DEPLOYMENT, out)
        done = run("kubectl", "patch", "--local", "-f", file, "--type", "strategic", "-p", patch, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        spec = json.loads(done.stdout)["spec"]
        containers = spec["template"]["spec"]["containers"]
        self.assertEqual([c["name"] for c in containers], ["virt-api"], "the container is changed, not added")
        self.assertRegex(containers[0]["image"], r"/virtgate:\d")
        wanted = DEPLOYMENT["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual({**containers[0], "image": ""}, {**wanted, "image": ""}, "and nothing of it but the image")


class Image(unittest.TestCase):
    def test_starts_under_virt_apis_name_and_not_as_root(self):
        instructions = containerfile()
        last = instructions[max(i for i, line in enumerate(instructions) if line.startswith("FROM")):]
        self.assertTrue(any(re.search(r"ln -s virtgate /usr/bin/virt-api", line) for line in last), last)
        user = next(line.split()[1] for line in last if line.startswith("USER"))
        self.assertGreater(int(user), 0, "the operator demands a user that is not root, and only a number shows that")
        self.assertIn('ENTRYPOINT ["/usr/bin/virt-api"]', last)

    @unittest.skipUnless(shutil.which("dpkg-query") and shutil.which("apt-cache"), "not a Debian")
    @unittest.skipIf(e2e.SANITIZED, "sanitizers bring libraries of their own")
    def test_holds_every_library(self):
        packages = next(line for line in reversed(containerfile()) if "apt-get install" in line)
        installed = set(packages.partition("--no-install-recommends")[2].partition("&&")[0].split())
        needed = {}
        for path in re.findall(r"=> (/\S+)", run("ldd", e2e.BINARY).stdout):
            owner = run("dpkg-query", "-S", os.path.realpath(path)).stdout.partition(":")[0]
            needed[owner] = path
        base = {"libc6", "libgcc-s1", "libstdc++6", ""}  # of every Debian; and what no package owns
        for package in set(needed) - base - installed:
            self.assertTrue(any(package in run("apt-cache", "depends", "-i", other).stdout for other in installed), f"{package}, for {needed[package]}")


class Unit(unittest.TestCase):
    def settings(self):
        """Section and name of each setting, with its values."""
        section, found = "", {}
        for line in e2e.read(DEPLOY, "virtgate.service").splitlines():
            if line.startswith("["):
                section = line
            elif line and not line.startswith("#"):
                name, _, value = line.partition("=")
                found.setdefault((section, name), []).append(value)
        return found

    def command(self):
        (command,) = self.settings()["[Service]", "ExecStart"]
        return command.split()

    def test_every_flag_is_one(self):
        program, mode, *arguments = self.command()
        self.assertEqual((os.path.basename(program), mode), ("virtgate", "serve"))
        self.assertEqual(run(e2e.BINARY, mode, *arguments, "--help").returncode, 0, "the program does not take the unit's flags")
        known = run(e2e.BINARY, mode, "--help").stdout
        for text in (e2e.read(DEPLOY, "virtgate.service"), e2e.read(DEPLOY, "README.md").partition("## Alone on one host")[2]):
            for flag in re.findall(r"(?<![\w-])--(secrets-key-file|sandbox|state|listen|user)\b", text):
                self.assertRegex(known, rf"--{flag}\b")

    def test_it_runs_as_a_user_who_owns_only_the_state(self):
        settings, command = self.settings(), self.command()
        service = {name: values[-1] for (section, name), values in settings.items() if section == "[Service]"}
        self.assertEqual(command[command.index("--state") + 1], "/var/lib/" + service["StateDirectory"])
        self.assertEqual(service["StateDirectoryMode"], "0700")
        self.assertNotIn(service["User"], ("", "root"))
        self.assertEqual((service["CapabilityBoundingSet"], service["AmbientCapabilities"]), ("", ""))
        for name in ("NoNewPrivileges", "MemoryDenyWriteExecute", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictNamespaces", "LockPersonality"):
            self.assertEqual(service[name], "yes", name)
        self.assertEqual(service["ProtectSystem"], "strict")
        self.assertIn("MemoryMax", service)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
    def test_systemd_takes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = os.path.join(folder, "virtgate.service")
            with open(unit, "w") as out:  # the program is not installed where the unit looks for it
                out.write(e2e.read(DEPLOY, "virtgate.service").replace("/usr/bin/virtgate", os.path.abspath(e2e.BINARY)))
            done = run("systemd-analyze", "verify", unit)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
            self.assertEqual(done.returncode, 0, "exposed more than 2.0: " + done.stdout[-300:])


if __name__ == "__main__":
    if not e2e.BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
