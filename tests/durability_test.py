#!/usr/bin/env python3
"""Whether what `virtgate serve` acknowledged stays, whatever happens to its process or its disk.

The process is killed with SIGKILL at random moments while several clients write, again and again on the same state. Then
every acknowledged write must be there, a write without an answer must be there wholly or not at all, resource versions
must only grow, and a watch must go on from the last version it saw without missing or repeating anything.

The disk is made to fail by taking from the process the right to make files longer (RLIMIT_FSIZE), which needs no
privilege and can be taken back; where a small file system can be mounted, by filling that. Then writes must be refused
with 503, the server must not be ready, reading must go on, and with space everything must return by itself.

Moments are random (VIRTGATE_SEED repeats them), outcomes are not. VIRTGATE_BINARY names the program.
"""
import collections
import hashlib
import http.client
import json
import os
import random
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from support.serve import free_port, printed

BINARY = os.environ.get("VIRTGATE_BINARY", "")
SANITIZED = os.environ.get("VIRTGATE_SANITIZED", "") != ""
SEED = int(os.environ.get("VIRTGATE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
DEADLINE_S = 30
KILLS = 10 if SANITIZED else 50
MERGE = "application/merge-patch+json"

# name in the test -> apiVersion, kind, collection
KINDS = {
    "machines": ("kubevirt.io/v1", "VirtualMachine", "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"),
    "maps": ("v1", "ConfigMap", "/api/v1/namespaces/default/configmaps"),
}


def content(number, filler):
    """Annotations that show whether they are all of one write."""
    return {"test/number": str(number), "test/filler": filler, "test/sum": hashlib.sha256(f"{number} {filler}".encode()).hexdigest()}


def document(kind, name, annotations):
    api_version, kind_name, _ = KINDS[kind]
    made = {"apiVersion": api_version, "kind": kind_name, "metadata": {"name": name, "namespace": "default", "annotations": annotations}}
    if kind == "machines":
        made["spec"] = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}
    return made


def version_of(found):
    return int(found["metadata"]["resourceVersion"])


def annotations_of(found):
    return {name: value for name, value in found["metadata"].get("annotations", {}).items() if name.startswith("test/")}


# What is known of one object: its version and its annotations. None stands for "not there".
State = collections.namedtuple("State", "version annotations")


class Server:
    """One state folder and port; start() runs a process on them, kill() ends it without warning."""

    def __init__(self, state):
        self.state = state
        self.port = free_port()
        self.process = self.context = None
        self.log = tempfile.TemporaryFile()

    def launch(self):
        # Signals as Python has them: with SIGXFSZ ignored a file that may not grow is an error of that one write.
        self.process = subprocess.Popen([BINARY, "serve", "--api-only", "--state", self.state, "--listen", f"127.0.0.1:{self.port}"],
                                        stdout=subprocess.DEVNULL, stderr=self.log, restore_signals=False)
        return self

    def start(self, path="/readyz"):
        self.launch()
        end = time.monotonic() + DEADLINE_S
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.errors()}")
            try:
                with Client(self) as client:
                    if client.ask("GET", path)[0] == 200:
                        return self
            except (OSError, http.client.HTTPException):
                pass
            if time.monotonic() > end:
                raise AssertionError("the server did not become ready: " + self.errors())
            time.sleep(0.002)

    def errors(self):
        return printed(self.log)[-3000:]

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def tls(self):
        if not self.context:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(os.path.join(self.state, "pki/ca.crt"))
            with open(os.path.join(self.state, "pki/admin.token")) as file:
                self.token = file.read().strip()
            self.context = context
        return self.context


