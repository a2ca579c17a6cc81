#!/usr/bin/env python3
"""`virtgate image`: what is loaded, listed and removed, and by whom; the examples and the demo guest's own files.

VIRTGATE_BINARY names the program. Without skopeo or qemu-img what needs them is skipped.
"""
import glob
import hashlib
import io
import json
import os
import pwd
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from support import serve as e2e

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DISK = b"disk" * 256 * 1024


def archive(path, files):
    """An OCI archive with one layer of these files, owned by root as most are."""
    def packed(entries):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, content in entries.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        return out.getvalue()

    entries, kind = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}, "application/vnd.oci.image."

    def blob(content, what):
        digest = hashlib.sha256(content).hexdigest()
        entries[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind + what, "digest": "sha256:" + digest, "size": len(content)}

    layer = packed(files)
    config = {"architecture": "amd64", "os": "linux", "config": {},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    manifest = {"schemaVersion": 2, "mediaType": kind + "manifest.v1+json", "config": blob(json.dumps(config).encode(), "config.v1+json"),
                "layers": [blob(layer, "layer.v1.tar")]}
    listed = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    entries["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [listed]}).encode()
    with open(path, "wb") as file:
        file.write(packed(entries))


@unittest.skipUnless(shutil.which("skopeo") and shutil.which("qemu-img"), "skopeo and qemu-img are not installed")
class Store(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vg-image-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.state = os.path.join(self.folder, "state")
        own = os.path.join(self.folder, "own")
        os.mkdir(own, 0o700)
        self.file = os.path.join(own, "image.tar")
        archive(self.file, {"disk/a.img": DISK})

    def virtgate(self, *arguments, code=0):
        done = subprocess.run([e2e.BINARY, "image", *arguments, "--state", self.state], capture_output=True, text=True, timeout=e2e.DEADLINE_S)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def images(self):
        return {one["image"]: one for one in json.loads(self.virtgate("list", "-o", "json"))}

    def test_loaded_listed_removed(self):
        self.assertEqual(self.images(), {})
        said = self.virtgate("load", self.file, "x.local/a:1").split()
        self.assertEqual(said[0], "x.local/a:1")
        disk = os.path.join(self.folder, "disk.img")
        with open(disk, "wb") as file:
            file.write(DISK)
        self.virtgate("load", "--disk", disk, "x.local/b:1")
        self.assertEqual(sorted(self.images()), ["x.local/a:1", "x.local/b:1"])
        self.assertEqual(self.images()["x.local/a:1"]["digest"], said[1])
        self.assertIn("x.local/a:1", self.virtgate("list"))
        self.virtgate("remove", "x.local/a:1")
        self.assertEqual(list(self.images()), ["x.local/b:1"])
        self.assertIn('has no "x.local/a:1"', self.virtgate("remove", "x.local/a:1", code=1))

    def test_what_cannot_be_loaded(self):
        for flags in ((), ("--disk",)):
            said = self.virtgate("load", *flags, self.file + ".none", "x:1", code=1)
            self.assertIn(f"{self.file}.none cannot be read: No such file", said)
            self.assertNotIn("internal error", said)
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        self.assertIn("neither a file nor a folder", self.virtgate("load", pipe, "x:1", code=1))
        broken = os.path.join(self.folder, "broken.tar")
        with open(self.file, "rb") as whole, open(broken, "wb") as file:
            file.write(whole.read()[:4000])
        self.virtgate("load", broken, "x:1", code=1)
        self.assertIn("an image reference must be", self.virtgate("load", self.file, "a b", code=1))
        overlay = os.path.join(self.folder, "overlay.qcow2")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", "/etc/passwd", "-F", "raw", overlay], check=True)
        self.assertIn("backing file", self.virtgate("load", "--disk", overlay, "x:1", code=1))
        self.assertEqual(self.images(), {})
        self.assertEqual(os.listdir(os.path.join(self.state, "images", "work")), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_files_are_the_servers(self):
        try:
            account = pwd.getpwnam("virtgate")
        except KeyError:
            self.skipTest("there is no user virtgate")
        os.mkdir(self.state, 0o700)
        os.chown(self.state, account.pw_uid, account.pw_gid)
        self.virtgate("load", self.file, "x.local/a:1")  # from a folder that is root's alone
        for folder, _, names in os.walk(os.path.join(self.state, "images")):
            for path in [folder, *(os.path.join(folder, name) for name in names)]:
                self.assertEqual(os.lstat(path).st_uid, account.pw_uid, path)


class Examples(unittest.TestCase):
    def test_the_server_would_take_them(self):
        files = sorted(glob.glob(os.path.join(SOURCE, "examples", "*.yaml")))
        self.assertGreater(len(files), 4)
        done = subprocess.run([e2e.BINARY, "check", "--strict", "--skip", "REF-01", *files], capture_output=True, text=True, timeout=e2e.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_scripts_of_the_demo_guest_can_be_read(self):
        for folder, _, names in os.walk(os.path.join(SOURCE, "tools", "demo_guest")):
            for name in names:
                path = os.path.join(folder, name)
                with open(path) as file:
                    if file.readline().startswith("#!/bin/sh"):
                        self.assertTrue(os.access(path, os.X_OK), path)
                        subprocess.run(["sh", "-n", path], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
