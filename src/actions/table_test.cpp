#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "actions/action.h"
#include "actions/openapi.h"
#include "api/schema.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/test_files.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::actions {
namespace {

using ::testing::ElementsAre;

TEST(Table, EveryRowCanBeServed) {
  std::set<std::string> seen;
  std::set<int> listed;
  for (const Action& action : actions()) {
    const std::string name = fmt::format("{}/{} {}", action.resource, action.name, action.method);
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_TRUE(action.decide) << name;
    EXPECT_FALSE(action.does.empty()) << name;
    EXPECT_TRUE(action.body_type.empty() || api::find_type(action.body_type)) << name;
    EXPECT_TRUE(action.body != Body::options || !action.body_type.empty()) << name;
    EXPECT_TRUE(action.listed == 0 || listed.insert(action.listed).second) << name;
    bool reads_body = false;
    for (const GatherStep& step : action.steps) {
      EXPECT_EQ(step.kind == StepKind::check, step.ask != nullptr) << name;
      reads_body |= step.kind == StepKind::body || step.kind == StepKind::body_later;
    }
    EXPECT_EQ(reads_body, action.body != Body::none && action.body != Body::forwarded) << name;
  }
  EXPECT_EQ(listed.size(), 31U);
  EXPECT_EQ(*listed.rbegin(), 31);
}

TEST(Table, SaysWhatARoleMustAllowAndWhatShowsTheGuest) {
  EXPECT_EQ(permitted_part("portforward/80/tcp"), "portforward");
  EXPECT_EQ(permitted_part("portforwards/80"), "portforwards/80");
  EXPECT_EQ(permitted_part("sev/setupsession"), "sev/setupsession");
  for (const std::string_view open : {"console", "vnc", "vnc/screenshot", "usbredir", "vsock", "portforward/22"})
    EXPECT_TRUE(shows_guest(open)) << open;
  for (const std::string_view other : {"start", "guestosinfo", "expand-spec", ""})
    EXPECT_FALSE(shows_guest(other)) << other;
}

TEST(Table, KnowsWhatIsOfTheGroupItself) {
  EXPECT_TRUE(has_actions("virtualmachines"));
  EXPECT_FALSE(has_actions(""));
  EXPECT_FALSE(has_actions("pods"));
  EXPECT_TRUE(is_group_action("version", false));
  EXPECT_FALSE(is_group_action("version", true));
  EXPECT_TRUE(is_group_action("expand-vm-spec", true));
  EXPECT_FALSE(is_group_action("expand-vm-spec", false)) << "not open to anybody";
  EXPECT_FALSE(is_group_action("start", false));
}

TEST(Table, FindsByPath) {
  const auto find = [](std::string_view method, std::string_view resource, std::string_view sub,
                       bool namespaced = true) {
    const Found found = find_action(method, resource, sub, namespaced);
    return found.action ? fmt::format("{} {} {}", found.action->operation, found.port, found.protocol)
                        : fmt::format("no {}", found.allowed[0]);
  };
  EXPECT_EQ(find("PUT", "virtualmachines", "start"), "Start  ");
  EXPECT_EQ(find("GET", "virtualmachines", "start"), "no PUT");
  EXPECT_EQ(find("PUT", "virtualmachineinstances", "start"), "no ");
  EXPECT_EQ(find("PUT", "virtualmachineinstances", "sev/setupsession"), "SEVSetupSession  ");
  EXPECT_EQ(find("PUT", "virtualmachineinstances", "sev"), "no ");
  EXPECT_EQ(find("GET", "virtualmachineinstances", "vnc/screenshot"), "VNCScreenshot  ");
  EXPECT_EQ(find("GET", "virtualmachineinstances", "portforward/80"), "vmi-PortForward 80 ");
  EXPECT_EQ(find("GET", "virtualmachines", "portforward/80/udp"), "vm-PortForward 80 udp");
  for (std::string_view path : {"portforward", "portforward/", "portforward/80/tcp/x", "portforwarding/80"})
    EXPECT_EQ(find("GET", "virtualmachines", path), "no ") << path;
  EXPECT_EQ(find("PUT", "expand-vm-spec", ""), "ExpandSpec  ");
  EXPECT_EQ(find("PUT", "expand-vm-spec", "", false), "no ");
  EXPECT_EQ(find("GET", "version", "", false), "Version  ");
  EXPECT_EQ(find("GET", "version", "", true), "no ");
}

// --- the recorded documents
// --------------------------------------------------------------------------------------------

// Without what people read.
json::Value without_words(const json::Value& value) {
  if (const json::Object* object = value.if_object()) {
    json::Object out;
    for (const auto& member : *object)
      if (member.key() != "description") out.emplace(member.key(), without_words(member.value()));
    return out;
  }
  if (const json::Array* array = value.if_array()) {
    json::Array out;
    for (const json::Value& item : *array) out.push_back(without_words(item));
    return out;
  }
  return value;
}

// What upstream refers to stands where it is referred to.
json::Value with_parameters(const json::Value& value, const json::Object& parameters) {
  if (const json::Object* object = value.if_object()) {
    constexpr std::string_view prefix = "#/parameters/";
    const json::Value* reference = object->if_contains("$ref");
    const std::string_view to = reference && reference->is_string() ? std::string_view(reference->get_string()) : "";
    if (to.starts_with(prefix)) return parameters.at(to.substr(prefix.size()));
    json::Object out;
    for (const auto& member : *object) out.emplace(member.key(), with_parameters(member.value(), parameters));
    return out;
  }
  const json::Array* array = value.if_array();
  if (!array) return value;
  json::Array out;
  for (const json::Value& item : *array) out.push_back(with_parameters(item, parameters));
  return out;
}

class OpenApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto text = read_file(test_files::source("tests/conformance/documents.json").native(), 64 * limits::mib);
    ASSERT_TRUE(text);
    auto parsed = json::Document::parse(*text, {.bytes_max = text->size()});
    ASSERT_TRUE(parsed);
    documents_ = std::move(*parsed);
  }
  const json::Value& recorded(std::string_view path) {
    return documents_.root().at(path).at("front-proxy admin").at("body");
  }
  static void expect_same_paths(const json::Value& ours, const json::Object& theirs) {
    const json::Value paths = without_words(ours);
    EXPECT_EQ(paths.as_object().size(), theirs.size());
    for (const auto& path : theirs) {
      const json::Value* same = paths.as_object().if_contains(path.key());
      ASSERT_TRUE(same) << path.key();
      EXPECT_EQ(json::to_text(*same, {.sort_keys = true}), json::to_text(path.value(), {.sort_keys = true}))
          << path.key();
    }
  }
  static std::set<std::string> names(const json::Value& definitions) {
    std::set<std::string> all;
    for (const auto& definition : definitions.as_object()) all.insert(definition.key());
    return all;
  }

  json::Document documents_;
};

