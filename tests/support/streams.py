"""Streams through the server to a node that stands in for a real one; both modes ask the same of them."""
import asyncio
import base64
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from support import serve as e2e
import stand_in_node as node_side
from stand_in_node import BINARY, CLOSE, PING, PONG, TEXT, frame

LONG = os.environ.get("VIRTGATE_LONG", "") not in ("", "0")
SEED = int(os.environ.get("VIRTGATE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
DEADLINE_S = 60
MIB = 1 << 20
COPIED_BYTES = 1024 * MIB if LONG else 64 * MIB
STREAMS = 2000 if LONG else 200
KILLS = 1000 if LONG else 100
IDLE_S = 600 if LONG else 0
# Only KubeVirt's own accounts may write what a machine is doing; here nobody has given them a role yet.
CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}
NAMESPACE, NAME = "default", "demo"
INSTANCE = f"/apis/subresources.kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances/{NAME}"
GAUGES = ("kubevirt_console_active_connections", "kubevirt_vnc_active_connections", "kubevirt_usbredir_active_connections",
          "kubevirt_portforward_active_tunnels")


class Refused(Exception):
    """An answer other than 101."""

    def __init__(self, status, headers, body):
        super().__init__(f"{status} {body}")
        self.status, self.headers, self.body = status, headers, body


class Ended(Exception):
    """The stream is over. The code is None when no close frame came."""

    def __init__(self, code, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class Client:
    """A WebSocket client. Answers pings while it reads."""

    def __init__(self, reader, writer, headers):
        self.reader, self.writer, self.headers = reader, writer, headers
        self.pings = self.pongs = 0
        self.rest = []

    @classmethod
    async def open(cls, world, path, headers=None, protocols="plain.kubevirt.io", early=b"", drop=(), limit=256 * 1024):
        reader, writer = await asyncio.open_connection(world.server.host, world.server.port, ssl=world.tls, limit=limit)
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Host": "x", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
        if protocols:
            fields["Sec-WebSocket-Protocol"] = protocols
        fields.update(world.admin if headers is None else headers)
        for name in drop:
            del fields[name]
        writer.write(f"GET {path} HTTP/1.1\r\n".encode() + "".join(f"{n}: {v}\r\n" for n, v in fields.items()).encode() + b"\r\n" + early)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            answer = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            status = int(head[0].split(" ")[1])
            if status != 101:
                raise Refused(status, answer, (await reader.readexactly(int(answer["content-length"]))).decode())
            assert answer["sec-websocket-accept"] == node_side.accept_value(key), answer
        except BaseException:
            writer.transport.abort()
            raise
        return cls(reader, writer, answer)

    async def send(self, payload, opcode=BINARY, final=True):
        self.writer.write(frame(payload, opcode, os.urandom(4), final))
        await self.writer.drain()

    async def receive(self):
        """The payload of the next frame with data."""
        while True:
            try:
                opcode, _, payload = await node_side.read_frame(self.reader)
            except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError) as error:
                raise Ended(None, repr(error)) from None
            if opcode == PING:
                self.pings += 1
                self.writer.write(frame(payload, PONG, os.urandom(4)))
            elif opcode == PONG:
                self.pongs += 1
            elif opcode == CLOSE:
                code = int.from_bytes(payload[:2], "big") if payload else 1005
                with contextlib.suppress(ConnectionError):
                    self.writer.write(frame(payload[:2], CLOSE, os.urandom(4)))
                raise Ended(code, payload[2:].decode())
            else:
                return payload

    async def receive_bytes(self, count):
        parts = []
        while count > 0:
            parts.append(await self.receive())
            count -= len(parts[-1])
        assert count == 0, "more came than was sent"
        return b"".join(parts)

    async def echo(self, payload):
        await self.send(payload)
        got = await self.receive_bytes(len(payload))
        assert got == payload, "the echo is not what was sent"

    async def end(self):
        """Reads until the end and says how it was."""
        try:
            while True:
                await self.receive()
        except Ended as ended:
            self.writer.transport.abort()
            return ended

    async def close(self, code=1000):
        self.writer.write(frame(code.to_bytes(2, "big"), CLOSE, os.urandom(4)))
        return await self.end()

    def abort(self):
        node_side.reset_on_close(self.writer)
        self.writer.transport.abort()


class World:
    """A server, a node beside it, and a machine that runs there."""

    server = None

    def __init__(self, ping_seconds=1):
        self.folder = tempfile.mkdtemp(prefix="virtgate-streams-")
        node_side.make_pki(self.folder)
        self.node_port, self.guest_port = e2e.free_port(), e2e.free_port()
        self.node = subprocess.Popen([sys.executable, node_side.__file__, "--port", str(self.node_port), "--guest-port", str(self.guest_port),
                                      "--pki", self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert self.node.stdout.readline() == b"ready\n"
            self.start("--console-server-port", str(self.node_port), "--handler-cert-file", os.path.join(self.folder, "client.crt"),
                       "--handler-key-file", os.path.join(self.folder, "client.key"), "--stream-ping-seconds", str(ping_seconds),
                       "--guest-networks", "127.0.0.0/8")  # where this test's guest is
            self.make_objects()
        except BaseException:
            self.end()
            raise

    def start(self, *flags):
        """What carries the streams (server), and what keeps the objects (api): here they are one."""
        self.server = self.api = e2e.Server(os.path.join(self.folder, "state"), *flags)
        self.server.start()
        self.admin, self.tls = self.server.as_admin(), self.server.context()

    def stop(self):
        if self.server:
            self.server.clean_up()

    def end(self):
        self.stop()
        self.node.stdin.close()
        self.node.wait(DEADLINE_S)
        self.node.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, document=None, headers=None):
        status, _, body = self.api.ask(method, path, json.dumps(document) if document else None,
                                       {**self.api.as_admin(), "Content-Type": "application/json", **(headers or {})})
        assert status < 300, (method, path, status, body)
        return json.loads(body)

    def make_objects(self):
        bundle = e2e.read(self.folder, "ca.crt")
        place = "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca"
        self.call("PUT", place, {**self.call("GET", place), "data": {"ca-bundle": bundle}})
        pods = "/api/v1/namespaces/kubevirt/pods"
        pod = self.call("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "virt-handler-1", "labels": {"kubevirt.io": "virt-handler"}},
                                       "spec": {"nodeName": "node01", "containers": [{"name": "c", "image": "i"}]}})
        self.call("PUT", pods + "/virt-handler-1/status", {**pod, "status": {"phase": "Running", "podIP": "127.0.0.1"}})
        place = f"/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/virtualmachineinstances"
        devices = {"clientPassthrough": {}, "autoattachVSOCK": True}
        gates = {"spec": {"configuration": {"developerConfiguration": {"featureGates": ["VSOCK"]}}}}
        self.call("PATCH", "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt", gates, {"Content-Type": "application/merge-patch+json"})
        instance = self.call("POST", place, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": NAME},
                                             "spec": {"domain": {"devices": devices, "memory": {"guest": "64Mi"}}}})
        instance["status"] = {"phase": "Running", "nodeName": "node01", "VSOCKCID": 7, "interfaces": [{"name": "default", "ipAddress": "127.0.0.1"}]}
        self.call("PUT", f"{place}/{NAME}", instance, CONTROLLER)

    def port_forward(self, protocol="tcp"):
        return f"{INSTANCE}/portforward/{self.guest_port}/{protocol}"

    def paths(self):
        return {"console": INSTANCE + "/console", "vnc": INSTANCE + "/vnc", "usbredir": INSTANCE + "/usbredir", "vsock": INSTANCE + "/vsock?port=1234",
                "tcp": self.port_forward("tcp"), "udp": self.port_forward("udp")}

    async def open(self, kind, **more):
        client = await Client.open(self, self.paths()[kind], **more)
        if kind == "usbredir":
            assert await client.receive() == b"hello"
        return client

    def counts(self):
        context = ssl.create_default_context(cafile=os.path.join(self.folder, "ca.crt"))
        context.check_hostname = False
        context.load_cert_chain(os.path.join(self.folder, "client.crt"), os.path.join(self.folder, "client.key"))
        with socket.create_connection(("127.0.0.1", self.node_port), timeout=DEADLINE_S) as plain, context.wrap_socket(plain) as tls:
            tls.sendall(b"GET /counts HTTP/1.1\r\n\r\n")
            return json.loads(tls.recv(65536).partition(b"\r\n\r\n")[2])

    def metrics(self):
        status, _, body = self.server.get("/metrics", headers=self.admin)
        assert status == 200
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in body.splitlines() if line and not line.startswith("#")}

    def active(self):
        """Series of streams that are open."""
        return {name: value for name, value in self.metrics().items() if name.startswith(GAUGES)}

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/task"))


