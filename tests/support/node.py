"""`virtgate serve --node libvirt` as a process, with a tiny guest in its image store.

VIRTGATE_BINARY names the server; virtgate-node is beside it. The server is started as root or not: as root it becomes the user virtgate. A
machine without libvirt, QEMU or the guest's image is said in why_not().
"""
import asyncio
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import types
import unittest

from support import serve as e2e
from support import streams

NS = "/apis/kubevirt.io/v1/namespaces/default"
VMS, VMIS, MIGRATIONS = (f"{NS}/{kind}" for kind in ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"))
ACTIONS = "/apis/subresources.kubevirt.io/v1/namespaces/default"
IMAGE = "virtgate.local/demo:1"
USER, PASSWORD = "demo", "demo"
DEADLINE_S = 180  # guests are emulated, on machines that have other things to do
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # the guest's shell asks where the cursor is
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def why_not():
    """Why guests cannot be run here; None: they can."""
    if not os.path.exists(os.path.join(os.path.dirname(e2e.BINARY), "virtgate-node")):
        return "virtgate-node was not built (libvirt-dev)"
    for program in ("/usr/sbin/libvirtd", "/usr/bin/qemu-system-x86_64"):
        if not os.path.exists(program):
            return f"{program} is not installed"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("virtgate")
        except KeyError:
            return "there is no user virtgate (./dev setup)"
    if not archive():
        return "there is no guest image (./dev image)"
    return None


def archive():
    """The guest's image as an OCI archive."""
    for path in (os.environ.get("VIRTGATE_DEMO_IMAGE", ""), os.path.join(SOURCE, "build/demo/demo.tar")):
        if path and os.path.exists(path):
            return path
    return None


def as_server(command):
    """The command as the user that the server is in the end."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid", "virtgate", "--regid", "virtgate", "--init-groups", *command]


def children(program, state, word=""):
    """Process ids of that program whose command line names the state folder, and has the word."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if os.path.basename(words[0]).startswith(program.encode()) and any(state.encode() in one for one in words) and (not word or word.encode() in words):
            found.append(int(name))
    return found


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


class Screen:
    """A console of a guest that may not listen yet: whoever waits for a prompt asks again now and then, since getty throws away what came too early."""

    def __init__(self, client):
        self.client, self.seen, self.read, self.coming = client, b"", 0, None

    async def say(self, text):
        self.read = len(self.seen)
        await self.client.send(text.encode())

    def fresh(self):
        return ESCAPES.sub("", self.seen[self.read:].decode(errors="replace"))

    async def until(self, *prompts, word=None):
        """The prompt that came last since something was said, or the word once it came."""
        while True:
            fresh = self.fresh()
            found = word if word and word in fresh else next((one for one in prompts if fresh.endswith(one)), None)
            if found:
                return found
            self.coming = self.coming or asyncio.ensure_future(self.client.receive())  # cancelling it would tear a frame apart
            if (await asyncio.wait({self.coming}, timeout=5))[0]:
                self.seen, self.coming = self.seen + self.coming.result(), None
            else:
                await self.client.send(b"\n")


class Ports:
    """A port of the guest as a port of this machine, as `virtctl port-forward` has it."""

    def __init__(self, world, path):
        self.world, self.path, self.loop = world, path, asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop).result()
        return self.server.sockets[0].getsockname()[1]

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def end(self):
        self.server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for one in others:
            one.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def serve(self, reader, writer):
        try:
            client = await streams.Client.open(self.world, self.path)
        except streams.Refused:
            return writer.close()
        outwards = asyncio.create_task(self.pump(reader, client))
        try:
            while True:
                writer.write(await client.receive())
                await writer.drain()
        except (streams.Ended, ConnectionError):
            pass
        finally:
            outwards.cancel()
            client.abort()
            writer.close()

    @staticmethod
    async def pump(reader, client):
        while data := await reader.read(65536):
            await client.send(data)


