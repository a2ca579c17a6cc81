// For tests: the API of a node and the files of its guests, in memory, on a core whose time moves when it is told to.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handler/sync/guest_files.h"
#include "handler/sync/node_api.h"
#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/write.h"

namespace vg::handler::testing {

class FakeApi final : public NodeApi {
 public:
  explicit FakeApi(Core& core) : core_(core), config_(config::ClusterConfig::defaults("amd64")) {}

  // --- what a test sets and looks at

  void put_vmi(std::string_view text) {
    auto document = json::Document::parse(text);
    json::Object& metadata = *json::get_object(document->root(), "metadata");
    const Key key{.ns = std::string(json::get_string_or(metadata, "namespace")),
                  .name = std::string(json::get_string_or(metadata, "name"))};
    put(key, document->root());
  }
  // As somebody else changes it.
  void change_vmi(const Key& key, const std::function<void(json::Object&)>& change) {
    auto document = json::Document::parse(vmis_.at(key)->json);
    change(document->root().get_object());
    put(key, document->root());
  }
  void remove_vmi(const Key& key) {
    vmis_.erase(key);
    tell(key);
  }
  // The copy has it no more, though it is there.
  void lose_copy(const Key& key) {
    copies_.erase(key);
    if (changed_) changed_(key);
  }
  json::Document read(const Key& key) const { return *json::Document::parse(vmis_.at(key)->json); }
  std::string text_at(const Key& key, std::initializer_list<std::string_view> path) const {
    const json::Document document = read(key);
    return std::string(json::as_string(json::find_path(document.root(), path)).value_or(""));
  }
  std::string phase(const Key& key) const { return text_at(key, {"status", "phase"}); }
  // "True/PausedByUser"; empty when there is none.
  std::string condition(const Key& key, std::string_view type) const {
    const json::Document document = read(key);
    const json::Array* all = json::as_array(json::find_path(document.root(), {"status", "conditions"}));
    if (all)
      for (const json::Value& one : *all)
        if (json::get_string_or(one, "type") == type)
          return fmt::format("{}/{}", json::get_string_or(one, "status"), json::get_string_or(one, "reason"));
    return {};
  }
  std::vector<std::string> events;                          // "Started", each once for each time it was told
  std::map<std::string, std::string, std::less<>> objects;  // "secrets/NAME", "nodes/NAME" to documents
  std::optional<Status> refuse_reads;                       // of VMIs, live
  std::optional<Status> refuse_lists;                       // likewise
  int updates = 0, conflicts = 0, lists = 0;
  bool is_synced = true, is_listed = true;
  bool copies_follow = true;  // false: writes do not come back

  // --- NodeApi

  void on_change(std::function<void(const Key&)> changed) override { changed_ = std::move(changed); }
  bool synced() const override { return is_synced; }
  ObjectPtr vmi(const Key& key) const override {
    const auto found = copies_.find(key);
    return found == copies_.end() ? nullptr : found->second;
  }
  std::vector<Key> vmis() const override {
    std::vector<Key> keys;
    for (const auto& [key, object] : copies_) keys.push_back(key);
    return keys;
  }
  config::ConfigPtr config() const override { return config_; }

  Task<Result<json::Value>> get(Core&, ObjectName object, json::StoragePtr storage) override {
    if (object.resource.plural == vmi_resource.plural) {
      if (refuse_reads) co_return fail(*refuse_reads);
      const auto found = vmis_.find({.ns = std::string(object.ns), .name = std::string(object.name)});
      if (found == vmis_.end()) co_return fail(Status::not_found("", "", std::string(object.name)));
      co_return json::parse(found->second->json, storage);
    }
    const auto found = objects.find(fmt::format("{}/{}", object.resource.plural, object.name));
    if (found == objects.end()) co_return fail(Status::not_found("", "", std::string(object.name)));
    co_return json::parse(found->second, storage);
  }
  Task<Result<bool>> is_ours(Core&, const Key& key, std::string_view uid, json::StoragePtr) override {
    ++lists;
    if (refuse_lists) co_return fail(*refuse_lists);
    co_return is_listed&& vmis_.contains(key) && (uid.empty() || text_at(key, {"metadata", "uid"}) == uid);
  }
  Task<Result<json::Value>> create(Core&, ResourceName resource, std::string_view, const json::Value& object,
                                   json::StoragePtr storage) override {
    const std::string name(json::get_string_or(*json::get_object(object, "metadata"), "name"));
    if (resource.plural == event_resource.plural) {
      events.emplace_back(json::get_string_or(object, "reason"));
      event_names_[name] = events.back();
    } else {
      objects[fmt::format("{}/{}", resource.plural, name)] = json::to_text(object);
    }
    co_return json::Value(object, storage);
  }
  Task<Result<json::Value>> update(Core&, ObjectName object, const json::Value& value,
                                   json::StoragePtr storage) override {
    const Key key{.ns = std::string(object.ns), .name = std::string(object.name)};
    const auto found = vmis_.find(key);
    if (found == vmis_.end()) co_return fail(Status::not_found("", "", key.name));
    if (json::get_string_or(*json::get_object(value, "metadata"), "resourceVersion") !=
        found->second->resource_version) {
      ++conflicts;
      co_return fail(Status::conflict("kubevirt.io", "virtualmachineinstances", key.name, "it was changed"));
    }
    ++updates;
    put(key, value);
    co_return json::parse(vmis_.at(key)->json, storage);
  }
  Task<Result<std::string>> token(Core&, std::string_view ns, std::string_view account) override {
    co_return fmt::format("token of {}/{}", ns, account);
  }
  Task<Result<json::Value>> patch(Core&, ObjectName object, std::string_view, const json::Array& operations,
                                  json::StoragePtr storage) override {
    if (object.resource.plural == event_resource.plural) {
      events.push_back(event_names_[std::string(object.name)]);
      co_return json::Value(storage);
    }
    std::string& text = objects[fmt::format("{}/{}", object.resource.plural, object.name)];
    auto value = json::parse(text, storage);
    if (!value) co_return value;
    if (auto done = json::apply_json_patch(*value, json::Value(operations, storage)); !done)
      co_return fail(std::move(done.error()));
    text = json::to_text(*value);
    co_return value;
  }

