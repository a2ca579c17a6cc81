#include "base/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/limits.h"

namespace vg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Labels = std::map<std::string, std::string, std::less<>>;

auto lookup(const Labels& labels) {
  return [&labels](std::string_view key) -> std::optional<std::string_view> {
    const auto it = labels.find(key);
    return it == labels.end() ? std::nullopt : std::optional<std::string_view>(it->second);
  };
}

TEST(LabelSelector, ParsesAndPrints) {
  const struct {
    const char* text;
    const char* printed;
  } cases[] = {
      {"", ""},
      {"  ", ""},
      {"a", "a"},
      {"!a", "!a"},
      {"! a", "!a"},
      {"a=b", "a=b"},
      {"a==b", "a=b"},
      {"a = b", "a=b"},
      {"a!=b", "a!=b"},
      {"a=", "a="},
      {"a=,b", "a=,b"},
      {"a!=", "a!="},
      {"a in (x)", "a in (x)"},
      {"a in(y,x)", "a in (x,y)"},
      {"a in (x,x)", "a in (x)"},
      {"a in ()", "a in ()"},
      {"a in (,)", "a in ()"},
      {"a in (x,)", "a in (,x)"},
      {"a in (,x)", "a in (,x)"},
      {"a in (x,,y)", "a in (,x,y)"},
      {"a notin (x, y)", "a notin (x,y)"},
      {"a>1", "a>1"},
      {"a < 2", "a<2"},
      {"in in (in,notin)", "in in (in,notin)"},
      {"in", "in"},
      {"a=in", "a=in"},
      {"b,a", "a,b"},
      {"x.io/a=b,\tc!=d,e in (x,y),f notin (z),g,!h", "c!=d,e in (x,y),f notin (z),g,!h,x.io/a=b"},
  };
  for (const auto& c : cases) {
    const auto selector = LabelSelector::parse(c.text);
    ASSERT_TRUE(selector) << c.text << ": " << selector.error();
    EXPECT_EQ(selector->to_string(), c.printed) << c.text;
    EXPECT_EQ(LabelSelector::parse(c.printed)->to_string(), c.printed);
  }
}

TEST(LabelSelector, RefusesTheRest) {
  const char* cases[] = {",",
                         "a,",
                         ",a",
                         "a,,b",
                         "=b",
                         "a b",
                         "a=b c",
                         "a===b",
                         "a=!b",
                         "!a=b",
                         "!!a",
                         "!",
                         "a in",
                         "a in x",
                         "a in (x",
                         "a in (x y)",
                         "a in x)",
                         "a in (=)",
                         "a in (x)y",
                         "a<b",
                         "a>",
                         "a>1.5",
                         "a=(b)",
                         "(a)",
                         "a/b/c=d",
                         "-a=b",
                         "a=-b",
                         "a=b/c",
                         "a in (b*)",
                         "a\\,b=c",
                         "a>9223372036854775808"};
  for (const char* text : cases) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_FALSE(selector.error().empty());
  }
  EXPECT_FALSE(LabelSelector::parse(std::string_view("a=b\0,c", 6)));
}

