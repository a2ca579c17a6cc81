#!/usr/bin/env python3
"""Writes cmake/function_order.txt: the functions that a server runs, so that the linker can lay them side by side.

usage: tools/function_order.py [--binary build/release/virtgate] [--bodies DIR]

A page of code is resident as soon as one function on it, or on one of the pages around it, was called. Of 3.5 MB of
code a server calls a third, spread over all of it; side by side, that third is what is resident. What requests call
comes first, then what only the start calls. Run it after larger changes: a name that is no more is ignored, and a new
function is merely not beside the others. Starts the program under valgrind's callgrind and asks what servers are asked;
--bodies names a folder of recorded reviews ({"path": ..., "review": ...}) to ask as well.
"""
import argparse
import glob
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINES = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
HEADER = "# Functions that a server runs, those of requests first. Made by tools/function_order.py.\n"


class Server:
    def __init__(self, folder, binary):
        self.folder, self.state = folder, folder + "/state"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.log = open(folder + "/log", "wb")
        self.process = subprocess.Popen(
            ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=%s/calls" % folder, "--compress-strings=no",
             "--demangle=no", binary, "serve", "--api-only", "--state", self.state,
             "--listen", "127.0.0.1:%d" % self.port],
            stdout=self.log, stderr=self.log)

    def ask(self, method, path, body=None, kind="application/json"):
        with open(self.state + "/pki/admin.token") as token:
            headers = {"Authorization": "Bearer " + token.read().strip(), "Content-Type": kind}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request("https://127.0.0.1:%d%s" % (self.port, path), data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.read()

    def wait_until_healthy(self):
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                return self.ask("GET", "/healthz")
            except OSError:
                time.sleep(0.2)
        raise SystemExit("the server did not become healthy; see %s/log" % self.folder)

    def end_of_start(self):
        """What was called up to here goes into a file of its own."""
        subprocess.run(["callgrind_control", "-d", str(self.process.pid)], check=True, capture_output=True)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def review(kind, plural, thing):
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "1", "operation": "CREATE", "namespace": "default", "object": thing,
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": kind},
        "resource": {"group": "kubevirt.io", "version": "v1", "resource": plural}}}


def ask_for_the_usual(server, bodies):
    with open(TOP + "/examples/vm.yaml", "rb") as example:
        server.ask("POST", MACHINES, example.read(), "application/yaml")
    machine = json.loads(server.ask("GET", MACHINES))["items"][0]
    machine.update(kind="VirtualMachine", apiVersion="kubevirt.io/v1")
    one = MACHINES + "/" + machine["metadata"]["name"]
    instance = {"kind": "VirtualMachineInstance", "apiVersion": "kubevirt.io/v1", "metadata": machine["metadata"],
                "spec": machine["spec"]["template"]["spec"]}
    for act in "validate", "mutate":
        server.ask("POST", "/virtualmachines-" + act, review("VirtualMachine", "virtualmachines", machine))
        path = "/virtualmachineinstances-" + ("validate-create" if act == "validate" else act)
        server.ask("POST", path, review("VirtualMachineInstance", "virtualmachineinstances", instance))
    for path in sorted(glob.glob(bodies + "/*.json")) if bodies else []:
        with open(path) as file:
            case = json.load(file)
        server.ask("POST", case["path"], case["review"])
    for path in (MACHINES + "?limit=500", one, "/metrics", "/readyz", "/version",
                 "/api", "/apis", "/apis/kubevirt.io/v1"):
        server.ask("GET", path)
    server.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    server.ask("PUT", one, json.loads(server.ask("GET", one)))
    server.ask("PUT", one.replace("kubevirt.io", "subresources.kubevirt.io", 1) + "/start", {})
    server.ask("DELETE", one)


def called(path, binary):
    """The functions of the program that a dump of callgrind names."""
    names, ours = set(), False
    with open(path) as dump:
        for line in dump:
            if line.startswith("ob="):
                ours = line.strip().endswith(binary)
            elif ours and line.startswith("fn="):
                names.add(re.sub(r"'\d+$", "", line[3:].strip()))  # a recursion level
    return {name for name in names if re.fullmatch(r"[A-Za-z_][\w.$]*", name)}  # and no bare addresses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=TOP + "/build/release/virtgate")
    parser.add_argument("--bodies", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary = folder + "/virtgate"  # without debug information, which valgrind does not need and may not understand
        subprocess.run(["objcopy", "--strip-debug", options.binary, binary], check=True)
        server = Server(folder, binary)
        try:
            server.wait_until_healthy()
            server.end_of_start()
            ask_for_the_usual(server, options.bodies)
        finally:
            server.stop()
        start, requests = called(folder + "/calls.1", "/virtgate"), called(folder + "/calls", "/virtgate")
    with open(TOP + "/cmake/function_order.txt", "w") as out:
        out.write(HEADER + "".join(name + "\n" for name in sorted(requests) + sorted(start - requests)))
    print("%d functions of requests, %d of the start alone" % (len(requests), len(start - requests)))


main()
