#include "objects/data_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"
#include "base/phrases.h"
#include "base/quantity.h"
#include "json/access.h"
#include "json/equal.h"
#include "objects/clone_asker.h"
#include "objects/draft.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

using Defect = std::optional<StatusCause>;

constexpr std::string_view webhook = "datavolume-validate.cdi.kubevirt.io";
constexpr std::string_view invalid = "FieldValueInvalid", required = "FieldValueRequired";
constexpr std::array<std::string_view, 4> access_modes{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                       "ReadWriteOncePod"};
constexpr std::size_t class_name_bytes = 253;

Defect defect(std::string_view rule, std::string_view field, std::string message, std::string_view reason = invalid) {
  return StatusCause{
      .reason = std::string(reason), .message = std::move(message), .field = std::string(field), .rule = rule};
}

std::string_view text(const json::Object& object, std::string_view member) {
  return json::get_string_or(object, member);
}
const json::Object* inside(const json::Object* object, std::string_view member) {
  return object ? json::get_object(*object, member) : nullptr;
}

// A DataVolume's spec, taken apart once.
struct Spec {
  const json::Object& all;
  const json::Object *pvc, *storage, *source, *source_ref;
  const json::Object& claim() const { return pvc ? *pvc : *storage; }
  std::string_view part() const { return pvc ? "PVC" : "Storage"; }
  bool archive() const { return text(all, "contentType") == "archive"; }
};

// --- what the claim is to be -----------------------------------------------------------------------------------------

Defect one_of_pvc_and_storage(const Spec& spec) {
  if (!spec.pvc && !spec.storage) return defect("DV-01", "spec.PVC", "spec.pvc or spec.storage is required", required);
  if (spec.pvc && spec.storage)
    return defect("DV-01", "spec.PVC.Storage", "spec.pvc is mutually exclusive with spec.storage");
  return {};
}

Defect size(const Spec& spec) {
  const json::Object* requests = inside(inside(&spec.claim(), "resources"), "requests");
  const json::Value* given = requests ? json::find(*requests, "storage") : nullptr;
  const std::string field = fmt::format("spec.{}.resources.requests.size", spec.part());
  if (given) {
    const auto amount = Quantity::parse_json(json::as_string(given).value_or(""));
    constexpr std::int64_t least = 1 << 20;
    if (!amount || amount->value() < least) return defect("DV-02", field, "the size must be at least 1Mi");
    return {};
  }
  const bool from_source =
      spec.storage && (spec.source_ref || inside(spec.source, "pvc") || inside(spec.source, "snapshot"));
  return from_source ? Defect() : defect("DV-03", field, "the size is required", required);
}

Defect class_name(const Spec& spec) {
  if (text(spec.claim(), "storageClassName").size() <= class_name_bytes) return {};
  return defect("DV-04", "", "storageClassName must be at most 253 characters long");
}

Defect modes(const Spec& spec) {
  const json::Array* given = json::get_array(spec.claim(), "accessModes");
  const std::string field = fmt::format("spec.{}.accessModes", spec.part());
  if (spec.pvc && (!given || given->empty())) return defect("DV-05", field, "one access mode is required", required);
  if (spec.pvc && given->size() > 1) return defect("DV-05", field, "there must be exactly one access mode");
  for (const json::Value& mode : given ? *given : json::Array())
    if (std::ranges::find(access_modes, json::as_string(&mode).value_or("")) == access_modes.end())
      return defect(spec.pvc ? "DV-05" : "DV-06", field,
                    "supported values: ReadOnlyMany, ReadWriteMany, ReadWriteOnce, ReadWriteOncePod");
  return {};
}

Defect no_populator(const Spec& spec) {
  for (const std::string_view member : {"dataSource", "dataSourceRef"})
    if (json::find(spec.claim(), member))
      return defect("DV-07", fmt::format("spec.{}", member),
                    "volume populators are not supported on this server; use spec.source");
  return {};
}

// --- where its content comes from ------------------------------------------------------------------------------------

