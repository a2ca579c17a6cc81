#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "objects/core_kinds/claim.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 8> host_path_types = {
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"};
constexpr std::array<std::string_view, 3> pull_policies = {"Always", "IfNotPresent", "Never"};
constexpr std::int64_t token_seconds_min = 10 * 60;
constexpr std::int64_t token_seconds_max = std::int64_t{1} << 32;

void check_file_mode(FieldCauses& causes, const Place& at, const json::Object& in, std::string_view member) {
  const auto mode = json::get_int(in, member);
  if (mode && (*mode < 0 || *mode > file_mode_max))
    causes.invalid(at.field(member), "must be from 0 to 0777 (octal), which is 511");
}

// A path below the volume that is none of those the kubelet keeps its own files under.
void check_local_path(FieldCauses& causes, const Place& at, std::string_view path) {
  check_descending_path(causes, at, path);
  if (path.starts_with("..") && !path.starts_with("../")) causes.invalid(at, "must not begin with '..'");
}

void check_required(FieldCauses& causes, const Place& at, const json::Object& in, std::string_view member) {
  const auto* value = json::find(in, member);
  const auto* list = value ? value->if_array() : nullptr;
  if (list ? list->empty() : text(in, member).empty())
    causes.required(at.field(member), "required for this type of volume");
}

using SourceCheck = void (*)(FieldCauses&, const Place&, const json::Object&);
void check_nothing(FieldCauses& /*causes*/, const Place& /*at*/, const json::Object& /*source*/) {}

void check_empty_dir(FieldCauses& causes, const Place& at, const json::Object& source) {
  if (const auto size = quantity_of(json::find(source, "sizeLimit")); size && size->sign() < 0)
    causes.forbidden(at.field("sizeLimit"), "must be 0 or more");
}

void check_host_path(FieldCauses& causes, const Place& at, const json::Object& source) {
  const std::string_view path = text(source, "path");
  if (path.empty()) return;  // reported as missing
  if (has_backsteps(path)) causes.invalid(at.field("path"), "must not contain '..'");
  if (has(source, "type")) check_supported(causes, at.field("type"), text(source, "type"), host_path_types);
}

void check_key_paths(FieldCauses& causes, const Place& at, const json::Object& source) {
  const json::Array& keys = items(source, "items");
  const Place list = at.field("items");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const json::Object& item = members(keys[i]);
    const Place place = list.item(i);
    if (text(item, "key").empty()) causes.required(place.field("key"), "the key of the file");
    if (text(item, "path").empty()) causes.required(place.field("path"), "the path of the file");
    check_local_path(causes, place.field("path"), text(item, "path"));
    check_file_mode(causes, place, item, "mode");
  }
}

void check_keys(FieldCauses& causes, const Place& at, const json::Object& source) {
  check_file_mode(causes, at, source, "defaultMode");
  check_key_paths(causes, at, source);
}

void check_nfs(FieldCauses& causes, const Place& at, const json::Object& source) {
  if (!text(source, "path").starts_with('/')) causes.invalid(at.field("path"), "must be an absolute path");
}

void check_downward_file(FieldCauses& causes, const Place& at, const json::Object& file) {
  if (text(file, "path").empty()) causes.required(at.field("path"), "the path of the file");
  check_local_path(causes, at.field("path"), text(file, "path"));
  if (has(file, "fieldRef")) {
    check_field_ref(causes, at.field("fieldRef"), members(file, "fieldRef"), FieldUse::volume);
    if (has(file, "resourceFieldRef")) causes.invalid(at, "fieldRef is mutually exclusive with resourceFieldRef");
  } else if (has(file, "resourceFieldRef")) {
    check_resource_field_ref(causes, at.field("resourceFieldRef"), members(file, "resourceFieldRef"), FieldUse::volume);
  } else {
    causes.required(at, "fieldRef or resourceFieldRef");
  }
  check_file_mode(causes, at, file, "mode");
}

// The place of a file is that of the volume: upstream leaves the number out.
void check_downward(FieldCauses& causes, const Place& at, const json::Object& source) {
  check_file_mode(causes, at, source, "defaultMode");
  for (const json::Value& file : items(source, "items")) check_downward_file(causes, at, members(file));
}

