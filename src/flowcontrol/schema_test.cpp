#include "flowcontrol/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "json/document.h"

namespace vg::flowcontrol {
namespace {

User user(std::string name, std::vector<std::string> groups = {"system:authenticated"}) {
  return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

AccessAttributes resource(std::string_view verb, std::string_view group, std::string_view name, std::string_view ns,
                          std::string_view part = {}) {
  AccessAttributes request{};
  request.verb = verb;
  request.group = group;
  request.resource = name;
  request.subresource = part;
  request.ns = ns;
  return request;
}

AccessAttributes path(std::string_view verb, std::string_view at) {
  AccessAttributes request{};
  request.verb = verb;
  request.resource_request = false;
  request.path = at;
  return request;
}

Schema schema(const std::string& rules) {
  const auto object = json::Document::parse(R"({"metadata":{"name":"x","uid":"u"},"spec":{"matchingPrecedence":7,)"
                                            R"("priorityLevelConfiguration":{"name":"l"},"rules":)" +
                                            rules + "}}");
  return read_schema(object.value().root());
}

constexpr std::string_view everything =
    R"("resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"],"clusterScope":true}],)"
    R"("nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}])";

Schema of_subjects(const std::string& subjects) {
  return schema(R"([{"subjects":[)" + subjects + "]," + std::string(everything) + "}]");
}

TEST(FlowSchema, IsReadFromItsObject) {
  const Schema read = of_subjects(R"({"kind":"User","user":{"name":"a"}})");
  EXPECT_EQ(read.name, "x");
  EXPECT_EQ(read.uid, "u");
  EXPECT_EQ(read.level, "l");
  EXPECT_EQ(read.precedence, 7);
  EXPECT_EQ(read.rules.size(), 1u);
  EXPECT_GT(read.texts, 7u);
  EXPECT_EQ(schema("[]").texts, 1u);
  EXPECT_TRUE(read_schema(json::Value(nullptr)).rules.empty());
  EXPECT_TRUE(read_schema(json::Value(json::Object{{"spec", json::Array()}})).rules.empty());
}

