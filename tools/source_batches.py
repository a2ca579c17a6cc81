#!/usr/bin/env python3
"""Which C++ sources can be compiled as one: the compiler reads the headers that they share once instead of for each.

    tools/source_batches.py --name NAME --output FOLDER --files-max N FILE...

writes FOLDER/NAME_K.cpp, which include the files of a batch, and prints what is to be compiled in place of the files, a line each:
those, and files that stay alone. Used by cmake/virtgate.cmake (VIRTGATE_JOINED) and tools/tidy.py.

A file means the same alone and in its batch: what it declares in unnamed namespaces is not so much as mentioned by the others.
"""
import argparse
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE_ROOT = os.path.join(SOURCE, "src")  # files are included by their names below it, so that no text has this machine's paths


def own_names(text):
    """Names that a file declares for itself alone. Namespaces are not indented here, so declarations begin lines."""
    found, inside = set(), False
    for line in text.splitlines():
        if opened := re.match(r"namespace ([\w:]*) ?\{", line):
            inside = not opened[1]
        elif line.startswith("}  // namespace"):
            inside = False
        elif alias := re.match(r"(?:using|namespace) (\w+) =", line):
            found.add(alias[1])
        elif inside and re.match(r"(?!using |template|struct \w+;|class \w+;)\w", line):
            if name := re.search(r"\b(\w+)\s*(?:\(|=|\{|\[|;)", line):
                found.add(name[1])
    return found


def stays_alone(file, text):
    """Macros reach the files behind them; what compiles a library that is made of headers sets it up in its own way."""
    return file.endswith("_impl.cpp") or re.search(r"^#\s*define", text, re.MULTILINE) is not None


def words(text):
    """Every word of the code, comments and strings aside."""
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)))


class Batch:
    def __init__(self):
        self.files, self.own, self.words = [], set(), set()

    def takes(self, own, mentioned, files_max):
        return len(self.files) < files_max and not own & self.words and not mentioned & self.own

    def add(self, file, own, mentioned):
        self.files.append(file)
        self.own |= own
        self.words |= mentioned


def batches(files, read, files_max, mentions=words):
    """Lists of files. None mentions a name that another one of its list has for itself. `mentions` is what counts as that: with
    own_names they only do not declare the same, which compiles nearly always and makes fewer batches."""
    made, alone = [], []
    for file in files:
        text = read(file)
        if stays_alone(file, text):
            alone.append([file])
            continue
        own, mentioned = own_names(text), mentions(text)
        batch = next((batch for batch in made if batch.takes(own, mentioned, files_max)), None)
        if batch is None:
            batch = Batch()
            made.append(batch)
        batch.add(file, own, mentioned)
    return [batch.files for batch in made] + alone


def read_text(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


def write_if_changed(path, text):
    if not os.path.exists(path) or read_text(path) != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--files-max", type=int, required=True)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    for number, batch in enumerate(batches(sorted(options.files), read_text, options.files_max)):
        if len(batch) == 1:
            print(batch[0])
            continue
        path = os.path.join(options.output, f"{options.name}_{number}.cpp")
        write_if_changed(path, "".join(f'#include "{os.path.relpath(file, INCLUDE_ROOT)}"\n' for file in batch))
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
