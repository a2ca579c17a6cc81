#!/usr/bin/env python3
"""Which C++ sources can be compiled as one: the compiler reads the headers that they share once instead of for each.

    tools/source_batches.py --wanted WANTED --output FOLDER --lines-max N

A line of WANTED is a target: TARGET, NAME, the most files of a batch, and its files, with tabs between them. Writes FOLDER/NAME_K.cpp, which
include the files of a batch, and prints what the targets are compiled from in place of the files, TARGET, a tab and a file a line: those, and
files that stay alone. Used by cmake/virtgate.cmake (VIRTGATE_JOINED) and tools/tidy.py.

A file means the same alone and in its batch. What a file declares for itself alone (in unnamed namespaces, and aliases) is seen only by the
files behind it in the batch, so a file stands in front of those whose names it mentions where it could see them. Two files that declare the
same name in the same namespace, or mention each other's names, are in different batches. So are two of which one declares a name for itself that
a header of the other one declares in the same namespace.
"""
import argparse
import functools
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE_ROOT = os.path.join(SOURCE, "src")  # files are included by their names below it, so that no text has this machine's paths
INCLUDE_ROOTS = (INCLUDE_ROOT, os.path.join(SOURCE, "cmd"))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
HEADER_DECLARATION = re.compile(r"(?:enum class|enum|struct|class|using|namespace|concept) (\w+)|(?![ /#}])[^(=;]*?\b(\w+)\s*(?:\(|=|\{|;)")


def declarations(text):
    """(namespace, name) of what a file declares for itself alone. Namespaces are not indented here, so declarations begin lines.
    An alias has what it stands for in its name: two files may both declare it."""
    opened = []
    for line in text.splitlines():
        around, inside = "::".join(filter(None, opened)), "" in opened
        if namespace := re.match(r"namespace ([\w:]*) ?\{(?!\})", line):
            opened.append(namespace[1])
        elif line.startswith("}  // namespace"):
            opened.pop()
        elif alias := re.match(r"(?:using|namespace) (\w+) = (.*);", line):
            yield around, f"{alias[1]} = {alias[2]}"
        elif not inside or line.startswith("static_assert"):
            continue
        elif type_name := re.match(r"(?:enum class|enum|struct|class) (\w+)\b(?! ?;)", line):
            yield around, type_name[1]
        elif re.match(r"(?!using |template|struct |class |[A-Z_]+\()\w", line):  # tests are macros
            # A pointer to a function has its name behind the star: void (*check)(int) = nullptr;
            if name := re.match(r"[\w:<>,&* ]*\(\*(\w+)", line) or re.search(r"\b(\w+)\s*(?:\(|=|\{|\[|;)", line):
                yield around, name[1]
            if line.startswith("constexpr") and "(" not in line:  # several in one declaration
                yield from ((around, more) for more in re.findall(r", (\w+) = ", line))


def is_library(file):
    """What compiles a library that is made of headers sets it up in its own way."""
    return file.endswith("_impl.cpp")


def stays_alone(file, _):
    return is_library(file)


# What is named inside of a type, of the standard library or of no namespace: Kind::folder, std::less, ::send. Types begin with a capital here.
NAMED_ELSEWHERE = re.compile(r"\b(std|[A-Z]\w*)(?:::\w+)+|(?<![\w>])::(?!vg\b)\w+(?:::\w+)*")


def words(text):
    """Every word of the code, comments and strings aside, and members of objects and types, which are nobody's own names."""
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)
    code = NAMED_ELSEWHERE.sub(lambda found: found[1] or "", code)
    return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", code))


@functools.cache
def header(name):
    """(namespace, name) of what a header declares outside of classes, and the headers that it includes. Namespaces are not indented here."""
    path = next((path for root in INCLUDE_ROOTS if os.path.exists(path := os.path.join(root, name))), None)
    if not path:  # a library's, or one that is generated
        return frozenset(), ()
    declared, opened, text = set(), [], read_text(path)
    for line in text.splitlines():
        if namespace := re.match(r"(?:inline )?namespace ([\w:]*) ?\{", line):
            opened.append(namespace[1])
        elif line.startswith("}  // namespace") and opened:
            opened.pop()
        elif found := HEADER_DECLARATION.match(line):
            declared.add(("::".join(filter(None, opened)), found[1] or found[2]))
    return frozenset(declared), tuple(INCLUDE.findall(text))


