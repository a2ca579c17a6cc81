"""The files of the repository, for tests that read them."""
import os
import subprocess

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def names():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0 and os.path.exists(os.path.join(SOURCE, ".git")):
        found = listed.stdout.splitlines()
    else:  # an unpacked archive
        found = [os.path.relpath(os.path.join(at, name), SOURCE) for at, _, files in os.walk(SOURCE) for name in files]
        found = [name for name in found if not name.startswith(("build/", ".git/"))]
    return sorted(name for name in found if os.path.isfile(os.path.join(SOURCE, name)))


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8", errors="replace") as file:
        return file.read()