class Client:
    def __init__(self, server):
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=server.tls(), timeout=DEADLINE_S)
        self.fields = {"Authorization": "Bearer " + server.token}

    def begin(self, method, path, body=None, content_type="application/json"):
        fields = dict(self.fields, **({"Content-Type": content_type} if body is not None else {}))
        self.connection.request(method, path, body=None if body is None else json.dumps(body), headers=fields)
        return self.connection.getresponse()

    def ask(self, *arguments):
        answer = self.begin(*arguments)
        return answer.status, answer.read()

    def document(self, *arguments):
        code, body = self.ask(*arguments)
        return code, json.loads(body)

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Writer(threading.Thread):
    """Creates, updates, patches and deletes objects of its own until the server is gone. Knows what must be there."""

    def __init__(self, server, number, known, chance, acknowledged):
        super().__init__()
        self.server, self.number, self.known, self.chance, self.acknowledged = server, number, known, chance, acknowledged
        self.kind = "machines" if number % 2 else "maps"
        self.collection = KINDS[self.kind][2]
        self.unanswered = None  # (name, state before, annotations wanted or None for a removal)
        self.problem = None
        self.newest = 0

    def run(self):
        try:
            with Client(self.server) as client:
                while True:
                    self.step(client)
        except (OSError, http.client.HTTPException):
            pass  # the server is gone, in the middle of what self.unanswered says
        except Exception as problem:  # an answer that must not be; the test looks at it
            self.problem = problem

    def step(self, client):
        chance = self.chance
        name = f"{self.kind}-{self.number}-{chance.randrange(12)}"
        before = self.known.get(name)
        wanted = content(chance.getrandbits(40), "x" * chance.choice((1, 100, 3000, 30000)))
        path = f"{self.collection}/{name}"
        if before is None:
            call, code = ("POST", self.collection, document(self.kind, name, wanted)), 201
        else:
            how = chance.choice(("update", "patch", "patch", "delete"))
            if how == "update":
                full = document(self.kind, name, wanted)
                full["metadata"]["resourceVersion"] = str(before.version)
                call, code = ("PUT", path, full), 200
            elif how == "patch":
                call, code = ("PATCH", path, {"metadata": {"annotations": wanted}}, MERGE), 200
            else:
                call, code, wanted = ("DELETE", path), 200, None
        self.unanswered = (name, before, wanted)
        found_code, found = client.document(*call)
        if found_code != code:
            raise AssertionError(f"{call[0]} {name}: {found_code} {found}")
        if wanted is None:
            self.known.pop(name)
        else:
            if version_of(found) <= max(self.newest, before.version if before else 0):
                raise AssertionError(f"the version of {name} went from {before} and {self.newest} to {version_of(found)}")
            self.newest = version_of(found)
            self.known[name] = State(self.newest, wanted)
        self.unanswered = None
        self.acknowledged.release()


class Watcher(threading.Thread):
    """Follows one collection through every end of the server, from the version it saw last, and keeps a copy of it."""

    def __init__(self, server, kind):
        super().__init__(daemon=True)
        self.server, self.kind, self.collection = server, kind, KINDS[kind][2]
        self.seen = threading.Condition()
        self.copy, self.version = {}, 0
        self.lists = self.resumed = self.events = 0
        self.over, self.problem = False, None

    def run(self):
        try:
            while not self.over:
                try:
                    with Client(self.server) as client:
                        self.follow(client)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.005)  # nobody listens just now
        except Exception as problem:
            with self.seen:
                self.problem = problem
                self.seen.notify_all()

    def follow(self, client):
        if self.version == 0:
            code, found = client.document("GET", self.collection)
            if code != 200:
                raise AssertionError(f"a list: {code} {found}")
            self.lists += 1
            with self.seen:
                self.copy = {item["metadata"]["name"]: State(version_of(item), annotations_of(item)) for item in found["items"]}
                self.version = version_of(found)
                self.seen.notify_all()
        answer = client.begin("GET", f"{self.collection}?watch=1&resourceVersion={self.version}")
        if answer.status != 200:
            raise AssertionError(f"a watch from {self.version}: {answer.status} {answer.read()}")
        self.resumed += 1
        while (line := answer.readline()).endswith(b"\n"):  # else it was cut off with the server
            self.take(json.loads(line))

    def take(self, event):
        found, kind = event["object"], event["type"]
        if kind == "ERROR":
            if found.get("code") != 410:
                raise AssertionError(f"a watch ended with {found}")
            self.version = 0
            return
        name, version = found["metadata"]["name"], version_of(found)
        if version <= self.version:
            raise AssertionError(f"{kind} {name} at {version}, after {self.version} was seen")
        if (kind == "ADDED") == (name in self.copy):
            raise AssertionError(f"{kind} {name}, which was {'already' if name in self.copy else 'not'} there")
        with self.seen:
            self.events += 1
            self.version = version
            if kind == "DELETED":
                del self.copy[name]
            else:
                self.copy[name] = State(version, annotations_of(found))
            self.seen.notify_all()

    def wait_for(self, version):
        with self.seen:
            there = self.seen.wait_for(lambda: self.problem or self.version >= version, DEADLINE_S)
        if self.problem:
            raise self.problem
        if not there:
            raise AssertionError(f"the watch of {self.kind} is at {self.version} and does not come to {version}")


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="virtgate-durability-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, folder=None):
        server = Server(os.path.join(folder or self.folder, "state"))
        self.addCleanup(server.log.close)
        self.addCleanup(server.kill)
        return server

    def client(self, server):
        client = Client(server)
        self.addCleanup(client.close)
        return client

    def listed(self, client, kind):
        """Name -> State of everything in a collection that a test made, and the list's version. Nothing may be torn."""
        code, found = client.document("GET", KINDS[kind][2])
        self.assertEqual(code, 200, found)
        states = {}
        for item in found["items"]:
            annotations = annotations_of(item)
            if not annotations:
                continue  # the server's own
            self.assertEqual(annotations, content(annotations["test/number"], annotations["test/filler"]), item["metadata"]["name"])
            self.assertLessEqual(version_of(item), version_of(found))
            states[item["metadata"]["name"]] = State(version_of(item), annotations)
        return states, version_of(found)


