#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "actions/action.h"
#include "actions/openapi.h"
#include "api/schema.h"
#include "base/files.h"
#include "base/limits.h"
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
    for (const Step& step : action.steps) {
      EXPECT_EQ(step.kind == StepKind::check, step.ask != nullptr) << name;
      reads_body |= step.kind == StepKind::body || step.kind == StepKind::body_later;
    }
    EXPECT_EQ(reads_body, action.body == Body::options || action.body == Body::strict) << name;
  }
  EXPECT_EQ(listed.size(), 31U);
  EXPECT_EQ(*listed.rbegin(), 31);
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

TEST(OpenApi, HasTheRecordedPaths) {
  const char* source = std::getenv("VIRTGATE_SOURCE_DIR");
  const std::filesystem::path file =
      std::filesystem::path(source ? source : ".") / "../shared/conformance/documents.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the recordings are not beside the checkout";
  const auto text = read_file(file.native(), 64 * limits::mib);
  ASSERT_TRUE(text);
  const auto documents = json::Document::parse(*text, {.bytes_max = text->size()});
  ASSERT_TRUE(documents);
  const json::Value& recorded =
      documents->root().at("/openapi/v3/apis/subresources.kubevirt.io/v1").at("front-proxy admin").at("body");
  const json::Object ours = openapi_v3("v1");
  const json::Object& recorded_paths = recorded.at("paths").as_object();
  const json::Value our_paths = without_words(ours.at("paths"));
  EXPECT_EQ(our_paths.as_object().size(), recorded_paths.size());
  for (const auto& path : recorded_paths) {
    const json::Value* same = our_paths.as_object().if_contains(path.key());
    ASSERT_TRUE(same) << path.key();
    EXPECT_EQ(json::to_text(*same, {.sort_keys = true}), json::to_text(path.value(), {.sort_keys = true}));
  }
  std::set<std::string_view> names, recorded_names;
  for (const auto& schema : ours.at("components").at("schemas").as_object()) names.insert(schema.key());
  for (const auto& schema : recorded.at("components").at("schemas").as_object()) recorded_names.insert(schema.key());
  EXPECT_EQ(names, recorded_names);
}

}  // namespace
}  // namespace vg::actions