  // Copies get what is true now.
  void catch_up() {
    copies_ = vmis_;
    if (changed_)
      for (const auto& [key, object] : copies_) changed_(key);
  }

 private:
  void put(const Key& key, const json::Value& value) {
    json::Document document;
    document.root() = json::Value(value, document.storage());
    const std::string version = fmt::to_string(++version_);
    (*json::get_object(document.root(), "metadata"))["resourceVersion"] = version;
    vmis_[key] = std::make_shared<const kube::CachedObject>(kube::CachedObject{
        .ns = key.ns, .name = key.name, .resource_version = version, .json = json::to_text(document.root())});
    tell(key);
  }
  void tell(const Key& key) {
    if (!copies_follow) return;
    core_.post([this, key] {
      if (const auto found = vmis_.find(key); found != vmis_.end())
        copies_[key] = found->second;
      else
        copies_.erase(key);
      if (changed_) changed_(key);
    });
  }

  Core& core_;
  config::ConfigPtr config_;
  std::function<void(const Key&)> changed_;
  std::map<Key, ObjectPtr> vmis_, copies_;
  std::map<std::string, std::string> event_names_;
  int version_ = 0;
};

class FakeFiles final : public GuestFiles {
 public:
  bool images_are_there = true;
  std::optional<Status> images_fail;
  std::optional<Status> carry_out_fails;
  std::set<std::string> secrets_wanted;
  std::vector<std::string> cleared, mounted, unmounted, forgotten;
  std::optional<Awaited> waits_for;
  std::function<void()> came;

  launch::Folders folders(std::string_view, std::string_view, std::string_view uid) const override {
    return {.guest = fmt::format("/guests/{}", uid),
            .shared = "/shared",
            .sockets = "/s",
            .disks = "/d",
            .images = "/i",
            .tpm = "/t"};
  }
  Result<std::optional<Images>> images(const std::string&, const json::Value&, std::shared_ptr<const Objects>,
                                       std::function<void()> told) override {
    came = std::move(told);
    if (images_fail) return fail(*images_fail);
    if (!images_are_there) return std::optional<Images>();
    return std::optional(Images{{.volume = "root", .disk = "/i/root", .format = "raw"}});
  }
  void forget(const std::string& uid) override { forgotten.push_back(uid); }
  std::optional<Awaited> awaited(const std::string&) const override { return waits_for; }
  Result<launch::Plan> plan(const launch::Wanted& wanted) const override {
    for (const std::string& secret : secrets_wanted)
      if (!wanted.mounted("Secret", secret))
        return fail(Status::bad_request(fmt::format("there is no Secret {}", secret)));
    return launch::Plan();
  }
  Result<std::vector<launch::Step>> plan_before_start(const launch::Wanted&, std::string_view) const override {
    return std::vector<launch::Step>();
  }
  Result<std::vector<launch::Step>> plan_hotplug(const launch::Wanted&, std::string_view volume) const override {
    return std::vector<launch::Step>{{.kind = launch::Step::Kind::link, .path = std::string(volume)}};
  }
  Result<std::vector<launch::Step>> plan_growth(const launch::Wanted&,
                                                const std::set<std::string, std::less<>>& volumes) const override {
    std::vector<launch::Step> steps;
    for (const std::string& volume : volumes)
      steps.push_back({.kind = launch::Step::Kind::grow, .volume = volume, .size = 64 << 20});
    return steps;
  }
  void put_paths(const launch::Wanted&, domain::DomainContext&) const override {}
  Task<Result<launch::Made>> carry_out(Core&, std::vector<launch::Step> steps) override {
    if (carry_out_fails) co_return fail(*carry_out_fails);
    launch::Made made;
    for (const launch::Step& step : steps)
      if (step.kind == launch::Step::Kind::grow)
        made.grown.emplace_back(step.volume, step.size);
      else
        mounted.push_back(step.path);
    co_return made;
  }
  Task<Result<void>> clear(Core&, launch::Folders folders) override {
    cleared.push_back(folders.guest);
    co_return Result<void>();
  }
  Task<Result<void>> clear_hotplug(Core&, launch::Folders, std::string volume) override {
    unmounted.push_back(std::move(volume));
    co_return Result<void>();
  }
};

}  // namespace vg::handler::testing
