#include "handler/sync/launch_files.h"

#include <fmt/format.h>

#include "base/node_limits.h"
#include "base/off_loop.h"
#include "images/image_store.h"
#include "json/access.h"

namespace vg::handler {

launch::Mounted look_in(const std::shared_ptr<const Objects>& objects) {
  return [objects](std::string_view kind, std::string_view name) -> const json::Object* {
    const auto found = objects->find({std::string(kind), std::string(name)});
    return found == objects->end() || !found->second ? nullptr : found->second->root().if_object();
  };
}

LaunchFiles::LaunchFiles(Core& core, NodePlace place, images::ImageStore& store)
    : core_(core),
      place_(std::move(place)),
      store_(store),
      lookups_(limits::image_lookups_max),
      pulls_(limits::image_pulls_max) {}

LaunchFiles::~LaunchFiles() {
  *alive_ = nullptr;
  for (auto& [id, run] : runs_) run.thread.request_stop();
}

launch::Folders LaunchFiles::folders(std::string_view /*ns*/, std::string_view /*name*/, std::string_view uid) const {
  return {.guest = fmt::format("{}/guests/{}", place_.state, uid),
          .shared = fmt::format("{}/shared/{}", place_.state, uid),
          .sockets = fmt::format("{}/{}", place_.sockets, uid),
          .disks = place_.disks,
          .images = place_.images,
          .tpm = place_.tpm};
}

void LaunchFiles::line_up(const std::string& uid, Fetch& fetch, Lane lane) {
  fetch.lane = lane;
  fetch.run = ++last_run_;
  runs_[fetch.run] = {.uid = uid, .lane = lane};
  slots(lane).wait(fetch.run, fetch.ns);
}

// Begins whatever has a place, and has one end for a namespace that has none.
void LaunchFiles::pump() {
  for (const Lane lane : {Lane::lookup, Lane::network})
    while (const auto id = slots(lane).next()) start(*id);
  if (const auto id = pulls_.surplus()) {
    Run& run = runs_.at(*id);
    run.gives_way = true;
    run.thread.request_stop();
  }
}

void LaunchFiles::start(images::FairSlots::Id id) {
  Run& run = runs_.at(id);
  const Fetch& fetch = fetches_.at(run.uid);
  auto work = [this, id, lane = run.lane, vmi = fetch.vmi, objects = fetch.objects, said = fetch.said,
               alive = alive_](const std::stop_token& stop) {
    const launch::Fetching how{.network = lane == Lane::network, .stop = stop, .told = [&](std::string_view reference) {
                                 const std::lock_guard lock(said->mutex);
                                 said->reference = reference;
                               }};
    auto found = std::make_shared<Found>(launch::provide_images(store_, vmi->root(), look_in(objects), how));
    core_.post([id, found, alive] {
      if (LaunchFiles* self = *alive) self->ended(id, std::move(*found));
    });
  };
  run.thread = std::jthread(std::move(work));
}

void LaunchFiles::ended(images::FairSlots::Id id, Found found) {
  const auto run = runs_.extract(id);  // its thread has nothing more to do
  slots(run.mapped().lane).leave(id);
  const auto fetch = fetches_.find(run.mapped().uid);
  if (fetch != fetches_.end() && fetch->second.run == id) {
    const bool again = !found && run.mapped().gives_way;
    if (again || (found && !*found)) {
      line_up(fetch->first, fetch->second, Lane::network);
    } else {
      fetch->second.result =
          found ? Result<Images>(std::move(**found)) : Result<Images>(fail(std::move(found.error())));
      fetch->second.came();
    }
  }
  pump();
}

Result<std::optional<GuestFiles::Images>> LaunchFiles::images(const std::string& uid, const json::Value& vmi,
                                                              std::shared_ptr<const Objects> objects,
                                                              std::function<void()> came) {
  const auto now = std::chrono::steady_clock::now();
  const auto found = fetches_.find(uid);
  if (found == fetches_.end()) {
    if (auto waits = back_off_.wait(uid, now)) return fail(std::move(*waits));
    auto document = std::make_shared<json::Document>();
    document->root() = json::Value(vmi, document->storage());
    Fetch& fetch = fetches_[uid];
    fetch.ns = json::as_string(json::find_path(vmi, {"metadata", "namespace"})).value_or("");
    fetch.vmi = std::move(document);
    fetch.objects = std::move(objects);
    fetch.came = std::move(came);
    line_up(uid, fetch, Lane::lookup);
    pump();
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
  const auto fetch = fetches_.find(uid);
  if (fetch == fetches_.end()) return;
  if (const auto run = runs_.find(fetch->second.run); run != runs_.end()) {
    if (run->second.thread.joinable()) {
      run->second.thread.request_stop();
    } else {
      slots(run->second.lane).leave(run->first);
      runs_.erase(run);
    }
  }
  fetches_.erase(fetch);
  pump();
}

std::optional<GuestFiles::Awaited> LaunchFiles::awaited(const std::string& uid) const {
  const auto found = fetches_.find(uid);
  if (found == fetches_.end() || found->second.result || found->second.lane != Lane::network) return std::nullopt;
  const Fetch& fetch = found->second;
  if (!pulls_.is_running(fetch.run))
    return Awaited{
        .reason = "ImagePullQueued",
        .message = fmt::format("the images of the VMI are pulled when other pulls of this node are over: all "
                               "{} are in use, {} of them by the namespace {}",
                               limits::image_pulls_max, pulls_.running_of(fetch.ns), fetch.ns)};
  const std::lock_guard lock(fetch.said->mutex);
  if (fetch.said->reference.empty()) return std::nullopt;
  return Awaited{.reason = "ImagePulling",
                 .message = fmt::format("the image {} is being pulled", fetch.said->reference)};
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
  co_return co_await off_loop(core, off_loop_bytes_min, [&] {
    remove_moves(place_.sockets, folders.sockets.substr(folders.sockets.rfind('/') + 1));
    return launch::clear(folders);
  });
}

Task<Result<void>> LaunchFiles::clear_hotplug(Core& core, launch::Folders folders, std::string volume) {
  co_return co_await off_loop(core, off_loop_bytes_min, [&] { return launch::clear_hotplug(folders, volume); });
}

}  // namespace vg::handler
