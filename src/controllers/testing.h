// Worlds for tests: objects written as JSON, and what a pass made of them.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time_rfc3339.h"
#include "config/cluster_config.h"
#include "controllers/claims.h"
#include "controllers/controller.h"
#include "controllers/placement.h"
#include "controllers/references.h"
#include "json/access.h"
#include "json/document.h"
#include "ports/disk_agent_testing.h"

namespace vg::controllers {

// In tests clocks do not jump unless a test says so: the steady one shows the same.
inline Steady steady_of(Time time) {
  return Steady(std::chrono::duration_cast<Steady::duration>(time.time_since_epoch()));
}

class TestWorld final : public World {
 public:
  TestWorld() : config_(config::ClusterConfig::defaults("amd64")) {}

  // Puts an object there, or replaces it. Its namespace and name are those of its metadata. Nodes and placements
  // follow.
  TestWorld& put(std::string_view resource, std::string_view text) {
    auto parsed = json::Document::parse(text);
    if (!parsed) throw std::invalid_argument(fmt::format("{}: {}", parsed.error().message, text));
    return put(resource, parsed->root());
  }
  TestWorld& put(std::string_view resource, const char* text) { return put(resource, std::string_view(text)); }
  TestWorld& put(std::string_view resource, const json::Value& object) {
    // In memory of its own: a copy lives where the original does unless told.
    const json::Value& kept = documents_.emplace_back(object, json::StoragePtr());
    const json::Value* metadata = json::find(kept, "metadata");
    const std::string ns(metadata ? json::get_string_or(*metadata, "namespace") : "");
    const std::string name(metadata ? json::get_string_or(*metadata, "name") : "");
    objects_[{std::string(resource), ns, name}] = &kept;
    if (resource == kinds::node) put_node(kept.get_object());
    if (resource == kinds::migration)
      migrations_.put(MigrationInfo::read(kept.get_object(), creation_order(resource, ns, name)));
    if (resource == kinds::vmi) {
      nodes_.remove_of(ns, name);
      for (Placed& placed : placements_of(kept.get_object(), *config_)) nodes_.place(std::move(placed));
      migrations_.put_vmi(MovableInfo::read(kept.get_object()));
    }
    return *this;
  }
  TestWorld& remove(std::string_view resource, std::string_view ns, std::string_view name) {
    objects_.erase({std::string(resource), std::string(ns), std::string(name)});
    if (resource == kinds::node) nodes_.forget(name);
    if (resource == kinds::migration) migrations_.forget(ns, name);
    if (resource == kinds::vmi) {
      nodes_.remove_of(ns, name);
      migrations_.forget_vmi(ns, name);
    }
    return *this;
  }
  // spec.configuration of the KubeVirt object.
  TestWorld& configure(std::string_view configuration) {
    auto kubevirt = json::Document::parse(
        fmt::format(R"({{"spec":{{"configuration":{}}},"status":{{"phase":"Deployed"}}}})", configuration));
    if (!kubevirt) throw std::invalid_argument(kubevirt.error().message);
    auto config = config::ClusterConfig::read(kubevirt->root(), "1");
    if (!config) throw std::invalid_argument(config.error().message);
    config_ = *config;
    return *this;
  }

  // Without any object, and with the defaults.
  TestWorld& clear() {
    while (!objects_.empty()) {
      const auto [resource, ns, name] = objects_.begin()->first;
      remove(resource, ns, name);
    }
    config_ = config::ClusterConfig::defaults("amd64");
    return *this;
  }

