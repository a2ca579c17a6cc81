#!/usr/bin/env python3
"""Takes newer specifications, facts, recordings and their replayer over into the repository.

  take_over.py [--from FOLDER] [--check]

FOLDER (default ../shared) has spec/, facts/, conformance/, bench/ and wording.md. Every file that the repository lacks or
has otherwise is written, recordings packed (xz), and named: new, changed. A file that the repository has and FOLDER has not
is named as gone and left where it is: remove it with `git rm` once it is clear that nothing reads it. A second run changes
nothing. With --check nothing is written, and the exit code is 1 when something would be.

Never taken over: cases made from upstream's own tests (NEVER below), which are asked where they are found.
"""
import argparse
import collections
import fnmatch
import json
import lzma
import os
import sys

NEVER = ("*upstream*.jsonl", "*upstream*.jsonl.xz")

# From which folder which names go where. The order does not matter; names that match nothing here are not taken over.
ROWS = (
    # folder below FOLDER, pattern, folder in the repository, packed
    ("spec", "*.md", "spec", False),
    (".", "wording.md", "spec", False),
    ("facts", "*.json", "facts", False),
    ("conformance", "*.jsonl", "tests/conformance", True),
    ("conformance", "*.json", "tests/conformance", False),
    ("conformance", "*.py", "tests/conformance", False),
    ("conformance", "README.md", "tests/conformance", False),
    ("bench", "bench.py", "bench", False),
    ("bench", "v*.json", "bench", False),
)

# What stands in the same folders and is the repository's own.
OWN = {"spec/README.md", "spec/command-line.md", "facts/README.md", "facts/release.json"}

# Facts whose sentences stay behind: the words of rules and warnings are written here by ourselves (see schema/).
WORDLESS = {"facts/crds.json"}

# The replayer reads packed recordings too, and its README says what the repository does not keep. Each is (before, after);
# a text that has neither was changed where we cannot follow, which is an error and not a guess.
LINES_OF = '''def lines_of(name):
    """The lines of a recording, packed or not."""
    with (lzma.open(name, "rt", encoding="utf-8") if name.endswith(".xz") else open(name, encoding="utf-8")) as file:
        yield from file


'''
ADAPTED = {
    "tests/conformance/conform.py": (
        ("\nimport json\nimport os\n", "\nimport json\nimport lzma\nimport os\n"),
        ("\ndef main():\n", "\n" + LINES_OF + "def main():\n"),
        ("for line in open(name)]", "for line in lines_of(name)]"),
        ("\nHow the server is reached, one of:\n", "\nA FILE may be packed: FILE.jsonl.xz.\n\nHow the server is reached, one of:\n"),
    ),
    "tests/conformance/README.md": (
        ("\n\n| file | cases | what |\n",
         "\n\nRecordings are packed, one `.jsonl.xz` a suite; `xz -dc FILE` shows one, and the build unpacks them for the C++ tests.\n"
         "`tools/take_over.py` brings newer ones.\n\n| file | cases | what |\n"),
        ("unit tests exercise, raw and after defaulting |",
         "unit tests exercise, raw and after defaulting; not kept in the repository, asked where it is found |"),
        ("These files are a sample. Other cases of the same kinds are asked as well, so implement the rule, never the case.\n",
         "These files are a sample: implement the rule, never the case.\n"),
    ),
}

Change = collections.namedtuple("Change", "what path content")  # what: new, changed, gone


def kept(name):
    return not any(fnmatch.fnmatch(name, pattern) for pattern in NEVER)


def without_words(value):
    if isinstance(value, list):
        return [without_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    words = {"deprecationWarning"} | ({"message"} if "rule" in value else set())
    return {key: without_words(item) for key, item in value.items() if key not in words or not isinstance(item, str)}


def adapted(path, content):
    """The text as the repository keeps it. ValueError where it cannot be brought to that."""
    if path in WORDLESS:
        return json.dumps(without_words(json.loads(content)), indent=0, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    if path not in ADAPTED:
        return content
    text = content.decode()
    for before, after in ADAPTED[path]:
        if after in text:
            continue
        if text.count(before) != 1:
            raise ValueError(f"{path}: the line to adapt was found {text.count(before)} times, not once: {before.strip()!r}")
        text = text.replace(before, after)
    return text.encode()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def in_repository(path):
    """The content that the repository has under this name, unpacked; None without one."""
    if not os.path.exists(path):
        return None
    return lzma.decompress(read(path)) if path.endswith(".xz") else read(path)


def changes(source, top):
    """What would have to be done, by path in the repository."""
    found, wanted = [], set()
    for folder, pattern, to, packed in ROWS:
        at = os.path.join(source, folder)
        for name in sorted(os.listdir(at) if os.path.isdir(at) else ()):
            if not fnmatch.fnmatch(name, pattern) or not kept(name):
                continue
            path = f"{to}/{name}{'.xz' if packed else ''}"
            if path in OWN:
                raise ValueError(f"{path} is the repository's own, and {at} has one too")
            wanted.add(path)
            content, present = adapted(path, read(os.path.join(at, name))), in_repository(os.path.join(top, path))
            if content != present:
                found.append(Change("new" if present is None else "changed", path, content))
    for _, pattern, to, packed in ROWS:
        at = os.path.join(top, to)
        for name in os.listdir(at) if os.path.isdir(at) else ():
            path = f"{to}/{name}"
            if fnmatch.fnmatch(name, pattern + (".xz" if packed else "")) and path not in wanted | OWN:
                found.append(Change("gone", path, None))
    return sorted(set(found), key=lambda change: change.path)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o755 if content.startswith(b"#!") else 0o644
    with open(path + ".new", "wb") as file:
        file.write(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME) if path.endswith(".xz") else content)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)


def take_over(source, top, check=False, say=print):
    """True when the repository had everything already."""
    if not os.path.isdir(os.path.join(source, "spec")):
        raise ValueError(f"{source} has no folder spec: it is not what can be taken over")
    found = changes(source, top)
    for change in found:
        say(f"{change.what:8} {change.path}")
        if change.content is not None and not check:
            write(os.path.join(top, change.path), change.content)
    if not found:
        say("nothing new")
    return not any(change.content is not None for change in found)


def main():
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", default=os.path.join(top, "../shared"), metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        same = take_over(options.source, top, options.check)
    except (ValueError, OSError) as problem:
        sys.exit(f"take_over.py: {problem}")
    sys.exit(1 if options.check and not same else 0)


if __name__ == "__main__":
    main()