Defect one_source(const Spec& spec) {
  if (!spec.source == !spec.source_ref)
    return defect("DV-08", "spec.source", "exactly one of spec.source and spec.sourceRef is required");
  if (spec.source_ref) {
    if (text(*spec.source_ref, "kind") != "DataSource")
      return defect("DV-09", "spec.sourceRef.Kind", "supported values: DataSource");
    if (text(*spec.source_ref, "name").empty())
      return defect("DV-09", "spec.sourceRef.Name", "the name is required", required);
    return {};
  }
  const auto count = std::ranges::count_if(*spec.source, [](const auto& member) { return !member.value().is_null(); });
  if (count == 0) return defect("DV-10", "spec.source", "a source is required", required);
  if (count > 1)
    return defect("DV-10", "spec.source", "there must be exactly one source; multiple sources are not supported");
  return {};
}

Defect content(const Spec& spec) {
  const std::string_view type = text(spec.all, "contentType");
  if (!type.empty() && type != "kubevirt" && type != "archive")
    return defect("DV-11", "spec.contentType", "supported values: kubevirt, archive");
  if (spec.archive() && (inside(spec.source, "blank") || inside(spec.source, "registry")))
    return defect("DV-14", "spec.contentType", "must be kubevirt for a blank disk or one from a registry");
  return {};
}

struct Digest {
  std::string_view name;
  std::size_t digits;
};
constexpr std::array digests = std::to_array<Digest>({{"md5", 32}, {"sha1", 40}, {"sha256", 64}, {"sha512", 128}});

bool is_checksum(std::string_view given) {
  std::string lower(given);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::size_t colon = lower.find(':');
  if (colon == std::string::npos) return false;
  const std::string_view digits = std::string_view(lower).substr(colon + 1);
  return std::ranges::any_of(digests, [&](const Digest& digest) {
    return lower.starts_with(digest.name) && digest.name.size() == colon && digits.size() == digest.digits &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  });
}

Defect http_source(const Spec& spec) {
  const json::Object* http = inside(spec.source, "http");
  if (!http) return {};
  const std::string_view url = text(*http, "url");
  const std::size_t colon = url.find("://");
  const std::string_view scheme = url.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (url.empty()) return defect("DV-12", "spec.source.HTTP.url", "the URL is required", required);
  if ((scheme != "http" && scheme != "https") || url.size() == scheme.size() + 3 ||
      url.find_first_of(" \t\r\n") != std::string_view::npos)
    return defect("DV-12", "spec.source.HTTP.url", "must be a URL of http or https");
  if (const std::string_view checksum = text(*http, "checksum"); !checksum.empty() && !is_checksum(checksum))
    return defect("DV-13", "spec.source.HTTP.checksum", "must be md5, sha1, sha256 or sha512, a colon and the digits");
  return {};
}

Defect registry_source(const Spec& spec) {
  const json::Object* registry = inside(spec.source, "registry");
  if (!registry) return {};
  const std::string_view url = text(*registry, "url"), method = text(*registry, "pullMethod");
  const bool stream = json::find(*registry, "imageStream") != nullptr;
  if (url.empty() == !stream)
    return defect("DV-15", "spec.source.Registry", "exactly one of url and imageStream is required");
  if (!method.empty() && method != "pod" && method != "node")
    return defect("DV-15", "spec.source.Registry.importMethod", "supported values: pod, node");
  if (stream)
    return defect("DV-15", "spec.source.Registry.imageStream",
                  "is not supported on this server: there are no image streams");
  if (url.starts_with("oci-archive:"))
    return defect("DV-15", "spec.source.Registry.URL",
                  "is not supported on this server: archives are not kept here; use docker://");
  if (!url.starts_with("docker://") || url.size() == std::string_view("docker://").size())
    return defect("DV-15", "spec.source.Registry.URL", "must begin with docker://");
  return {};
}

Defect named_source(const Spec& spec) {
  const json::Object* pvc = inside(spec.source, "pvc");
  if (!pvc) return {};
  // The namespace is the DataVolume's own where it is left out: templates of VMs do that.
  if (text(*pvc, "name").empty())
    return defect("DV-17", "spec.source.PVC", "the name of the PVC is required", required);
  return {};
}

// 2.3
struct Unsupported {
  std::string_view member, field, why;
};
constexpr std::array unsupported = std::to_array<Unsupported>(
    {{"snapshot", "spec.source.Snapshot",
      "is not supported on this server: it has no volume snapshots; use a VirtualMachineRestore or a PVC"},
     {"s3", "spec.source.S3", "is not supported on this server; use http with a pre-signed https URL"},
     {"gcs", "spec.source.GCS", "is not supported on this server; use http with a pre-signed https URL"},
     {"imageio", "spec.source.Imageio", "is not supported on this server; use http"},
     {"vddk", "spec.source.VDDK", "is not supported on this server; export the disk and use http or upload"}});

