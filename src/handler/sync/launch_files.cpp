#include "handler/sync/launch_files.h"

#include <fmt/format.h>

#include "base/node_limits.h"
#include "base/off_loop.h"
#include "images/image_store.h"

namespace vg::handler {

launch::Mounted look_in(const std::shared_ptr<const Objects>& objects) {
  return [objects](std::string_view kind, std::string_view name) -> const json::Object* {
    const auto found = objects->find({std::string(kind), std::string(name)});
    return found == objects->end() || !found->second ? nullptr : found->second->root().if_object();
  };
}

LaunchFiles::LaunchFiles(Core& core, NodePlace place, images::ImageStore& store)
    : core_(core), place_(std::move(place)), store_(store) {}

LaunchFiles::~LaunchFiles() { *alive_ = nullptr; }

launch::Folders LaunchFiles::folders(std::string_view /*ns*/, std::string_view /*name*/, std::string_view uid) const {
  return {.guest = fmt::format("{}/guests/{}", place_.state, uid),
          .sockets = fmt::format("{}/{}", place_.sockets, uid),
          .disks = place_.disks,
          .images = place_.images,
          .tpm = place_.tpm};
}

void LaunchFiles::begin(const std::string& uid, const json::Value& vmi, std::shared_ptr<const Objects> objects,
                        std::function<void()> came) {
  auto document = std::make_shared<json::Document>();
  document->root() = json::Value(vmi, document->storage());
  ++running_;
  auto work = [this, uid, document, objects = std::move(objects), came = std::move(came), alive = alive_]() mutable {
    auto result = std::make_shared<Result<Images>>(launch::provide_images(store_, document->root(), look_in(objects)));
    core_.post([uid, result, came = std::move(came), alive = std::move(alive)] {
      LaunchFiles* self = *alive;
      if (!self) return;
      --self->running_;
      if (const auto found = self->fetches_.find(uid); found != self->fetches_.end())
        found->second.result = std::move(*result);
      came();
    });
  };
  fetches_[uid].thread = std::jthread(std::move(work));
}

Result<std::optional<GuestFiles::Images>> LaunchFiles::images(const std::string& uid, const json::Value& vmi,
                                                              std::shared_ptr<const Objects> objects,
                                                              std::function<void()> came) {
  const auto now = std::chrono::steady_clock::now();
  const auto found = fetches_.find(uid);
  if (found == fetches_.end()) {
    if (auto waits = back_off_.wait(uid, now)) return fail(std::move(*waits));
    if (running_ < limits::image_pulls_max) begin(uid, vmi, std::move(objects), std::move(came));
    return on_its_way(uid);
  }
  if (!found->second.result) return on_its_way(uid);
  Result<Images> result = *found->second.result;
  if (result) return std::optional(std::move(*result));
  fetches_.erase(found);
  back_off_.failed(uid, std::move(result.error()), now);
  return fail(*back_off_.last(uid));
}

// What failed before is said until it comes.
Result<std::optional<GuestFiles::Images>> LaunchFiles::on_its_way(const std::string& uid) const {
  if (auto failed = back_off_.last(uid)) return fail(std::move(*failed));
  return std::optional<Images>();
}

void LaunchFiles::forget(const std::string& uid) {
  back_off_.forget(uid);
  const auto found = fetches_.find(uid);
  if (found != fetches_.end() && found->second.result) fetches_.erase(found);
}

Result<launch::Plan> LaunchFiles::plan(const launch::Wanted& wanted) const { return launch::plan(wanted); }

Result<std::vector<launch::Step>> LaunchFiles::plan_before_start(const launch::Wanted& wanted,
                                                                 std::string_view defined_xml) const {
  return launch::plan_before_start(wanted, defined_xml);
}

Result<std::vector<launch::Step>> LaunchFiles::plan_hotplug(const launch::Wanted& wanted,
                                                            std::string_view volume) const {
  return launch::plan_hotplug(wanted, volume);
}

Result<std::vector<launch::Step>> LaunchFiles::plan_growth(const launch::Wanted& wanted,
                                                           const std::set<std::string, std::less<>>& volumes) const {
  return launch::plan_growth(wanted, volumes);
}

void LaunchFiles::put_paths(const launch::Wanted& wanted, domain::DomainContext& context) const {
  launch::put_paths(wanted, context);
}

Task<Result<launch::Made>> LaunchFiles::carry_out(Core& core, std::vector<launch::Step> steps) {
  co_return co_await off_loop(core, off_loop_bytes_min, [&] { return launch::carry_out(steps); });
}

Task<Result<void>> LaunchFiles::clear(Core& core, launch::Folders folders) {
  co_return co_await off_loop(core, off_loop_bytes_min, [&] { return launch::clear(folders); });
}

Task<Result<void>> LaunchFiles::clear_hotplug(Core& core, launch::Folders folders, std::string volume) {
  co_return co_await off_loop(core, off_loop_bytes_min, [&] { return launch::clear_hotplug(folders, volume); });
}

}  // namespace vg::handler
