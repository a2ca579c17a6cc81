// The disk of cloud-init (spec launch 2.1).
#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/image_limits.h"
#include "domain/refusal.h"
#include "json/write.h"
#include "launch/planned.h"

namespace vg::launch {
namespace {

using domain::kubevirt::CloudInitNoCloudSource;

// Both kinds have the same members.
struct Source {
  CloudInitNoCloudSource given;
  bool is_config_drive = false;
  std::string volume, field;
};

struct Row {  // what differs between the kinds (RUN-CI-08..11)
  std::string_view user_data, meta_data, network_data, label;
  std::string_view instance_type, instance_id, host_name, keys;
  Path path;
};
constexpr Row no_cloud{"user-data",      "meta-data",     "network-config",
                       "cidata",         "instance-type", "instance-id",
                       "local-hostname", "public-keys",   Path::cloud_init_no_cloud};
constexpr Row config_drive{"openstack/latest/user_data",
                           "openstack/latest/meta_data.json",
                           "openstack/latest/network_data.json",
                           "config-2",
                           "instance_type",
                           "instance_id",
                           "hostname",
                           "public_keys",
                           Path::cloud_init_config_drive};

// RUN-CI-01: the first volume, and the first of the other kind. Upstream makes one image and then has a disk whose file
// is not there, so that the guest does not start; each kind has a file of its own, so both can be made.
std::vector<Source> cloud_init_of(const Planned& planned) {
  std::vector<Source> found;
  const auto volumes = planned.vmi.spec.volumes();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const auto volume = volumes[i];
    for (const std::string_view member : {"cloudInitNoCloud", "cloudInitConfigDrive"}) {
      const bool is_config_drive = member == "cloudInitConfigDrive";
      const CloudInitNoCloudSource given(volume.get(member));
      if (!given || std::ranges::find(found, is_config_drive, &Source::is_config_drive) != found.end()) continue;
      found.push_back({.given = given,
                       .is_config_drive = is_config_drive,
                       .volume = std::string(volume.name()),
                       .field = field_of(i, member)});
    }
  }
  return found;
}

// One of the two kinds of data.
struct DataFrom {
  std::string_view secret, key, other_key, text, base64, field;
};
struct Data {
  std::string content;
  bool is_missing = false;  // a Secret was named, and had nothing
};

// RUN-CI-02, RUN-CI-03
Result<Data> read_data(const Planned& planned, const Source& source, const DataFrom& from) {
  Data data;
  if (!from.secret.empty()) {
    if (const json::Object* secret = planned.wanted.mounted("Secret", from.secret)) {
      auto files = files_of("Secret", *secret, fmt::format("{}.{}", source.field, from.field));
      if (!files) return fail(std::move(files.error()));
      for (const Step::File& file : *files)
        if (data.content.empty() && (file.name == from.key || file.name == from.other_key)) data.content = file.content;
    }
    data.is_missing = data.content.empty();
  }
  if (data.content.empty()) data.content = from.text;
  if (data.content.empty() && !from.base64.empty()) {
    auto decoded = base64_decode_lenient(from.base64);
    if (!decoded)
      return domain::refuse("RUN-CI-02", fmt::format("{}.{}Base64", source.field, from.other_key), "must be Base64");
    data.content = std::move(*decoded);
  }
  if (data.content.size() > limits::launch_files_bytes_max)
    return domain::refuse("RUN-CI-02", source.field, "the data is too large for a disk of it");
  return data;
}

// RUN-CI-05
std::string host_name_of(const domain::Vmi& vmi) {
  const std::string_view given = vmi.spec.hostname(), name = vmi.metadata.name();
  return std::string(given.empty() ? name.substr(0, std::min<std::size_t>(name.find('.'), 63)) : given);
}

// RUN-CI-06
std::string_view instance_type_of(const domain::Vmi& vmi) {
  const std::string_view cluster = vmi.annotations["kubevirt.io/cluster-instancetype-name"];
  return cluster.empty() ? vmi.annotations["kubevirt.io/instancetype-name"] : cluster;
}

// RUN-CI-07
Result<json::Object> keys_of(const Planned& planned, bool is_config_drive) {
  std::vector<std::string> keys;
  for (const domain::kubevirt::AccessCredential credential : planned.vmi.spec.access_credentials()) {
    const auto method = credential.ssh_public_key().propagation_method();
    if (is_config_drive ? !method.config_drive() : !method.no_cloud()) continue;
    const std::string_view name = credential.ssh_public_key().source().secret().secret_name();
    const json::Object* secret = planned.wanted.mounted("Secret", name);
    if (!secret)
      return domain::refuse("RUN-CI-07", "spec.accessCredentials",
                            fmt::format("the Secret {} does not exist", domain::in_quotes(name)));
    auto files = files_of("Secret", *secret, "spec.accessCredentials");
    if (!files) return fail(std::move(files.error()));
    for (Step::File& file : *files)
      if (!file.content.empty() && !file.name.starts_with("..")) keys.push_back(std::move(file.content));
  }
  // Go writes maps in the order of their keys, which are texts.
  std::vector<std::pair<std::string, std::string*>> numbered;
  for (std::size_t i = 0; i < keys.size(); ++i) numbered.emplace_back(fmt::to_string(i), &keys[i]);
  std::ranges::sort(numbered);
  json::Object object;
  for (const auto& [number, key] : numbered) object.emplace(number, *key);
  return object;
}

// RUN-CI-09, RUN-CI-11. Without firmware.uuid the VMI's own stands for it, which does not change with every attempt.
std::string meta_data_of(const Planned& planned, const Source& source, json::Object keys, std::string_view xml) {
  const Row& row = source.is_config_drive ? config_drive : no_cloud;
  const domain::Vmi& vmi = planned.vmi;
  const std::string_view given = vmi.dom.firmware().uuid(), uuid = given.empty() ? vmi.metadata.uid() : given;
  json::Object data;
  if (const auto type = instance_type_of(vmi); !type.empty()) data.emplace(row.instance_type, type);
  data.emplace(row.instance_id, source.is_config_drive
                                    ? fmt::format("{}.{}", vmi.metadata.name(), vmi.metadata.namespace_())
                                    : std::string(uuid));
  data.emplace(row.host_name, host_name_of(vmi));
  if (source.is_config_drive) {
    data.emplace("uuid", uuid);
    if (json::Array devices = device_metadata(vmi, xml); !devices.empty()) data.emplace("devices", std::move(devices));
  }
  if (!keys.empty()) data.emplace(row.keys, std::move(keys));
  std::string text;
  json::write(data, text, {.escape_html = true});
  return text;
}

struct BothData {
  std::string user, network;
};
// RUN-CI-04
Result<BothData> read_both(const Planned& planned, const Source& source) {
  const auto& given = source.given;
  const auto secret_of = [](const json::Value* reference) {
    return reference ? json::get_string_or(*reference, "name") : std::string_view();
  };
  auto user = read_data(planned, source,
                        {.secret = secret_of(given.get("secretRef")),
                         .key = "userdata",
                         .other_key = "userData",
                         .text = given.user_data(),
                         .base64 = given.user_data_base64(),
                         .field = "secretRef"});
  if (!user) return fail(std::move(user.error()));
  auto network = read_data(planned, source,
                           {.secret = secret_of(given.get("networkDataSecretRef")),
                            .key = "networkdata",
                            .other_key = "networkData",
                            .text = given.network_data(),
                            .base64 = given.network_data_base64(),
                            .field = "networkDataSecretRef"});
  if (!network) return fail(std::move(network.error()));
  if (user->is_missing && network->is_missing)
    return domain::refuse("RUN-CI-04", source.field, "neither of its two Secrets has the data");
  if (user->content.empty() && network->content.empty() && (user->is_missing || network->is_missing)) {
    const std::string_view field = user->is_missing ? "secretRef" : "networkDataSecretRef";
    return domain::refuse("RUN-CI-04", fmt::format("{}.{}", source.field, field),
                          fmt::format("the Secret {} does not exist, or has no such data",
                                      domain::in_quotes(secret_of(given.get(field)))));
  }
  if (user->content.empty() && network->content.empty())
    return domain::require("RUN-CI-04", source.field, "userData or networkData");
  return BothData{.user = std::move(user->content), .network = std::move(network->content)};
}

Result<void> plan_source(const Planned& planned, const Source& source, std::string_view defined_xml, Steps& steps) {
  const Row& row = source.is_config_drive ? config_drive : no_cloud;
  const std::string path = planned.at(row.path);
  steps.push_back({.kind = Step::Kind::make_folder, .path = path.substr(0, path.rfind('/'))});
  auto data = read_both(planned, source);
  if (!data) return fail(std::move(data.error()));
  auto keys = keys_of(planned, source.is_config_drive);
  if (!keys) return fail(std::move(keys.error()));
  Files files{
      {.name = std::string(row.user_data), .content = std::move(data->user)},
      {.name = std::string(row.meta_data), .content = meta_data_of(planned, source, std::move(*keys), defined_xml)}};
  if (!data->network.empty())  // RUN-CI-16
    files.push_back({.name = std::string(row.network_data), .content = std::move(data->network)});
  steps.push_back(iso_step(planned, source.volume, path, row.label, std::move(files)));
  return {};
}

}  // namespace

Result<void> plan_cloud_init(const Planned& planned, std::string_view defined_xml, Steps& steps) {
  for (const Source& source : cloud_init_of(planned))
    if (auto done = plan_source(planned, source, defined_xml, steps); !done) return done;
  return {};
}

}  // namespace vg::launch
