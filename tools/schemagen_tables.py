"""Writes the model as constant tables: plain aggregates that need no code at start-up (src/api/schema.h has the structs)."""
import random

from schemagen_model import Embed, Field

HEADER = """// Generated from schema/*.vgs by tools/schemagen.py. Do not edit.
#include "api/schema.h"
#include "api/schema_tables.h"

namespace vg::api {

using std::string_view_literals::operator""sv;

"""


def text(value):
    """A string view literal, or the empty view."""
    if not value:
        return "{}"
    out = []
    for char in value:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char == "?":
            out.append("\\?")  # no trigraphs
        else:
            out.append(char)
    return '"%s"sv' % "".join(out)


def flag(value):
    return "true" if value else "false"


class Pool:
    """An array of distinct entries; `add` says where an entry stands."""

    def __init__(self, ctype, name, extern=False):
        self.ctype, self.name, self.entries, self.index = ctype, name, [], {}
        self.extern = extern

    def add(self, entry):
        if entry not in self.index:
            self.index[entry] = len(self.entries)
            self.entries.append(entry)
        return self.index[entry]

    def address(self, entry):
        return "&%s[%d]" % (self.name, self.add(entry))

    def emit(self):
        if not self.entries:
            return ""
        body = "".join("    %s,\n" % entry for entry in self.entries)
        return "constinit const %s %s[] = {\n%s};\n\n" % (self.ctype, self.name, body)


class Slices:
    """One array in which runs of entries lie one after the other; equal runs are stored once."""

    def __init__(self, ctype, name):
        self.ctype, self.name, self.entries, self.index = ctype, name, [], {}

    def start(self, run):
        run = tuple(run)
        if run not in self.index:
            self.index[run] = len(self.entries)
            self.entries += run
        return self.index[run]

    def span(self, run):
        run = tuple(run)
        if not run:
            return "{}"
        return "{&%s[%d], %d}" % (self.name, self.start(run), len(run))

    def emit(self):
        if not self.entries:
            return ""
        body = "".join("    %s,\n" % entry for entry in self.entries)
        return "constinit const %s %s[] = {\n%s};\n\n" % (self.ctype, self.name, body)


def hash_key(name, probe):
    """The same as key_of in src/api/schema.cpp."""
    data = name.encode()
    size = len(data)
    return (size & 0xFF) | data[0] << 8 | data[size - 1] << 16 | data[size * probe >> 3] << 24


def perfect_hash(type_name, names):
    """-> (multiplier, shift, probe, slots): slots hold index + 1. Without a perfect hash the multiplier is 0."""
    if not names:
        return 0, 31, 4, []
    for probe in (4, 2, 6, 3, 5, 1, 7):
        keys = [hash_key(name, probe) for name in names]
        if len(set(keys)) == len(keys):
            break
    else:
        return 0, 31, 4, []
    if len(names) > 255:
        return 0, 31, 4, []
    random_source = random.Random(type_name)  # a fixed seed: the same description gives the same tables
    bits = max(1, (len(names) - 1).bit_length())
    for bits in range(bits, bits + 5):
        for _ in range(100):
            multiplier = random_source.getrandbits(32) | 1
            slots = [((key * multiplier) & 0xFFFFFFFF) >> (32 - bits) for key in keys]
            if len(set(slots)) == len(slots):
                table = [0] * (1 << bits)
                for index, slot in enumerate(slots):
                    table[slot] = index + 1
                return multiplier, 32 - bits, probe, table
    return 0, 31, 4, []


