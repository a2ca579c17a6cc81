// For tests of the VM controller: VMs and VMIs of a few words, and what a pass over them wants written.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/canonical.h"
#include "api/schema.h"
#include "controllers/testing.h"
#include "controllers/vm/vm_controller.h"
#include "json/patch.h"
#include "json/pointer.h"
#include "json/write.h"

namespace vg::controllers::vm::testing {

inline json::Document parsed(std::string_view text) {
  auto document = json::Document::parse(text);
  if (!document) throw std::invalid_argument(fmt::format("{}: {}", document.error().message, text));
  return std::move(*document);
}

// In canonical form, as it is stored.
inline json::Document canonical(std::string_view kind, std::string_view text) {
  json::Document document = parsed(text);
  if (auto good = api::canonicalize(document.root(), *api::find_kind("kubevirt.io", "", kind)->type); !good)
    throw std::invalid_argument(fmt::format("{}: {}", good.error().message, text));
  return document;
}

// `text` with members of `more` in their place: a merge patch.
inline std::string merged(std::string_view text, std::string_view more) {
  json::Document document = parsed(text);
  if (auto good = json::apply_merge_patch(document.root(), parsed(more).root()); !good)
    throw std::invalid_argument(good.error().message);
  return json::to_text(document.root());
}

inline constexpr std::string_view plain_vm = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine",
  "metadata":{"name":"a","namespace":"n","uid":"vm-uid","resourceVersion":"5","generation":1,
    "annotations":{"kubevirt.io/latest-observed-api-version":"v1","kubevirt.io/storage-observed-api-version":"v1"},
    "finalizers":["kubevirt.io/virtualMachineControllerFinalize"]},
  "spec":{"runStrategy":"Always","template":{"metadata":{},"spec":{
    "domain":{"devices":{},"firmware":{"uuid":"u-u-i-d"},"memory":{"guest":"1Gi"}}}}}})";

inline constexpr std::string_view plain_vmi = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
  "metadata":{"name":"a","namespace":"n","uid":"vmi-uid","resourceVersion":"6",
    "annotations":{"kubevirt.io/vm-generation":"1"},
    "finalizers":["kubevirt.io/foregroundDeleteVirtualMachine","kubevirt.io/virtualMachineControllerFinalize"],
    "ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"vm-uid",
      "controller":true,"blockOwnerDeletion":true}]},
  "spec":{"domain":{"devices":{},"firmware":{"uuid":"u-u-i-d"},"memory":{"guest":"1Gi"}}},
  "status":{"phase":"Running","virtualMachineRevisionName":"revision-start-vm-vm-uid-1",
    "phaseTransitionTimestamps":[{"phase":"Running","phaseTransitionTimestamp":"2026-01-02T03:00:00Z"}],
    "conditions":[{"type":"Ready","status":"True"}]}})";

// A VM, its VMI and what is around them.
class Scene {
 public:
  // Merge patches of the plain ones; the VM has no VMI unless one is given.
  Scene& vm(std::string_view more = "{}") {
    world.put(kinds::vm, canonical("VirtualMachine", merged(plain_vm, more)).root());
    return *this;
  }
  Scene& vmi(std::string_view more = "{}") {
    world.put(kinds::vmi, canonical("VirtualMachineInstance", merged(plain_vmi, more)).root());
    return *this;
  }
  // The revision that the VM of `more` was started as, with generation `number`.
  Scene& started_as(std::string_view more = "{}", int number = 1) {
    const json::Document vm = canonical("VirtualMachine", merged(plain_vm, more));
    world.put(kinds::revision,
              fmt::format(R"({{"metadata":{{"name":"revision-start-vm-vm-uid-{0}","namespace":"n","ownerReferences":)"
                          R"([{{"kind":"VirtualMachine","uid":"vm-uid","controller":true}}]}},"revision":{0},)"
                          R"("data":{{"spec":{1}}}}})",
                          number, json::to_text(*json::find(vm.root(), "spec"))));
    return *this;
  }
  Scene& put(std::string_view resource, std::string_view text) {
    world.put(resource, text);
    return *this;
  }
  Scene& configure(std::string_view configuration) {
    world.configure(configuration);
    return *this;
  }

