// What expressions of policies come to. The cases follow the examples of the language definition and the documentation
// of Kubernetes' libraries.
#include "cel/evaluate.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/policy_limits.h"
#include "cel/builtins.h"
#include "cel/policy_dialect.h"
#include "cel/testing.h"
#include "json/access.h"
#include "json/parse.h"

namespace vg::cel {
namespace {

using std::string_view;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr string_view object_text = R"({
  "metadata": {"name": "web", "labels": {"app": "nginx", "tier": "front"}, "namespace": "prod"},
  "spec": {"replicas": 3, "ratio": 0.5, "paused": false, "nothing": null, "big": 9223372036854775807,
           "containers": [{"name": "a", "image": "r.io/a:1", "ports": [80, 443]},
                          {"name": "b", "image": "r.io/b:2"}]}})";

class Runner {
 public:
  Runner() : object_(*json::parse(object_text, memory_.storage())) {
    documents_.set("object", object_);
    documents_.set("oldObject", nothing_);
    documents_.set("variables.replicas", *json::find_path(object_, {"spec", "replicas"}));
    scope_.define("replicas", Types::simple(Kind::dynamic));
  }

  // What `string(x)` or the format %s would print, or the error.
  std::string run(string_view expression) {
    const auto compiled = compile(expression, scope_.dialect({.params = false, .authorizer = true}), types_);
    if (!compiled) return "refused: " + compiled.error();
    Budget budget{.cost_left = limits::policy_cost_max};
    const Outcome outcome = cel::run(*compiled->program, documents_, values_, budget);
    used_ = limits::policy_cost_max - budget.cost_left;
    return print(outcome.value);
  }
  std::uint64_t used() const { return used_; }

 private:
  std::string print(const Value& value) {
    if (value.is_error()) return fmt::format("error: {}", value.text);
    if (value.is(Tag::bytes)) return fmt::format("b'{}'", value.text);
    if (value.is(Tag::optional)) return value.inner ? fmt::format("some({})", print(*value.inner)) : "none";
    if (value.is(Tag::quantity)) return value.quantity->to_string();
    if (value.is(Tag::url)) return std::string(value.text);
    Meter meter(limits::cel_cost_max);
    Runtime runtime{.memory = values_, .meter = meter};
    const Value list = values_.list(std::vector{value});
    return std::string(format_text(runtime, "%s", list).text);
  }

  json::Document memory_;
  json::Value object_, nothing_;
  testing::Documents documents_;
  Types types_{limits::cel_steps_max};
  PolicyScope scope_{types_};
  Memory values_;
  std::uint64_t used_ = 0;
};

std::string run(string_view expression) { return Runner().run(expression); }

struct Case {
  string_view expression, result;
};

void expect_all(std::span<const Case> cases) {
  for (const auto& [expression, result] : cases) EXPECT_EQ(run(expression), result) << expression;
}

