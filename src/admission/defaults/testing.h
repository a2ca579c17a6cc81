// For tests of defaults: a configuration, other objects, and randomness that is none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/context.h"
#include "admission/defaults/completion.h"
#include "admission/defaults/presets.h"
#include "admission/rule.h"
#include "admission/webhook.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "config/cluster_config.h"
#include "json/access.h"
#include "json/document.h"
#include "json/patch.h"
#include "json/pointer.h"
#include "json/write.h"

namespace vg::admission::testing {

// The steps of a mutating webhook behind decoding: what is being deleted is let go, then its rules, then its defaults.
inline Verdict complete_by(const Webhook& webhook, const Case& judged) {
  if (std::ranges::find(webhook.steps, Step::living) != webhook.steps.end() &&
      json::find_path(*judged.object, {"metadata", "deletionTimestamp"}))
    return Verdict::allow();
  if (webhook.rules) {
    Causes causes;
    ask_rules(webhook.rules(), judged, causes);
    if (Verdict verdict = causes.verdict(); !verdict.allowed) return verdict;
  }
  return webhook.complete(judged);
}

using json::Value;

inline json::Document parsed(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : json::Document();
}

// Objects that exist. Every look-up hands out a copy, as the real ones do.
class KnownObjects final : public Lookups {
 public:
  void add(const Value& object) {
    const auto api_version = json::get_string_or(object, "apiVersion");
    const std::size_t slash = api_version.find('/');
    const std::string group(slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash));
    std::string plural(json::get_string_or(object, "kind"));
    for (char& c : plural)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    const Value* metadata = json::find(object, "metadata");
    Key key{group.empty() ? plural + "s" : group + "/" + plural + "s",
            std::string(json::get_string_or(*metadata, "namespace")),
            std::string(json::get_string_or(*metadata, "name"))};
    objects_.insert_or_assign(std::move(key), json::to_text(object));
  }
  void add_text(std::string_view text) { add(parsed(text).root()); }

  // From now on every look-up of this resource fails.
  void break_resource(std::string resource) { broken_ = std::move(resource); }

  Result<Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                     const json::StoragePtr& storage) const override {
    if (resource == broken_) return fail(Status::unavailable("no answer"));
    const auto found = objects_.find({std::string(resource), std::string(ns), std::string(name)});
    return found == objects_.end() ? nullptr : copy(found->second, storage);
  }
  Result<std::vector<Value*>> list(std::string_view resource, std::string_view ns,
                                   const json::StoragePtr& storage) const override {
    if (resource == broken_) return fail(Status::unavailable("no answer"));
    std::vector<Value*> found;
    for (const auto& [key, text] : objects_)
      if (key.resource == resource && (ns.empty() || key.ns == ns)) found.push_back(copy(text, storage));
    return found;
  }
  Result<std::vector<Value*>> list_labelled(std::string_view resource, std::string_view ns, std::string_view label,
                                            std::string_view value, const json::StoragePtr& storage) const override {
    auto all = list(resource, ns, storage);
    if (!all) return all;
    std::erase_if(*all, [&](const Value* object) {
      return json::as_string(json::find_path(*object, {"metadata", "labels", label})) != value;
    });
    return all;
  }
  bool missed() const override { return false; }

 private:
  struct Key {
    std::string resource, ns, name;
    auto operator<=>(const Key&) const = default;
  };
  static Value* copy(const std::string& text, const json::StoragePtr& storage) {
    auto value = json::parse(text, storage);
    EXPECT_TRUE(value);
    return new (storage->allocate(sizeof(Value), alignof(Value))) Value(std::move(*value));
  }

  std::map<Key, std::string> objects_;
  std::string broken_;
};

inline constexpr std::string_view fixed_uuid = "11111111-2222-4333-8444-555555555555";
inline constexpr std::string_view fixed_time = "2026-01-02T03:04:05Z";

// spec.configuration of a KubeVirt object.
inline config::ConfigPtr configuration(std::string_view text, std::string_view architecture = "amd64",
                                       std::string_view annotations = "{}") {
  const json::Document kubevirt =
      parsed(R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt","namespace":"kubevirt",)"
             R"("annotations":)" +
             std::string(annotations) + R"(},"spec":{"configuration":)" + std::string(text) +
             R"(},"status":{"phase":"Deployed","defaultArchitecture":")" + std::string(architecture) + R"("}})");
  auto read = config::ClusterConfig::read(kubevirt.root(), "1");
  EXPECT_TRUE(read) << text;
  return read ? *read : config::ClusterConfig::defaults(architecture);
}

// One webhook asked once.
struct Asked {
  json::Document document;
  Verdict verdict;
  const Value* object = nullptr;

  bool allowed() const { return verdict.allowed; }
  int code() const { return verdict.refusal().code; }
  // Text of what stands at a JSON pointer; "" for nothing.
  std::string at(std::string_view pointer) const {
    const Value* value = json::resolve(*object, *json::Pointer::parse(pointer));
    return value ? json::to_text(*value) : std::string();
  }
};

struct DefaultsTest : ::testing::Test {
  KnownObjects known;
  config::ConfigPtr config = configuration("{}");
  std::string username = "alice";
  Randomness randomness{.uuid = [] { return std::string(fixed_uuid); },
                        .suffix = [](std::size_t length) { return std::string(length, 'x'); }};

  // `old_object` empty: a create.
  Asked ask(std::string_view path, std::string_view object, std::string_view old_object = {}) {
    Asked asked{.document = parsed(R"({"object":)" + std::string(object) + R"(,"oldObject":)" +
                                   (old_object.empty() ? "null" : std::string(old_object)) + "}"),
                .verdict = {}};
    const Webhook& webhook = *find_webhook(path);
    const Subject& subject = webhook.subjects.front();
    Review review;
    review.operation_name = old_object.empty() ? "CREATE" : "UPDATE";
    review.user.username = username;
    review.resource = {.group = webhook.group, .version = webhook.versions.back(), .resource = subject.resource};
    review.object = json::find(asked.document.root(), "object");
    review.old_object = old_object.empty() ? nullptr : json::find(asked.document.root(), "oldObject");
    const api::Type& type = *api::find_kind(subject.kind_group, "", subject.kind)->type;
    const bool empty_requests = sends_empty_requests(review.object);
    EXPECT_TRUE(api::canonicalize(*review.object, type));
    if (review.old_object) EXPECT_TRUE(api::canonicalize(*review.old_object, type));
    const Context context{.config = *config,
                          .lookups = known,
                          .randomness = randomness,
                          .own_namespace = "kubevirt",
                          .now = Clock::Wall(std::chrono::seconds(1767323045)),
                          .storage = asked.document.storage()};
    asked.object = review.object;
    asked.verdict = complete_by(webhook, {.context = context,
                                          .review = review,
                                          .webhook = webhook,
                                          .object = review.object,
                                          .old_object = review.old_object,
                                          .empty_requests = empty_requests});
    return asked;
  }
};

}  // namespace vg::admission::testing
