#!/usr/bin/env python3
"""Networks of real guests on `virtgate serve --node libvirt`: what a guest reaches and what it does not, its ports at its own address and
through the API, bridges of the host.

Every wait is for an event, with a deadline. Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py). The test with a
bridge makes one in a network namespace of its own, which needs root.
"""
import asyncio
import os
import socket
import subprocess
import sys
import threading
import types
import unittest

from support import node, streams
from support.node import ACTIONS, VMIS

EVENTS = "/api/v1/namespaces/default/events"
DATAGRAM = b"\0\1"  # what busybox's tftp sends first: a request to read


class Listener:
    """Answers whoever connects, and remembers datagrams."""

    def __init__(self, address):
        self.seen = []
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.tcp, self.udp = socket.socket(family), socket.socket(family, socket.SOCK_DGRAM)
        self.tcp.bind((address, 0))
        self.port = self.tcp.getsockname()[1]
        self.udp.bind((address, self.port))
        self.tcp.listen(8)
        for work in (self.accept, self.receive):
            threading.Thread(target=work, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.tcp.accept()
            except OSError:
                return
            self.seen.append("connection")
            try:
                client.sendall(b"HTTP/1.0 200 OK\r\n\r\nREACHED\n")
            except OSError:
                pass
            client.close()

    def receive(self):
        while True:
            try:
                self.seen.append(self.udp.recvfrom(100)[0])
            except OSError:
                return

    def close(self):
        for one in (self.tcp, self.udp):
            one.close()


def host_address():
    """An address of this host that is no loopback one; None: there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return one.getsockname()[0]


class Networks(node.Node):
    def ports(self, *declared, name="default", **more):
        """A spec whose interface declares these."""
        return {"interfaces": [{"name": name, "masquerade": {}, "ports": [{"port": port, "protocol": protocol} for port, protocol in declared]}], **more}

    def create(self, name, devices=None, **more):
        vm = self.vm(name, **more)
        vm["spec"]["template"]["spec"]["domain"]["devices"].update(devices or {})
        self.good("POST", node.VMS, vm)

    def log_in(self, name):
        """Waits for a shell of root on the console."""
        self.until_phase(name, "Running")
        for attempt in range(3):  # getty forgets what comes while it begins, and a busy machine boots slowly
            try:
                self.on_console(name, ("login:", "root\n"), ("assword:", "demo\n"), ("#", None))
                return
            except TimeoutError:
                print(f"no shell on the console of {name} yet ({attempt})")
        self.fail(f"no shell on the console of {name}")

    def boot(self, name, **more):
        """A VM that runs, with a shell of root on its console."""
        self.create(name, **more)
        self.addCleanup(self.remove, name)
        self.log_in(name)

    def shell(self, name, command):
        """What a command prints on the guest's console, which also shows what is typed."""
        seen = self.on_console(name, ("#", f"echo BEG''UN; {command}; echo END''ED\n"), ("ENDED", None))
        return seen[seen.rindex("BEGUN") + 5:seen.rindex("ENDED")]

    def address(self, name):
        return self.get(f"{VMIS}/{name}")["status"]["interfaces"][0]["ipAddress"]

    def events(self, name, reason):
        items = (self.get(EVENTS) or {}).get("items", [])
        return [one["message"] for one in items if one["reason"] == reason and one["involvedObject"]["name"] == name]

    def fetch(self, name, where, port):
        """What the guest gets there until the other side ends it; busybox's wget wants libraries that the guest has not."""
        return self.shell(name, f"(echo 'GET / HTTP/1.0'; echo) | timeout 20 nc -w 20 {where} {port} 2>&1")

    def send_datagram(self, name, where, port):
        self.shell(name, f"timeout 2 tftp -g -r x -l /tmp/x {where} {port} 2>&1")

    def until_network(self, name):
        self.until(f"{name} has an address", lambda: "10.0.2." in self.shell(name, "ip -4 addr show eth0"))


class TwoGuests(Networks):
    """Two guests for all of it, since a boot under emulation is what takes the time; what each test asks of them is its own."""

    nodes = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        one = cls()
        # busybox's httpd listens on 80; what the guests declare is a port of its own for each
        for name in ("east", "west"):
            one.create(name, devices=one.ports((8080, "TCP"), (8090, "TCP"), (8053, "UDP"), (81, "TCP")))
        for name in ("east", "west"):
            one.log_in(name)
            one.until_network(name)

    @classmethod
    def tearDownClass(cls):
        for name in ("east", "west"):
            cls().remove(name)
        super().tearDownClass()

    def runTest(self):  # so that setUpClass can use what tests use
        pass

    def at_own_address(self, name, port, sent=b"GET / HTTP/1.0\r\n\r\n", awaited=b"HTTP/1."):
        """Asked from this host at the address that the status shows."""
        try:
            with socket.create_connection((self.address(name), port), timeout=node.DEADLINE_S) as client:
                client.sendall(sent)
                seen = b""
                while awaited not in seen:
                    piece = client.recv(4096)
                    if not piece:
                        return False
                    seen += piece
                return True
        except OSError:
            return False

    def test_ports_are_reached_at_the_guests_own_address_and_move_with_it(self):
        for name in ("east", "west"):
            self.shell(name, f"mkdir -p /tmp/w; echo I am {name} > /tmp/w/index.html; httpd -p 8080 -h /tmp/w")
        self.assertNotEqual(self.address("east"), self.address("west"))
        for name in ("east", "west"):
            self.until("its port answers", lambda: self.at_own_address(name, 8080, awaited=f"I am {name}".encode()))
        self.says_what_is_not_forwarded("east")
        self.moves("east")
        self.until("its port answers after it moved", lambda: self.at_own_address("east", 8080, awaited=b"I am east"))

    def says_what_is_not_forwarded(self, name):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as file:
            if int(file.read()) <= 81:
                return
        told = self.until("the port that cannot be had is told", lambda: self.events(name, "PortsNotForwarded"))
        self.assertEqual(len(told), 1)
        self.assertIn("81/tcp", told[0])
        self.assertIn("ip_unprivileged_port_start", told[0])
        self.assertNotIn("8080", told[0])

    def moves(self, name):
        before = self.get(f"{VMIS}/{name}")["status"]
        self.good("POST", node.MIGRATIONS, {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                                            "metadata": {"name": f"move-{name}"}, "spec": {"vmiName": name}})
        self.until("moved", lambda: (self.get(f"{node.MIGRATIONS}/move-{name}") or {}).get("status", {}).get("phase") in ("Succeeded", "Failed"))
        after = self.get(f"{VMIS}/{name}")["status"]
        self.assertNotEqual(after["nodeName"], before["nodeName"], after)
        self.assertEqual(after["interfaces"][0]["ipAddress"], before["interfaces"][0]["ipAddress"])

    def test_any_port_through_the_api(self):
        for name in ("east", "west"):  # the same ports in both, and none that they declare
            self.shell(name, "mkdir -p /tmp/w; dd if=/dev/zero of=/tmp/w/large bs=1k count=4096 2>/dev/null; "
                             f"echo I am {name} > /tmp/w/index.html; httpd -p 7000 -h /tmp/w")
        for name in ("east", "west"):
            self.until("its port answers", lambda: self.on_port(name, 7000, b"GET / HTTP/1.0\r\n\r\n", f"I am {name}".encode()))
        self.datagrams("east")
        self.many_at_once(16)
        self.is_refused("east", 7999)
        self.assertEqual(self.get(f"{VMIS}/east")["status"]["phase"], "Running")

    def datagrams(self, name):
        """busybox has no server for them: its tftp, which wants to send a file, is answered as its server would. Nobody has the address that it asks, so
        that QEMU's network knows nothing of its port before."""
        self.shell(name, "echo over datagrams > /tmp/f; ( (while true; do tftp -p -l /tmp/f -r f 10.0.2.77 9; done) >/dev/null 2>&1 & echo $! >/tmp/sender)")

        def port():
            rows = [line.split() for line in self.shell(name, "cat /proc/net/udp").splitlines()]
            ports = [int(row[1].split(":")[1], 16) for row in rows if len(row) > 3 and row[0].endswith(":") and ":" in row[1]]
            return next((one for one in ports if one > 1024), None)

        async def talk(client):  # datagrams may be lost, and the next attempt of the guest has another port
            for _ in range(5):
                await client.send(b"\0\4\0\0")
                try:
                    if b"over datagrams" in await asyncio.wait_for(client.receive(), 3):
                        return True
                except TimeoutError:
                    pass
            return False

        def is_sent():
            try:
                found = port()
                return found and self.run_stream(f"{name}/portforward/{found}/udp", talk)
            except streams.Ended:
                return False
        self.until("a file is sent over datagrams", is_sent)
        self.shell(name, "kill $(cat /tmp/sender)")

    def open_world(self):
        return types.SimpleNamespace(server=self.one, tls=self.one.context(), admin=self.one.as_admin())

    def many_at_once(self, count):
        async def fetch(world, name, path, awaited):
            client = await streams.Client.open(world, f"{ACTIONS}/virtualmachineinstances/{name}/portforward/7000/tcp")
            try:
                await client.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                seen = b""
                while len(seen) < awaited:
                    seen += await client.receive()
                return len(seen)
            finally:
                client.abort()

        async def run():
            world = self.open_world()
            work = [fetch(world, ("east", "west")[at % 2], "/large", 4 << 20) for at in range(count)]
            return await asyncio.wait_for(asyncio.gather(*work), node.DEADLINE_S)
        self.assertTrue(all(size >= 4 << 20 for size in asyncio.run(run())))

    def is_refused(self, name, port):
        """A port that nobody listens on ends the stream, at once or when something is sent; it is not answered."""
        async def talk(client):
            await client.send(b"hello")
            while True:
                await client.receive()
        try:
            self.run_stream(f"{name}/portforward/{port}/tcp", talk)
        except streams.Ended:
            return
        self.fail("a stream to a closed port goes on")

    # --- what it does not reach

    def test_z_a_guest_reaches_neither_loopback_nor_other_guests(self):
        """The last one of its name: the guest is made to send what is meant for itself elsewhere."""
        other = self.address("east")
        self.shell("east", "mkdir -p /tmp/r; echo REACHED > /tmp/r/index.html; httpd -p 8090 -h /tmp/r")
        self.until("the other guest is reached from here", lambda: self.at_own_address("east", 8090, awaited=b"REACHED"))
        with open(f"/proc/{self.qemu('west')}/maps") as file:
            self.assertIn("loopback_guard.so", file.read())
        own, second, six = Listener("127.0.0.1"), Listener("127.0.0.2"), Listener("::1")
        self.addCleanup(lambda: [one.close() for one in (own, second, six)])
        # A hostile guest is root, and sends what it likes: the host's loopback range goes out of its NIC, too.
        self.shell("west", "sysctl -w net.ipv4.conf.all.route_localnet=1; ip route del table local 127.0.0.0/8 dev lo; "
                           "ip route del table local 127.0.0.1 dev lo; ip route add 127.0.0.0/8 via 10.0.2.2 dev eth0; ip -6 route add default via fec0::2 dev eth0")
        for where, port in (("10.0.2.2", own.port), ("127.0.0.1", own.port), ("127.0.0.2", second.port), ("fec0::2", six.port),
                            ("10.0.2.2", self.one.port), (other, 8090)):
            self.assertNotIn("REACHED", self.fetch("west", where, port), where)
        for where, port in (("10.0.2.2", own.port), ("127.0.0.2", second.port)):
            self.send_datagram("west", where, port)
        self.assertEqual((own.seen, second.seen, six.seen), ([], [], []))
        self.reaches_the_outside("west")

    def reaches_the_outside(self, name):
        """What is not loopback is reached, as from a pod: an address of this host."""
        address = host_address()
        if not address:
            print("this host has no other address than loopback ones")
            return
        outside = Listener(address)
        self.addCleanup(outside.close)
        self.assertIn("REACHED", self.fetch(name, address, outside.port))
        self.send_datagram(name, address, outside.port)
        self.until("a datagram came", lambda: any(one.startswith(DATAGRAM) for one in outside.seen if isinstance(one, bytes)))


class Bridges(Networks):
    """Secondary networks. What needs a bridge of the host runs where this test may make one."""

    NADS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"

    def attachment(self, name, config):
        self.good("POST", self.NADS, {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": name}, "spec": {"config": config}})

    def refused(self, name, network):
        vm = self.vm(name)
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["interfaces"].append({"name": "blue", "bridge": {}})
        spec["networks"].append({"name": "blue", "multus": {"networkName": network}})
        self.good("POST", node.VMS, vm)
        told = self.until("the reason is told", lambda: self.events(name, "SyncFailed"))
        self.assertEqual(self.qemu(name), None)
        self.remove(name)
        return told[0]

    def test_what_cannot_be_is_said(self):
        self.assertIn("does not exist", self.refused("one", "missing"))
        self.attachment("macvlan", '{"cniVersion":"0.3.1","type":"macvlan","master":"eth0"}')
        self.assertIn("type bridge", self.refused("two", "macvlan"))
        self.attachment("nowhere", '{"cniVersion":"0.3.1","type":"bridge","bridge":"br-nowhere"}')
        self.assertIn("no bridge br-nowhere", self.refused("three", "nowhere"))
        self.attachment("tagged", '{"cniVersion":"0.3.1","type":"bridge","bridge":"br-nowhere","vlan":7}')
        self.assertIn("vlan", self.refused("four", "tagged"))
        self.assertIn("another namespace", self.refused("five", "kubevirt/any"))


BRIDGE, HOST, GUEST = "br-vg", "192.168.77.1", "192.168.77.2"
INSIDE = "VIRTGATE_TEST_HAS_BRIDGE"
# In namespaces of its own the test is the administrator: it makes a bridge, lets QEMU's helper become root and lists the bridge. The host sees nothing of it.
ADMINISTER = f"""set -e
mount -t sysfs sysfs /sys
ip link set lo up
ip link add {BRIDGE} type bridge
ip addr add {HOST}/24 dev {BRIDGE}
ip link set {BRIDGE} up
folder=$(mktemp -d)
mount -t tmpfs none "$folder"
mkdir "$folder/upper" "$folder/work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$folder/upper,workdir=$folder/work" /etc
mkdir -p /etc/qemu
echo "allow {BRIDGE}" >/etc/qemu/bridge.conf
cp /usr/lib/qemu/qemu-bridge-helper "$folder/helper"
chmod u+s "$folder/helper"
mount --bind "$folder/helper" /usr/lib/qemu/qemu-bridge-helper
mknod -m 666 "$folder/tun" c 10 200
mount --bind "$folder/tun" /dev/net/tun
"""


class BridgesOfTheHost(unittest.TestCase):
    def test_in_namespaces_of_its_own(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a bridge")
        if node.why_not():
            self.skipTest(node.why_not())
        begin = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", ADMINISTER], capture_output=True, text=True)
        if begin.returncode != 0:
            self.skipTest(f"no bridge can be made here: {begin.stderr.strip()}")
        run = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", ADMINISTER + 'exec "$@"', "sh", sys.executable, __file__, "AttachesGuests"],
                             env={**os.environ, INSIDE: "1"}, capture_output=True, text=True)
        told = "\n".join(line for line in run.stderr.splitlines() if '"level":"info"' not in line)
        self.assertEqual(run.returncode, 0, told[-6000:])


class AttachesGuests(Bridges):
    @classmethod
    def setUpClass(cls):
        if INSIDE not in os.environ:
            raise unittest.SkipTest("runs inside of BridgesOfTheHost")
        super().setUpClass()

    def test_what_cannot_be_is_said(self):
        pass  # was asked outside

    def interfaces(self, name):
        return {one.get("name"): one for one in self.get(f"{VMIS}/{name}")["status"].get("interfaces", [])}

    def answers(self):
        # The guest's own DHCP client takes addresses away when it begins.
        self.shell("wired", f"ip addr add {GUEST}/24 dev eth1 2>/dev/null; ip link set eth1 up")
        try:
            with socket.create_connection((GUEST, 80), timeout=5) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return client.recv(100).startswith(b"HTTP/1.")
        except OSError:
            return False

    def change(self, name, *operations):
        self.good("PATCH", f"{node.VMS}/{name}", list(operations), headers={"Content-Type": "application/json-patch+json"})

    def test_a_nic_on_a_bridge_comes_and_goes(self):
        self.attachment("office", f'{{"cniVersion":"0.3.1","type":"bridge","bridge":"{BRIDGE}"}}')
        self.boot("wired")
        self.assertEqual(list(self.interfaces("wired")), ["default"])
        template = "/spec/template/spec"
        self.change("wired", {"op": "add", "path": f"{template}/domain/devices/interfaces/-", "value": {"name": "blue", "bridge": {}, "macAddress": "02:00:00:00:77:02"}},
                    {"op": "add", "path": f"{template}/networks/-", "value": {"name": "blue", "multus": {"networkName": "office"}}})
        self.until("it has the NIC", lambda: self.interfaces("wired").get("blue", {}).get("mac") == "02:00:00:00:77:02")
        self.until("the guest sees it", lambda: "eth1" in self.shell("wired", "ls /sys/class/net"))
        self.until("it is reached over the bridge", self.answers)
        # its cable
        where = f"{template}/domain/devices/interfaces/1/state"
        self.change("wired", {"op": "add", "path": where, "value": "down"})
        self.until("the cable is pulled", lambda: self.interfaces("wired")["blue"].get("linkState") == "down")
        self.until("the guest sees that", lambda: "down" in self.shell("wired", "cat /sys/class/net/eth1/operstate").split())
        self.change("wired", {"op": "replace", "path": where, "value": "up"})
        self.until("and is plugged again", lambda: self.interfaces("wired")["blue"].get("linkState") == "up")
        self.until("it is reached again", self.answers)
        # and away
        self.change("wired", {"op": "replace", "path": where, "value": "absent"})
        self.until("the NIC is gone", lambda: "blue" not in self.interfaces("wired"))
        self.until("the VM does not name it any more", lambda: len(self.get(f"{node.VMS}/wired")["spec"]["template"]["spec"]["networks"]) == 1)
        self.assertNotIn("eth1", self.shell("wired", "ls /sys/class/net"))
        self.remove("wired")
        self.starts_with_it()

    def starts_with_it(self):
        vm = self.vm("two")
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["interfaces"].append({"name": "blue", "bridge": {}})
        spec["networks"].append({"name": "blue", "multus": {"networkName": "office"}})
        self.good("POST", node.VMS, vm)
        self.until_phase("two", "Running")
        self.assertEqual(set(self.interfaces("two")), {"default", "blue"})
        self.assertNotIn("ipAddress", self.interfaces("two")["blue"])
        self.remove("two")


if __name__ == "__main__":
    unittest.main(verbosity=2)