class KilledProcess(Scratch):
    def test_what_was_acknowledged_is_there(self):
        chance = random.Random(SEED)
        server = self.server().start()
        known = {number: {} for number in range(4)}
        watchers = [Watcher(server, kind) for kind in KINDS]
        for watcher in watchers:
            watcher.start()
        acknowledged_total, unanswered_total, kept_total, newest = 0, 0, 0, 0
        for _ in range(KILLS):
            acknowledged = threading.Semaphore(0)
            writers = [Writer(server, number, known[number], random.Random(chance.getrandbits(64)), acknowledged) for number in known]
            for writer in writers:
                writer.start()
            wanted = chance.randrange(1, 80)
            for _ in range(wanted):
                self.assertTrue(acknowledged.acquire(timeout=DEADLINE_S), [writer.problem for writer in writers])
            time.sleep(chance.random() * 0.004)  # somewhere within a write
            server.kill()
            for writer in writers:
                writer.join(DEADLINE_S)
                if writer.problem:
                    raise writer.problem
            newest = max([newest, *(writer.newest for writer in writers)])
            if chance.random() < 0.2:  # dies again while it comes up
                server.launch()
                time.sleep(chance.random() * 0.03)
                server.kill()
            server.start()

            client, found, versions = Client(server), {}, []
            for kind in KINDS:
                states, version = self.listed(client, kind)
                found.update(states)
                versions.append(version)
            self.assertGreaterEqual(min(versions), newest, "the newest version that was acknowledged")
            for writer in writers:
                if writer.unanswered:
                    unanswered_total += 1
                    kept_total += self.settle(writer, found, newest)
            self.assertEqual(found, {name: state for states in known.values() for name, state in states.items()})
            newest = self.sentinels(client, watchers, found, max(versions))
            client.close()
            acknowledged_total += wanted
        for watcher in watchers:
            watcher.over = True
        server.kill()
        for watcher in watchers:
            watcher.join(DEADLINE_S)
        print(f"{KILLS} kills, more than {acknowledged_total} acknowledged writes all there; of {unanswered_total} without an answer {kept_total} were kept; "
              f"watches resumed {sum(w.resumed for w in watchers)} times, {sum(w.events for w in watchers)} events, {sum(w.lists for w in watchers)} lists", file=sys.stderr)

    def settle(self, writer, found, newest):
        """A write that got no answer happened wholly or not at all. Says which, and makes it what must be there now."""
        name, before, wanted = writer.unanswered
        now = found.get(name)
        if now == before:
            return False
        self.assertEqual(now.annotations if now else None, wanted, name)
        if now:
            self.assertGreater(now.version, before.version if before else 0, name)
            writer.known[name] = now
        else:
            writer.known.pop(name)
        return True

    def sentinels(self, client, watchers, found, newest):
        """Changes one object of each kind, waits until the watches saw it, and compares what they saw with what is there."""
        for watcher in watchers:
            name = watcher.kind + "-sentinel"
            call = ("PATCH", f"{watcher.collection}/{name}", {"metadata": {"annotations": {"seen": str(newest)}}}, MERGE)
            code, changed = client.document(*call)
            if code == 404:
                code, changed = client.document("POST", watcher.collection, document(watcher.kind, name, {"seen": str(newest)}))
            self.assertIn(code, (200, 201), changed)
            self.assertGreater(version_of(changed), newest, "a new version is above all that were ever seen")
            newest = version_of(changed)
            watcher.wait_for(newest)
            mine = {name: state for name, state in watcher.copy.items() if state.annotations}
            self.assertEqual(mine, {name: state for name, state in found.items() if name.startswith(watcher.kind)}, "the copy of a watch")
        return newest

    def test_a_watch_from_too_long_ago_is_told_to_list_again(self):
        server = self.server().start()
        client, collection = self.client(server), KINDS["maps"][2]
        code, first = client.document("POST", collection, document("maps", "large", content(0, "x")))
        self.assertEqual(code, 201, first)
        versions = [version_of(first)]
        for number in range(80):  # more than the 64 MiB of old versions that the server keeps
            code, changed = client.document("PATCH", f"{collection}/large", {"data": {"text": f"{number:08}" * (1 << 17)}}, MERGE)
            self.assertEqual(code, 200, changed)
            versions.append(version_of(changed))
        for _ in range(2):  # the second time in a new process, which must know it too
            client = self.client(server)
            answer = client.begin("GET", f"{collection}?watch=1&resourceVersion={versions[0]}")
            self.assertEqual(answer.status, 200)
            event = json.loads(answer.readline())
            self.assertEqual((event["type"], event["object"]["kind"], event["object"]["code"], event["object"]["reason"]), ("ERROR", "Status", 410, "Expired"))
            self.assertEqual(answer.readline(), b"", "the watch ends")
            answer = client.begin("GET", f"{collection}?watch=1&resourceVersion={versions[-2]}&timeoutSeconds=30")
            event = json.loads(answer.readline())
            self.assertEqual((event["type"], version_of(event["object"])), ("MODIFIED", versions[-1]))
            server.kill()
            server.start()

    def test_a_first_start_may_die_at_any_moment(self):
        chance = random.Random(SEED)
        for number in range(3 if SANITIZED else 8):
            server = self.server(os.path.join(self.folder, str(number)))
            os.mkdir(os.path.join(self.folder, str(number)))
            for _ in range(3):
                server.launch()
                time.sleep(chance.random() * (0.5 if SANITIZED else 0.08))
                server.kill()
            client = self.client(server.start())
            for path in ("/api/v1/namespaces/default", "/api/v1/namespaces/kube-system", "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt",
                         "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin"):
                self.assertEqual(client.ask("GET", path)[0], 200, path)
            server.kill()


