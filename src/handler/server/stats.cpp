#include "handler/server/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/handler_limits.h"
#include "json/value.h"
#include "json/write.h"

namespace vg::handler {
namespace {

// As the VMI calls it: the alias of the device, without which there is only the target.
template <class Devices>
std::string name_of(const Devices& devices, const std::string& target) {
  const auto found = std::ranges::find_if(devices, [&](const auto& device) { return device.target == target; });
  return found == devices.end() || found->alias.empty() ? target : found->alias;
}

std::string milliseconds_text(Timestamp time) {
  std::string text = print_rfc3339(time);
  text.insert(text.size() - 1, fmt::format(".{:03}", time.nanoseconds / 1'000'000));
  return text;
}

}  // namespace

std::string stats_document(const hypervisor::DomainStats& stats, const guests::DomainFacts& facts, Timestamp now) {
  json::Array disks, networks;
  for (const hypervisor::DiskStats& disk : stats.disks)
    disks.push_back(json::Object{{"name", name_of(facts.disks, disk.target)},
                                 {"readBytes", disk.read_bytes},
                                 {"writeBytes", disk.write_bytes},
                                 {"readRequests", disk.read_requests},
                                 {"writeRequests", disk.write_requests}});
  for (const hypervisor::NicStats& nic : stats.nics)
    networks.push_back(json::Object{{"name", name_of(facts.nics, nic.target)},
                                    {"receiveBytes", nic.receive_bytes},
                                    {"transmitBytes", nic.transmit_bytes},
                                    {"receivePackets", nic.receive_packets},
                                    {"transmitPackets", nic.transmit_packets}});
  return json::to_text(
      json::Object{{"time", milliseconds_text(now)},
                   {"cpu", json::Object{{"timeNanoseconds", stats.cpu_time_ns}, {"vcpus", stats.vcpus}}},
                   {"memory", json::Object{{"availableBytes", stats.memory_available_bytes},
                                           {"unusedBytes", stats.memory_unused_bytes},
                                           {"rssBytes", stats.memory_rss_bytes}}},
                   {"disks", std::move(disks)},
                   {"networks", std::move(networks)}});
}

std::string GuestStats::told_lately(const hypervisor::Domain& domain) {
  const auto now = clock_.steady_now();
  const std::lock_guard lock(mutex_);
  if (told_.size() >= limits::stats_told_max && !told_.contains(domain.name)) told_.clear();
  Told& told = told_[domain.name];
  if (told.uuid != domain.uuid) told = {.at = {}, .document = {}, .uuid = domain.uuid, .asking = false};
  const bool fresh = !told.document.empty() && now - told.at < limits::stats_interval;
  // Who comes while another asks takes what there is, unless that one takes too long.
  const bool waits = !told.document.empty() && told.asking && now - told.at < limits::stats_age_max;
  if (fresh || waits) return told.document;
  told.asking = true;
  return {};
}

void GuestStats::note(const hypervisor::Domain& domain, std::string document) {
  const std::lock_guard lock(mutex_);
  const auto found = told_.find(domain.name);
  if (found == told_.end() || found->second.uuid != domain.uuid) return;
  found->second.asking = false;
  if (document.empty()) return;
  found->second.document = std::move(document);
  found->second.at = clock_.steady_now();
}

Task<Result<std::string>> GuestStats::tell(Core& core, std::string name) {
  const auto domain = hypervisor_.find(name);
  if (!domain || domain->state == hypervisor::State::none || domain->state == hypervisor::State::shutoff ||
      domain->state == hypervisor::State::crashed)
    co_return fail(Status::conflict("", "", name, "the guest does not run"));
  if (std::string known = told_lately(*domain); !known.empty()) co_return known;
  const auto stats = co_await hypervisor_.stats(core, name);
  if (!stats) {
    note(*domain, {});
    co_return fail(stats.error());
  }
  const auto facts = domain->xml ? guests::read_facts(*domain->xml) : Result<guests::DomainFacts>();
  std::string document =
      stats_document(*stats, facts ? *facts : guests::DomainFacts(), Timestamp::from(clock_.wall_now()));
  note(*domain, document);
  co_return document;
}

}  // namespace vg::handler