async def until(condition, what):
    """Asks until it is so; other tasks run meanwhile."""
    deadline = time.monotonic() + DEADLINE_S
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, "still not: " + what
        await asyncio.sleep(0.02)


class Streams(unittest.TestCase):
    ping_seconds = 1
    world_type = World

    @classmethod
    def setUpClass(cls):
        node_side.allow_descriptors()
        cls.world = cls.world_type(cls.ping_seconds)

    @classmethod
    def tearDownClass(cls):
        cls.world.end()

    def run_async(self, work, seconds=DEADLINE_S):
        return asyncio.run(asyncio.wait_for(work, seconds))

    def refused(self, path, **more):
        with self.assertRaises(Refused) as caught:
            self.run_async(Client.open(self.world, path, **more))
        return caught.exception


class Everyday(Streams):
    def test_every_stream_echoes(self):
        async def work():
            for kind in self.world.paths():
                with self.subTest(kind):
                    client = await self.world.open(kind)
                    self.assertEqual(client.headers.get("sec-websocket-protocol"), "plain.kubevirt.io")
                    for size in (1, 125, 126, 511, 512, 513, 10000):
                        await client.echo(random.randbytes(size))
                    self.assertEqual((await client.close()).code, 1000)
        self.run_async(work())

    def test_machines_forward_ports_too(self):
        # The instance has no machine here, so the machine's route says what is missing.
        refused = self.refused(self.world.port_forward().replace("virtualmachineinstances", "virtualmachines"))
        self.assertEqual(refused.status, 404)

    def test_bytes_behind_the_handshake_are_not_lost(self):
        async def work():
            for kind in ("console", "tcp"):
                client = await Client.open(self.world, self.world.paths()[kind], early=frame(b"early", key=b"abcd"))
                self.assertEqual(await client.receive_bytes(5), b"early")
                await client.close()
        self.run_async(work())

    def test_fragments_and_text(self):
        async def work():
            client = await self.world.open("console")
            await client.send(b"one ", final=False)
            await client.send(b"message", opcode=0)
            self.assertEqual(await client.receive_bytes(11), b"one message")
            await client.close()
            client = await self.world.open("tcp")
            await client.send("text is dropped".encode(), opcode=TEXT)
            await client.echo(b"binary is not")
            await client.close()
        self.run_async(work())

    def test_a_datagram_is_a_message_and_a_message_a_datagram(self):
        async def work():
            client = await self.world.open("udp")
            for size in (1, 511, 512, 513, 1400, 9000, 32767, 32768, 32769, 65507):
                payload = random.randbytes(size)
                await client.send(payload)
                self.assertEqual(await client.receive(), payload, f"{size} bytes, in one frame")
            await client.send(b"in ", final=False)
            await client.send(b"pieces", opcode=0)
            self.assertEqual(await client.receive(), b"in pieces")
            await client.send(bytes(65508))
            self.assertEqual((await client.end()).code, 1009)
        self.run_async(work())

    def test_subprotocols(self):
        async def work():
            for offered, chosen in (("plain.kubevirt.io", "plain.kubevirt.io"), ("other, plain.kubevirt.io", "plain.kubevirt.io"), ("other", None), ("", None)):
                client = await Client.open(self.world, self.world.paths()["console"], protocols=offered)
                self.assertEqual(client.headers.get("sec-websocket-protocol"), chosen, offered)
                await client.echo(b"works")
                await client.close()
        self.run_async(work())

    def test_browsers_bring_their_token_among_the_subprotocols(self):
        prefix = "base64url.bearer.authorization.k8s.io."
        token = prefix + base64.urlsafe_b64encode(self.world.server.token().encode()).decode().rstrip("=")
        wrong = prefix + base64.urlsafe_b64encode(b"not the token").decode().rstrip("=")

        async def work():
            client = await Client.open(self.world, self.world.paths()["vnc"], headers={}, protocols=token + ", plain.kubevirt.io")
            self.assertEqual(client.headers["sec-websocket-protocol"], "plain.kubevirt.io")
            self.assertNotIn(prefix, str(client.headers))
            await client.echo(b"works")
            await client.close()
        self.run_async(work())
        for protocols in (wrong + ", plain.kubevirt.io", token, f"{token}, {token}, plain.kubevirt.io", prefix + "!, plain.kubevirt.io"):
            refused = self.refused(self.world.paths()["vnc"], headers={}, protocols=protocols)
            self.assertEqual(refused.status, 401, protocols)
            self.assertNotIn(self.world.server.token(), refused.body)
        self.assertIn(self.refused(self.world.paths()["vnc"], headers={}).status, (401, 403))

    def test_errors_before_the_upgrade_are_plain_http(self):
        paths = self.world.paths()
        closed = e2e.free_port()
        for path, more, status in ((INSTANCE.replace(NAME, "nobody") + "/console", {}, 404), (paths["vnc"] + "?preserveSession=true", {}, 500),
                                   (f"{INSTANCE}/portforward/{closed}", {}, 500), (INSTANCE + "/portforward/80/sctp", {}, 500),
                                   (paths["console"], {"drop": ["Connection"]}, 400), (paths["console"], {"drop": ["Upgrade"]}, 426),
                                   (paths["console"], {"drop": ["Sec-WebSocket-Key"]}, 400), (paths["tcp"], {"drop": ["Sec-WebSocket-Version"]}, 400)):
            refused = self.refused(path, **more)
            self.assertEqual(refused.status, status, path)
            self.assertEqual(json.loads(refused.body)["code"], status)
            self.assertLessEqual(len(refused.body), 1024, "clients look at no more of a refusal")
        self.assertIn("another session is active", self.refused(paths["vnc"] + "?preserveSession=true").body)

    def test_errors_after_it_are_close_frames(self):
        async def end_after(kind, message):
            client = await self.world.open(kind)
            await client.echo(b"before")
            await client.send(message)
            return (await client.end()).code

        async def work():
            self.assertEqual(await end_after("tcp", b"!close"), 1000)
            self.assertEqual(await end_after("tcp", b"!abort"), 1011)
            self.assertEqual(await end_after("console", b"!abort"), 1011)
            self.assertIsNone(await end_after("console", b"!half"), "in the middle of a frame nothing can be said")
            self.assertIsNone(await end_after("console", b"!close"), "an end without a close frame stays one: clients explain it to people")
            closed = e2e.free_port()
            client = await Client.open(self.world, f"{INSTANCE}/portforward/{closed}/udp")
            await client.send(b"is anybody there?")
            self.assertEqual((await client.end()).code, 1011)
            client = await self.world.open("tcp")
            client.writer.write(frame(b"not masked"))
            self.assertEqual((await client.end()).code, 1002)
        self.run_async(work())

    def test_metrics_count_what_is_open(self):
        labels = f'{{namespace="{NAMESPACE}",vmi="{NAME}"}}'

        async def work():
            self.assertEqual(self.world.active(), {})
            clients = [await self.world.open(kind) for kind in ("console", "console", "vnc", "usbredir", "tcp", "udp", "vsock")]
            self.assertEqual(self.world.active(), {name + labels: value for name, value in zip(GAUGES, (2, 1, 1, 2))})
            for client in clients:
                await client.close()
            await until(lambda: not self.world.active(), "no stream is counted")
            self.assertAlmostEqual(self.world.metrics()["kubevirt_vmi_last_api_connection_timestamp_seconds" + labels], time.time(), delta=DEADLINE_S)
        self.run_async(work())

    def test_idle_streams_are_pinged_on_both_legs_and_stay(self):
        async def stay(kind, until_s):
            client = await self.world.open(kind)
            await client.echo(b"before")
            reading = asyncio.ensure_future(client.receive())
            while client.pings < 2 or time.monotonic() < until_s:
                await asyncio.sleep(0.05)
                assert not reading.done(), (kind, reading)
            await client.send(b"after")
            self.assertEqual(await reading, b"after", kind)
            await client.close()

        async def work():
            before = self.world.counts()
            await asyncio.gather(*(stay(kind, time.monotonic() + IDLE_S) for kind in self.world.paths()))
            after = self.world.counts()
            self.assertGreaterEqual(after["pings"] - before["pings"], 4, "the node is pinged as well")
        self.run_async(work(), DEADLINE_S + IDLE_S)

    def test_a_server_that_stops_says_goodbye(self):
        world = self.world_type()
        try:
            async def work():
                clients = {kind: await world.open(kind) for kind in world.paths()}
                for kind, client in clients.items():
                    await client.echo(b"before")
                world.server.process.send_signal(signal.SIGTERM)
                ends = await asyncio.gather(*(client.end() for client in clients.values()))
                self.assertEqual({kind: end.code for kind, end in zip(clients, ends)}, {kind: 1001 for kind in clients})
            began = time.monotonic()
            self.run_async(work())
            self.assertEqual(world.server.ended(), 0)
            self.assertLess(time.monotonic() - began, 15, "streams do not use up the time for stopping")
        finally:
            world.end()


    def test_a_second_signal_does_not_wait_for_streams(self):
        world = self.world_type()
        try:
            async def work():
                clients = [await world.open(kind) for kind in world.paths()]
                for client in clients:
                    await client.echo(b"before")
                    client.writer.transport.pause_reading()  # nobody answers the goodbye
                world.server.process.send_signal(signal.SIGTERM)
                await until(lambda: b"stopping" in world.server.errors().encode(), "the first signal arrived")
                world.server.process.send_signal(signal.SIGTERM)
                self.assertEqual(await asyncio.to_thread(world.server.ended), 0, world.server.errors())
                for client in clients:
                    client.writer.transport.abort()
            self.run_async(work())
        finally:
            world.end()


