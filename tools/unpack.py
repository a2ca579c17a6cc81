#!/usr/bin/env python3
"""unpack.py PACKED.xz OUTPUT: unpacks one recording, for the build. OUTPUT appears whole or not at all."""
import lzma
import os
import sys

packed, output = sys.argv[1:]
with lzma.open(packed) as source, open(output + ".new", "wb") as target:
    target.write(source.read())
os.replace(output + ".new", output)
