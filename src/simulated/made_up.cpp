#include "simulated/made_up.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::simulated {
namespace {

using controllers::metadata_text;
using json::Array;
using json::Object;
using json::Value;

const Array* devices_of(const Object& vmi, std::string_view list) {
  const Value* spec = json::find(vmi, "spec");
  const Value* devices = spec ? json::find_path(*spec, {"domain", "devices", list}) : nullptr;
  return json::as_array(devices);
}

const Object* entry_of(const Array* entries, std::string_view name) {
  if (!entries) return nullptr;
  const auto* found =
      std::ranges::find_if(*entries, [&](const Value& one) { return json::get_string_or(one, "name") == name; });
  return found == entries->end() ? nullptr : found->if_object();
}

}  // namespace

std::uint32_t hash(std::string_view text) {  // FNV-1a
  std::uint32_t value = 2166136261u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

std::string made_up_ip(const Object& vmi, std::size_t interface) {
  const auto value =
      hash(fmt::format("{}/{}/{}", metadata_text(vmi, "namespace"), metadata_text(vmi, "name"), interface));
  return fmt::format("10.244.{}.{}", (value >> 8) & 0xff, 1 + value % 254);
}

std::string made_up_mac(const Object& vmi, std::size_t interface) {
  const auto value = hash(fmt::format("{}/{}", metadata_text(vmi, "uid"), interface));
  return fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", value >> 24, (value >> 16) & 0xff, (value >> 8) & 0xff,
                     value & 0xff);
}

std::string made_up_node_address(std::string_view node) {
  const auto value = hash(node);
  return fmt::format("10.0.{}.{}", (value >> 8) & 0xff, 1 + value % 254);
}

Array interfaces_of(const Object& vmi, const Array* old, const InterfaceOptions& options,
                    const json::StoragePtr& storage) {
  Array shown(storage);
  const Array* devices = devices_of(vmi, "interfaces");
  for (std::size_t i = 0; devices && i < devices->size(); ++i) {
    const Value& device = (*devices)[i];
    if (json::get_string_or(device, "state") == "absent") continue;
    const std::string_view name = json::get_string_or(device, "name"), mac = json::get_string_or(device, "macAddress");
    const Object* before = entry_of(old, name);
    Object one = before ? Object(*before, storage) : Object(storage);
    const std::string ip = i == 0 && !options.first_ip.empty() ? std::string(options.first_ip) : made_up_ip(vmi, i);
    one["name"] = name;
    one["infoSource"] = options.guest_agent ? "domain, guest-agent" : "domain";
    if (options.guest_agent)
      one["interfaceName"] = fmt::format("eth{}", i);
    else
      json::erase(one, "interfaceName");
    one["ipAddress"] = ip;
    one["ipAddresses"] = Array({Value(ip)}, storage);
    one["linkState"] = json::get_string_or(device, "state") == "down" ? "down" : "up";
    one["mac"] = mac.empty() ? made_up_mac(vmi, i) : std::string(mac);
    if (!one.contains("podInterfaceName")) one["podInterfaceName"] = i == 0 ? "eth0" : fmt::format("net{}", i);
    one["queueCount"] = 1;
    shown.emplace_back(std::move(one));
  }
  return shown;
}

Object guest_os(const json::StoragePtr& storage) {
  return Object({{"id", "simulated"},
                 {"kernelRelease", "6.1.0"},
                 {"kernelVersion", "1"},
                 {"machine", "x86_64"},
                 {"name", "Simulated Linux"},
                 {"prettyName", "Simulated Linux 1"},
                 {"version", "1"},
                 {"versionId", "1"}},
                storage);
}

Object guest_info(const Object& vmi, const json::StoragePtr& storage) {
  Object commands(storage);
  Array supported(storage);
  for (const std::string_view command : {"guest-ping", "guest-info", "guest-get-osinfo", "guest-network-get-interfaces",
                                         "guest-get-fsinfo", "guest-fsfreeze-freeze", "guest-fsfreeze-thaw"})
    supported.emplace_back(Object({{"name", command}, {"enabled", true}}, storage));
  const Object* status = json::get_object(vmi, "status");
  const std::string_view frozen = status ? json::get_string_or(*status, "fsFreezeStatus") : std::string_view();
  return Object({{"guestAgentVersion", "8.0.0"},
                 {"supportedCommands", std::move(supported)},
                 {"hostname", metadata_text(vmi, "name")},
                 {"os", guest_os(storage)},
                 {"timezone", "UTC, 0"},
                 {"fsInfo", {{"disks", *json::find(filesystem_list(storage), "items")}}},
                 {"fsFreezeStatus", frozen.empty() ? "thawed" : frozen}},
                storage);
}

Object user_list(const json::StoragePtr& storage) { return Object({{"items", Array(storage)}}, storage); }

Object filesystem_list(const json::StoragePtr& storage) {
  Object root({{"diskName", "vda1"},
               {"mountPoint", "/"},
               {"fileSystemType", "ext4"},
               {"usedBytes", 1'073'741'824},
               {"totalBytes", 10'737'418'240}},
              storage);
  return Object({{"items", Array({Value(std::move(root))}, storage)}}, storage);
}

}  // namespace vg::simulated