TEST(LabelSelector, Matches) {
  const Labels labels{{"a", "x"}, {"n", "10"}, {"e", ""}};
  const struct {
    const char* text;
    bool matches;
  } cases[] = {
      {"", true},
      {"a", true},
      {"b", false},
      {"!a", false},
      {"!b", true},
      {"a=x", true},
      {"a=y", false},
      {"b=x", false},
      {"a!=x", false},
      {"a!=y", true},
      {"b!=x", true},
      {"a in (x,y)", true},
      {"a in (y)", false},
      {"b in (x)", false},
      {"a notin (y)", true},
      {"a notin (x)", false},
      {"b notin (x)", true},
      {"e=", true},
      {"b=", false},
      {"e in ()", true},
      {"n>9", true},
      {"n>10", false},
      {"n<11", true},
      {"n<10", false},
      {"a>1", false},
      {"a<1", false},
      {"b>1", false},
      {"a=x,n>5", true},
      {"a=x,n>50", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(LabelSelector::parse(c.text)->matches(lookup(labels)), c.matches) << c.text;
  }
}

TEST(LabelSelector, FromAnObject) {
  const std::vector<std::pair<std::string, std::string>> match_labels{{"b", "1"}};
  const std::vector<MatchExpression> expressions{
      {"a", "In", {"y", "x"}}, {"c", "NotIn", {"z"}}, {"d", "Exists", {}}, {"e", "DoesNotExist", {}}};
  const auto selector = LabelSelector::from(match_labels, expressions);
  ASSERT_TRUE(selector) << selector.error();
  EXPECT_EQ(selector->to_string(), "a in (x,y),b=1,c notin (z),d,!e");
  EXPECT_TRUE(LabelSelector::from({}, {})->empty());

  const MatchExpression refused[] = {
      {"a", "In", {}},    {"a", "NotIn", {}}, {"a", "Exists", {"x"}}, {"a", "DoesNotExist", {"x"}},
      {"a", "Gt", {"1"}}, {"a", "", {}},      {"a b", "Exists", {}},  {"a", "In", {"x y"}}};
  for (const MatchExpression& expression : refused) {
    EXPECT_FALSE(LabelSelector::from({}, std::span(&expression, 1))) << expression.op;
  }
  const std::vector<std::pair<std::string, std::string>> bad{{"a", "x y"}};
  EXPECT_FALSE(LabelSelector::from(bad, {}));
}

TEST(LabelSelector, IsBounded) {
  std::string text = "a0";
  for (std::size_t i = 1; i < limits::selector_requirements_max; ++i) text += ",a" + std::to_string(i);
  EXPECT_TRUE(LabelSelector::parse(text));
  EXPECT_FALSE(LabelSelector::parse(text + ",b"));
  std::string list = "a in (0";
  for (std::size_t i = 1; i < limits::selector_values_max; ++i) list += "," + std::to_string(i);
  EXPECT_TRUE(LabelSelector::parse(list + ")"));
  EXPECT_FALSE(LabelSelector::parse(list + ",x)"));
  EXPECT_FALSE(LabelSelector::parse(std::string(limits::selector_bytes_max + 1, ' ')));
}

TEST(FieldSelector, Parses) {
  const auto terms = [](std::string_view text) { return FieldSelector::parse(text)->terms(); };
  using Term = FieldSelector::Term;
  EXPECT_TRUE(terms("").empty());
  EXPECT_TRUE(terms(",,").empty());
  EXPECT_THAT(terms("metadata.name=x,status.phase!=y"),
              ElementsAre(Term{"metadata.name", "x", true}, Term{"status.phase", "y", false}));
  EXPECT_THAT(terms("a==b"), ElementsAre(Term{"a", "b", true}));
  EXPECT_THAT(terms("a="), ElementsAre(Term{"a", "", true}));
  EXPECT_THAT(terms("a!="), ElementsAre(Term{"a", "", false}));
  EXPECT_THAT(terms("a=b!c"), ElementsAre(Term{"a", "b!c", true}));
  EXPECT_THAT(terms("a=x\\,y\\=z\\\\,b=c"), ElementsAre(Term{"a", "x,y=z\\", true}, Term{"b", "c", true}));
  EXPECT_THAT(terms("a= b "), ElementsAre(Term{"a", " b ", true}));
}

TEST(FieldSelector, RefusesTheRest) {
  for (const char* text : {"a", "=b", "!=b", "a=b=c", "a=\\x", "a=\\", "a===b", "a!==b", "a>1", "a=b,c"}) {
    EXPECT_FALSE(FieldSelector::parse(text)) << text;
  }
  EXPECT_THAT(FieldSelector::parse("a=b=c").error(), HasSubstr("'\\='"));
  std::string text = "a=0";
  for (std::size_t i = 1; i < limits::selector_requirements_max; ++i) text += ",a=0";
  EXPECT_TRUE(FieldSelector::parse(text));
  EXPECT_FALSE(FieldSelector::parse(text + ",a=0"));
}

TEST(FieldSelector, Matches) {
  const auto fields = [](std::string_view field) -> std::string_view { return field == "a" ? "x" : ""; };
  EXPECT_TRUE(FieldSelector::parse("a=x")->matches(fields));
  EXPECT_FALSE(FieldSelector::parse("a=y")->matches(fields));
  EXPECT_FALSE(FieldSelector::parse("a!=x")->matches(fields));
  EXPECT_TRUE(FieldSelector::parse("a!=y,b=")->matches(fields));
  EXPECT_TRUE(FieldSelector::parse("")->matches(fields));
  EXPECT_EQ(FieldSelector::parse("b!=c,a=x")->exact("a"), "x");
  EXPECT_EQ(FieldSelector::parse("b!=c,a=x")->exact("b"), std::nullopt);
}

}  // namespace
}  // namespace vg
