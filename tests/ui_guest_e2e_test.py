#!/usr/bin/env python3
"""The page at /ui in a real Chromium, on real guests: from the link that signs in to the deletion of a VM, with its screen and its console.

VIRTGATE_BINARY names the program. Skipped where there is no browser (tests/support/browser.py) or where guests cannot be run (tests/support/node.py).
"""
import subprocess
import unittest

from support import node
from support import serve as e2e
from support.browser import InBrowser, why_not


@unittest.skipIf(why_not(), why_not())
class OnRealNodes(InBrowser, node.Node):
    nodes = 2

    def test_the_life_of_a_vm(self):
        self.need_console()
        link = subprocess.run(node.as_server([e2e.BINARY, "ui", "--state", self.state]), capture_output=True, text=True, timeout=30, check=True).stdout
        self.browse("life.mjs", UI_CODE=link.strip().rpartition("/")[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