  const json::Object* get(std::string_view resource, std::string_view ns, std::string_view name) const override {
    const auto found = objects_.find({std::string(resource), std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : found->second->if_object();
  }
  std::vector<const json::Object*> list(std::string_view resource, std::string_view ns) const override {
    return matching(resource, ns, [](const json::Object&) { return true; });
  }
  std::vector<const json::Object*> labelled(std::string_view resource, std::string_view ns, std::string_view label,
                                            std::string_view value) const override {
    return matching(resource, ns, [&](const json::Object& object) {
      const json::Object* metadata = json::get_object(object, "metadata");
      const json::Object* labels = metadata ? json::get_object(*metadata, "labels") : nullptr;
      return labels && json::get_string(*labels, label) == value;
    });
  }
  std::vector<const json::Object*> owned_by(std::string_view resource, std::string_view ns,
                                            std::string_view owner_uid) const override {
    return matching(resource, ns, [&](const json::Object& object) {
      const json::Object* metadata = json::get_object(object, "metadata");
      const json::Array* owners = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
      return owners && std::ranges::any_of(*owners, [&](const json::Value& owner) {
               return json::get_string_or(owner, "uid") == owner_uid;
             });
    });
  }
  // As the times of creation say.
  std::uint64_t creation_order(std::string_view resource, std::string_view ns, std::string_view name) const override {
    const json::Object* object = get(resource, ns, name);
    const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
    const auto time = parse_rfc3339(metadata ? json::get_string_or(*metadata, "creationTimestamp") : "");
    return time ? static_cast<std::uint64_t>(time->on_clock().time_since_epoch().count()) : 0;
  }
  std::vector<std::string> vmis_with_claim(std::string_view ns, std::string_view claim) const override {
    std::vector<std::string> names;
    for (const json::Object* vmi : list(kinds::vmi, ns))
      if (std::ranges::count(claims_of(*vmi), claim) != 0)
        names.emplace_back(json::get_string_or(*json::get_object(*vmi, "metadata"), "name"));
    return names;
  }
  std::vector<std::string> vms_with_claim(std::string_view ns, std::string_view claim) const override {
    std::vector<std::string> names;
    for (const json::Object* vm : list(kinds::vm, ns))
      if (std::ranges::count(template_claims_of(*vm), claim) != 0)
        names.emplace_back(json::get_string_or(*json::get_object(*vm, "metadata"), "name"));
    return names;
  }
  std::vector<std::string> referring(std::string_view resource, std::string_view ns,
                                     std::string_view target) const override {
    std::vector<std::string> names;
    for (const json::Object* object : list(resource, ns))
      if (std::ranges::count(references_of(resource, *object), target) != 0) {
        const json::Object& metadata = *json::get_object(*object, "metadata");
        const std::string name(json::get_string_or(metadata, "name"));
        names.push_back(
            refers_elsewhere(resource) ? std::string(json::get_string_or(metadata, "namespace")) + "/" + name : name);
      }
    return names;
  }
  const Nodes& nodes() const override { return nodes_; }
  const Migrations& migrations() const override { return migrations_; }
  const DiskView& disks() const override { return fake_disks; }
  const config::ClusterConfig& config() const { return *config_; }

  FakeDisks fake_disks = {};

 private:
  // Heard of when its heartbeat says.
  void put_node(const json::Object& node) {
    const Time said = Timestamp{.seconds = NodeInfo::read(node).heartbeat.value_or(0)}.on_clock();
    nodes_.put(nodes_.read(node, steady_of(said)), steady_of(said), said);
  }

  template <class Matches>
  std::vector<const json::Object*> matching(std::string_view resource, std::string_view ns, Matches matches) const {
    std::vector<const json::Object*> found;
    for (const auto& [key, value] : objects_)
      if (std::get<0>(key) == resource && (ns.empty() || std::get<1>(key) == ns) && matches(value->get_object()))
        found.push_back(&value->get_object());
    return found;
  }

  config::ConfigPtr config_;
  std::deque<json::Value> documents_;  // stay where they are
  std::map<std::tuple<std::string, std::string, std::string>, const json::Value*> objects_;
  Nodes nodes_;
  Migrations migrations_;
};

// 2026-01-02T03:04:05Z: what "now" is in tests unless they say otherwise.
inline constexpr Time test_now = Time(std::chrono::seconds(1767323045));

inline const ServerPlace test_place{.url = "https://here:6443", .authority = "CERTIFICATE\n"};

// A pass with the memory that it lives in.
struct TestPass {
  std::unique_ptr<json::Document> memory = std::make_unique<json::Document>();
  Pass pass;

  const Effect* find(Verb verb, std::string_view resource) const {
    const auto found = std::ranges::find_if(
        pass.effects, [&](const Effect& effect) { return effect.verb == verb && effect.resource == resource; });
    return found == pass.effects.end() ? nullptr : &*found;
  }
  // "reason Normal" of what was told, and of what effects tell when they are done.
  std::vector<std::string> events() const {
    std::vector<std::string> told;
    const auto text = [](const Event& event) {
      return fmt::format("{} {}", event.reason, event.type == EventType::normal ? "Normal" : "Warning");
    };
    for (const Told& one : pass.events) told.push_back(text(one.event));
    for (const Effect& effect : pass.effects) {
      if (effect.if_done) told.push_back(text(*effect.if_done));
      for (const Told& one : effect.also_told) told.push_back(text(one.event));
    }
    return told;
  }
};

inline TestPass sync(const Controller& controller, const TestWorld& world, const Key& key, Time now = test_now,
                     std::optional<Steady> steady = {}) {
  TestPass made;
  made.pass = controller.sync({.world = world,
                               .key = key,
                               .config = world.config(),
                               .now = now,
                               .steady = steady.value_or(steady_of(now)),
                               .random = 7,
                               .storage = made.memory->storage(),
                               .secret = {0x0123456789abcdef, 0xfedcba9876543210},
                               .place = &test_place});
  return made;
}

inline TestPass finish(const Controller& controller, const TestWorld& world, const Key& key, const TestPass& before,
                       const Carried& carried = {}, Time now = test_now) {
  TestPass made;
  made.pass = controller.finish({.world = world,
                                 .key = key,
                                 .config = world.config(),
                                 .now = now,
                                 .steady = steady_of(now),
                                 .random = 7,
                                 .storage = made.memory->storage()},
                                before.pass, carried);
  return made;
}

}  // namespace vg::controllers
