#!/usr/bin/env python3
"""What an idle TLS connection costs the server.

usage: idle_connections.py --port PORT --pid SERVER_PID [--count N] [--path /healthz] [--header "Name: value"]

Opens N keep-alive connections (10000 unless told), asks one request on each, leaves them idle, and prints how much the
server's resident memory grew for each: once with handshakes only, once after every connection has served a request.
The server must allow that many connections and descriptors.
"""
import argparse
import itertools
import resource
import socket
import ssl
import sys
import time


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    return 0


def ask(connection, request):
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        part = connection.recv(65536)
        if not part:
            raise OSError("the server closed the connection")
        answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += connection.recv(65536)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--path", default="/healthz")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--hold", type=float, default=0, help="seconds to hold the connections at the end")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.count + 1000) if hard > 0 else hard, hard))

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    fields = "".join(f"{field}\r\n" for field in options.header)
    request = f"GET {options.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n".encode()

    # The server lets one address have a quarter of all places, unless it says who it is.
    opened_so_far = itertools.count()

    def connect():
        source = f"127.0.0.{2 + next(opened_so_far) // 2000}"
        plain = socket.create_connection(("127.0.0.1", options.port), timeout=30, source_address=(source, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain)

    # What the first few need is not the cost of one more.
    warm = [connect() for _ in range(100)]
    for connection in warm:
        ask(connection, request)
    before = resident_kib(options.pid)
    began = time.monotonic()
    connections = [connect() for _ in range(options.count)]
    opened = resident_kib(options.pid)
    print(f"{options.count} connections in {time.monotonic() - began:.1f} s; the server grew from {before} to {opened} KiB:"
          f" {(opened - before) / options.count:.2f} KiB each")
    for connection in connections:
        ask(connection, request)
    used = resident_kib(options.pid)
    print(f"after a request on each: {used} KiB, {(used - before) / options.count:.2f} KiB each")
    alive = 0
    for connection in connections:
        ask(connection, request)
        alive += 1
    print(f"all {alive} still answer")
    time.sleep(options.hold)


if __name__ == "__main__":
    sys.exit(main())
