#include "controllers/nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/controller_limits.h"
#include "base/time_rfc3339.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view heartbeat_annotation = "kubevirt.io/heartbeat";

void read_texts(const json::Object* from, std::map<std::string, std::string, std::less<>>& to) {
  if (!from) return;
  for (const auto& [name, value] : *from)
    if (const auto text = json::as_string(&value)) to.emplace(name, *text);
}

std::optional<std::int64_t> read_heartbeat(const json::Object* annotations) {
  const auto text = annotations ? json::get_string(*annotations, heartbeat_annotation) : std::nullopt;
  if (!text) return std::nullopt;
  const auto time = parse_rfc3339(*text);
  return time ? std::optional(time->seconds) : std::nullopt;
}

void drop(std::vector<std::string>& uids, std::string_view uid) { std::erase(uids, uid); }

template <class Key>
void count(std::map<Key, std::size_t>& counts, const std::optional<Key>& key) {
  if (key) ++counts[*key];
}
template <class Key>
void count_down(std::map<Key, std::size_t>& counts, const std::optional<Key>& key) {
  if (!key) return;
  const auto found = counts.find(*key);
  if (found != counts.end() && --found->second == 0) counts.erase(found);
}

}  // namespace

std::int64_t amount_in(const Amounts& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

std::int64_t amount_of(std::string_view resource, const json::Value& value) {
  const auto text = json::as_string(&value);
  Quantity amount = Quantity::from_int(json::as_int(&value).value_or(0));
  if (text) {
    const auto parsed = Quantity::parse(*text);
    if (!parsed) return 0;
    amount = *parsed;
  }
  return std::clamp(resource == "cpu" ? amount.milli_value() : amount.value(), -limits::placement_amount_max,
                    limits::placement_amount_max);
}

std::optional<std::string_view> NodeInfo::label(std::string_view key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

bool NodeInfo::offers_the_same_as(const NodeInfo& other) const {
  return labels == other.labels && taints == other.taints && unschedulable == other.unschedulable &&
         allocatable == other.allocatable;
}

NodeInfo NodeInfo::read(const json::Object& node) {
  NodeInfo info;
  const json::Object* metadata = json::get_object(node, "metadata");
  const json::Object* spec = json::get_object(node, "spec");
  const json::Object* status = json::get_object(node, "status");
  if (metadata) {
    info.name = json::get_string_or(*metadata, "name");
    read_texts(json::get_object(*metadata, "labels"), info.labels);
    info.heartbeat = read_heartbeat(json::get_object(*metadata, "annotations"));
  }
  if (spec) {
    info.unschedulable = json::get_bool_or(*spec, "unschedulable", false);
    if (const json::Array* taints = json::get_array(*spec, "taints"))
      for (const json::Value& taint : *taints)
        info.taints.push_back({.key = std::string(json::get_string_or(taint, "key")),
                               .value = std::string(json::get_string_or(taint, "value")),
                               .effect = std::string(json::get_string_or(taint, "effect"))});
  }
  const json::Object* allocatable = status ? json::get_object(*status, "allocatable") : nullptr;
  if (allocatable)
    for (const auto& [name, value] : *allocatable) info.allocatable.emplace(name, amount_of(name, value));
  return info;
}

NodeInfo Nodes::read(const json::Object& node, Steady now) const {
  NodeInfo info = NodeInfo::read(node);
  const NodeInfo* before = find(info.name);
  const bool is_heard = !before || before->heartbeat != info.heartbeat;
  info.heard = is_heard ? now : before->heard;
  info.is_first_stale = !is_heard && before->is_first_stale;
  return info;
}

void Nodes::put(NodeInfo node, Steady now, std::chrono::system_clock::time_point wall) {
  const NodeInfo* before = find(node.name);
  const bool is_old = node.heartbeat && wall - Timestamp{.seconds = *node.heartbeat}.on_clock() > heartbeat_life;
  if (!before) node.is_first_stale = is_old;
  // Set back into the past, while the clock was not: whoever wrote it says that the node is lost.
  if (is_old && before && before->heartbeat > node.heartbeat)
    node.heard = now - heartbeat_life - std::chrono::seconds(1);
  // One that was silent for so long did not get anything meanwhile, whatever it offers.
  const bool was_alive = before && before->is_alive(now);
  if (!was_alive || !before->offers_the_same_as(node)) ++version_;
  std::string name = node.name;
  infos_.insert_or_assign(std::move(name), std::move(node));
}

void Nodes::forget(std::string_view name) {
  if (const auto found = infos_.find(name); found != infos_.end()) infos_.erase(found);
  ++version_;
}

const NodeInfo* Nodes::find(std::string_view name) const {
  const auto found = infos_.find(name);
  return found == infos_.end() ? nullptr : &found->second;
}

void Nodes::place(Placed placed) {
  remove(placed.uid);
  Amounts& used = used_[placed.node];
  for (const auto& [name, amount] : placed.requests) used[name] += amount;
  of_vmi_[fmt::format("{}/{}", placed.ns, placed.vmi)].push_back(placed.uid);
  on_node_[placed.node].push_back(placed.uid);
  count(cids_, placed.cid);
  count(frequencies_, placed.tsc_frequency);
  std::string uid = placed.uid;
  const Placed& kept = placed_.emplace(std::move(uid), std::move(placed)).first->second;
  if (!kept.keeps_away.empty()) keeping_away_.emplace(kept.uid, &kept);
  ++version_;
}

void Nodes::remove(std::string_view uid) {
  const auto found = placed_.find(uid);
  if (found == placed_.end()) return;
  const Placed& placed = found->second;
  if (const auto used = used_.find(placed.node); used != used_.end())
    for (const auto& [name, amount] : placed.requests) used->second[name] -= amount;
  if (const auto here = on_node_.find(placed.node); here != on_node_.end()) {
    drop(here->second, uid);
    if (here->second.empty()) {
      on_node_.erase(here);
      used_.erase(placed.node);
    }
  }
  if (const auto own = of_vmi_.find(fmt::format("{}/{}", placed.ns, placed.vmi)); own != of_vmi_.end()) {
    drop(own->second, uid);
    if (own->second.empty()) of_vmi_.erase(own);
  }
  count_down(cids_, placed.cid);
  count_down(frequencies_, placed.tsc_frequency);
  keeping_away_.erase(placed.uid);
  placed_.erase(found);
  ++version_;
}

void Nodes::remove_of(std::string_view ns, std::string_view vmi) {
  const auto own = of_vmi_.find(fmt::format("{}/{}", ns, vmi));
  if (own == of_vmi_.end()) return;
  for (const std::string& uid : std::vector<std::string>(own->second)) remove(uid);
}

void Nodes::replace_of(std::string_view ns, std::string_view vmi, std::vector<Placed> placed) {
  const auto own = of_vmi_.find(fmt::format("{}/{}", ns, vmi));
  const std::vector<std::string> before = own == of_vmi_.end() ? std::vector<std::string>() : own->second;
  const auto is_known = [&](const Placed& one) {
    const auto known = placed_.find(one.uid);
    return known != placed_.end() && known->second.is_like(one);
  };
  if (before.size() == placed.size() && std::ranges::all_of(placed, is_known)) return;
  for (const std::string& uid : before) remove(uid);
  for (Placed& one : placed) place(std::move(one));
}

const Amounts& Nodes::used(std::string_view node) const {
  static const Amounts nothing;
  const auto found = used_.find(node);
  return found == used_.end() ? nothing : found->second;
}

std::vector<const Placed*> Nodes::on(std::string_view node) const {
  std::vector<const Placed*> found;
  if (const auto here = on_node_.find(node); here != on_node_.end())
    for (const std::string& uid : here->second) found.push_back(&placed_.find(uid)->second);
  return found;
}

std::vector<const Placed*> Nodes::all() const {
  std::vector<const Placed*> found;
  for (const auto& [uid, placed] : placed_) found.push_back(&placed);
  return found;
}

}  // namespace vg::controllers
