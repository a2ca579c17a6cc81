#include "handler/sync/starting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/node_limits.h"
#include "domain/paths.h"
#include "domain/prepare.h"
#include "domain/xml.h"
#include "guests/ending.h"
#include "json/access.h"

namespace vg::handler {
namespace {

using controllers::EventType;
using launch::Wanted;
using Names = std::vector<std::pair<std::string, std::string>>;

// Image pull secrets, which must be at hand before images are asked for.
Names pull_secrets(const json::Value& vmi) {
  Names names;
  const auto add = [&](const json::Value* container) {
    const std::string_view name = container ? json::get_string_or(*container, "imagePullSecret") : std::string_view();
    if (!name.empty() && names.size() < limits::mounted_objects_max) names.emplace_back("Secret", name);
  };
  const json::Array* volumes = json::as_array(json::find_path(vmi, {"spec", "volumes"}));
  if (volumes)
    for (const json::Value& volume : *volumes) add(json::find(volume, "containerDisk"));
  add(json::find_path(vmi, {"spec", "domain", "firmware", "kernelBoot", "container"}));
  return names;
}

// RUN-ISO-04: one file, so the first.
std::string service_account_of(const json::Value& vmi) {
  const json::Array* volumes = json::as_array(json::find_path(vmi, {"spec", "volumes"}));
  if (volumes)
    for (const json::Value& volume : *volumes)
      if (const json::Object* account = json::get_object(volume, "serviceAccount"))
        return std::string(json::get_string_or(*account, "serviceAccountName"));
  return {};
}

bool is_in_place(const json::Value& entry) {
  const std::string_view phase = json::get_string_or(entry, "phase");
  return phase == "MountedToPod" || phase == "Ready";
}

// Volumes whose claims a guest that comes has plugged in.
Names plugged_volumes(const json::Value& vmi) {
  Names names;
  const json::Array* entries = json::as_array(json::find_path(vmi, {"status", "volumeStatus"}));
  if (entries)
    for (const json::Value& entry : *entries)
      if (json::find(entry, "hotplugVolume") && is_in_place(entry))
        names.emplace_back("", json::get_string_or(entry, "name"));
  return names;
}

bool starts_paused(const json::Value& vmi) {
  return json::as_string(json::find_path(vmi, {"spec", "startStrategy"})) == "Paused";
}

}  // namespace

Wanted Starter::wanted(const Work& work, std::shared_ptr<const Objects> objects,
                       std::vector<launch::ContainerImage> images) const {
  return {.vmi = work.vmi,
          .folders = parts_.files.folders(work.key.ns, work.key.name, work.uid),
          .mounted = look_in(objects),
          .images = std::move(images),
          .authority = parts_.authority};
}

Task<Result<void>> Starter::fetch(const Work& work, const Names& names, Objects& objects) {
  for (const auto& name : names) {
    if (objects.contains(name)) continue;
    if (objects.size() >= limits::mounted_objects_max)
      co_return fail(Status::bad_request(fmt::format("the VMI mounts more than {} objects", objects.size())));
    auto document = std::make_shared<json::Document>();
    const ResourceName resource = name.first == "Secret" ? secret_resource : config_map_resource;
    auto found = co_await parts_.api.get(parts_.core, {resource, work.key.ns, name.second}, document->storage());
    if (!found && found.error().code != 404) co_return fail(std::move(found.error()));
    if (found) document->root() = std::move(*found);
    objects.emplace(name, found ? std::move(document) : nullptr);
  }
  co_return Result<void>();
}

// The plan is asked what it wants until it wants nothing new: what a VMI mounts is known there alone.
Task<Result<std::shared_ptr<const Objects>>> Starter::fetch_mounted(const Work& work,
                                                                    const GuestFiles::Images& images) {
  auto objects = std::make_shared<Objects>();
  Names missing;
  do {
    if (auto done = co_await fetch(work, missing, *objects); !done) co_return fail(std::move(done.error()));
    missing.clear();
    Wanted asked = wanted(work, objects, images);
    asked.mounted = [&](std::string_view kind, std::string_view name) -> const json::Object* {
      const auto found = objects->find({std::string(kind), std::string(name)});
      if (found == objects->end()) missing.emplace_back(kind, name);
      return found == objects->end() || !found->second ? nullptr : found->second->root().if_object();
    };
    (void)parts_.files.plan(asked);
  } while (!missing.empty());
  co_return std::shared_ptr<const Objects>(std::move(objects));
}

// Nothing: they are on their way.
Task<Result<std::optional<GuestFiles::Images>>> Starter::fetch_images(const Work& work) {
  auto secrets = std::make_shared<Objects>();
  if (auto done = co_await fetch(work, pull_secrets(work.vmi), *secrets); !done)
    co_return fail(std::move(done.error()));
  co_return parts_.files.images(work.uid, work.vmi, std::move(secrets), [wake = wake_, key = work.key] { wake(key); });
}

Result<guests::Built> Starter::build(const Work& work, const Wanted& wanted, guests::Bridges bridges) const {
  const config::ConfigPtr config = parts_.api.config();
  guests::Wanted asked{.vmi = work.vmi,
                       .config = *config,
                       .host = parts_.host,
                       .put_paths = [&](domain::DomainContext& context) { parts_.files.put_paths(wanted, context); },
                       .disk_formats = {},
                       .bridges = std::move(bridges)};
  for (const launch::ContainerImage& image : wanted.images)
    if (!image.volume.empty()) asked.disk_formats.emplace(image.volume, image.format);
  return guests::build(asked);
}

Task<Outcome> Starter::start(const Work& work) {
  Outcome outcome;
  const auto failed = [&](Status status) {
    outcome.error = std::move(status);
    return outcome;
  };
  auto images = co_await fetch_images(work);
  if (!images) co_return failed(std::move(images.error()));
  if (!*images) {
    outcome.awaited = parts_.files.awaited(work.uid);
    outcome.look_again(limits::guest_look_again);
    co_return outcome;
  }
  auto objects = co_await fetch_mounted(work, **images);
  if (!objects) co_return failed(std::move(objects.error()));
  Wanted wanted = this->wanted(work, std::move(*objects), std::move(**images));
  if (const std::string account = service_account_of(work.vmi); !account.empty()) {
    auto token = co_await parts_.api.token(parts_.core, work.key.ns, account);
    if (!token) co_return failed(std::move(token.error()));
    wanted.service_account_token = std::move(*token);
  }
  auto started = co_await define_and_start(work, wanted, outcome);
  if (!started) co_return failed(std::move(started.error()));
  parts_.files.forget(work.uid);
  co_return outcome;
}

// DOM-HPP-06a: defined once to learn the addresses, and again with ports to spare.
Task<Result<std::string>> Starter::define(const guests::Built& built) {
  auto completed = co_await parts_.hypervisor.define(parts_.core, domain::to_xml(built.document));
  if (!completed || built.spare_ports == 0) co_return completed;
  const auto facts = guests::read_facts(*completed);
  if (!facts) co_return fail(facts.error());
  co_return co_await parts_.hypervisor.define(
      parts_.core, domain::with_spare_ports(std::move(*completed), facts->pci_index_max, built.spare_ports));
}

// RUN-STA-04
void Starter::remember(const Work& work) const {
  work.remembered.uid = work.uid;
  work.remembered.grace_seconds = guests::grace_of(work.vmi.get_object()).value_or(guests::usual_grace_seconds);
  work.remembered.address = guests::loopback_address(work.uid);
  work.remembered.ports_forwarded = false;
  work.remembered.shutdown_since.reset();
}

// A node that was away may have files of an earlier VMI of this name, which nobody would know of once the record is
// this one's.
Task<Result<void>> Starter::clear_earlier(const Work& work) {
  const std::string& before = work.remembered.uid;
  if (before.empty() || before == work.uid) co_return Result<void>();
  co_return co_await parts_.files.clear(parts_.core, parts_.files.folders(work.key.ns, work.key.name, before));
}

// Where the files are that the guest has now, on the node beside this one.
std::string Starter::source_guest(const Work& work) const {
  const std::string node(json::as_string(json::find_path(work.vmi, {"status", "nodeName"})).value_or(""));
  std::string folder = parts_.files.folders(work.key.ns, work.key.name, work.uid).guest;
  if (!domain::is_file_name(node) || !parts_.other_node || !folder.starts_with(parts_.paths.state)) return folder;
  return folder.replace(0, parts_.paths.state.size(), parts_.other_node(node).paths.state);
}

// RUN-MIT-01: the files, and no definition, which comes with the guest.
Task<Result<bool>> Starter::prepare_target(const Work& work) {
  auto images = co_await fetch_images(work);
  if (!images) co_return fail(std::move(images.error()));
  if (!*images) co_return false;
  auto objects = co_await fetch_mounted(work, **images);
  if (!objects) co_return fail(std::move(objects.error()));
  Wanted wanted = this->wanted(work, std::move(*objects), std::move(**images));
  wanted.source_guest = source_guest(work);
  const auto plan = parts_.files.plan(wanted);
  if (!plan) co_return fail(plan.error());
  auto before_start = parts_.files.plan_before_start(wanted, "");
  if (!before_start) co_return fail(std::move(before_start.error()));
  std::vector<launch::Step> steps = plan->before_define;
  std::ranges::move(*before_start, std::back_inserter(steps));
  for (const auto& [kind, volume] : plugged_volumes(work.vmi)) {
    auto mounting = parts_.files.plan_hotplug(wanted, volume);
    if (mounting) std::ranges::move(*mounting, std::back_inserter(steps));
  }
  if (auto cleared = co_await clear_earlier(work); !cleared) co_return fail(std::move(cleared.error()));
  remember(work);
  if (auto saved = co_await parts_.records.save(parts_.core); !saved) co_return fail(std::move(saved.error()));
  auto made = co_await parts_.files.carry_out(parts_.core, std::move(steps));
  if (!made) co_return fail(std::move(made.error()));
  parts_.files.forget(work.uid);
  co_return true;
}

// RUN-STA-01 to RUN-STA-03. A domain that did not start goes: its next attempt begins anew.
Task<Result<void>> Starter::define_and_start(const Work& work, const Wanted& wanted, Outcome& outcome) {
  const auto plan = parts_.files.plan(wanted);
  if (!plan) co_return fail(plan.error());
  auto bridges = co_await networking_.bridges(work);
  if (!bridges) co_return fail(std::move(bridges.error()));
  if (auto cleared = co_await clear_earlier(work); !cleared) co_return cleared;
  if (auto known = co_await parts_.records.write_down(parts_.core, work.key, work.uid); !known) co_return known;
  auto made = co_await parts_.files.carry_out(parts_.core, plan->before_define);
  if (!made) co_return fail(std::move(made.error()));
  const auto built = build(work, wanted, std::move(*bridges));
  if (!built) co_return fail(built.error());
  guests::Remembered& remembered = work.remembered;
  remember(work);
  remembered.paused_by_user = starts_paused(work.vmi);  // RUN-STA-03
  if (auto saved = co_await parts_.records.save(parts_.core); !saved) co_return saved;
  auto defined = co_await define(*built);
  if (!defined) co_return fail(std::move(defined.error()));
  const auto before_start = parts_.files.plan_before_start(wanted, *defined);
  if (!before_start) co_return fail(before_start.error());
  auto last = co_await parts_.files.carry_out(parts_.core, *before_start);
  Result<void> started;
  if (!last)
    started = fail(std::move(last.error()));
  else
    started = co_await parts_.hypervisor.start(parts_.core, work.domain, remembered.paused_by_user);
  if (!started) {
    (void)co_await parts_.hypervisor.undefine(parts_.core, work.domain);
    co_return started;
  }
  remembered.iso_bytes = std::move(made->iso_bytes);
  remembered.iso_bytes.insert(remembered.iso_bytes.end(), last->iso_bytes.begin(), last->iso_bytes.end());
  for (const std::string& volume : made->tolerated)
    outcome.tell(EventType::normal, "ToleratedSmallPV",
                 fmt::format("the disk of volume {} is smaller than was asked for, within the tolerance", volume));
  outcome.tell(EventType::normal, "Created", "VirtualMachineInstance defined.");
  if (std::string other = guests::other_than_asked(work.vmi.get_object()); !other.empty())  // UNET-16
    outcome.tell(EventType::warning, "NetworkNotAsAsked", std::move(other));
  co_await networking_.forward_ports(work, outcome);  // the next pass writes down that it was done
  co_return Result<void>();
}

Task<Result<void>> Starter::mount(const Work& work, std::string_view volume) {
  const auto steps = parts_.files.plan_hotplug(wanted(work, std::make_shared<Objects>(), {}), volume);
  if (!steps) co_return fail(steps.error());
  auto made = co_await parts_.files.carry_out(parts_.core, *steps);
  if (!made) co_return fail(std::move(made.error()));
  co_return Result<void>();
}

Result<guests::Built> Starter::build_again(const Work& work, guests::Bridges bridges) const {
  return build(work, wanted(work, std::make_shared<Objects>(), {}), std::move(bridges));
}

}  // namespace vg::handler
