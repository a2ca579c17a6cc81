#include "objects/clone_asker.h"

#include <algorithm>
#include <array>

#include "admission/asker.h"
#include "json/access.h"
#include "objects/data_import_crons.h"
#include "objects/data_volumes.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

constexpr std::string_view asker_claims_key = "persistentvolumeclaims";
constexpr std::string_view clone_request = "k8s.io/CloneRequest";

const json::Object* asker_annotations(const json::Object* object) {
  const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
  return metadata ? json::get_object(*metadata, "annotations") : nullptr;
}

// A DataSource can name another claim later.
bool names_another_namespace(const json::Object* data_volume, std::string_view ns) {
  const json::Object* spec = data_volume ? json::get_object(*data_volume, "spec") : nullptr;
  if (!spec) return false;
  if (json::get_object(*spec, "sourceRef")) return true;
  const json::Object* source = json::get_object(*spec, "source");
  const json::Object* pvc = source ? json::get_object(*source, "pvc") : nullptr;
  const std::string_view named = pvc ? json::get_string_or(*pvc, "namespace") : std::string_view();
  return !named.empty() && named != ns;
}

const json::Object* template_in(const json::Object& cron) {
  const json::Object* spec = json::get_object(cron, "spec");
  return spec ? json::get_object(*spec, "template") : nullptr;
}

// The claim that a new claim is to be filled from, if it is in another namespace.
std::string_view foreign_claim(const json::Object& claim, std::string_view ns) {
  const json::Object* annotations = asker_annotations(&claim);
  const std::string_view asked = annotations ? json::get_string_or(*annotations, clone_request) : std::string_view();
  return asked.substr(0, asked.find('/')) == ns ? std::string_view() : asked;
}

}  // namespace

void keep_asker(const ObjectRequest& request, json::Object& object, const json::Object* old) {
  constexpr std::array bearers{data_volumes_key, data_import_crons_key, asker_claims_key};
  if (std::ranges::find(bearers, request.resource.key) == bearers.end()) return;
  const json::Object *sent = asker_annotations(&object), *before = asker_annotations(old);
  const json::Value* kept = before ? json::find(*before, admission::asker_annotation) : nullptr;
  if (!kept && !(sent && json::find(*sent, admission::asker_annotation))) return;
  json::Object& annotations = json::ensure_object(metadata_of(object), "annotations");
  if (kept)
    annotations[admission::asker_annotation] = *kept;
  else
    json::erase(annotations, admission::asker_annotation);
  if (annotations.empty()) json::erase(metadata_of(object), "annotations");
}

void write_down_asker(const ObjectRequest& request, json::Object& object) {
  keep_asker(request, object, nullptr);
  const bool is_claim = request.resource.key == asker_claims_key;
  const std::string from(is_claim ? foreign_claim(object, request.ns) : std::string_view());
  const bool is_cron = request.resource.key == data_import_crons_key;
  const bool needed =
      is_claim ? !from.empty() : names_another_namespace(is_cron ? template_in(object) : &object, request.ns);
  if (!needed || !request.asker) return;
  json::ensure_object(metadata_of(object), "annotations")[admission::asker_annotation] =
      admission::print_asker(*request.asker, from);
}

}  // namespace vg::resources
