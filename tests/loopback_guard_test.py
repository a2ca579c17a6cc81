#!/usr/bin/env python3
"""What is loaded into QEMU (src/hypervisor/preload/loopback_guard.cc), loaded into a Python that stands for it: what may be sent where."""
import os
import socket
import subprocess
import sys
import unittest

GUARD = os.environ.get("VIRTGATE_GUARD") or os.path.join(os.path.dirname(os.environ.get("VIRTGATE_BINARY", "")), "libloopback_guard.so")

GUARDED = """
import errno, os, socket
def refused(call):
    try:
        call()
    except ConnectionRefusedError:
        return True
    except OSError as error:
        return error.errno
    return False
# As the network of a guest: a socket of its own, and one that forwards a port.
outgoing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
forwarding = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
forwarding.bind(("127.70.1.1", 0))
listener = int(os.environ["LISTENER"])
datagrams = int(os.environ["DATAGRAMS"])
for address in ("127.0.0.1", "127.70.1.1", "0.0.0.0"):
    assert refused(lambda: socket.create_connection((address, listener), 5)) is True, address
    assert refused(lambda: outgoing.sendto(b"x", (address, datagrams))) is True, address
    assert refused(lambda: forwarding.sendto(b"x", (address, datagrams))) is True, address
    assert refused(lambda: outgoing.sendmsg([b"x"], [], 0, (address, datagrams))) is True, address
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for address in ("::1", "::ffff:127.0.0.1", "::"):
    assert refused(lambda: six.sendto(b"x", (address, datagrams))) is True, address
# Not loopback: whatever the kernel says of it, it is asked.
assert refused(lambda: outgoing.sendto(b"x", ("192.0.2.1", 9))) is not True
# Sockets of this machine are no addresses.
left, right = socket.socketpair()
left.sendall(b"x")
assert right.recv(1) == b"x"
# Who asked is answered, from the socket that was asked, and nobody else.
print(forwarding.getsockname()[1], flush=True)
text, client = forwarding.recvfrom(100)
assert text == b"question"
assert refused(lambda: outgoing.sendto(b"x", client)) is True
assert refused(lambda: forwarding.sendto(b"x", ("127.0.0.1", datagrams))) is True
forwarding.sendto(b"answer", client)
"""


class Guard(unittest.TestCase):
    def test_what_may_be_sent(self):
        if not os.path.exists(GUARD):
            self.skipTest("virtgate-node was not built (libvirt-dev)")
        with socket.create_server(("0.0.0.0", 0)) as listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            silent.bind(("127.0.0.1", 0))
            client.bind(("127.0.0.1", 0))
            client.settimeout(60)
            environment = {**os.environ, "LD_PRELOAD": os.path.abspath(GUARD), "LISTENER": str(listener.getsockname()[1]),
                           "DATAGRAMS": str(silent.getsockname()[1])}
            guarded = subprocess.Popen([sys.executable, "-c", GUARDED], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            port = guarded.stdout.readline().strip()
            if port:
                client.sendto(b"question", ("127.70.1.1", int(port)))
                self.assertEqual(client.recv(100), b"answer")
            _, told = guarded.communicate(timeout=60)
            self.assertEqual((guarded.returncode, told), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
