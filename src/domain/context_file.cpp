#include "domain/context_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/domain_limits.h"
#include "domain/derive.h"
#include "domain/refusal.h"
#include "json/access.h"

namespace vg::domain {
namespace {

// Which of the two a member goes into: settings are read before the context is derived, the rest replaces parts of it.
struct Given {
  Settings settings;
  std::vector<std::function<void(DomainContext&)>> changes;
};

using Read = bool (*)(const json::Value&, Given&);

bool as_flag(const json::Value& value, bool& into) {
  if (const bool* flag = value.if_bool()) into = *flag;
  return value.is_bool();
}

template <auto member>
bool read_setting(const json::Value& value, Given& given) {
  return as_flag(value, given.settings.*member);
}

template <auto member>
bool read_flag(const json::Value& value, Given& given) {
  bool flag = false;
  if (!as_flag(value, flag)) return false;
  given.changes.emplace_back([flag](DomainContext& context) { context.*member = flag; });
  return true;
}

template <auto member>
bool read_text(const json::Value& value, Given& given) {
  const auto text = json::as_string(&value);
  if (!text) return false;
  given.changes.emplace_back([text = std::string(*text)](DomainContext& context) { context.*member = text; });
  return true;
}

template <auto... members>
bool read_names(const json::Value& value, Given& given) {
  const json::Array* list = value.if_array();
  if (!list) return false;
  Names names;
  for (const json::Value& one : *list) {
    const auto name = json::as_string(&one);
    if (!name) return false;
    names.emplace(*name);
  }
  given.changes.emplace_back([names](DomainContext& context) { ((context.*members = names), ...); });
  return true;
}

template <auto member>
bool read_texts_by_name(const json::Value& value, Given& given) {
  const json::Object* object = value.if_object();
  if (!object) return false;
  ByName<std::string> texts;
  for (const auto& [key, one] : *object) {
    const auto text = json::as_string(&one);
    if (!text) return false;
    texts.insert_or_assign(std::string(key), std::string(*text));
  }
  given.changes.emplace_back([texts](DomainContext& context) { context.*member = texts; });
  return true;
}

bool read_period(const json::Value& value, Given& given) {
  const auto period = json::as_int(&value);
  if (!period || *period < 0) return false;
  given.changes.emplace_back(
      [period](DomainContext& context) { context.balloon_stats_period = static_cast<std::uint64_t>(*period); });
  return true;
}

bool read_verbosity(const json::Value& value, Given& given) {
  const auto level = json::as_int(&value);
  if (level) given.changes.emplace_back([level](DomainContext& context) { context.launcher_verbosity = level; });
  return level.has_value();
}

bool read_ids(const json::Value* value, std::vector<std::uint32_t>& into) {
  const json::Array* list = value ? value->if_array() : nullptr;
  if (!list) return value == nullptr;
  if (list->size() > limits::domain_host_cpus_max) return false;
  for (const json::Value& one : *list) {
    const auto id = json::as_int(&one);
    if (!id || !std::in_range<std::uint32_t>(*id)) return false;
    into.push_back(static_cast<std::uint32_t>(*id));
  }
  return true;
}

bool read_cpu_set(const json::Value& value, Given& given) {
  std::vector<std::uint32_t> cpus;
  if (!value.is_array() || !read_ids(&value, cpus)) return false;
  given.changes.emplace_back([cpus](DomainContext& context) { context.cpu_set = cpus; });
  return true;
}

bool read_id(const json::Value& in, std::uint32_t& into) {
  const auto id = json::get_int_or(in, "id", 0);
  into = static_cast<std::uint32_t>(id);
  return std::in_range<std::uint32_t>(id);
}

bool read_cell(const json::Value& value, HostCell& cell) {
  const json::Array* cpus = json::get_array(value, "cpus");
  if (!read_id(value, cell.id) || (cpus && cpus->size() > limits::domain_host_cpus_max)) return false;
  for (std::size_t at = 0; cpus && at < cpus->size(); ++at) {
    HostCpu& cpu = cell.cpus.emplace_back();
    if (!read_id((*cpus)[at], cpu.id) || !read_ids(json::find((*cpus)[at], "siblings"), cpu.siblings)) return false;
  }
  return true;
}

// As the node agent sends it: {"numa_cells": [{"id": 0, "cpus": [{"id": 0, "siblings": [0, 1]}]}]}.
bool read_topology(const json::Value& value, Given& given) {
  if (!value.is_object()) return false;
  HostTopology cells;
  if (const json::Array* list = json::get_array(value, "numa_cells"))
    for (const json::Value& one : *list)
      if (!read_cell(one, cells.emplace_back())) return false;
  given.changes.emplace_back([cells](DomainContext& context) { context.host_topology = cells; });
  return true;
}

bool read_smbios(const json::Value& value, Given& given) {
  if (!value.is_object()) return false;
  const auto text = [&](std::string_view key) { return std::string(json::get_string_or(value, key)); };
  Smbios smbios{.manufacturer = text("manufacturer"),
                .family = text("family"),
                .product = text("product"),
                .sku = text("sku"),
                .version = text("version")};
  given.changes.emplace_back([smbios](DomainContext& context) { context.smbios = smbios; });
  return true;
}

struct Member {
  std::string_view name;
  std::string_view takes;
  Read read;
};

constexpr std::array member_table = std::to_array<Member>({
    {"allowEmulation", "true or false", read_flag<&DomainContext::allow_emulation>},
    {"blockVolumes", "a list of volume names", read_names<&DomainContext::block_pvc, &DomainContext::block_dv>},
    {"bochsDisplayForEFIGuests", "true or false", read_flag<&DomainContext::bochs_for_efi>},
    {"cpuSet", "a list of CPU numbers", read_cpu_set},
    {"crossArchitecture", "true or false", read_flag<&DomainContext::cross_arch>},
    {"diskFormats", "formats by volume name", read_texts_by_name<&DomainContext::disk_info>},
    {"domainAttachment", "attachments by interface name", read_texts_by_name<&DomainContext::domain_attachment>},
    {"firmwareAutoSelection", "true or false", read_setting<&Settings::firmware_auto_selection>},
    {"freePageReportingDisabled", "true or false", read_setting<&Settings::free_page_reporting_disabled>},
    {"hypervisor", "kvm or hyperv-direct", read_text<&DomainContext::hypervisor>},
    {"iommufd", "true or false", read_flag<&DomainContext::iommufd>},
    {"kvm", "true or false", read_flag<&DomainContext::hypervisor_device>},
    {"launcherVerbosity", "a number", read_verbosity},
    {"memBalloonStatsPeriod", "a number of seconds", read_period},
    {"preallocatedVolumes", "a list of volume names", read_names<&DomainContext::discard_ignore>},
    {"serialConsoleLogDisabled", "true or false", read_setting<&Settings::serial_log_disabled>},
    {"smbios", "an object with manufacturer, family, product, sku, version", read_smbios},
    {"topology", "an object with numa_cells", read_topology},
    {"usbHostDevice", "true or false", read_flag<&DomainContext::usb_host_device>},
});

}  // namespace

Result<DomainContext> read_context(const Vmi& vmi, const json::Value& file) {
  const json::Object* object = file.if_object();
  if (!object) return fail(Status::bad_request("the context must be an object"));
  Given given;
  for (const auto& [key, value] : *object) {
    const auto* member = std::ranges::find(member_table, std::string_view(key), &Member::name);
    if (member == member_table.end())
      return fail(Status::bad_request(
          fmt::format("unknown member {} of the context; supported are {}", in_quotes(key), context_members())));
    if (!member->read(value, given))
      return fail(Status::bad_request(fmt::format("{} of the context must be {}", member->name, member->takes)));
  }
  auto context = derive(vmi, given.settings);
  if (!context) return context;
  for (const auto& change : given.changes) change(*context);
  return context;
}

std::string context_members() {
  std::string all;
  for (const Member& member : member_table) all += fmt::format("{}{}", all.empty() ? "" : ", ", member.name);
  return all;
}

}  // namespace vg::domain
