"""Writes the typed read-only views of src/api/view.h: one header for each file of schema/ that holds types.

A header includes no other: a method that returns a view of another file is a template, so that the other class must
only be complete where the method is called. Who calls it includes that header. Descriptions are left out, so that better
words do not compile everything anew.
"""
import re

SCALARS = {
    "string": "std::string_view", "boolean": "bool", "int_": "std::int64_t", "int32": "std::int32_t",
    "int64": "std::int64_t", "uint_": "std::uint64_t", "uint8": "std::uint8_t", "uint32": "std::uint32_t",
    "uint64": "std::uint64_t", "float32": "double", "float64": "double", "bytes": "std::string_view",
    "time": "std::string_view", "micro_time": "std::string_view", "duration": "std::string_view",
}
HANDLES = {"quantity": "QuantityView", "int_or_string": "IntOrStringView", "raw": "const json::Value*",
           "fields": "const json::Value*"}

CPP_KEYWORDS = set("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double else enum explicit
export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
or_eq private protected public register requires return short signed sizeof static static_assert struct switch template
this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile while xor
xor_eq""".split())
# Names that every view has already.
TAKEN = {"has", "empty", "object", "get"}


def snake(name):
    """bootOrder -> boot_order, acpiIndex -> acpi_index, VSOCKCID -> vsockcid, clientCIDRs -> client_cidrs."""
    name = re.sub(r"[^A-Za-z0-9]", "_", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z]{2,})", r"\1_\2", name)
    name = name.lower()
    return name + "_" if name in CPP_KEYWORDS or name in TAKEN else name


def namespace(package_name):
    return package_name + "_" if package_name in CPP_KEYWORDS else package_name


def header_name(source):
    return source.replace("-", "_") + ".h"


class Header:
    def __init__(self, source, types):
        self.source, self.types = source, types
        self.foreign = set()

    def class_name(self, target, package):
        name = target.short
        return name if target.package is package else namespace(target.package.name) + "::" + name

    def node_class(self, node, package):
        """The class that reads a node, pointers aside."""
        if node.shape == "structure":
            if node.type.source != self.source:
                self.foreign.add((node.type.package.name, node.type.short))
            return self.class_name(node.type, package)
        if node.shape == "list":
            return "List<%s>" % self.node_class(node.element, package)
        if node.shape == "map":
            return "Map<%s>" % self.node_class(node.element, package)
        return SCALARS.get(node.shape) or HANDLES[node.shape]

    def struct_method(self, target, method, argument, package, complete):
        name = self.class_name(target, package)
        if target.source != self.source:
            self.foreign.add((target.package.name, target.short))
        if target.name in complete:
            return "  %s %s() const noexcept { return %s(%s); }" % (name, method, name, argument)
        return ("  template <class V = %s>\n  V %s() const noexcept {\n    return V(%s);\n  }" % (name, method, argument))

    def method(self, field, owner, complete):
        method = snake(field.name)
        argument = 'get("%s")' % field.name
        if field.shape == "structure":
            return self.struct_method(field.type, method, argument, owner.package, complete)
        name = self.node_class(field, owner.package)
        if field.shape in SCALARS and field.pointer:
            return "  std::optional<%s> %s() const noexcept { return Read<%s>::maybe(%s); }" % (
                name, method, name, argument)
        if field.shape in SCALARS or name == "const json::Value*":
            return "  %s %s() const noexcept { return Read<%s>::or_zero(%s); }" % (name, method, name, argument)
        return "  %s %s() const noexcept { return %s(%s); }" % (name, method, name, argument)

    def class_text(self, entry, complete):
        lines = ["class %s : public View {" % entry.short, " public:", "  using View::View;"]
        methods = [snake(field.name) for field in entry.flat()]
        lines += [self.method(field, entry, complete) for field in entry.flat()]
        # An embedded struct seen as one: the same object. TypeMeta is in every kind and is left out.
        for embed in entry.embeds():
            method = snake(embed.type.short)
            if method not in methods and embed.type.name != "meta.TypeMeta":
                lines.append(self.struct_method(embed.type, method, "object()", entry.package, complete))
        lines.append("};")
        return "\n".join(lines) + "\n"

    def emit(self):
        order = sort_by_use(self.types)
        complete, parts, package = set(), [], None
        for entry in order:
            if entry.package is not package:
                if package:
                    parts.append("}  // namespace %s\n\n" % namespace(package.name))
                package = entry.package
                parts.append("namespace %s {\n\n" % namespace(package.name))
            parts.append(self.class_text(entry, complete) + "\n")
            complete.add(entry.name)
        parts.append("}  // namespace %s\n" % namespace(package.name))
        out = ["// Generated from schema/%s.vgs by tools/schemagen.py. Do not edit.\n" % self.source,
               '#pragma once\n\n#include "api/view.h"\n\nnamespace vg::api {\n\n']
        declared = sorted(self.foreign | {(entry.package.name, entry.short) for entry in self.types})
        for name in sorted({name for name, _ in declared}):
            out.append("namespace %s {\n" % namespace(name))
            out += ["class %s;\n" % short for owner, short in declared if owner == name]
            out.append("}  // namespace %s\n\n" % namespace(name))
        out += parts
        out.append("\n}  // namespace vg::api\n")
        return "".join(out)


def sort_by_use(types):
    """What a type returns by value comes before it, as far as that is possible."""
    result, state = [], {}
    own = {entry.name: entry for entry in types}

    def visit(entry):
        if entry.name in state:
            return
        state[entry.name] = True
        for target in [field.type for field in entry.flat() if field.shape == "structure"] + \
                [embed.type for embed in entry.embeds()]:
            if target.name in own and target.package is entry.package:
                visit(own[target.name])
        result.append(entry)

    for entry in types:
        visit(entry)
    # Classes of one package stay together, so that a namespace is opened once.
    packages = []
    for entry in result:
        if entry.package not in packages:
            packages.append(entry.package)
    return [entry for package in packages for entry in result if entry.package is package]


def emit(model):
    by_source = {}
    for entry in model.types.values():
        by_source.setdefault(entry.source, []).append(entry)
    headers = {header_name(source): Header(source, types).emit() for source, types in by_source.items()}
    includes = "".join('#include "api/views/%s"\n' % name for name in sorted(headers))
    headers["all.h"] = "// Generated from schema/*.vgs by tools/schemagen.py. Do not edit.\n#pragma once\n\n" + includes
    return headers
