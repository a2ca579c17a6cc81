#include "controllers/storage/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/controller_limits.h"
#include "base/quantity.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

constexpr std::string_view profiles = "cdi.kubevirt.io/storageprofiles";

const json::Object* at(const json::Object* object, std::initializer_list<std::string_view> path) {
  for (const std::string_view step : path) {
    if (!object) return nullptr;
    object = json::get_object(*object, step);
  }
  return object;
}

bool is_archive(const json::Object& spec) { return json::get_string_or(spec, "contentType") == "archive"; }

std::unexpected<NoClaim> not_valid(std::string message, bool wait = false) {
  return std::unexpected(NoClaim{.reason = "ErrClaimNotValid", .message = std::move(message), .wait = wait});
}

bool shares_mode(const json::Array& a, const json::Array& b) {
  return std::ranges::any_of(a, [&](const json::Value& mode) { return std::ranges::find(b, mode) != b.end(); });
}

// DV-34
void complete_modes(const World& world, json::Object& spec, std::string_view storage_class) {
  const json::Object* profile = world.get(profiles, "", storage_class);
  const json::Object* status = profile ? json::get_object(*profile, "status") : nullptr;
  const json::Array* sets = status ? json::get_array(*status, "claimPropertySets") : nullptr;
  if (!sets) return;
  const json::Array* modes = json::get_array(spec, "accessModes");
  const bool has_modes = modes && !modes->empty();
  const std::string_view volume_mode = json::get_string_or(spec, "volumeMode");
  for (const json::Value& set : *sets) {
    const json::Array* offered = json::get_array(set, "accessModes");
    if (!offered || offered->empty()) continue;
    const std::string_view offered_mode = json::get_string_or(set, "volumeMode");
    if (!has_modes && !volume_mode.empty() && volume_mode != offered_mode) continue;
    if (has_modes && !shares_mode(*modes, *offered)) continue;
    if (volume_mode.empty() && !offered_mode.empty()) spec["volumeMode"] = offered_mode;
    if (!has_modes) spec["accessModes"] = *offered;
    return;
  }
}

std::int64_t asked_bytes(const json::Object& spec) {
  const json::Object* requests = at(&spec, {"resources", "requests"});
  const auto amount = Quantity::parse_json(requests ? json::get_string_or(*requests, "storage") : std::string_view());
  return amount ? std::max<std::int64_t>(0, amount->value()) : 0;
}

// DV-36: what the provisioner of the class makes at least.
std::int64_t least_bytes(const World& world, std::string_view storage_class) {
  const json::Object* profile = world.get(profiles, "", storage_class);
  const auto least =
      Quantity::parse_json(profile ? annotation_of(*profile, mark::least_claim_size) : std::string_view());
  return least ? std::clamp<std::int64_t>(least->value(), 0, limits::placement_amount_max) : 0;
}

// DV-103
std::int64_t source_bytes(const World& world, const Source& source) {
  const json::Object* claim = world.get(kinds::claim, source.pvc_ns, source.pvc_name);
  const auto disk = claim ? disk_of(world, *claim) : std::nullopt;
  if (disk && disk->image_size > 0) return disk->image_size;
  return disk ? disk->capacity : claim ? request_of(*claim) : 0;
}

// DV-32 to DV-36
std::expected<json::Value, NoClaim> complete_storage(const Turn& turn, const json::Object& dv_spec,
                                                     const json::Object& storage, const Source& source) {
  json::Value made(storage, turn.storage);
  json::Object& spec = made.get_object();
  if (json::get_string_or(spec, "volumeMode") == "FromStorageProfile") json::erase(spec, "volumeMode");
  if (is_archive(dv_spec)) {
    if (json::get_string_or(spec, "volumeMode") == "Block")
      return not_valid("an archive needs the volume mode Filesystem");
    spec["volumeMode"] = "Filesystem";
  }
  const std::string storage_class = class_of(turn.world, spec, !is_archive(dv_spec));
  if (storage_class.empty()) return not_valid("there is no default StorageClass, and the DataVolume names none", true);
  spec["storageClassName"] = storage_class;
  complete_modes(turn.world, spec, storage_class);
  const json::Array* modes = json::get_array(spec, "accessModes");
  if (!modes || modes->empty())
    return not_valid(fmt::format("no access mode is named, and StorageProfile \"{}\" has none", storage_class));
  std::int64_t bytes = asked_bytes(spec);
  if (bytes == 0) bytes = source_bytes(turn.world, source);
  if (bytes == 0) return not_valid("the size of the source is not known");
  const bool block = json::get_string_or(spec, "volumeMode") == "Block";
  bytes = block ? bytes : grown(bytes, overhead_of(turn.world, storage_class));
  bytes = std::max(bytes, least_bytes(turn.world, storage_class));
  json::ensure_path(spec, {"resources", "requests"})["storage"] = size_text(bytes);
  return made;
}

