#!/usr/bin/env python3
"""Somebody has taken the server over. What can they do with it? As little as possible: it has no privileges, and only the
system calls and files that serving needs.

VIRTGATE_BINARY names the program.
"""
import os
import pwd
import re
import socket
import subprocess
import sys
import unittest

import harness
from harness import BINARY, SANITIZED, Attack, Scratch

NO_CAPABILITIES = "0" * 16
ROOT = os.geteuid() == 0
LANDLOCK = re.compile(r'"inForce":"[^"]*Landlock')


def statuses(pid):
    """What the kernel says of every thread that there is."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            lines = harness.read(f"/proc/{pid}/task/{thread}/status").splitlines()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        yield dict(line.split(":\t", 1) for line in lines if ":\t" in line)


class Privileges(Attack):
    def test_no_thread_has_any(self):
        self.assertEqual(self.call("GET", "/api/v1/namespaces")[0], 200)
        for status in statuses(self.one.process.pid):
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual({status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {NO_CAPABILITIES})
            if not SANITIZED:
                self.assertEqual(status["Seccomp"], "2", "a filter of system calls")

    def test_the_log_says_what_is_in_force(self):
        lines = [line for line in self.one.errors().splitlines() if '"msg":"sandbox"' in line]
        self.assertEqual(len(lines), 1, self.one.errors())
        self.assertIn("no capabilities", lines[0])
        self.assertNotIn("threads that were started before", lines[0])

    def test_off_is_off(self):
        other = self.server("--sandbox", "off", state=os.path.join(self.folder, "other")).start()
        self.assertEqual({status["NoNewPrivs"] for status in statuses(other.process.pid)}, {"0"})

    @unittest.skipIf(SANITIZED, "a sanitizer needs what the filters forbid")
    def test_required_starts_where_everything_is_there(self):
        if not LANDLOCK.search(self.one.errors()):
            self.skipTest("the kernel has no Landlock")
        self.server("--sandbox=required", state=os.path.join(self.folder, "other")).start()


@unittest.skipIf(SANITIZED, "a sanitizer needs what the filters forbid")
class Files(Attack):
    def test_a_link_out_of_the_state_folder_leads_nowhere(self):
        if "--sandbox" in subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True).stdout and not LANDLOCK.search(self.one.errors()):
            self.skipTest("the kernel has no Landlock")
        outside = os.path.join(self.folder, "outside.csv")
        with open(outside, "w") as file:
            file.write('stolen-token-0123456789,intruder,1,"system:masters"\n')
        os.chmod(outside, 0o600)
        os.symlink(outside, self.one.pki("tokens.csv"))
        # Of a file inside it would count at once: that is the way by which tokens are added.
        self.assertEqual(self.call("GET", "/api/v1/namespaces", token="stolen-token-0123456789")[0], 401)
        os.unlink(self.one.pki("tokens.csv"))
        os.rename(outside, self.one.pki("tokens.csv"))
        deadline = harness.time.monotonic() + harness.DEADLINE_S
        while self.call("GET", "/api/v1/namespaces", token="stolen-token-0123456789")[0] != 200:
            self.assertLess(harness.time.monotonic(), deadline, "a token file inside of the state folder is read")
            harness.time.sleep(0.05)
        self.alive()


@unittest.skipUnless(ROOT, "only root can become somebody else")
class User(Scratch):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o711)
        self.nobody = pwd.getpwnam("nobody")

    def test_root_becomes_the_user(self):
        one = self.server("--user", "nobody").start()
        for status in statuses(one.process.pid):
            self.assertEqual(set(status["Uid"].split()), {str(self.nobody.pw_uid)})
            self.assertEqual(set(status["Gid"].split()), {str(self.nobody.pw_gid)})
            self.assertNotIn("0", status["Groups"].split())
        self.assertEqual(os.stat(one.state).st_uid, self.nobody.pw_uid)
        self.assertEqual(one.ask("GET", "/api/v1/namespaces", headers=one.as_admin())[0], 200)
        # It can come back to its own files.
        one.stop()
        self.server("--user", "nobody").start()

    def test_a_low_port_is_taken_before_root_is_given_up(self):
        port = next(port for port in range(1023, 500, -1) if self.is_free(port))
        one = self.server("--user", "nobody", port=port).start()
        self.assertEqual(next(statuses(one.process.pid))["CapEff"], NO_CAPABILITIES)

    def test_a_folder_of_somebody_else_is_refused_with_the_way_out(self):
        first = self.server().start()
        first.stop()
        again = self.server("--user", "nobody").launch()
        self.assertNotEqual(again.ended(), 0)
        self.assertIn(f"chown -R nobody {again.state}", again.errors())

    def test_root_without_capabilities_reads_nobody_elses_files(self):
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)
        os.chown(state, self.nobody.pw_uid, self.nobody.pw_gid)
        one = self.server().launch()
        self.assertNotEqual(one.ended(), 0)
        self.assertIn("belongs to user id", one.errors())

    @staticmethod
    def is_free(port):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                return False
        return True


class Flags(unittest.TestCase):
    def test_unknown_modes_and_users_are_refused(self):
        done = subprocess.run([BINARY, "serve", "--sandbox", "maybe"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('--sandbox: unsupported value "maybe": supported values: on, off, required', done.stderr)
        done = subprocess.run([BINARY, "serve", "--state", "/nonexistent/x", "--listen", "127.0.0.1:16999", "--user", "no-such-user"],
                              capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('user "no-such-user" not found', done.stderr)


if __name__ == "__main__":
    if not BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