class DiskCase(Scratch):
    def refused(self, code, body):
        status = json.loads(body)
        self.assertEqual((code, status["kind"], status["status"], status["code"]), (503, "Status", "Failure", 503), body)
        self.assertTrue(status["message"])

    def ready(self, client):
        return client.ask("GET", "/readyz")[0] == 200

    def await_ready(self, client):
        end = time.monotonic() + DEADLINE_S
        while not self.ready(client):
            self.assertLess(time.monotonic(), end, "the server does not become ready again: " + client.ask("GET", "/readyz?verbose")[1].decode())
            time.sleep(0.02)

    def await_not_ready(self, client):
        end = time.monotonic() + DEADLINE_S
        while self.ready(client):
            self.assertLess(time.monotonic(), end, "the server says that it is ready")
            time.sleep(0.02)

    def try_everything(self, server, client, path, before):
        """With a disk that takes nothing: writes are refused, everything else goes on."""
        for call in (("POST", KINDS["maps"][2], document("maps", "refused", content(1, "x"))),
                     ("PUT", path, document("maps", "first", content(2, "x"))),
                     ("PATCH", path, {"metadata": {"annotations": content(3, "x")}}, MERGE), ("DELETE", path)):
            self.refused(*client.ask(*call))
        code, body = client.ask("GET", "/readyz?verbose")
        self.assertEqual(code, 500)
        self.assertIn("store", body.decode())
        self.assertEqual(client.ask("GET", "/livez")[0], 200)
        self.assertEqual(client.document("GET", path)[1], before)
        self.assertEqual(client.ask("GET", KINDS["maps"][2])[0], 200)
        self.assertEqual(client.ask("GET", KINDS["maps"][2] + "/refused")[0], 404)

    def check_kept(self, client, expected):
        self.assertEqual(self.listed(client, "maps")[0], expected)


