"""Lets clients write, read, list and watch ConfigMaps of a server while that is killed, stopped and lied to, and records it all.

Faults of the disk and of the wall clock come from support/faults.c, which is loaded into the server; SIGKILL and SIGSTOP come from here.
"""
import collections
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import signal
import ssl
import subprocess
import tempfile
import time

from histories.check import Event, Request
from support.faults import FaultLibrary
from support.serve import BINARY, free_port, printed

COLLECTION = "/api/v1/namespaces/default/configmaps"
MEDIA = {"patch": "application/merge-patch+json", "apply": "application/apply-patch+yaml"}
METHODS = {"create": "POST", "replace": "PUT", "patch": "PATCH", "apply": "PATCH", "delete": "DELETE", "get": "GET", "list": "GET"}
VERBS = ["create"] * 4 + ["replace"] * 3 + ["patch"] * 5 + ["apply"] * 3 + ["delete"] * 3 + ["get"] * 5 + ["list"]
ANSWER_S = 90  # longer than the server takes to say that it does not know the outcome
LABEL = "histories"


class Faulty:
    """A server with faults.c in it, on a state folder and a port of its own."""

    def __init__(self, folder):
        self.folder, self.state, self.port = folder, os.path.join(folder, "state"), free_port()
        self.log = tempfile.TemporaryFile()
        self.process = None
        self.faults = FaultLibrary(folder)
        self.environment = {**os.environ, **self.faults.environment}

    def start(self):
        # Signals as Python has them, so that writing to a full disk is an error and not the end.
        self.process = subprocess.Popen([BINARY, "serve", "--api-only", "--state", self.state, "--listen", f"127.0.0.1:{self.port}"],
                                        stdout=subprocess.DEVNULL, stderr=self.log, env=self.environment, restore_signals=False)
        end = time.monotonic() + 60
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {printed(self.log)[-3000:]}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = self.connect()
                connection.request("GET", "/livez")
                if connection.getresponse().status == 200:
                    connection.close()
                    return self
            if time.monotonic() > end:
                raise AssertionError("the server does not answer: " + printed(self.log)[-3000:])
            time.sleep(0.01)

    def connect(self, timeout=ANSWER_S):
        context = ssl.create_default_context(cafile=os.path.join(self.state, "pki/ca.crt"))
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def token(self):
        with open(os.path.join(self.state, "pki/admin.token")) as file:
            return file.read().strip()

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        if self.process:
            self.process.wait()


def data_of(item):
    return item.get("data", {})


class Client:
    """One process that asks for one thing after another, and tells what it asked and what came back."""

    def __init__(self, server, number, seed, keys):
        self.server, self.number, self.keys = server, number, keys
        self.random = random.Random(seed * 1000 + number)
        self.connection, self.token, self.count = None, server.token(), 0
        self.seen = {}  # key -> version that this client saw last
        self.requests, self.sent = [], {}

    def send(self, method, path, body, media):
        if not self.connection:
            self.connection = self.server.connect()
        self.connection.request(method, path, body=None if body is None else json.dumps(body),
                                headers={"Authorization": "Bearer " + self.token, **({"Content-Type": media} if body is not None else {})})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def ask(self, verb=None):
        verb, key = verb or self.random.choice(VERBS), self.random.choice(self.keys)
        self.count += 1
        token = f"{self.number}.{self.count}"
        field = {"patch": f"p{self.number}", "apply": f"a{self.number}"}.get(verb, "v")
        data = {field: token}
        body, asked_version = None, None
        if verb in ("create", "replace", "patch", "apply"):
            self.sent[token] = data
            body = {"data": data} if verb == "patch" else {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key, "namespace": "default", "labels": {LABEL: "yes"}}, "data": data}
        # Half of the replacements and some of the patches name the version that they were made for.
        if key in self.seen and (verb == "replace" and self.random.random() < 0.5 or verb == "patch" and self.random.random() < 0.2):
            asked_version = self.seen[key]
            body.setdefault("metadata", {})["resourceVersion"] = str(asked_version)
        path = COLLECTION if verb in ("create", "list") else f"{COLLECTION}/{key}"
        path += {"apply": f"?fieldManager=m{self.number}&force=true", "list": f"?labelSelector={LABEL}"}.get(verb, "")
        began, code, answer = time.monotonic_ns(), None, {}
        try:
            code, answer = self.send(METHODS[verb], path, body, MEDIA.get(verb, "application/json"))
        except (OSError, http.client.HTTPException, ValueError):
            self.connection.close()
            self.connection = None
        if code in (500, 502, 504):
            code = None  # the outcome is unknown
        self.note(verb, key, token, began, code, answer, asked_version)
        return code

    def note(self, verb, key, token, began, code, answer, asked_version):
        version = content = uid = None
        if code is not None and code < 300:
            metadata = answer.get("metadata", {})
            if verb == "delete":
                uid = answer["details"]["uid"]
            else:
                version = int(metadata["resourceVersion"])
                content = data_of(answer) if verb != "list" else {
                    item["metadata"]["name"]: (int(item["metadata"]["resourceVersion"]), data_of(item)) for item in answer["items"]}
                if verb != "list":
                    self.seen[key] = version
        self.requests.append(Request(verb, key, token, began, time.monotonic_ns(), code, version, content, uid, asked_version))

    def run(self, operations, into):
        while len(self.requests) < operations:
            if self.ask() in (None, 429, 503):
                time.sleep(0.02)  # as a client that backs off
        into.put((self.requests, self.sent))


