#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>

#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/preemption.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 3> restart_policies = {"Always", "OnFailure", "Never"};
constexpr std::array<std::string_view, 4> dns_policies = {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"};
constexpr std::array<std::string_view, 2> systems = {"linux", "windows"};
constexpr std::size_t name_servers_max = 3;
constexpr std::size_t search_paths_max = 32;
constexpr std::size_t search_bytes_max = 2048;
constexpr std::string_view mirror_annotation = "kubernetes.io/config.mirror";

// A search path may have labels that begin with '_' or hold it, end with a dot, or be the root alone.
Defects search_path_defects(std::string_view path) {
  if (path == ".") return {};
  if (path.ends_with('.')) path.remove_suffix(1);
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool begins_label = i == 0 || path[i - 1] == '.';
    if (path[i] != '_')
      plain += path[i];
    else if (!begins_label)
      plain += '-';
  }
  return dns1123_subdomain_defects(plain);
}

void check_dns(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Object& config = members(spec, "dnsConfig");
  const json::Array& servers = items(config, "nameservers");
  const json::Array& searches = items(config, "searches");
  const Place servers_place = at.field("nameservers");
  const Place searches_place = at.field("searches");
  if (text(spec, "dnsPolicy") == "None") {
    if (!has(spec, "dnsConfig")) return causes.required(at, "dnsPolicy None requires dnsConfig");
    if (servers.empty()) return causes.required(servers_place, "dnsPolicy None requires at least one name server");
  }
  if (servers.size() > name_servers_max) causes.invalid(servers_place, "must have at most 3 name servers");
  for (std::size_t i = 0; i < servers.size(); ++i) check_ip(causes, servers_place.item(i), as_text(servers[i]));
  if (searches.size() > search_paths_max) causes.invalid(searches_place, "must have at most 32 search paths");
  std::size_t bytes = searches.empty() ? 0 : searches.size() - 1;
  for (const json::Value& search : searches) bytes += as_text(search).size();
  if (bytes > search_bytes_max)
    causes.invalid(searches_place, "must have at most 2048 bytes in all search paths together");
  for (std::size_t i = 0; i < searches.size(); ++i)
    causes.defects(searches_place.item(i), as_text(searches[i]), search_path_defects(as_text(searches[i])));
  const json::Array& options = items(config, "options");
  const Place options_place = at.field("options");
  for (std::size_t i = 0; i < options.size(); ++i)
    if (text(options[i], "name").empty()) causes.required(options_place.item(i), "the name of the option");
}

void check_host_network(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (!json::get_bool_or(spec, "hostNetwork", false)) return;
  const json::Array& containers = items(spec, "containers");
  const Place list = at.field("containers");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const json::Array& ports = items(members(containers[i]), "ports");
    for (std::size_t j = 0; j < ports.size(); ++j)
      if (json::get_int_or(ports[j], "hostPort", 0) != json::get_int_or(ports[j], "containerPort", 0))
        causes.invalid(list.item(i).field("ports").item(j).field("hostPort"),
                       "hostPort must equal containerPort with hostNetwork");
  }
}

void check_gates(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Array& readiness = items(spec, "readinessGates");
  const Place readiness_place = at.field("readinessGates");
  for (std::size_t i = 0; i < readiness.size(); ++i) {
    const std::string_view type = text(readiness[i], "conditionType");
    causes.defects(readiness_place.item(i).field("conditionType"), type, qualified_name_defects(type));
  }
  const json::Array& scheduling = items(spec, "schedulingGates");
  const Place scheduling_place = at.field("schedulingGates");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < scheduling.size(); ++i) {
    const std::string_view name = text(scheduling[i], "name");
    causes.defects(scheduling_place.item(i), name, qualified_name_defects(name));
    if (!seen.insert(name).second) causes.duplicate(scheduling_place.item(i), name);
  }
}

struct NameField {
  std::string_view member;
  Defects (*defects)(std::string_view);
};

// Names that may be left out.
void check_names(FieldCauses& causes, const Place& at, const json::Object& spec,
                 std::initializer_list<NameField> fields) {
  for (const NameField& field : fields)
    if (const std::string_view name = text(spec, field.member); !name.empty())
      causes.defects(at.field(field.member), name, field.defects(name));
}

