#!/usr/bin/env python3
"""Turns the description of all API objects (schema/*.vgs) into C++: tables and typed views.

usage: schemagen.py --out FOLDER FILE.vgs...

The language is documented in schema/README.md. Errors are written as file:line: text, all of them at once, and nothing
is generated then. A file whose content stays the same is not touched, so that nothing is compiled for nothing.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import schemagen_model  # noqa: E402
import schemagen_tables  # noqa: E402
import schemagen_views  # noqa: E402


def write_if_changed(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for tables.cpp and views/*.h")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args(arguments)
    model, errors = schemagen_model.load(options.files)
    if errors:
        print("\n".join(errors), file=sys.stderr)
        return 1
    write_if_changed(os.path.join(options.out, "tables.cpp"), schemagen_tables.emit(model))
    for name, text in schemagen_views.emit(model).items():
        write_if_changed(os.path.join(options.out, "views", name), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