void check_token(FieldCauses& causes, const Place& at, const Place& volume, const json::Object& token) {
  const std::int64_t seconds = json::get_int_or(token, "expirationSeconds", 0);
  if (seconds < token_seconds_min)
    causes.invalid(at.field("expirationSeconds"), "must be at least 600 seconds (10 minutes)");
  if (seconds > token_seconds_max) causes.invalid(at.field("expirationSeconds"), "must be at most 2^32 seconds");
  if (text(token, "path").empty())
    causes.required(volume.field("path"), "the path of the file");
  else
    check_local_path(causes, volume.field("path"), text(token, "path"));
}

// Collects the paths that files of all sources take, each of which may be taken once.
class TakenPaths {
 public:
  TakenPaths(FieldCauses& causes, const Place& volume) : causes_(causes), volume_(volume) {}
  void take(const json::Object& source) {
    for (const json::Value& item : items(source, "items")) {
      const std::string_view path = text(item, "path");
      if (!path.empty() && !taken_.insert(path).second)
        causes_.invalid(volume_, fmt::format("{}: paths must be unique across sources", path));
    }
  }

 private:
  FieldCauses& causes_;
  const Place& volume_;
  std::set<std::string_view> taken_;
};

void check_projected(FieldCauses& causes, const Place& at, const json::Object& volume) {
  check_file_mode(causes, at, volume, "defaultMode");
  const json::Array& sources = items(volume, "sources");
  const Place list = at.field("sources");
  TakenPaths paths(causes, at);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const json::Object& source = members(sources[i]);
    const Place place = list.item(i);
    for (const std::string_view kind : {"secret", "configMap"}) {
      if (!has(source, kind)) continue;
      const Place kind_place = place.field(kind);
      if (text(members(source, kind), "name").empty())
        causes.required(kind_place.field("name"), "the name of the object");
      check_key_paths(causes, kind_place, members(source, kind));
      paths.take(members(source, kind));
    }
    const Place downward = place.field("downwardAPI");
    for (const json::Value& file : items(members(source, "downwardAPI"), "items"))
      check_downward_file(causes, downward, members(file));
    paths.take(members(source, "downwardAPI"));
    if (has(source, "serviceAccountToken"))
      check_token(causes, place.field("serviceAccountToken"), at, members(source, "serviceAccountToken"));
    const auto kinds = std::ranges::count_if(source, [](const auto& member) { return !member.value().is_null(); });
    if (kinds > 1) causes.forbidden(place, "sources are mutually exclusive; use several sources");
  }
}

void check_ephemeral(FieldCauses& causes, const Place& at, const json::Object& source) {
  const Place claim = at.field("volumeClaimTemplate");
  if (!has(source, "volumeClaimTemplate"))
    causes.required(claim, "the volume claim template");
  else
    check_claim_spec(causes, claim.field("spec"), members(members(source, "volumeClaimTemplate"), "spec"));
}

void check_image(FieldCauses& causes, const Place& at, const json::Object& source) {
  check_choice(causes, at.field("pullPolicy"), text(source, "pullPolicy"), pull_policies);
}

struct Source {
  std::string_view member;
  SourceCheck check;
  std::array<std::string_view, 3> required = {};
  bool can_be_block = false;
  std::string_view place = {};         // of its members, where upstream calls it something else
  std::string_view second_place = {};  // as one too many, likewise
};

// In the order in which upstream looks: the first that a volume has is its kind, every other one is one too many.
constexpr std::array<Source, 30> sources = {{
    {.member = "emptyDir", .check = check_empty_dir},
    {.member = "hostPath", .check = check_host_path, .required = {"path"}},
    {.member = "gitRepo", .check = check_nothing, .required = {"repository"}},
    {.member = "gcePersistentDisk", .check = check_nothing, .required = {"pdName"}, .place = "persistentDisk"},
    {.member = "awsElasticBlockStore", .check = check_nothing, .required = {"volumeID"}},
    {.member = "secret", .check = check_keys, .required = {"secretName"}},
    {.member = "nfs", .check = check_nfs, .required = {"server", "path"}},
    {.member = "iscsi", .check = check_nothing, .required = {"targetPortal", "iqn"}},
    {.member = "glusterfs", .check = check_nothing, .required = {"endpoints", "path"}},
    {.member = "flocker", .check = check_nothing},
    {.member = "persistentVolumeClaim", .check = check_nothing, .required = {"claimName"}, .can_be_block = true},
    {.member = "rbd", .check = check_nothing, .required = {"monitors", "image"}},
    {.member = "cinder", .check = check_nothing, .required = {"volumeID"}},
    {.member = "cephfs", .check = check_nothing, .required = {"monitors"}, .second_place = "cephFS"},
    {.member = "quobyte", .check = check_nothing, .required = {"registry", "volume"}},
    {.member = "downwardAPI", .check = check_downward, .second_place = "downwarAPI"},
    {.member = "fc", .check = check_nothing},
    {.member = "flexVolume", .check = check_nothing, .required = {"driver"}},
    {.member = "configMap", .check = check_keys, .required = {"name"}},
    {.member = "azureFile", .check = check_nothing, .required = {"secretName", "shareName"}},
    {.member = "vsphereVolume", .check = check_nothing, .required = {"volumePath"}},
    {.member = "photonPersistentDisk", .check = check_nothing, .required = {"pdID"}},
    {.member = "portworxVolume", .check = check_nothing, .required = {"volumeID"}},
    {.member = "azureDisk", .check = check_nothing, .required = {"diskName", "diskURI"}},
    {.member = "storageos", .check = check_nothing},
    {.member = "projected", .check = check_projected},
    {.member = "scaleIO", .check = check_nothing, .required = {"gateway", "system", "volumeName"}},
    {.member = "csi", .check = check_nothing, .required = {"driver"}},
    {.member = "ephemeral", .check = check_ephemeral, .can_be_block = true},
    {.member = "image", .check = check_image, .required = {"reference"}},
}};

