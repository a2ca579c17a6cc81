// Reviews that look like real ones, of objects that the input's bytes choose (object_generator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "admission/context.h"
#include "admission/webhook.h"
#include "api/schema.h"
#include "config/cluster_config.h"
#include "json/value.h"
#include "object_generator.h"

namespace vg::fuzz {

inline constexpr std::string_view operations[] = {"CREATE", "UPDATE", "CREATE", "UPDATE", "CREATE",
                                                  "UPDATE", "CREATE", "UPDATE", "DELETE", ""};
inline constexpr std::string_view users[] = {"alice", "system:serviceaccount:kubevirt:kubevirt-controller",
                                             "system:serviceaccount:kubevirt:kubevirt-handler",
                                             "system:serviceaccount:kubevirt:kubevirt-apiserver", ""};

// A pod like those that carry machines, or their volumes.
inline void make_carrier(json::Object& pod, Choices& choices, const json::StoragePtr& storage) {
  constexpr std::string_view roles[] = {"virt-launcher", "hotplug-disk"};
  json::Object labels({{"kubevirt.io", choices.of(roles)}}, storage);
  json::Object annotations({{"kubevirt.io/domain", "a"}}, storage);
  json::Value& metadata = pod["metadata"];
  if (!metadata.is_object()) metadata = json::Object(storage);
  metadata.get_object()["labels"] = std::move(labels);
  metadata.get_object()["annotations"] = std::move(annotations);
}

// Other objects: there, not there, or not to be had.
class GeneratedLookups final : public admission::Lookups {
 public:
  explicit GeneratedLookups(Choices& choices) : choices_(choices) {}

  Result<json::Value*> get(std::string_view resource, std::string_view, std::string_view name,
                           const json::StoragePtr& storage) const override {
    switch (choices_.below(4)) {
      case 0:
        return nullptr;
      case 1:
        return fail(Status::internal_error("not now"));
      default:
        return made(resource, name, storage);
    }
  }
  Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view,
                                         const json::StoragePtr& storage) const override {
    if (choices_.once_in(16)) return fail(Status::internal_error("not now"));
    std::vector<json::Value*> all;
    for (std::size_t left = choices_.below(4); left > 0; --left)
      all.push_back(made(resource, choices_.of(texts), storage));
    return all;
  }
  Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns, std::string_view,
                                                  std::string_view, const json::StoragePtr& storage) const override {
    return list(resource, ns, storage);
  }
  bool missed() const override { return false; }

 private:
  json::Value* made(std::string_view resource, std::string_view name, const json::StoragePtr& storage) const {
    const std::string_view plural = resource.substr(resource.find('/') + 1);
    const std::string_view group = plural.size() == resource.size() ? "" : resource.substr(0, resource.find('/'));
    json::Value object(json::Object{storage});
    for (const api::Kind& kind : api::kinds())
      if (kind.group == group && kind.plural == plural && kind.type)
        object = Generator(choices_, storage).object(*kind.type);
    if (json::Object* members = object.if_object()) {
      json::Value& metadata = (*members)["metadata"];
      if (!metadata.is_object()) metadata = json::Object(storage);
      metadata.get_object()["name"] = name;
      if (resource == "pods" && !choices_.hardly_ever()) make_carrier(*members, choices_, storage);
    }
    return new (storage->allocate(sizeof(json::Value), alignof(json::Value))) json::Value(std::move(object));
  }

  Choices& choices_;
};

// The request of a review for the webhook.
inline json::Value make_request(const admission::Webhook& webhook, Choices& choices, const json::StoragePtr& storage) {
  Generator generator(choices, storage);
  const admission::Subject& subject = choices.of(webhook.subjects);
  const std::string_view version = choices.of(webhook.versions);
  json::Object request(storage);
  const auto add = [&](std::string_view name, std::string_view text) { request[name] = generator.text(text); };
  add("uid", "u");
  add("name", choices.byte() % 4 == 1 ? generator.some_text() : "a");
  add("namespace", choices.byte() % 4 == 1 ? generator.some_text() : "default");
  add("operation", choices.of(operations));
  request["userInfo"] = json::Object({{"username", users[choices.below(std::size(users))]}}, storage);
  request["resource"] =
      json::Object({{"group", webhook.group}, {"version", version}, {"resource", subject.resource}}, storage);
  if (choices.hardly_ever()) request["resource"].get_object()["group"] = generator.some_text();
  request["dryRun"] = choices.byte() % 2 == 1;

  const api::Kind* kind = api::find_kind(subject.kind_group, "", subject.kind);
  json::Value object = kind && kind->type ? generator.object(*kind->type) : json::Value(json::Object(storage));
  if (json::Object* members = object.if_object(); members && !choices.hardly_ever()) {
    (*members)["kind"] = generator.text(subject.kind);
    (*members)["apiVersion"] = generator.text(std::string(webhook.group) + "/" + std::string(version));
  }
  if (json::Object* members = object.if_object(); members && subject.kind == "Pod" && !choices.hardly_ever())
    make_carrier(*members, choices, storage);
  json::Value old(object, storage);
  if (choices.byte() % 2 == 1) generator.disturb(object);
  if (choices.hardly_ever()) generator.disturb(old);
  if (!choices.hardly_ever()) request["object"] = std::move(object);
  if (!choices.hardly_ever()) request["oldObject"] = std::move(old);
  return json::Value(std::move(request));
}

// Any gates on or off, and some of the settings that rules look at.
inline config::ConfigPtr make_config(Choices& choices) {
  json::Document memory;
  const json::StoragePtr storage = memory.storage();
  json::Array on(storage), off(storage);
  enum Gates { as_they_are, all, some };
  const std::size_t mode = choices.below(3);
  for (const config::GateRow& gate : config::gates()) {
    const std::uint8_t choice = mode == some ? choices.byte() : std::uint8_t{0};
    if (mode == all || choice % 4 == 1) on.emplace_back(gate.name);
    if (choice % 8 == 2) off.emplace_back(gate.name);
  }
  json::Object developer({{"featureGates", std::move(on)}, {"disabledFeatureGates", std::move(off)}}, storage);
  json::Object configuration({{"developerConfiguration", std::move(developer)}}, storage);
  if (const api::Type* type = api::find_type("kubevirt.KubeVirtConfiguration"); type && choices.once_in(4)) {
    json::Value more = Generator(choices, storage).object(*type);
    if (json::Object* members = more.if_object())
      for (auto& member : *members) configuration.emplace(member.key(), std::move(member.value()));
  }
  const json::Value kubevirt(
      json::Object({{"spec", json::Object({{"configuration", std::move(configuration)}}, storage)}}, storage));
  auto config = config::ClusterConfig::read(kubevirt, "1");
  return config ? *config : config::ClusterConfig::defaults("amd64");
}

}  // namespace vg::fuzz