// DV-31
std::expected<json::Value, NoClaim> claim_spec(const Turn& turn, const json::Object& dv_spec, const Source& source) {
  if (const json::Object* storage = json::get_object(dv_spec, "storage"))
    return complete_storage(turn, dv_spec, *storage, source);
  const json::Object* given = json::get_object(dv_spec, "pvc");
  if (!given) return not_valid("neither spec.pvc nor spec.storage is there");
  if (is_archive(dv_spec) && json::get_string_or(*given, "volumeMode") == "Block")
    return not_valid("an archive needs the volume mode Filesystem");
  return json::Value(*given, turn.storage);
}

// --- 3.2 -------------------------------------------------------------------------------------------------------------

void copy_text(json::Object& to, std::string_view name, const json::Object& from, std::string_view member) {
  if (const std::string_view text = json::get_string_or(from, member); !text.empty()) to[name] = text;
}

void copy_list(json::Object& to, std::string_view prefix, const json::Object& from, std::string_view member) {
  const json::Array* list = json::get_array(from, member);
  for (std::size_t i = 0; list && i < list->size(); ++i)
    to[fmt::format("{}{}", prefix, i)] = json::as_string(&list->at(i)).value_or("");
}

void mark_source(json::Object& marks, const Source& source) {
  const json::Object& from = *source.object;
  if (source.kind == "blank") {
    marks[mark::import_source] = "none";
  } else if (source.kind == "upload") {
    marks[mark::upload_target] = "";
  } else if (source.kind == "pvc") {
    marks[mark::clone_request] = fmt::format("{}/{}", source.pvc_ns, source.pvc_name);
    marks[mark::clone_type] = "copy";
    marks[mark::clone_fallback] = "No populator";
  } else {
    marks[mark::import_source] = source.kind;
    copy_text(marks, mark::import_endpoint, from, "url");
    copy_text(marks, mark::import_secret, from, "secretRef");
    copy_text(marks, mark::import_authorities, from, "certConfigMap");
    copy_text(marks, mark::import_checksum, from, "checksum");
    copy_text(marks, mark::import_method, from, "pullMethod");
    if (json::get_bool_or(from, "insecureSkipVerify", false)) marks[mark::import_insecure] = "true";
    if (const json::Object* platform = json::get_object(from, "platform"))
      copy_text(marks, mark::import_architecture, *platform, "architecture");
    copy_list(marks, mark::import_headers, from, "extraHeaders");
    copy_list(marks, mark::import_secret_headers, from, "secretExtraHeaders");
  }
}

bool wants_preallocation(const World& world, const json::Object& spec) {
  if (const auto asked = json::get_bool(spec, "preallocation")) return *asked;
  const json::Object* config = world.get(cdi_configs, "", cdi_config_name);
  const json::Object* status = config ? json::get_object(*config, "status") : nullptr;
  return status && json::get_bool_or(*status, "preallocation", false);
}

json::Object claim_annotations(const Turn& turn, const json::Object& dv, const json::Object& spec,
                               const Source& source) {
  json::Object marks(turn.storage);
  if (const json::Object* own = at(&dv, {"metadata", "annotations"})) marks = *own;
  json::erase(marks, mark::populated_for);
  marks[mark::pod_restarts] = "0";
  marks[mark::content_type] = is_archive(spec) ? "archive" : "kubevirt";
  marks[mark::preallocation_wanted] = wants_preallocation(turn.world, spec) ? "true" : "false";
  marks[mark::made_for] = metadata_text(dv, "uid");
  copy_text(marks, "cdi.kubevirt.io/storage.pod.priorityclassname", spec, "priorityClassName");
  mark_source(marks, source);
  return marks;
}

