// Expressions that are taken and refused, for both dialects. Most come from the examples of the language definition.
#include "cel/compile.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace vg::cel {
namespace {

using std::string_view;
using testing::HasSubstr;

std::string said(string_view expression, const Dialect& dialect, Purpose purpose = Purpose::condition) {
  return Compiler().problem_with(expression, dialect, purpose).value_or("");
}

struct TypeCase {
  string_view expression;
  string_view type;
};

// What the expression is said to give, when a mutation must give something else.
std::string type_in(string_view expression, const Dialect& dialect) {
  const std::string message = said(expression, dialect, Purpose::mutation);
  const auto at = message.rfind(" has type ");
  const bool refused = message.find("cannot be used") != message.npos || at == message.npos;
  return refused ? "refused: " + message : message.substr(at + 10);
}

TEST(CelTest, LiteralsAndOperatorsHaveTypes) {
  constexpr TypeCase cases[] = {
      {"null", "null"},
      {"true", "bool"},
      {"-9223372036854775808", "int"},
      {"0x7fffffffffffffff", "int"},
      {"18446744073709551615u", "uint"},
      {"0xFFu", "uint"},
      {"1.5", "double"},
      {".5e-3", "double"},
      {"1e3", "double"},
      {R"('a\u00e9\x41\101\n')", "string"},
      {R"("""a "quoted" text
over lines""")",
       "string"},
      {R"(r'\d+')", "string"},
      {R"(b'\xff')", "bytes"},
      {R"(bR"\x")", "bytes"},
      {"1 + 2 * 3 - 4 / 5 % 6", "int"},
      {"'a' + 'b'", "string"},
      {"[1] + [2]", "[]int"},
      {"[]", "[]dyn"},
      {"[1, 'a']", "[]dyn"},
      {"[1, dyn('a')]", "[]dyn"},
      {"{}", "map[dyn]dyn"},
      {"{'a': 1}", "map[string]int"},
      {"{'a': 1, 'b': 2.0,}", "map[string]dyn"},
      {"[[], [1]]", "[][]int"},
      {"[,]", "[]dyn"},
      {"{'a': [1]}.a[0]", "int"},
      {"{'a': 1}['a']", "int"},
      {"true ? 1 : 2", "int"},
      {"false ? [] : ['a']", "[]string"},
      {"1 in [1, 2]", "bool"},
      {"'a' in {'a': 1}", "bool"},
      {"!true || 1 < 2 && 'a' <= 'b'", "bool"},
      {"--1", "int"},
      {"-(1)", "int"},
      {"!!true", "bool"},
      {"timestamp('2020-01-01T00:00:00Z') - timestamp(0)", "duration"},
      {"timestamp(0) + duration('1h')", "timestamp"},
      {"duration('1h') + duration(1)", "duration"},
      {"timestamp(0).getFullYear('UTC')", "int"},
      {"duration('1h').getHours()", "int"},
      {"int('1') + int(1.5) + int(1u)", "int"},
      {"string(1) + string(b'a') + string(true)", "string"},
      {"size('a') + 'a'.size() + size([1]) + {1: 2}.size() + size(b'a')", "int"},
      {"type(1)", "type"},
      {"type(1) == int", "bool"},
      {"type([]) == list", "bool"},
      {"google.protobuf.Timestamp", "type"},
      {"dyn(1)", "dyn"},
      {"dyn(1).anything[2]", "dyn"},
      {"dyn(1) + 1", "int"},
      {"dyn(1) + dyn(2)", "dyn"},
      {"'a'.matches('b') == matches('a', 'b')", "bool"},
      {"1 // a comment\n + 2", "int"},
  };
  for (const auto& [expression, type] : cases) EXPECT_EQ(type_in(expression, domain_dialect()), type) << expression;
}

TEST(CelTest, MacrosHaveTypes) {
  constexpr TypeCase cases[] = {
      {"has({'a': 1}.a)", "bool"},
      {"has(dyn(1).a)", "bool"},
      {"[1, 2].all(x, x > 0)", "bool"},
      {"[1, 2].exists(x, x > 0)", "bool"},
      {"[1, 2].exists_one(x, x > 0)", "bool"},
      {"[1, 2].existsOne(x, x > 0)", "bool"},
      {"[1, 2].map(x, string(x))", "[]string"},
      {"[1, 2].map(x, x > 1, [x])", "[][]int"},
      {"[1, 2].filter(x, x > 1)", "[]int"},
      {"{'a': 1}.filter(k, k == 'a')", "[]string"},
      {"{'a': 1}.all(k, k.startsWith('a'))", "bool"},
      {"[].all(x, x > 0)", "bool"},
      {"[[1]].map(x, x.map(x, x + 1))", "[][]int"},
      {"[1].all(x, dyn(x))", "bool"},
  };
  for (const auto& [expression, type] : cases) EXPECT_EQ(type_in(expression, domain_dialect()), type) << expression;
}

TEST(CelTest, WhatIsWrittenWronglyIsRefused) {
  constexpr string_view cases[] = {
      "",
      " ",
      "1 +",
      "::1",
      "invalid!!! syntax",
      "(1",
      "[1",
      "{1}",
      "{1: 2",
      "a.",
      "1..2",
      "'a",
      "'a\nb'",
      R"('\q')",
      R"('\x4')",
      R"('\ud800')",
      R"(b'\u00e9')",
      "\"\"\"a",
      "1 2",
      "f(1,)",
      "f(,1)",
      "[,,]",
      "if",
      "for",
      "package.a",
      "in",
      "1 ? 2",
      "true ? : 1",
      "9223372036854775808",
      "1e999",
      "18446744073709551616u",
      "-1u",
      "a.?b",
      "a[?1]",
      "[?a]",
      "{?'a': 1}",
      "a.`b-c`",
      "a = b",
      "a & b",
      "#",
      "\xff",
      "has(a)",
      "has(1)",
      "[1].all(1, true)",
      "[1].all(a.b, true)",
      "Domain{",
      "Domain{Title 'a'}",
      "Domain{1: 'a'}",
      "a.true",
      "0x",
      "1abc",
      "let x = 1",
  };
  for (const string_view expression : cases)
    EXPECT_THAT(said(expression, domain_dialect()), HasSubstr("is not valid")) << expression;
}

TEST(CelTest, WhatHasNoTypeIsRefused) {
  constexpr string_view cases[] = {
      "x",
      "vmi.Nothing == 1",
      "vmi.Name.First",
      "1 + 'a'",
      "1 + 1u",
      "1 + 1.0",
      "1 == 1u",
      "1 == 'a'",
      "1 < 1.0",
      "1 < 2u",
      "'a' == null",
      "!1",
      "-'a'",
      "-1u == 1u",
      "1 && true",
      "true || 'a'",
      "1 ? true : false",
      "[1] + ['a'] == [1]",
      "1 in ['a']",
      "1 in {'a': 1}",
      "[1]['a'] == 1",
      "{'a': 1}[1] == 1",
      "'a'[0] == 'a'",
      "size(1) == 1",
      "f(1)",
      "'a'.f()",
      "contains('a', 'b')",
      "'a'.contains(1)",
      "[1].all(x, x)",
      "1.0.all(x, true)",
      "'abc'.all(x, true)",
      "[1].map(x, 'a', x) == [1]",
      "[1].all(x, true) && x",
      "has(vmi.Name.x)",
      "has('a'.b)",
      "Nothing{} == 1",
      "int{} == 1",
      "vmi{} == 1",
      "1 % 1.5 == 1.0",
      "timestamp(0) + timestamp(0) == timestamp(0)",
      "duration('1h') < timestamp(0)",
      "'a'.getHours() == 1",
      "timestamp(0).getHours(1) == 1",
      "bool(1)",
      "uint(true) == 1u",
      "[1].all(x)",
      "math.abs(1) == 1",
      "'a'.reverse() == 'a'",
  };
  for (const string_view expression : cases)
    EXPECT_THAT(said(expression, domain_dialect()), HasSubstr("is not valid")) << expression;
}

TEST(CelTest, ConditionsGiveABoolAndNothingElse) {
  EXPECT_EQ(said("true", domain_dialect()), "");
  EXPECT_THAT(said("vmi.Name", domain_dialect()), HasSubstr("type string"));
  EXPECT_THAT(said("dyn(true)", domain_dialect()), HasSubstr("type dyn"));
  EXPECT_THAT(said("null", node_dialect()), HasSubstr("type null"));
}

TEST(CelTest, DomainHooksKnowGoNames) {
  constexpr string_view taken[] = {
      "vmi.Name == 'x'",
      "vmi.ObjectMeta.Name == vmi.Name",
      "vmi.Kind == vmi.TypeMeta.Kind",
      "'a' in vmi.Labels && vmi.Labels['a'] == 'b'",
      "vmi.Labels.a == 'b'",
      "vmi.Spec.Domain.CPU.Cores >= 4u",
      "vmi.Spec.Volumes.exists(v, has(v.PersistentVolumeClaim) && v.PersistentVolumeClaim.ClaimName == 'a')",
      "vmi.Spec.Domain.Devices.Disks.all(d, d.Disk.Bus == 'virtio')",
      "vmi.CreationTimestamp.Time < timestamp('2030-01-01T00:00:00Z')",
      "vmi.Spec.TerminationGracePeriodSeconds == 30",
      "has(vmi.Spec.Domain.Resources.Requests.memory.Format)",
      "domainSpec.Title == 'a'",
      "domainSpec.Devices.Disks.size() > 0",
      "domainSpec.VCPU.Value == 4u",
      "domainSpec.CPU == null",
      "libvirtxml.Domain{} == Domain{}",
      ".libvirtxml.Domain{}.Title == ''",
      "v1.Disk{Name: 'a'}.Name == 'a'",
      "type(vmi) == v1.VirtualMachineInstance",
  };
  for (const string_view expression : taken) EXPECT_EQ(said(expression, domain_dialect()), "") << expression;
  constexpr string_view refused[] = {
      "vmi.metadata.name == 'x'", "vmi.spec.domain.cpu.cores == 1u", "vmi.Spec.Domain.CPU.Cores >= 4",
      "domain.Title == 'a'",      "domainSpec.title == 'a'",         "vmi.Spec.Domain.Resources.Requests.memory > 1",
      ".Domain{}.Title == ''",
  };
  for (const string_view expression : refused) EXPECT_NE(said(expression, domain_dialect()), "") << expression;
}

TEST(CelTest, NodeHooksKnowJsonNames) {
  constexpr string_view taken[] = {
      "vmi.metadata.name == 'x'",
      "vmi.metadata.labels.exists(k, k.startsWith('a'))",
      "vmi.spec.domain.cpu.cores > 3",
      "vmi.spec.domain.cpu.cores == 4u",
      "vmi.spec.volumes.exists(v, v.name == 'a')",
      "has(vmi.status.nodeName)",
      "1 < 2.5 && 1u <= 2 && 3.0 > 2u",
      "v1.Disk{name: 'a', cache: 'none'}.name == 'a'",
      "vmi.metadata.creationTimestamp.Time < timestamp(0)",
  };
  for (const string_view expression : taken) EXPECT_EQ(said(expression, node_dialect()), "") << expression;
  constexpr string_view refused[] = {
      "vmi.Name == 'x'",
      "vmi.kind == 'a'",
      "vmi.spec.domain.cpu.cores == 4",
      "vmi.spec.volumes.exists(v, has(v.persistentVolumeClaim))",
      "vmi.spec.domain.devices.disks.exists(d, has(d.disk))",
      "domainSpec.Title == 'a'",
      "libvirtxml.Domain{} == libvirtxml.Domain{}",
      "vmi.spec.domain",
  };
  for (const string_view expression : refused) EXPECT_NE(said(expression, node_dialect()), "") << expression;
}

TEST(CelTest, NodeHooksHaveMoreFunctions) {
  constexpr TypeCase cases[] = {
      {"'abc'.charAt(1)", "string"},
      {"'abc'.indexOf('b') + 'abc'.lastIndexOf('b', 1)", "int"},
      {"'A'.lowerAscii() + 'a'.upperAscii().trim()", "string"},
      {"'a,b'.split(',')", "[]string"},
      {"['a'].join('-')", "string"},
      {"'abc'.replace('a', 'b', 1).substring(1, 2).reverse()", "string"},
      {"strings.quote('a')", "string"},
      {"math.greatest(1, 2)", "int"},
      {"math.greatest(1, 2.0)", "dyn"},
      {"math.least([1, 2, 3])", "int"},
      {"math.least(1u)", "uint"},
      {"math.greatest(1, 2, 3)", "int"},
      {"math.greatest(vmi.spec.domain.cpu.cores, 2u)", "uint"},
      {"math.abs(-1) + math.sign(-2)", "int"},
      {"math.ceil(1.5) + math.sqrt(4)", "double"},
      {"math.isNaN(0.0)", "bool"},
      {"math.bitAnd(1, 3) + math.bitShiftLeft(1, 2)", "int"},
      {"[1, 2].slice(0, 1)", "[]int"},
      {"[[1], [2]].flatten()", "[]int"},
      {"[1, [2]].flatten(2)", "[]dyn"},
      {"[1, 1].distinct().sort().reverse()", "[]int"},
      {"lists.range(3)", "[]int"},
      {"vmi.spec.volumes.sortBy(v, v.name)", "[]v1.Volume"},
      {"'%s is %d, %.2f, %x%%'.format(['a', 1, 2.0, b'a'])", "string"},
      {"'%s'.format([[1, 'a', {'b': 2}]])", "string"},
      {"'%d'.format([dyn('a')])", "string"},
  };
  for (const auto& [expression, type] : cases) EXPECT_EQ(type_in(expression, node_dialect()), type) << expression;
  constexpr string_view refused[] = {
      "math.greatest()",      "math.greatest('a')", "math.greatest([])",       "math.greatest([1, 'a'])",
      "math.ceil(1)",         "math.nothing(1)",    "vmi.spec.volumes.sort()", "vmi.spec.volumes.sortBy(v, v)",
      "[1].flatten()",        "1.sortBy(x, x)",     "{'a': 1}.sortBy(x, x)",   "lists.range('a')",
      "[1].join()",           "'%d'.format(['a'])", "'%s'.format([vmi])",      "'%s'.format([])",
      "'a'.format([1])",      "'%q'.format([1])",   "'%'.format([1])",         "'%.f'.format([1.0])",
      "'%s'.format([[vmi]])", "'abc'.slice(0, 1)",  "strings.quote(1)",        "'a'.charAt('b')",
  };
  for (const string_view expression : refused)
    EXPECT_THAT(type_in(expression, node_dialect()), testing::StartsWith("refused")) << expression;
}

TEST(CelTest, MutationsGiveADomain) {
  const auto mutation = [](string_view expression) { return said(expression, domain_dialect(), Purpose::mutation); };
  constexpr string_view taken[] = {
      "domainSpec",
      "Domain{Title: \"test\"}",
      "libvirtxml.Domain{Title: 'a', VCPU: DomainVCPU{Value: 2u}, CPU: null,}",
      "vmi.Name == 'a' ? domainSpec : Domain{}",
      "[domainSpec][0]",
      "Domain{Devices: DomainDeviceList{Disks: domainSpec.Devices.Disks.filter(d, d.Device == 'disk')}}",
      "Domain{Metadata: DomainMetadata{XML: string(1)}, MaximumMemory: DomainMaxMemory{Value: uint(1)}}",
  };
  for (const string_view expression : taken) EXPECT_EQ(mutation(expression), "") << expression;
  constexpr string_view refused[] = {
      "domain",
      "qcow2",
      "-dash",
      "Domainn{Title: \"test\"}",
      "Domain{title: 'a'}",
      "Domain{Title: 1}",
      "Domain{VCPU: DomainVCPU{Value: 2}}",
      "Domain{Title: null}",
      "dyn(domainSpec)",
      "true",
      "vmi",
      "[domainSpec]",
      "Domain",
      "true ? domainSpec : dyn(1)",
  };
  for (const string_view expression : refused) EXPECT_NE(mutation(expression), "") << expression;
}

TEST(CelTest, ProblemsNameTheirPlace) {
  EXPECT_THAT(said("vmi.Name ==\n  1 + x", domain_dialect()), HasSubstr("line 2, column 7"));
  EXPECT_THAT(said("vmi.name == 'a'", domain_dialect()), HasSubstr("Go names"));
  EXPECT_THAT(said("vmi.Spec.Domain.CPU.Cores == 4", domain_dialect()), HasSubstr("4u"));
}

TEST(CelTest, DepthLengthAndWorkAreBounded) {
  const std::string deep = std::string(300, '(') + "true" + std::string(300, ')');
  EXPECT_THAT(said(deep, domain_dialect()), HasSubstr("nested"));
  const std::string many(300, '!');
  EXPECT_EQ(said(many + "true", domain_dialect()), "");
  std::string sum = "1";
  for (int i = 0; i < 300; ++i) sum += "+1";
  EXPECT_THAT(said(sum + " == 1", domain_dialect()), HasSubstr("nested"));
  std::string any = "true";
  for (int i = 0; i < 3000; ++i) any += "||true";
  EXPECT_EQ(said(any, domain_dialect()), "");
  EXPECT_THAT(said(std::string(limits::cel_expression_bytes_max + 1, ' '), domain_dialect()), HasSubstr("bytes"));
  // Every step doubles the type.
  std::string doubling = "[[]]";
  for (int i = 0; i < 60; ++i) doubling += ".map(x, {x: x})";
  EXPECT_THAT(said("[" + doubling + ", " + doubling + "].size() == 2", domain_dialect()), HasSubstr("too complex"));
}

TEST(CelTest, WorkIsBoundedOverAllExpressionsOfAnObject) {
  std::string doubling = "[[]]";
  for (int i = 0; i < 60; ++i) doubling += ".map(x, {x: x})";
  Compiler compiler;
  ASSERT_TRUE(
      compiler.problem_with("[" + doubling + ", " + doubling + "].size() == 2", domain_dialect(), Purpose::condition));
  EXPECT_TRUE(compiler.problem_with("vmi.Name == 'a'", domain_dialect(), Purpose::condition));
}

// Every type that a member is written with can be read.
TEST(CelTest, StructuresAreWhole) {
  for (const auto& rows : {machine_structures(), domain_structures()}) {
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &Structure::name));
    for (const Structure& structure : rows) {
      string_view rest = structure.members;
      while (!rest.empty()) {
        const string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        const auto colon = word.find(':');
        ASSERT_NE(colon, word.npos) << structure.name << " " << word;
        Types types(1000);
        const Type* type = types.read_member(word.substr(colon + 1), package_of(structure));
        while (type->kind == Kind::list || type->kind == Kind::map) type = type->second ? type->second : type->first;
        EXPECT_NE(type->kind, Kind::error) << structure.name << " " << word;
      }
    }
  }
}

}  // namespace
}  // namespace vg::cel