void check_host_aliases(FieldCauses& causes, const Place& at, const json::Array& aliases) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const json::Object& alias = members(aliases[i]);
    const Place place = at.item(i);
    const Place names_place = place.field("hostnames");
    check_ip(causes, place.field("ip"), text(alias, "ip"));
    const json::Array& names = items(alias, "hostnames");
    for (std::size_t j = 0; j < names.size(); ++j)
      causes.defects(names_place.item(j), as_text(names[j]), dns1123_subdomain_defects(as_text(names[j])));
  }
}

}  // namespace

void check_pod_spec(FieldCauses& causes, const Place& at, const json::Object& pod) {
  const json::Object& spec = members(pod, "spec");
  if (!has(spec, "terminationGracePeriodSeconds"))
    causes.required(at.field("terminationGracePeriodSeconds"), "the termination grace period");
  PodFacts facts;
  facts.grace_seconds = json::get_int_or(spec, "terminationGracePeriodSeconds", 0);
  facts.volumes = check_volumes(causes, at, pod);
  check_containers(causes, at, spec, facts);
  check_host_network(causes, at, spec);
  check_choice(causes, at.field("restartPolicy"), text(spec, "restartPolicy"), restart_policies);
  check_choice(causes, at.field("dnsPolicy"), text(spec, "dnsPolicy"), dns_policies);
  check_labels(causes, at.field("nodeSelector"), members(spec, "nodeSelector"));
  check_pod_security(causes, at.field("securityContext"), spec);
  check_affinity(causes, at.field("affinity"), members(spec, "affinity"));
  check_dns(causes, at.field("dnsConfig"), spec);
  check_gates(causes, at, spec);
  check_topology_spread(causes, at.field("topologySpreadConstraints"), items(spec, "topologySpreadConstraints"));
  check_names(causes, at, spec,
              {{"serviceAccountName", dns1123_subdomain_defects}, {"nodeName", dns1123_subdomain_defects}});
  if (const auto seconds = json::get_int(spec, "activeDeadlineSeconds");
      seconds && (*seconds < 1 || *seconds > std::numeric_limits<std::int32_t>::max()))
    causes.invalid(at.field("activeDeadlineSeconds"), "must be from 1 to 2147483647");
  check_names(causes, at, spec, {{"hostname", dns1123_label_defects}, {"subdomain", dns1123_label_defects}});
  check_tolerations(causes, at.field("tolerations"), items(spec, "tolerations"));
  check_host_aliases(causes, at.field("hostAliases"), items(spec, "hostAliases"));
  check_names(causes, at, spec,
              {{"priorityClassName", dns1123_subdomain_defects}, {"runtimeClassName", dns1123_subdomain_defects}});
  if (has(spec, "preemptionPolicy"))
    check_choice(causes, at.field("preemptionPolicy"), text(spec, "preemptionPolicy"), preemption_policies);
  check_overhead(causes, at.field("overhead"), members(spec, "overhead"));
  if (has(spec, "os")) check_choice(causes, at.field("os").field("name"), text(members(spec, "os"), "name"), systems);
}

namespace {

void check_images_are_trimmed(FieldCauses& causes, const Place& at, const json::Array& containers) {
  static constexpr std::string_view blanks = " \t\r\n\v\f";
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string_view image = text(containers[i], "image");
    if (!image.empty() && (blanks.contains(image.front()) || blanks.contains(image.back())))
      causes.invalid(at.item(i).field("image"), "must not begin or end with whitespace");
  }
}

}  // namespace

void check_pod(FieldCauses& causes, const json::Object& pod) {
  const Place at = top("spec");
  const json::Object& spec = members(pod, "spec");
  if (has_annotation(pod, mirror_annotation) && text(spec, "nodeName").empty())
    causes.invalid(top("metadata").field("annotations").key(mirror_annotation),
                   "nodeName is required for a mirror pod");
  check_pod_spec(causes, at, pod);
  check_images_are_trimmed(causes, at.field("containers"), items(spec, "containers"));
  check_images_are_trimmed(causes, at.field("initContainers"), items(spec, "initContainers"));
}

}  // namespace vg::resources::core_kinds
