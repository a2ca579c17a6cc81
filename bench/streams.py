#!/usr/bin/env python3
"""What a console stream costs: throughput beside socat doing the same between two TLS connections, and the time added to
each echo.

usage: bench/streams.py [--server PROGRAM] [--bytes MIB] [--echoes N] [--rounds N]

One client, one stream, one stand-in node. The node's and the client's side are the same in all measurements: they are asked
through virtgate, through socat (which needs no handshake of its own, so the WebSocket frames pass through it as bytes), and
directly. Rounds take turns, and the median of each is shown, so that a busy machine is busy for all of them.
"""
import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
MIB = 1 << 20
BLOCK = 32 * 1024
PATH = "/v1/namespaces/default/virtualmachineinstances/demo/console"


def read_head(connection):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise OSError("the connection ended in the handshake")
        head += byte
    return head.decode()


def read_exactly(connection, view):
    done = 0
    while done < len(view):
        got = connection.recv_into(view[done:])
        if got == 0:
            raise OSError("the connection ended")
        done += got


def drain(connection, total, buffer):
    while total > 0:
        total -= connection.recv_into(buffer, min(total, len(buffer)))


def node_main(port, pki, ready):
    """A node for one stream at a time. A command is a masked frame of 8 bytes: what to do, and how often."""
    from stand_in_node import accept_value, frame, xor
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(pki, "handler.crt"), os.path.join(pki, "handler.key"))
    listener = socket.create_server(("127.0.0.1", port))
    ready.set()
    block, buffer = frame(bytes(BLOCK)), memoryview(bytearray(256 * 1024))
    while True:
        plain, _ = listener.accept()
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            fields = dict(line.split(": ", 1) for line in read_head(connection).split("\r\n")[1:] if line)
            key = next(value for name, value in fields.items() if name.lower() == "sec-websocket-key")
            connection.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                f"Sec-WebSocket-Accept: {accept_value(key)}\r\n\r\n").encode())
            while True:
                command = bytearray(14)
                read_exactly(connection, memoryview(command))
                text = xor(bytes(command[6:]), bytes(command[2:6]))
                count = int(text[1:])
                if text[:1] == b"d":  # down: so many blocks to the client
                    for _ in range(count):
                        connection.sendall(block)
                elif text[:1] == b"u":  # up: takes so many bytes, then says so
                    drain(connection, count * (BLOCK + 8), buffer)
                    connection.sendall(frame(b"done"))
                else:  # echo: so many times one byte
                    for _ in range(count):
                        connection.recv(7)
                        connection.sendall(frame(b"x"))


class Stream:
    """A WebSocket that looks at no frame: the node's answers have known sizes."""

    def __init__(self, port, path, headers=""):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = context.wrap_socket(plain)
        self.connection.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                 f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{headers}\r\n").encode())
        head = read_head(self.connection)
        assert " 101 " in head.split("\r\n")[0], head
        self.buffer = memoryview(bytearray(256 * 1024))

    def command(self, what, count):
        from stand_in_node import frame
        self.connection.sendall(frame(b"%s%07d" % (what, count), key=b"abcd"))

    def down(self, blocks):
        """MiB/s from the node."""
        began = time.perf_counter()
        self.command(b"d", blocks)
        drain(self.connection, blocks * (BLOCK + 4), self.buffer)
        return blocks * BLOCK / MIB / (time.perf_counter() - began)

    def up(self, blocks):
        """MiB/s to the node."""
        from stand_in_node import frame
        block = frame(bytes(BLOCK), key=bytes(4))
        began = time.perf_counter()
        self.command(b"u", blocks)
        for _ in range(blocks):
            self.connection.sendall(block)
        read_exactly(self.connection, self.buffer[:6])
        return blocks * BLOCK / MIB / (time.perf_counter() - began)

    def echo(self, count):
        """Microseconds of one echo, at the median."""
        from stand_in_node import frame
        one, times = frame(b"x", key=b"abcd"), []
        self.command(b"e", count)
        for _ in range(count):
            began = time.perf_counter()
            self.connection.sendall(one)
            read_exactly(self.connection, self.buffer[:3])
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1e6

    def close(self):
        self.connection.close()


def until_listening(port):
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start_socat(port, node_port, pki):
    if not shutil.which("socat"):
        sys.exit("this needs socat (Debian: apt-get install socat)")
    pair = f"cert={pki}/client.crt,key={pki}/client.key,verify=0"
    return subprocess.Popen(["socat", "-b", str(BLOCK), f"OPENSSL-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,nodelay,{pair}",
                             f"OPENSSL:127.0.0.1:{node_port},nodelay,{pair}"], stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=os.path.join(ROOT, "build", "release", "virtgate"))
    parser.add_argument("--bytes", type=int, default=512, metavar="MIB")
    parser.add_argument("--echoes", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", choices=["text", "json"], default="text")
    options = parser.parse_args()
    os.environ["VIRTGATE_BINARY"] = options.server
    import serve_e2e_test as e2e
    import streams_e2e_test as streams

    with contextlib.ExitStack() as cleanup:
        world = streams.World(ping_seconds=30)
        cleanup.callback(world.end)
        # The node of the tests is asked for objects alone; the fast one takes its place where streams go.
        ready, node_port = multiprocessing.Event(), world.node_port
        world.node.stdin.close()
        world.node.wait()
        node = multiprocessing.Process(target=node_main, args=(node_port, world.folder, ready), daemon=True)
        node.start()
        cleanup.callback(node.terminate)
        ready.wait()
        socat_port = e2e.free_port()
        socat = start_socat(socat_port, node_port, world.folder)
        cleanup.callback(socat.terminate)
        until_listening(socat_port)
        ways = {"virtgate": (world.server.port, streams.INSTANCE + "/console", f"Authorization: {world.admin['Authorization']}\r\n"),
                "socat": (socat_port, PATH, ""), "direct": (node_port, PATH, "")}
        figures = {way: {"down": [], "up": [], "echo": []} for way in ways}
        blocks = options.bytes * MIB // BLOCK
        for _ in range(options.rounds):
            for way, where in ways.items():
                for what, amount in (("down", blocks), ("up", blocks), ("echo", options.echoes)):
                    stream = Stream(*where)
                    stream.echo(50)  # until everything is warm
                    figures[way][what].append(getattr(stream, what)(amount))
                    stream.close()
    middle = {way: {what: statistics.median(values) for what, values in found.items()} for way, found in figures.items()}
    if options.o == "json":
        print(json.dumps(middle))
        return
    print(f"{'':10}{'from node':>14}{'to node':>14}{'one echo':>12}")
    for way, found in middle.items():
        print(f"{way:10}{found['down']:>8.0f} MiB/s{found['up']:>8.0f} MiB/s{found['echo']:>9.1f} us")
    ours, theirs = middle["virtgate"], middle["socat"]
    print(f"share of socat: {ours['down'] / theirs['down']:.2f} from the node, {ours['up'] / theirs['up']:.2f} to it; "
          f"an echo takes {ours['echo'] - middle['direct']['echo']:.1f} us longer than without anything between "
          f"(socat {theirs['echo'] - middle['direct']['echo']:.1f} us)")


if __name__ == "__main__":
    main()
