#include "admission/defaults/infer.h"

#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

struct Inferred {
  std::string name, kind;
};

// Why nothing was inferred. The policy `Ignore` covers only what is wrong with the volume, never a failed lookup (K29).
struct Failure {
  std::string message;
  bool ignorable;
};

using Outcome = std::expected<Inferred, Failure>;

std::unexpected<Failure> ignorable(std::string message) { return std::unexpected(Failure{std::move(message), true}); }
std::unexpected<Failure> serious(std::string message) { return std::unexpected(Failure{std::move(message), false}); }

class Volumes {
 public:
  Volumes(const Object& vm, const Family& family, const Context& context)
      : vm_(vm),
        family_(family),
        context_(context),
        namespace_(json::text_in(edit::child(&vm, "metadata"), "namespace")) {}

  // F01 to F05, F09
  Outcome infer_from(string_view name) const {
    const Object* spec = edit::descend(vm_, {"spec", "template", "spec"});
    const Object* volume = spec ? edit::named_item(*spec, "volumes", name) : nullptr;
    if (!volume) return serious(fmt::format("the template has no volume {}", name));
    if (const Object* claim = edit::child(volume, "persistentVolumeClaim"))
      return from_object("persistentvolumeclaims", namespace_, json::text_in(claim, "claimName"));
    if (const Object* data = edit::child(volume, "dataVolume")) return from_data_volume(json::text_in(data, "name"));
    return ignorable(
        fmt::format("volume {} must be a persistentVolumeClaim or a dataVolume, which have the "
                    "labels to infer from",
                    name));
  }

 private:
  // F03: labels of the template itself do not count.
  Outcome from_data_volume(string_view name) const {
    if (const Object* spec = data_volume_template(name)) return from_source(*spec);
    auto found = get("cdi.kubevirt.io/datavolumes", namespace_, name);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return from_object("persistentvolumeclaims", namespace_, name);  // F05
    if (auto labels = labels_of(**found)) return std::move(*labels);
    const Object* spec = edit::child(*found, "spec");
    return spec ? from_source(*spec) : ignorable(fmt::format("DataVolume {} has no source", name));
  }

  const Object* data_volume_template(string_view name) const {
    const Object* spec = edit::child(&vm_, "spec");
    const json::Array* list = spec ? json::get_array(*spec, "dataVolumeTemplates") : nullptr;
    if (!list) return nullptr;
    for (const Value& item : *list)
      if (json::as_string(json::find_path(item, {"metadata", "name"})).value_or("") == name)  // both may have none
        return json::get_object(item, "spec");
    return nullptr;
  }

  // F06 to F08, F10, F11: the source of a DataVolume.
  Outcome from_source(const Object& spec) const {
    const Object* source = edit::child(&spec, "source");
    if (const Object* claim = edit::child(source, "pvc")) return from_claim(*claim);
    if (const Object* snapshot = edit::child(source, "snapshot")) return from_snapshot(*snapshot);
    const Object* reference = edit::child(&spec, "sourceRef");
    if (!reference)
      return ignorable(
          "the source of the volume must be a PersistentVolumeClaim, a VolumeSnapshot or a DataSource, which "
          "have the labels to infer from");
    if (const string_view kind = json::text_in(reference, "kind"); kind != "DataSource")
      return ignorable(fmt::format("sourceRef.kind {} is not supported; it must be DataSource", kind));
    // An empty namespace is taken as it is, and finds nothing (K30).
    return from_data_source(json::get_string(*reference, "namespace").value_or(namespace_),
                            json::text_in(reference, "name"));
  }

  // F08 and F12: its own labels, else those of what it points at; a DataSource behind it is not followed (K30).
  Outcome from_data_source(string_view ns, string_view name) const {
    auto found = get_existing("cdi.kubevirt.io/datasources", ns, name);
    if (!found) return std::unexpected(std::move(found.error()));
    if (auto labels = labels_of(**found)) return std::move(*labels);
    const Object* source = edit::descend(**found, {"spec", "source"});
    if (const Object* claim = edit::child(source, "pvc")) return from_claim(*claim);
    if (const Object* snapshot = edit::child(source, "snapshot")) return from_snapshot(*snapshot);
    return ignorable(
        fmt::format("DataSource {} has neither the label {} nor a source that may have it", name, family_.name_label));
  }

