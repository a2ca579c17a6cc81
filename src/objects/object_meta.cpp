#include "objects/object_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/limits.h"
#include "base/names.h"
#include "base/net.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::resources {
namespace {

constexpr std::string_view invalid = "FieldValueInvalid";
constexpr std::string_view required = "FieldValueRequired";
constexpr std::string_view forbidden = "FieldValueForbidden";
constexpr std::string_view too_long = "FieldValueTooLong";

class MetadataCauses {
 public:
  explicit MetadataCauses(std::vector<StatusCause>& into) : into_(into) {}
  void add(std::string_view reason, std::string_view field, std::string message) {
    if (into_.size() >= limits::causes_max) return;
    into_.push_back({.reason = std::string(reason), .message = std::move(message), .field = std::string(field)});
  }
  void defects(std::string_view field, std::string_view what, const Defects& defects) {
    for (const std::string& defect : defects) add(invalid, field, fmt::format("\"{}\": {}", what, defect));
  }

 private:
  std::vector<StatusCause>& into_;
};

using NameCheck = Defects (*)(std::string_view);

// One address has one name.
Defects ip_name_defects(std::string_view name) {
  const auto ip = parse_ip(name);
  if (ip && ip->to_string() == name) return {};
  return {"must be an IP address in its canonical form, such as 10.0.0.1 or 2001:db8::1"};
}

// Most names are DNS subdomains; these are not.
NameCheck name_check(const Resource& resource) {
  if (resource.key == "namespaces") return dns1123_label_defects;
  if (resource.key == "services") return dns1035_label_defects;
  if (resource.key == "networking.k8s.io/ipaddresses") return ip_name_defects;
  if (resource.key == "events" || resource.key == "policy/poddisruptionbudgets" ||
      resource.group() == "rbac.authorization.k8s.io" || resource.group() == "certificates.k8s.io")
    return path_segment_defects;
  return dns1123_subdomain_defects;
}

void check_own_name(const json::Object& metadata, const Resource& resource, MetadataCauses& causes) {
  const NameCheck check = name_check(resource);
  const std::string_view prefix = json::get_string_or(metadata, "generateName");
  if (!prefix.empty()) {
    // A name goes on where the prefix ends, so the dash at its end is fine.
    std::string as_name(prefix);
    if (as_name.back() == '-') as_name.back() = 'a';
    causes.defects("metadata.generateName", prefix, check(as_name));
  }
  const std::string_view name = json::get_string_or(metadata, "name");
  if (name.empty())
    causes.add(required, "metadata.name", std::string(phrases::name_required));
  else
    causes.defects("metadata.name", name, check(name));
}

void check_namespace(const json::Object& metadata, const Resource& resource, MetadataCauses& causes) {
  const std::string_view ns = json::get_string_or(metadata, "namespace");
  if (!resource.kind->namespaced) {
    if (!ns.empty()) causes.add(forbidden, "metadata.namespace", "not supported: the kind is not namespaced");
  } else if (ns.empty()) {
    causes.add(required, "metadata.namespace", "the kind is namespaced");
  } else {
    causes.defects("metadata.namespace", ns, dns1123_label_defects(ns));
  }
}

void check_labels(const json::Object& metadata, MetadataCauses& causes) {
  const auto* labels = json::get_object(metadata, "labels");
  if (!labels) return;
  for (const auto& label : *labels) {
    const std::string_view value = json::as_string(&label.value()).value_or("");
    causes.defects("metadata.labels", label.key(), qualified_name_defects(label.key()));
    causes.defects("metadata.labels", value, label_value_defects(value));
  }
}

void check_annotations(const json::Object& metadata, MetadataCauses& causes) {
  const auto* annotations = json::get_object(metadata, "annotations");
  if (!annotations) return;
  std::size_t bytes = 0;
  for (const auto& annotation : *annotations) {
    const std::string_view key = annotation.key();
    bytes += key.size() + json::as_string(&annotation.value()).value_or("").size();
    // Letter case in the domain of a key is forgiven here, unlike in labels.
    std::string lower(key);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    causes.defects("metadata.annotations", key, qualified_name_defects(lower));
  }
  if (bytes > limits::annotations_bytes_max)
    causes.add(too_long, "metadata.annotations",
               fmt::format("must have at most {} bytes in all keys and values together, has {}",
                           limits::annotations_bytes_max, bytes));
}

void check_owners(const json::Object& metadata, MetadataCauses& causes) {
  const auto* owners = json::get_array(metadata, "ownerReferences");
  if (!owners) return;
  std::string_view controller;
  for (const auto& owner : *owners) {
    const std::string_view api_version = json::get_string_or(owner, "apiVersion");
    const std::string_view kind = json::get_string_or(owner, "kind");
    const std::string_view name = json::get_string_or(owner, "name");
    if (const auto version = split_api_version(api_version).version; version.empty() || version.contains('/'))
      causes.add(invalid, "metadata.ownerReferences.apiVersion",
                 "must be a version, or a group and a version, for example kubevirt.io/v1");
    if (kind.empty()) causes.add(invalid, "metadata.ownerReferences.kind", "must not be empty");
    if (name.empty()) causes.add(invalid, "metadata.ownerReferences.name", "must not be empty");
    if (json::get_string_or(owner, "uid").empty())
      causes.add(invalid, "metadata.ownerReferences.uid", "must not be empty");
    if (kind == "Event" && api_version == "v1")
      causes.add(invalid, "metadata.ownerReferences", "an Event must not be an owner");
    if (!json::get_bool_or(owner, "controller", false)) continue;
    if (!controller.empty())
      causes.add(invalid, "metadata.ownerReferences",
                 fmt::format("only one owner can be the controller, not both \"{}\" and \"{}\"", controller, name));
    controller = name.empty() ? std::string_view("(unnamed)") : name;
  }
}

// Custom kinds may have finalizers without a domain, and are only warned of them; nobody minds those of events.
void check_finalizers(const json::Object& metadata, bool any_name, MetadataCauses& causes) {
  const auto* finalizers = json::get_array(metadata, "finalizers");
  if (!finalizers) return;
  std::size_t index = 0;
  for (const auto& finalizer : *finalizers) {
    const std::string_view name = json::as_string(&finalizer).value_or("");
    causes.defects("metadata.finalizers", name, qualified_name_defects(name));
    if (!any_name && !is_whole_finalizer(name))
      causes.add(invalid, fmt::format("metadata.finalizers[{}]", index),
                 fmt::format("\"{}\": must have a domain, for example example.com/{}", name, name));
    ++index;
  }
  if (has_finalizer(metadata, foreground_finalizer) && has_finalizer(metadata, orphan_finalizer))
    causes.add(invalid, "metadata.finalizers", "foregroundDeletion is mutually exclusive with orphan");
}

bool same(const json::Value* a, const json::Value* b) {
  const bool no_a = !a || a->is_null();
  const bool no_b = !b || b->is_null();
  return no_a || no_b ? no_a == no_b : *a == *b;
}

// Ordered sets, here and below: no choice of names makes them slow.
std::set<std::string_view> finalizer_names(const json::Object& metadata) {
  std::set<std::string_view> names;
  if (const auto* finalizers = json::get_array(metadata, "finalizers"))
    for (const auto& finalizer : *finalizers) names.insert(json::as_string(&finalizer).value_or(""));
  return names;
}

void copy_member(json::Object& to, const json::Object& from, std::string_view name) {
  if (const json::Value* value = json::find(from, name); value && !value->is_null())
    to[name] = *value;
  else
    json::erase(to, name);
}

}  // namespace

