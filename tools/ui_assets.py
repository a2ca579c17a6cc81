#!/usr/bin/env python3
"""ui_assets.py --output FILE --page DIR [--examples DIR] [--vendor DIR]: a C++ file that holds the files of the page.

Each file is packed once with gzip; the same files make the same bytes. DIR of --vendor may be missing: the page says then what it cannot show.
"""
import argparse
import gzip
import hashlib
import os
import sys

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".yaml": "text/plain; charset=utf-8",
    "": "text/plain; charset=utf-8",  # LICENSE
}
LEFT_OUT = {"vendor.lock.json"}
# One file that is larger than this was put there by mistake: all of them are in the memory of every server.
FILE_BYTES_MAX = 2 * 1024 * 1024


def files_below(folder):
    """(path from the folder, whole path), in a stable order."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                path = os.path.join(where, name)
                yield os.path.relpath(path, folder), path


def collect(page, examples, vendor):
    found = {}
    for name, path in files_below(page):
        if name not in LEFT_OUT:
            found[name] = path
    if examples:
        found.update((f"examples/{name}", path) for name, path in files_below(examples) if name.endswith(".yaml"))
    if vendor:
        found.update((f"vendor/{name}", path) for name, path in files_below(vendor))
    return found


def literal(content):
    """The bytes as the text between quotes; always three octal digits, so that no digit behind them is taken in."""
    pieces = []
    for byte in content:
        plain = 0x20 <= byte < 0x7f and byte not in (0x22, 0x5c, 0x3f)  # quote, backslash, trigraphs
        pieces.append(chr(byte) if plain else f"\\{byte:03o}")
    return "".join(pieces)


def row(name, path):
    with open(path, "rb") as file:
        content = file.read()
    if len(content) > FILE_BYTES_MAX:
        sys.exit(f"{path}: {len(content)} bytes are too many for a file of the page")
    media_type = MEDIA_TYPES.get(os.path.splitext(name)[1].lower())
    if media_type is None:
        sys.exit(f"{path}: no media type is known for it; add one to tools/ui_assets.py")
    packed = gzip.compress(content, 9, mtime=0)
    lines = [literal(packed[at:at + 4096]) for at in range(0, len(packed), 4096)]
    text = "\n     ".join(f'"{line}"' for line in lines)
    digest = hashlib.sha256(content).hexdigest()[:32]
    return f'    {{"{literal(name.encode())}", "{media_type}", "{digest}",\n     {{{text},\n      {len(packed)}}}, {len(content)}}},\n', len(packed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--examples")
    parser.add_argument("--vendor")
    asked = parser.parse_args()
    found = collect(asked.page, asked.examples, asked.vendor)
    rows = [row(name, found[name]) for name in sorted(found, key=lambda name: name.encode())]
    os.makedirs(os.path.dirname(asked.output), exist_ok=True)
    with open(asked.output, "w") as file:
        file.write('// Made by tools/ui_assets.py.\n#include "ui/assets.h"\n\n#pragma clang diagnostic ignored "-Woverlength-strings"\n\n'
                   "namespace vg::ui {\nnamespace {\n\nconstexpr Asset packed_files[] = {\n")
        file.writelines(text for text, _ in rows)
        file.write("};\n\n}  // namespace\n\nstd::span<const Asset> assets() { return packed_files; }\n\n}  // namespace vg::ui\n")
    print(f"{len(rows)} files of the page, {sum(size for _, size in rows)} bytes packed")
    if "vendor/manifest.json" not in found:
        print("the page has no screen and no console: xterm.js and noVNC are missing (tools/ui_vendor.py brings them)", file=sys.stderr)


if __name__ == "__main__":
    main()
