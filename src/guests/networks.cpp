#include "guests/networks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/node_limits.h"
#include "guests/build.h"
#include "guests/vmi_lists.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::guests {
namespace {

using domain::Element;
using json::Object;
using json::Value;
using std::string_view;

constexpr string_view everybodys_namespace = "default";  // as Multus has it where namespaces are kept apart
constexpr std::size_t kernel_name_bytes = 15;            // of the kernel
// QEMU puts its gateway, its name server and the guest's address (.2, .3, .15) into the network.
constexpr unsigned user_prefix_longest = 27, user_prefix_shortest = 8;

const Object* network_of(const Object& vmi, string_view name) {
  const Value* found = entry_with(networks_in(vmi), "name", name);
  return found ? found->if_object() : nullptr;
}

Failed refuse(string_view network, string_view why) {
  return fail(Status::bad_request(fmt::format("network {}: {}", network, why)));
}

bool is_bridge_name(string_view name) {
  return !name.empty() && name.size() <= kernel_name_bytes && name != "." && name != ".." &&
         std::ranges::all_of(name, [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
                  c == '.';
         });
}

bool is_bridge_type(string_view type) { return type == "bridge" || type == "cnv-bridge"; }

// A list of plugins, or one.
const Object* bridge_plugin(const Object& config) {
  if (is_bridge_type(json::get_string_or(config, "type"))) return &config;
  const json::Array* plugins = json::get_array(config, "plugins");
  if (!plugins) return nullptr;
  const auto* found =
      std::ranges::find_if(*plugins, [](const Value& one) { return is_bridge_type(json::get_string_or(one, "type")); });
  return found == plugins->end() ? nullptr : found->if_object();
}

// What keeps guests apart and a tap that somebody else made cannot do: to go on without it would be less than was
// asked.
constexpr std::array kept_apart = std::to_array<string_view>({"vlan", "vlanTrunk", "macspoofchk", "portIsolation"});

bool is_set(const Value* value) {
  if (!value || value->is_null()) return false;
  if (const auto flag = json::as_bool(value)) return *flag;
  if (const json::Array* list = json::as_array(value)) return !list->empty();
  return !value->is_int64() || value->get_int64() != 0;
}

struct Range {
  std::string address;
  unsigned prefix = 0;
};

// Of pod.vmNetworkCIDR, where QEMU can have it.
std::optional<Range> user_range(string_view cidr) {
  const auto slash = cidr.find('/');
  if (slash == string_view::npos) return std::nullopt;
  const string_view digits = cidr.substr(slash + 1);
  Range range{.address = std::string(cidr.substr(0, slash))};
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), range.prefix);
  in_addr address{};
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || range.prefix < user_prefix_shortest ||
      range.prefix > user_prefix_longest || ::inet_pton(AF_INET, range.address.c_str(), &address) != 1)
    return std::nullopt;
  address.s_addr = htonl(ntohl(address.s_addr) & (UINT32_MAX << (32 - range.prefix)));
  std::array<char, INET_ADDRSTRLEN> text{};
  range.address = ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return range;
}

string_view pod_range(const Object& network) {
  const Object* pod = json::get_object(network, "pod");
  return pod ? json::get_string_or(*pod, "vmNetworkCIDR") : string_view();
}

void make_user_network(Element& nic, const Object* network) {
  nic.set("type", "user");
  for (const string_view unwanted : {"source", "backend", "portForward"})
    nic.children().remove_if([&](const Element& one) { return one.name() == unwanted; });
  const auto range = network ? user_range(pod_range(*network)) : std::nullopt;
  if (range) nic.add("ip").set("family", "ipv4").set("address", range->address).set("prefix", range->prefix);
}

}  // namespace

Result<std::vector<SecondaryNetwork>> secondary_networks(const Object& vmi, string_view ns) {
  std::vector<SecondaryNetwork> found;
  for (const Value& interface : interfaces_in(vmi)) {
    const string_view name = json::get_string_or(interface, "name");
    const Object* network = network_of(vmi, name);
    const Object* multus = network ? json::get_object(*network, "multus") : nullptr;
    if (!multus || json::get_string_or(interface, "state") == "absent") continue;
    if (!json::find(interface, "bridge"))
      return refuse(name,
                    "a secondary network of this node is a bridge, so its interface must have the binding bridge");
    const string_view wanted = json::get_string_or(*multus, "networkName");
    const auto slash = wanted.find('/');
    SecondaryNetwork one{.network = std::string(name),
                         .ns = std::string(slash == string_view::npos ? ns : wanted.substr(0, slash)),
                         .name = std::string(slash == string_view::npos ? wanted : wanted.substr(slash + 1))};
    if (one.ns != ns && one.ns != everybodys_namespace)
      return refuse(name,
                    fmt::format("{}: a NetworkAttachmentDefinition of another namespace than the VMI's must be in "
                                "the namespace {}",
                                wanted, everybodys_namespace));
    found.push_back(std::move(one));
  }
  return found;
}