bool is_whole_finalizer(std::string_view name) {
  return name.contains('/') || name == foreground_finalizer || name == orphan_finalizer || name == "kubernetes";
}

bool has_finalizer(const json::Object& metadata, std::string_view name) {
  const auto* finalizers = json::get_array(metadata, "finalizers");
  return finalizers && std::ranges::any_of(*finalizers, [&](const json::Value& finalizer) {
           return json::as_string(&finalizer) == std::optional(name);
         });
}

bool add_finalizer(json::Object& metadata, std::string_view name) {
  if (has_finalizer(metadata, name)) return false;
  json::ensure_array(metadata, "finalizers").emplace_back(name);
  return true;
}

bool remove_finalizer(json::Object& metadata, std::string_view name) {
  auto* finalizers = json::get_array(metadata, "finalizers");
  if (!finalizers) return false;
  const auto* found = std::ranges::find_if(
      *finalizers, [&](const json::Value& finalizer) { return json::as_string(&finalizer) == std::optional(name); });
  if (found == finalizers->end()) return false;
  finalizers->erase(found);
  if (finalizers->empty()) json::erase(metadata, "finalizers");
  return true;
}

void drop_unkept_metadata(json::Object& metadata) {
  json::erase(metadata, "selfLink");
  json::erase(metadata, "managedFields");
}