json::Object claim_labels(const Turn& turn, const json::Object& dv, bool block) {
  json::Object labels({{"app", "containerized-data-importer"},
                       {"app.kubernetes.io/component", "storage"},
                       {"app.kubernetes.io/managed-by", "cdi-controller"}},
                      turn.storage);
  if (!block) labels["alerts.k8s.io/KubePersistentVolumeFillingUp"] = "disabled";
  if (const json::Object* own = at(&dv, {"metadata", "labels"}))
    for (const auto& member : *own) labels[member.key()] = member.value();
  return labels;
}

}  // namespace

Source source_of(const World& world, const json::Object& dv) {
  const json::Object* spec = spec_of(dv);
  const std::string_view own_ns = metadata_text(dv, "namespace");
  Source source;
  const json::Object* given = spec ? json::get_object(*spec, "source") : nullptr;
  std::string_view ns = own_ns;
  if (const json::Object* reference = spec ? json::get_object(*spec, "sourceRef") : nullptr) {
    if (const std::string_view other = json::get_string_or(*reference, "namespace"); !other.empty()) ns = other;
    source.data_source = world.get(kinds::data_source, ns, json::get_string_or(*reference, "name"));
    given = source.data_source ? at(source.data_source, {"spec", "source"}) : nullptr;
    if (given && json::get_object(*given, "dataSource")) given = at(source.data_source, {"status", "source"});
  }
  for (const std::string_view kind : {"http", "registry", "blank", "upload", "pvc"})
    if (const json::Object* found = given ? json::get_object(*given, kind) : nullptr) {
      source.kind = kind;
      source.object = found;
    }
  if (source.kind == "pvc") {
    source.pvc_ns = json::get_string_or(*source.object, "namespace");
    if (source.pvc_ns.empty()) source.pvc_ns = ns;
    source.pvc_name = json::get_string_or(*source.object, "name");
  }
  return source;
}

// Overheads have three decimals at most, so that thousandths are exact.
std::int64_t grown(std::int64_t bytes, double overhead) {
  const auto thousandths = static_cast<std::int64_t>(std::llround(overhead * 1000));
  const std::int64_t whole = rounded_up(bytes);
  return whole + (whole / 1000 * thousandths) + (whole % 1000 * thousandths + 999) / 1000;
}

std::int64_t shrunk(std::int64_t bytes, double overhead) {
  const auto thousandths = static_cast<std::int64_t>(std::llround(overhead * 1000)) + 1000;
  const std::int64_t inside = bytes / thousandths * 1000 + (bytes % thousandths * 1000 + thousandths - 1) / thousandths;
  return inside / mib * mib;
}

double overhead_of(const World& world, std::string_view storage_class) {
  return overhead_in(world.get(cdi_configs, "", cdi_config_name), storage_class);
}

double overhead_in(const json::Object* config, std::string_view storage_class) {
  const json::Object* overhead = at(config, {"status", "filesystemOverhead"});
  if (!overhead) return 0;
  const json::Object* classes = json::get_object(*overhead, "storageClass");
  std::string_view text = classes ? json::get_string_or(*classes, storage_class) : std::string_view();
  if (text.empty()) text = json::get_string_or(*overhead, "global");
  return std::clamp(std::strtod(std::string(text).c_str(), nullptr), 0.0, 1.0);
}

std::int64_t image_bytes(const json::Object& claim, std::int64_t capacity, double overhead) {
  const json::Object* spec = spec_of(claim);
  if (overhead <= 0 || !spec) return capacity;
  return std::min(capacity, shrunk(asked_bytes(*spec), overhead));
}

std::expected<json::Value, NoClaim> render_claim(const Turn& turn, const json::Object& dv, const Source& source) {
  const json::Object& dv_spec = *spec_of(dv);
  auto spec = claim_spec(turn, dv_spec, source);
  if (!spec) return spec;
  const bool block = json::get_string_or(spec->get_object(), "volumeMode") == "Block";
  return json::Value({{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"metadata",
                       {{"name", metadata_text(dv, "name")},
                        {"namespace", metadata_text(dv, "namespace")},
                        {"labels", claim_labels(turn, dv, block)},
                        {"annotations", claim_annotations(turn, dv, dv_spec, source)},
                        {"ownerReferences", {controller_reference_to(owner_of(dv), turn.storage)}}}},
                      {"spec", std::move(*spec)}},
                     turn.storage);
}

}  // namespace vg::controllers::storage
