#!/usr/bin/env python3
"""Streams through `virtgate cluster`: what streams_e2e_test.py asks of `virtgate serve`, asked through kube-apiserver's front
proxy, which this test plays, with `virtgate serve --api-only` as the API server and stand_in_node.py as the node.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from support import cluster
from support import serve as e2e
import stand_in_node as node_side
from support import streams

FAREWELL_S = 5
MAP = "/api/v1/namespaces/kubevirt/configmaps/kubevirt-ca"


class FrontDoor:
    """A gateway as the tests of streams see a server."""
    host = "127.0.0.1"

    def __init__(self, gateway):
        self.gateway, self.port, self.process = gateway, gateway.port, gateway.process

    def get(self, path, headers=None):
        code, text = self.gateway.ask("GET", path, headers=headers)
        return code, {}, text

    def errors(self):
        return self.gateway.errors()

    def ended(self):
        return self.process.wait(streams.DEADLINE_S)

    def resident_mib(self):
        return e2e.Server.resident_mib(self)


class ClusterWorld(streams.World):
    backend = None

    def start(self, *flags):
        class Backend(cluster.Cluster):
            pass
        Backend.flags = ("--allow-cache-seconds", "0", *flags)
        self.backend = Backend
        Backend.setUpClass()
        self.api = Backend.api
        self.server = FrontDoor(Backend.gateway)
        self.admin, self.tls = cluster.ADMIN, Backend.gateway.context("front")

    def make_objects(self):
        super().make_objects()
        asyncio.run(asyncio.wait_for(self.know_the_nodes(), streams.DEADLINE_S))

    async def know_the_nodes(self):
        """The gateway hears of objects a moment after they were made."""
        while True:
            try:
                client = await self.open("console")
                return await client.close()
            except streams.Refused:
                await asyncio.sleep(0.02)

    def descriptors(self):
        """Without the connections to the API server, which are kept for a while."""
        with open("/proc/net/tcp") as file:
            rows = [line.split() for line in file][1:]
        kept = {f"socket:[{row[9]}]" for row in rows if int(row[2].rpartition(":")[2], 16) == self.api.port}
        folder = f"/proc/{self.server.process.pid}/fd"
        found = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
        return sum(name not in kept for name in found)

    def stop(self):
        if self.backend:
            self.backend.doClassCleanups()


class Streaming(streams.Everyday):
    world_type = ClusterWorld
    test_browsers_bring_their_token_among_the_subprotocols = None  # kube-apiserver has taken the token off

    def test_nobody_else_opens_streams(self):
        for path in self.world.paths().values():
            refused = self.refused(path, headers=cluster.ZOE)
            self.assertEqual(refused.status, 401, path)
        anonymous = self.world.tls
        self.world.tls = self.world.backend.gateway.context()
        try:
            self.assertEqual(self.refused(self.world.paths()["console"]).status, 401, "the word of somebody without a certificate")
        finally:
            self.world.tls = anonymous
        self.assertEqual(self.world.active(), {}, "who is refused is not counted")

    def test_roles_of_users_decide(self):
        self.world.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "watchers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubevirt.io:edit"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}]})
        ann = {"X-Remote-User": "ann", "X-Remote-Group": "system:authenticated"}

        async def work():
            for kind in ("console", "vnc", "usbredir", "tcp", "udp"):
                client = await self.world.open(kind, headers=ann)
                await client.echo(b"works")
                await client.close()
        self.run_async(work())
        self.assertEqual(self.refused(self.world.paths()["vsock"], headers=ann).status, 401, "no role has it by default")

    def test_a_stream_that_ended_is_logged(self):
        async def work():
            client = await self.world.open("console")
            await client.close()
        self.run_async(work())

        def lines():
            return [line for line in map(json.loads, self.world.server.errors().splitlines()) if line.get("url", "").endswith("/console")
                    and line.get("statusCode") == 101]
        line = cluster.until("the request is logged", lines)[-1]
        self.assertEqual((line["method"], line["username"], line["remoteAddress"]), ("GET", "root-admin", "127.0.0.1"))

    def test_new_certificates_of_the_link_to_nodes_are_used(self):
        """The nodes' authority is replaced, with both in force for a while, as the operator does it."""
        world = self.world_type()
        self.addCleanup(world.end)

        async def works(wanted):
            try:
                client = await world.open("console")
            except streams.Refused:
                return not wanted
            await client.echo(b"works")
            await client.close()
            return wanted

        def bundle(text):
            world.call("PUT", MAP, {**world.call("GET", MAP), "data": {"ca-bundle": text}})
        old = e2e.read(world.folder, "ca.crt")
        self.assertTrue(self.run_async(works(True)))
        node_side.make_pki(world.folder)  # the files of our client are new from here on, the node still has its old ones
        new = e2e.read(world.folder, "ca.crt")
        self.assertTrue(self.run_async(works(False)), "the node does not know the new authority yet")
        world.node.stdin.close()
        world.node.wait(streams.DEADLINE_S)
        world.node.stdout.close()
        world.node = subprocess.Popen([sys.executable, node_side.__file__, "--port", str(world.node_port), "--guest-port", str(world.guest_port),
                                       "--pki", world.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(world.node.stdout.readline(), b"ready\n")
        self.assertTrue(self.run_async(works(False)), "and we do not trust its certificate")
        bundle(old + new)
        cluster.until("both authorities count", lambda: self.run_async(works(True)))
        bundle(old)
        cluster.until("the new one does not count any more", lambda: self.run_async(works(False)))
        bundle(new)
        cluster.until("the new one counts alone", lambda: self.run_async(works(True)))
        world.api.ask("DELETE", MAP, None, world.api.as_admin())
        self.assertTrue(self.run_async(works(True)), "a ConfigMap that is gone says nothing new")

    def test_a_server_that_stops_says_goodbye(self):
        """Streams go on while the pod is taken out of rotation, and are told when that is over."""
        world = self.world_type()
        self.addCleanup(world.end)

        async def work():
            clients = {kind: await world.open(kind) for kind in world.paths()}
            for client in clients.values():
                await client.echo(b"before")
            began = time.monotonic()
            world.server.process.send_signal(signal.SIGTERM)
            await streams.until(lambda: world.server.get("/readyz")[0] == 500, "it is not ready any more")
            for client in clients.values():
                await client.echo(b"meanwhile")
            late = await world.open("console")  # whoever was sent here before others knew
            await late.echo(b"late")
            ends = await asyncio.gather(*(client.end() for client in (*clients.values(), late)))
            self.assertEqual([end.code for end in ends], [1001] * len(ends))
            self.assertGreater(time.monotonic() - began, FAREWELL_S - 1)
        self.run_async(work())
        self.assertEqual(world.server.ended(), 0, world.server.errors())


class Many(streams.Much):
    world_type = ClusterWorld
    # What crosses the same splice as in the standalone mode is measured there.
    test_bytes_arrive_exactly_as_sent = test_a_slow_reader_does_not_grow_memory = None


if __name__ == "__main__":
    if not e2e.BINARY:
        sys.exit("VIRTGATE_BINARY must name the program")
    unittest.main(verbosity=2)
