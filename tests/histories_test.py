#!/usr/bin/env python3
"""Whether what `virtgate serve` answers can have happened on a store that does one thing after another, whatever happens to it.

Clients create, replace, patch, apply, delete, read, list and watch while the server is killed, stopped, given another wall
clock, a full disk and one that hangs. The history is then checked (histories/check.py): no answer may contradict it, no
acknowledged write may be lost, none may happen twice, no watch may miss anything, and a write that names no version gets no
conflict. VIRTGATE_LONG=1 has 200,000 requests, VIRTGATE_OPERATIONS another number; VIRTGATE_SEED repeats choices, not
moments. VIRTGATE_BINARY names the program.
"""
import collections
import os
import random
import shutil
import sys
import tempfile
import time
import unittest

from histories.check import Event, Request, check
from histories.record import Faulty, record

LONG = os.environ.get("VIRTGATE_LONG", "") not in ("", "0")
OPERATIONS = int(os.environ.get("VIRTGATE_OPERATIONS", "0")) or (200000 if LONG else 6000)
SEED = int(os.environ.get("VIRTGATE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)


def asked(verb, began, ended, code, key="k", token=None, version=None, content=None, uid=None, asked_version=None):
    return Request(verb, key, token or f"{verb}.{began}", began, ended, code, version, content, uid, asked_version)


class Checked(unittest.TestCase):
    """The checker finds what it is there for."""

    sent = {"t1": {"v": "t1"}, "t2": {"v": "t2"}, "t3": {"p": "t3"}}
    created = asked("create", 0, 10, 201, token="t1", version=5, content={"v": "t1"}, uid="u")
    replaced = asked("replace", 20, 30, 200, token="t2", version=6, content={"v": "t2"}, uid="u")
    events = [Event(5, "k", {"v": "t1"}, "u"), Event(6, "k", {"v": "t2"}, "u")]

    def found(self, *requests, events=None, watches=None):
        findings = check([self.created, self.replaced, *requests], watches or [events or self.events], self.sent)
        return sorted({finding.split(":")[0] for finding in findings})

    def test_what_is_right(self):
        deleted = asked("delete", 70, 80, 200, uid="u")
        events = [*self.events, Event(7, "k", {"v": "t2", "p": "t3"}, "u"), Event(8, "k", None, "u")]
        self.assertEqual(self.found(
            asked("get", 15, 25, 200, version=5, content={"v": "t1"}), asked("get", 22, 25, 200, version=6, content={"v": "t2"}),
            asked("get", 1, 2, 404), asked("create", 5, 40, 409, token="t9"), asked("patch", 41, 50, None, token="t3"), deleted,
            asked("replace", 35, 40, 409, token="t8", asked_version=5), asked("get", 75, 90, 404),
            asked("list", 31, 33, 200, version=6, content={"k": (6, {"v": "t2"})}), events=events), [])

    def test_a_read_of_the_past(self):
        self.assertEqual(self.found(asked("get", 31, 40, 200, version=5, content={"v": "t1"})), ["a read of what was not there then"])

    def test_a_read_of_the_future(self):
        self.assertIn("a read of what was not there then", self.found(asked("get", 11, 19, 200, version=6, content={"v": "t2"})))

    def test_a_read_of_what_never_was(self):
        self.assertEqual(self.found(asked("get", 31, 40, 200, version=6, content={"v": "t1"})), ["a read of what was not there then"])

    def test_not_found_though_it_is_there(self):
        self.assertEqual(self.found(asked("get", 31, 40, 404)), ["not found, but it was there all the time"])

    def test_an_apply_is_never_not_found(self):
        self.assertEqual(self.found(asked("apply", 1, 2, 404, token="t9")), ["not found, but it was there all the time"])

    def test_deletions_without_an_answer_are_taken_in_the_order_of_their_times(self):
        events = [*self.events, Event(7, "k", None, "u"), Event(8, "k", {"v": "t3"}, "u2"), Event(9, "k", None, "u2")]
        self.assertEqual(check([self.created, self.replaced, asked("delete", 90, 99, None), asked("delete", 35, 40, None), asked("get", 41, 45, 404),
                                asked("create", 50, 60, 201, token="t3", version=8, content={"v": "t3"}, uid="u2")],
                               [events], {**self.sent, "t3": {"v": "t3"}}), [])

    def test_conflicts_need_a_reason(self):
        self.assertEqual(self.found(asked("create", 1, 2, 409, key="other", token="t9")), ["already exists, but it did not"])
        self.assertEqual(self.found(asked("replace", 35, 40, 409, token="t9", asked_version=6)), ["a conflict where there was none"])
        self.assertEqual(self.found(asked("patch", 35, 40, 409, token="t9")), ["an answer that nothing explains"])

    def test_a_lost_write(self):
        self.assertEqual(self.found(asked("patch", 41, 50, 200, token="t3", version=7, content={})), ["an acknowledged write is lost"])

    def test_a_refused_write_that_took_effect(self):
        self.assertIn("a refused write took effect", self.found(asked("patch", 41, 50, 503, token="t3"), events=[*self.events, Event(7, "k", {"v": "t2", "p": "t3"}, "u")]))

    def test_a_patch_of_another_state(self):
        self.assertIn("a write made something else of what was there", self.found(
            asked("patch", 41, 50, 200, token="t3", version=7, content={}), events=[*self.events, Event(7, "k", {"p": "t3"}, "u")]))

    def test_a_write_on_another_version_than_it_named(self):
        late = asked("patch", 41, 50, 200, token="t3", version=7, content={}, asked_version=5)
        self.assertEqual(self.found(late, events=[*self.events, Event(7, "k", {"v": "t2", "p": "t3"}, "u")]), ["a write on another version than it named"])

    def test_writes_out_of_order(self):
        early = asked("patch", 41, 50, 200, token="t3", version=4, content={})
        self.assertIn("a write before one that had ended when it began", self.found(
            early, events=[Event(4, "k", {"p": "t3"}, "u"), *self.events]))

    def test_a_watch_with_a_gap(self):
        self.assertEqual(self.found(watches=[self.events, self.events[1:]]), ["two watches tell different things"])

    def test_a_watch_that_goes_back(self):
        self.assertIn("a watch repeats or goes back", self.found(watches=[[*self.events, self.events[0]], self.events]))

    def test_a_list_of_another_state(self):
        self.assertEqual(self.found(asked("list", 31, 33, 200, version=6, content={})), ["a list that is not the state at its version"])
        self.assertEqual(self.found(asked("list", 31, 33, 200, version=5, content={"k": (5, {"v": "t1"})})),
                         ["a list from before what was known when it was asked for"])


class Histories(unittest.TestCase):
    def test_answers_can_have_happened(self):
        folder = tempfile.mkdtemp(prefix="virtgate-histories-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        server = Faulty(folder)
        self.addCleanup(server.kill)
        server.start()
        began = time.monotonic()
        requests, watches, sent, faults, refused = record(server, SEED, OPERATIONS)
        took = time.monotonic() - began
        findings = check(requests, watches, sent)
        codes = collections.Counter(request.code for request in requests)
        print(f"seed {SEED}: {len(requests)} requests in {took:.0f} s, {len(watches[0])} changes, faults {dict(faults)}, codes {dict(codes)}, "
              f"{len(findings)} findings", file=sys.stderr)
        self.assertEqual(refused, [], "a watch that goes on from what it saw last is not refused")
        kinds = collections.Counter(finding.split(":")[0] for finding in findings)
        self.assertEqual(findings[:10], [], f"VIRTGATE_SEED={SEED}, findings: {dict(kinds)}")
        self.assertGreater(codes[200] + codes[201], OPERATIONS // 4, "most requests are no refusals")


if __name__ == "__main__":
    unittest.main()
