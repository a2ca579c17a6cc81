#!/usr/bin/env python3
"""embed.py FILE NAME OUTPUT: a C++ file that has the bytes of FILE as vg::NAME()."""
import sys


def main():
    source, name, output = sys.argv[1:]
    with open(source, "rb") as file:
        content = file.read()
    lines = [", ".join(str(byte) for byte in content[at:at + 24]) for at in range(0, len(content), 24)]
    with open(output, "w") as file:
        file.write("#include <string_view>\n\nnamespace vg {\n\nstatic constexpr unsigned char bytes[] = {\n    " + ",\n    ".join(lines) + "};\n\n")
        file.write(f"std::string_view {name}() {{ return {{reinterpret_cast<const char*>(bytes), sizeof bytes}}; }}\n\n}}  // namespace vg\n")


main()
