#!/usr/bin/env python3
"""A node that is not one: speaks to `virtgate serve` as a handler of machines does, over mutual TLS, and echoes.

usage: stand_in_node.py --port PORT --guest-port PORT --pki DIR

Under /v1/namespaces/NS/virtualmachineinstances/NAME/ it takes the WebSockets console, vnc, usbredir and vsock and answers
each binary message with the same one; usbredir says "hello" in the same write as its 101, and vnc is busy when it is asked
to keep sessions. On the guest port it echoes TCP and UDP without frames. A message that begins with one of COMMANDS does
something else. GET /counts tells what it has seen. It ends when its standard input does.
"""
import argparse
import asyncio
import base64
import hashlib
import json
import logging
import os
import resource
import socket
import ssl
import struct
import subprocess
import sys

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
COMMANDS = (b"!abort", b"!close", b"!half", b"!flood ", b"!silent")
CHUNK = 32 * 1024
HANDLER, CLIENT = "kubevirt.io:system:node:virt-handler", "kubevirt.io:system:client:virt-handler"


def make_pki(folder):
    """The authority of the nodes, and a certificate for each side of the link."""
    def run(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    run("req", "-x509", *key, "-days", "30", "-subj", "/CN=nodes", "-keyout", "ca.key", "-out", "ca.crt")
    for name, subject, usage in (("handler", HANDLER, "serverAuth"), ("client", CLIENT, "clientAuth")):
        run("req", *key, "-subj", "/CN=" + subject, "-keyout", name + ".key", "-out", name + ".csr")
        with open(os.path.join(folder, name + ".ext"), "w") as file:
            file.write(f"extendedKeyUsage={usage}\n")
        run("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
            "-extfile", name + ".ext", "-out", name + ".crt")


logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # that a connection is gone is no news here


def allow_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def xor(data, key):
    if key == bytes(4) or not data:
        return data
    size = len(data)
    pattern = int.from_bytes((key * (size // 4 + 1))[:size], "little")
    return (int.from_bytes(data, "little") ^ pattern).to_bytes(size, "little")


def frame(payload, opcode=BINARY, key=None, final=True):
    mask = 0x80 if key is not None else 0
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", (0x80 if final else 0) | opcode, mask | size)
    elif size < 65536:
        head = struct.pack("!BBH", (0x80 if final else 0) | opcode, mask | 126, size)
    else:
        head = struct.pack("!BBQ", (0x80 if final else 0) | opcode, mask | 127, size)
    return head + (key + xor(payload, key) if key is not None else payload)


async def read_frame(reader):
    """(opcode, final, payload)"""
    first, second = await reader.readexactly(2)
    size = second & 0x7f
    if size == 126:
        size, = struct.unpack("!H", await reader.readexactly(2))
    elif size == 127:
        size, = struct.unpack("!Q", await reader.readexactly(8))
    key = await reader.readexactly(4) if second & 0x80 else bytes(4)
    return first & 0x0f, bool(first & 0x80), xor(await reader.readexactly(size) if size else b"", key)


def accept_value(key):
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def block(number):
    """The bytes of a flood at that place."""
    return struct.pack("!Q", number) + bytes(range(256)) * (CHUNK // 256 - 1) + bytes(248)


def reset_on_close(writer):
    """The next close loses everything and says so, as a machine that dies does."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Node:
    def __init__(self):
        self.open = self.guests = 0
        self.pings = self.pongs = self.flooded = 0

    def counts(self):
        return {"open": self.open, "guests": self.guests, "pings": self.pings, "pongs": self.pongs, "flooded": self.flooded}

    async def command(self, data, writer, wrap):
        """How the stream ends, unless it goes on."""
        if data.startswith(b"!flood "):
            for number in range(int(data[7:]) // CHUNK):
                if writer.is_closing():
                    return "abort"
                writer.write(wrap(block(number)))
                await writer.drain()
                self.flooded += CHUNK
            return None
        if data.startswith(b"!silent"):
            await asyncio.Event().wait()
        if data.startswith(b"!half"):
            writer.write(wrap(bytes(1000))[:500])
            await writer.drain()
        if data.startswith(b"!close"):
            return "close"
        reset_on_close(writer)
        return "abort"

    async def serve(self, reader, writer):
        try:
            if await self.answer(reader, writer) != "abort":
                writer.close()
                return await writer.wait_closed()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        writer.transport.abort()

    async def answer(self, reader, writer):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            target = head[0].split(" ")[1]
            if "upgrade" in fields:
                return await self.upgrade(target, fields, reader, writer)
            body = json.dumps(self.counts()).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async def upgrade(self, target, fields, reader, writer):
        if target.endswith("preserveSession=true"):
            text = b"another session is active\n"
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
            return await writer.drain()
        head = ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Accept: {accept_value(fields['sec-websocket-key'])}\r\n"
                f"Sec-WebSocket-Protocol: {fields['sec-websocket-protocol']}\r\n\r\n").encode()
        writer.write(head + (frame(b"hello") if target.endswith("/usbredir") else b""))
        self.open += 1
        try:
            return await self.echo(reader, writer)
        finally:
            self.open -= 1

    async def echo(self, reader, writer):
        while True:
            opcode, final, payload = await read_frame(reader)
            if opcode == PING:
                self.pings += 1
                writer.write(frame(payload, PONG))
            elif opcode == PONG:
                self.pongs += 1
            elif opcode == CLOSE:
                writer.write(frame(payload[:2], CLOSE))
                return await writer.drain()
            elif payload.startswith(COMMANDS):
                if end := await self.command(payload, writer, frame):
                    return end
            else:
                writer.write(frame(payload, opcode, final=final))
            await writer.drain()

    async def guest(self, reader, writer):
        self.guests += 1
        try:
            while data := await reader.read(65536):
                if data.startswith(COMMANDS):
                    if await self.command(data, writer, bytes):
                        break
                else:
                    writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.guests -= 1
            writer.close()


class UdpEcho(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.transport.sendto(data, address)


async def until_input_ends():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def main(options):
    allow_descriptors()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(options.pki, "handler.crt"), os.path.join(options.pki, "handler.key"))
    context.load_verify_locations(os.path.join(options.pki, "ca.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    node = Node()
    loop = asyncio.get_running_loop()
    await asyncio.start_server(node.serve, "127.0.0.1", options.port, ssl=context, backlog=4096, limit=256 * 1024)
    await asyncio.start_server(node.guest, "127.0.0.1", options.guest_port, backlog=4096, limit=256 * 1024)
    await loop.create_datagram_endpoint(UdpEcho, local_addr=("127.0.0.1", options.guest_port))
    print("ready", flush=True)
    await until_input_ends()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--guest-port", type=int, required=True)
    parser.add_argument("--pki", required=True)
    asyncio.run(main(parser.parse_args()))
