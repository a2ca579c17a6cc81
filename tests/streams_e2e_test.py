#!/usr/bin/env python3
"""Streams through `virtgate serve`, end to end over real sockets: console, VNC, USB, vsock and forwarded ports, between a
WebSocket client and a stand-in node with mutual TLS that echoes (stand_in_node.py).

VIRTGATE_BINARY names the program. VIRTGATE_LONG=1 takes the sizes that the promises of the server are about (1 GiB, 2000
streams, 1000 kills, 10 minutes) instead of those of an ordinary run. Moments of death are random (VIRTGATE_SEED repeats
them), outcomes are not. Every wait is for an event, with a deadline.
"""
import sys
import unittest

from support import serve as e2e
from support import streams


class Everyday(streams.Everyday):
    """Of a server on one machine."""


class Much(streams.Much):
    """Of a server on one machine."""


if __name__ == "__main__":
    if not e2e.BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