Defect supported(const Spec& spec) {
  for (const Unsupported& one : unsupported)
    if (inside(spec.source, one.member)) return defect("DV-16", one.field, std::string(one.why));
  const json::Array* checkpoints = json::get_array(spec.all, "checkpoints");
  if ((checkpoints && !checkpoints->empty()) || json::get_bool_or(spec.all, "finalCheckpoint", false))
    return defect("DV-16", "spec.checkpoints", "is not supported on this server: disks are imported as a whole");
  if (text(spec.claim(), "volumeMode") == "Block")
    return defect("DV-16", fmt::format("spec.{}.volumeMode", spec.part()),
                  "Block is not supported on this server; use Filesystem");
  return {};
}

Defect annotations(const json::Object& object) {
  const json::Object* given = inside(inside(&object, "metadata"), "annotations");
  if (!given) return {};
  if (given->contains("cdi.kubevirt.io/storage.checkStaticVolume"))
    return defect("DV-16", "metadata.annotations", "checkStaticVolume is not supported on this server");
  if (text(*given, "cdi.kubevirt.io/storage.usePopulator") == "true")
    return defect("DV-16", "metadata.annotations",
                  "usePopulator must not be true: this server has no volume populators");
  return {};
}

constexpr std::array rules =
    std::to_array<Defect (*)(const Spec&)>({one_of_pvc_and_storage, size, class_name, modes, no_populator, one_source,
                                            content, http_source, registry_source, named_source, supported});

Failed denied(StatusCause cause) {
  Status status{.code = 422, .reason = "Invalid", .message = phrases::denied(webhook, cause.message), .details = {}};
  status.details.causes.push_back(std::move(cause));
  return fail(std::move(status));
}

// --- other objects ---------------------------------------------------------------------------------------------------

bool parses_as_true(std::string_view value) {
  constexpr std::array<std::string_view, 6> words{"1", "t", "T", "true", "TRUE", "True"};
  return std::ranges::find(words, value) != words.end();
}

// What a restore makes is full already (DV-50), so its source need not be anybody's to have. Nobody is written down
// then.
bool is_prepopulated(const json::Object& object) {
  const json::Object* own = inside(inside(&object, "metadata"), "annotations");
  return own && own->contains("cdi.kubevirt.io/storage.prePopulated");
}

Defect taken_name(ObjectRequest& request, std::string_view name, const json::Object& object) {
  const ObjectPtr stored = request.backend.store.get("persistentvolumeclaims", request.ns, name);
  if (!stored) return {};
  const json::Value claim = load_object(*stored, request.storage());
  return claim.is_object() ? find_taken_name(name, object, claim.get_object()) : Defect();
}

// The other namespaces whose data a DataVolume may be given: that of the claim, and that of the DataSource, which can
// name another claim of its namespace before the clone begins.
Result<std::vector<std::string>> cloned_namespaces(ObjectRequest& request, const json::Object& object) {
  const json::Object* spec = inside(&object, "spec");
  const json::Object* source = inside(spec, "source");
  std::string ns(request.ns);
  json::Value loaded(request.storage());
  if (const json::Object* reference = inside(spec, "sourceRef")) {
    if (const std::string_view other = text(*reference, "namespace"); !other.empty()) ns = other;
    const std::string_view name = text(*reference, "name");
    const ObjectPtr found = request.backend.store.get("cdi.kubevirt.io/datasources", ns, name);
    if (!found)
      return fail(Status::bad_request(fmt::format("DataSource \"{}\" in namespace \"{}\" not found", name, ns)));
    loaded = load_object(*found, request.storage());
    source = inside(inside(loaded.if_object(), "spec"), "source");
    if (inside(source, "dataSource")) source = inside(inside(loaded.if_object(), "status"), "source");
  }
  std::vector<std::string> others;
  if (ns != request.ns) others.push_back(ns);
  const json::Object* pvc = inside(source, "pvc");
  const std::string_view named = pvc ? text(*pvc, "namespace") : std::string_view();
  if (!named.empty() && named != ns && named != request.ns) others.emplace_back(named);
  return others;
}

}  // namespace

