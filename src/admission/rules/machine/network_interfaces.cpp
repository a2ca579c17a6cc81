// The fields of an interface, and what it tells the guest by DHCP.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "admission/rules/disks.h"
#include "admission/rules/machine/network.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "base/net.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

// --- fields ----------------------------------------------------------------------------------------------------------

void name_is_plain(const InterfaceAt& at, Causes& causes) {
  const string_view name = at.interface.name();
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, plain))
    causes.invalid(
        at.place.field("name"),
        fmt::format("{}: the name of an interface must contain only letters, digits, - and _", in_words(name)));
}

void model_is_known(const InterfaceAt& at, Causes& causes) {
  constexpr std::array<string_view, 8> models = {"",         "e1000", "e1000e",  "igb",
                                                 "ne2k_pci", "pcnet", "rtl8139", "virtio"};
  if (!is_one_of(at.interface.model(), models))
    causes.not_supported(at.place.field("model"), fmt::format("{}: supported values: virtio, e1000, e1000e, igb, "
                                                              "ne2k_pci, pcnet, rtl8139",
                                                              in_words(at.interface.model())));
}

void mac_address_is_one(const InterfaceAt& at, Causes& causes) {
  constexpr std::size_t octets = 6;  // longer ones are of InfiniBand and FireWire
  const string_view text = at.interface.mac_address();
  if (text.empty()) return;
  const auto mac = parse_mac(text);
  if (!mac)
    causes.invalid(at.place.field("macAddress"),
                   fmt::format("{}: must be a MAC address, for example 02:00:00:12:34:56", in_words(text)));
  else if (mac->size() > octets)
    causes.invalid(at.place.field("macAddress"), fmt::format("{1}: a MAC address must have {0} octets, not {2}", octets,
                                                             in_words(text), mac->size()));
}

void pci_address_is_one(const InterfaceAt& at, Causes& causes) {
  const string_view address = at.interface.pci_address();
  if (!address.empty() && !is_pci_address(address))
    causes.invalid(at.place.field("pciAddress"),
                   fmt::format("{}: must be a PCI address, for example 0000:81:01.0", in_words(address)));
}

constexpr RuleOn<InterfaceAt> field_rows[] = {
    {"IF-01", "the name of an interface must contain only letters, digits, - and _", "domain.devices.interfaces[].name",
     name_is_plain},
    {"IF-02", "the model of an interface must be supported", "domain.devices.interfaces[].model", model_is_known},
    {"IF-03", "a MAC address must have six octets", "domain.devices.interfaces[].macAddress", mac_address_is_one},
    {"IF-04", "a PCI address must be valid", "domain.devices.interfaces[].pciAddress", pci_address_is_one},
};

// --- DHCP: upstream points at the spec itself for private options ----------------------------------------------------

constexpr std::int64_t private_option_min = 224, private_option_max = 254;

void private_options_differ(const InterfaceAt& at, Causes& causes) {
  std::vector<std::int64_t> numbers;
  for (const auto option : at.interface.dhcp_options().private_options()) numbers.push_back(option.option());
  std::ranges::sort(numbers);
  if (const auto twice = std::ranges::adjacent_find(numbers); twice != numbers.end())
    causes.invalid(at.pass.machine.place,
                   fmt::format("interface {} has DHCP private option {} twice; remove one of them",
                               in_words(at.interface.name()), *twice));
}

void private_options_are_private(const InterfaceAt& at, Causes& causes) {
  for (const auto option : at.interface.dhcp_options().private_options())
    if (option.option() < private_option_min || option.option() > private_option_max)
      causes.invalid(
          at.pass.machine.place,
          fmt::format("DHCP private options of interface {} must be from {} to {}, not {}",
                      in_words(at.interface.name()), private_option_min, private_option_max, option.option()));
}

void time_servers_are_ipv4(const InterfaceAt& at, Causes& causes) {
  const Place options = at.place.field("dhcpOptions"), list = options.field("ntpServers");
  const auto servers = at.interface.dhcp_options().ntp_servers();
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (const auto address = parse_ip(servers[i]); !address || !address->is_v4())
      causes.invalid(list.item(i), fmt::format("{}: a time server must be an IPv4 address", in_words(servers[i])));
}

constexpr RuleOn<InterfaceAt> dhcp_rows[] = {
    {"DHCP-01", "DHCP private options must be unique", "", private_options_differ},
    {"DHCP-02", "DHCP private options must be from 224 to 254", "", private_options_are_private},
    {"DHCP-03", "time servers must be IPv4 addresses", "domain.devices.interfaces[].dhcpOptions.ntpServers[]",
     time_servers_are_ipv4},
};

void check_dhcp(const InterfaceAt& at, Causes& causes) {
  if (at.interface.dhcp_options()) ask_all<dhcp_rows>(at, causes);
}

}  // namespace

const InterfacePart interface_field_part = {.check = ask_all<field_rows, InterfaceAt>, .list = list_rows<field_rows>};
const InterfacePart dhcp_part = {.check = check_dhcp, .list = list_rows<dhcp_rows>};

}  // namespace vg::admission