bool drop_repeated_owners(json::Object& metadata) {
  auto* owners = json::get_array(metadata, "ownerReferences");
  if (!owners || owners->size() < 2) return false;
  std::set<std::string> seen;
  json::Array kept(owners->storage());
  for (json::Value& owner : *owners)
    if (seen.insert(json::to_text(owner)).second) kept.push_back(std::move(owner));
  owners->swap(kept);
  return owners->size() < kept.size();
}

void add_finalizer_warnings(const json::Object& metadata, const json::Object& old, std::vector<std::string>& warnings) {
  const auto* finalizers = json::get_array(metadata, "finalizers");
  if (!finalizers) return;
  const auto known = finalizer_names(old);
  for (const auto& finalizer : *finalizers) {
    const auto name = json::as_string(&finalizer).value_or("");
    if (is_whole_finalizer(name) || known.contains(name)) continue;
    if (warnings.size() >= limits::causes_max) return;
    warnings.push_back(fmt::format("metadata.finalizers: \"{}\" has no domain; use example.com/{}", name, name));
  }
}

void stamp_new_object(json::Object& metadata, std::string_view uid, std::string_view now) {
  drop_unkept_metadata(metadata);
  for (const std::string_view name : {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"})
    json::erase(metadata, name);
  metadata["uid"] = uid;
  metadata["creationTimestamp"] = now;
}

void carry_over_metadata(json::Object& metadata, const json::Object& old) {
  drop_unkept_metadata(metadata);
  copy_member(metadata, old, "generation");
  copy_member(metadata, old, "creationTimestamp");
  if (json::get_string_or(metadata, "uid").empty()) copy_member(metadata, old, "uid");
  if (json::find(old, "deletionTimestamp")) copy_member(metadata, old, "deletionTimestamp");
  if (!json::get_int(metadata, "deletionGracePeriodSeconds")) copy_member(metadata, old, "deletionGracePeriodSeconds");
}

void check_metadata(const json::Object& metadata, const Resource& resource, std::vector<StatusCause>& causes) {
  MetadataCauses into(causes);
  check_own_name(metadata, resource, into);
  check_namespace(metadata, resource, into);
  check_labels(metadata, into);
  check_annotations(metadata, into);
  check_owners(metadata, into);
  check_finalizers(metadata, resource.kind->custom || resource.key == "events", into);
}

void check_metadata_change(const json::Object& metadata, const json::Object& old, std::vector<StatusCause>& causes) {
  MetadataCauses into(causes);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> fixed = {
      {{"name", "metadata.name"},
       {"namespace", "metadata.namespace"},
       {"uid", "metadata.uid"},
       {"deletionTimestamp", "metadata.deletionTimestamp"},
       {"deletionGracePeriodSeconds", "metadata.deletionGracePeriodSeconds"}}};
  for (const auto& [member, field] : fixed)
    if (!same(json::find(metadata, member), json::find(old, member)))
      into.add(invalid, field, std::string(phrases::field_immutable));
  if (!json::get_string(old, "deletionTimestamp")) return;
  const auto* finalizers = json::get_array(metadata, "finalizers");
  if (!finalizers) return;
  const auto before = finalizer_names(old);
  for (const auto& finalizer : *finalizers) {
    const std::string_view name = json::as_string(&finalizer).value_or("");
    if (!before.contains(name))
      into.add(forbidden, "metadata.finalizers",
               fmt::format("finalizer \"{}\" cannot be added: the object is being deleted", name));
  }
}

}  // namespace vg::resources
