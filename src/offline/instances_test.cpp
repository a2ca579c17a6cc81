// The instances that virt-controller made of VMs, from the recordings of controllers, and those that are rendered.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "offline/render.h"
#include "offline/testing.h"

namespace vg::offline::testing {
namespace {

using std::string_view;

// What the node, pods and other controllers add later.
bool added_later(string_view key) {
  return key == "kubevirt.io/nodeName" || key.ends_with("-observed-api-version") || key == "creationTimestamp";
}

Value sorted(const Value& list) {
  std::set<std::string> texts;
  if (const json::Array* array = list.if_array())
    for (const Value& item : *array) texts.insert(json::to_text(item));
  json::Array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

std::optional<std::string> instance_differs(const Value& recorded, const Value& made) {
  for (const string_view part : {"labels", "annotations", "ownerReferences"}) {
    const Value* want = json::find_path(recorded, {"metadata", part});
    const Value* got = json::find_path(made, {"metadata", part});
    const Value left = want ? tidied(*want, added_later) : Value(), right = got ? tidied(*got, added_later) : Value();
    if (is_empty(left) && is_empty(right)) continue;
    if (auto found = difference(left, right, std::string(part))) return found;
  }
  const Value* finalizers = json::find_path(recorded, {"metadata", "finalizers"});
  const Value* ours = json::find_path(made, {"metadata", "finalizers"});
  if (!finalizers || !ours || sorted(*finalizers) != sorted(*ours)) return "finalizers differ";
  const auto all = [](string_view) { return false; };
  return difference(tidied(*json::find(recorded, "spec"), all), tidied(*json::find(made, "spec"), all), "spec");
}

struct Tally {
  std::size_t compared = 0;
  std::vector<std::string> problems = {};
};

void compare_step(const Value& step, const Value& scenario, KnownObjects& known, const World& world, Tally& tally) {
  const Value* body = json::find(step, "body");
  if (json::get_string_or(step, "method") != "POST" || !body || !body->is_object()) return;
  const KindOfObject kind = resource_of(body->get_object());
  if (!kind.resource || json::find_path(step, {"expect", "status"})->as_int64() != 201) return;
  const Identity identity = identify(body->get_object(), kind, "default");
  known.add(known_object(body->get_object(), identity.ns), ++tally.compared + 1'000'000);
  --tally.compared;
  const Value* recorded = json::find_path(step, {"expect", "changes", "VirtualMachineInstance", identity.name});
  if (kind.kind != "VirtualMachine" || !recorded || !json::find(*recorded, "spec")) return;
  ++tally.compared;
  const auto problem = [&](std::string text) {
    tally.problems.push_back(fmt::format("{}: {}", json::get_string_or(scenario, "id"), text));
  };
  json::Document document;
  const ServerAnswer vm =
      judge({.resource = *kind.resource, .version = *kind.version, .ns = identity.ns, .object = *body}, world);
  if (vm.refusal) return problem(vm.refusal->message);
  const auto instance =
      instance_of(rendered(vm.object, *kind.resource, kind.api_version, document.storage()), world, document.storage());
  if (!instance) return problem(instance.error().message);
  if (auto found = instance_differs(*recorded, *instance)) problem(*found);
}

TEST(Instances, AreThoseThatTheControllerMakes) {
  std::ifstream file(test_files::recording("controllers.jsonl"));
  Tally tally;
  for (std::string line; std::getline(file, line);) {
    for (std::size_t at; (at = line.find("${ns}")) != line.npos;) line.replace(at, 5, "default");
    const auto scenario = json::Document::parse(line);
    ASSERT_TRUE(scenario);
    const config::FixedConfig config(config_of(*json::find(scenario->root(), "config")));
    KnownObjects known;
    const ManualClock clock;
    const World world{
        .known = known, .config = config, .clock = clock, .randomness = no_randomness(), .complete = true};
    for (const Value& step : *json::get_array(scenario->root(), "steps"))
      compare_step(step, scenario->root(), known, world, tally);
  }
  EXPECT_GT(tally.compared, 80u);
  for (const std::string& problem : tally.problems) ADD_FAILURE() << problem;
}

}  // namespace
}  // namespace vg::offline::testing
