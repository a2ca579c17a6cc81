#!/usr/bin/env python3
"""What real guests cost: `virtgate serve --node libvirt` with the demo guest (./dev image), started for it (VIRTGATE_BINARY,
else build/release/virtgate).

  bench/guests.py [--creates 20] [--at-once 20] [--cloud-init]

Prints how long it takes from a create to phase Running, one VM after another (each is deleted again, so that no emulated guest takes the
time), how long until many at once run, and what they cost beyond QEMU: memory of virtgate, virtgate-node and libvirtd.
"""
import argparse
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("VIRTGATE_BINARY", os.path.join(ROOT, "build/release/virtgate"))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from support import node  # noqa: E402
from support.node import VMS  # noqa: E402

PROGRAMS = ("virtgate-node", "libvirtd", "virtgate")
REST_S = 5  # what was freed goes back to the system


def proportional_kib(pid):
    """What is shared counts for each a part of it."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def memory(state, measure=node.resident_kib):
    found = {}
    for name in PROGRAMS:
        pids = [pid for pid in node.children(name, state) if os.path.basename(os.readlink(f"/proc/{pid}/exe")).split(" ")[0] == name]
        found[name] = sum(measure(pid) for pid in pids)
    return found


class Guests(node.Node):
    def runTest(self):
        pass

    def guest(self, name, cloud_init):
        vm = self.vm(name)
        if cloud_init:
            spec = vm["spec"]["template"]["spec"]
            spec["volumes"].append({"name": "seed", "cloudInitNoCloud": {"userData": "#cloud-config\nhostname: demo\n"}})
            spec["domain"]["devices"]["disks"].append({"name": "seed", "disk": {"bus": "virtio"}})
        return vm

    def create(self, name, cloud_init):
        began = time.monotonic()
        self.good("POST", VMS, self.guest(name, cloud_init))
        self.until_phase(name, "Running")
        return time.monotonic() - began

    def one_after_another(self, count, cloud_init):
        took = []
        for number in range(count + 1):
            took.append(self.create(f"one{number}", cloud_init))
            self.remove(f"one{number}")
        took = sorted(round(one * 1000) for one in took[1:])  # the first one looks at QEMU, once
        print(f"create -> Running: median {statistics.median(took):.0f} ms of {count}, from {took[0]} to {took[-1]}")

    def at_once(self, count, cloud_init):
        before = memory(self.state)
        began = time.monotonic()
        for number in range(count):
            self.good("POST", VMS, self.guest(f"many{number}", cloud_init))
        for number in range(count):
            self.until_phase(f"many{number}", "Running")
        print(f"{count} at once: all Running after {time.monotonic() - began:.1f} s")
        time.sleep(REST_S)
        after = memory(self.state)
        grown = {name: after[name] - before[name] for name in PROGRAMS}
        print(f"beyond QEMU: {sum(grown.values()) / count / 1024:.2f} MiB a VM; KiB {before} -> {after}")
        for number in range(count):
            self.ask("DELETE", f"{VMS}/many{number}")
        for number in range(count):
            self.remove(f"many{number}")

    def at_rest(self, when):
        time.sleep(REST_S)
        for word, measure in (("resident", node.resident_kib), ("proportional", proportional_kib)):
            found = memory(self.state, measure)
            print(f"{when}: node and libvirtd {(found['virtgate-node'] + found['libvirtd']) / 1024:.1f} MiB {word}; KiB {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--creates", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--cloud-init", action="store_true")
    options = parser.parse_args()
    if reason := node.why_not():
        sys.exit(reason)
    Guests.setUpClass()
    try:
        guests = Guests()
        guests.create("warm", options.cloud_init)
        guests.remove("warm")
        guests.at_rest("at rest")
        guests.one_after_another(options.creates, options.cloud_init)
        guests.at_once(options.at_once, options.cloud_init)
        guests.at_rest("at rest again")
    finally:
        Guests.tearDownClass()


if __name__ == "__main__":
    main()
