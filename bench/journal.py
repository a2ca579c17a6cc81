#!/usr/bin/env python3
"""What the journal of requests costs: the same requests with it and without it, in one run.

usage: journal.py [--binary build/release/virtgate] [--requests 2000] [--seconds 2] [--rounds 5] [--only instructions|times]

Instructions are counted by callgrind in a server that does nothing else (two runs with different numbers of requests, so that starting
and stopping cancel out): they are the same whatever else the machine does. Times are requests a second of two servers that take turns,
many short rounds, and the ratio is that of the medians. The goal is 3 %.

  review   a webhook review of the cluster mode that is let through (one in 64 is recorded)
  create   a VM, durable, which is recorded
  action   a `stop` of a VM, which is recorded
"""
import argparse
import http.client
import json
import os
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests"))
GOAL = 0.03
VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
ACTIONS = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachines"


def review(name):
    with open(os.path.join(HERE, name + ".json")) as file:
        case = json.load(file)
    return case["path"], case["review"]


class Server:
    def __init__(self, binary, journal, tool=()):
        from support import serve as e2e
        self.folder = tempfile.mkdtemp(prefix="journal-bench-")
        self.state, self.port, self.count = os.path.join(self.folder, "state"), e2e.free_port(), 0
        self.process = subprocess.Popen([*tool, binary, "serve", "--api-only", "--sandbox", "off", "--journal", journal, "--state", self.state, "--listen", f"127.0.0.1:{self.port}"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        end = time.monotonic() + 300
        while True:
            try:
                with open(os.path.join(self.state, "pki/admin.token")) as file:
                    self.token = file.read().strip()
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=300)
                if self.ask("GET", "/readyz") == 200:
                    break
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > end:
                raise SystemExit("the server does not become ready")
            time.sleep(0.05)
        with open(os.path.join(HERE, "vm-mutate.json")) as file:
            self.vm = json.load(file)["review"]["request"]["object"]
        self.create("there")

    def ask(self, method, path, body=None):
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json", "User-Agent": "kubectl/v1.32.0 (linux/amd64) kubernetes/70d3cc9"}
        self.connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def create(self, name=None):
        self.count += 1
        return self.ask("POST", VMS, {**self.vm, "metadata": {"name": name or f"vm-{self.count}", "namespace": "default"}})


    def action(self):
        return self.ask("PUT", f"{ACTIONS}/there/stop", {})

    def run(self, what, count):
        for _ in range(count):
            getattr(self, what)()

    def stop(self):
        self.process.terminate()
        self.process.wait(300)
        shutil.rmtree(self.folder, ignore_errors=True)


class Replica:
    """`virtgate cluster` before a `virtgate serve --api-only`, asked for reviews."""
    world = None

    def __init__(self, binary, journal, tool=()):
        os.environ["VIRTGATE_BINARY"] = os.path.abspath(binary)
        from support import cluster

        class World(cluster.Cluster):
            pass
        if not Replica.world:
            World.setUpClass()
            Replica.world = World
        self.gateway = cluster.Gateway(Replica.world.folder, "--sandbox", "off", "--journal", journal)
        popen = subprocess.Popen
        subprocess.Popen = lambda command, **more: popen([*tool, *command], **more)
        try:
            self.gateway.launch()
        finally:
            subprocess.Popen = popen
        self.process = self.gateway.process
        cluster.until("it serves", self.gateway.serves, 300)
        self.path, self.body = review("vmi-validate")
        self.body = json.dumps(self.body)
        self.connection = http.client.HTTPSConnection("127.0.0.1", self.gateway.port, context=self.gateway.context(), timeout=300)

    def run(self, what, count):
        for _ in range(count):
            self.connection.request("POST", self.path, body=self.body, headers={"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            if not json.loads(answer.read())["response"]["allowed"]:
                raise SystemExit("the review was refused")

    def stop(self):
        self.process.terminate()
        self.process.wait(300)

    @classmethod
    def end(cls):
        if cls.world:
            cls.world.doClassCleanups()


def instructions(binary, journal, what, count):
    """Of one server's whole life."""
    folder = tempfile.mkdtemp(prefix="journal-bench-")
    try:
        out = os.path.join(folder, "out")
        server = (Replica if what == "review" else Server)(binary, journal, ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"))
        server.run(what, count)
        server.stop()
        with open(out) as file:
            return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def count_instructions(options):
    print(f"instructions a request ({options.requests} requests)")
    for what in options.what:
        each = {}
        for journal in ("off", "on"):
            few = instructions(options.binary, journal, what, 50)
            each[journal] = (instructions(options.binary, journal, what, 50 + options.requests) - few) / options.requests
        more = each["on"] / each["off"] - 1
        print(f"{what:8} off {each['off']:10,.0f}   on {each['on']:10,.0f}   {100 * more:+.1f} %" + ("" if more <= GOAL else "   MISSED"), flush=True)


def measure_times(options):
    print(f"requests a second (medians of {options.rounds} rounds of {options.seconds} s in turns)")
    for what in options.what:
        servers = {journal: (Replica if what == "review" else Server)(options.binary, journal) for journal in ("off", "on")}
        try:
            rates = {"off": [], "on": []}
            for _ in range(options.rounds):
                for journal, server in servers.items():
                    server.run(what, 20)
                    began, used, done = time.monotonic(), cpu_of(server.process.pid), 0
                    while time.monotonic() - began < options.seconds:
                        server.run(what, 20)
                        done += 20
                    rates[journal].append((cpu_of(server.process.pid) - used) / done)
            off, on = (statistics.median(rates[journal]) for journal in ("off", "on"))
            print(f"{what:8} off {1e6 * off:7.1f} us   on {1e6 * on:7.1f} us of CPU a request   {100 * (on / off - 1):+.1f} %", flush=True)
        finally:
            for server in servers.values():
                server.stop()


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/virtgate")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("instructions", "times"))
    parser.add_argument("--what", default="review,create,action", type=lambda text: text.split(","))
    options = parser.parse_args()
    try:
        if options.only != "times":
            count_instructions(options)
        if options.only != "instructions":
            measure_times(options)
    finally:
        Replica.end()


main()