TEST(Evaluate, Numbers) {
  constexpr Case cases[] = {
      {"1 + 2 * 3", "7"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 % 3", "-1"},
      {"7.0 / 2.0", "3.5"},
      {"1 / 0", "error: division by zero"},
      {"1 % 0", "error: modulus by zero"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775808 - 1", "error: integer overflow"},
      {"-(-9223372036854775808)", "error: integer overflow"},
      {"-9223372036854775808 / -1", "error: integer overflow"},
      {"0u - 1u", "error: unsigned integer overflow"},
      {"0xff", "255"},
      {"-0x10", "-16"},
      {"1 == 1.0",
       "refused: the expression is not valid: at column 1, found no matching overload for '_==_' applied to "
       "'(int, double)'"},
      {"dyn(1) == 1.0", "true"},
      {"1 < 1.5", "true"},
      {"2u > 1", "true; "},
      {"dyn(9223372036854775807) == 9223372036854775808.0", "true"},
      {"1.5 + object.spec.ratio", "2"},
      {"int('42') + int(3.9) + int(4u)", "49"},
      {"int('x')", "error: type conversion error from 'string' to 'int': \"x\""},
      {"int(1e30)", "error: range error: the number does not fit"},
      {"uint(-1)", "error: range error: the number does not fit"},
      {"double('1.5')", "1.5"},
      {"string(1e6)", "1e+06"},
      {"string(0.1)", "0.1"},
      {"string(100000.0)", "100000"},
      {"object.spec.big + 1", "error: integer overflow"},
  };
  for (const auto& [expression, result] : cases)
    if (!result.ends_with("; ")) EXPECT_EQ(run(expression), result) << expression;
  EXPECT_EQ(run("2u > 1"), "true");
}

TEST(Evaluate, LogicTakesErrorsOnlyWhereTheyMatter) {
  constexpr Case cases[] = {
      {"true || 1 / 0 == 1", "true"},
      {"1 / 0 == 1 || true", "true"},
      {"1 / 0 == 1 && false", "false"},
      {"1 / 0 == 1 || false", "error: division by zero"},
      {"object.spec.replicas && true", "error: no such overload"},
      {"object.spec.replicas > 1 ? 'many' : 1 / 0 == 0 ? 'x' : 'few'", "many"},
      {"[1, 0].exists(x, 1 / x == 1)", "true"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
      {"[0, 2].exists(x, 1 / x == 1)", "error: division by zero"},
      {"[0, 2].all(x, 1 / x == 1)", "false"},
      {"[0, 1].all(x, 1 / x == 1)", "error: division by zero"},
      {"[0, 1].exists_one(x, 1 / x == 1)", "error: division by zero"},
      {"[1, 2, 1].exists_one(x, x == 2)", "true"},
      {"!object.spec.paused", "true"},
  };
  expect_all(cases);
}

TEST(Evaluate, DocumentsAreReadWhereTheyLie) {
  constexpr Case cases[] = {
      {"object.spec.replicas", "3"},
      {"object.spec['replicas']", "3"},
      {"object.spec.missing", "error: no such key: missing"},
      {"object.spec.replicas.x", "error: no such key: x"},
      {"has(object.spec.replicas)", "true"},
      {"has(object.spec.missing)", "false"},
      {"has(object.spec.nothing)", "true"},
      {"has(object.absent.x)", "error: no such key: absent"},
      {"object.spec.nothing == null", "true"},
      {"oldObject == null", "true"},
      {"object.spec.containers[1].name", "b"},
      {"object.spec.containers[2]", "error: index out of bounds: 2"},
      {"object.spec.containers.map(c, c.name)", "[\"a\", \"b\"]"},
      {"object.spec.containers.filter(c, has(c.ports)).size()", "1"},
      {"object.spec.containers.all(c, c.image.startsWith('r.io/'))", "true"},
      {"object.spec.containers.exists(c, c.name == 'b')", "true"},
      {"'app' in object.metadata.labels", "true"},
      {"object.metadata.labels.map(k, k)", "[\"app\", \"tier\"]"},
      {"object.metadata.labels", "{\"app\":\"nginx\", \"tier\":\"front\"}"},
      {"object.metadata.labels == {'tier': 'front', 'app': 'nginx'}", "true"},
      {"object.spec.containers[0].ports == [80, 443]", "true"},
      {"443 in object.spec.containers[0].ports", "true"},
      {"variables.replicas * 2", "6"},
      {"type(object.spec.replicas) == int && type(object.spec) == map", "true"},
      {"object.metadata.namespace", "prod"},
  };
  expect_all(cases);
}

TEST(Evaluate, Texts) {
  constexpr Case cases[] = {
      {"'tacocat'.charAt(3)", "o"},
      {"'héllo'.charAt(1) + string('héllo'.size())", "é5"},
      {"'hello mellow'.indexOf('ello')", "1"},
      {"'hello mellow'.indexOf('ello', 2)", "7"},
      {"'hello mellow'.lastIndexOf('ello')", "7"},
      {"'hello mellow'.lastIndexOf('ello', 6)", "1"},
      {"'hello'.indexOf('z')", "-1"},
      {"['a', 'b'].join() + ['a', 'b'].join('-')", "aba-b"},
      {"'TacoCÆt'.lowerAscii()", "tacocÆt"},
      {"'hello hello'.replace('he', 'we')", "wello wello"},
      {"'hello hello'.replace('he', 'we', 1)", "wello hello"},
      {"'ab'.replace('', '_')", "_a_b_"},
      {"'a,b,c'.split(',')", "[\"a\", \"b\", \"c\"]"},
      {"'a,b,c'.split(',', 2)", "[\"a\", \"b,c\"]"},
      {"'abc'.split('')", "[\"a\", \"b\", \"c\"]"},
      {"'a'.split(',', 0)", "[]"},
      {"'tacocat'.substring(4)", "cat"},
      {"'tacocat'.substring(0, 4)", "taco"},
      {"'tacocat'.substring(2, 1)", "error: invalid substring range: start 2, end 1"},
      {"'  \\ttrim\\n '.trim()", "trim"},
      {"strings.quote('a\"b')", "\"a\\\"b\""},
      {"'%d of %s: %.2f %x %b %o %e'.format([3, 'x', 1.5, 255, 5, 8, 1234.5])", "3 of x: 1.50 ff 101 10 1.234500×10⁰³"},
      {"'%s %s %s'.format([[1, 'a', null], {'k': true}, duration('90s')])", "[1, \"a\", null] {\"k\":true} 90s"},
      {"'abc'.matches('^a.c$')", "true"},
      {"'abc'.matches('(a')",
       "refused: the expression is not valid: at column 15, invalid matches argument: the pattern is not a valid "
       "regular "
       "expression"},
      {"object.metadata.name.matches(object.spec.containers[0].name + '(')",
       "error: the pattern is not a valid regular expression"},
      {"'abc 123'.find('[0-9]+')", "123"},
      {"'123 abc 456'.findAll('[0-9]+')", "[\"123\", \"456\"]"},
      {"'123 abc 456'.findAll('[0-9]+', 1)", "[\"123\"]"},
      {"'a' + object.metadata.name", "aweb"},
      {"'replicas: ' + object.spec.replicas", "error: no such overload"},
      {"b'ab' + b'c'", "b'abc'"},
      {"string(b'ab')", "ab"},
      {"'reverse'.reverse()",
       "refused: the expression is not valid: at column 11, found no matching overload for 'reverse' applied to "
       "'string.()'"},
  };
  expect_all(cases);
}

TEST(Evaluate, Lists) {
  constexpr Case cases[] = {
      {"[1, 2] + [3]", "[1, 2, 3]"},
      {"[1, 2, 3].slice(1, 3)", "[2, 3]"},
      {"[1, 2].slice(1, 3)", "error: cannot slice(1, 3), list is length 2"},
      {"[[1], [2, 3]].flatten()", "[1, 2, 3]"},
      {"[3, 1, 2].sort()", "[1, 2, 3]"},
      {"['b', 'a'].sortBy(x, x)", "[\"a\", \"b\"]"},
      {"[{'n': 2}, {'n': 1}].sortBy(x, x.n).map(x, x.n)", "[1, 2]"},
      {"[1, 2, 1].distinct()", "[1, 2]"},
      {"lists.range(3)", "[0, 1, 2]"},
      {"[1, 2].reverse()", "[2, 1]"},
      {"[1, 2].first().value() + [1, 2].last().orValue(0)", "3"},
      {"[1, 2, 3].sum() + [1, 5].max() + [4, 2].min()", "13"},
      {"[].max()", "error: max called on empty list"},
      {"[1, 2, 2].isSorted() && ![2, 1].isSorted()", "true"},
      {"[1, 2, 1].indexOf(1) + [1, 2, 1].lastIndexOf(1)", "2"},
      {"sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])", "true"},
      {"[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"},
      {"{'a': 1, 'b': 2}.map(k, k)", "[\"a\", \"b\"]"},
      {"[1, 'a']",
       "refused: the expression is not valid: at column 5, expected type 'int' but found 'string'; the entries of a "
       "list "
       "or map must have one type"},
      {"{'a': 1, 'a': 2}", "{\"a\":2}"},
      {"[10, 20].all(i, v, v == (i + 1) * 10)", "true"},
      {"{'a': 1}.exists(k, v, k == 'a' && v == 1)", "true"},
      {"[10, 20].transformList(i, v, i + v)", "[10, 21]"},
      {"[10, 20].transformList(i, v, i > 0, v)", "[20]"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", "{\"a\":2, \"b\":3}"},
      {"{'a': 'x'}.transformMapEntry(k, v, {v: k})", "{\"x\":\"a\"}"},
      {"[1, 2].existsOne(i, v, v > 1)", "true"},
  };
  expect_all(cases);
}

TEST(Evaluate, OptionalValues) {
  constexpr Case cases[] = {
      {"object.?spec.?replicas", "some(3)"},
      {"object.?absent.?replicas", "none"},
      {"object.?absent.replicas.orValue(7)", "7"},
      {"object.spec.?replicas.orValue(7)", "3"},
      {"object.spec.?absent.hasValue()", "false"},
      {"object.spec.?absent.value()", "error: optional.none() dereference"},
      {"object.spec.containers[?5].hasValue()", "false"},
      {"object.spec[?'replicas'].optMap(r, r + 1)", "some(4)"},
      {"object.spec.?absent.optMap(r, r + 1).orValue(0)", "0"},
      {"object.spec.?replicas.optFlatMap(r, r > 5 ? optional.of(r) : optional.none()).hasValue()", "false"},
      {"optional.ofNonZeroValue('').or(optional.of('b')).value()", "b"},
      {"[1, ?optional.none(), ?optional.of(2)]", "[1, 2]"},
      {"{?'a': object.spec.?absent, ?'b': object.spec.?replicas}", "{\"b\":3}"},
      {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"},
      {"object.?metadata.labels['app']", "some(nginx)"},
  };
  expect_all(cases);
}

TEST(Evaluate, Times) {
  constexpr Case cases[] = {
      {"timestamp('2026-01-02T03:04:05Z').getFullYear()", "2026"},
      {"timestamp('2026-01-02T03:04:05Z').getMonth()", "0"},
      {"timestamp('2026-01-02T03:04:05Z').getDate()", "2"},
      {"timestamp('2026-01-02T03:04:05Z').getDayOfMonth()", "1"},
      {"timestamp('2026-02-01T03:04:05Z').getDayOfYear()", "31"},
      {"timestamp('2026-01-04T03:04:05Z').getDayOfWeek()", "0"},
      {"timestamp('2026-01-02T03:04:05Z').getHours('+02:00')", "5"},
      {"timestamp('2026-01-02T01:04:05Z').getDate('-02:00')", "1"},
      {"timestamp('2026-01-02T03:04:05Z').getHours('Europe/Berlin')",
       "error: unknown time zone; use UTC or an offset such as +02:00"},
      {"string(timestamp('2026-01-02T03:04:05.5Z') + duration('1h30m'))", "2026-01-02T04:34:05.5Z"},
      {"timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')", "true"},
      {"duration('90m').getHours()", "1"},
      {"duration('90s').getMinutes()", "1"},
      {"string(duration('1500ms'))", "1.5s"},
      {"timestamp('x')", "refused: the expression is not valid: at column 11, invalid timestamp argument"},
      {"duration('x')", "refused: the expression is not valid: at column 10, invalid duration argument"},
      {"timestamp(object.metadata.name)",
       "error: type conversion error from 'string' to 'google.protobuf.Timestamp': \"web\""},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
      {"type(duration('1s')) == google.protobuf.Duration", "true"},
  };
  expect_all(cases);
}

TEST(Evaluate, KubernetesLibraries) {
  constexpr Case cases[] = {
      {"quantity('1.5Gi').isGreaterThan(quantity('1Gi'))", "true"},
      {"quantity('50k').add(quantity('20k'))", "70k"},
      {"quantity('50k').sub(20000).asInteger()", "30000"},
      {"quantity('1').compareTo(quantity('1000m'))", "0"},
      {"quantity('1') == quantity('1000m')", "true"},
      {"quantity('200M').isInteger() && !quantity('1.5').isInteger()", "true"},
      {"sign(quantity('-1'))", "-1"},
      {"quantity('1500m').asApproximateFloat()", "1.5"},
      {"isQuantity('1.3Gi') && !isQuantity('ten')", "true"},
      {"quantity('ten')", "error: quantities must match the regular expression of Kubernetes' quantities"},
      {"ip('192.168.0.1').family()", "4"},
      {"ip('::1').isLoopback() && ip('fe80::1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()", "true"},
      {"ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')", "true"},
      {"isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4')", "true"},
      {"ip('nope')", "error: IP Address parse error during conversion from string"},
      {"cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "true"},
      {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
       "true"},
      {"string(cidr('10.1.2.3/8').masked()) + ' ' + string(cidr('10.0.0.0/8').prefixLength())", "10.0.0.0/8 8"},
      {"string(cidr('10.1.2.3/8').ip())", "10.1.2.3"},
      {"url('https://example.com:80/a/b?x=1&x=2&y=%41').getHost()", "example.com:80"},
      {"url('https://user@[::1]:80/').getHostname()", "::1"},
      {"url('https://example.com:80/').getPort()", "80"},
      {"url('https://example.com/a%20b?c').getEscapedPath()", "/a%20b"},
      {"url('https://example.com/?x=1&x=2&y=%41').getQuery()", "{\"x\":[\"1\", \"2\"], \"y\":[\"A\"]}"},
      {"url('HTTPS://e.com').getScheme()", "https"},
      {"isURL('https://a.b/c') && isURL('/absolute') && !isURL('relative') && !isURL('')", "true"},
      {"semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))", "true"},
      {"semver('1.0.0-alpha.2').compareTo(semver('1.0.0-alpha.10'))", "-1"},
      {"semver('1.2.3-rc+b').major() + semver('1.2.3').minor() + semver('1.2.3').patch()", "6"},
      {"isSemver('1.2.3') && !isSemver('v1.2') && isSemver('v1.2', true) && !isSemver('01.2.3')", "true"},
      {"format.dns1123Label().validate('ok').hasValue()", "false"},
      {"format.dns1123Label().validate('Not OK').hasValue()", "true"},
      {"format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", "false"},
      {"format.named('nope').hasValue()", "false"},
      {"format.dns1123LabelPrefix().validate('a-').hasValue()", "false"},
      {"format.date().validate('2026-02-30').hasValue()", "true"},
      {"authorizer.group('').resource('pods').namespace('x').name('y').check('get').allowed()", "true"},
      {"authorizer.group('').resource('secrets').check('get').allowed()", "false"},
      {"authorizer.path('/healthz').check('get').reason()", "because"},
      {"authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments').subresource('scale').check('list')"
       ".errored()",
       "false"},
  };
  expect_all(cases);
}

TEST(Evaluate, WhatIsNotKnownIsRefusedInTheWordsThatProgramsLookFor) {
  EXPECT_THAT(run("objet.spec"), HasSubstr("undeclared reference to 'objet'"));
  EXPECT_THAT(run("variables.missing"), HasSubstr("undefined field 'missing'"));
  EXPECT_THAT(run("request.nothing"), HasSubstr("undefined field 'nothing'"));
  EXPECT_THAT(run("math.abs(1)"), HasSubstr("undeclared reference to"));
  EXPECT_THAT(run("v1.Pod{}"), HasSubstr("undeclared reference to 'v1.Pod'"));
  EXPECT_THAT(run("params.x"), HasSubstr("undeclared reference to 'params'"));
  EXPECT_THAT(run("request.name.size() > '1'"),
              HasSubstr("found no matching overload for '_>_' applied to '(int, string)'"));
}

TEST(Evaluate, CostsAreBounded) {
  constexpr string_view expensive[] = {
      "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))",
      "lists.range(100000).map(x, lists.range(100000))",
      "lists.range(2000000)",
      "lists.range(300).map(x, object).all(a, lists.range(300).map(x, object).all(b, a == b))",
      "lists.range(1000).map(x, lists.range(1000)).flatten().sort()",
      "lists.range(100000).map(x, string(x)).join('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')"
      ".matches('(a*)*(a*)*b')",
      "lists.range(2000).map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join().replace('', "
      "lists.range(10000).map(x, 'b').join())",
      "lists.range(64).all(x, authorizer.path('/x').check('get').allowed())",
  };
  for (const string_view expression : expensive)
    EXPECT_EQ(run(expression), "error: operation cancelled: actual cost limit exceeded") << expression;
  Runner small;
  small.run("object.spec.replicas > 1");
  EXPECT_LT(small.used(), 10u);
}

TEST(Evaluate, ABudgetThatIsSpentEndsEverything) {
  Types types(limits::cel_steps_max);
  PolicyScope scope(types);
  const auto compiled = compile("lists.range(1000).all(x, x >= 0)", scope.dialect({}), types);
  ASSERT_TRUE(compiled) << compiled.error();
  testing::Documents documents;
  Memory memory;
  Budget budget{.cost_left = 1000};
  const Outcome outcome = run(*compiled->program, documents, memory, budget);
  EXPECT_TRUE(outcome.out_of_budget);
  EXPECT_EQ(budget.cost_left, 0u);
}

}  // namespace
}  // namespace vg::cel