TEST(FlowSchema, SubjectsSayWhoIsMeant) {
  struct Row {
    std::string subjects;
    User user;
    bool meant;
  };
  const std::string account = R"({"kind":"ServiceAccount","serviceAccount":{"namespace":"n","name":"a"}})";
  const std::string accounts = R"({"kind":"ServiceAccount","serviceAccount":{"namespace":"n","name":"*"}})";
  const std::vector<Row> rows = {
      {R"({"kind":"User","user":{"name":"noxu"}})", user("noxu"), true},
      {R"({"kind":"User","user":{"name":"noxu"}})", user("noxv"), false},
      {R"({"kind":"User","user":{"name":"noxu"}})", user("other", {"noxu"}), false},
      {R"({"kind":"User","user":{"name":"*"}})", user("anybody"), true},
      {R"({"kind":"Group","group":{"name":"g"}})", user("a", {"f", "g"}), true},
      {R"({"kind":"Group","group":{"name":"g"}})", user("g", {"f"}), false},
      {R"({"kind":"Group","group":{"name":"*"}})", user("a", {}), true},
      {account, user("system:serviceaccount:n:a"), true},
      {account, user("system:serviceaccount:n:b"), false},
      {account, user("system:serviceaccount:m:a"), false},
      {accounts, user("system:serviceaccount:n:b"), true},
      {accounts, user("system:serviceaccount:nn:b"), false},
      {accounts, user("n:b"), false},
      {R"({"kind":"Robot","user":{"name":"a"}})", user("a"), false},
      {R"({"kind":"User","user":{"name":"a"}},)" + accounts, user("a"), true},
      {"", user("a"), false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(of_subjects(row.subjects).takes(Asking(row.user), resource("get", "", "pods", "n")), row.meant)
        << row.subjects << " " << row.user.name;
}

TEST(FlowSchema, ManyGroupsAreLookedUpLikeFew) {
  std::vector<std::string> groups;
  for (int i = 99; i >= 0; --i) groups.push_back("group-" + std::to_string(i));
  const User many = user("a", groups);
  for (const char* name : {"group-0", "group-57", "group-99"}) EXPECT_TRUE(Asking(many).in_group(name)) << name;
  EXPECT_FALSE(Asking(many).in_group("group-100"));
  EXPECT_TRUE(of_subjects(R"({"kind":"Group","group":{"name":"group-42"}})")
                  .takes(Asking(many), resource("get", "", "pods", "n")));
}

TEST(FlowSchema, ResourceRulesSayWhatIsMeant) {
  const auto rule = [](const std::string& text) {
    return schema(R"([{"subjects":[{"kind":"User","user":{"name":"*"}}],"resourceRules":[{)" + text + "}]}]");
  };
  const Schema pods =
      rule(R"("verbs":["get","list"],"apiGroups":["","apps"],"resources":["pods","pods/status"],"namespaces":["n"])");
  const Schema all = rule(R"("verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"])");
  const Schema of_cluster = rule(R"("verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true)");
  struct Row {
    const Schema& schema;
    AccessAttributes request;
    bool meant;
  };
  const std::vector<Row> rows = {
      {pods, resource("get", "", "pods", "n"), true},
      {pods, resource("list", "apps", "pods", "n"), true},
      {pods, resource("delete", "", "pods", "n"), false},
      {pods, resource("get", "batch", "pods", "n"), false},
      {pods, resource("get", "", "secrets", "n"), false},
      {pods, resource("get", "", "pod", "n"), false},
      {pods, resource("get", "", "pods", "m"), false},
      {pods, resource("get", "", "pods", ""), false},
      {pods, resource("get", "", "pods", "n", "status"), true},
      {pods, resource("get", "", "pods", "n", "log"), false},
      {pods, path("get", "/healthz"), false},
      {all, resource("get", "", "pods", "n", "log"), true},
      {all, resource("get", "", "nodes", ""), false},
      {of_cluster, resource("get", "", "nodes", ""), true},
      {of_cluster, resource("get", "", "pods", "n"), false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(row.schema.takes(Asking(user("a")), row.request), row.meant)
        << row.request.verb << " " << row.request.resource << "/" << row.request.subresource << " " << row.request.ns;
}

TEST(FlowSchema, PathsTakeWhatIsBelowThem) {
  const Schema some = schema(R"([{"subjects":[{"kind":"User","user":{"name":"*"}}],"nonResourceRules":[)"
                             R"({"verbs":["get"],"nonResourceURLs":["/healthz","/logs/*"]}]}])");
  struct Row {
    AccessAttributes request;
    bool meant;
  };
  const std::vector<Row> rows = {
      {path("get", "/healthz"), true},          {path("get", "/healthz/ping"), true},
      {path("get", "/healthzz"), false},        {path("post", "/healthz"), false},
      {path("get", "/logs/a/b"), true},         {path("get", "/logs"), false},
      {path("get", "/version"), false},         {path("get", ""), false},
      {resource("get", "", "pods", ""), false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(some.takes(Asking(user("a")), row.request), row.meant) << row.request.verb << " " << row.request.path;
  EXPECT_TRUE(of_subjects(R"({"kind":"User","user":{"name":"a"}})").takes(Asking(user("a")), path("get", "/any")));
}

TEST(PriorityLevel, SharesAreThoseOfItsType) {
  const auto shares = [](const char* spec) {
    const auto object =
        json::Document::parse(std::string(R"({"metadata":{"name":"x","uid":"u"},"spec":)") + spec + "}");
    return read_level(object.value().root()).shares;
  };
  EXPECT_EQ(shares(R"({"type":"Limited","limited":{"nominalConcurrencyShares":5}})"), 5);
  EXPECT_EQ(shares(R"({"type":"Exempt","exempt":{"nominalConcurrencyShares":3}})"), 3);
  EXPECT_EQ(shares(R"({"type":"Limited"})"), 0);
}

}  // namespace
}  // namespace vg::flowcontrol
