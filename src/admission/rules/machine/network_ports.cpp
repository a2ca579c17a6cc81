// The ports of an interface that are reachable from outside. They count on the pod network only: elsewhere upstream
// does not look at them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "admission/rules/machine/network.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "base/joined.h"
#include "base/names.h"
#include "base/net.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

constexpr std::array<string_view, 2> protocols = {"TCP", "UDP"};

bool is_port(std::int64_t number) { return number >= 1 && number <= port_max; }

// --- ports -----------------------------------------------------------------------------------------------------------

struct PortAt {
  api::kubevirt::Port port;
  std::size_t index;
  const NameIndex& names;  // of all ports of the interface
  const Place& place;
};

void port_name_is_its_own(const PortAt& at, Causes& causes) {
  const string_view name = at.port.name();
  if (!name.empty() && *at.names.first(name) < at.index)
    causes.duplicate(at.place.field("name"), fmt::format("port {} has the name of port {}, {}; names must be unique",
                                                         at.index, *at.names.first(name), in_words(name)));
}

void port_name_is_well_formed(const PortAt& at, Causes& causes) {
  const string_view name = at.port.name();
  if (name.empty()) return;
  if (const Defects defects = port_name_defects(name); !defects.empty())
    causes.invalid(at.place.field("name"), fmt::format("{}: {}", in_words(name), joined(defects, "; ")));
}

void port_is_given(const PortAt& at, Causes& causes) {
  if (at.port.port() == 0)
    causes.required(at.place.field("port"), fmt::format("the number of the port, from 1 to {}", port_max));
}

void port_is_in_range(const PortAt& at, Causes& causes) {
  if (at.port.port() != 0 && !is_port(at.port.port()))
    causes.invalid(at.place.field("port"), fmt::format("{1}: must be from 1 to {0}", port_max, at.port.port()));
}

void port_protocol_is_known(const PortAt& at, Causes& causes) {
  if (!at.port.protocol().empty() && !is_one_of(at.port.protocol(), protocols))
    causes.invalid(at.place.field("protocol"),
                   fmt::format("{}: supported values: TCP, UDP", in_words(at.port.protocol())));
}

constexpr RuleOn<PortAt> port_name_rows[] = {
    {"PORT-01", "port names of an interface must be unique", "domain.devices.interfaces[].ports[].name",
     port_name_is_its_own},
    {"PORT-02", "the name of a port must be a valid port name of a service", "domain.devices.interfaces[].ports[].name",
     port_name_is_well_formed},
};
constexpr RuleOn<PortAt> port_rows[] = {
    {"PORT-03", "the number of a port is required", "domain.devices.interfaces[].ports[].port", port_is_given},
    {"PORT-04", "a port must be from 1 to 65535", "domain.devices.interfaces[].ports[].port", port_is_in_range},
    {"PORT-05", "the protocol of a port must be TCP or UDP", "domain.devices.interfaces[].ports[].protocol",
     port_protocol_is_known},
};

template <auto& rows>
void ask_of_each_port(const InterfaceAt& at, const NameIndex& names, Causes& causes) {
  const Place list = at.place.field("ports");
  const auto ports = at.interface.ports();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Place place = list.item(i);
    ask_all<rows>(PortAt{.port = ports[i], .index = i, .names = names, .place = place}, causes);
  }
}

void check_ports(const InterfaceAt& at, Causes& causes) {
  if (!at.network.pod() || at.interface.ports().empty()) return;
  const NameIndex names(at.interface.ports());
  ask_of_each_port<port_name_rows>(at, names, causes);
  ask_of_each_port<port_rows>(at, names, causes);
}

// --- ranges of ports -------------------------------------------------------------------------------------------------

using api::kubevirt::PortRange;

constexpr std::size_t ranges_max = 10;

void ranges_are_switched_on(const InterfaceAt& at, Causes& causes) {
  if (!at.pass.machine.enabled(Gate::port_ranges_spec))
    causes.invalid(at.place.field("name"), needs_gate("portRanges requires", Gate::port_ranges_spec));
}

// An empty list is a list here: upstream looks at whether the members are there.
void ranges_stand_without_ports(const InterfaceAt& at, Causes& causes) {
  if (at.interface.ports())
    causes.invalid(at.place.field("name"),
                   fmt::format("interface {}: ports is mutually exclusive with portRanges; remove one of them",
                               in_words(at.interface.name())));
}

void ranges_go_with_masquerade(const InterfaceAt& at, Causes& causes) {
  if (!at.interface.masquerade()) causes.invalid(at.place.field("name"), "portRanges requires binding masquerade");
}

void ranges_are_few(const InterfaceAt& at, Causes& causes) {
  if (const auto size = at.interface.port_ranges().size(); size > ranges_max)
    causes.invalid(at.place.field("portRanges"),
                   fmt::format("at most {} port ranges are supported, not {}", ranges_max, size));
}

