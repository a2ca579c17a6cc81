// RUN-CI-13: addresses of tagged NICs, from the document that the hypervisor completed. Host devices have no tags here:
// this node hands none out.
#include <fmt/format.h>

#include <map>

#include "launch/planned.h"

namespace vg::launch {
namespace {

struct Address {
  std::string mac, pci;
};

// A tag of libvirt's own output: name, and the text between it and ">".
struct Tag {
  std::string_view name, rest;
};

// The next tag, taken off the text. Libvirt escapes "<" and ">" in values.
std::optional<Tag> next_tag(std::string_view& text) {
  const auto open = text.find('<'), close = text.find('>', open == text.npos ? 0 : open);
  if (open == text.npos || close == text.npos) return std::nullopt;
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  const auto end = inside.find_first_of(" \t\r\n/", 1);
  return Tag{.name = inside.substr(0, end), .rest = end == inside.npos ? std::string_view() : inside.substr(end)};
}

std::string_view attribute(const Tag& tag, std::string_view name) {
  for (const char quote : {'\'', '"'}) {
    const std::string start = fmt::format(" {}={}", name, quote);
    const auto at = tag.rest.find(start);
    if (at == tag.rest.npos) continue;
    const std::string_view value = tag.rest.substr(at + start.size());
    return value.substr(0, value.find(quote));
  }
  return {};
}

// "0x0a" with so many digits.
std::string digits(std::string_view hex, std::size_t count) {
  if (hex.starts_with("0x")) hex.remove_prefix(2);
  return std::string(hex.size() < count ? count - hex.size() : 0, '0').append(hex);
}

// By the name of the interface, which is its alias.
std::map<std::string, Address, std::less<>> interfaces_of(std::string_view xml) {
  std::map<std::string, Address, std::less<>> found;
  Address address;
  std::string name;
  bool inside = false;
  while (const auto tag = next_tag(xml)) {
    if (tag->name == "interface") {
      inside = true;
      address = {};
      name.clear();
    } else if (tag->name == "/interface") {
      inside = false;
      if (!name.empty() && !address.pci.empty()) found.insert_or_assign(name, address);
    } else if (inside && tag->name == "alias") {
      const std::string_view alias = attribute(*tag, "name");
      name = alias.starts_with("ua-") ? alias.substr(3) : alias;
    } else if (inside && tag->name == "mac") {
      address.mac = attribute(*tag, "address");
    } else if (inside && tag->name == "address" && attribute(*tag, "type") == "pci") {
      address.pci = fmt::format("{}:{}:{}.{}", digits(attribute(*tag, "domain"), 4), digits(attribute(*tag, "bus"), 2),
                                digits(attribute(*tag, "slot"), 2), digits(attribute(*tag, "function"), 1));
    }
  }
  return found;
}

}  // namespace

json::Array device_metadata(const domain::Vmi& vmi, std::string_view defined_xml) {
  json::Array devices;
  const auto found = interfaces_of(defined_xml);
  for (const domain::kubevirt::Interface interface : vmi.dev.interfaces()) {
    const auto at = found.find(interface.name());
    if (interface.tag().empty() || at == found.end()) continue;
    json::Object device{{"type", "nic"}, {"bus", "pci"}, {"address", at->second.pci}};
    if (!at->second.mac.empty()) device.emplace("mac", at->second.mac);
    device.emplace("tags", json::Array{interface.tag()});
    devices.emplace_back(std::move(device));
  }
  return devices;
}

}  // namespace vg::launch
