#!/usr/bin/env python3
"""The first steps of README.md and docs/first-steps.md, as they stand there, with a real guest.

Every line of their blocks must be known here: one that is new or spelled otherwise fails. README's are carried out in any case; VIRTGATE_VIRTCTL names a
virtctl, and with it those of docs/first-steps.md are, too. Without one `virtctl console` is stood in for. VIRTGATE_BINARY names the program.
"""
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

from support import node
from support.node import VMIS, VMS
from support.serve import free_port

VIRTCTL = os.environ.get("VIRTGATE_VIRTCTL", "")
# Done by whoever started the test, or not for every machine.
ELSEWHERE = r"\./dev (run|test)|virtgate image "


def blocks(file):
    """The commands of its blocks, without what is said about them."""
    with open(os.path.join(node.SOURCE, file)) as text:
        parts = text.read().split("```\n")[1::2]
    lines = [re.sub(r"\s+#.*", "", line) for part in parts for line in part.splitlines()]
    return [one.strip() for line in lines for one in line.split(";") if one.strip()]


def first_steps(file):
    """Those from the kubeconfig to the first block that is about something else."""
    lines = blocks(file)
    begin = next(i for i, line in enumerate(lines) if line.startswith("export KUBECONFIG="))
    end = next((i for i, line in enumerate(lines) if i > begin and line.startswith("virtctl console")), None)
    return lines[begin:end + 1]