struct RangeAt {
  PortRange range;
  const Place& place;
};

void range_protocol_is_known(const RangeAt& at, Causes& causes) {
  if (!is_one_of(at.range.protocol(), protocols))
    causes.invalid(at.place.field("protocol"),
                   fmt::format("{}: supported values: TCP, UDP", in_words(at.range.protocol())));
}
void check_end_of_range(const RangeAt& at, string_view member, std::int64_t port, Causes& causes) {
  if (!is_port(port)) causes.invalid(at.place.field(member), fmt::format("{1}: must be from 1 to {0}", port_max, port));
}
void range_starts_at_a_port(const RangeAt& at, Causes& causes) {
  check_end_of_range(at, "start", at.range.start(), causes);
}
void range_ends_at_a_port(const RangeAt& at, Causes& causes) { check_end_of_range(at, "end", at.range.end(), causes); }
void range_is_not_reversed(const RangeAt& at, Causes& causes) {
  if (at.range.start() > at.range.end())
    causes.invalid(at.place.field("start"), fmt::format("{}: the start of a range must not be after its end ({})",
                                                        at.range.start(), at.range.end()));
}

// Those that are ranges at all.
struct Ranges {
  const InterfaceAt& at;
  std::vector<PortRange> sound;
};

// Upstream compares neighbours alone, so not every overlap is told, but always one.
void ranges_do_not_overlap(const Ranges& ranges, Causes& causes) {
  for (const string_view protocol : protocols) {
    std::vector<std::pair<int, int>> spans;
    for (const PortRange& range : ranges.sound)
      if (range.protocol() == protocol) spans.emplace_back(range.start(), range.end());
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (spans[i].first <= spans[i - 1].second)
        causes.invalid(ranges.at.place.field("portRanges"),
                       fmt::format("{} ranges {}-{} and {}-{} overlap; ranges must not overlap", protocol,
                                   spans[i - 1].first, spans[i - 1].second, spans[i].first, spans[i].second));
  }
}

constexpr RuleOn<InterfaceAt> gate_rows[] = {
    RuleOn<InterfaceAt>{"PRNG-01", "portRanges requires its feature gate", "domain.devices.interfaces[].name",
                        ranges_are_switched_on}
        .of_gate(Gate::port_ranges_spec),
};
constexpr RuleOn<InterfaceAt> beside_rows[] = {
    {"PRNG-02", "ports and portRanges are mutually exclusive", "domain.devices.interfaces[].name",
     ranges_stand_without_ports},
    {"PRNG-03", "portRanges requires binding masquerade", "domain.devices.interfaces[].name",
     ranges_go_with_masquerade},
};
constexpr RuleOn<InterfaceAt> amount_rows[] = {
    {"PRNG-04", "an interface must have at most ten port ranges", "domain.devices.interfaces[].portRanges",
     ranges_are_few},
};
constexpr RuleOn<RangeAt> range_rows[] = {
    {"PRNG-05", "the protocol of a range must be TCP or UDP", "domain.devices.interfaces[].portRanges[].protocol",
     range_protocol_is_known},
    {"PRNG-06", "the start of a range must be a port", "domain.devices.interfaces[].portRanges[].start",
     range_starts_at_a_port},
    {"PRNG-07", "the end of a range must be a port", "domain.devices.interfaces[].portRanges[].end",
     range_ends_at_a_port},
    {"PRNG-08", "the start of a range must not be after its end", "domain.devices.interfaces[].portRanges[].start",
     range_is_not_reversed},
};
constexpr RuleOn<Ranges> overlap_rows[] = {
    {"PRNG-09", "ranges of one protocol must not overlap", "domain.devices.interfaces[].portRanges",
     ranges_do_not_overlap},
};

void check_port_ranges(const InterfaceAt& at, Causes& causes) {
  const auto all = at.interface.port_ranges();
  if (!all || !ask_until_broken<gate_rows>(at, causes) || !at.network.pod()) return;
  ask_all<beside_rows>(at, causes);
  if (!ask_until_broken<amount_rows>(at, causes)) return;
  const Place list = at.place.field("portRanges");
  Ranges ranges{.at = at, .sound = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Place place = list.item(i);
    if (ask_until_broken<range_rows>(RangeAt{.range = all[i], .place = place}, causes)) ranges.sound.push_back(all[i]);
  }
  ask_all<overlap_rows>(ranges, causes);
}

}  // namespace

const InterfacePart port_part = {.check = check_ports, .list = list_rows<port_name_rows, port_rows>};
const InterfacePart port_range_part = {
    .check = check_port_ranges, .list = list_rows<gate_rows, beside_rows, amount_rows, range_rows, overlap_rows>};

}  // namespace vg::admission
