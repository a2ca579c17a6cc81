#!/usr/bin/env python3
"""clang-tidy over the C++ sources, many files at a time.

Most of what clang-tidy does for a file it does for the headers that the file includes: ten seconds, of which one is for the
file itself. So many files are looked at as one, which includes them all (source_batches.py). A batch that does not compile is split.

    tools/tidy.py BUILD [FILE...]     BUILD: a build folder with compile_commands.json and the generated headers
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from source_batches import files_that_compile_together, is_library

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = "clang-tidy-19"
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


def look(batch, flags, folder):
    """What clang-tidy says of the files of a batch."""
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", dir=folder, delete=False) as unit:
        unit.writelines(f'#include "{os.path.join(SOURCE, file)}"\n' for file in batch)
    done = subprocess.run([PROGRAM, "--quiet", f"--config-file={SOURCE}/.clang-tidy", unit.name, "--", *flags, "-Wno-unused", "-Wno-shadow"], capture_output=True, text=True)
    os.unlink(unit.name)
    if "clang-diagnostic-error" in done.stdout and len(batch) > 1:
        half = len(batch) // 2
        return look(batch[:half], flags, folder) + look(batch[half:], flags, folder)
    return done.stdout if done.returncode else ""


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

    said = ""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(look, batch, commands[batch[0]], folder) for batch in sorted(files_that_compile_together(wanted, read, BATCH_FILES_MAX), key=len, reverse=True)]
        for job in jobs:
            said += job.result()
    sys.stdout.write(said)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