@unittest.skipUnless(shutil.which("kubectl"), "no kubectl on PATH; `./dev setup` installs one")
class FirstSteps(node.Node):
    nodes = 2
    verbosity = "2"
    background = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tools = tempfile.mkdtemp(prefix="vg-steps-")
        cls.addClassCleanup(shutil.rmtree, cls.tools)
        if VIRTCTL:
            os.symlink(os.path.abspath(VIRTCTL), f"{cls.tools}/virtctl")
        with open(f"{cls.tools}/password", "w") as file:  # for ssh, which has no terminal here
            file.write(f"#!/bin/sh\necho {node.PASSWORD}\n")
        os.chmod(f"{cls.tools}/password", 0o755)
        cls.environment = {**os.environ, "PATH": f"{cls.tools}:{os.environ['PATH']}", "HOME": cls.tools, "KUBECONFIG": f"{cls.state}/admin.kubeconfig",
                           "SSH_ASKPASS": f"{cls.tools}/password", "SSH_ASKPASS_REQUIRE": "force"}

    def command(self, line, **more):
        done = subprocess.run(line, shell=True, cwd=node.SOURCE, env=self.environment, capture_output=True, text=True, timeout=node.DEADLINE_S, stdin=subprocess.DEVNULL, **more)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    # --- one way for each kind of line

    def kubeconfig(self, line):
        named = line.partition("=")[2]
        self.assertTrue(named.endswith("/virtgate/admin.kubeconfig"), line)
        self.assertTrue(os.path.exists(self.environment["KUBECONFIG"]))

    def image(self, _line):
        binary = os.environ["VIRTGATE_BINARY"]
        listed = subprocess.run(node.as_server([binary, "image", "list", "--state", self.state]), capture_output=True, text=True, check=True).stdout
        self.assertIn(node.IMAGE, listed)

    def console(self, line):
        if not VIRTCTL:
            self.on_console("demo", ("login:", "demo\n"), ("assword:", "demo\n"), ("$", "id -un\n"), ("demo\r\n", "exit\n"))
            return
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("sh", ["sh", "-c", "exec " + line], self.environment)
        self.expect(terminal, "Successfully connected", "\n")
        self.expect(terminal, "login: ", "demo\n")
        self.expect(terminal, "assword: ", "demo\n")
        self.expect(terminal, "$ ", "id -un\n")
        self.expect(terminal, "\r\ndemo\r\n", "exit\n")
        self.expect(terminal, "login: ", "\x1d")  # Ctrl+]; virtctl looks for it alone in what it reads at once
        ended = self.until("virtctl ends", lambda: [one for one in [os.waitpid(child, os.WNOHANG)] if one[0]], 20)
        self.assertEqual(ended[0][1], 0)
        os.close(terminal)

    def expect(self, terminal, text, answer):
        seen, deadline = "", time.monotonic() + node.DEADLINE_S
        while text not in seen:
            self.assertLess(time.monotonic(), deadline, seen)
            if select.select([terminal], [], [], 5)[0]:
                seen += os.read(terminal, 65536).decode(errors="replace")
            elif "login" in text:
                os.write(terminal, b"\n")  # nobody listened yet
        os.write(terminal, answer.encode())

    def screen(self, line):
        """Without a viewer: the proxy that one would be given."""
        port = free_port()
        proxy = subprocess.Popen(f"exec {line} --proxy-only --port {port}", shell=True, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def greeting():
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=10) as viewer:
                        return viewer.recv(12)
                except OSError:
                    return None
            self.assertEqual(self.until("the screen greets", greeting, 60), b"RFB 003.008\n")
        finally:
            proxy.kill()
            proxy.wait()

    def ssh(self, line):
        options = " ".join(f'--local-ssh-opts="-o {one}"' for one in ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "PubkeyAuthentication=no"))
        def name():  # nothing while the guest's SSH server does not listen yet
            done = subprocess.run(f"{line} {options} --command 'id -un'", shell=True, env=self.environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            return done.stdout.strip()
        self.assertEqual(self.until("somebody is let in", name), "demo")

    def ports(self, line):  # in place of Node.ports, which is for streams
        here = re.search(r"(\d+):80 &$", line).group(1)
        with open(os.path.join(node.SOURCE, "docs/first-steps.md")) as text:
            self.assertIn(f"curl http://127.0.0.1:{here}/", text.read())
        port = free_port()
        forward = subprocess.Popen("exec " + line.removesuffix(" &").replace(f"{here}:", f"{port}:"), shell=True, env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            def page():
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
                        return answer.read()
                except OSError:
                    return None
            self.assertIn(b"demo guest", self.until("a page", page))
        finally:
            forward.kill()
            forward.wait()

    def ready(self):
        self.until("the VM is ready", lambda: (self.get(f"{VMS}/demo") or {}).get("status", {}).get("ready"))

    def entry(self):
        volumes = (self.get(f"{VMIS}/demo") or {}).get("status", {}).get("volumeStatus", [])
        return next((one for one in volumes if one["name"] == "disk"), {})

    def restart(self, line):
        before = self.uid("demo")
        self.command(line)
        self.until("another VMI", lambda: self.uid("demo") not in (before, None))
        self.ready()

    def soft_reboot(self, line):
        self.until("the agent answers", lambda: self.condition("demo", "AgentConnected") == "True")
        self.command(line)

    def migrate(self, line):
        before = self.get(f"{VMIS}/demo")["status"]["nodeName"]
        self.command(line)
        self.until("another node", lambda: self.get(f"{VMIS}/demo")["status"]["nodeName"] != before)

    def plug(self, line):
        self.command(line)
        self.until("it is plugged", lambda: self.entry().get("phase") == "Ready")
        self.assertEqual(self.entry()["target"], "sda")

    def unplug(self, line):
        self.command(line)
        self.until("it is unplugged", lambda: not self.entry())

    STEPS = ((ELSEWHERE, lambda self, line: None), (r"export KUBECONFIG=", kubeconfig), (r"\./dev image$", image), (r"virtctl console demo$", console),
             (r"virtctl vnc demo$", screen), (r"virtctl ssh demo@vm/demo$", ssh), (r"virtctl port-forward vm/demo \d+:80 &$", ports),
             (r"virtctl soft-reboot demo$", soft_reboot), (r"virtctl restart demo$", restart), (r"virtctl migrate demo$", migrate), (r"virtctl addvolume ", plug),
             (r"virtctl removevolume ", unplug), (r"virtctl (pause|unpause|stop|start) ", command), (r"kubectl (create|wait|get) ", command))

    def step(self, line):
        found = next((how for pattern, how in self.STEPS if re.match(pattern, line)), None)
        self.assertIsNotNone(found, f"a new step: {line}")
        return found

    def test_1_readme(self):
        lines = first_steps("README.md")
        self.assertEqual([line.split()[0] for line in lines], ["export", "./dev", "kubectl", "kubectl", "virtctl"])
        self.assertEqual(lines, first_steps("docs/first-steps.md"), "both begin alike")
        for line in lines:
            self.step(line)(self, line)

    def test_2_document(self):
        lines = blocks("docs/first-steps.md")
        for line in lines:
            self.step(line)
        if not VIRTCTL:
            self.skipTest("VIRTGATE_VIRTCTL names no virtctl: the steps of docs/first-steps.md are only read")
        for line in lines[lines.index("virtctl console demo") + 1:]:
            self.step(line)(self, line)
        self.ready()


if __name__ == "__main__":
    unittest.main(verbosity=2)
