// How a machine resolves names (spec vmi-compute 2.19). Most causes carry a bare word as field, whatever the way to the
// machine: upstream has it so, and clients match on it.
#include <fmt/format.h>

#include <array>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/k8s_pod.h"
#include "base/joined.h"
#include "base/names.h"
#include "base/net.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using api::in_words;
using std::string_view;

constexpr std::size_t nameservers_max = 3, searches_max = 6, search_bytes_max = 256;
constexpr string_view nameservers = "nameservers", searches = "searchDomains", options = "options";

api::k8s::PodDNSConfig config_of(const Machine& machine) { return machine.spec.dns_config(); }

void policy_is_known(const Machine& machine, Causes& causes) {
  constexpr std::array<string_view, 4> policies = {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"};
  const string_view policy = machine.spec.dns_policy();
  if (!policy.empty() && !is_one_of(policy, policies))
    causes.not_supported(machine.place.field("dnsPolicy"),
                         fmt::format("{1}: supported values: {0}", joined(policies, ", "), in_words(policy)));
}

void own_dns_is_configured(const Machine& machine, Causes& causes) {
  if (machine.spec.dns_policy() == "None" && !config_of(machine))
    causes.required(machine.place.field("dnsConfig"), "DNS policy None requires dnsConfig");
}

void own_dns_has_servers(const Machine& machine, Causes& causes) {
  if (machine.spec.dns_policy() == "None" && config_of(machine).nameservers().empty())
    causes.required(nameservers, "DNS policy None requires at least one nameserver in dnsConfig");
}

void servers_are_few(const Machine& machine, Causes& causes) {
  if (const auto count = config_of(machine).nameservers().size(); count > nameservers_max)
    causes.invalid(nameservers, fmt::format("{}: at most {} nameservers are supported", count, nameservers_max));
}

void servers_are_addresses(const Machine& machine, Causes& causes) {
  for (const string_view server : config_of(machine).nameservers())
    if (!parse_ip(server))
      causes.invalid(nameservers, fmt::format("{}: must be an IPv4 or IPv6 address", in_words(server)));
}

void searches_are_few(const Machine& machine, Causes& causes) {
  if (const auto count = config_of(machine).searches().size(); count > searches_max)
    causes.invalid(searches, fmt::format("{}: at most {} search domains are supported", count, searches_max));
}

void searches_are_short(const Machine& machine, Causes& causes) {
  const auto all = config_of(machine).searches();
  std::size_t bytes = all.empty() ? 0 : all.size() - 1;  // a blank between two
  for (const string_view search : all) bytes += search.size();
  if (bytes > search_bytes_max)
    causes.invalid(searches, fmt::format("the search domains have {} bytes including separators; at most {} are "
                                         "supported",
                                         bytes, search_bytes_max));
}

void searches_are_domains(const Machine& machine, Causes& causes) {
  for (const string_view search : config_of(machine).searches())
    for (const std::string& defect : dns1123_subdomain_defects(search))
      causes.invalid(searches, fmt::format("{}: {}", in_words(search), defect));
}

void options_have_names(const Machine& machine, Causes& causes) {
  for (const api::k8s::PodDNSConfigOption option : config_of(machine).options())
    if (option.name().empty()) causes.invalid(options, phrases::missing("the name of an option, for example ndots"));
}

constexpr MachineRule policy_rows[] = {
    {"DNS-01", "the DNS policy must be supported", "dnsPolicy", policy_is_known},
};
constexpr MachineRule presence_rows[] = {
    {"DNS-02", "DNS policy None requires dnsConfig", "dnsConfig", own_dns_is_configured},
    {"DNS-03", "DNS policy None requires nameservers", "nameservers", own_dns_has_servers},
};
constexpr MachineRule content_rows[] = {
    {"DNS-04", "dnsConfig must have at most three nameservers", "nameservers", servers_are_few},
    {"DNS-05", "nameservers must be IP addresses", "nameservers", servers_are_addresses},
    {"DNS-06", "dnsConfig must have at most six search domains", "searchDomains", searches_are_few},
    {"DNS-07", "search domains must have at most 256 bytes together", "searchDomains", searches_are_short},
    {"DNS-08", "search domains must be DNS subdomains", "searchDomains", searches_are_domains},
    {"DNS-09", "options of dnsConfig must have names", "options", options_have_names},
};

void check_dns(const Machine& machine, Causes& causes) {
  ask_all<policy_rows>(machine, causes);
  if (ask_until_broken<presence_rows>(machine, causes)) ask_all<content_rows>(machine, causes);
}

}  // namespace

const MachineFamily dns_family = {.check = check_dns, .list = list_rows<policy_rows, presence_rows, content_rows>};

}  // namespace vg::admission
