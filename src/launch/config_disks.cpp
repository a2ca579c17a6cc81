// Disks made of objects of the API (spec launch 2.2).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/views/k8s_volume.h"
#include "base/json_text.h"
#include "base/quantity.h"
#include "domain/refusal.h"
#include "launch/planned.h"

namespace vg::launch {
namespace {

using domain::kubevirt::Volume;

struct VolumeIn {
  Volume volume;
  std::string field;  // "spec.volumes[0].secret"
};

std::string_view or_default(std::string_view label) { return label.empty() ? "cfgdata" : label; }

// The object, which may be missing only if the volume says so.
Result<Files> read_object(const Planned& planned, std::string_view kind, std::string_view name, bool optional,
                          std::string_view field) {
  const json::Object* object = planned.wanted.mounted(kind, name);
  if (object) return files_of(kind, *object, field);
  if (optional) return Files();
  return domain::refuse("", field, fmt::format("the {} {} does not exist", kind, domain::in_quotes(name)));
}

Result<void> plan_config_map(const Planned& planned, const VolumeIn& in, Steps& steps) {  // RUN-ISO-01
  const auto given = in.volume.config_map();
  auto files = read_object(planned, "ConfigMap", given.name(), given.optional().value_or(false), in.field);
  if (!files) return fail(std::move(files.error()));
  const auto name = in.volume.name();
  steps.push_back(
      iso_step(planned, name, planned.at(Path::config_map, name), or_default(given.volume_label()), std::move(*files)));
  return {};
}

Result<void> plan_secret(const Planned& planned, const VolumeIn& in, Steps& steps) {  // RUN-ISO-02
  const auto given = in.volume.secret();
  auto files = read_object(planned, "Secret", given.secret_name(), given.optional().value_or(false), in.field);
  if (!files) return fail(std::move(files.error()));
  const auto name = in.volume.name();
  steps.push_back(
      iso_step(planned, name, planned.at(Path::secret, name), or_default(given.volume_label()), std::move(*files)));
  return {};
}

// A line for each entry, sorted: name="value", the value as Go quotes it.
std::string lines_of(const api::Map<std::string_view>& entries) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : entries) {
    std::string line = fmt::format("{}=", key);
    append_json_string(line, value, value.size() + 1);
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// metadata.labels['name'] -> name
std::optional<std::string_view> subscript(std::string_view path, std::string_view map) {
  if (!path.starts_with(map) || !path.substr(map.size()).starts_with("['") || !path.ends_with("']")) return {};
  return path.substr(map.size() + 2, path.size() - map.size() - 4);
}

// RUN-ISO-03, of the VMI: there is no pod.
Result<std::string> render_field(const Planned& planned, std::string_view path, std::string_view field) {
  const auto& metadata = planned.vmi.metadata;
  if (path == "metadata.name") return std::string(metadata.name());
  if (path == "metadata.namespace") return std::string(metadata.namespace_());
  if (path == "metadata.uid") return std::string(metadata.uid());
  if (path == "metadata.labels") return lines_of(metadata.labels());
  if (path == "metadata.annotations") return lines_of(metadata.annotations());
  if (const auto key = subscript(path, "metadata.labels")) return std::string(metadata.labels()[*key]);
  if (const auto key = subscript(path, "metadata.annotations")) return std::string(metadata.annotations()[*key]);
  return domain::refuse("RUN-ISO-03", field, fmt::format("{}: this field is not supported", domain::in_quotes(path)));
}

// "limits.cpu", in units of the divisor, rounded up.
Result<std::string> render_resource(const Planned& planned, const api::k8s::ResourceFieldSelector& given,
                                    std::string_view field) {
  const std::string_view resource = given.resource(),
                         name = resource.substr(std::min(resource.find('.') + 1, resource.size()));
  std::optional<Quantity> amount;
  if (resource.starts_with("limits.")) amount = domain::limited(planned.vmi, name);
  if (resource.starts_with("requests.") || (resource.starts_with("limits.") && !amount))
    amount = domain::requested(planned.vmi, name);
  if (!amount)
    return domain::refuse("RUN-ISO-03", field,
                          fmt::format("{}: the VMI has no such resource", domain::in_quotes(resource)));
  const auto divisor = given.divisor() ? domain::amount_of(given.divisor()).milli_value() : 1000;
  const std::int64_t unit = divisor > 0 ? divisor : 1000, milli = amount->milli_value();
  return fmt::to_string(milli / unit + (milli % unit > 0 ? 1 : 0));
}

// A path of an item may have folders, and none that lead elsewhere.
Result<void> check_item_path(std::string_view path, std::string_view field) {
  std::string_view rest = path;
  do {
    const std::string_view step = rest.substr(0, rest.find('/'));
    if (auto named = check_name(step, field); !named) return named;
    rest.remove_prefix(std::min(step.size() + 1, rest.size()));
  } while (!rest.empty());
  return {};
}

Result<void> plan_downward_api(const Planned& planned, const VolumeIn& in, Steps& steps) {
  const auto given = in.volume.downward_api();
  Files files;
  for (const api::k8s::DownwardAPIVolumeFile item : given.fields()) {
    if (auto checked = check_item_path(item.path(), in.field); !checked) return checked;
    auto content = item.field_ref() ? render_field(planned, item.field_ref().field_path(), in.field)
                                    : render_resource(planned, item.resource_field_ref(), in.field);
    if (!content) return fail(std::move(content.error()));
    files.push_back({.name = std::string(item.path()), .content = std::move(*content)});
  }
  const auto name = in.volume.name();
  steps.push_back(iso_step(planned, name, planned.at(Path::downward_api, name), or_default(given.volume_label()),
                           std::move(files)));
  return {};
}

Result<void> plan_service_account(const Planned& planned, const VolumeIn& in, Steps& steps) {  // RUN-ISO-04
  Files files{{.name = "ca.crt", .content = planned.wanted.authority},
              {.name = "namespace", .content = std::string(planned.vmi.metadata.namespace_())},
              {.name = "token", .content = planned.wanted.service_account_token}};
  steps.push_back(iso_step(planned, in.volume.name(), planned.at(Path::service_account), "cfgdata", std::move(files)));
  return {};
}

bool is_answer_file(const Step::File& file) {
  return domain::equal_in_any_case(file.name, "autounattend.xml") ||
         domain::equal_in_any_case(file.name, "unattend.xml");
}

Result<void> plan_sysprep(const Planned& planned, const VolumeIn& in, Steps& steps) {  // RUN-ISO-05
  const auto given = in.volume.sysprep();
  const json::Value *secret = given.get("secret"), *config_map = given.get("configMap");
  const std::string_view secret_name = secret ? json::get_string_or(*secret, "name") : std::string_view();
  const std::string_view map_name = config_map ? json::get_string_or(*config_map, "name") : std::string_view();
  if (secret_name.empty() && map_name.empty()) return {};
  auto files = secret_name.empty() ? read_object(planned, "ConfigMap", map_name, false, in.field)
                                   : read_object(planned, "Secret", secret_name, false, in.field);
  if (!files) return fail(std::move(files.error()));
  if (std::ranges::none_of(*files, is_answer_file))
    return domain::refuse("RUN-ISO-05", in.field, "the object must have autounattend.xml or unattend.xml");
  const auto name = in.volume.name();
  steps.push_back(iso_step(planned, name, planned.at(Path::sysprep, name), "unattendCD", std::move(*files)));
  return {};
}

struct ConfigDisk {
  std::string_view member;
  bool needs_disk;
  Result<void> (*make)(const Planned&, const VolumeIn&, Steps&);
};
// In this order (spec launch 2, row 7).
constexpr std::array config_disks = std::to_array<ConfigDisk>({
    {"configMap", true, plan_config_map},
    {"secret", true, plan_secret},
    {"sysprep", false, plan_sysprep},
    {"downwardAPI", true, plan_downward_api},
    {"serviceAccount", true, plan_service_account},
});

}  // namespace

Result<void> plan_config_disks(const Planned& planned, Steps& steps) {
  const auto volumes = planned.vmi.spec.volumes();
  for (const ConfigDisk& kind : config_disks) {
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const Volume volume = volumes[i];
      if (!api::View(volume.get(kind.member))) continue;
      if (kind.needs_disk && !planned.has_disk(volume.name())) continue;
      if (auto made = kind.make(planned, {.volume = volume, .field = field_of(i, kind.member)}, steps); !made)
        return made;
    }
  }
  return {};
}

}  // namespace vg::launch