void check_source(FieldCauses& causes, const Place& at, const json::Object& volume, const Source& source) {
  const Place place = at.field(source.place.empty() ? source.member : source.place);
  const json::Object& object = members(volume, source.member);
  for (const std::string_view member : source.required)
    if (!member.empty()) check_required(causes, place, object, member);
  source.check(causes, place, object);
}

const Source* check_sources(FieldCauses& causes, const Place& at, const json::Object& volume) {
  const Source* kind = nullptr;
  for (const Source& source : sources) {
    if (!has(volume, source.member)) continue;
    if (kind) {
      causes.forbidden(at.field(source.second_place.empty() ? source.member : source.second_place),
                       fmt::format("mutually exclusive with {}; a volume must have exactly one type", kind->member));
    } else {
      kind = &source;
      check_source(causes, at, volume, source);
    }
  }
  if (!kind) causes.required(at, "the type of the volume");
  return kind;
}

// A volume of kind ephemeral makes a claim with this name.
std::string claim_name(std::string_view pod, std::string_view volume) { return fmt::format("{}-{}", pod, volume); }

std::set<std::string> made_claims(const json::Object& pod, const json::Array& volumes) {
  std::set<std::string> names;
  if (name_of(pod).empty()) return names;
  for (const json::Value& volume : volumes)
    if (has(members(volume), "ephemeral")) names.insert(claim_name(name_of(pod), text(volume, "name")));
  return names;
}

}  // namespace

bool has_backsteps(std::string_view path) {
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (path.substr(start, end - start) == "..") return true;
    start = end + 1;
  }
  return false;
}

void check_descending_path(FieldCauses& causes, const Place& at, std::string_view path) {
  if (path.starts_with('/')) causes.invalid(at, "must be a relative path");
  if (has_backsteps(path)) causes.invalid(at, "must not contain '..'");
}

Volumes check_volumes(FieldCauses& causes, const Place& spec, const json::Object& pod) {
  const json::Array& volumes = items(members(pod, "spec"), "volumes");
  const std::set<std::string> claims = made_claims(pod, volumes);
  const Place list = spec.field("volumes");
  Volumes good;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const json::Object& volume = members(volumes[i]);
    const Place at = list.item(i);
    const std::string_view name = text(volume, "name");
    const std::size_t before = causes.count();
    const Source* kind = check_sources(causes, at, volume);
    if (kind && kind->member == "ephemeral" && !name_of(pod).empty() && !name.empty())
      causes.defects(at.field("name"), name, dns1123_subdomain_defects(claim_name(name_of(pod), name)));
    if (name.empty())
      causes.required(at.field("name"), "the name of the volume");
    else
      causes.defects(at.field("name"), name, dns1123_label_defects(name));
    if (good.contains(name)) causes.duplicate(at.field("name"), name);
    if (causes.count() == before) good.emplace(name, kind->can_be_block);
    const std::string_view claim = text(members(volume, "persistentVolumeClaim"), "claimName");
    if (claims.contains(std::string(claim)))
      causes.invalid(at.field("persistentVolumeClaim").field("claimName"),
                     "the claim of another ephemeral volume of the pod has this name");
  }
  return good;
}

}  // namespace vg::resources::core_kinds
