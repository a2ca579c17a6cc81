"""Reads schema/*.vgs into a model of packages, rules, types and kinds, and says what is wrong with them.

Everything that follows from something else is worked out here (required, OpenAPI defaults, list types), so that the
files stay short and the emitters stay simple.
"""
import difflib
import json
import os
import re

SCALARS = {
    "string": "string", "bool": "boolean", "int": "int_", "int32": "int32", "int64": "int64", "uint": "uint_",
    "uint8": "uint8", "uint32": "uint32", "uint64": "uint64", "float32": "float32", "float64": "float64",
    "bytes": "bytes", "quantity": "quantity", "time": "time", "microtime": "micro_time", "duration": "duration",
    "intorstring": "int_or_string", "raw": "raw", "fields": "fields",
}
INTEGERS = {"int_", "int32", "int64", "uint_", "uint8", "uint32", "uint64"}
NUMBERS = INTEGERS | {"float32", "float64"}
# What Go's OpenAPI generator writes as the default of a value that cannot be absent.
ZERO = dict({shape: "0" for shape in NUMBERS}, string='""', boolean="false")
JSON_TYPES = {"string", "null", "number", "integer"}

NAME = r"[A-Za-z_$][A-Za-z0-9_.$/-]*"
NUMBER = r"(?:\s+@([0-9]+)(?!\S))?"
FIELD = re.compile(r"(%s)(\?)?:\s+(\S+)%s\s*(.*)$" % (NAME, NUMBER))
EMBED = re.compile(r"\+\s*(\S+)%s$" % NUMBER)
# What Kubernetes' own types have in protobuf, and so src/api/protobuf.h reads and writes.
NUMBERED = {"string", "boolean", "int32", "int64", "bytes", "quantity", "time", "micro_time", "int_or_string", "raw",
            "fields", "structure"}
NUMBER_MAX = 0xffff  # of a field in protobuf: as wide as Field::number; Kubernetes stays far below
TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*$")
TOKEN = re.compile(r"\s*([a-z][a-z-]*)(\()?")


class Problem(Exception):
    pass


class Node:
    """A value: its shape and what is demanded of it."""

    def __init__(self, shape, pointer=False, ref=None, element=None):
        self.shape, self.pointer, self.ref, self.element = shape, pointer, ref, element
        self.type = None  # Type, once resolved
        self.nullable = self.preserve = self.map_atomic = False
        self.list_type = "none"
        self.enum, self.pattern, self.format, self.default = [], "", "", ""
        self.range = self.length = self.items = (None, None)
        self.rules = []
        self.api_enum, self.api_default, self.api_types = [], "", []

    def innermost(self):
        return self.element.innermost() if self.element else self


class Field(Node):
    def __init__(self, node, name, omission, where, number=0):
        self.__dict__.update(node.__dict__)
        self.name, self.omission, self.where, self.number = name, omission, where, number
        self.required = omission == "always"
        self.merge, self.replace, self.merge_key, self.map_keys = False, False, "", []
        self.description, self.api_only, self.api_default_stated = "", False, False


class Embed:
    def __init__(self, ref, pointer, where, number=0):
        self.ref, self.pointer, self.where, self.number, self.type = ref, pointer, where, number, None


class Type:
    def __init__(self, package, name, where, source):
        self.package, self.short, self.where, self.source = package, name, where, source
        self.name = package.name + "." + name
        self.go_name = package.go + "." + name
        self.openapi_name = package.openapi + "." + name
        self.description = ""
        self.members = []  # Field and Embed, as written
        self.map_atomic = self.crd_opaque = self.api_nullable = False

    def own_fields(self):
        return [member for member in self.members if isinstance(member, Field) and not member.api_only]

    def embeds(self):
        return [member for member in self.members if isinstance(member, Embed)]

    def numbers(self):
        return [member.number for member in self.members if member.number]

    def flat(self):
        """All fields as Go writes them: those of an embedded struct stand where the struct stands."""
        result = []
        for member in self.members:
            if isinstance(member, Embed):
                result += member.type.flat()
            elif not member.api_only:
                result.append(member)
        return result


class Package:
    def __init__(self, name, go, openapi, where):
        self.name, self.go, self.openapi, self.where = name, go, openapi, where


class Rule:
    def __init__(self, name, where):
        self.name, self.where, self.cel, self.message, self.used = name, where, "", "", False


