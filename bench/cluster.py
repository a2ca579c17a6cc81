#!/usr/bin/env python3
"""How fast webhooks are in the cluster mode, beside the same reviews in the standalone mode.

usage: cluster.py [--binary build/release/virtgate] [--seconds 4] [--connections 16]

Starts `virtgate serve --api-only` as the API server and `virtgate cluster` before it, and drives the webhooks of the latter with
wrk from core 1; beside it another `virtgate serve`, which answers the same reviews from its own store. Both are pinned to
core 0. The last case has a look-up behind it: every such review is a question to the API server, which is pinned to core 1
and whose rate limit is lifted. Needs wrk and openssl.
"""
import argparse
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time

import serving

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
from support import cluster  # noqa: E402  certificates, and the ConfigMap of the front proxy

KUBEVIRT = {"group": "kubevirt.io", "version": "v1"}
ACCOUNTS = "/api/v1/namespaces/kubevirt/serviceaccounts"


def review(plural, kind, thing):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "resource": {**KUBEVIRT, "resource": plural}, "kind": {**KUBEVIRT, "kind": kind},
        "namespace": "default", "name": "bench", "userInfo": {"username": "somebody"}, "object": thing}}


def cases():
    machine = serving.machine("bench")
    spec = {**machine["spec"]["template"]["spec"], "architecture": "amd64"}
    instance = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "bench", "namespace": "default"}, "spec": spec}
    machine["spec"]["template"]["spec"] = spec
    migration = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "metadata": {"name": "bench", "namespace": "default"},
                 "spec": {"vmiName": "bench"}}
    yield "vm-validate", "/virtualmachines-validate", review("virtualmachines", "VirtualMachine", machine)
    yield "vm-mutate", "/virtualmachines-mutate", review("virtualmachines", "VirtualMachine", machine)
    yield "vmi-validate", "/virtualmachineinstances-validate-create", review("virtualmachineinstances", "VirtualMachineInstance", instance)
    yield "vmi-mutate", "/virtualmachineinstances-mutate", review("virtualmachineinstances", "VirtualMachineInstance", instance)
    yield "migration (asks)", "/migration-validate-create", review("virtualmachineinstancemigrations", "VirtualMachineInstanceMigration", migration)


def made(connection, path, thing):
    code, body = serving.ask(connection, "POST", path, thing)
    if code not in (201, 409):
        raise SystemExit(f"POST {path} was answered {code}: {body.decode()}")
    return json.loads(body)


def prepare(server):
    """The instance that migrations are about; and as many questions to the API server as there are."""
    connection = server.connect()
    made(connection, "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances", {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "bench"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "64Mi"}}}})
    limits = {"restClient": {"rateLimiter": {"tokenBucketRateLimiter": {"qps": 1e6, "burst": 1000000}}}}
    code, body = serving.ask(connection, "PATCH", cluster.KUBEVIRT, {"spec": {"configuration": {"apiConfiguration": limits}}}, "application/merge-patch+json")
    if code != 200:
        raise SystemExit(f"the KubeVirt object was not changed: {code} {body.decode()}")
    connection.close()


class Gateway:
    """`virtgate cluster` with the account of virt-api."""

    def __init__(self, binary, server):
        self.folder, self.port = server.folder, serving.free_port()
        cluster.make_authority(self.folder, "gateway-ca")
        cluster.make_certificate(self.folder, "gateway-ca", "gateway", "virt-api", "serverAuth")
        connection = server.connect()
        made(connection, cluster.MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": cluster.PROXY_MAP}, "data": {
            "requestheader-client-ca-file": open(f"{self.folder}/gateway-ca.crt").read(), "requestheader-allowed-names": "[]"}})
        made(connection, ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "kubevirt-apiserver"}})
        token = made(connection, ACCOUNTS + "/kubevirt-apiserver/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        connection.close()
        with open(f"{self.folder}/kubeconfig", "w") as file:
            json.dump({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}", "certificate-authority": f"{server.state}/pki/ca.crt"}}],
                       "users": [{"name": "u", "user": {"token": token["status"]["token"]}}]}, file)
        self.log = open(f"{self.folder}/gateway.log", "ab")
        began = time.monotonic()
        self.process = subprocess.Popen(["taskset", "-c", "0", binary, "cluster", "--kubeconfig", f"{self.folder}/kubeconfig", "--listen", "127.0.0.1",
                                         "--port", str(self.port), "--tls-cert-file", f"{self.folder}/gateway.crt", "--tls-key-file",
                                         f"{self.folder}/gateway.key"], stdout=self.log, stderr=self.log)
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() - began > serving.HEALTHY_DEADLINE_S:
                raise SystemExit("the gateway did not become healthy: " + open(f"{self.folder}/gateway.log").read())
            time.sleep(0.002)
        self.took_s = time.monotonic() - began

    def healthy(self):
        try:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=ssl.create_default_context(cafile=f"{self.folder}/gateway-ca.crt"), timeout=5)
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    status_kib = serving.Server.status_kib

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def wrk(script, port, options):
    text = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "--latency", "-s", script,
                           f"https://127.0.0.1:{port}"], capture_output=True, text=True).stdout
    rate, p99, errors = (re.search(pattern, text) for pattern in (r"Requests/sec:\s+([\d.]+)", r"99%\s+(\S+)", r"Non-2xx or 3xx responses: (\d+)"))
    return float(rate.group(1)) if rate else 0.0, p99.group(1) if p99 else "?", f"  {errors.group(1)} ERRORS" if errors else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/virtgate")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    server = serving.Server(options.binary, before=["taskset", "-c", "1"])
    standalone = serving.Server(options.binary, before=["taskset", "-c", "0"])
    gateway = None
    try:
        server.start()
        standalone.start()
        gateway = Gateway(options.binary, server)
        print(f"first healthy answer {1000 * gateway.took_s:.0f} ms after the start, {gateway.status_kib() / 1024:.1f} MiB resident")
        for one in (server, standalone):
            prepare(one)
        script = f"{server.folder}/review.lua"
        for name, path, body in cases():
            with open(script, "w") as file:
                file.write(f'wrk.method="POST"\nwrk.path="{path}"\nwrk.headers["Content-Type"]="application/json"\n'
                           f'wrk.headers["Authorization"]="Bearer {standalone.token()}"\nwrk.body=[==[{json.dumps(body)}]==]\n')
            rate, p99, errors = wrk(script, gateway.port, options)
            alone, alone_p99, alone_errors = wrk(script, standalone.port, options)
            print(f"{name:17} {rate:8.0f}/s  p99 {p99:>8}{errors}   standalone {alone:8.0f}/s  p99 {alone_p99:>8}{alone_errors}")
        print(f"memory: {gateway.status_kib() / 1024:.1f} MiB resident, {gateway.status_kib('VmHWM') / 1024:.1f} MiB at most")
    finally:
        if gateway:
            gateway.stop()
        standalone.clean_up()
        server.clean_up()


if __name__ == "__main__":
    main()
