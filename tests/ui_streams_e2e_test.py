#!/usr/bin/env python3
"""What a session of the page has open ends with it: consoles, screens, watches of objects and of the journal.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import json
import os
import shutil
import tempfile
import time
import unittest

from support import page, serve
from support.cluster import until

NS = "/apis/kubevirt.io/v1/namespaces/default"
VMS, VMIS = NS + "/virtualmachines", NS + "/virtualmachineinstances"
INSTANCE = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/demo"
REQUESTS = "/apis/trace.virtgate.io/v1/namespaces/default/requests"
VM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "demo", "namespace": "default"},
      "spec": {"runStrategy": "Always", "template": {"metadata": {"annotations": {"simulated.virtgate.io/boot": "10ms"}},
                                                     "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}}}}
SOON_S = 5  # the server tells at once; machines that run tests are busy


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="virtgate-ui-streams-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.server = serve.Server(os.path.join(cls.place, "state"), role=("--node", "simulated")).start()
        cls.addClassCleanup(cls.server.clean_up)
        cls.write_tokens("keeper", "leaver")
        admin = cls.server.as_admin(**{"Content-Type": "application/json"})
        for user in ("keeper", "leaver"):
            until(f"the token of {user} is known", lambda user=user: cls.server.ask("GET", "/ui/session", headers={"Authorization": f"Bearer {user}-token"})[0] == 200)
        code, _, text = cls.server.ask("POST", VMS, json.dumps(VM), admin)
        assert code == 201, text
        until("the guest runs", lambda: '"phase":"Running"' in cls.server.ask("GET", VMIS + "/demo", None, admin)[2])

    @classmethod
    def write_tokens(cls, *users):
        with open(os.open(cls.server.pki("tokens.csv"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{user}-token,{user},,system:masters\n" for user in users)

    def browser(self, token="keeper-token"):
        return page.Browser(self.server.host, self.server.port, self.server.context()).sign_in(token)

    def open_all(self, browser):
        version = json.loads(browser.ask("GET", VMS)[2])["metadata"]["resourceVersion"]
        console = browser.upgrade(INSTANCE + "/console")
        self.assertIsInstance(console, page.Socket)
        console.write(b"x\r")
        console.read()  # it works
        watches = [browser.watch(f"{path}?watch=1&resourceVersion={version}") for path in (VMS, VMIS)] + [browser.watch(f"{REQUESTS}?watch=1")]
        for one in (console, *watches):
            self.addCleanup(one.close)
        return console, watches

    def label(self, value):
        admin = self.server.as_admin(**{"Content-Type": "application/merge-patch+json"})
        code, _, text = self.server.ask("PATCH", VMS + "/demo", json.dumps({"metadata": {"labels": {"turn": value}}}), admin)
        self.assertEqual(code, 200, text)

    def assert_over(self, console, watches, within_s):
        began = time.monotonic()
        ended = console.end()
        self.assertEqual((ended.code, ended.reason), (1008, "the session has ended; sign in again"))
        for watch in watches:
            watch.rest()
        self.assertLess(time.monotonic() - began, within_s)

    def test_signing_out_ends_what_is_open(self):
        mine, other = self.browser(), self.browser()
        console, watches = self.open_all(mine)
        others_console, others_watches = self.open_all(other)
        self.assertEqual(mine.sign_out(), 204)
        self.label("after")
        self.assert_over(console, watches, SOON_S)
        # Another session of the same user goes on.
        event = others_watches[0].event()
        while event["object"]["metadata"].get("labels", {}).get("turn") != "after":
            event = others_watches[0].event()
        others_console.write(b"y\r")
        self.assertTrue(others_console.read())
        self.assertEqual(mine.upgrade(INSTANCE + "/console"), 401)

    def test_nothing_is_told_after_signing_out(self):
        browser = self.browser()
        _, watches = self.open_all(browser)
        browser.sign_out()
        self.label("secret-of-later")
        for watch in watches:
            self.assertNotIn(b"secret-of-later", watch.rest())

    def test_signing_in_again_ends_what_the_session_before_had(self):
        browser = self.browser()
        console, watches = self.open_all(browser)
        before = browser.cookie
        browser.sign_in("keeper-token")
        self.assertNotEqual(browser.cookie, before)
        self.assert_over(console, watches, SOON_S)

    def test_a_revoked_token_ends_what_is_open(self):
        browser, other = self.browser("leaver-token"), self.browser()
        console, watches = self.open_all(browser)
        others_console, _ = self.open_all(other)
        self.write_tokens("keeper")
        self.assert_over(console, watches, 25)  # the file is read every few seconds, the credential looked at as often
        others_console.write(b"y\r")
        self.assertTrue(others_console.read())

    def test_streams_by_a_token_are_no_session_s(self):
        browser = self.browser()
        connection = self.server.connect()
        connection.request("GET", f"{VMS}?watch=1&timeoutSeconds=2", headers={"Authorization": "Bearer keeper-token", "Cookie": browser.cookie, **page.OWN})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        browser.sign_out()
        self.label("for-the-token")
        self.assertIn(b"for-the-token", answer.read())
        connection.close()

    def test_only_so_much_is_open(self):
        browser = self.browser()
        watches = [browser.watch(f"{VMS}?watch=1") for _ in range(64)]
        for watch in watches:
            self.addCleanup(watch.close)
        self.assertEqual(browser.ask("GET", f"{VMS}?watch=1")[0], 429)
        self.assertEqual(browser.ask("GET", VMS)[0], 200)
        watches[0].close()
        until("one more may be opened", lambda: browser.ask("GET", f"{VMS}?watch=1&timeoutSeconds=1")[0] == 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