class Kind:
    def __init__(self, name, group, package, where):
        self.name, self.group, self.package, self.where = name, group, package, where
        self.plural = self.singular = self.list_kind = ""
        self.list_items, self.list_metadata = "none", "empty"
        self.short, self.categories, self.versions, self.columns = [], [], [], []
        self.scope, self.scale, self.status, self.builtin, self.unstored = "", None, False, False, False
        self.type = self.list_type = None


class Model:
    def __init__(self):
        self.packages, self.rules, self.types, self.kinds = {}, {}, {}, []
        self.sources = []  # names of the files that hold types, without folder and suffix


def unquote(text, what):
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise Problem("%s must stand in double quotes" % what)
    body = text[1:-1].replace('\\"', "\0")
    if '"' in body:
        raise Problem('a double quote inside %s is written \\"' % what)
    body = body.replace("\0", '"')
    if not body.strip():
        raise Problem("%s is empty: leave it out instead" % what)
    return body


def close_names(name, candidates):
    near = difflib.get_close_matches(name, list(candidates), 1)
    return "; did you mean %s?" % near[0] if near else ""


def argument_end(text, start):
    """Index of the parenthesis that closes the one before `start`. Quoted and back-quoted parts are skipped."""
    depth, quote, index = 1, "", start
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\" and quote == '"':
                index += 1
            elif char == quote:
                quote = ""
        elif char in "\"`":
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return index
        index += 1
    raise Problem("a parenthesis is not closed")


def read_tokens(text):
    """'atomic range(1..2) "words"' -> [("atomic", None), ("range", "1..2")], "words"."""
    tokens, description, position = [], "", 0
    while position < len(text):
        rest = text[position:].lstrip()
        if rest.startswith('"'):
            description = unquote(rest.rstrip(), "a description")
            break
        if not rest:
            break
        match = TOKEN.match(text, position)
        if not match:
            raise Problem("cannot read %r" % rest)
        position, argument = match.end(), None
        if match.group(2):
            end = argument_end(text, position)
            argument, position = text[position:end], end + 1
        if position < len(text) and not text[position].isspace():
            raise Problem("cannot read %r" % text[position:])
        tokens.append((match.group(1), argument))
    return tokens, description


def read_node(text):
    if text.startswith("*"):
        node = read_node(text[1:])
        if node.pointer:
            raise Problem("a pointer to a pointer: %s" % text)
        node.pointer = True
        return node
    if text.startswith("["):
        if not text.endswith("]"):
            raise Problem("a list is written [T], not %s" % text)
        return Node("list", element=read_node(text[1:-1]))
    if text.startswith("{"):
        if not text.endswith("}"):
            raise Problem("a map from strings to T is written {T}, not %s" % text)
        return Node("map", element=read_node(text[1:-1]))
    if text in SCALARS:
        return Node(SCALARS[text])
    if not re.match(r"([a-z][a-z0-9]*\.)?[A-Z][A-Za-z0-9]*$", text):
        raise Problem("no such type: %s%s" % (text, close_names(text, SCALARS)))
    return Node("structure", ref=text)


def read_number(text):
    number = int(text or 0)
    need(text is None or 0 < number <= NUMBER_MAX, "@N is a number from 1 to %d" % NUMBER_MAX)
    return number


def read_range(argument, what):
    match = re.match(r"(-?[0-9]*)\.\.(-?[0-9]*)$", argument or "")
    if not match or argument == "..":
        raise Problem("%s takes min..max, min.. or ..max" % what)
    low, high = (int(part) if part else None for part in match.groups())
    if low is not None and high is not None and low > high:
        raise Problem("%s: %d is more than %d" % (what, low, high))
    return low, high


def read_choices(argument, what):
    choices = (argument or "").split("|")
    if not argument or "" in choices:
        raise Problem("%s takes values with | between them" % what)
    if len(set(choices)) != len(choices):
        raise Problem("%s names a value twice" % what)
    return choices