class Node(unittest.TestCase):
    """One server with its nodes for all tests of a class."""

    nodes = 1
    verbosity = "3"
    place = None  # the folder of the state's folder; usually where temporary ones are

    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.folder, cls.one = tempfile.mkdtemp(prefix="vg-", dir=cls.place), None  # short: sockets are below it
        cls.addClassCleanup(cls.end)
        os.chmod(cls.folder, 0o755)
        cls.state = os.path.join(cls.folder, "s")
        os.mkdir(cls.state, 0o700)
        if os.geteuid() == 0:
            account = pwd.getpwnam("virtgate")
            os.chown(cls.state, account.pw_uid, account.pw_gid)
        copy = os.path.join(cls.folder, os.path.basename(archive()))
        shutil.copy(archive(), copy)
        os.chmod(copy, 0o644)
        subprocess.run(as_server([e2e.BINARY, "image", "load", "--state", cls.state, *(["--disk"] if copy.endswith(".qcow2") else []), copy, IMAGE]), check=True, capture_output=True)
        cls.start_server()

    @classmethod
    def start_server(cls, port=None):
        if cls.one:
            cls.one.clean_up()
        cls.one = e2e.Server(cls.state, "-v", cls.verbosity, port=port, role=("--node", "libvirt", "--nodes", str(cls.nodes)))
        cls.one.start()

    @classmethod
    def tearDownClass(cls):
        cls.end()

    @classmethod
    def end(cls):
        """Also after a setUpClass that failed; a second time does nothing."""
        if not os.path.exists(cls.folder):
            return
        try:
            if cls.one:
                cls.one.clean_up()
            for program in ("virtgate-node", "qemu-system", "libvirtd", "virtgate"):
                for pid in children(program, cls.state):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        finally:
            shutil.rmtree(cls.folder, ignore_errors=True)

    def ask(self, method, path, body=None, headers=None):
        headers = self.one.as_admin(**{"Content-Type": "application/json", "Accept": "application/json, */*", **(headers or {})})
        code, _, text = self.one.ask_again(method, path, body=None if body is None else json.dumps(body), headers=headers)
        try:
            return code, json.loads(text) if text else None
        except ValueError:
            return code, text

    def good(self, *arguments, **more):
        code, answer = self.ask(*arguments, **more)
        self.assertIn(code, (200, 201, 202), answer)
        return answer

    def get(self, path):
        try:
            code, found = self.ask("GET", path)
        except OSError:  # the server is being started
            return None
        return found if code == 200 else None

    def until(self, what, holds, seconds=DEADLINE_S):
        deadline = time.monotonic() + seconds
        while True:
            found = e2e.looked(holds)
            if found:
                return found
            self.assertLess(time.monotonic(), deadline, f"not in time: {what}\n{self.one.errors()[-6000:]}")
            time.sleep(0.02)

    def vm(self, name, strategy="Always", grace=0, **spec):
        return {
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name},
            "spec": {"runStrategy": strategy, "template": {"spec": {
                "domain": {"memory": {"guest": "128Mi"}, "devices": {
                    "rng": {}, "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                    "interfaces": [{"name": "default", "masquerade": {}, "ports": [{"port": 80}]}]}},
                "networks": [{"name": "default", "pod": {}}], "terminationGracePeriodSeconds": grace,
                "volumes": [{"name": "root", "containerDisk": {"image": IMAGE}}], **spec}}}}

    def start(self, name, **more):
        """Creates a VM, waits until it runs, and says how long that took."""
        began = time.monotonic()
        self.good("POST", VMS, self.vm(name, **more))
        self.until_phase(name, "Running")
        return time.monotonic() - began

    def phase(self, name):
        return (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("phase")

    def until_phase(self, name, wanted, seconds=DEADLINE_S):
        self.until(f"{name} {wanted}", lambda: self.phase(name) == wanted, seconds)

    def uid(self, name):
        return (self.get(f"{VMIS}/{name}") or {}).get("metadata", {}).get("uid")

    def condition(self, name, kind):
        conditions = (self.get(f"{VMIS}/{name}") or {}).get("status", {}).get("conditions", [])
        return next((one["status"] for one in conditions if one["type"] == kind), None)

    def qemu(self, name):
        """The process of that guest."""
        for pid in children("qemu-system", self.state):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if f"guest=default_{name},".encode() in file.read():
                    return pid
        return None

    def remove(self, name):
        self.ask("DELETE", f"{VMS}/{name}")
        self.until(f"{name} is gone", lambda: self.get(f"{VMIS}/{name}") is None and self.get(f"{VMS}/{name}") is None)

    def world(self):
        return types.SimpleNamespace(server=self.one, tls=self.one.context(), admin=self.one.as_admin())

    def ports(self, name, port):
        return Ports(self.world(), f"{ACTIONS}/virtualmachineinstances/{name}/portforward/{port}/tcp")

    def run_stream(self, path, talk, seconds=DEADLINE_S):
        """Opens a WebSocket and lets `talk(client)` use it."""
        world = self.world()

        async def run():
            client = await streams.Client.open(world, f"{ACTIONS}/virtualmachineinstances/{path}")
            try:
                return await asyncio.wait_for(talk(client), seconds)
            finally:
                client.abort()
        return asyncio.run(run())

    def on_port(self, name, port, sent, awaited, protocol="tcp", seconds=DEADLINE_S):
        """Sends bytes to a port of the guest, through the API, and reads until the awaited ones have come; nothing while it does not listen."""
        async def talk(client):
            seen = b""
            await client.send(sent)
            while awaited not in seen:
                seen += await client.receive()
            return seen
        try:
            return self.run_stream(f"{name}/portforward/{port}/{protocol}", talk, seconds)
        except streams.Ended:
            return None

    def action(self, name, what, kind="virtualmachineinstances", body=None):
        return self.good("PUT", f"{ACTIONS}/{kind}/{name}/{what}", body)

    def shell(self, name, command, user="root"):
        """What a command inside the guest prints, on its console; logs in where nobody has."""
        async def talk(client):
            screen = Screen(client)
            await screen.say("\n")
            while True:
                while await screen.until("login: ", "# ", "$ ") == "login: ":
                    await screen.say(f"{user}\n")
                    if await screen.until("assword: ", "login: ") == "assword: ":
                        await screen.say(f"{PASSWORD}\n")
                await screen.say(f"echo begin-$((40 + 1)); {command}; echo end-$((40 + 2))\n")
                if await screen.until("login: ", word="end-42") == "end-42":  # else it has booted meanwhile
                    return screen.fresh().partition("begin-41")[2].rpartition("end-42")[0].replace("\r", "").strip()
        return self.run_stream(f"{name}/console", talk)

    def on_console(self, name, *steps):
        """Sends and awaits texts in turn: (awaited, then sent), ...; the last one may send nothing. All that was seen."""
        async def talk(client):
            seen = b""
            await client.send(b"\n")
            for awaited, sent in steps:
                begun = len(seen)
                while awaited.encode() not in seen[begun:]:
                    seen += await client.receive()
                if sent is not None:
                    await client.send(sent.encode())
            return seen.decode(errors="replace")
        return self.run_stream(f"{name}/console", talk)
