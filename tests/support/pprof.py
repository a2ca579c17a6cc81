"""Reads profiles in pprof's format (profile.proto, packed by gzip), as far as tests look at them."""
import collections
import functools
import gzip
import re
import struct
import subprocess

READELF, SYMBOLIZER = "llvm-readelf-19", "llvm-symbolizer-19"

Mapping = collections.namedtuple("Mapping", "start limit offset file build_id")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [values]} of one message: integers, or bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut off"
        else:
            raise AssertionError(f"a profile has no field of form {key & 7}")
        found[key >> 3].append(value)
    return found


def one(message, number):
    return message[number][0] if message[number] else 0


class Profile:
    def __init__(self, data):
        whole = fields(gzip.decompress(data))
        self.texts = [text.decode() for text in whole[6]]
        self.types = [tuple(self.texts[one(kind, number)] for number in (1, 2)) for kind in map(fields, whole[1])]
        self.comments = [self.texts[at] for at in whole[13]]
        self.mappings = {one(mapping, 1): Mapping(one(mapping, 2), one(mapping, 3), one(mapping, 4), self.texts[one(mapping, 5)], self.texts[one(mapping, 6)])
                         for mapping in map(fields, whole[3])}
        functions = {one(function, 1): self.texts[one(function, 2)] for function in map(fields, whole[5])}
        self.places = {}  # (mapping or None, address, name)
        for place in map(fields, whole[4]):
            names = [functions[one(fields(line), 1)] for line in place[4]]
            self.places[one(place, 1)] = (self.mappings.get(one(place, 2)), one(place, 3), names[0] if names else "")
        self.samples = [([self.places[at] for at in sample[1]], sample[2]) for sample in map(fields, whole[2])]


def build_id(program):
    told = subprocess.run([READELF, "--notes", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", told).group(1)


@functools.lru_cache
def load_segments(program):
    """(offset in the file, size there, address) of each part that is loaded."""
    with open(program, "rb") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    parts = (struct.unpack_from("<IIQQQQ", table, size * number) for number in range(count))
    return [(offset, in_file, address) for kind, _, offset, address, _, in_file in parts if kind == 1]


def names(profile, program):
    """The functions of that program in which samples were taken, as its file tells them."""
    wanted = set()
    for stack, _ in profile.samples:
        for mapping, address, _ in stack:
            if mapping and mapping.file == program:
                offset = address - mapping.start + mapping.offset
                wanted.update(hex(offset - at + virtual) for at, size, virtual in load_segments(program) if at <= offset < at + size)
    told = subprocess.run([SYMBOLIZER, "--obj=" + program, "--no-inlines", "--output-style=JSON"], input="\n".join(sorted(wanted)) + "\n",
                          capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'"FunctionName":"([^"]*)"', told))