def watch(server, start_version, stopping, into, number):
    """Follows all changes from a version on, over every end of the connection, until the server has told of the last one."""
    events, last, token, refused = [], start_version, server.token(), None
    while stopping.value == 0 or last < stopping.value:
        connection = None
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            connection = server.connect(timeout=2)
            connection.request("GET", f"{COLLECTION}?watch=true&labelSelector={LABEL}&allowWatchBookmarks=true&resourceVersion={last}", headers={"Authorization": "Bearer " + token})
            answer = connection.getresponse()
            if answer.status != 200:
                time.sleep(0.05)
                continue
            while stopping.value == 0 or last < stopping.value:
                line = answer.readline()
                if not line.endswith(b"\n"):
                    break
                event = json.loads(line)
                if event["type"] == "ERROR":
                    refused = event["object"].get("message")
                    break
                metadata = event["object"]["metadata"]
                last = int(metadata["resourceVersion"])
                if event["type"] != "BOOKMARK":
                    content = None if event["type"] == "DELETED" else data_of(event["object"])
                    events.append(Event(last, metadata["name"], content, metadata["uid"]))
        if connection:
            connection.close()
        if refused:
            break
    into.put((number, events, refused))


class Faults:
    """What happens to the server, chosen by a seed."""

    def __init__(self, server, seed, kinds):
        self.server, self.random, self.kinds = server, random.Random(seed), kinds
        self.counts = collections.Counter()

    def strike(self):
        kind = self.random.choice(self.kinds)
        self.counts[kind] += 1
        duration = self.random.uniform(0.2, 1.5)
        if kind == "kill":
            self.server.kill()
            self.server.start()
        elif kind == "stop":
            self.server.process.send_signal(signal.SIGSTOP)
            time.sleep(duration)
            self.server.process.send_signal(signal.SIGCONT)
        else:
            self.server.faults.set(**{"clock": {"clock_step_s": self.random.choice([-3600, -5, 5, 3600, 40 * 86400])},
                               "hang": {"sync_hangs": 1}, "full": {"disk_full": 1}}[kind])
            time.sleep(duration)
            if self.random.random() < 0.2:  # and it is killed in that state
                self.server.kill()
                self.server.faults.set()
                self.server.start()
            self.server.faults.set()


KINDS = ("kill", "stop", "clock", "hang", "full")


def record(server, seed, operations, clients=8, keys=12, watches=2, kinds=KINDS, pause_s=(0.3, 1.5)):
    """Runs it all. Returns requests, events of each watch, what was sent by token, faults by kind, and what watches were refused with."""
    names = [f"key-{number}" for number in range(keys)]
    results, told, stopping = multiprocessing.Queue(), multiprocessing.Queue(), multiprocessing.Value("q", 0)
    probe = Client(server, 0, seed, names)
    _, first = probe.send("GET", f"{COLLECTION}?labelSelector={LABEL}", None, None)
    start_version = int(first["metadata"]["resourceVersion"])
    watchers = [multiprocessing.Process(target=watch, args=(server, start_version, stopping, told, number)) for number in range(watches)]
    workers = [multiprocessing.Process(target=lambda one=number: Client(server, one, seed, names).run(operations // clients, results))
               for number in range(1, clients + 1)]
    for process in watchers + workers:
        process.start()
    try:
        faults, done = Faults(server, seed, kinds), []
        while len(done) < clients:
            if kinds:
                time.sleep(faults.random.uniform(*pause_s))
                faults.strike()
            with contextlib.suppress(Exception):
                while True:
                    done.append(results.get(timeout=0.05 if kinds else 5))
        probe.keys = ["last"]
        while not any(request.code == 201 for request in probe.requests):
            probe.ask("create")  # the change with which every watch ends
        stopping.value = probe.requests[-1].version
        streams = sorted(told.get(timeout=120) for _ in watchers)
    finally:
        for process in watchers + workers:
            process.kill()
            process.join()
    done.append((probe.requests, probe.sent))
    requests = [request for some, _ in done for request in some]
    sent = {token: data for _, some in done for token, data in some.items()}
    return requests, [events for _, events, _ in streams], sent, faults.counts, [refused for _, _, refused in streams if refused]
