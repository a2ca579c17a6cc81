#!/usr/bin/env python3
"""Many VMs on simulated nodes: how long from their creation until all run, what that costs, and how long migrations take.

  bench/fleet.py [--vms 10000] [--nodes 50] [--clients 8] [--migrations 1000] [--parallel 250] [--from-node 50] [--idle 10] [--boot 1s]

Starts a server of its own (VIRTGATE_BINARY, else build/release/virtgate). CPU seconds, of the server and of the clients apart, are user and
system: on a machine that does other things too they say more than the time on the wall. --threads tells which thread of the server took
them, and how many objects were written. The clients that create run in processes of their own.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.environ.get("VIRTGATE_BINARY") or os.path.join(ROOT, "build/release/virtgate")
NS = "/apis/kubevirt.io/v1/namespaces/default"
DEADLINE_S = 600


def connect(port, state):
    context = ssl.create_default_context(cafile=os.path.join(state, "pki/ca.crt"))
    return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)


class Client:
    def __init__(self, port, state):
        with open(os.path.join(state, "pki/admin.token")) as file:
            self.headers = {"Authorization": "Bearer " + file.read().strip(), "Content-Type": "application/json"}
        self.connection = connect(port, state)

    def ask(self, method, path, body=None, **headers):
        body = None if body is None else json.dumps(body)
        self.connection.request(method, path, body=body, headers={**self.headers, **headers})
        try:
            answer = self.connection.getresponse()
        except http.client.RemoteDisconnected:  # it was idle for long
            self.connection.close()
            self.connection.request(method, path, body=body, headers={**self.headers, **headers})
            answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return text


def vm(number, boot):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": f"vm-{number:05}"},
            "spec": {"runStrategy": "Always", "template": {
                "metadata": {"annotations": {"simulated.virtgate.io/boot": boot}},
                "spec": {"domain": {"memory": {"guest": "256Mi"}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
                         "networks": [{"name": "default", "pod": {}}],
                         "volumes": [{"name": "root", "containerDisk": {"image": "example/disk:1"}}]}}}}


def migration(number):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": f"migration-{number:05}"},
            "spec": {"vmiName": f"vm-{number:05}"}}


class Poster:
    """Sends one body after the other, with little else: what the client takes is missing to the server on a small machine."""

    def __init__(self, port, state, path):
        client = Client(port, state)
        client.connection.connect()
        self.socket = client.connection.sock
        self.head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in client.headers.items())
                     + "Content-Length: ").encode()

    def post(self, body):
        self.socket.sendall(self.head + str(len(body)).encode() + b"\r\n\r\n" + body)
        answer = self.socket.recv(65536)
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self.socket.recv(65536)
        wanted = end + 4 + int(re.search(rb"(?i)content-length: *(\d+)", answer[:end]).group(1))
        while len(answer) < wanted:
            answer += self.socket.recv(65536)
        if not answer.startswith(b"HTTP/1.1 201"):
            raise RuntimeError(answer[:600])


def create(port, state, what, numbers, boot):
    """Returns the CPU seconds that it took, and when it was over."""
    began = time.process_time()
    resource, made = ("virtualmachines", vm(0, boot)) if what == "vms" else ("virtualmachineinstancemigrations", migration(0))
    poster = Poster(port, state, f"{NS}/{resource}")
    body = json.dumps(made)
    for number in numbers:
        poster.post(body.replace("-00000", f"-{number:05}").encode())
    return time.process_time() - began, time.monotonic()


class Server:
    def __init__(self, options):
        self.state = tempfile.mkdtemp(prefix="virtgate-fleet-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = open(os.path.join(self.state, "log"), "w")
        self.process = subprocess.Popen([BINARY, "serve", "--state", self.state, "--listen", f"127.0.0.1:{self.port}", "--node", "simulated",
                                         "--nodes", str(options.nodes), "--default-instancetypes", "false"], stdout=subprocess.DEVNULL, stderr=self.log)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                self.client = Client(self.port, self.state)
                if self.client.ask("GET", "/readyz"):
                    return
            except (OSError, RuntimeError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.02)

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads_cpu_s(self):
        ticks = os.sysconf("SC_CLK_TCK")
        sums = {}
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/stat") as file:
                name, fields = file.read().split("(", 1)[1].rsplit(")", 1)
            fields = fields.split()
            sums[f"{name} {thread}"] = (int(fields[11]) + int(fields[12])) / ticks
        return sums

    def revision(self):
        return int(re.search(rb'"resourceVersion":"(\d+)"', self.client.ask("GET", "/api/v1/namespaces?limit=1")).group(1))

    def memory_mib(self, field="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(field + r":\s+(\d+)", file.read()).group(1)) / 1024

    def count(self, resource, member, value):
        text = self.client.ask("GET", f"{NS}/{resource}").decode()
        return text.count(f'"{member}":"{value}"')

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.state, ignore_errors=True)


def watch_until(server, resource, wanted, of):
    """Follows one watch until so many objects were once as `wanted` says; asks nothing else of the server."""
    connection = connect(server.port, server.state)
    connection.request("GET", f"{NS}/{resource}?watch=1", headers=server.client.headers)
    answer = connection.getresponse()
    done = set()
    deadline = time.monotonic() + DEADLINE_S
    rest = b""
    while len(done) < of and time.monotonic() < deadline:
        piece = answer.read1(1 << 20)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if wanted in line:
                name = line.index(b'"name":"') + 8
                done.add(line[name:line.index(b'"', name)])
    connection.close()
    return len(done)


def spread(pool, server, what, count, options):
    return [pool.submit(create, server.port, server.state, what, range(first, count, options.clients), options.boot) for first in range(options.clients)]


def measure(server, pool, name, resource, wanted, what, count, options):
    cpu, began, own = server.cpu_s(), time.monotonic(), time.process_time()
    threads, revision = server.threads_cpu_s(), server.revision()
    made = spread(pool, server, what, count, options)
    reached = watch_until(server, resource, wanted, count)
    wall = time.monotonic() - began
    cpu = server.cpu_s() - cpu
    clients = sum(one.result()[0] for one in made) + time.process_time() - own
    created = max(one.result()[1] for one in made) - began
    if reached < count:
        raise RuntimeError(f"{name}: only {reached} of {count}")
    print(f"{name}: {wall:.1f} s (all created after {created:.1f} s), {cpu:.1f} CPU s and {clients:.1f} of the clients, {server.memory_mib():.0f} MiB resident, "
          f"at most {server.memory_mib('VmHWM'):.0f} MiB", flush=True)
    if options.threads:
        print(f"  {(server.revision() - revision) / count:.1f} writes each; " + ", ".join(
            f"{name}: {now - threads.get(name, 0):.1f}" for name, now in sorted(server.threads_cpu_s().items(), key=lambda one: -one[1])[:6]))
    return wall


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vms", type=int, default=10000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--migrations", type=int, default=1000)
    parser.add_argument("--parallel", type=int, default=250, help="parallelMigrationsPerCluster")
    parser.add_argument("--from-node", type=int, default=50, help="parallelOutboundMigrationsPerNode")
    parser.add_argument("--idle", type=int, default=10, help="seconds to look at a server that has nothing to do")
    parser.add_argument("--boot", default="1s")
    parser.add_argument("--clients", type=int, default=8, help="processes that create, one request at a time each: with few of them their round trips are measured")
    parser.add_argument("--threads", action="store_true", help="tell the CPU seconds of threads, and the writes")
    parser.add_argument("--keep", action="store_true", help="leave the server running until a key is pressed")
    options = parser.parse_args()
    server = Server(options)
    try:
        print(f"server {server.process.pid}, {server.memory_mib():.0f} MiB", flush=True)
        server.client.ask("PATCH", "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt",
                          {"spec": {"configuration": {"migrations": {"parallelMigrationsPerCluster": options.parallel,
                                                                     "parallelOutboundMigrationsPerNode": options.from_node}}}},
                          **{"Content-Type": "application/merge-patch+json"})
        with concurrent.futures.ProcessPoolExecutor(options.clients) as pool:
            measure(server, pool, f"{options.vms} VMs running", "virtualmachines", b'"printableStatus":"Running"', "vms", options.vms, options)
            time.sleep(2)
            cpu, began = server.cpu_s(), time.monotonic()
            time.sleep(options.idle)
            share = (server.cpu_s() - cpu) / (time.monotonic() - began)
            print(f"idle: {share:.2%} of a core, {server.memory_mib():.0f} MiB resident", flush=True)
            if options.migrations:
                measure(server, pool, f"{options.migrations} migrations", "virtualmachineinstancemigrations", b'"phase":"Succeeded"', "migrations",
                        options.migrations, options)
        if options.keep:
            input(f"server {server.process.pid} at {server.port}, state {server.state}; press enter")
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
