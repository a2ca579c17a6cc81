#!/usr/bin/env python3
"""What others wait while one user takes as much as they can get, in each of several ways.

Starts a server of its own, lets a user with rights in one namespace do one thing at full speed from several processes, and
measures how long another user, in another namespace, waits for one small object on one connection. Prints a row for each
way, and ends with 1 if one has a p99 over 20 ms that is more than twice that of a quiet server. The clients are nice to the
one that measures, but they need CPU as well: only an idle machine gives figures worth keeping.

    bench/greedy.py --program build/release/virtgate [--seconds 5] [--only NAME]
"""
import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import socket
import ssl
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))

OBJECTS = 2000
PROCESSES = 4
CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"
VMS = "/apis/kubevirt.io/v1/namespaces/greedy/virtualmachines"
RULES = [{"apiGroups": ["", "kubevirt.io"], "resources": ["*"], "verbs": ["*"]}]


def config_map(name, namespace="greedy", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": {"some": "label"}}, "data": data or {"k": "v"}}


def vm(name, disks=40):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "greedy"}, "spec": {
        "runStrategy": "Halted", "template": {"spec": {
            "domain": {"devices": {"disks": [{"name": f"d{i}", "disk": {"bus": "virtio"}} for i in range(disks)]}, "memory": {"guest": "64Mi"}},
            "volumes": [{"name": f"d{i}", "emptyDisk": {"capacity": "1Gi"}} for i in range(disks)]}}}}


class Asker:
    """A connection of one user."""

    def __init__(self, server, token, source="127.0.0.1"):
        self.server, self.token, self.source, self.connection = server, token, source, None

    def ask(self, method, path, body=None, media="application/json"):
        if not self.connection:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.server["port"], context=ssl.create_default_context(cafile=self.server["ca"]),
                                                          timeout=30, source_address=(self.source, 0))
        try:
            self.connection.request(method, path, body=None if body is None else json.dumps(body),
                                    headers={"Authorization": "Bearer " + self.token, **({"Content-Type": media} if body is not None else {})})
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return 0, b""


# --- what greedy users do: each is called again and again with an asker, a number of the process, and a number of the call

def small_creates(asker, process, call):
    asker.ask("POST", CONFIG_MAPS.format("greedy"), config_map(f"c{process}-{call}"))


def large_creates(asker, process, call):
    asker.ask("POST", CONFIG_MAPS.format("greedy") + "?dryRun=All", config_map(f"l{process}-{call}", big="x" * 900_000))


def many_members(asker, process, call):
    asker.ask("POST", CONFIG_MAPS.format("greedy") + "?dryRun=All", config_map(f"m{process}-{call}", **{f"k{i}": "v" for i in range(20_000)}))


def whole_lists(asker, process, call):
    asker.ask("GET", CONFIG_MAPS.format("greedy"))


def lists_by_label_of_nothing(asker, process, call):
    asker.ask("GET", CONFIG_MAPS.format("greedy") + "?labelSelector=no%3Dsuch")


def lists_by_field_of_nothing(asker, process, call):
    asker.ask("GET", CONFIG_MAPS.format("greedy") + "?fieldSelector=metadata.name%3Dnone")


def deletions_of_nothing(asker, process, call):
    asker.ask("DELETE", CONFIG_MAPS.format("greedy") + "?labelSelector=no%3Dsuch")


def deletions_of_collections(asker, process, call):
    for number in range(50):
        asker.ask("POST", CONFIG_MAPS.format("greedy"), {**config_map(f"d{process}-{number}"), "metadata": {"name": f"d{process}-{number}", "labels": {"of": f"p{process}"}}})
    asker.ask("DELETE", CONFIG_MAPS.format("greedy") + f"?labelSelector=of%3Dp{process}")


def patches_of_one_object(asker, process, call):
    asker.ask("PATCH", CONFIG_MAPS.format("greedy") + "/one", {"data": {f"p{process}": str(call)}}, "application/merge-patch+json")


def applies_to_one_object(asker, process, call):
    asker.ask("PATCH", CONFIG_MAPS.format("greedy") + f"/applied?fieldManager=m{process}&force=true", config_map("applied", **{f"a{process}": str(call)}), "application/apply-patch+yaml")


def patches_of_a_large_object(asker, process, call):
    asker.ask("PATCH", CONFIG_MAPS.format("greedy") + "/large", {"data": {"p": str(call)}}, "application/merge-patch+json")


def dry_runs_of_vms(asker, process, call):
    asker.ask("POST", VMS + "?dryRun=All", vm(f"vm{process}-{call}"))