class FailingDisk(DiskCase):
    def test_a_disk_that_takes_nothing(self):
        server = self.server().start()
        client = self.client(server)
        path = KINDS["maps"][2] + "/first"
        code, before = client.document("POST", KINDS["maps"][2], document("maps", "first", content(0, "x")))
        self.assertEqual(code, 201)
        watch = self.client(server).begin("GET", f"{KINDS['maps'][2]}?watch=1&resourceVersion={version_of(before)}")
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        for _ in range(2):  # it may happen again
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, unlimited[1]))
            self.try_everything(server, client, path, before)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
            self.await_ready(client)  # without any traffic that would tell it
        code, after = client.document("PATCH", path, {"metadata": {"annotations": content(4, "x")}}, MERGE)
        self.assertEqual(code, 200)
        self.assertGreater(version_of(after), version_of(before))
        event = json.loads(watch.readline())  # the first that it ever says: nothing that was refused was told
        self.assertEqual((event["type"], event["object"]["metadata"]["resourceVersion"]), ("MODIFIED", after["metadata"]["resourceVersion"]))
        expected = {"first": State(version_of(after), content(4, "x"))}
        self.check_kept(client, expected)
        server.kill()
        self.check_kept(self.client(server.start()), expected)  # and nothing that was refused comes back
        server.kill()

    def write_until_refused(self, server, expected):
        """Several clients create until each was refused once. Adds to what is expected, and returns how many were taken."""
        lock, problems, refusals, before = threading.Lock(), [], [], len(expected)

        def work(number):
            try:
                with Client(server) as client:
                    for i in range(3000):
                        name, annotations = f"maps-{number}-{before}-{i}", content(i, "x" * 20000)
                        code, body = client.ask("POST", KINDS["maps"][2], document("maps", name, annotations))
                        if code != 201:
                            self.refused(code, body)
                            refusals.append(name)
                            return
                        with lock:
                            expected[name] = State(version_of(json.loads(body)), annotations)
                raise AssertionError("the disk never became full")
            except Exception as problem:
                problems.append(problem)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * DEADLINE_S)
        if problems:
            raise problems[0]
        self.assertEqual(len(refusals), 4)
        return len(expected) - before

    def test_a_disk_that_fills_while_clients_write(self):
        server = self.server().start()
        client, expected = self.client(server), {}
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        for room in (300_000, 1_000_000):
            size = os.stat(os.path.join(server.state, "store.db-wal")).st_size
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + room, unlimited[1]))
            self.assertGreater(self.write_until_refused(server, expected), 0)
            self.check_kept(client, expected)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
            self.await_ready(client)
            code, more = client.document("POST", KINDS["maps"][2], document("maps", f"after-{room}", content(room, "y")))
            self.assertEqual(code, 201, more)
            expected[f"after-{room}"] = State(version_of(more), content(room, "y"))
            self.check_kept(client, expected)
        server.kill()
        self.check_kept(self.client(server.start()), expected)
        server.kill()

    def mount_small(self):
        mounted = os.path.join(self.folder, "small")
        os.mkdir(mounted)
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "none", mounted], capture_output=True).returncode != 0:
            self.skipTest("a file system can be mounted only by root")
        self.addCleanup(subprocess.run, ["umount", "-l", mounted], check=True)
        return mounted

    def fill(self, ballast):
        """Takes all the room that there is."""
        with open(ballast, "ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass

    def test_a_file_system_that_is_full(self):
        mounted = self.mount_small()
        server = self.server(mounted).start()
        client, expected = self.client(server), {}
        ballast = os.path.join(mounted, "ballast")
        with open(ballast, "wb") as file:
            file.write(bytes(14 << 20))
        self.assertGreater(self.write_until_refused(server, expected), 0)
        self.check_kept(client, expected)
        self.fill(ballast)  # whatever a failed write gave back
        self.refused(*client.ask("POST", KINDS["maps"][2], document("maps", "refused", content(1, "x" * 20000))))
        self.assertFalse(self.ready(client))
        os.remove(ballast)
        self.await_ready(client)
        code, more = client.document("POST", KINDS["maps"][2], document("maps", "after", content(9, "y")))
        self.assertEqual(code, 201, more)
        expected["after"] = State(version_of(more), content(9, "y"))
        self.check_kept(client, expected)
        server.kill()
        self.check_kept(self.client(server.start()), expected)
        server.kill()

    def test_a_full_file_system_takes_deletions_and_a_start(self):
        mounted = self.mount_small()
        server = self.server(mounted).start()
        client, expected = self.client(server), {}
        self.assertGreater(self.write_until_refused(server, expected), 0)
        self.fill(os.path.join(mounted, "ballast"))
        def delete(client, many):
            for name in sorted(expected)[:many]:
                code, body = client.ask("DELETE", f"{KINDS['maps'][2]}/{name}")
                self.assertEqual(code, 200, body)
                del expected[name]
        delete(client, 10)
        body = client.ask("GET", "/readyz")[1].decode()
        self.assertIn("the disk is full; delete objects, or free space on it", body)
        code, body = client.document("POST", KINDS["maps"][2], document("maps", "refused", content(1, "x")))
        self.assertEqual(code, 503)
        self.assertIn("to make room, delete objects", body["message"])
        self.check_kept(client, expected)
        self.fill(os.path.join(mounted, "more-ballast"))
        server.kill()
        with open(os.path.join(server.state, "lock"), "w"):
            pass  # as if others had taken its block
        self.fill(os.path.join(mounted, "last-ballast"))
        client = self.client(server.start("/livez"))
        self.check_kept(client, expected)
        delete(client, len(expected))
        self.check_kept(client, {})
        self.await_ready(client)  # with the room that deletions made
        code, body = client.ask("POST", KINDS["maps"][2], document("maps", "after", content(1, "x")))
        self.assertEqual(code, 201, body)
        server.kill()

    def test_a_start_elsewhere_while_the_file_system_is_full(self):
        """Another port means another kubeconfig and another Service kubernetes: they wait, what is stored is served."""
        mounted = self.mount_small()
        server = self.server(mounted).start()
        code, made = self.client(server).document("POST", KINDS["maps"][2], document("maps", "kept", content(1, "x")))
        self.assertEqual(code, 201, made)
        expected = {"kept": State(version_of(made), content(1, "x"))}
        server.kill()
        ballast = os.path.join(mounted, "ballast")
        self.fill(ballast)
        elsewhere = self.server(mounted)
        client = self.client(elsewhere.start("/livez"))
        self.check_kept(client, expected)
        os.remove(ballast)
        self.await_ready(client)
        elsewhere.kill()
        elsewhere.start()
        with open(os.path.join(elsewhere.state, "admin.kubeconfig")) as file:
            self.assertIn(f":{elsewhere.port}", file.read())
        elsewhere.kill()


class MissingFiles(DiskCase):
    def test_a_state_folder_that_is_removed_while_clients_write(self):
        server = self.server().start()
        client = self.client(server)
        code, first = client.document("POST", KINDS["maps"][2], document("maps", "first", content(0, "x")))
        self.assertEqual(code, 201)
        shutil.rmtree(server.state)
        for number in range(3):
            code, body = client.ask("POST", KINDS["maps"][2], document("maps", f"later-{number}", content(1, "x")))
            self.refused(code, body)
            self.assertNotIn(server.state, body.decode(), "where it is on the host is nothing for clients")
        code, body = client.ask("GET", "/readyz")
        self.assertEqual(code, 500)
        self.assertIn("its files are gone", body.decode())
        self.assertIn(os.path.join(server.state, "store.db"), server.errors(), "the log says which")
        self.assertEqual(client.document("GET", KINDS["maps"][2] + "/first"), (200, first))
        server.process.terminate()
        self.assertEqual(server.process.wait(DEADLINE_S), 0)

    def test_a_state_folder_that_is_moved_away_while_nobody_writes(self):
        server = self.server().start()
        client = self.client(server)
        os.rename(server.state, server.state + "-away")
        self.await_not_ready(client)
        os.rename(server.state + "-away", server.state)
        self.await_ready(client)
        code, body = client.ask("POST", KINDS["maps"][2], document("maps", "after", content(1, "x")))
        self.assertEqual(code, 201, body)
        server.kill()
        self.assertEqual(list(self.listed(self.client(server.start()), "maps")[0]), ["after"])


if __name__ == "__main__":
    if not os.access(BINARY, os.X_OK):
        sys.exit(f"VIRTGATE_BINARY must name the program; it is {BINARY!r}")
    print(f"VIRTGATE_SEED={SEED}", file=sys.stderr)
    unittest.main()
