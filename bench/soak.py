#!/usr/bin/env python3
"""Does the server stay as it is? A mixed load at a moderate rate for a long time, with a look at the server each second.

usage: soak.py [--binary build/release/virtgate] [--minutes 20] [--rate 60] [--watches 4] [--csv FILE]

Creates, reads, lists, patches, updates, deletes, watches that come and go, admission reviews, and connections that are
opened, used once and dropped, some of them in the middle of a request. Whatever is created is deleted again, so the
server should end as it began. Before the clock starts, the window of changes that the store keeps for resuming watches
is filled: it is bounded, but until it is full memory grows by design.

The verdict: no answer that was not expected, memory in the last quarter of the time at most 3% above the second quarter,
and no descriptor left over. Exit code 0 only when all of it holds.
"""
import argparse
import collections
import http.client
import json
import os
import random
import statistics
import sys
import threading
import time

import serving
from serving import MACHINES, ask, machine

KEPT = 200              # machines that stay throughout
WINDOW_CHANGES = 50_000  # what the store keeps for each resource at most, see src/store/embedded_store.h
FLAT = 0.03


class Load:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.done, self.errors = collections.Counter(), collections.Counter()
        self.events = 0

    def count(self, what, code, expected):
        with self.lock:
            self.done[what] += 1
            if code not in expected:
                self.errors[f"{what} {code}"] += 1

    # One operation each; `own` is the worker's set of machines that it may delete.
    def create(self, link, chance, own):
        name = f"soak-{chance.getrandbits(48):012x}"
        code, _ = ask(link, "POST", MACHINES, machine(name, soak="yes"))
        if code == 201:
            own.append(name)
        return code, {201}

    def delete(self, link, chance, own):
        if not own:
            return self.create(link, chance, own)
        return ask(link, "DELETE", f"{MACHINES}/{own.pop(0)}")[0], {200}

    def get(self, link, chance, own):
        return ask(link, "GET", f"{MACHINES}/kept-{chance.randrange(KEPT)}")[0], {200}

    def list(self, link, chance, own):
        query = chance.choice(("?limit=50", "?labelSelector=soak%3Dyes", "?fieldSelector=metadata.name%3Dkept-1", ""))
        return ask(link, "GET", MACHINES + query)[0], {200}

    def patch(self, link, chance, own):
        body = {"metadata": {"annotations": {"soak/number": f"{chance.getrandbits(32):08x}"}}}
        return ask(link, "PATCH", f"{MACHINES}/kept-{chance.randrange(KEPT)}", body, "application/merge-patch+json")[0], {200}

    def update(self, link, chance, own):
        path = f"{MACHINES}/kept-{chance.randrange(KEPT)}"
        code, body = ask(link, "GET", path)
        if code != 200:
            return code, {200}
        found = json.loads(body)
        found["metadata"].setdefault("annotations", {})["soak/updated"] = f"{chance.getrandbits(32):08x}"
        return ask(link, "PUT", path, found)[0], {200, 409}  # another worker may have been faster

    def review(self, link, chance, own):
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": "u", "operation": "CREATE", "name": "reviewed", "namespace": "default",
            "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
            "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]}, "object": machine("reviewed")}}
        return ask(link, "POST", chance.choice(("/virtualmachines-mutate", "/virtualmachines-validate")), body)[0], {200}

    def refused(self, link, chance, own):
        kind = chance.randrange(3)
        if kind == 0:
            return ask(link, "GET", f"{MACHINES}/nobody")[0], {404}
        if kind == 1:
            return ask(link, "POST", MACHINES, "{\"kind\":")[0], {400}
        return ask(link, "POST", MACHINES, machine("kept-0"))[0], {409}

    def connect(self, link, chance, own):
        other = self.server.connect()
        try:
            if chance.random() < 0.3:  # leaves in the middle of a request
                other.sock.sendall(b"POST " + MACHINES.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
                return 200, {200}
            return ask(other, "GET", "/readyz")[0], {200}
        finally:
            other.close()

    MIX = (("get", 30), ("list", 4), ("patch", 20), ("update", 5), ("create", 10), ("delete", 10), ("review", 12), ("refused", 5), ("connect", 4))

    def work(self, number, workers):
        chance, own = random.Random(number), []
        names, weights = [name for name, _ in self.MIX], [weight for _, weight in self.MIX]
        link = self.server.connect()
        due = time.monotonic()
        while not self.over.is_set():
            what = chance.choices(names, weights)[0]
            if what == "create" and len(own) > 20:
                what = "delete"
            try:
                self.count(what, *getattr(self, what)(link, chance, own))
            except (OSError, http.client.HTTPException) as problem:
                self.count(what, type(problem).__name__, ())
                link.close()
                link = self.server.connect()
            due = max(due + workers / self.options.rate, time.monotonic() - 1)  # after a pause of the machine: no burst
            self.over.wait(max(0, due - time.monotonic()))
        for name in own:
            self.count("delete", ask(link, "DELETE", f"{MACHINES}/{name}")[0], {200})
        link.close()

    def watch(self, number):
        """One watch after the other, each for a while, going on where the one before ended."""
        chance, version = random.Random(1000 + number), None
        while not self.over.is_set():
            link = self.server.connect()
            try:
                if version is None:
                    version = json.loads(ask(link, "GET", MACHINES + "?limit=1")[1])["metadata"]["resourceVersion"]
                link.request("GET", f"{MACHINES}?watch=1&allowWatchBookmarks=true&timeoutSeconds={chance.randrange(3, 20)}&resourceVersion={version}",
                             headers=link.fields)
                answer = link.getresponse()
                if answer.status != 200:
                    self.count("watch", answer.status, {200})
                    version = None
                    continue
                last_version, leave_after = int(version), chance.randrange(50, 500)
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.count("watch", f"event {event['object'].get('code')}", ())
                        version = None
                        break
                    version = event["object"]["metadata"]["resourceVersion"]
                    if int(version) < last_version:
                        self.count("watch", "a version that went back", ())
                    last_version = int(version)
                    self.events += 1
                    leave_after -= 1
                    if leave_after == 0 or self.over.is_set():
                        break  # without a word, as clients do
                self.count("watch", 200, {200})
            except (OSError, http.client.HTTPException) as problem:
                self.count("watch", type(problem).__name__, ())
            finally:
                link.close()


def fill(server, changes):
    """Makes the server keep as many changes as it will ever keep, with objects of the size that the load uses."""
    def work(number, count):
        link = server.connect()
        for i in range(count):
            body = {"metadata": {"annotations": {"soak/number": f"{i:08x}"}}}
            code, answer = ask(link, "PATCH", f"{MACHINES}/kept-{(8 * i + number) % KEPT}", body, "application/merge-patch+json")
            if code != 200:
                raise SystemExit(f"filling the window: {code} {answer[:300]}")
        link.close()
    link = server.connect()
    for number in range(KEPT):
        code, answer = ask(link, "POST", MACHINES, machine(f"kept-{number}"))
        if code != 201:
            raise SystemExit(f"the first machines: {code} {answer[:300]}")
    link.close()
    workers = [threading.Thread(target=work, args=(number, changes // 8)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def mean(samples, begin, end):
    part = [sample for at, sample in samples if begin <= at < end]
    return statistics.fmean(part) if part else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/virtgate"))
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--rate", type=float, default=60, help="operations a second, all workers together")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--watches", type=int, default=4)
    parser.add_argument("--fill", type=int, default=WINDOW_CHANGES, help="changes made before the clock starts")
    parser.add_argument("--csv", help="where to write a line for each second")
    options = parser.parse_args()

    server = serving.Server(options.binary)
    try:
        server.start()
        began = time.monotonic()
        fill(server, options.fill)
        print(f"{options.fill} changes in {time.monotonic() - began:.0f} s to fill the window: {server.status_kib() / 1024:.1f} MiB resident", flush=True)
        load = Load(server, options)
        idle_descriptors = server.descriptors()
        threads = [threading.Thread(target=load.work, args=(number, options.workers)) for number in range(options.workers)]
        threads += [threading.Thread(target=load.watch, args=(number,)) for number in range(options.watches)]
        for thread in threads:
            thread.start()
        total = 60 * options.minutes
        memory, descriptors, used = [], [], server.processor_s()
        csv = open(options.csv, "w") if options.csv else None
        begin = time.monotonic()
        while (at := time.monotonic() - begin) < total:
            if server.process.poll() is not None:
                print(f"the server ended with {server.process.returncode}: {server.log()[-2000:]}")
                load.errors["the server ended"] += 1
                break
            memory.append((at, server.status_kib()))
            descriptors.append((at, server.descriptors()))
            if csv:
                csv.write(f"{at:.1f},{memory[-1][1]},{descriptors[-1][1]},{sum(load.done.values())},{sum(load.errors.values())},{load.events}\n")
                csv.flush()
            if len(memory) % 60 == 0:
                print(f"{at / 60:5.1f} min  {memory[-1][1] / 1024:7.1f} MiB  {descriptors[-1][1]:3} descriptors  {sum(load.done.values())} operations  "
                      f"{load.events} events  {sum(load.errors.values())} errors", flush=True)
            time.sleep(max(0, begin + len(memory) - time.monotonic()))
        spent = time.monotonic() - begin
        share = (server.processor_s() - used) / spent if server.process.poll() is None else 0
        load.over.set()
        for thread in threads:
            thread.join(60)
        end = time.monotonic() + 10  # the server learns of closed connections when its loop next looks
        while server.process.poll() is None and server.descriptors() > idle_descriptors and time.monotonic() < end:
            time.sleep(0.05)
        left = server.descriptors() if server.process.poll() is None else -1
        exit_code = server.stop()

        quarters = [mean(memory, total * i / 4, total * (i + 1) / 4) / 1024 for i in range(4)]
        growth = quarters[3] / quarters[1] - 1 if quarters[1] else 1
        print(f"operations: {dict(sorted(load.done.items()))}, {load.events} events; the server used {100 * share:.0f}% of a core")
        print("memory by quarter: " + ", ".join(f"{quarter:.1f} MiB" for quarter in quarters) + f"; last against second {100 * growth:+.1f}%")
        print(f"descriptors: {idle_descriptors} before, {max((count for _, count in descriptors), default=0)} at most, {left} after")
        print(f"errors: {dict(load.errors) or 'none'}")
        good = growth <= FLAT and not load.errors and left <= idle_descriptors and exit_code == 0
        print("verdict: " + ("good" if good else "NOT GOOD"))
        return 0 if good else 1
    finally:
        server.clean_up()


if __name__ == "__main__":
    sys.exit(main())
