#!/usr/bin/env python3
"""The audit log under attack: whoever may do nothing must not be able to empty it, and it says who read what.

VIRTGATE_BINARY names the program.
"""
import base64
import concurrent.futures
import glob
import json
import os
import sys
import time
import unittest

from harness import DEADLINE_S, LONG, Attack

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


def until(what, holds):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end, "it did not happen: " + what
        time.sleep(0.02)


def plain(event):
    """What an Event of audit.k8s.io/v1 says, flat, so that lines can be compared."""
    assert (event["kind"], event["apiVersion"], event["level"]) == ("Event", "audit.k8s.io/v1", "Metadata"), event
    assert event["auditID"] and event["stage"], event
    notes, target = event.get("annotations", {}), event.get("objectRef", {})
    resource = "/".join(part for part in (target.get("apiGroup"), target.get("resource")) if part)
    counts = {key.removeprefix("virtgate.io/"): int(value) for key, value in notes.items() if key.startswith("virtgate.io/") and value.isdigit()}
    return {"verb": event.get("verb"), "path": event.get("requestURI", "").partition("?")[0], "user": event.get("impersonatedUser", event.get("user", {})).get("username", ""),
            "resource": resource, "name": target.get("name"), "decision": notes.get("authorization.k8s.io/decision"), "reason": notes.get("authorization.k8s.io/reason"),
            "code": event.get("responseStatus", {}).get("code"), "summary": notes.get("virtgate.io/summary"), "credential": notes.get("virtgate.io/credential"),
            "address": (event.get("sourceIPs") or [None])[0], "first": event.get("requestReceivedTimestamp"), "last": event.get("stageTimestamp"), **counts}


