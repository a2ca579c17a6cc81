#!/usr/bin/env python3
"""Many write one object at once without naming its version: each of them means the object as it is when its turn comes,
so all succeed and nothing is lost. Who names a version still hears of a conflict."""
import json
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "."))
from support.serve import DEADLINE_S, Scratch  # noqa: E402

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE, JSON_PATCH, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
CLIENTS = 24
WRITES_EACH = 12


class Contention(Scratch):
    def setUp(self):
        super().setUp()
        self.one = self.server("--api-only").start()
        self.token = self.one.token()

    def ask(self, connection, method, path, body=None, content="application/json"):
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": content}
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)

    def at_once(self, work, clients=CLIENTS):
        """Runs work(client, connection) in so many threads; returns what each of them returned."""
        made, ready = {}, threading.Barrier(clients)

        def run(client):
            connection = self.one.connect()
            ready.wait()
            made[client] = work(client, connection)
            connection.close()

        threads = [threading.Thread(target=run, args=(client,)) for client in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S * 4)
        self.assertEqual(len(made), clients, "somebody got no answer")
        return made

    def make(self, name, **members):
        connection = self.one.connect()
        code, made = self.ask(connection, "POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **members})
        self.assertEqual(code, 201, made)
        connection.close()
        return made

    def read(self, name):
        connection = self.one.connect()
        code, found = self.ask(connection, "GET", f"{MAPS}/{name}")
        connection.close()
        self.assertEqual(code, 200, found)
        return found

    def assert_all(self, codes, made):
        counts = {}
        for results in made.values():
            for code in results:
                counts[code] = counts.get(code, 0) + 1
        self.assertEqual(set(counts) - set(codes), set(), counts)

    def test_patches_without_a_version_all_succeed(self):
        self.make("patched")

        def work(client, connection):
            return [self.ask(connection, "PATCH", f"{MAPS}/patched", {"data": {f"c{client}-{i}": "x"}}, MERGE)[0] for i in range(WRITES_EACH)]

        self.assert_all({200}, self.at_once(work))
        self.assertEqual(len(self.read("patched")["data"]), CLIENTS * WRITES_EACH, "a patch was lost")

    def test_a_large_object_is_written_by_many(self):
        """Few requests at a time may work on much, and none of them waits in line for one that waits for its turn."""
        self.make("large", data={"large": "x" * 900_000})

        def work(client, connection):
            codes = []
            for i in range(5):
                if client % 2:  # a large body comes with a turn already
                    codes.append(self.ask(connection, "PATCH", f"{MAPS}/large", {"data": {"large": str(client) * 900_000}}, MERGE)[0])
                else:
                    codes.append(self.ask(connection, "PATCH", f"{MAPS}/large", {"data": {f"c{client}-{i}": "x"}}, MERGE)[0])
            return codes

        self.assert_all({200}, self.at_once(work, clients=8))
        self.assertEqual(len(self.read("large")["data"]), 4 * 5 + 1, "a patch was lost")

    def test_applies_all_succeed(self):
        self.make("applied")

        def work(client, connection):
            codes = []
            for i in range(WRITES_EACH):
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {f"c{client}": str(i)}}
                codes.append(self.ask(connection, "PATCH", f"{MAPS}/applied?fieldManager=c{client}", body, APPLY)[0])
            return codes

        self.assert_all({200}, self.at_once(work))
        self.assertEqual(self.read("applied")["data"], {f"c{c}": str(WRITES_EACH - 1) for c in range(CLIENTS)})

    def test_updates_without_a_version_all_succeed(self):
        self.make("updated")

        def work(client, connection):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "updated"}, "data": {"who": str(client)}}
            return [self.ask(connection, "PUT", f"{MAPS}/updated", {**body, "data": {"who": f"{client}-{i}"}})[0] for i in range(WRITES_EACH)]

        self.assert_all({200}, self.at_once(work))

    def test_who_names_a_version_hears_of_the_conflict(self):
        made = self.make("versioned")

        def work(client, connection):
            body = {**made, "data": {"who": str(client)}}
            return [self.ask(connection, "PUT", f"{MAPS}/versioned", body)[0]]

        codes = sorted(code for results in self.at_once(work).values() for code in results)
        self.assertEqual(codes, [200] + [409] * (CLIENTS - 1))

    def test_an_apply_that_races_with_deletions_creates(self):
        stop = threading.Event()

        def work(client, connection):
            if client == 0:  # deletes it all the time
                while not stop.is_set():
                    self.ask(connection, "DELETE", f"{MAPS}/racing")
                return []
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "racing"}, "data": {f"c{client}": "x"}}
            codes = []
            end = time.monotonic() + 5
            for i in range(400):
                body["data"][f"c{client}"] = str(i)
                codes.append(self.ask(connection, "PATCH", f"{MAPS}/racing?fieldManager=c{client}", body, APPLY)[0])
                if time.monotonic() > end:
                    break
            if client == 1:
                stop.set()
            return codes

        self.assert_all({200, 201}, self.at_once(work, clients=5))

    def test_a_collection_is_deleted_while_others_write_it(self):
        for i in range(10):
            self.make(f"busy-{i}", data={"k": "v"})
        stop, writing = threading.Event(), threading.Barrier(9)

        def work(client, connection):
            if client == 0:
                writing.wait()  # the others are at it
                code = self.ask(connection, "DELETE", MAPS)[0]
                stop.set()
                return [code]
            i = 0
            codes = set()
            while not stop.is_set():
                i += 1
                if i == 10:
                    writing.wait()
                codes.add(self.ask(connection, "PATCH", f"{MAPS}/busy-{i % 10}", {"data": {f"c{client}": str(i)}}, MERGE)[0])
            return sorted(codes)

        self.assert_all({200, 404}, self.at_once(work, clients=9))
        connection = self.one.connect()
        left = [m["metadata"]["name"] for m in self.ask(connection, "GET", MAPS)[1]["items"]]
        connection.close()
        self.assertEqual([name for name in left if name.startswith("busy")], [])


if __name__ == "__main__":
    unittest.main()
