#!/usr/bin/env python3
"""clang-tidy over the C++ sources, many files at a time, and only over what changed since it was last found clean.

Most of what clang-tidy does for a file it does for the headers that the file includes: ten seconds, of which one is for the
file itself. So many files are looked at as one, which includes them all (source_batches.py). A batch that does not compile is split.

What a batch came to is remembered by the sum of its preprocessed text with comments, its flags, .clang-tidy and the program's version, in a folder
beside ccache's objects. A batch without findings is not looked at again until one of its files, a header or the configuration changes.

    tools/tidy.py BUILD [FILE...]     BUILD: a build folder with compile_commands.json and the generated headers
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from source_batches import files_that_compile_together, is_library

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM, COMPILER = "clang-tidy-19", "clang++-19"
BATCH_FILES_MAX = 60
DROPPED_WITH_VALUE = {"-o", "-c", "-MF", "-MT", "-include-pch"}
DROPPED = {"-MD", "-Winvalid-pch"}


def arguments(command):
    """What the compiler is told about a file, without the file, its output and the precompiled headers."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in DROPPED_WITH_VALUE:
            next(words)
        elif word not in DROPPED and not word.endswith(("clang++-19", "ccache")):
            kept.append(word)
    return tuple(kept)


class Cache:
    """What batches came to, one small file each: CLEAN or SPLIT. Findings are not kept."""

    CLEAN, SPLIT = "clean", "does not compile as one"
    UNUSED_DAYS_MAX = 30

    def __init__(self):
        asked = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True) if shutil.which("ccache") else None
        base = asked.stdout.strip() if asked and asked.returncode == 0 else os.path.expanduser("~/.cache")
        self.folder = os.path.join(base, "virtgate-tidy")
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(SOURCE, ".clang-tidy"), "rb") as configuration:
            self.common = configuration.read() + subprocess.run([PROGRAM, "--version"], capture_output=True).stdout
        oldest = time.time() - self.UNUSED_DAYS_MAX * 24 * 3600
        for entry in os.scandir(self.folder):
            if entry.stat().st_mtime < oldest:
                os.unlink(entry.path)

    def key(self, unit, flags):
        """None if the unit cannot be read. Paths of this checkout are left out, so that another one finds the same."""
        read = subprocess.run([COMPILER, "-E", "-C", unit, *flags], capture_output=True)
        if read.returncode:
            return None
        text = read.stdout.replace(unit.encode(), b"unit")
        return hashlib.sha256(b"\0".join([self.common, " ".join(flags).encode(), text]).replace(SOURCE.encode(), b".")).hexdigest()

    def get(self, key):
        try:
            path = os.path.join(self.folder, key or "none")
            with open(path, encoding="utf-8") as entry:
                os.utime(path)
                return entry.read()
        except FileNotFoundError:
            return None

    def put(self, key, result):
        if key:
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as entry:
                entry.write(result)
            os.replace(entry.name, os.path.join(self.folder, key))


def look(batch, commands, folder, cache):
    """What clang-tidy says of the files of a batch, with the flags of the first: what differs in a way that matters does not compile with them,
    and comes to be looked at with its own."""
    flags = commands[batch[0]]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=folder, delete=False) as unit:
        unit.writelines(f'#include "{os.path.join(SOURCE, file)}"\n' for file in batch)
    key = cache.key(unit.name, flags)
    known = cache.get(key)
    if known is None:
        done = subprocess.run([PROGRAM, "--quiet", f"--config-file={SOURCE}/.clang-tidy", unit.name, "--", *flags, "-Wno-unused", "-Wno-shadow"], capture_output=True, text=True)
        split = "clang-diagnostic-error" in done.stdout and len(batch) > 1
        if split or done.returncode == 0:
            cache.put(key, cache.SPLIT if split else cache.CLEAN)
        if not split:
            return done.stdout if done.returncode else ""
    elif known == cache.CLEAN:
        return ""
    half = len(batch) // 2
    return look(batch[:half], commands, folder, cache) + look(batch[half:], commands, folder, cache)


def groups(files):
    """Files of some neighbouring modules each, so that a new file in one module leaves the batches of the others as they are."""
    group = []
    for _, module in itertools.groupby(files, lambda file: file.split("/")[:2] if file.startswith("src/") else ["cmd"]):
        group += module
        if len(group) >= BATCH_FILES_MAX:
            yield group
            group = []
    if group:
        yield group


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    with open(os.path.join(options.build, "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(entry["file"], SOURCE): arguments(entry["command"]) for entry in json.load(file)}
    wanted = [os.path.relpath(file, SOURCE) for file in options.files] or sorted(commands)
    wanted = [file for file in wanted if file in commands and re.match(r"(src|cmd)/", file) and not file.endswith("_test.cpp") and not is_library(file)]

    def read(file):
        with open(os.path.join(SOURCE, file), encoding="utf-8") as text:
            return text.read()

    cache, said = Cache(), ""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [batch for group in groups(wanted) for batch in files_that_compile_together(group, read, BATCH_FILES_MAX)]
        jobs = [pool.submit(look, batch, commands, folder, cache) for batch in sorted(batches, key=len, reverse=True)]
        for job in jobs:
            said += job.result()
    sys.stdout.write(said)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
