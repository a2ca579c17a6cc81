"""Every limit is enforced somewhere, and every number that bounds input, memory or waiting stands in the headers of limits."""
import re
import unittest

import repository

# Every header of limits, with the namespace that its names are in.
HEADERS = {name: {"src/base/budgets.h": "budgets", "src/base/store_limits.h": "store_limits"}.get(name, "limits")
           for name in repository.names() if re.fullmatch(r"src/base/(\w*limits|budgets)\.h", name)}
UNITS = {"kib", "mib"}
DEFINITION = re.compile(r"constexpr\s+[\w:<> ]+?\s(\w+)\s*(?:=|\{)")
# A bound by its name: `x_max`, `x_deadline`, with the number behind it; one statement may define several.
STATEMENT = re.compile(r"constexpr\s+(?!std::string_view|json::)[\w:<>]+\s[^;()]*;|constexpr\s+(?!std::string_view|json::)[\w:<> ]+\s\w+\s*=[^;]*;")
BOUND = re.compile(r"\b(\w+_(?:max|limit|deadline|timeout|budget))\s*(=[^,;]*|\{[^}]*\})")

# What an object of the API or a domain may be is a rule of its kind, and stands with the rule; how wide a table is bounds nothing.
RULES = ("src/domain/", "src/admission/rules/", "src/admission/defaults/", "src/admission/instancetype/", "src/objects/core_kinds/", "src/resources/tables/")
# Names that sound like a bound and are none.
NO_BOUNDS = {
    "cmd/flags.cpp": {"help_column_max": "layout"},
    "src/actions/body.cpp": {"whole_double_max": "what a double holds exactly"},
    "src/actions/components.cpp": {"page_size_max": "of the API"},
    "src/admission/review.h": {"told_causes_max": "of the API"},
    "src/api/canonical.cpp": {"fields_max": "bits of a set; the program does not start with a larger type",
                              "exact_max": "what a floating point number holds exactly"},
    "src/api/protobuf_decode.cpp": {"seconds_max": "what RFC 3339 can write"},
    "src/api/protobuf_wire.cpp": {"number_max": "of the format"},
    "src/api/structural.cpp": {"comparisons_max": "beyond it there is an index"},
    "src/auth/policy_rule.cpp": {"short_list_max": "beyond it lists are sorted"},
    "src/auth/reviews.cpp": {"token_seconds_max": "of the API"},
    "src/base/duration.cpp": {"magnitude_max": "what the type holds"},
    "src/base/net.h": {"port_max": "of the protocol"},
    "src/base/quantity.cpp": {"int64_max": "what the type holds"},
    "src/http/client.cpp": {"body_with_head_bytes_max": "beyond it there are two writes"},
    "src/http/connection.cpp": {"copied_body_bytes_max": "beyond it there are two writes"},
    "src/http/proxy.cpp": {"text_bytes_max": "of the protocol"},
    "src/http/udp.h": {"datagram_bytes_max": "of the protocol"},
    "src/json/access.cpp": {"walked_members_max": "beyond it there is an index"},
    "src/json/access.h": {"ordered_members_max": "beyond it there is an index"},
    "src/objects/deletion.cpp": {"grace_seconds_max": "of the API"},
    "src/store/high_water_mark.cpp": {"boot_bytes_max": "of the file's format"},
    "src/store/row.h": {"transaction_writes_max": "of the file's format"},
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def limits_of(text):
    return [name for name in DEFINITION.findall(without_comments(text)) if name not in UNITS]


def bounds_of(text):
    """Those that are numbers, and not another name for a limit."""
    found = set()
    for name, value in (bound for statement in STATEMENT.findall(without_comments(text)) for bound in BOUND.findall(statement)):
        for unit in UNITS:
            value = re.sub(rf"\b(?:limits|budgets)::{unit}\b", "1", value)
        if not re.search(r"\b(?:limits|budgets|store_limits)::\w+", value):
            found.add(name)
    return found


def sources():
    for name in repository.names():
        if re.match(r"(src|cmd)/.*\.(h|cpp)$", name) and not re.search(r"_test\.cpp$|testing|_test_support|_contract\.h$", name):
            yield name


class Limits(unittest.TestCase):
    def test_every_limit_is_used(self):
        used = {name: set() for name in HEADERS.values()}
        for name in sources():
            text = without_comments(repository.read(name))
            for space, limit in re.findall(r"\b(limits|budgets|store_limits)::(\w+)", text):
                used[space].add(limit)
            if name in HEADERS:  # a limit may be made of another one
                definitions = DEFINITION.sub("", text)
                used[HEADERS[name]].update(limit for limit in limits_of(text) if re.search(rf"\b{limit}\b", definitions))
        for header, space in HEADERS.items():
            limits = limits_of(repository.read(header))
            self.assertGreater(len(limits), 1)
            self.assertEqual([limit for limit in limits if limit not in used[space]], [], header)

    def test_every_bound_is_there(self):
        unlisted, known = [], set()
        for name in sources():
            if name in HEADERS or name.startswith(RULES):
                continue
            for bound in bounds_of(repository.read(name)):
                known.add((name, bound))
                if bound not in NO_BOUNDS.get(name, {}):
                    unlisted.append(f"{name}: {bound}")
        self.assertEqual(unlisted, [], "bounds stand in src/base/limits.h, budgets.h or store_limits.h")
        self.assertEqual([(name, bound) for name, bounds in NO_BOUNDS.items() for bound in bounds if (name, bound) not in known], [], "not there any more")

    def test_the_checks_themselves(self):
        self.assertEqual(bounds_of("constexpr std::size_t a_max = 64 * limits::kib;"), {"a_max"})
        self.assertEqual(bounds_of("static constexpr std::chrono::seconds b_deadline{2};  // c_max"), {"b_deadline"})
        self.assertEqual(bounds_of("constexpr int a_min = 1, b_max = 2;\nconstexpr auto c_max = f(3);"), {"b_max", "c_max"})
        self.assertEqual(bounds_of("constexpr std::size_t a_max = limits::names_max;"), set())
        self.assertEqual(bounds_of("// constexpr int a_max = 1;\nconstexpr int a = 1;"), set())
        self.assertEqual(limits_of("inline constexpr std::size_t kib = 1;\ninline constexpr int a_max = 2;\nconstexpr std::chrono::hours b{1};"), ["a_max", "b"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
