// For tests of snapshots, restores, clones and exports: a world in which passes are carried out, as the engine would.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/testing_effects.h"
#include "json/pointer.h"
#include "json/write.h"

namespace vg::controllers::copies::testing {

class Stage {
 public:
  TestWorld world;
  Time now = test_now;
  std::vector<std::string> calls = {};                    // of nodes: "freeze a"
  std::map<std::string, std::string> failing_calls = {};  // by path, with what the node says
  std::vector<std::string> events = {};                   // "reason Normal"
  std::optional<std::chrono::milliseconds> again = {};    // of the last pass
  bool failed = false;                                    // the last pass is to be tried again

  Stage& put(std::string_view resource, std::string_view text) {
    world.put(resource, text);
    return *this;
  }
  const json::Object* get(std::string_view resource, std::string_view name) const {
    return world.get(resource, "n", name);
  }
  // The value at a JSON pointer, as text; empty for none.
  std::string text(std::string_view resource, std::string_view name, std::string_view pointer) const {
    const json::Object* object = get(resource, name);
    if (!object) return "no object";
    const json::Value whole(*object);
    const auto parsed = json::Pointer::parse(pointer);
    const json::Value* at = parsed ? json::resolve(whole, *parsed) : nullptr;
    if (!at) return {};
    return at->is_string() ? std::string(at->get_string()) : json::to_text(*at);
  }
  // "True reason" of a condition.
  std::string condition(std::string_view resource, std::string_view name, std::string_view type) const {
    const json::Object* object = get(resource, name);
    const json::Object* status = object ? json::get_object(*object, "status") : nullptr;
    if (!find_condition(status, type)) return {};
    return fmt::format("{} {}", condition_status(status, type), condition_reason(status, type));
  }

  // One pass of the engine. True when something was written or asked for.
  bool pass(const Controller& controller, const std::string& name) {
    const Key key{.ns = "n", .name = name};
    if (!get(controller.resource, name)) return false;
    const TestPass first = sync(controller, world, key, now);
    again = first.pass.again;
    failed = first.pass.try_again;
    Carried carried;
    bool changed = carry(first, carried);
    if (failed && !controller.finish) return false;
    if (!controller.finish || first.pass.complete || !get(controller.resource, name)) return changed;
    const TestPass second = finish(controller, world, key, first, carried, now);
    if (second.pass.again) again = again ? std::min(*again, *second.pass.again) : *second.pass.again;
    failed = failed || second.pass.try_again;
    Carried ignored;
    return carry(second, ignored) || changed;
  }
  // Passes over every object of the controllers until nothing happens any more.
  void settle(std::initializer_list<Controller> controllers) {
    bool changed = true;
    for (int round = 0; changed; ++round) {
      ASSERT_LT(round, 100) << "it does not come to rest";
      changed = false;
      for (const Controller& controller : controllers)
        for (const json::Object* object : world.list(controller.resource, "n"))
          changed = pass(controller, std::string(metadata_text(*object, "name"))) || changed;
    }
  }
  // Every job that was asked for succeeds.
  void finish_jobs() {
    const auto asked = world.fake_disks.asked;
    for (const auto& [id, job] : asked)
      if (world.fake_disks.jobs[id].state == DiskJobState::running) world.fake_disks.finish(id);
  }

 private:
  bool carry(const TestPass& made, Carried& carried) {
    for (const std::string& told : made.events()) events.push_back(told);
    bool changed = false;
    for (const Effect& effect : made.pass.effects) {
      if (effect.verb == Verb::call) {
        calls.push_back(fmt::format("{} {}", effect.path, effect.name));
        const auto failing = failing_calls.find(std::string(effect.path));
        if (failing == failing_calls.end() || effect.may_fail) continue;
        carried.error = {.reason = effect.soft_reason, .message = failing->second};
        if (effect.others_follow) continue;
        return changed;
      }
      if (effect.verb == Verb::create && world.get(effect.resource, effect.ns, effect.name)) {
        if (effect.already_done_is_fine) continue;
        throw std::invalid_argument(effect.name + " is there already");
      }
      carry_out(world, effect);
      changed = true;
    }
    if (carried.error) return changed;
    for (const std::string& id : made.pass.unwanted_jobs) world.fake_disks.cancel(id);
    for (const WantedJob& wanted : made.pass.jobs) world.fake_disks.start(wanted.job);
    return changed;
  }
};

// A VM of one disk in the claim "c", which is bound and kept by this machine.
inline constexpr std::string_view stopped_vm =
    R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a","namespace":"n","uid":"vm-uid",
    "labels":{"team":"x"},"managedFields":[{}]},
    "spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"devices":{"disks":[{"name":"d"}]}},"volumes":[
    {"name":"d","persistentVolumeClaim":{"claimName":"c"}}]}}},"status":{}})";
inline constexpr std::string_view bound_claim =
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"n","uid":"claim-uid"},
    "spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},
    "status":{"phase":"Bound"}})";
inline constexpr std::string_view running_vmi =
    R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a","namespace":"n",
    "uid":"vmi-uid"},"spec":{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}]},
    "status":{"phase":"Running","nodeName":"node1","virtualMachineRevisionName":"start","conditions":[]}})";
inline constexpr std::string_view start_revision =
    R"({"metadata":{"name":"start","namespace":"n"},"revision":1,"data":{"spec":{"runStrategy":"Always","template":{
    "spec":{"domain":{"devices":{"disks":[{"name":"old"}]}},"volumes":[{"name":"old"}]}}}}})";

// `text` with members of `more` in their place.
inline std::string merged(std::string_view text, std::string_view more) {
  auto document = json::Document::parse(text);
  auto patch = json::Document::parse(more);
  if (!document || !patch) throw std::invalid_argument(std::string(more));
  if (!json::apply_merge_patch(document->root(), patch->root())) throw std::invalid_argument(std::string(more));
  return json::to_text(document->root());
}

}  // namespace vg::controllers::copies::testing
