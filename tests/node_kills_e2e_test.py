#!/usr/bin/env python3
"""kill -9 of serve, of a node, of a libvirtd, of a QEMU, at random moments, while guests are started, stopped, paused and migrated.

After each kill every VMI, VM, domain and process must agree again in time; no guest may be lost but the one whose QEMU was killed; who was paused stays
paused. At the end no process, socket, lock or file may be left. VIRTGATE_SEED=N repeats a run as far as time allows, VIRTGATE_KILLS=N says how many kills,
VIRTGATE_LONG=1 makes it 200 with 8 guests. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import collections
import concurrent.futures
import dataclasses
import glob
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from support import node
from support import serve as e2e
from support.node import ACTIONS, MIGRATIONS, VMIS, VMS

LONG = os.environ.get("VIRTGATE_LONG", "") not in ("", "0")
KILLS = int(os.environ.get("VIRTGATE_KILLS", "200" if LONG else "10"))
GUESTS = int(os.environ.get("VIRTGATE_GUESTS", "8" if LONG else "4"))
SEED = int(os.environ.get("VIRTGATE_SEED", "1"))
TOLD_S = 5  # until statuses are true again, on a machine that has nothing else to do
WORK_S = 30  # until a start, a stop or a migration is over, likewise
NODES = ("node01", "node02")
# Weights: every kind is killed, and what a guest goes through most often is done most often.
KINDS = {"serve": 1, "virtgate-node": 1, "libvirtd": 1, "qemu": 1}
ACTS = {"pause": 3, "unpause": 3, "migrate": 5, "stop": 2, "start": 4}
# Files that may be there at the end and were not at the beginning: of the store and of logs, which are not of guests.
MAY_STAY = (r"/store", r"/journal", r"/audit", r"\.log$", r"/pki/", r"/images/")


def busy():
    """How much longer everything takes than on an idle machine, in reason."""
    return min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), 8.0)


class Logged(e2e.Server):
    """A server whose log, and that of its nodes, goes on with the next one."""

    def launch(self):
        self.log = open(os.path.join(os.path.dirname(self.state), "serve.log"), "a+b")
        self.process = subprocess.Popen([e2e.BINARY, "serve", *self.role, "--state", self.state, "--listen", self.listen, *self.flags],
                                        stdout=subprocess.DEVNULL, stderr=self.log)  # no pipe, whose end would be that of the nodes
        return self


@dataclasses.dataclass
class Guest:
    name: str
    running: bool = True
    paused: bool | None = False  # None: nobody knows whether the last request was carried out
    uid: str | None = None
    pid: int | None = None
    node: str | None = None
    doing: str | None = "start"
    began: float = 0.0
    answer: concurrent.futures.Future | None = None
    is_mortal: bool = True  # what it was may be gone: its QEMU was killed, or it starts
    migration: str = ""
    wrong: str | None = None  # why it is not as it should be, when last looked at

    def begin(self, what, answer=None):
        self.doing, self.answer, self.began = what, answer, time.monotonic()


@dataclasses.dataclass
class Seen:
    """All sides at one time. What is None could not be asked."""
    vms: dict | None
    vmis: dict | None
    migrations: dict | None
    qemus: dict  # by guest: [(pid, node)]
    domains: dict  # by guest: [(node, state, reason)]
    definitions: dict  # by guest: [node]


class Lost(AssertionError):
    pass


class Kills(node.Node):
    nodes = 2
    verbosity = "3"
    connection = None

    @classmethod
    def start_server(cls, port=None):
        if cls.one:
            cls.one.clean_up()
        cls.one = Logged(cls.state, "-v", cls.verbosity, port=port, role=("--node", "libvirt", "--nodes", str(cls.nodes)))
        cls.drop_connection()
        cls.one.start()

    # --- what is seen ------------------------------------------------------------------------------------------------

    def listed(self, path):
        """Objects by name, over a connection that is kept; None: the server does not answer."""
        try:
            if self.connection is None:
                type(self).connection = self.one.connect()
            self.connection.request("GET", path, headers=self.one.as_admin(Accept="application/json"))
            answer = self.connection.getresponse()
            text = answer.read()
            return {one["metadata"]["name"]: one for one in json.loads(text)["items"]} if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            self.drop_connection()
            return None

    @classmethod
    def drop_connection(cls):
        if cls.connection:
            cls.connection.close()
        cls.connection = None

    def processes(self):
        found = collections.defaultdict(list)
        for pid in node.children("qemu-system", self.state):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace")
            except OSError:
                continue
            name, place = re.search(r"guest=default_([^,]*),", words), re.search(r"/nodes/(node\d+)/", words)
            if name and place:
                found[name.group(1)].append((pid, place.group(1)))
        return found

    def domains(self):
        """As libvirt has written them down: what runs, and what is defined."""
        running, defined = collections.defaultdict(list), collections.defaultdict(list)
        for place in NODES:
            for path in glob.glob(f"{self.state}/run/{place}/libvirt/qemu/run/default_*.xml"):
                try:
                    with open(path) as file:
                        status = re.search(r"<domstatus state='(\w+)' reason='([\w -]+)'", file.read(4096))
                except OSError:
                    continue
                if status:
                    running[os.path.basename(path)[len("default_"):-len(".xml")]].append((place, status.group(1), status.group(2)))
            for path in glob.glob(f"{self.state}/nodes/{place}/libvirt/config/libvirt/qemu/default_*.xml"):
                defined[os.path.basename(path)[len("default_"):-len(".xml")]].append(place)
        return running, defined

    def see(self):
        qemus, (running, defined) = self.processes(), self.domains()
        return Seen(vms=self.listed(VMS), vmis=self.listed(VMIS), migrations=self.listed(MIGRATIONS), qemus=qemus, domains=running, definitions=defined)

    # --- what must be true -------------------------------------------------------------------------------------------

    def judge(self, guest, seen):
        """What does not agree; None: everything, which is remembered."""
        if seen.vms is None or seen.vmis is None or seen.migrations is None:
            return "the server does not answer"
        if guest.answer is not None:
            if not guest.answer.done():
                return "waits for an answer"
            self.heard(guest)
            return "what was seen is older than the answer"
        vm = seen.vms[guest.name]
        if guest.doing in ("start", "stop"):  # an answer that did not come says nothing of what was done
            guest.running = vm["spec"]["runStrategy"] == "Always"
            guest.is_mortal = guest.is_mortal or guest.doing == "stop"
        guest.wrong = wrong = self.judge_running(guest, vm, seen) if guest.running else self.judge_stopped(guest, vm, seen)
        if wrong is None:
            guest.doing, guest.is_mortal = None, False
        return wrong

    def judge_stopped(self, guest, vm, seen):
        left = {"VMI": guest.name in seen.vmis, "QEMU": seen.qemus.get(guest.name), "domain": seen.domains.get(guest.name),
                "definition": seen.definitions.get(guest.name)}
        wrong = [f"{what} {found}" for what, found in left.items() if found]
        if wrong:
            return f"stopped, but there is a {', '.join(wrong)}"
        if vm["status"].get("printableStatus") != "Stopped":
            return f"stopped, but the VM says {vm['status'].get('printableStatus')}"
        guest.uid, guest.pid, guest.node, guest.paused = None, None, None, False
        return None

    def judge_running(self, guest, vm, seen):
        vmi = seen.vmis.get(guest.name)
        uid, phase = (vmi["metadata"]["uid"], vmi.get("status", {}).get("phase")) if vmi else (None, None)
        if guest.uid and not guest.is_mortal and (uid != guest.uid or phase in ("Failed", "Succeeded")):
            raise Lost(f"{guest.name} is lost: VMI {guest.uid} became {uid}, phase {phase}; {guest}")
        if not vmi or phase != "Running" or "deletionTimestamp" in vmi["metadata"]:
            return f"VMI {phase}"
        place, is_same = vmi["status"].get("nodeName"), uid == guest.uid
        if guest.doing == "migrate":
            migration = seen.migrations.get(guest.migration)
            if migration and migration.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
                return f"migration {migration.get('status', {}).get('phase')}"
        if [one for one, _, _ in seen.domains.get(guest.name, [])] != [place] or seen.definitions.get(guest.name) != [place]:
            return f"VMI on {place}, domains {seen.domains.get(guest.name)}, defined on {seen.definitions.get(guest.name)}"
        processes = seen.qemus.get(guest.name, [])
        if [one for _, one in processes] != [place]:
            return f"VMI on {place}, QEMU {processes}"
        if is_same and guest.doing != "migrate" and processes[0][0] != guest.pid:
            return f"QEMU {guest.pid} became {processes[0][0]}"
        return self.judge_pause(guest, vm, vmi, seen, is_same) or self.remember(guest, uid, processes[0])

    def judge_pause(self, guest, vm, vmi, seen, is_same):
        _, state, reason = seen.domains[guest.name][0]
        told = any(one["type"] == "Paused" and one["status"] == "True" for one in vmi["status"].get("conditions", []))
        if state not in ("running", "paused") or (state == "paused" and reason != "user"):
            return f"domain {state} ({reason})"
        if told != (state == "paused"):
            return f"domain {state} ({reason}), condition Paused {told}"
        wanted = guest.paused if is_same else False
        if wanted is not None and wanted != told:
            return f"paused is {told} and should be {wanted}"
        if vm["status"].get("printableStatus") != ("Paused" if told else "Running"):
            return f"the VM says {vm['status'].get('printableStatus')}, paused is {told}"
        guest.paused = told
        return None

    @staticmethod
    def remember(guest, uid, process):
        guest.uid, (guest.pid, guest.node) = uid, process

    # --- what is done ------------------------------------------------------------------------------------------------

    def request(self, method, path, body=None):
        """The code of the answer; None: none came."""
        try:
            return self.ask(method, path, body)[0]
        except (OSError, http.client.HTTPException):
            return None

    def heard(self, guest):
        code, guest.answer = guest.answer.result(), None
        is_done, is_refused = code is not None and code < 300, code is not None and 400 <= code < 500
        if guest.doing in ("pause", "unpause") and not is_refused:
            guest.paused = guest.doing == "pause" if is_done else None

    def possible(self, guest):
        if not guest.running:
            return ["start"]
        return ["stop", "migrate", "unpause" if guest.paused else "pause"]

    def act(self, guest, chance):
        acts = self.possible(guest)
        act = chance.choices(acts, [ACTS[one] for one in acts])[0]
        if act == "migrate":
            self.moves += 1
            guest.migration = f"move{self.moves}"
            body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": guest.migration},
                    "spec": {"vmiName": guest.name}}
            answer = self.pool.submit(self.request, "POST", MIGRATIONS, body)
        else:
            kind = "virtualmachines" if act in ("start", "stop") else "virtualmachineinstances"
            answer = self.pool.submit(self.request, "PUT", f"{ACTIONS}/{kind}/{guest.name}/{act}", {})
        guest.begin(act, answer)
        self.done[act] += 1

    def kill(self, kind, chance):
        """Kills one of that kind; what must be told of it, as a function of what is seen."""
        if kind == "serve":
            self.one.process.kill()
            self.one.process.wait()
            self.start_server(self.one.port)
            return lambda seen: seen.vms is not None
        if kind == "qemu":
            return self.kill_guest(chance)
        running = [pid for pid in node.children(kind, self.state) if self.is_program(pid, kind)]
        if not running:
            return lambda seen: True
        victim = chance.choice(sorted(running))
        self.victim = str(victim)
        self.end_process(victim)
        return lambda seen: len([pid for pid in node.children(kind, self.state) if pid != victim]) == len(NODES) and all(self.listens(one) for one in NODES)

    @staticmethod
    def end_process(pid):
        """Kills it and waits until it is dead. False: it was gone already."""
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return bool(select.select([handle], [], [], e2e.DEADLINE_S)[0])
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)

    @staticmethod
    def is_program(pid, name):
        try:
            return os.path.basename(os.readlink(f"/proc/{pid}/exe")).split(" ")[0] == name
        except OSError:
            return False

    def listens(self, place):
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.connect(f"{self.state}/run/{place}/libvirt/libvirt-sock")
                return True
            except OSError:
                return False

    def kill_guest(self, chance):
        found = [(name, pid) for name, processes in sorted(self.processes().items()) for pid, _ in processes]
        if not found:
            return lambda seen: True
        name, pid = chance.choice(found)
        guest = next(one for one in self.guests if one.name == name)
        guest.is_mortal, uid = True, guest.uid
        self.victim = f"{name} {pid}"
        if guest.doing is None:
            guest.begin("start")
        if not self.end_process(pid):
            return lambda seen: True
        moves = guest.doing == "migrate"

        def told(seen):
            vmi = (seen.vmis or {}).get(name)
            is_over = seen.vmis is not None and (not vmi or vmi["metadata"]["uid"] != uid or vmi["status"].get("phase") in ("Failed", "Succeeded"))
            return is_over or moves and seen.vmis is not None
        return told

    # --- the story ---------------------------------------------------------------------------------------------------

    def await_true(self, what, told, guests):
        """How long it took until what was killed is told, and these guests are as they should be."""
        began, patience = time.monotonic(), TOLD_S * busy()
        while True:
            seen = self.see()
            wrong = [f"{guest.name}: {why}" for guest in self.guests if (why := self.judge(guest, seen)) and guest in guests]
            took = time.monotonic() - began
            if not wrong and told(seen):
                return took
            self.assertLess(took, max(patience, TOLD_S * busy()), f"{what}: not true after {took:.1f} s: {wrong or 'the kill is not told'}")
            time.sleep(0.05)

    def await_idle(self, least):
        """Until so many guests have nothing to do."""
        while True:
            seen, now = self.see(), time.monotonic()
            wrong = {guest.name: (guest.doing, why, now - guest.began) for guest in self.guests if (why := self.judge(guest, seen))}
            if len(self.guests) - len(wrong) >= least:
                return
            for name, (doing, why, took) in wrong.items():
                self.assertLess(took, WORK_S * busy(), f"{name}: {doing} is not over after {took:.0f} s: {why}")
            time.sleep(0.1)

    def stop_all(self):
        for guest in self.guests:
            self.ask("DELETE", f"{VMS}/{guest.name}")
        for guest in self.guests:
            self.remove(guest.name)
        for name in self.listed(MIGRATIONS) or ():
            self.ask("DELETE", f"{MIGRATIONS}/{name}")
        self.until("libvirt has nothing left", lambda: not any(self.domains()) and not self.processes() and all(self.listens(one) for one in NODES))
        self.one.stop()

    def files(self):
        found = set()
        for place, folders, names in os.walk(self.state):
            found.update(os.path.join(place, name) for name in names + folders)
        return found

    def left_processes(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if self.state.encode() in (words := file.read()):
                        found.append(words.replace(b"\0", b" ").decode(errors="replace")[:200])
            except OSError:
                continue
        return found

    def left_locks(self):
        nodes = {os.lstat(path).st_ino for path in self.files()}
        with open("/proc/locks") as file:
            return [line for line in file if int(line.split()[-3].split(":")[-1]) in nodes] if nodes else []

    def rehearse(self):
        """A guest that comes, moves and goes: what stays of it may stay."""
        self.start("first")
        self.good("POST", MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "move0"},
                                       "spec": {"vmiName": "first"}})
        self.until("it moved", lambda: (self.get(f"{MIGRATIONS}/move0") or {}).get("status", {}).get("phase") == "Succeeded")
        self.remove("first")
        self.ask("DELETE", f"{MIGRATIONS}/move0")
        self.one.stop()
        self.until("nothing runs", lambda: not self.left_processes())
        return self.files()

    def run_kills(self, chance):
        took = collections.defaultdict(list)
        for number in range(KILLS):
            self.await_idle(len(self.guests) // 2)
            for guest in chance.sample(idle := [one for one in self.guests if one.doing is None], chance.randint(0, len(idle))):
                self.act(guest, chance)
            time.sleep(chance.uniform(0, 1.5))
            kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
            idle = [one for one in self.guests if one.doing is None]
            doing = {one.name: one.doing for one in self.guests if one.doing}
            began, self.victim = time.monotonic(), ""
            told = self.kill(kind, chance)
            self.await_true(f"kill {number} of {kind} while {doing}", told, idle)
            took[kind].append(time.monotonic() - began)
            if LONG:
                late = {one.name: f"{one.doing} {time.monotonic() - one.began:.0f} s: {one.wrong}" for one in self.guests if one.doing and time.monotonic() - one.began > TOLD_S}
                print(f"{number}: {kind} {self.victim} {took[kind][-1]:.1f} s, load {busy():.1f}, {doing}, late {late}", flush=True)
        self.await_idle(len(self.guests))
        return took

    def test_kills(self):
        print(f"VIRTGATE_SEED={SEED} VIRTGATE_KILLS={KILLS}", flush=True)
        chance = random.Random(SEED)
        self.moves, self.done = 0, collections.Counter()
        before = self.rehearse()
        self.start_server(self.one.port)
        self.guests = [Guest(f"g{number}") for number in range(GUESTS)]
        with concurrent.futures.ThreadPoolExecutor(GUESTS) as self.pool:
            for guest in self.guests:
                self.good("POST", VMS, self.vm(guest.name))
                guest.began = time.monotonic()
            self.await_idle(len(self.guests))
            try:
                took = self.run_kills(chance)
            except AssertionError:
                print(f"kill of {self.victim}; guests {self.guests}", flush=True)
                raise
            finally:
                self.keep_log()
        self.stop_all()
        try:
            self.until("no process is left", lambda: not self.left_processes(), 30)
        except AssertionError as late:
            raise AssertionError(f"still there: {self.left_processes()}") from late
        left = [path for path in sorted(self.files() - before) if not any(re.search(one, path[len(self.state):]) for one in MAY_STAY)]
        for kind, times in sorted(took.items()):
            print(f"{kind}: {len(times)} kills, statuses true after at most {max(times):.1f} s, on average {sum(times) / len(times):.1f} s")
        print(f"done meanwhile: {dict(self.done)}; left: {len(left)} files, {len(self.left_locks())} locks", flush=True)
        self.assertEqual((left, self.left_locks()), ([], []), "\n".join(left))

    def keep_log(self):
        if place := os.environ.get("VIRTGATE_KEEP", ""):
            with open(os.path.join(place, "objects.json"), "w") as file:
                json.dump([self.listed(one) for one in (VMIS, MIGRATIONS)], file, indent=1)
            with open(os.path.join(place, "serve.log"), "w") as file:
                file.write(self.one.errors())
            for place_of in NODES:
                log = f"{self.state}/nodes/{place_of}/libvirt/libvirtd.log"
                if os.path.exists(log):
                    shutil.copy(log, os.path.join(place, f"{place_of}-libvirtd.log"))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    unittest.main(verbosity=2)
