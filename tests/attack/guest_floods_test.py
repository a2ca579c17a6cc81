#!/usr/bin/env python3
"""Guests that mean harm: endless output on the serial console, with nobody there and with somebody who does not read; an agent that talks without
end; a guest that starts anew all the time. Memory and files stay bounded, and another guest is served as before.

Without libvirt, QEMU or the guest's image it is skipped (tests/support/node.py).
"""
import asyncio
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import node  # noqa: E402
from support.node import ACTIONS, VMIS, VMS  # noqa: E402

ATTACK_S = 20
GROWTH_KIB = 48 * 1024  # of any process but the guest's own memory
FILES_KIB = 24 * 1024

# init starts the agent again whenever it ends; this one answers nothing and says much, some of it nearly right.
TALKS = r"""#!/bin/sh
cat >/usr/sbin/qemu-ga <<'END'
#!/bin/sh
exec >/dev/virtio-ports/org.qemu.guest_agent.0
while :; do
  head -c 3000000 /dev/zero | tr '\0' '['
  echo '{"return":{"version":"\u0000\u001b[2J","supported_commands":{}}}{"event":"x"'
  head -c 1000000 /dev/urandom
done
END
chmod 755 /usr/sbin/qemu-ga
killall qemu-ga
"""
FLOODS = TALKS + r"""
while :; do cat /dev/zero; done >/dev/ttyS0 &
while :; do cat /dev/urandom; done >/dev/hvc0 &
"""
STARTS_ANEW = "#!/bin/sh\nreboot -f\n"


def used_kib(folder):
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks // 2
            except OSError:
                pass
    return total


@unittest.skipUnless(os.environ.get("VIRTGATE_LONG", "") not in ("", "0"), "emulated guests take minutes for it: VIRTGATE_LONG=1")
class Floods(node.Node):
    verbosity = "2"

    def attacker(self, name, script):
        vm = self.vm(name)
        spec = vm["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"].append({"name": "cloud", "disk": {"bus": "virtio"}})
        spec["volumes"].append({"name": "cloud", "cloudInitNoCloud": {"userData": script}})
        self.good("POST", VMS, vm)
        self.until_phase(name, "Running")

    def sizes(self):
        found = {"server": node.resident_kib(self.one.process.pid)}
        for program in ("virtgate-node", "libvirtd"):
            found[program] = max(node.resident_kib(pid) for pid in node.children(program, self.state))
        return found

    def serves(self, name):
        """Another guest: its console, a pause and its end."""
        self.on_console(name, ("login:", None))
        for action, wanted in (("pause", "True"), ("unpause", None)):
            self.good("PUT", f"{ACTIONS}/virtualmachineinstances/{name}/{action}")
            self.until(action, lambda: self.condition(name, "Paused") == wanted)

    def grown(self, before, guest_before, guest, what):
        after, files = self.sizes(), used_kib(os.path.join(self.state, "nodes"))
        print(f"{what}: KiB before {before}, after {after}; QEMU {guest_before} -> {node.resident_kib(self.qemu(guest))}; files {self.files} -> {files}")
        for name, size in after.items():
            self.assertLess(size - before[name], GROWTH_KIB, f"{name} grew: {before} -> {after}")
        self.assertLess(files - self.files, FILES_KIB)

    def test_floods(self):
        self.start("other")
        self.on_console("other", ("login:", None))
        self.attacker("loud", FLOODS)
        self.until("the flood is on", lambda: b"\0" * 1000 in self.run_stream("loud/console", self.some))
        before, guest = self.sizes(), node.resident_kib(self.qemu("loud"))
        self.files = used_kib(os.path.join(self.state, "nodes"))

        time.sleep(ATTACK_S)  # nobody listens
        self.serves("other")
        self.grown(before, guest, "loud", "nobody reads")

        async def never_reads(client):
            await client.send(b"\n")
            await asyncio.sleep(ATTACK_S)
        self.run_stream("loud/console", never_reads)
        self.serves("other")
        self.grown(before, guest, "loud", "somebody who does not read")
        self.assertEqual(self.phase("loud"), "Running")
        status = self.get(f"{VMIS}/loud")["status"]
        self.assertNotIn("\x1b", str(status))
        for name in ("loud", "other"):
            self.remove(name)

    @staticmethod
    async def some(client):
        seen = b""
        while len(seen) < 65536:
            seen += await client.receive()
        return seen

    def test_a_guest_that_starts_anew_all_the_time(self):
        self.start("calm")
        self.attacker("restless", STARTS_ANEW)
        self.files = used_kib(os.path.join(self.state, "nodes"))
        before, guest = self.sizes(), node.resident_kib(self.qemu("restless"))
        time.sleep(ATTACK_S)
        self.serves("calm")
        self.grown(before, guest, "restless", "starts anew")
        self.assertEqual(self.phase("restless"), "Running")
        for name in ("restless", "calm"):
            self.remove(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
