"""For whom controllers do what they do: every effect and every disk job of a controller stands in effects.md with the identity that it carries.

The compiler refuses an effect without an identity (src/controllers/identity.h). This test shows which one it is, to whoever reviews a change:
`python3 tests/tidy/effects_test.py --write` writes the list.
"""
import os
import re
import sys
import unittest

import repository

LIST = "tests/tidy/effects.md"
HEAD = """# For whom controllers do what they do

Every effect and every disk job of a controller, where it is made, and the identity that it carries (`src/controllers/identity.h`): whose permission
counts for what it names, or reads, in another namespace. `own`: nobody's, so it can name nothing there. `machine`: the service account of the VM or
VMI that it is made of. `asker_of`: whoever asked for the data, as the server has written down. Written by `tests/tidy/effects_test.py --write`.

| where | function | what | identity |
|---|---|---|---|
"""
# What is made of a user's content: these are never a controller's own, wherever they are made.
OF_USERS = ("create kinds::vm", "create kinds::vmi", "create kinds::data_volume", "create kinds::restore", "create kinds::snapshot_content", "create kinds::revision")
FUNCTION = re.compile(r"^[A-Za-z][^\n;=]*?\b(\w+)\((?:[^;{}]|\{\})*\)(?: const)? \{\n", re.M)
EFFECT = re.compile(r"(?<!\w)\.verb = (?=[^,;}]*\b(?:Verb::|verb\b))")
# How the shorthands of single files end.
SHORT = {"identity()": "machine", "work.identity()": "machine", "identity_of(work)": "machine", "identity_of(turn, state)": "machine",
         "identity_of(turn, *content.state)": "machine", "std::move(identity)": "its caller's", "std::move(asker)": "asker_of"}


def part(text, begin):
    """From `begin` to the end of the braces that it is in."""
    depth, at = 0, begin
    while at < len(text):
        if text[at] == '"':
            at = re.compile(r'"(?:[^"\\]|\\.)*"', re.S).match(text, at).end() - 1
        elif text[at] in "({[":
            depth += 1
        elif text[at] in ")}]":
            if depth == 0:
                break
            depth -= 1
        at += 1
    return text[begin:at]


def member(text, name):
    """The value of a designated initializer, at its own level."""
    found = re.search(rf"\.{name} = ", text)
    if not found:
        return ""
    depth, at = 0, found.end()
    while at < len(text) and (depth or text[at] != ","):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        at += 1
    return " ".join(text[found.end():at].split())


def identity_in(text):
    text = text.replace("controllers::", "")
    found = re.match(r"Identity::(\w+)", text)
    return found[1] if found else SHORT.get(text, text)


def function_at(text, place):
    names = [found[1] for found in FUNCTION.finditer(text, 0, place)]
    return names[-1] if names else "?"


def effects(text):
    """(function, what, identity) of each effect and job that a source makes."""
    rows = []
    for found in EFFECT.finditer(text):
        body = part(text, found.start())
        verb = member(body, "verb").replace("controllers::", "").replace("Verb::", "")
        resource = member(body, "resource").replace("controllers::", "")
        rows.append((function_at(text, found.start()), f"{verb} {resource}", identity_in(member(body, "identity"))))
    for found in re.finditer(r"\.identity = ([^{}]*?),\s*\.job = ", text):
        body = part(text, found.start())
        work = re.search(r"(\w+)\{", body[body.index(".job = ") + len(".job = {"):]) if ".work = " in body or "disk_job" in body else None
        what = re.search(r"\.work = (\w+)", body)
        named = what[1] if what and what[1] != "std" else work[1] if work else "its caller's"
        rows.append((function_at(text, found.start()), f"job {named}", identity_in(" ".join(found[1].split()))))
    for found in re.finditer(r"\bask_for\(work, ([^{}]*?), (\w+)", text):
        if not found[1].startswith("Identity identity"):
            rows.append((function_at(text, found.start()), f"job {found[2] if found[2] != 'std' else 'import'}", identity_in(found[1])))
    for found in re.finditer(r"\beffect\.identity = ([^;]*);", text):
        rows.append((function_at(text, found.start()), "an effect that is told for whom", identity_in(found[1])))
    return rows


def sources():
    for name in sorted(repository.names()):
        if re.match(r"(src/(controllers|simulated|handler|guests)|cmd)/.*\.cpp$", name) and not name.endswith("_test.cpp"):
            yield name


def table():
    rows = []
    for name in sources():
        text = repository.read(name)
        if "Verb::" in text or "verb" in text and "Effect" in text or ".job = " in text:
            rows += [(name, *row) for row in effects(text)]
    return rows


class Effects(unittest.TestCase):
    def test_everything_that_controllers_do_is_listed_with_its_identity(self):
        self.assertEqual(repository.read(LIST), text_of(table()),
                         "an effect of a controller is new or has changed: think for whom it is, then tests/tidy/effects_test.py --write")

    def test_each_has_an_identity(self):
        known = ("own", "machine", "asker_of", "its caller's")
        for row in table():
            self.assertIn(row[3], known, row)

    def test_what_is_made_of_a_users_content_is_no_controllers_own(self):
        found = [row for row in table() if row[2] in OF_USERS]
        self.assertGreater(len(found), 8)
        for row in found:
            self.assertNotEqual(row[3], "own", row)

    def test_the_reader_itself(self):
        source = """
void f(Work& work) {
  work.pass.add({.verb = Verb::create, .resource = kinds::vm, .ns = g({1, 2}), .identity = Identity::own(), .document = {}});
  pass.jobs.push_back({.identity = Identity::machine(a, b), .job = {.id = id, .work = CopyClaim{.size = 1}}});
}
"""
        self.assertEqual(effects(source), [("f", "create kinds::vm", "own"), ("f", "job CopyClaim", "machine")])
        self.assertEqual(effects("void f() {\n g({.verb = Verb::patch, .resource = r});\n}\n"), [("f", "patch r", "")])


def text_of(rows):
    return HEAD + "".join(f"| `{where}` | `{function}` | {what} | {identity} |\n" for where, function, what, identity in rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(os.path.join(repository.SOURCE, LIST), "w") as written:
            written.write(text_of(table()))
    else:
        unittest.main(verbosity=2)
