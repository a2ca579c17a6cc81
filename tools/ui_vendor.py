#!/usr/bin/env python3
"""Brings the page's two libraries, xterm.js and noVNC, from npm's registry into a folder that the build packs as /ui/vendor.

  tools/ui_vendor.py [--tests] [--offline] FOLDER        FOLDER: usually build/ui-vendor

ui/vendor.lock.json names each package by exact version with the SHA-512 of its archive; an archive that differs is refused. Only the
files that the page loads are taken, and every licence. --tests brings what the browser tests need (not for the page) instead. A folder that holds
what the lock file says is left as it is. The archives are fetched from the registry that NPM_CONFIG_REGISTRY names; where there is none, or that
fails, npm is asked, which knows its registry, proxies and credentials. Without both nothing is written and the exit code is 3: the page then
works without screen and console.
"""
import argparse
import base64
import hashlib
import http.client
import io
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCK = os.path.join(ROOT, "ui/vendor.lock.json")
UNAVAILABLE = 3
FETCH_SECONDS_MAX = 60
NPM_SECONDS_MAX = 180
ARCHIVE_BYTES_MAX = 32 << 20
UNPACKED_BYTES_MAX = 64 << 20  # playwright-core, the largest, has 12 MiB


class Refused(Exception):
    pass


def registry():
    """The one that the environment names; npm knows the others."""
    return (os.environ.get("NPM_CONFIG_REGISTRY") or os.environ.get("npm_config_registry") or "").rstrip("/")


def fetch(name, version):
    """The bytes of the package's archive. They are worth what their hash says, whoever sent them."""
    with urllib.request.urlopen(f"{registry()}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz", timeout=FETCH_SECONDS_MAX) as answer:
        data = answer.read(ARCHIVE_BYTES_MAX + 1)
    if len(data) > ARCHIVE_BYTES_MAX:
        raise Refused(f"{name}@{version}: the archive has more than {ARCHIVE_BYTES_MAX} bytes")
    return data


def download(name, version, folder):
    if not registry():
        return pack(name, version, folder)
    try:
        return fetch(name, version)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if not shutil.which("npm"):
            raise ConnectionError(f"{name}@{version} from {registry()}: {error}") from error
    return pack(name, version, folder)


def pack(name, version, folder):
    """The same by npm."""
    try:
        done = subprocess.run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, f"{name}@{version}"],
                              capture_output=True, text=True, timeout=NPM_SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConnectionError(f"npm pack {name}@{version}: {error}") from error
    if done.returncode:
        raise ConnectionError(f"npm pack {name}@{version}: {done.stderr.strip()[-300:] or 'failed'}")
    with open(os.path.join(folder, done.stdout.split()[-1]), "rb") as file:
        return file.read()


def check(data, package):
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != package["integrity"]:
        raise Refused(f"{package['name']}@{package['version']}: the archive is {found}, {os.path.relpath(LOCK, ROOT)} has {package['integrity']}")


def wanted_files(data, package):
    """(path below the target folder, bytes) of what the lock file takes: rows of pattern and replacement."""
    total = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            for pattern, replacement in package["files"]:
                match = re.fullmatch(pattern, member.name)
                if not match:
                    continue
                path = posixpath.normpath(match.expand(replacement))
                if path.startswith(("/", "..")):
                    raise Refused(f"{package['name']}: {member.name} would be written outside of its folder")
                total += member.size
                if total > UNPACKED_BYTES_MAX:
                    raise Refused(f"{package['name']}: larger than {UNPACKED_BYTES_MAX} bytes")
                yield path, archive.extractfile(member).read()
                break


def manifest_of(packages):
    return [{key: one[key] for key in ("name", "version", "license", "licenseFiles", "integrity", "home")} for one in packages]


def bring(packages, target):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target) or ".") as work:
        made = os.path.join(work, "made")
        for package in packages:
            data = download(package["name"], package["version"], work)
            check(data, package)
            for path, content in wanted_files(data, package):
                # A comment that names a map which is not brought would only have browsers ask for it.
                content = re.sub(rb"\n//# sourceMappingURL=\S+\s*$", b"\n", content) if path.endswith((".js", ".mjs")) else content
                os.makedirs(os.path.dirname(os.path.join(made, path)), exist_ok=True)
                with open(os.path.join(made, path), "wb") as file:
                    file.write(content)
            for path in package["licenseFiles"]:
                if not os.path.exists(os.path.join(made, path)):
                    raise Refused(f"{package['name']}@{package['version']}: the licence {path} is not in the archive")
        with open(os.path.join(made, "manifest.json"), "w") as file:
            json.dump(manifest_of(packages), file, indent=1)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(made, target)


def is_there(packages, target):
    try:
        with open(os.path.join(target, "manifest.json")) as file:
            return json.load(file) == manifest_of(packages)
    except (OSError, ValueError):
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tests", action="store_true", help="what the browser tests need")
    parser.add_argument("--offline", action="store_true", help="only say whether it is there")
    options = parser.parse_args()
    with open(LOCK) as file:
        packages = json.load(file)["tests" if options.tests else "page"]
    target = os.path.abspath(options.folder)
    if is_there(packages, target):
        return 0
    if options.offline:
        return UNAVAILABLE
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        bring(packages, target)
    except Refused as refused:
        print(f"ui_vendor: {refused}", file=sys.stderr)
        return 1
    except ConnectionError as error:
        if not options.tests:
            error = f"{error}\nui_vendor: the page will have no screen and no console; with a network, call it again and build again"
        print(f"ui_vendor: {error}", file=sys.stderr)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
