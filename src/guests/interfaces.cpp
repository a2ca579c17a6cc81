// UNET-01 to UNET-07
#include <algorithm>
#include <set>

#include "base/node_limits.h"
#include "guests/report.h"
#include "guests/vmi_lists.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;
using Addresses = std::vector<std::string>;

constexpr string_view from_domain = "domain", from_agent = "guest-agent", from_multus = "multus-status";

// The network whose interface is the first one: the pod's, or the multus network that says so.
string_view primary_network(const Object& vmi) {
  for (const Value& network : networks_in(vmi)) {
    const Object* multus = json::get_object(network, "multus");
    if (json::find(network, "pod") || (multus && json::get_bool_or(*multus, "default", false)))
      return json::get_string_or(network, "name");
  }
  return {};
}

bool is_v6(string_view address) { return address.contains(':'); }
bool is_link_local(string_view address) { return address.starts_with("fe80:") || address.starts_with("169.254."); }

bool equal_mac(string_view one, string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

// UNET-03: per family the agent's count where there were none, and an agent without any takes the others away.
Addresses merged(const Addresses& own, const AgentInterface& agent, bool is_masqueraded) {
  Addresses all;
  for (const bool v6 : {false, true}) {
    Addresses mine, theirs;
    for (const std::string& address : own)
      if (is_v6(address) == v6) mine.push_back(address);
    for (const std::string& address : agent.addresses)
      if (is_v6(address) == v6 && !(is_masqueraded && is_link_local(address))) theirs.push_back(address);
    const Addresses& chosen = mine.empty() || theirs.empty() ? theirs : mine;
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

void put_addresses(Object& one, const Addresses& addresses, const json::StoragePtr& storage) {
  json::erase(one, "ipAddress");
  json::erase(one, "ipAddresses");
  if (addresses.empty()) return;
  Array shown(storage);
  for (const std::string& address : addresses)
    if (shown.size() < limits::interface_addresses_max) shown.emplace_back(address);
  one["ipAddress"] = addresses.front();
  one["ipAddresses"] = std::move(shown);
}

class Interfaces {
 public:
  Interfaces(const Object& vmi, const DomainFacts& facts, const AgentFacts* agent, string_view address,
             const json::StoragePtr& storage)
      : vmi_(vmi), facts_(facts), agent_(agent), address_(address), storage_(storage) {}

  Array all() {
    const string_view primary = primary_network(vmi_);
    Array shown(storage_);
    for (const NicFact& nic : facts_.nics)
      if (nic.alias == primary) shown.emplace_back(of_domain(nic, true));
    for (const NicFact& nic : facts_.nics)
      if (nic.alias != primary) shown.emplace_back(of_domain(nic, false));
    add_multus(shown);
    add_agents_own(shown);
    return shown;
  }

 private:
  const AgentInterface* agent_of(string_view mac) {
    if (!agent_ || mac.empty()) return nullptr;
    for (const AgentInterface& one : agent_->interfaces)
      if (equal_mac(one.mac, mac)) return &one;
    return nullptr;
  }

  // UNET-01, UNET-02, UNET-06
  Object of_domain(const NicFact& nic, bool is_primary) {
    const Value* before = entry_with(list_at(vmi_, "status", {"interfaces"}), "name", nic.alias);
    const Value* given = entry_with(interfaces_in(vmi_), "name", nic.alias);
    const bool is_masqueraded = given && json::find(*given, "masquerade");
    Addresses addresses;
    if (is_primary && !address_.empty()) addresses.emplace_back(address_);
    Object one(storage_);
    std::string source(from_domain);
    if (const AgentInterface* agent = agent_of(nic.mac)) {
      matched_.insert(agent);
      addresses = merged(addresses, *agent, is_masqueraded);
      one["interfaceName"] = agent->name;
      source += ", guest-agent";
    }
    if (before && json::get_string_or(*before, "infoSource").contains(from_multus)) source += ", multus-status";
    one["infoSource"] = source;
    put_addresses(one, addresses, storage_);
    one["linkState"] = nic.link;
    one["mac"] = nic.mac;
    one["name"] = nic.alias;
    const string_view pod = before ? json::get_string_or(*before, "podInterfaceName") : string_view();
    if (!pod.empty() || is_primary) one["podInterfaceName"] = pod.empty() ? string_view("eth0") : pod;
    one["queueCount"] = nic.queues;
    return one;
  }

  // What only the controller knows of yet: a network that is to be plugged in.
  void add_multus(Array& shown) {
    for (const Value& before : list_at(vmi_, "status", {"interfaces"})) {
      const string_view name = json::get_string_or(before, "name");
      if (name.empty() || facts_.nic(name) || !json::get_string_or(before, "infoSource").contains(from_multus))
        continue;
      Object kept(storage_);
      for (const string_view member : {"name", "podInterfaceName"})
        if (const Value* value = json::find(before, member)) kept[member] = *value;
      kept["infoSource"] = from_multus;
      shown.emplace_back(std::move(kept));
    }
  }

  // UNET-05
  void add_agents_own(Array& shown) {
    if (!agent_) return;
    std::size_t added = 0;
    for (const AgentInterface& agent : agent_->interfaces) {
      if (matched_.contains(&agent) || agent.name == "lo") continue;
      if (added++ == limits::agent_interfaces_shown_max) return;
      Object one(storage_);
      one["infoSource"] = from_agent;
      one["interfaceName"] = agent.name;
      put_addresses(one, agent.addresses, storage_);
      if (!agent.mac.empty()) one["mac"] = agent.mac;
      shown.emplace_back(std::move(one));
    }
  }

  const Object& vmi_;
  const DomainFacts& facts_;
  const AgentFacts* agent_;
  string_view address_;
  json::StoragePtr storage_;
  std::set<const AgentInterface*> matched_;
};

}  // namespace

Array interfaces_of(const Object& vmi, const DomainFacts& facts, const AgentFacts* agent, string_view address,
                    const json::StoragePtr& storage) {
  return Interfaces(vmi, facts, agent, address, storage).all();
}

}  // namespace vg::guests