class AuditLog(Attack):
    def lines(self, name=None):
        """All lines of the audit log that are written, or of one of its logs."""
        found = []
        for path in sorted(glob.glob(os.path.join(self.state, (name or "audit*.log") + "*"))):
            with open(path) as file:
                found += [plain(json.loads(line)) for line in file if line.endswith("\n")]
        return found

    def flood(self, count, method, path, body=None, token=None):
        """Asks again and again on a few connections; returns how often each code came."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = "Bearer " + token
        text = json.dumps(body) if body else None

        def some(number):
            connection, codes = self.one.connect(), []
            for _ in range(number):
                connection.request(method, path, body=text, headers=headers)
                answer = connection.getresponse()
                answer.read()
                codes.append(answer.status)
            connection.close()
            return codes
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            codes = sum(pool.map(some, [count // 4] * 4), [])
        return {code: codes.count(code) for code in set(codes)}

    def test_refusals_do_not_push_out_changes(self):
        self.namespace("a")
        token = self.user("a", "mallory", [])
        count = 20000 if LONG else 2000
        codes = self.flood(count, "POST", "/api/v1/namespaces/a/configmaps", CONFIG_MAP, token)
        self.assertLessEqual(set(codes), {403, 429}, "some may be turned away unread")
        self.assertGreater(codes[403], 300, "enough to be limited")
        # What is answered "created" to everybody changes nothing either.
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "a"}}
        reviews = self.flood(400, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review, token)
        self.assertLessEqual(set(reviews), {201, 429})
        self.one.stop()
        changes = self.lines("audit.log")
        who = "system:serviceaccount:a:mallory"
        self.assertEqual([line for line in changes if line.get("user") == who], [])
        self.assertIn(("create", "namespaces", "a"), [(line["verb"], line["resource"], line.get("name")) for line in changes])
        theirs = [line for line in self.lines() if line.get("user") == who]
        written = [line for line in theirs if not line.get("summary")]
        self.assertGreaterEqual(len(written), 50)
        self.assertLess(len(written), 200, "a flood has few lines")
        self.assertEqual((written[0]["decision"], written[0]["code"]), ("forbid", 403))
        sums = [line for line in theirs if line.get("summary")]
        self.assertGreater(len(sums), 0)
        self.assertEqual(len(written) + sum(line.get("refused", 0) + line.get("failed", 0) for line in sums), codes[403] + reviews.get(201, 0),
                         "nothing is forgotten")
        for line in sums:
            self.assertLessEqual(line["first"], line["last"])

    def test_reads_of_secrets_are_recorded(self):
        self.namespace("a")
        reader = self.user("a", "reader", [{"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch"]}])
        nobody = self.user("a", "nobody", [])
        content = base64.b64encode(b"the content of the secret").decode()
        self.must("POST", "/api/v1/namespaces/a/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": content}})
        secrets = "/api/v1/namespaces/a/secrets"
        self.assertEqual(self.call("GET", f"{secrets}/s", token=reader)[0], 200)
        self.assertEqual(self.call("GET", secrets, token=reader)[0], 200)
        self.assertEqual(self.call("GET", f"{secrets}?watch=1&timeoutSeconds=1", token=reader)[0], 200)
        self.assertEqual(self.call("GET", "/api/v1/namespaces/a/configmaps", token=reader)[0], 200)
        self.assertEqual(self.call("GET", f"{secrets}/s", token=nobody)[0], 403)
        self.one.stop()
        seen = {(line.get("user", "").rsplit(":")[-1], line.get("verb"), line.get("resource"), line.get("decision")) for line in self.lines()}
        for verb in ("get", "list", "watch"):
            self.assertIn(("reader", verb, "secrets", "allow"), seen)
        self.assertIn(("nobody", "get", "secrets", "forbid"), seen)
        self.assertNotIn(("reader", "list", "configmaps", "allow"), seen)
        self.no_secrets(content, reader, nobody)

    def test_a_watch_of_secrets_is_recorded_when_it_begins(self):
        connection = self.one.connect()
        connection.request("GET", "/api/v1/secrets?watch=1", headers=self.one.as_admin())
        self.assertEqual(connection.getresponse().status, 200)
        until("the line is there", lambda: any(line.get("verb") == "watch" for line in self.lines()))
        connection.close()

    def test_failed_authentication_is_recorded_without_what_was_shown(self):
        # Both are sent to the server and must not be found in what it keeps.
        opaque = "opaque-credential-" + "x" * 40
        self.assertEqual(self.call("GET", "/api/v1/namespaces", token=opaque)[0], 401)
        self.assertEqual(self.one.get("/metrics", headers={"Authorization": "Bearer " + opaque})[0], 401)
        self.assertEqual(self.one.get("/api/v1/namespaces", headers={"Authorization": "Basic " + opaque})[0], 401)
        self.assertEqual(self.one.get("/api/v1/namespaces")[0], 401)
        until("the lines are there", lambda: len(self.failed()) >= 4)
        failed = self.failed()
        self.assertEqual({line["address"] for line in failed}, {"127.0.0.1"})
        self.assertEqual([line["credential"] for line in failed], ["bearer token", "bearer token", "authorization of another scheme", "none"])
        self.assertEqual([line["path"] for line in failed], ["/api/v1/namespaces", "/metrics", "/api/v1/namespaces", "/api/v1/namespaces"])
        self.assertTrue(all(line["reason"] for line in failed))
        count = 2000 if LONG else 800
        codes = self.flood(count, "GET", "/api/v1/namespaces", token=opaque)
        self.assertLessEqual(set(codes), {401, 429}, "some may be turned away unread")
        self.assertGreater(codes[401], 150, "enough to be limited")
        self.one.stop()
        self.assertLess(len(self.failed()), 200)
        counted = len(self.failed()) + sum(line.get("unauthenticated", 0) for line in self.lines())
        self.assertGreaterEqual(counted, codes[401] + 4, "nothing is forgotten")
        self.assertLessEqual(counted, count + 4)
        self.no_secrets(opaque)

    def failed(self):
        return [line for line in self.lines() if line.get("decision") == "unauthenticated"]

    def no_secrets(self, *texts):
        """Nothing that proves who somebody is stands in the audit log or the log."""
        admin = self.one.token()
        for path in glob.glob(os.path.join(self.state, "audit*")):
            with open(path) as file:
                text = file.read()
            for secret in (*texts, admin):
                self.assertNotIn(secret, text, path)
        for secret in (*texts, admin):
            self.assertNotIn(secret, self.one.errors())

    def test_texts_of_users_stay_texts(self):
        self.namespace("a")
        token = self.user("a", "mallory", [])
        for name in ("%0a%7b%22stageTimestamp%22%3a%22forged%22%7d", "x" * 3000, "%1b%5b2J", "%ff%fe"):
            self.call("DELETE", f"/api/v1/namespaces/a/configmaps/{name}", token=token)
        self.call("GET", "/api/v1/namespaces", headers={"Impersonate-User": "j\u00e4ne" * 200})
        self.one.stop()
        for line in self.lines():  # each is JSON of its own
            self.assertNotEqual(line["last"], "forged")
            self.assertLess(len(json.dumps(line)), 6000)

    def test_a_client_that_leaves_does_not_hide_a_change(self):
        connection = self.raw()
        body = json.dumps({**CONFIG_MAP, "metadata": {"name": "hidden"}})
        connection.sendall((f"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.one.token()}\r\n"
                            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        connection.close()
        until("it is there", lambda: self.call("GET", "/api/v1/namespaces/default/configmaps/hidden")[0] == 200)
        until("it is recorded", lambda: any(line.get("name") == "hidden" for line in self.lines("audit.log")))


class Unwritable(Attack):
    """The audit log cannot be written: a link stands in its place, which is not followed."""

    def fill(self):
        path = os.path.join(self.state, "audit.log")
        os.rename(path, path + ".away")
        os.symlink("/dev/full", path)

    def empty(self):
        path = os.path.join(self.state, "audit.log")
        os.unlink(path)
        os.rename(path + ".away", path)

    def create(self, name):
        return self.call("POST", "/api/v1/namespaces/default/configmaps", {**CONFIG_MAP, "metadata": {"name": name}})[0]


class OptionalAuditLog(Unwritable):
    def test_it_is_seen_and_nobody_is_stopped(self):
        self.fill()
        self.assertEqual(self.create("one"), 201)
        until("readiness says so", lambda: "[~]audit degraded" in self.one.get("/readyz?verbose")[2])
        self.assertEqual(self.one.get("/readyz")[0], 200)
        until("a metric says so", lambda: 'virtgate_health_degraded{check="audit"} 1' in self.one.get("/metrics", headers=self.one.as_admin())[2])
        self.assertIn("virtgate_audit_lines_dropped_total", self.one.get("/metrics", headers=self.one.as_admin())[2])
        self.assertEqual(self.create("two"), 201)
        self.empty()
        until("all is well again", lambda: self.one.get("/readyz")[2] == "ok")
        self.one.stop()
        with open(os.path.join(self.state, "audit.log")) as file:
            names = [plain(json.loads(line))["name"] for line in file]
        self.assertIn("one", names, "what could not be written waited")
        self.assertIn("two", names)


class RequiredAuditLog(Unwritable):
    flags = ("--audit-required",)

    def test_nothing_changes_unrecorded(self):
        self.assertEqual(self.create("one"), 201)
        with open(os.path.join(self.state, "audit.log")) as file:
            self.assertIn('"one"', file.read(), "before the answer")
        self.fill()
        until("readiness is red", lambda: self.one.get("/readyz")[0] == 500)
        code, answer = self.call("POST", "/api/v1/namespaces/default/configmaps", {**CONFIG_MAP, "metadata": {"name": "two"}})
        self.assertEqual((code, answer["reason"]), (503, "ServiceUnavailable"))
        self.assertEqual(self.call("GET", "/api/v1/namespaces/default/configmaps/one")[0], 200, "reading goes on")
        self.assertEqual(self.call("GET", "/api/v1/namespaces/default/configmaps/two")[0], 404)
        self.alive()
        self.empty()
        until("it goes on", lambda: self.create("three") == 201)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