@functools.cache
def with_what_they_include(names):
    """The headers that a file sees which includes those."""
    seen, left = set(), list(names)
    while left:
        if (name := left.pop()) not in seen:
            seen.add(name)
            left.extend(header(name)[1])
    return frozenset(seen)


class Source:
    """What matters of a file for its neighbours in a batch."""

    def __init__(self, file, text, mentions=words):
        self.file, self.lines = file, text.count("\n")
        self.own = set(declarations(text))
        self.names = {(around, name.partition(" ")[0]) for around, name in self.own}
        # What reaches everything behind it in the batch, whatever it mentions: macros, and namespaces that are opened for good.
        self.macros = set(re.findall(r"^(?:#\s*define|using namespace) ([\w:]+)", text, re.MULTILINE))
        self.words = mentions(text)
        self.headers = with_what_they_include(tuple(INCLUDE.findall(text)))

    def sees(self, namespace):
        """Whether a name of the namespace may be found here: it is in nobody's or everybody's, or this file is in it or mentions it."""
        return namespace in ("", "vg") or namespace.rpartition(":")[2] in self.words

    def mentions_of(self, other):
        """Whether this file may mean something else behind the other one: macros reach everything behind them. An alias that both declare is the
        same for both."""
        return bool(other.macros) or any(name.partition(" ")[0] in self.words and self.sees(around) for around, name in other.own - self.own)

    def clashes_with(self, other):
        same = {name for _, name in self.own & other.own if " = " not in name}
        different = (self.names & other.names) - {(around, name.partition(" ")[0]) for around, name in self.own & other.own}
        return bool(same or different or self.may_mean(other) or other.may_mean(self))

    def may_mean(self, other):
        """Whether a header that only the other file includes declares one of this file's own names in the same namespace: the two would be
        overloads of each other. What stands in an enclosing namespace stays hidden behind the own name."""
        return any(self.names & header(name)[0] for name in other.headers - self.headers)


def in_order(sources):
    """The files, each in front of those whose names it mentions; None if that is impossible."""
    left, order = list(sources), []
    while left:
        first = next((one for one in left if not any(other.mentions_of(one) for other in left if other is not one)), None)
        if first is None:
            return None
        left.remove(first)
        order.append(first)
    return order


def batches(files, read, files_max, lines_max, mentions=words, alone=stays_alone):
    """Lists of files, each list in the order in which it is to be compiled."""
    made, single = [], []
    for file in files:
        text = read(file)
        source = Source(file, text, mentions)
        if alone(file, text):
            single.append([file])
            continue
        for batch in made:
            fits = len(batch) < files_max and sum(other.lines for other in batch) + source.lines <= lines_max
            if fits and not any(source.clashes_with(other) for other in batch) and (order := in_order([*batch, source])):
                batch[:] = order
                break
        else:
            made.append([source])
    return [[source.file for source in batch] for batch in made] + single


def files_that_compile_together(files, read, files_max):
    """Larger batches, which nearly always compile: their files do not declare the same, but may mention what another one declares."""
    return batches(files, read, files_max, sys.maxsize, lambda _: set(), lambda file, _: is_library(file))


def read_text(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


def write_if_changed(path, text):
    if not os.path.exists(path) or read_text(path) != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def written_batches(name, batched, folder):
    """What is compiled: a file for each batch, and the files that are alone in theirs."""
    for number, batch in enumerate(batched):
        if len(batch) == 1:
            yield batch[0]
            continue
        path = os.path.join(folder, f"{name}_{number}.cpp")
        write_if_changed(path, "".join(f'#include "{os.path.relpath(file, INCLUDE_ROOT)}"\n' for file in batch))
        yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wanted", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--lines-max", type=int, required=True)
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    for line in read_text(options.wanted).splitlines():
        target, name, files_max, *files = line.split("\t")
        batched = batches(sorted(files), read_text, int(files_max), options.lines_max)
        for source in written_batches(name, batched, options.output):
            print(target, source, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
