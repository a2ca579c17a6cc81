#!/usr/bin/env python3
"""The process that works on disks hangs, or the disks themselves do: the server says so, replaces it, and serves everybody else meanwhile.

VIRTGATE_BINARY names the program. Without qemu-img and curl there is nothing to try.
"""
# RUN_SERIAL: it measures how long others wait.
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from disk_harness import MIB, DiskAttack, Web, claims  # noqa: E402
from harness import Bystander  # noqa: E402


class HungDisks(DiskAttack):
    def test_a_worker_that_hangs_is_replaced_and_nobody_waits(self):
        self.namespace("a")
        self.volume("a", "before", {"http": {"url": self.url + "image"}})
        self.succeeded("a", "before")
        hung = self.stop_worker()
        with Bystander(self.one, pause_s=0.05) as other:
            # More than fit into a socket.
            for number in range(400):
                code, answer = self.call("POST", claims("a"), {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{number}"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}})
                self.assertEqual(code, 201, answer)
            self.volume("a", "after", {"http": {"url": self.url + "image"}})
            self.until("a word about it", lambda: "disks degraded: the process that works on disks does not answer" in self.readyz())
            replaced = self.until("another worker", lambda: (found := self.worker()) != hung and found)
            self.until("ready", lambda: "degraded" not in self.readyz())
            self.succeeded("a", "after")
        self.assertEqual(other.failures, [])
        self.assertLess(max(other.took_s), 1 * self.slowness().waiting())
        self.assertFalse(os.path.exists(f"/proc/{hung}"))
        self.until("all claims", lambda: all(c["status"]["phase"] == "Bound" for c in self.call("GET", claims("a"))[1]["items"]))
        self.assertEqual(self.worker(), replaced, "the new one stays")

    def test_a_job_whose_worker_hangs_is_carried_out_again(self):
        self.namespace("a")
        self.volume("a", "v", {"http": {"url": self.url + "slow/image?once"}})
        self.until("the download", lambda: Web.slow)
        hung = self.stop_worker()
        Web.slow_is_over = True
        self.until("the end of the first attempt", lambda: self.status("a", "v").get("restartCount", 0) >= 1)
        self.succeeded("a", "v")
        self.assertEqual(self.image("a", "v")[:MIB], self.raw_image)
        self.assertFalse(os.path.exists(f"/proc/{hung}"))

    def test_an_upload_to_a_disk_that_hangs_keeps_nobody_waiting(self):
        self.namespace("a")
        self.volume("a", "sent", {"upload": {}}, size="1Mi")
        self.until("ready", lambda: self.status("a", "sent").get("phase") == "UploadReady")
        token = self.must("POST", "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/a/uploadtokenrequests", {"spec": {"pvcName": "sent"}})["status"]["token"]
        # Whoever opens this waits, as on a file system whose server is away.
        pipe = os.path.join(self.state, "disks", "a", "sent", ".part-upload")
        os.mkfifo(pipe)
        codes = []
        sender = threading.Thread(target=lambda: codes.append(self.one.ask("POST", "/v1beta1/upload", body=os.urandom(MIB), headers={"Authorization": f"Bearer {token}"})[0]))
        with Bystander(self.one, pause_s=0.01) as other:
            sender.start()
            for _ in range(20):  # on every loop
                self.assertEqual(self.one.get("/livez")[0], 200)
                time.sleep(0.05)
            self.assertEqual(codes, [], "the upload waits")
            reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            os.unlink(pipe)
            os.set_blocking(reading, True)
            received = 0
            while piece := os.read(reading, MIB):
                received += len(piece)
            os.close(reading)
            sender.join()
        self.assertEqual((received, codes), (MIB, [500]), "it went on, and what it wrote is not there")
        self.assertEqual(other.failures, [])
        self.assertLess(max(other.took_s), 1 * self.slowness().waiting())

if __name__ == "__main__":
    unittest.main(verbosity=2)
