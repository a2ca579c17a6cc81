// Every recorded create, as a file: the same verdict, causes and object as the server gave.
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "offline/catalogue.h"
#include "offline/testing.h"

namespace vg::offline::testing {
namespace {

using std::string_view;
using CauseSet = std::set<std::pair<std::string, std::string>>;

bool is_volatile(string_view key) {
  static const std::set<string_view> keys{
      "resourceVersion",   "uid",      "creationTimestamp",  "managedFields",
      "deletionTimestamp", "selfLink", "lastTransitionTime", "phaseTransitionTimestamp"};
  return keys.contains(key);
}

resources::FieldValidation validation_of(string_view path) {
  using enum resources::FieldValidation;
  return path.contains("fieldValidation=Strict") ? strict : path.contains("fieldValidation=Ignore") ? ignore : warn;
}

class Creates : public ::testing::Test {
 protected:
  Creates() : fixtures_(fixtures()) {}

  static json::Document fixtures() {
    auto read = json::Document::parse(text_of(test_files::source("tests/conformance/fixtures.json")));
    EXPECT_TRUE(read);
    return std::move(*read);
  }
  void fill(KnownObjects& known) const {
    std::size_t order = SIZE_MAX / 2;
    for (const Value& object : fixtures_.root().as_array()) {
      const Value* ns = json::find_path(object, {"metadata", "namespace"});
      known.add(known_object(object.get_object(), json::as_string(ns).value_or("")), ++order);
    }
  }

  // nullopt: agrees.
  std::optional<std::string> differs(const Value& recorded) {
    const Value& step = recorded.at("steps").as_array().front();
    const Value& want = step.at("expect");
    const auto recorded_code = want.at("status").as_int64();
    if (recorded_code >= 500) return std::nullopt;  // the reference crashed; that we answer is all that can be asked
    const config::FixedConfig config(config_of(recorded.at("config")));
    KnownObjects known;
    fill(known);
    const World world{.known = known, .config = config, .clock = clock_, .complete = true};
    const CheckOptions options{
        .validation = validation_of(step.at("path").as_string()), .complete = true, .threads = 1};
    const Value& body = step.at("body");
    Sources sources;
    sources.push_back(text_source("case.json", json::to_text(body)));
    const Outcome outcome = check(sources, known, world, options);
    return differs(want, outcome, body, world);
  }

  std::optional<std::string> differs(const Value& want, const Outcome& outcome, const Value& body, const World& world) {
    std::string said;
    CauseSet causes;
    bool strict = false;
    std::size_t warnings = 0;
    for (const Finding& finding : outcome.findings) {
      said += fmt::format("; {} {} {}: {}", finding.id, finding.type, finding.field, finding.message);
      if (finding.severity == Severity::refusal && !finding.type.empty()) causes.emplace(finding.type, finding.field);
      const bool field_finding = finding.id == ids::unknown_field || finding.id == ids::repeated_field;
      strict = strict || (field_finding && finding.severity == Severity::refusal);
      if (finding.severity == Severity::warning && (field_finding || finding.id == ids::server_warning)) ++warnings;
    }
    if (strict) causes.clear();  // the server stops there; a check tells what else is wrong
    const auto code = want.at("status").as_int64();
    const int ours =
        outcome.verdicts.empty() || outcome.verdicts.front().code == 0 ? 201 : outcome.verdicts.front().code;
    if (ours != code) return fmt::format("code: recorded {}, ours {}{}", code, ours, said);
    if ((json::get_int_or(want, "warnings", 0) > 0) != (warnings > 0))
      return fmt::format("warnings: recorded {}, ours {}{}", json::get_int_or(want, "warnings", 0), warnings, said);
    if (code == 201) return object_differs(want, body, world);
    if (json::get_string_or(want, "reason") != outcome.verdicts.front().reason)
      return fmt::format("reason: recorded {}, ours {}{}", json::get_string_or(want, "reason"),
                         outcome.verdicts.front().reason, said);
    CauseSet recorded;
    std::size_t count = 0;
    if (const json::Array* list = json::get_array(want, "causes"))
      for (const Value& cause : *list) {
        recorded.emplace(cause.as_array().at(0).as_string(), cause.as_array().at(1).as_string());
        ++count;
      }
    recorded.erase({"", ""});
    // Upstream tells ten causes at most.
    const bool agree = count < 10 ? recorded == causes : std::ranges::includes(causes, recorded);
    if (!agree) return fmt::format("causes differ from {}{}", json::to_text(*json::find(want, "causes")), said);
    return std::nullopt;
  }

  std::optional<std::string> object_differs(const Value& want, const Value& body, const World& world) {
    const KindOfObject kind = resource_of(body.get_object());
    const Identity identity = identify(body.get_object(), kind, "default");
    const ServerAnswer answer =
        judge({.resource = *kind.resource, .version = *kind.version, .ns = identity.ns, .object = body}, world);
    if (!answer.object) return "no object";
    auto made = json::Document::parse(answer.object->json());
    if (!made) return "not JSON";
    made->root().get_object()["apiVersion"] = kind.api_version;
    if (const Value* recorded = json::find(want, "body"))
      if (auto found = difference(tidied(*recorded, is_volatile), tidied(made->root(), is_volatile), ""))
        return "object " + *found;
    return std::nullopt;
  }

  SystemClock clock_;
  json::Document fixtures_;
};

TEST_F(Creates, AreJudgedAndCompletedAsTheServerDoes) {
  std::ifstream file(test_files::recording("creates.jsonl"));
  std::size_t cases = 0, differing = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const auto recorded = json::Document::parse(line);
    ASSERT_TRUE(recorded);
    const auto problem = differs(recorded->root());
    if (!problem) continue;
    if (++differing <= 10) ADD_FAILURE() << json::get_string_or(recorded->root(), "id") << ": " << *problem;
  }
  EXPECT_GT(cases, 2000u);
  EXPECT_EQ(differing, 0u);
}

}  // namespace
}  // namespace vg::offline::testing
