#!/usr/bin/env python3
"""What `virtgate check` and `render` cost: 10,000 VMs in every form that files have, and one VM as a domain.

    bench/check_manifests.py [--program build/release/virtgate] [--count 10000] [--rounds 3]

Prints seconds from start to exit, seconds of CPU (user and system; what else runs on the machine matters less to them), and the most memory
that was resident. The best of some rounds counts. Exits with 1 when a figure is above its target (docs/check.md)."""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

VM = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: %s
  namespace: default
  labels:
    app: web
spec:
  runStrategy: Always
  template:
    metadata:
      labels:
        app: web
    spec:
      domain:
        cpu:
          cores: 2
        memory:
          guest: 2Gi
        devices:
          disks:
          - name: root
            disk:
              bus: virtio
          - name: init
            disk:
              bus: virtio
          interfaces:
          - name: default
            masquerade: {}
      networks:
      - name: default
        pod: {}
      terminationGracePeriodSeconds: 180
      volumes:
      - name: root
        containerDisk:
          image: registry.example:5000/fedora:42
      - name: init
        cloudInitNoCloud:
          userData: |
            #cloud-config
            hostname: %s
"""
SECONDS_MAX, MEMORY_MIB_MAX, RENDER_SECONDS_MAX = 1.5, 60, 0.015


def as_object(name):
    volumes = [{"name": "root", "containerDisk": {"image": "registry.example:5000/fedora:42"}},
               {"name": "init", "cloudInitNoCloud": {"userData": f"#cloud-config\nhostname: {name}\n"}}]
    devices = {"disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "init", "disk": {"bus": "virtio"}}],
               "interfaces": [{"name": "default", "masquerade": {}}]}
    spec = {"domain": {"cpu": {"cores": 2}, "memory": {"guest": "2Gi"}, "devices": devices}, "networks": [{"name": "default", "pod": {}}],
            "terminationGracePeriodSeconds": 180, "volumes": volumes}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
            "spec": {"runStrategy": "Always", "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}}}


def item(text):
    """A document as an item of a list."""
    return "- " + text.rstrip("\n").replace("\n", "\n  ") + "\n"


def forms(names):
    """The pieces of each file, by what it is. They are written one by one: what this process had in memory counts for its children."""
    def json_list(**how):
        yield '{"apiVersion": "v1", "kind": "List", "items": ['
        for i, name in enumerate(names):
            yield (", " if i else "") + json.dumps(as_object(name), **how)
        yield "]}\n"

    def yaml_list():
        yield "apiVersion: v1\nkind: List\nitems:\n"
        for name in names:
            yield item(VM % (name, name))
    return {"one file, YAML": ("---\n" + VM % (name, name) for name in names), "one List, YAML": yaml_list(),
            "one List, JSON": json_list(), "one List, JSON indented": json_list(indent=4)}


def write_inputs(folder, count):
    """Paths by what they are."""
    names = [f"vm-{i:05}" for i in range(count)]
    paths = {}
    for number, (what, pieces) in enumerate(forms(names).items()):
        paths[what] = os.path.join(folder, f"{number}.{'json' if 'JSON' in what else 'yaml'}")
        with open(paths[what], "w") as f:
            f.writelines(pieces)
    paths["many files, YAML"] = os.path.join(folder, "many")
    os.mkdir(paths["many files, YAML"])
    for name in names:
        with open(os.path.join(paths["many files, YAML"], name + ".yaml"), "w") as f:
            f.write(VM % (name, name))
    return paths


def run(arguments):
    """(seconds, seconds of CPU, MiB, output) of a program."""
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        child = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    if child.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ended with {child.returncode}:\n{text[-1000:]}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def best(arguments, rounds):
    all_rounds = [run(arguments) for _ in range(rounds)]
    return [min(figures) for figures in zip(*[one[:3] for one in all_rounds])] + [all_rounds[0][3]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/virtgate"))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    missed = []
    print(f"{'':28}{'seconds':>9}{'CPU':>9}{'MiB':>8}")
    with tempfile.TemporaryDirectory(prefix="check-bench-") as folder:
        for what, path in write_inputs(folder, options.count).items():
            seconds, cpu, memory, text = best([options.program, "check", path], options.rounds)
            if f" {options.count} objects" not in text or "0 refused, 0 warnings" not in text:
                sys.exit(f"{what}: {text[-1000:]}")
            print(f"{what:28}{seconds:9.2f}{cpu:9.2f}{memory:8.1f}", flush=True)
            # Two cores share the work, so twice the seconds of CPU are as good.
            if min(seconds, cpu / 2) > SECONDS_MAX or memory > MEMORY_MIB_MAX:
                missed.append(what)
        one = os.path.join(folder, "one.yaml")
        with open(one, "w") as f:
            f.write(VM % ("demo", "demo"))
        seconds, cpu, memory, _ = best([options.program, "render", "--as", "domain", one], 20 * options.rounds)
        print(f"{'render --as domain, one VM':28}{seconds:9.4f}{cpu:9.4f}{memory:8.1f}")
        if min(seconds, cpu) > RENDER_SECONDS_MAX:  # it has one thread
            missed.append("render")
    if missed:
        sys.exit("above its target: " + ", ".join(missed))


if __name__ == "__main__":
    main()