def read_json(argument, what):
    try:
        return json.dumps(json.loads(argument or ""), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        raise Problem("%s takes a JSON value, not %s" % (what, argument))


def need(condition, text):
    if not condition:
        raise Problem(text)


def apply_token(field, token, argument):
    """What each word behind a field's type means. The list is also in schema/README.md."""
    scalar = field.innermost()
    flags = ("optional", "required", "omitzero", "atomic", "set", "map-atomic", "nullable", "nullable-items", "preserve",
             "api-only", "api-no-default", "replace")
    if token in flags:
        need(argument is None, "%s takes no argument" % token)
    if token == "optional":
        need(field.omission == "always", "optional says nothing of a field that has a ? already")
        field.required = False
    elif token == "required":
        need(field.omission != "always", "required says nothing of a field without a ?")
        field.required = True
    elif token == "omitzero":
        need(field.omission == "empty", "omitzero needs a ? behind the name")
        field.omission = "zero"
    elif token == "atomic":
        field.list_type = "atomic"
    elif token == "set":
        need(field.shape == "list", "set is for lists")
        field.list_type = "set"
    elif token == "keys":
        need(field.shape == "list" and field.element.shape == "structure", "keys(...) is for lists of structs")
        field.list_type = "map"
        field.map_keys = [key.strip() for key in (argument or "").split(",")]
    elif token == "merge":
        need(field.shape in ("list", "structure", "map"), "merge is for lists, maps and structs")
        field.merge, field.merge_key = True, argument or ""
    elif token == "replace":
        need(field.shape in ("structure", "map"), "replace is for maps and structs; lists are replaced anyway")
        field.replace = True
    elif token == "map-atomic":
        need(field.shape in ("map", "structure"), "map-atomic is for maps and structs")
        field.map_atomic = True
    elif token == "nullable":
        field.nullable = True
    elif token == "nullable-items":
        need(field.element, "nullable-items is for lists and maps")
        field.element.nullable = True
    elif token == "preserve":
        need(field.shape in ("map", "structure", "raw"), "preserve is for maps and structs")
        field.preserve = True
    elif token == "enum":
        need(scalar.shape == "string", "enum is for strings and lists of them")
        scalar.enum = read_choices(argument, "enum")
    elif token == "pattern":
        need(scalar.shape in ("string", "quantity"), "pattern is for strings and lists of them")
        need(argument and len(argument) > 2 and argument[0] == argument[-1] == "`",
             "pattern takes an expression in back quotes")
        scalar.pattern = argument[1:-1]
    elif token == "range":
        need(scalar.shape in NUMBERS, "range is for numbers and lists of them")
        scalar.range = read_range(argument, "range")
    elif token == "len":
        need(scalar.shape == "string", "len is for strings and lists of them")
        scalar.length = read_range(argument, "len")
    elif token == "items":
        need(field.shape == "list", "items is for lists")
        field.items = read_range(argument, "items")
    elif token == "format":
        need(argument, "format takes a name")
        scalar.format = argument
    elif token == "default":
        field.default = read_json(argument, "default")
    elif token == "rules":
        field.rules = [name.strip() for name in (argument or "").split(",")]
    elif token == "api-only":
        field.api_only = True
    elif token == "api-type":
        field.api_types = read_choices(argument, "api-type")
        for name in field.api_types:
            need(name in JSON_TYPES, "api-type knows %s" % ", ".join(sorted(JSON_TYPES)))
    elif token == "api-enum":
        need(scalar.shape == "string", "api-enum is for strings and lists of them")
        scalar.api_enum = read_choices(argument, "api-enum")
    elif token == "api-default":
        field.api_default, field.api_default_stated = read_json(argument, "api-default"), True
    elif token == "api-no-default":
        field.api_default_stated = True
    else:
        known = flags + ("keys", "merge", "enum", "pattern", "range", "len", "items", "format", "default", "rules",
                         "api-type", "api-enum", "api-default")
        raise Problem("unknown word %s%s" % (token, close_names(token, known)))


class Reader:
    def __init__(self):
        self.model, self.errors = Model(), []

    def fail(self, where, text):
        self.errors.append("%s:%d: %s" % (where[0], where[1], text))

    def read_packages(self, path):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split()
                if not words or words[0] != "package":
                    continue
                where = (path, number)
                if len(words) != 6 or words[2] != "go" or words[4] != "openapi":
                    self.fail(where, "a package is written: package NAME go PATH openapi PREFIX")
                elif words[1] in self.model.packages:
                    self.fail(where, "package %s is there already" % words[1])
                else:
                    self.model.packages[words[1]] = Package(words[1], words[3], words[5], where)

    def read_file(self, path):
        self.source = os.path.splitext(os.path.basename(path))[0]
        self.package = self.block = self.field = None
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                line, where = line.rstrip(), (path, number)
                if not line.strip() or line.lstrip().startswith("#"):
                    continue
                try:
                    if "\t" in line:
                        raise Problem("a tab: indent with spaces")
                    if line[0] != " ":
                        self.start_block(line, where)
                    elif self.block is None:
                        raise Problem("an indented line that belongs to nothing")
                    elif isinstance(self.block, Type):
                        self.type_line(line, where)
                    elif isinstance(self.block, Rule):
                        self.rule_line(line.strip())
                    else:
                        self.kind_line(line.strip())
                except Problem as problem:
                    self.fail(where, str(problem))

    def start_block(self, line, where):
        words = line.split()
        self.block, self.field = None, None
        if words[0] == "package":
            return
        if words[0] == "in":
            need(len(words) == 2, "write: in PACKAGE")
            need(words[1] in self.model.packages,
                 "no such package: %s%s" % (words[1], close_names(words[1], self.model.packages)))
            self.package = self.model.packages[words[1]]
        elif words[0] == "rule":
            need(len(words) == 2, "write: rule NAME")
            need(words[1] not in self.model.rules, "rule %s is there already" % words[1])
            self.block = self.model.rules[words[1]] = Rule(words[1], where)
        elif words[0] == "type":
            need(self.package, "say `in PACKAGE` before the first type of a file")
            need(len(words) > 1 and TYPE_NAME.match(words[1]), "write: type NAME, which begins with a capital letter")
            new = Type(self.package, words[1], where, self.source)
            old = self.model.types.get(new.name)
            need(not old, "type %s is there already%s" % (new.name, ", %s:%d" % old.where if old else ""))
            self.block = self.model.types[new.name] = new
            if self.source not in self.model.sources:
                self.model.sources.append(self.source)
            tokens, new.description = read_tokens(line.split(words[1], 1)[1])
            for token, argument in tokens:
                need(argument is None and token in ("map-atomic", "crd-opaque"),
                     "unknown word %s behind a type%s" % (token, close_names(token, ("map-atomic", "crd-opaque"))))
                setattr(new, token.replace("-", "_"), True)
        elif words[0] == "kind":
            need(self.package, "say `in PACKAGE` before the first kind of a file")
            need(len(words) == 4 and words[2] == "in", "write: kind NAME in GROUP (core for the group without a name)")
            self.block = Kind(words[1], "" if words[3] == "core" else words[3], self.package, where)
            self.model.kinds.append(self.block)
        else:
            raise Problem("a line at the margin begins with in, type, kind, rule or package")

    def type_line(self, line, where):
        text = line.strip()
        if text.startswith('"'):
            words = unquote(text, "a description")
            need(not words.startswith("UNDESCRIBED"), "this has no description yet")  # as facts_import.py leaves it
            target = self.field or self.block
            need(self.field or not self.block.members, "this description belongs to no field")
            target.description = (target.description + " " + words).strip()
            return
        if text.startswith("+"):
            self.field = None
            match = EMBED.match(text)
            need(match, "a struct is embedded so: + TYPE, or + TYPE @NUMBER")
            node = read_node(match.group(1))
            need(node.shape == "structure", "only a struct can be embedded")
            self.block.members.append(Embed(node.ref, node.pointer, where, read_number(match.group(2))))
            return
        match = FIELD.match(text)
        need(match, "a field is written: name: type, or name?: type")
        name, optional, type_text, number, rest = match.groups()
        omission = "empty" if optional else "always"
        self.field = Field(read_node(type_text), name, omission, where, read_number(number))
        self.block.members.append(self.field)
        tokens, self.field.description = read_tokens(rest)
        for token, argument in tokens:
            apply_token(self.field, token, argument)

    def rule_line(self, text):
        if text.startswith("cel "):
            self.block.cel = text[4:].strip()
        elif text.startswith("message "):
            self.block.message = unquote(text[8:].strip(), "a message")
        else:
            raise Problem("a rule has a cel line and a message line")

    def kind_line(self, text):
        kind = self.block
        words = text.split()
        word, rest = words[0], words[1:]
        if word in ("plural", "singular", "scope", "list", "list-items", "list-metadata"):
            need(len(rest) == 1, "write: %s VALUE" % word)
        if word in ("plural", "singular"):
            setattr(kind, word, rest[0])
        elif word in ("short", "categories"):
            need(rest, "%s needs at least one name" % word)
            setattr(kind, word, rest)
        elif word == "scope":
            need(rest[0] in ("Namespaced", "Cluster"), "scope is Namespaced or Cluster")
            kind.scope = rest[0]
        elif word == "list":
            kind.list_kind = rest[0]
        elif word == "list-items":
            need(rest[0] in ("atomic", "set"), "list-items is atomic or set")
            kind.list_items = rest[0]
        elif word == "list-metadata":
            need(rest[0] == "always", "the only exception is: list-metadata always")
            kind.list_metadata = "always"
        elif word in ("status", "builtin", "unstored"):
            need(not rest, "%s stands alone" % word)
            setattr(kind, word, True)
        elif word == "scale":
            need(len(rest) == 3, "write: scale SPEC-REPLICAS STATUS-REPLICAS LABEL-SELECTOR, as JSON paths")
            kind.scale = rest
        elif word == "column":
            match = re.match(r"column\s+(\S+)\s+(string|integer|number|date|boolean)\s+(\S+)(\s+wide)?$", text)
            need(match, "write: column NAME string|integer|number|date|boolean JSON-PATH [wide]")
            kind.columns.append(match.group(1, 2, 3) + (1 if match.group(4) else 0,))
        elif word == "version":
            match = re.match(r'version\s+(v[a-z0-9]+)(\s+storage)?(\s+unserved)?(\s+deprecated\s+(".*"))?$', text)
            need(match, 'write: version NAME [storage] [unserved] [deprecated "our warning"]')
            name, storage, unserved, deprecated, warning = match.groups()
            need(name not in [version[0] for version in kind.versions], "version %s is there already" % name)
            kind.versions.append((name, not unserved, bool(storage), bool(deprecated),
                                  unquote(warning, "a warning") if warning else ""))
        else:
            raise Problem("unknown word %s in a kind" % word)

    def resolve_ref(self, ref, package, where):
        name = ref if "." in ref else package.name + "." + ref
        found = self.model.types.get(name)
        if not found:
            self.fail(where, "no such type: %s%s" % (name, close_names(name, self.model.types)))
        return found

    def resolve_node(self, node, package, where):
        if node.ref:
            node.type = self.resolve_ref(node.ref, package, where)
        if node.element:
            self.resolve_node(node.element, package, where)

    def add_list_type(self, kind):
        name = kind.list_kind or kind.name + "List"
        new = Type(kind.package, name, kind.where, kind.type.source)
        meta = self.model.packages.get("meta")
        if not meta or "meta.ListMeta" not in self.model.types or new.name in self.model.types:
            return self.model.types.get(new.name)
        new.members.append(Embed("meta.TypeMeta", False, kind.where))
        # In protobuf every list is metadata and items.
        numbers = (1, 2) if kind.type.numbers() else (0, 0)
        metadata = Field(read_node("meta.ListMeta"), "metadata", kind.list_metadata, kind.where, numbers[0])
        items = Field(read_node("[%s]" % kind.type.name), "items", "always", kind.where, numbers[1])
        items.list_type = kind.list_items
        new.members += [metadata, items]
        self.model.types[new.name] = new
        return new

    def finish(self):
        model = self.model
        for kind in model.kinds:
            kind.type = self.resolve_ref(kind.name, kind.package, kind.where)
            if not kind.type:
                continue
            for word in ("plural", "singular", "scope"):
                if not getattr(kind, word):
                    self.fail(kind.where, "kind %s has no %s" % (kind.name, word))
            if sum(version[2] for version in kind.versions) != 1:
                self.fail(kind.where, "kind %s needs exactly one storage version" % kind.name)
            if not kind.unstored:
                kind.list_type = self.add_list_type(kind)
        for new in list(model.types.values()):
            for member in new.members:
                if isinstance(member, Embed):
                    member.type = self.resolve_ref(member.ref, new.package, member.where)
                else:
                    self.resolve_node(member, new.package, member.where)
        if self.errors:
            return
        for new in model.types.values():
            self.check_embeds(new, [])
        if self.errors:
            return
        for new in model.types.values():
            self.check_type(new)
            self.check_numbers(new)
        for kind in model.kinds:
            if not kind.builtin:
                self.check_finite(kind, kind.type, [], set())
        for rule in model.rules.values():
            if not rule.cel or not rule.message:
                self.fail(rule.where, "rule %s needs a cel line and a message line" % rule.name)
            if not rule.used:
                self.fail(rule.where, "rule %s is not used by any field" % rule.name)

    def check_embeds(self, new, above):
        if new in above:
            self.fail(new.where, "type %s embeds itself" % new.name)
            return
        for embed in new.embeds():
            self.check_embeds(embed.type, above + [new])

    def check_finite(self, kind, new, above, done):
        """A CRD writes types out where they are used, so none may contain itself."""
        if new in above:
            self.fail(kind.where, "kind %s contains %s, which contains itself: a CRD cannot say that" % (kind.name, new.name))
        if new in above or new in done or new.crd_opaque:
            return
        done.add(new)
        for field in new.flat():
            if field.innermost().type:
                self.check_finite(kind, field.innermost().type, above + [new], done)

    def check_type(self, new):
        seen, methods = {}, {}
        for field in new.flat():
            method = re.sub(r"[^a-z0-9]", "", field.name.lower())
            if field.name not in seen and method in methods:
                self.fail(field.where, "%s and %s of %s would be read by the same method" % (
                    methods[method], field.name, new.name))
            methods[method] = field.name
            if field.name in seen:
                self.fail(field.where, "%s has two fields %s" % (new.name, field.name))
            seen[field.name] = field
        for field in [member for member in new.members if isinstance(member, Field)]:
            for index, name in enumerate(field.rules):
                if name not in self.model.rules:
                    self.fail(field.where, "no such rule: %s%s" % (name, close_names(name, self.model.rules)))
                else:
                    field.rules[index] = self.model.rules[name]
                    field.rules[index].used = True
            for key in field.map_keys + ([field.merge_key] if field.merge_key else []):
                if field.shape != "list" or not field.element.type:
                    self.fail(field.where, "a key is for lists of structs")
                elif key not in [inner.name for inner in field.element.type.flat()]:
                    self.fail(field.where, "%s has no field %s to be a key" % (field.element.type.name, key))
            # Upstream lets null stand for whatever an object's `status` refers to, wherever that definition is used.
            if field.name == "status" and field.shape == "structure" and "spec" in seen:
                field.type.api_nullable = True
            self.derive_openapi(field)

    def check_numbers(self, new):
        """A type speaks protobuf with all of its fields, and with all types that they have, or not at all."""
        if not new.numbers():
            return
        seen = {}
        for member in new.members:
            embed = isinstance(member, Embed)
            name = member.ref if embed else member.name
            if (embed and member.type.name == "meta.TypeMeta") or (not embed and member.api_only):
                continue  # what an object is stands around its message
            if not member.number:
                self.fail(member.where, "%s has no number, other fields of %s do: it needs an @N" % (name, new.name))
            elif member.number in seen:
                self.fail(member.where, "@%d of %s is %s already" % (member.number, new.name, seen[member.number]))
            seen[member.number] = name
            if member.number and not embed and member.innermost().shape not in NUMBERED:
                self.fail(member.where, "%s has a type that is not written in protobuf here, so no number" % name)
            inner = member.type if embed else member.innermost().type
            if member.number and inner and inner.members and not inner.numbers():
                self.fail(member.where, "%s has a number, but the fields of %s have none" % (name, inner.name))

    def derive_openapi(self, field):
        if not field.api_default_stated and not field.api_types and not field.pointer:
            if field.shape in ZERO and field.omission == "always":
                field.api_default = ZERO[field.shape]
            elif field.shape == "structure":
                field.api_default = "{}"
        element = field.element
        while element:
            if not element.pointer:
                element.api_default = ZERO.get(element.shape, "{}" if element.shape == "structure" else "")
            element = element.element


def load(paths):
    """-> (Model, [error]); the model is of use only when there is no error."""
    reader = Reader()
    for path in paths:
        reader.read_packages(path)
    for path in paths:
        reader.read_file(path)
    if not reader.errors:
        reader.finish()
    return reader.model, sorted(reader.errors, key=error_key)


def error_key(error):
    path, line = error.split(":", 2)[:2]
    return path, int(line)
