#include "handler/sync/updating.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/node_limits.h"
#include "domain/paths.h"
#include "guests/decide.h"
#include "guests/ending.h"
#include "guests/hotplug.h"
#include "handler/sync/growing.h"
#include "json/access.h"

namespace vg::handler {
namespace {

using controllers::EventType;
using hypervisor::State;

const json::Value* volume_of(const json::Value& vmi, std::string_view name) {
  for (const std::string_view list : {"volumes", "utilityVolumes"}) {
    const json::Array* volumes = json::as_array(json::find_path(vmi, {"spec", list}));
    if (!volumes) continue;
    const auto* found = std::ranges::find_if(
        *volumes, [&](const json::Value& one) { return json::get_string_or(one, "name") == name; });
    if (found != volumes->end()) return found;
  }
  return nullptr;
}

const json::Object* status_entry(const json::Value& vmi, std::string_view volume) {
  const json::Array* entries = json::as_array(json::find_path(vmi, {"status", "volumeStatus"}));
  if (entries)
    for (const json::Value& entry : *entries)
      if (json::get_string_or(entry, "name") == volume) return entry.if_object();
  return nullptr;
}

bool is_attached_to_node(std::string_view phase) {
  return phase == "AttachedToNode" || phase == "MountedToPod" || phase == "Ready" || phase.starts_with("MemoryDump");
}

}  // namespace

// The way in: a claim is mounted once the controller says that it may be used.
Task<Result<void>> Updater::mount_wanted(const Work& work, Volumes& volumes, Outcome& outcome) {
  for (const std::string& name : guests::hotplugged_volumes(work.vmi.get_object())) {
    const json::Object* entry = status_entry(work.vmi, name);
    if (!volume_of(work.vmi, name) || volumes.mounted.contains(name)) continue;
    if (!entry || !is_attached_to_node(json::get_string_or(*entry, "phase"))) continue;
    auto done = co_await starter_.mount(work, name);
    if (!done) {
      outcome.tell(EventType::warning, "HotplugFailed", done.error().message);
      co_return done;
    }
    volumes.mounted.insert(name);
  }
  co_return Result<void>();
}

// RUN-HPD-08
Task<Result<void>> Updater::change_disks(const Work& work, const guests::DomainFacts& live, Volumes& volumes,
                                         Outcome& outcome) {
  if (guests::hotplugged_volumes(work.vmi.get_object()).empty()) co_return Result<void>();
  if (auto done = co_await mount_wanted(work, volumes, outcome); !done) co_return done;
  const auto built = starter_.build_again(work);
  if (!built) co_return fail(built.error());
  for (const auto& change : guests::disk_changes(live, built->document, built->hotplug_folder)) {
    auto done = co_await parts_.hypervisor.change_device(parts_.core, work.domain, change.change, change.xml);
    if (!done) co_return done;
  }
  co_return Result<void>();
}

// RUN-GRW-04: looked at when the capacity of a claim is another than last time. What fails is tried with the next one.
Task<void> Updater::grow_disks(const Work& work, const guests::DomainFacts& live, Volumes& volumes) {
  std::set<std::string, std::less<>> changed;
  for (auto& [volume, capacity] : guests::claim_capacities(work.vmi.get_object())) {
    std::string& known = volumes.sizes[volume];
    if (live.disk(volume) && std::exchange(known, capacity) != capacity) changed.insert(volume);
  }
  if (changed.empty()) co_return;
  const auto steps = parts_.files.plan_growth(starter_.wanted(work, std::make_shared<Objects>(), {}), changed);
  if (!steps) co_return;
  const auto made = co_await parts_.files.carry_out(parts_.core, *steps);
  if (!made) co_return;
  for (const auto& [volume, bytes] : made->grown) {
    const auto done = co_await parts_.hypervisor.resize_disk(parts_.core, work.domain, live.disk(volume)->target,
                                                             static_cast<std::uint64_t>(bytes));
    if (!done)
      log::warning("a disk was not grown",
                   {{"domain", work.domain}, {"volume", volume}, {"reason", done.error().message}});
  }
}

// After the guest let go of a disk its place is cleared, which VMI-V22 waits for.
Task<Result<void>> Updater::unmount_unwanted(const Work& work, Volumes& volumes) {
  const hypervisor::DomainPtr domain = parts_.hypervisor.find(work.domain);
  if (!domain || !domain->xml) co_return Result<void>();
  const auto facts = guests::read_facts(*domain->xml);
  if (!facts) co_return fail(facts.error());
  const launch::Folders folders = parts_.files.folders(work.key.ns, work.key.name, work.uid);
  for (const std::string& name : guests::hotplugged_volumes(work.vmi.get_object())) {
    const guests::DiskFact* disk = facts->disk(name);
    if (volume_of(work.vmi, name) || (disk && !disk->source.empty())) continue;
    auto done = co_await parts_.files.clear_hotplug(parts_.core, folders, name);
    if (!done) co_return done;
    volumes.mounted.erase(name);
  }
  co_return Result<void>();
}

// RUN-SYN-02. What the user paused stays so; what a failed disk paused is tried again with back-off.
Task<Result<void>> Updater::resume(const Work& work, const guests::Case& one, Outcome& outcome) {
  if (one.domain->state != State::paused || work.remembered.paused_by_user) co_return Result<void>();
  if (one.domain->reason == "IOError")
    if (const auto wait = guests::io_error_wait(work.remembered.io, one.steady)) {
      outcome.look_again(*wait);
      co_return Result<void>();
    }
  co_return co_await parts_.hypervisor.resume(parts_.core, work.domain);
}

// VMI-V23: the file is told by the status; written once.
Task<void> Updater::dump_memory(const Work& work, Volumes& volumes) {
  for (const std::string& name : guests::hotplugged_volumes(work.vmi.get_object())) {
    const json::Object* entry = status_entry(work.vmi, name);
    const json::Value* volume = volume_of(work.vmi, name);
    const json::Object* dump = volume ? json::get_object(*volume, "memoryDump") : nullptr;
    if (!dump || !entry || json::get_string_or(*entry, "phase") != "MemoryDumpInProgress") continue;
    const json::Object* shown = json::get_object(*entry, "memoryDumpVolume");
    const std::string file(shown ? json::get_string_or(*shown, "targetFileName") : std::string_view());
    const std::string claim(json::get_string_or(*dump, "claimName"));
    if (!domain::is_file_name(file) || !domain::is_file_name(claim) || volumes.dumps.contains(file)) continue;
    const launch::Folders folders = parts_.files.folders(work.key.ns, work.key.name, work.uid);
    auto done = co_await parts_.hypervisor.dump_memory(
        parts_.core, work.domain, fmt::format("{}/{}/{}/{}", folders.disks, work.key.ns, claim, file));
    volumes.dumps.emplace(file, done ? std::string() : done.error().message);
  }
}

// A guest whose limits the kernel does not keep still runs; it is said.
void Updater::keep_limits(const Work& work) {
  if (!parts_.groups.keep) return;
  const auto done = parts_.groups.keep(work.domain, guests::group_limits(work.vmi));
  if (!done)
    log::warning("the limits of a guest are not in force", {{"domain", work.domain}, {"reason", done.error().message}});
}

Task<Outcome> Updater::update(const Work& work, const guests::Case& one, Volumes& volumes) {
  Outcome outcome;
  const auto failed = [&](const Result<void>& done) {
    if (!done) outcome.error = done.error();
    return !done;
  };
  work.remembered.grace_seconds = guests::grace_of(work.vmi.get_object()).value_or(guests::usual_grace_seconds);
  if (failed(co_await resume(work, one, outcome)) || !one.facts) co_return outcome;
  if (failed(co_await change_disks(work, *one.facts, volumes, outcome))) co_return outcome;
  // A process that ended between a start or an arrival and this.
  if (!work.remembered.ports_forwarded) co_await starter_.networking().forward_ports(work, outcome);
  if (!work.remembered.ports_tidied) co_await starter_.networking().tidy_ports(work);
  const Networking::Build build = [&](const guests::Bridges& bridges) { return starter_.build_again(work, bridges); };
  if (failed(co_await starter_.networking().change_nics(work, *one.facts, build, outcome))) co_return outcome;
  keep_limits(work);
  // RUN-CPU-03: in place where the node has room, since that is not the room of a pod, which a migration would replace.
  outcome.grown = co_await grow(parts_, work, *one.facts, guests::Place::here);
  if (!outcome.grown.cpu_error.empty()) outcome.error = Status::internal_error(outcome.grown.cpu_error);
  co_await grow_disks(work, *one.facts, volumes);
  co_await dump_memory(work, volumes);
  if (failed(co_await unmount_unwanted(work, volumes))) co_return outcome;
  if (auto saved = co_await parts_.records.save(parts_.core); !saved) outcome.error = saved.error();
  co_return outcome;
}

Task<Result<bool>> Updater::mount_all(const Work& work, Volumes& volumes) {
  Outcome unused;
  if (auto done = co_await mount_wanted(work, volumes, unused); !done) co_return fail(std::move(done.error()));
  co_return std::ranges::all_of(guests::hotplugged_volumes(work.vmi.get_object()), [&](const std::string& name) {
    const json::Object* entry = status_entry(work.vmi, name);
    const std::string_view phase = entry ? json::get_string_or(*entry, "phase") : std::string_view();
    return phase == "MountedToPod" || phase == "Ready" || !volume_of(work.vmi, name);
  });
}

}  // namespace vg::handler