Result<std::string> bridge_of(string_view config) {
  const auto refused = [](string_view why) { return fail(Status::bad_request(std::string(why))); };
  if (config.size() > limits::network_config_bytes_max) return refused("its spec.config is too long");
  const auto document = json::Document::parse(config);
  const Object* whole = document ? document->root().if_object() : nullptr;
  if (!whole) return refused("its spec.config must be a JSON object");
  const Object* plugin = bridge_plugin(*whole);
  if (!plugin) return refused("its spec.config must have the type bridge, which is all that this node supports");
  std::string bridge(json::get_string_or(*plugin, "bridge"));
  if (!is_bridge_name(bridge)) return refused("its spec.config must name a bridge of this host (\"bridge\")");
  for (const string_view member : kept_apart)
    if (is_set(json::find(*plugin, member)))
      return refused(fmt::format("\"{}\" in its spec.config is not supported on this node", member));
  return bridge;
}

void place_interface(Element& nic, const Object& vmi, const Bridges& bridges) {
  const Element* alias = nic.find("alias");
  string_view name = alias ? alias->get("name") : string_view();
  if (name.starts_with("ua-")) name.remove_prefix(3);
  if (const auto bridge = bridges.find(name); bridge != bridges.end()) {
    nic.set("type", "bridge");
    nic.child("source").set("bridge", bridge->second);
  } else if (const Object* network = network_of(vmi, name); network && json::find(*network, "pod")) {
    make_user_network(nic, network);
  }
  // UNET-18. Neither has more than one queue, and nobody but root may use vhost.
  nic.remove("driver");
  const Object* metadata = json::get_object(vmi, "metadata");
  const string_view uid = metadata ? json::get_string_or(*metadata, "uid") : string_view();
  if (Element& mac = nic.child("mac"); mac.get("address").empty())
    mac.set("address", made_mac(uid, alias ? alias->get("name") : string_view()));
}

std::vector<DeclaredPort> declared_ports(const Object& vmi) {
  std::vector<DeclaredPort> declared;
  for (const Value& interface : interfaces_in(vmi)) {
    const string_view name = json::get_string_or(interface, "name");
    const Object* network = network_of(vmi, name);
    const json::Array* ports = json::get_array(interface, "ports");
    if (!ports || !network || !json::find(*network, "pod")) continue;
    for (const Value& port : *ports) {
      const std::int64_t number = json::get_int_or(port, "port", 0);
      if (number <= 0 || number > UINT16_MAX || declared.size() >= limits::declared_ports_max) continue;
      declared.push_back({.network = std::string(name),
                          .protocol = json::get_string_or(port, "protocol") == "UDP" ? "udp" : "tcp",
                          .port = static_cast<std::uint16_t>(number)});
    }
  }
  return declared;
}

std::vector<std::string> pod_networks(const Object& vmi) {
  std::vector<std::string> names;
  for (const Value& network : networks_in(vmi))
    if (json::find(network, "pod")) names.emplace_back(json::get_string_or(network, "name"));
  return names;
}

std::string other_than_asked(const Object& vmi) {
  for (const Value& interface : interfaces_in(vmi)) {
    const string_view name = json::get_string_or(interface, "name");
    const Object* network = network_of(vmi, name);
    if (!network || !json::find(*network, "pod")) continue;
    for (const string_view binding : {"bridge", "passtBinding"})
      if (json::find(interface, binding))
        return fmt::format(
            "interface {} has the binding {}, which this node has no network for: it is behind NAT as with "
            "masquerade",
            name, binding);
    if (const string_view range = pod_range(*network); !range.empty() && !user_range(range))
      return fmt::format(
          "network {} cannot have the range {} on this node: it must be an IPv4 range of a prefix from {} "
          "to {}; 10.0.2.0/24 is used",
          name, range, user_prefix_shortest, user_prefix_longest);
  }
  return {};
}

}  // namespace vg::guests
