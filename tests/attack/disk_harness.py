"""What attacks on disk jobs share: a server with storage, a web server that may be slow, and how a DataVolume fares."""
import glob
import hashlib
import http.server
import json
import os
import shutil
import signal
import threading
import time
import unittest

from harness import Attack, Scratch, read

DEADLINE_S = 60
MIB = 1 << 20


class Web(http.server.BaseHTTPRequestHandler):
    """Serves `files`; what is below slow/ comes a byte a second until that is over."""
    files, slow, slow_is_over = {}, set(), False

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        name = self.path.lstrip("/")
        data = self.files.get(name.removeprefix("slow/").split("?")[0])
        if data is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("ETag", '"%s"' % hashlib.md5(data).hexdigest())
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return None
        try:
            if name.startswith("slow/") and not Web.slow_is_over:
                Web.slow.add(self.path)
                for byte in data:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(1)
            else:
                self.wfile.write(data)
        except OSError:
            pass
        finally:
            Web.slow.discard(self.path)
            self.close_connection = True

    def log_message(self, *_):
        pass


def volumes(ns):
    return f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{ns}/datavolumes"


def claims(ns):
    return f"/api/v1/namespaces/{ns}/persistentvolumeclaims"


def children(pid):
    return [int(child) for path in glob.glob(f"/proc/{pid}/task/*/children") for child in read(path).split()]


@unittest.skipUnless(shutil.which("qemu-img") and shutil.which("curl"), "qemu-img and curl are needed")
class DiskAttack(Attack):
    def setUp(self):
        Scratch.setUp(self)
        self.raw_image = os.urandom(4096) + bytes(MIB - 8192) + os.urandom(4096)
        Web.files, Web.slow, Web.slow_is_over = {"image": self.raw_image}, set(), False
        self.url = self.web()
        self.one = self.server(role=("--node", "simulated")).start()

    def web(self, context=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
        server.daemon_threads = True
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def end():
            server.shutdown()
            server.server_close()
            thread.join()
        self.addCleanup(end)
        return f"http{'s' if context else ''}://127.0.0.1:{server.server_port}/"

    def volume(self, ns, name, source, size="8Mi", **spec):
        return self.must("POST", volumes(ns), {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": name}, "spec": {
            "source": source, "storage": {"resources": {"requests": {"storage": size}}}, **spec}})

    def status(self, ns, name):
        return self.call("GET", f"{volumes(ns)}/{name}")[1].get("status", {})

    def running(self, ns, name):
        return next((c for c in self.status(ns, name).get("conditions", []) if c["type"] == "Running"), {})

    def succeeded(self, ns, name):
        try:
            self.until(f"{ns}/{name}", lambda: self.status(ns, name).get("phase") == "Succeeded")
        except AssertionError:
            self.fail(f"{ns}/{name}: {json.dumps(self.status(ns, name))} {self.one.errors()[-2000:]}")

    def image(self, ns, claim):
        with open(os.path.join(self.state, "disks", ns, claim, "disk.img"), "rb") as file:
            return file.read()

    def worker(self):
        """The process that carries jobs out; nothing while there is none."""
        for child in children(self.one.process.pid):
            if "disk-worker" in read(f"/proc/{child}/cmdline"):
                return next(iter(children(child)), None)
        return None

    def stop_worker(self):
        hung = self.worker()
        os.kill(hung, signal.SIGSTOP)

        def end():
            if os.path.exists(f"/proc/{hung}"):
                os.kill(hung, signal.SIGKILL)
        self.addCleanup(end)
        return hung

    def readyz(self):
        return self.one.get("/readyz")[2]