class Much(Streams):
    """Volume, numbers, slowness and death. Pings are as rare as usual, so that they disturb no count."""
    ping_seconds = 30

    async def copy(self, kind, total, size):
        """Sends and receives at the same time; both ends count and hash."""
        client = await self.world.open(kind)
        sent, received = hashlib.sha256(), hashlib.sha256()
        source = random.Random(SEED)
        blocks = [source.randbytes(size) for _ in range(16)]
        framed = [frame(block, key=source.randbytes(4)) for block in blocks]
        window = asyncio.Semaphore(4 if kind == "udp" else 1 << 30)  # datagrams that nobody reads are lost, everywhere

        async def send():
            for number in range(total // size):
                await window.acquire()
                client.writer.write(framed[number % 16])
                await client.writer.drain()
                sent.update(blocks[number % 16])

        async def receive():
            left = total // size * size
            while left:
                data = await client.receive()
                received.update(data)
                left -= len(data)
                window.release()
        began = time.monotonic()
        await asyncio.gather(send(), receive())
        took = time.monotonic() - began
        self.assertEqual(sent.digest(), received.digest())
        await client.close()
        print(f"  {kind}: {total / MIB:.0f} MiB there and back in {took:.1f} s", file=sys.stderr)

    def test_bytes_arrive_exactly_as_sent(self):
        for kind, size in (("console", 65536), ("vnc", 10000), ("tcp", 65536), ("udp", 8192)):
            with self.subTest(kind):
                self.run_async(self.copy(kind, COPIED_BYTES, size), 1800)

    def test_a_slow_reader_does_not_grow_memory(self):
        total = 64 * MIB

        async def work(kind):
            client = await self.world.open(kind, limit=4096)
            await client.echo(b"before")
            before = self.world.server.resident_mib()
            began = moved = self.world.counts()["flooded"]
            await client.send(b"!flood %d" % total)
            while moved != (now := self.world.counts()["flooded"]) or moved == began:
                moved = now
                await asyncio.sleep(0.2)
            self.assertLess(moved - began, total, "there is more to come")
            grown = self.world.server.resident_mib() - before
            if not e2e.SANITIZED:  # sanitizers hold freed memory back
                self.assertLess(grown, 8, kind)
            got = bytearray()
            for number in range(total // node_side.CHUNK):
                while len(got) < node_side.CHUNK:
                    got += await client.receive()
                self.assertEqual(bytes(got[:node_side.CHUNK]), node_side.block(number))
                del got[:node_side.CHUNK]
            await client.close()
            print(f"  {kind}: {grown:.1f} MiB more in memory, {(moved - began) / MIB:.1f} MiB on the way, with a reader that does not read", file=sys.stderr)
        for kind in ("console", "tcp"):
            self.run_async(work(kind), 300)

    def test_many_streams_at_once(self):
        async def work():
            gate = asyncio.Semaphore(32)

            async def open_one(number):
                async with gate:
                    client = await self.world.open(("console", "vnc", "tcp")[number % 3])
                    await client.echo(b"number %d" % number)
                    return client
            clients = await asyncio.gather(*(open_one(number) for number in range(STREAMS)))
            self.assertEqual(sum(self.world.active().values()), STREAMS)
            resident = self.world.server.resident_mib()
            await asyncio.gather(*(client.echo(random.randbytes(1000)) for client in clients))
            busy = self.world.server.resident_mib()
            print(f"  {STREAMS} streams: {resident:.0f} MiB, {busy:.0f} MiB after all were busy at once", file=sys.stderr)
            if not e2e.SANITIZED:
                self.assertLess(busy, 100)
            await asyncio.gather(*(client.close() for client in clients))
            await until(lambda: not self.world.active(), "all streams are gone")
        self.run_async(work(), 600)

    def test_nothing_is_left_when_either_side_dies(self):
        dice = random.Random(SEED)
        kinds = list(self.world.paths())

        async def one(number, gate):
            kind, death = dice.choice(kinds), dice.choice(("abort", "vanish", "close", "!abort", "!close", "!half", "busy", "early"))
            payload, rounds = dice.randbytes(dice.choice((10, 1000, 100000)) if kind != "udp" else 1000), dice.randrange(4)
            async with gate:
                if death == "early":  # in the middle of the handshake
                    reader, writer = await asyncio.open_connection(self.world.server.host, self.world.server.port, ssl=self.world.tls)
                    who = "".join(f"{name}: {value}\r\n" for name, value in self.world.admin.items())
                    writer.write(f"GET {self.world.paths()[kind]} HTTP/1.1\r\nHost: x\r\n{who}"
                                 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                 "AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
                    await writer.drain()
                    return writer.transport.abort()
                client = await self.world.open(kind)
                for _ in range(rounds):
                    await client.echo(payload)
                await client.send(payload)
                if death == "abort":
                    client.abort()
                elif death == "vanish":
                    client.writer.transport.abort()
                elif death == "close":
                    await client.close(dice.choice((1000, 1001, 4000)))
                elif death == "busy":  # while bytes wait on both sides
                    await client.send(b"!flood 4194304")
                    await client.receive()
                    client.abort()
                elif kind == "udp":
                    client.abort()
                else:
                    with contextlib.suppress(ConnectionError):
                        await client.receive_bytes(len(payload))
                        await client.send(death.encode())
                    await client.end()

        async def work():
            warm = [await self.world.open(kind) for kind in kinds]
            for client in warm:
                await client.close()
            await until(lambda: not self.world.active(), "the first streams are gone")
            await until(lambda: self.world.counts()["open"] == 0, "the node has no stream")
            await asyncio.to_thread(self.world.metrics)
            descriptors, threads = self.world.descriptors(), self.world.threads()
            gate = asyncio.Semaphore(16)
            await asyncio.gather(*(one(number, gate) for number in range(KILLS)))
            await until(lambda: not self.world.active(), "no stream is counted")
            await until(lambda: self.world.counts()["open"] == 0 and self.world.counts()["guests"] == 0, "node and guest have no stream")
            await until(lambda: self.world.descriptors() <= descriptors, "no descriptor is left")
            self.assertEqual(self.world.threads(), threads)
            client = await self.world.open("console")
            await client.echo(b"still works")
            await client.close()
        try:
            self.run_async(work(), 600)
        except BaseException:
            print(f"  VIRTGATE_SEED={SEED}", file=sys.stderr)
            raise
