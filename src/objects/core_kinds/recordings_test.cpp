// What kube-apiserver answered to creates of its own kinds, compared with what becomes of them here.
#include <fstream>
#include <iterator>

#include "base/test_files.h"
#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_ours(const json::Value& object) {
  const std::string_view api_version = json::get_string_or(object, "apiVersion");
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  return find_strategy(group, json::get_string_or(object, "kind")) != nullptr;
}

// The namespace of a new object comes from the path; the rest of metadata is the resource layer's.
void settle_namespace(json::Value& object, std::string_view path) {
  static constexpr std::string_view marker = "/namespaces/";
  const std::size_t at = path.find(marker);
  if (at == std::string_view::npos) return;
  std::string_view ns = path.substr(at + marker.size());
  ns = ns.substr(0, ns.find('/'));
  json::ensure_object(object.as_object(), "metadata")["namespace"] = ns;
}

CauseList recorded_causes(const json::Value& expected) {
  CauseList causes;
  const auto* list = json::get_array(expected, "causes");
  if (!list) return causes;
  for (const json::Value& cause : *list)
    causes.emplace_back(std::string(cause.at(0).as_string()).substr(10), std::string(cause.at(1).as_string()));
  return causes;
}

void expect_as_recorded(const json::Value& step) {
  const json::Value& expected = *json::find(step, "expect");
  json::Value body = *json::find(step, "body");
  settle_namespace(body, json::get_string_or(step, "path"));
  const Outcome outcome = create(json::to_text(body));
  EXPECT_EQ(outcome.causes, recorded_causes(expected)) << json::to_text(step);
  if (json::get_int_or(expected, "status", 0) != 201) return;
  // The recording leaves out what differs from run to run, and canonical form writes a zero time as null.
  json::Object made = outcome.object.root().as_object();
  json::erase(json::ensure_object(made, "metadata"), "creationTimestamp");
  EXPECT_EQ(json::to_text(json::Value(made), {.sort_keys = true}),
            json::to_text(*json::find(expected, "body"), {.sort_keys = true}));
}

TEST(CoreKindsRecordings, CreatesOfTheApiItself) {
  std::ifstream in(test_files::recording("rest.jsonl"));
  std::size_t compared = 0;
  for (std::string line; std::getline(in, line);) {
    const auto scenario = json::Document::parse(line);
    ASSERT_TRUE(scenario);
    for (const json::Value& step : *json::get_array(scenario->root(), "steps")) {
      const auto* body = json::find(step, "body");
      if (json::get_string_or(step, "method") != "POST" || !body || !is_ours(*body)) continue;
      if (json::find_path(step, {"headers", "Impersonate-User"}))
        continue;  // may be about rights, not about the object
      expect_as_recorded(step);
      ++compared;
    }
  }
  EXPECT_GT(compared, 20U);
}

TEST(CoreKindsRecordings, FixturesAreAccepted) {
  const auto fixtures = json::Document::parse(read_all(test_files::source("tests/conformance/fixtures.json")));
  ASSERT_TRUE(fixtures);
  std::size_t accepted = 0;
  for (const json::Value& object : fixtures->root().as_array()) {
    if (!is_ours(object)) continue;
    EXPECT_EQ(create(json::to_text(object)).causes, CauseList()) << json::to_text(object);
    ++accepted;
  }
  EXPECT_GT(accepted, 3U);
}

}  // namespace
}  // namespace vg::resources::core_kinds