def watches(asker, process, call):
    """Watches that are opened, see all there is, and are left."""
    for _ in range(20):
        with contextlib.suppress(OSError):
            plain = socket.create_connection(("127.0.0.1", asker.server["port"]), timeout=10)
            with ssl.create_default_context(cafile=asker.server["ca"]).wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                tls.sendall(f"GET {CONFIG_MAPS.format('greedy')}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {asker.token}\r\n\r\n".encode())
                tls.recv(65536)


def access_reviews(asker, process, call):
    asker.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
              {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "greedy"}})


def wrong_tokens(asker, process, call):
    token, asker.token = asker.token, f"wrong-{process}-{call}"
    asker.ask("GET", "/api/v1/namespaces")
    asker.token = token


def handshakes(asker, process, call):
    hello = asker.server["hello"]
    batch = []
    with contextlib.suppress(OSError):
        for _ in range(50):
            one = socket.create_connection(("127.0.0.1", asker.server["port"]), timeout=10, source_address=(f"127.0.5.{process + 1}", 0))
            one.sendall(hello)
            batch.append(one)
    for one in batch:
        one.close()


DOINGS = [small_creates, large_creates, many_members, whole_lists, lists_by_label_of_nothing, lists_by_field_of_nothing, deletions_of_nothing,
          deletions_of_collections, patches_of_one_object, applies_to_one_object, patches_of_a_large_object, dry_runs_of_vms, watches, access_reviews,
          wrong_tokens, handshakes]


def client_hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ecdh_curve("secp384r1")
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    return sent.read()


def be_greedy(doing, server, process, calls):
    os.nice(10)
    asker, call = Asker(server, server["greedy"]), 0
    while True:
        doing(asker, process, call)
        call += 1
        calls.value = call


def measure(server, seconds):
    asker, took, failed = Asker(server, server["other"], "127.0.6.1"), [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        code, _ = asker.ask("GET", CONFIG_MAPS.format("other") + "/mine")
        took.append(time.monotonic() - began)
        failed += code != 200
        time.sleep(0.002)
    took.sort()
    return took[len(took) // 2] * 1000, took[int(len(took) * 0.99)] * 1000, took[-1] * 1000, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/virtgate")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    os.environ["VIRTGATE_BINARY"] = os.path.abspath(given.program)
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/attack"))
    import harness  # noqa: E402: it reads the name of the program when it is imported

    class Site(harness.Attack):
        def runTest(self):
            pass

    site = Site()
    site.setUp()
    try:
        for name in ("greedy", "other"):
            site.namespace(name)
        server = {"port": site.one.port, "ca": site.one.pki("ca.crt"), "greedy": site.user("greedy", "glutton", RULES), "other": site.user("other", "mouse", RULES),
                  "hello": client_hello()}
        site.must("POST", CONFIG_MAPS.format("other"), config_map("mine", "other"))
        asker = Asker(server, server["greedy"])
        for number in range(OBJECTS):
            asker.ask("POST", CONFIG_MAPS.format("greedy"), config_map(f"o{number}"))
        asker.ask("POST", CONFIG_MAPS.format("greedy"), config_map("one"))
        asker.ask("POST", CONFIG_MAPS.format("greedy"), config_map("large", big="x" * 900_000))
        measure(server, 1)
        quiet = measure(server, given.seconds)
        print(f"{'doing':28} {'calls':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'failed':>7}")
        print(f"{'(quiet)':28} {'':>8} {quiet[0]:8.2f} {quiet[1]:8.2f} {quiet[2]:8.2f} {quiet[3]:7}")
        slow = []
        for doing in DOINGS:
            if given.only and given.only not in doing.__name__:
                continue
            calls = [multiprocessing.Value("q", 0) for _ in range(PROCESSES)]
            greedy = [multiprocessing.Process(target=be_greedy, args=(doing, server, number, calls[number])) for number in range(PROCESSES)]
            for one in greedy:
                one.start()
            try:
                measure(server, 0.5)
                p50, p99, most, failed = measure(server, given.seconds)
            finally:
                for one in greedy:
                    one.kill()
                    one.join()
            print(f"{doing.__name__:28} {sum(one.value for one in calls):8} {p50:8.2f} {p99:8.2f} {most:8.2f} {failed:7}", flush=True)
            if p99 > max(20, 2 * quiet[1]) or failed:
                slow.append(doing.__name__)
        if slow:
            print("others wait too long: " + ", ".join(slow))
        return 1 if slow else 0
    finally:
        site.doCleanups()


if __name__ == "__main__":
    sys.exit(main())