  const TestPass& pass(Time now = test_now) {
    last = sync(vm_controller(), world, {.ns = "n", .name = "a"}, now);
    return last;
  }
  // A pass, and the VM's status after all of it went well: what sync() and finish() write, put together.
  json::Value status_after(const Carried& carried = {}, Time now = test_now) {
    pass(now);
    carry_out(last);
    if (!last.pass.complete) {
      ending = finish(vm_controller(), world, {.ns = "n", .name = "a"}, last, carried, now);
      carry_out(ending);
    } else if (last.find(Verb::create, kinds::vmi)) {  // which brings the VM another pass
      TestPass first = std::move(last);
      pass(now);
      carry_out(last);
      ending = std::move(last);
      last = std::move(first);
    }
    const json::Object* vm = world.get(kinds::vm, "n", "a");
    const json::Value* status = vm ? json::find(*vm, "status") : nullptr;
    return status ? *status : json::Value(boost::json::object_kind);
  }
  // What an object looks like after the patches of the last pass.
  std::string after(std::string_view resource, std::string_view pointer) {
    carry_out(last);
    const json::Object* object = world.get(resource, "n", "a");
    if (!object) return "gone";
    const json::Value whole(*object);
    const json::Value* found = json::resolve(whole, *json::Pointer::parse(pointer));
    return found ? json::to_text(*found) : "";
  }

  TestWorld world;
  TestPass last, ending;

 private:
  void carry_out(const TestPass& made) {
    for (const Effect& effect : made.pass.effects) {
      const json::Object* there = world.get(effect.resource, effect.ns, effect.name);
      if (effect.verb == Verb::create) world.put(effect.resource, effect.document);
      if (effect.verb == Verb::remove && there) mark_deleted(effect, *there);
      if (effect.verb != Verb::patch && effect.verb != Verb::patch_status) continue;
      ASSERT_TRUE(there) << effect.name;
      json::Value copy(*there);
      const auto good = json::apply_json_patch(copy, effect.document);
      ASSERT_TRUE(good) << good.error().message << json::to_text(effect.document);
      world.put(effect.resource, copy);
    }
  }
  // As the store does: what has finalizers stays until they are gone.
  void mark_deleted(const Effect& effect, const json::Object& there) {
    json::Value copy(there);
    const json::Value* finalizers = json::find_path(copy, {"metadata", "finalizers"});
    if (!finalizers || !finalizers->is_array() || finalizers->get_array().empty()) {
      world.remove(effect.resource, effect.ns, effect.name);
      return;
    }
    json::ensure_object(copy.get_object(), "metadata")["deletionTimestamp"] = "2026-01-02T03:04:05Z";
    world.put(effect.resource, copy);
  }
};

// "verb resource" of each effect.
inline std::string effects_text(const TestPass& made) {
  static constexpr std::string_view verbs[] = {"create", "update", "update_status", "patch", "patch_status", "remove"};
  std::string text;
  for (const Effect& effect : made.pass.effects)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", verbs[static_cast<std::size_t>(effect.verb)],
                        effect.resource.substr(effect.resource.find('/') + 1));
  return text;
}

// "type=status/reason" of each condition.
inline std::string conditions_of(const json::Value& status) {
  std::string text;
  if (const json::Array* conditions = json::get_array(status, "conditions"))
    for (const json::Value& entry : *conditions)
      text += fmt::format("{}{}={}/{}", text.empty() ? "" : " ", json::get_string_or(entry, "type"),
                          json::get_string_or(entry, "status"), json::get_string_or(entry, "reason"));
  return text;
}

}  // namespace vg::controllers::vm::testing
