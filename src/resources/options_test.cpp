#include "resources/options.h"

#include <gmock/gmock.h>

#include "base/limits.h"
#include "json/document.h"

namespace vg::resources {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> causes(const Status& status) {
  std::vector<std::string> out;
  for (const auto& cause : status.details.causes) out.push_back(cause.reason + " " + cause.field);
  return out;
}

TEST(WriteOptions, TakeOnlyOneKindOfDryRun) {
  EXPECT_FALSE(read_write_options(Query(""), "CreateOptions")->dry_run);
  EXPECT_TRUE(read_write_options(Query("dryRun=All"), "CreateOptions")->dry_run);
  const auto bad = read_write_options(Query("dryRun=All&dryRun=Some"), "UpdateOptions");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, 422);
  EXPECT_EQ(bad.error().details.group, "meta.k8s.io");
  EXPECT_EQ(bad.error().details.kind, "UpdateOptions");
  EXPECT_THAT(causes(bad.error()), ElementsAre("FieldValueNotSupported dryRun"));
}

TEST(WriteOptions, ValidationIsWarnUnlessSaidOtherwise) {
  EXPECT_EQ(read_write_options(Query(""), "o")->field_validation, FieldValidation::warn);
  EXPECT_EQ(read_write_options(Query("fieldValidation=Strict"), "o")->field_validation, FieldValidation::strict);
  EXPECT_EQ(read_write_options(Query("fieldValidation=Ignore"), "o")->field_validation, FieldValidation::ignore);
  EXPECT_FALSE(read_write_options(Query("fieldValidation=Loose"), "o"));
}

TEST(DeleteOptions, ComeFromTheBodyOrElseTheQuery) {
  const auto body = json::Document::parse(
      R"({"kind":"DeleteOptions","dryRun":["All"],"propagationPolicy":"Foreground","gracePeriodSeconds":5,
          "preconditions":{"uid":"u","resourceVersion":"7"}})");
  const auto from_body = read_delete_options(Query("propagationPolicy=Orphan"), &body->root());
  ASSERT_TRUE(from_body);
  EXPECT_TRUE(from_body->dry_run);
  EXPECT_EQ(from_body->propagation, Propagation::foreground);
  EXPECT_FALSE(from_body->cascade_stated);
  EXPECT_EQ(from_body->grace_period_seconds, 5);
  EXPECT_EQ(from_body->uid, "u");
  EXPECT_EQ(from_body->revision, 7u);
  const auto from_query = read_delete_options(Query("propagationPolicy=Orphan&gracePeriodSeconds=-3"), nullptr);
  ASSERT_TRUE(from_query);
  EXPECT_EQ(from_query->propagation, Propagation::orphan);
  EXPECT_EQ(from_query->grace_period_seconds, 1);
  EXPECT_EQ(read_delete_options(Query("orphanDependents=true"), nullptr)->propagation, Propagation::orphan);
  EXPECT_EQ(read_delete_options(Query("orphanDependents=false"), nullptr)->propagation, Propagation::background);
  EXPECT_TRUE(read_delete_options(Query("orphanDependents=false"), nullptr)->cascade_stated);
  EXPECT_EQ(read_delete_options(Query("uid=u&resourceVersion=7"), nullptr)->uid, "u");
  EXPECT_EQ(read_delete_options(Query("uid=u&resourceVersion=7"), nullptr)->revision, 7u);
}

TEST(DeleteOptions, RefuseContradictions) {
  EXPECT_EQ(read_delete_options(Query("propagationPolicy=Never"), nullptr).error().code, 422);
  EXPECT_EQ(read_delete_options(Query("propagationPolicy=Orphan&orphanDependents=true"), nullptr).error().code, 422);
  const auto all = json::Document::parse(R"({"propagationPolicy":"","dryRun":["Some"]})");
  EXPECT_EQ(causes(read_delete_options(Query(""), &all->root()).error()),
            (std::vector<std::string>{"FieldValueNotSupported propagationPolicy", "FieldValueNotSupported dryRun"}));
  EXPECT_EQ(read_delete_options(Query("gracePeriodSeconds=soon"), nullptr).error().code, 400);
  const auto wrong = json::Document::parse(R"({"kind":"Pod"})");
  EXPECT_EQ(read_delete_options(Query(""), &wrong->root()).error().code, 400);
  const auto version = json::Document::parse(R"({"preconditions":{"resourceVersion":"x"}})");
  EXPECT_EQ(read_delete_options(Query(""), &version->root()).error().code, 400);
}

struct VersionCase {
  const char* query;
  bool watch;
  std::vector<std::string> refused;  // the causes; empty: taken
};

TEST(ListOptions, OnlySomeCombinationsOfVersionsMakeSense) {
  const VersionCase cases[] = {
      {"", false, {}},
      {"resourceVersion=0", false, {}},
      {"resourceVersion=5&resourceVersionMatch=Exact", false, {}},
      {"resourceVersion=5&resourceVersionMatch=NotOlderThan", false, {}},
      {"resourceVersionMatch=Exact", false, {"FieldValueForbidden resourceVersionMatch"}},
      {"resourceVersion=0&resourceVersionMatch=Exact", false, {"FieldValueForbidden resourceVersionMatch"}},
      {"resourceVersion=5&resourceVersionMatch=Near", false, {"FieldValueNotSupported resourceVersionMatch"}},
      {"continue=x&resourceVersion=5&resourceVersionMatch=Exact", false, {"FieldValueForbidden resourceVersionMatch"}},
      {"sendInitialEvents=true", false, {"FieldValueForbidden sendInitialEvents"}},
      {"sendInitialEvents=true", true, {"FieldValueForbidden resourceVersionMatch"}},
      {"sendInitialEvents=true&resourceVersionMatch=NotOlderThan", true, {}},
      {"continue=x", true, {"FieldValueForbidden resourceVersionMatch"}},
      {"continue=x&resourceVersion=5", true, {}},
      {"resourceVersionMatch=NotOlderThan&resourceVersion=1", true, {"FieldValueForbidden resourceVersionMatch"}},
  };
  for (const auto& test : cases) {
    const auto options = read_list_options(Query(test.query), test.watch);
    EXPECT_EQ(options.has_value(), test.refused.empty()) << test.query;
    if (!options) EXPECT_EQ(causes(options.error()), test.refused) << test.query;
  }
}

TEST(ListOptions, RefuseWhatCannotBeRead) {
  for (const char* query : {"labelSelector=a%3D%3D%3D", "fieldSelector=bogus", "limit=many", "timeoutSeconds=x",
                            "resourceVersion=abc", "resourceVersion=-1"}) {
    const auto options = read_list_options(Query(query), false);
    ASSERT_FALSE(options) << query;
    EXPECT_EQ(options.error().code, 400) << query;
  }
}

TEST(ListOptions, AWrongVersionIsNamed) {
  EXPECT_EQ(read_list_options(Query("resourceVersion=abc"), false)
                .error()
                .message.find(R"(resourceVersion: Invalid value: "abc": )"),
            0u);
}

TEST(ListOptions, AreBounded) {
  EXPECT_EQ(read_list_options(Query("limit=999999999"), false)->limit, limits::list_page_objects_max);
  EXPECT_EQ(read_list_options(Query("limit=-4"), false)->limit, 0u);
  EXPECT_EQ(read_list_options(Query("timeoutSeconds=999999999"), true)->timeout, limits::watch_timeout_max);
}

}  // namespace
}  // namespace vg::resources