TEST_F(OpenApi, HasTheRecordedPaths) {
  const json::Value& theirs = recorded("/openapi/v3/apis/subresources.kubevirt.io/v1");
  const json::Object ours = openapi_v3("v1");
  expect_same_paths(ours.at("paths"), theirs.at("paths").as_object());
  EXPECT_EQ(names(ours.at("components").at("schemas")), names(theirs.at("components").at("schemas")));
  EXPECT_EQ(ours.at("components").at("securitySchemes"), theirs.at("components").at("securitySchemes"));
}

TEST_F(OpenApi, HasTheRecordedPathsInTheOlderForm) {
  const json::Value& theirs = recorded("/openapi/v2");
  json::Value paths = with_parameters(theirs.at("paths"), theirs.at("parameters").as_object());
  // Upstream has not named these two, so they bear what its compiler calls them.
  paths.at("/healthz").at("get").as_object()["operationId"] = "checkHealth";
  paths.at("/openapi/v2").at("get").as_object()["operationId"] = "getOpenAPIV2";
  const json::Object ours = openapi_v2("v1");
  expect_same_paths(ours.at("paths"), paths.as_object());
  EXPECT_EQ(names(ours.at("definitions")), names(theirs.at("definitions")));
}

}  // namespace
}  // namespace vg::actions
