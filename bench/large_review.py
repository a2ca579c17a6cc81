#!/usr/bin/env python3
"""How long a very large review takes: a machine of 430 KB with thousands of disks, volumes, interfaces and networks.

usage: large_review.py [--binary build/release/virtgate] [--kilobytes 400] [--times 20]
"""
import argparse
import json
import statistics
import time

import serving

KUBEVIRT = {"group": "kubevirt.io", "version": "v1"}


def instance(count, bus="virtio"):
    devices = {"disks": [{"name": f"d{i}", "disk": {"bus": bus}} for i in range(count)],
               "interfaces": [{"name": f"n{i}", "bridge": {}} for i in range(count)]}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "large", "namespace": "default"},
            "spec": {"architecture": "amd64",
                     "domain": {"machine": {"type": "q35"}, "resources": {"requests": {"memory": "1Gi"}}, "devices": devices},
                     "networks": [{"name": f"n{i}", "multus": {"networkName": f"net-{i}"}} for i in range(count)],
                     "volumes": [{"name": f"d{i}", "persistentVolumeClaim": {"claimName": f"claim-{i}"}} for i in range(count)]}}


def machine(of):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": of["metadata"],
            "spec": {"runStrategy": "Always", "template": {"spec": of["spec"]}}}


def review(thing, update=False):
    plural = {"VirtualMachine": "virtualmachines", "VirtualMachineInstance": "virtualmachineinstances"}[thing["kind"]]
    request = {"uid": "u", "operation": "UPDATE" if update else "CREATE", "resource": {**KUBEVIRT, "resource": plural},
               "kind": {**KUBEVIRT, "kind": thing["kind"]}, "namespace": "default", "name": "large",
               "userInfo": {"username": "somebody"}, "object": thing}
    if update:
        request["oldObject"] = thing
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/virtgate")
    parser.add_argument("--kilobytes", type=int, default=400)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    count = options.kilobytes * 1000 // 195  # bytes for each disk, volume, interface and network
    good, bad = instance(count), instance(count, bus="none")
    server = serving.Server(options.binary)
    try:
        server.start()
        connection = server.connect()
        for name, path, body in (("new VMI, judged", "/virtualmachineinstances-validate-create", review(good)),
                                 ("new VMI, every disk wrong", "/virtualmachineinstances-validate-create", review(bad)),
                                 ("new VMI, completed", "/virtualmachineinstances-mutate", review(good)),
                                 ("new VM, judged", "/virtualmachines-validate", review(machine(good))),
                                 ("new VM, completed", "/virtualmachines-mutate", review(machine(good))),
                                 ("changed VMI, judged", "/virtualmachineinstances-validate-update", review(good, update=True))):
            times = []
            for _ in range(options.times):
                began = time.perf_counter()
                code, _ = serving.ask(connection, "POST", path, body)
                times.append(1000 * (time.perf_counter() - began))
                assert code == 200, code
            print(f"{name:26} {len(body) // 1000:4} KB   median {statistics.median(times):5.1f} ms   worst {max(times):5.1f} ms")
    finally:
        server.clean_up()


if __name__ == "__main__":
    main()
