// Carries the effects of a pass out on a TestWorld, as far as the rules of the write path matter to controllers:
// finalizers keep what is deleted, and whoever takes the last one off lets it go.
#pragma once

#include <algorithm>
#include <string>

#include "controllers/common/owners.h"
#include "controllers/testing.h"
#include "json/patch.h"

namespace vg::controllers {

inline void settle(TestWorld& world, std::string_view resource, json::Value object) {
  json::Object& metadata = json::ensure_object(object.get_object(), "metadata");
  const json::Array* finalizers = json::get_array(metadata, "finalizers");
  const bool held = finalizers && !finalizers->empty();
  if (metadata.contains("deletionTimestamp") && !held) {
    world.remove(resource, json::get_string_or(metadata, "namespace"), json::get_string_or(metadata, "name"));
    return;
  }
  world.put(resource, object);
}

inline void carry_out(TestWorld& world, const Effect& effect) {
  const json::Object* stored = world.get(effect.resource, effect.ns, effect.name);
  if (effect.verb == Verb::create) {
    json::Value made(effect.document);
    json::Object& metadata = json::ensure_object(made.get_object(), "metadata");
    static int serial = 0;
    if (!metadata.contains("name"))
      metadata["name"] = fmt::format("{}{}", json::get_string_or(metadata, "generateName"), ++serial);
    metadata["uid"] = fmt::format("uid-of-{}", json::get_string_or(metadata, "name"));
    metadata["creationTimestamp"] = "2026-01-02T03:04:05Z";
    world.put(effect.resource, made);
    return;
  }
  if (effect.verb == Verb::call) return;
  if (!stored) {
    if (!effect.already_done_is_fine) throw std::invalid_argument(fmt::format("there is no {}", effect.name));
    return;
  }
  json::Value object(*stored);
  if (effect.verb == Verb::remove) {
    json::ensure_object(object.get_object(), "metadata")["deletionTimestamp"] = "2026-01-02T03:04:05Z";
  } else if (effect.verb == Verb::patch || effect.verb == Verb::patch_status) {
    if (auto patched = json::apply_json_patch(object, effect.document); !patched)
      throw std::invalid_argument(patched.error().message);
  } else if (effect.verb == Verb::update_status) {
    object.get_object()["status"] = *json::find(effect.document, "status");
  } else {
    object = effect.document;
  }
  settle(world, effect.resource, std::move(object));
}

inline void carry_out(TestWorld& world, const TestPass& made) {
  for (const Effect& effect : made.pass.effects) carry_out(world, effect);
}

// "verb resource name" of every effect; the name of a new object may be generated.
inline std::vector<std::string> effects_of(const TestPass& made) {
  static constexpr std::array<std::string_view, 7> verbs{"create",       "update", "update_status", "patch",
                                                         "patch_status", "remove", "call"};
  std::vector<std::string> all;
  for (const Effect& effect : made.pass.effects)
    all.push_back(fmt::format("{} {} {}", verbs[static_cast<std::size_t>(effect.verb)],
                              effect.resource.substr(effect.resource.find('/') + 1), effect.name));
  return all;
}

}  // namespace vg::controllers