// DV-25, VMC-87
Task<Result<void>> may_clone_from(Authorizer& authorizer, Core& core, const User* asker, std::string_view ns) {
  constexpr std::array<std::array<std::string_view, 3>, 2> wanted{
      {{"cdi.kubevirt.io", "datavolumes", "source"}, {"", "pods", ""}}};
  for (const auto& [group, resource, subresource] : wanted) {
    if (!asker) break;
    const AccessAttributes attributes{.verb = "create",
                                      .path = {},
                                      .group = group,
                                      .version = {},
                                      .resource = resource,
                                      .subresource = subresource,
                                      .ns = ns,
                                      .name = {}};
    const auto decision = co_await authorizer.authorize(core, *asker, attributes);
    if (!decision) co_return fail(decision.error());
    if (decision->allowed) co_return Result<void>();
  }
  co_return denied(
      {.reason = std::string(invalid),
       .message = fmt::format(
           "user \"{}\" may not clone from namespace \"{}\": create on datavolumes/source is required there",
           asker ? asker->name : "", ns),
       .field = "spec.source.PVC.namespace",
       .rule = "DV-25"});
}

Task<Result<void>> may_clone(ObjectRequest& request, const json::Object& object) {
  const auto others = cloned_namespaces(request, object);
  if (!others) co_return fail(others.error());
  for (const std::string& ns : *others)
    if (auto allowed = co_await may_clone_from(request.backend.authorizer, request.core, request.asker, ns); !allowed)
      co_return fail(std::move(allowed.error()));
  co_return Result<void>();
}

std::optional<StatusCause> find_data_volume_defect(const json::Object& object) {
  const json::Object* all = inside(&object, "spec");
  const json::Object nothing;
  const Spec spec{.all = all ? *all : nothing,
                  .pvc = inside(all, "pvc"),
                  .storage = inside(all, "storage"),
                  .source = inside(all, "source"),
                  .source_ref = inside(all, "sourceRef")};
  for (const auto rule : rules)
    if (auto found = rule(spec)) return found;
  return annotations(object);
}

std::optional<StatusCause> find_taken_name(std::string_view name, const json::Object& object,
                                           const json::Object& claim) {
  const json::Object* own = inside(inside(&object, "metadata"), "annotations");
  if (own && parses_as_true(text(*own, "cdi.kubevirt.io/allowClaimAdoption"))) return {};
  const json::Object* metadata = inside(&claim, "metadata");
  const json::Object* marks = inside(metadata, "annotations");
  if (marks && text(*marks, "cdi.kubevirt.io/storage.populatedFor") == name) return {};
  const json::Array* owners = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
  for (const json::Value& owner : owners ? *owners : json::Array())
    if (json::get_string_or(owner, "kind") == "DataVolume" && json::get_bool_or(owner, "controller", false)) return {};
  return defect("DV-19", "DataVolume.Name",
                fmt::format("PVC \"{}\" already exists; delete it, choose another name, or let the DataVolume adopt it "
                            "(annotation cdi.kubevirt.io/allowClaimAdoption)",
                            name));
}

std::optional<StatusCause> find_changed_spec(const json::Object& old, const json::Object& wanted) {
  const json::Value *before = json::find(old, "spec"), *after = json::find(wanted, "spec");
  if ((!before && !after) || (before && after && json::equal(*before, *after))) return {};
  return defect("DV-20", "DataVolume.Spec", "the spec of a DataVolume must not change; delete it and make another one",
                "FieldValueDuplicate");
}

Task<Result<void>> check_new_data_volume(ObjectRequest& request, std::string_view name, json::Object& object) {
  if (!request.backend.fills_data_volumes) co_return Result<void>();
  if (auto found = find_data_volume_defect(object)) co_return denied(std::move(*found));
  if (auto found = taken_name(request, name, object)) co_return denied(std::move(*found));
  const Result<void> allowed = co_await may_clone(request, object);
  if (allowed) {
    write_down_asker(request, object);
  } else if (!request.own || !is_prepopulated(object)) {
    co_return fail(allowed.error());
  }
  co_return Result<void>();
}

Result<void> check_changed_data_volume(const ObjectRequest& request, const json::Object& old,
                                       const json::Object& wanted) {
  if (!request.backend.fills_data_volumes) return {};
  if (auto found = find_changed_spec(old, wanted)) return denied(std::move(*found));
  return {};
}

}  // namespace vg::resources