class Tables:
    def __init__(self, model):
        self.model = model
        self.types = sorted(model.types.values(), key=lambda entry: entry.name)
        self.type_index = {entry.name: index for index, entry in enumerate(self.types)}
        self.rules = list(model.rules.values())
        self.strings = Slices("std::string_view", "strings")
        self.rule_refs = Slices("Rule* const", "rule_refs")
        self.crd = Pool("CrdFacts", "crd_facts")
        self.openapi = Pool("OpenApiFacts", "openapi_facts")
        self.nodes = Pool("Node", "nodes")
        self.fields, self.embeds = Slices("Field", "fields"), Slices("Embed", "embeds")
        self.slots = Slices("std::uint8_t", "hash_slots")
        self.versions, self.columns = Slices("KindVersion", "versions"), Slices("Column", "columns")
        self.scales = Pool("Scale", "scales")

    def strings_span(self, values):
        return self.strings.span(text(value) for value in values)

    def range(self, bounds):
        low, high = bounds
        if low is None and high is None:
            return "{}"
        return "{%s, %s}" % (
            "no_min" if low is None else "%d" % low, "no_max" if high is None else "%d" % high)

    def crd_facts(self, node):
        if not (node.enum or node.pattern or node.format or node.default or node.rules or
                (node.range, node.length, node.items) != ((None, None),) * 3):
            return "nullptr"
        rules = self.rule_refs.span("&rule_list[%d]" % self.rules.index(rule) for rule in node.rules)
        return self.crd.address("{%s, %s, %s, %s, %s, %s, %s, %s}" % (
            self.strings_span(node.enum), text(node.pattern), text(node.format), text(node.default),
            self.range(node.range), self.range(node.length), self.range(node.items), rules))

    def openapi_facts(self, node):
        if not (node.api_enum or node.api_default or node.api_types):
            return "nullptr"
        types = " | ".join("json_" + name for name in node.api_types) or "0"
        return self.openapi.address("{%s, %s, %s}" % (
            self.strings_span(node.api_enum), text(node.api_default), types))

    def node(self, node):
        element = "nullptr"
        if node.element:
            element = self.nodes.address(self.node(node.element))
        type_address = "&type_list[%d]" % self.type_index[node.type.name] if node.type else "nullptr"
        return "{Shape::%s, %s, %s, %s, %s, ListType::%s, %s, %s, %s, %s}" % (
            node.shape, flag(node.pointer), flag(node.nullable), flag(node.preserve), flag(node.map_atomic),
            node.list_type, type_address, element, self.crd_facts(node), self.openapi_facts(node))

    def field(self, field, number):
        return "{%s, %s, Omission::%s, %s, %s, %s, %d, %s, %s, %s}" % (
            self.node(field), text(field.name), field.omission, flag(field.required), flag(field.merge),
            flag(field.replace), number,
            text(field.merge_key), self.strings_span(field.map_keys), text(field.description))

    def flat_fields(self, entry):
        """In protobuf an embedded struct is a message of its own: its fields have their numbers there, and none here."""
        own = entry.own_fields()
        return [self.field(field, field.number if field in own else 0) for field in entry.flat()]

    def embed_entries(self, entry):
        result, position = [], 0
        for member in entry.members:
            if isinstance(member, Embed):
                count = len(member.type.flat())
                result.append("{&type_list[%d], %s, %d, %d, %d}" % (
                    self.type_index[member.type.name], flag(member.pointer), position, count, member.number))
                position += count
            elif not member.api_only:
                position += 1
        return result

    def type_entry(self, entry):
        flat = entry.flat()
        multiplier, shift, probe, slots = perfect_hash(entry.name, [field.name for field in flat])
        api_only = [member for member in entry.members if isinstance(member, Field) and member.api_only]
        return "{%s, %s, %s, %s,\n     %s, %s, %s, %s, %s, %s, %du, %d, %d, %s}" % (
            text(entry.name), text(entry.go_name), text(entry.openapi_name), text(entry.description),
            self.fields.span(self.flat_fields(entry)), self.embeds.span(self.embed_entries(entry)),
            self.fields.span(self.field(field, 0) for field in api_only), flag(entry.map_atomic),
            flag(entry.crd_opaque), flag(entry.api_nullable), multiplier, shift, probe,
            "&hash_slots[%d]" % self.slots.start(slots) if slots else "nullptr")

    def kind_entry(self, kind):
        versions = self.versions.span("{%s, %s, %s, %s, %s}" % (
            text(name), flag(served), flag(storage), flag(deprecated), text(warning))
            for name, served, storage, deprecated, warning in kind.versions)
        columns = self.columns.span("{%s, %s, %s, %d}" % (text(name), text(ctype), text(path), priority)
                                    for name, ctype, path, priority in kind.columns)
        scale = self.scales.address("{%s}" % ", ".join(map(text, kind.scale))) if kind.scale else "nullptr"
        return ("{%s, %s, %s, %s, %s, %s, %s,\n     %s, %s, %s, %s, %s, &type_list[%d], %s, %s, %s}" % (
            text(kind.group), text(kind.name), text(kind.list_kind or kind.name + "List"), text(kind.plural),
            text(kind.singular), self.strings_span(kind.short), self.strings_span(kind.categories),
            flag(kind.scope == "Namespaced"), flag(not kind.builtin), flag(kind.status), flag(kind.list_kind), scale,
            self.type_index[kind.type.name],
            "&type_list[%d]" % self.type_index[kind.list_type.name] if kind.list_type else "nullptr",
            versions, columns))

    def emit(self):
        kinds = sorted(self.model.kinds, key=lambda kind: (kind.group, kind.plural))
        type_entries = [self.type_entry(entry) for entry in self.types]
        kind_entries = [self.kind_entry(kind) for kind in kinds]
        out = [HEADER]
        out.append("extern const Type type_list[%d];\n\n" % len(self.types))
        out.append("namespace {\n\nconstexpr std::int64_t no_min = Range{}.min;\n"
                   "constexpr std::int64_t no_max = Range{}.max;\n\n")
        rule_entries = ["{%s, %s, %s}" % (text(rule.name), text(rule.cel), text(rule.message)) for rule in self.rules]
        rule_body = "".join("    %s,\n" % entry for entry in rule_entries)
        out.append("constinit const Rule rule_list[] = {\n%s};\n\n" % rule_body if rule_entries else "")
        for table in (self.strings, self.rule_refs, self.crd, self.openapi):
            out.append(table.emit())
        out.append(self.emit_nodes())
        for table in (self.fields, self.embeds, self.slots, self.versions, self.columns, self.scales):
            out.append(table.emit())
        out.append("}  // namespace\n\n")
        body = "".join("    %s,\n" % entry for entry in type_entries)
        out.append("constinit const Type type_list[%d] = {\n%s};\n\n" % (len(self.types), body))
        body = "".join("    %s,\n" % entry for entry in kind_entries)
        out.append("namespace {\n\nconstinit const Kind kind_list[] = {\n%s};\n\n}  // namespace\n\n" % body
                   if kind_entries else "")
        out.append("namespace tables {\n\n")
        out.append("constinit const std::span<const Type> types{type_list};\n")
        out.append("constinit const std::span<const Kind> kinds%s;\n" % ("{kind_list}" if kind_entries else ""))
        out.append("constinit const std::span<const Rule> rules%s;\n" % ("{rule_list}" if rule_entries else ""))
        out.append("\n}  // namespace tables\n}  // namespace vg::api\n")
        return "".join(out)

    def emit_nodes(self):
        if not self.nodes.entries:
            return ""
        # Elements of elements refer to each other, so the array is declared (with its size) before it is filled.
        body = "".join("    %s,\n" % entry for entry in self.nodes.entries)
        return "extern const Node nodes[%d];\nconstinit const Node nodes[%d] = {\n%s};\n\n" % (
            len(self.nodes.entries), len(self.nodes.entries), body)


def emit(model):
    return Tables(model).emit()
