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


def declarations(text):
    """(namespace, name) of what a file declares for itself alone. Namespaces are not indented here, so declarations begin lines."""
    around, inside = "", False
    for line in text.splitlines():
        if opened := re.match(r"namespace ([\w:]*) ?\{", line):
            inside, around = not opened[1], opened[1] or around
        elif line.startswith("}  // namespace"):
            inside = False
        elif alias := re.match(r"(?:using|namespace) (\w+) =", line):
            yield around, alias[1]
        elif not inside:
            continue
        elif type_name := re.match(r"(?:enum class|enum|struct|class) (\w+)\b(?! ?;)", line):
            yield around, type_name[1]
        elif re.match(r"(?!using |template|struct |class |[A-Z_]+\()\w", line):  # tests are macros
            if name := re.search(r"\b(\w+)\s*(?:\(|=|\{|\[|;)", line):
                yield around, name[1]


def own_names(text):
    return {name for _, name in declarations(text)}


def own_names_in_namespaces(text):
    """The same where it matters only that two files do not declare the same. A macro has no namespace."""
    return {f"{around}::{name}" for around, name in declarations(text)} | set(re.findall(r"^#\s*define (\w+)", text, re.MULTILINE))


def is_library(file):
    """What compiles a library that is made of headers sets it up in its own way."""
    return file.endswith("_impl.cpp")


def stays_alone(file, text):
    """Macros reach the files behind them."""
    return is_library(file) or re.search(r"^#\s*define", text, re.MULTILINE) is not None


def words(text):
    """Every word of the code, comments and strings aside, and members of objects, which are nobody's own names."""
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)
    return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", code))


class Batch:
    def __init__(self):
        self.files, self.own, self.words = [], set(), set()

    def takes(self, own, mentioned, files_max):
        return len(self.files) < files_max and not own & self.words and not mentioned & self.own

    def add(self, file, own, mentioned):
        self.files.append(file)
        self.own |= own
        self.words |= mentioned


def batches(files, read, files_max, own=own_names, mentions=words, alone=stays_alone):
    """Lists of files. None mentions a name that another one of its list has for itself."""
    made, single = [], []
    for file in files:
        text = read(file)
        if alone(file, text):
            single.append([file])
            continue
        declared, mentioned = own(text), mentions(text)
        batch = next((batch for batch in made if batch.takes(declared, mentioned, files_max)), None)
        if batch is None:
            batch = Batch()
            made.append(batch)
        batch.add(file, declared, mentioned)
    return [batch.files for batch in made] + single


def files_that_compile_together(files, read, files_max):
    """Larger batches, which nearly always compile: their files do not declare the same, but may mention what another one declares."""
    return batches(files, read, files_max, own_names_in_namespaces, own_names_in_namespaces, lambda file, _: is_library(file))


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