  Outcome from_claim(const Object& source) const {
    return from_object("persistentvolumeclaims", json::text_in(&source, "namespace"), json::text_in(&source, "name"));
  }
  Outcome from_snapshot(const Object& source) const {
    return from_object("snapshot.storage.k8s.io/volumesnapshots", json::text_in(&source, "namespace"),
                       json::text_in(&source, "name"));
  }

  // F13
  Outcome from_object(string_view resource, string_view ns, string_view name) const {
    auto found = get_existing(resource, ns, name);
    if (!found) return std::unexpected(std::move(found.error()));
    if (auto labels = labels_of(**found)) return std::move(*labels);
    return ignorable(fmt::format("{} {}/{} has no label {}", resource, ns, name, family_.name_label));
  }

  std::optional<Inferred> labels_of(const Object& object) const {
    const Object* labels = edit::descend(object, {"metadata", "labels"});
    const auto name = labels ? json::get_string(*labels, family_.name_label) : std::nullopt;
    if (!name) return std::nullopt;
    return Inferred{.name = std::string(*name), .kind = std::string(json::text_in(labels, family_.kind_label))};
  }

  std::expected<const Object*, Failure> get(string_view resource, string_view ns, string_view name) const {
    // Without a namespace or a name there is nothing to ask for.
    if (ns.empty() || name.empty())
      return serious(
          fmt::format("{} to infer from must have a name and a namespace, not \"{}\" and \"{}\"", resource, name, ns));
    auto found = context_.lookups.get(resource, ns, name, context_.storage);
    if (!found) return serious(std::move(found.error().message));
    return json::as_object(static_cast<const Value*>(*found));
  }

  // F14
  std::expected<const Object*, Failure> get_existing(string_view resource, string_view ns, string_view name) const {
    auto found = get(resource, ns, name);
    if (found && !*found) return serious(fmt::format("{} {}/{} not found", resource, ns, name));
    return found;
  }

  const Object& vm_;
  const Family& family_;
  const Context& context_;
  string_view namespace_;
};

}  // namespace

Result<Inference> infer_matcher(const Object& vm, const Family& family, const Context& context) {
  const Object* matcher = edit::descend(vm, {"spec", family.matcher});
  const string_view volume = json::text_in(matcher, "inferFromVolume");
  if (volume.empty()) return Inference();
  const bool lenient = json::text_in(matcher, "inferFromVolumeFailurePolicy") == "Ignore";
  const Outcome outcome = Volumes(vm, family, context).infer_from(volume);
  if (!outcome) {
    if (!lenient || !outcome.error().ignorable)
      return fail(Status{.code = 400,
                         .reason = {},
                         .message = fmt::format("spec.{}.inferFromVolume: {}", family.matcher, outcome.error().message),
                         .details = {}});
    return Inference{.changes = true, .matcher = std::nullopt};
  }
  Object inferred(context.storage);
  if (!outcome->name.empty()) edit::set_text(inferred, "name", outcome->name);
  if (!outcome->kind.empty()) edit::set_text(inferred, "kind", outcome->kind);
  // Memory that a client gave for the case that nothing can be inferred would contradict the instance type (K28).
  return Inference{.changes = true, .matcher = std::move(inferred), .drops_memory = lenient && family.sizes_memory};
}

void apply_inference(Object& vm, const Family& family, Inference inference) {
  Object* spec = edit::child(&vm, "spec");
  if (!inference.changes || !spec) return;
  if (inference.matcher)
    (*spec)[family.matcher] = std::move(*inference.matcher);
  else
    json::erase(*spec, family.matcher);
  if (Object* domain = edit::descend(*spec, {"template", "spec", "domain"}); domain && inference.drops_memory)
    json::erase(*domain, "memory");
}

}  // namespace vg::admission
