#include "controllers/migration/options.h"

#include <array>
#include <optional>
#include <tuple>

#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

constexpr std::int64_t in_cluster_default = 5;
constexpr std::int64_t from_node_default = 2;

json::Object defaults(const json::StoragePtr& storage) {
  return json::Object({{"allowAutoConverge", false},
                       {"allowPostCopy", false},
                       {"bandwidthPerMigration", "0"},
                       {"completionTimeoutPerGiB", 150},
                       {"maxDowntimeMs", 900},
                       {"nodeDrainTaintKey", "kubevirt.io/drain"},
                       {"parallelMigrationsPerCluster", in_cluster_default},
                       {"parallelOutboundMigrationsPerNode", from_node_default},
                       {"progressTimeout", 150},
                       {"unsafeMigrationOverride", false},
                       {"utilityVolumesTimeout", 150}},
                      storage);
}

// MIG-M05: whoever allows post-copy and says nothing about disruption allows that as well.
void let_disruption_follow(json::Object& options, const json::Object* said) {
  const json::Value* post_copy = said ? json::find(*said, "allowPostCopy") : nullptr;
  if (post_copy && !json::find(*said, "allowWorkloadDisruption")) options["allowWorkloadDisruption"] = *post_copy;
}

// MIG-M04
constexpr std::array<std::string_view, 6> policy_members{"allowAutoConverge",       "bandwidthPerMigration",
                                                         "completionTimeoutPerGiB", "maxDowntimeMs",
                                                         "allowPostCopy",           "allowWorkloadDisruption"};

void apply_policy(json::Object& options, const json::Object& policy) {
  const json::Object* spec = json::get_object(policy, "spec");
  if (!spec) return;
  for (const std::string_view member : policy_members)
    if (const json::Value* value = json::find(*spec, member)) options[member] = *value;
  let_disruption_follow(options, spec);
  if (const json::Object* experimental = json::get_object(*spec, "experimental"))
    for (const auto& [name, value] : *experimental) json::ensure_object(options, "experimental")[name] = value;
}

// How many labels are asked for, if all of them are there (MIG-M02).
std::optional<std::size_t> matched(const json::Object* wanted, const json::Object* labels) {
  if (!wanted) return 0;
  for (const auto& [name, value] : *wanted)
    if (!labels || json::get_string(*labels, name) != json::as_string(&value)) return std::nullopt;
  return wanted->size();
}

struct Score {
  std::size_t all = 0, of_vmi = 0;
  auto operator<=>(const Score&) const = default;
};

std::optional<Score> score_of(const json::Object& policy, const json::Object* vmi_labels,
                              const json::Object* namespace_labels) {
  const json::Object* spec = json::get_object(policy, "spec");
  const json::Object* selectors = spec ? json::get_object(*spec, "selectors") : nullptr;
  if (!selectors) return std::nullopt;  // MIG-M01
  const auto of_vmi = matched(json::get_object(*selectors, "virtualMachineInstanceSelector"), vmi_labels);
  const auto of_namespace = matched(json::get_object(*selectors, "namespaceSelector"), namespace_labels);
  if (!of_vmi || !of_namespace) return std::nullopt;
  return Score{.all = *of_vmi + *of_namespace, .of_vmi = *of_vmi};
}

// MIG-M03
const json::Object* best_policy(const std::vector<const json::Object*>& policies, const json::Object* vmi_labels,
                                const json::Object* namespace_labels) {
  const json::Object* best = nullptr;
  Score best_score;
  for (const json::Object* policy : policies) {
    const auto score = score_of(*policy, vmi_labels, namespace_labels);
    if (!score) continue;
    const bool better = !best || *score > best_score ||
                        (*score == best_score && metadata_text(*policy, "name") < metadata_text(*best, "name"));
    if (better) std::tie(best, best_score) = std::tuple(policy, *score);
  }
  return best;
}

const json::Object* configured(const config::ClusterConfig& config) {
  return json::get_object(config.configuration(), "migrations");
}

}  // namespace

json::Object cluster_options(const config::ClusterConfig& config, const json::StoragePtr& storage) {
  json::Object options = defaults(storage);
  const json::Object* said = configured(config);
  if (said)
    for (const auto& [name, value] : *said) options[name] = value;
  let_disruption_follow(options, said);
  if (!json::find(options, "allowWorkloadDisruption")) options["allowWorkloadDisruption"] = false;
  return options;
}

Options options_for(const json::Object* vmi_labels, const json::Object* namespace_labels,
                    const std::vector<const json::Object*>& policies, const config::ClusterConfig& config,
                    const json::StoragePtr& storage) {
  Options options{.values = cluster_options(config, storage), .policy = {}};
  if (const json::Object* policy = best_policy(policies, vmi_labels, namespace_labels)) {
    options.policy = metadata_text(*policy, "name");
    apply_policy(options.values, *policy);
  }
  return options;
}

Limits limits_of(const config::ClusterConfig& config) {
  const json::Object* said = configured(config);
  if (!said) return {.in_cluster = in_cluster_default, .from_node = from_node_default};
  return {.in_cluster = json::get_int_or(*said, "parallelMigrationsPerCluster", in_cluster_default),
          .from_node = json::get_int_or(*said, "parallelOutboundMigrationsPerNode", from_node_default)};
}

}  // namespace vg::controllers::migration
