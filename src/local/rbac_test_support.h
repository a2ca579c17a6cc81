// What the tests of access control share: a store with objects given as JSON.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/task.h"
#include "http/core.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "local/bootstrap_roles.h"
#include "ports/authorizer.h"
#include "ports/object_store_testing.h"
#include "store/testing.h"

namespace vg::local {

// Runs a task that never waits for anything.
template <class T>
T run(Task<T> task) {
  std::optional<T> result;
  spawn(
      [](Task<T> inner, std::optional<T>& out) -> Task<void> { out.emplace(co_await inner); }(std::move(task), result));
  return std::move(*result);
}

// For whoever names a core and never waits on it.
inline Core& idle_core() {
  static const std::unique_ptr<http::EventLoop> loop = http::EventLoop::create(0);
  return *loop;
}

// For an Rbac that reads every short change when it is asked, however slow the machine is.
inline constexpr std::chrono::hours at_once{1};

inline ObjectDraft simple_draft(const RoleDraft& wanted) {
  const json::Object& object = wanted.object;
  const json::Object& metadata = object.at("metadata").get_object();
  ObjectDraft draft;
  draft.uid = json::get_string_or(metadata, "uid", "uid");
  draft.json = json::to_text(json::Value(object));
  draft.revision_offset = static_cast<std::uint32_t>(draft.json.find("\"metadata\":{") + 12);
  if (const json::Object* labels = json::get_object(metadata, "labels"))
    for (const auto& [key, value] : *labels) draft.labels.emplace_back(key, value.as_string());
  draft.deleting = metadata.contains("deletionTimestamp");
  return draft;
}

inline json::Document parse(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return std::move(*document);
}

struct TestStore {
  vg::store::TemporaryFolder folder;
  std::unique_ptr<vg::store::EmbeddedStore> store;

  TestStore() {
    vg::store::Options options;
    options.path = folder.file("store.db");
    store = vg::store::must_open(std::move(options));
  }

  static ObjectKey key_of(std::string_view resource, const json::Object& object) {
    const json::Object& metadata = object.at("metadata").get_object();
    return {.resource = std::string(resource),
            .ns = std::string(json::get_string_or(metadata, "namespace")),
            .name = std::string(json::get_string_or(metadata, "name"))};
  }
  // Creates or replaces.
  void put(std::string_view resource, const json::Object& object) {
    ObjectKey key = key_of(resource, object);
    const bool exists = store->get(key.resource, key.ns, key.name) != nullptr;
    Write write{.kind = exists ? WriteKind::update : WriteKind::create,
                .key = std::move(key),
                .object = simple_draft({.resource = resource, .object = object})};
    const auto done = testing::commit(*store, std::move(write));
    EXPECT_TRUE(done) << done.error().message;
  }
  void put(std::string_view resource, std::string_view text) { put(resource, parse(text).root().as_object()); }
  void remove(std::string_view resource, std::string ns, std::string name) {
    EXPECT_TRUE(testing::commit(*store, testing::remove({std::string(resource), std::move(ns), std::move(name)})));
  }
};

inline User user(std::string name, std::vector<std::string> groups = {}) {
  return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

}  // namespace vg::local
