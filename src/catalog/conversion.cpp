#include "catalog/conversion.h"

#include <array>
#include <stdexcept>
#include <utility>

#include "api/canonical.h"
#include "catalog/conversion_autoscaler.h"
#include "catalog/own_text.h"
#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using Renames = std::span<const std::pair<std::string_view, std::string_view>>;

// What the two forms of an event call differently: shown, stored.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> event_names = {{
    {"note", "message"},
    {"regarding", "involvedObject"},
    {"reportingController", "reportingComponent"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
}};

void rename(json::Object& object, std::string_view from, std::string_view to) {
  json::Value* value = json::find(object, from);
  if (!value) return;
  json::Value moved = std::move(*value);
  json::erase(object, from);
  object[to] = std::move(moved);
}

void event_to_stored(json::Object& object) {
  for (const auto& [shown, stored] : event_names) rename(object, shown, stored);
}

void event_from_stored(json::Object& object) {
  for (const auto& [shown, stored] : event_names) rename(object, stored, shown);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> event_fields = {{
    {"regarding.kind", "involvedObject.kind"},
    {"regarding.namespace", "involvedObject.namespace"},
    {"regarding.name", "involvedObject.name"},
    {"regarding.uid", "involvedObject.uid"},
    {"regarding.apiVersion", "involvedObject.apiVersion"},
    {"regarding.resourceVersion", "involvedObject.resourceVersion"},
    {"regarding.fieldPath", "involvedObject.fieldPath"},
    {"reportingController", "reportingComponent"},
}};

constexpr std::array table = {
    Conversion{.group = "events.k8s.io",
               .version = "v1",
               .plural = "events",
               .stored_key = "events",
               .to_stored = event_to_stored,
               .from_stored = event_from_stored,
               .fields = event_fields},
    Conversion{.group = "autoscaling",
               .version = "v1",
               .plural = "horizontalpodautoscalers",
               .stored_key = "autoscaling/horizontalpodautoscalers",
               .to_stored = autoscaler_to_stored,
               .from_stored = autoscaler_from_stored,
               .fields = {}},
};

}  // namespace

std::span<const Conversion> conversions() { return table; }

std::string_view stored_field(const Resource& shown, std::string_view field) {
  if (!shown.conversion) return field;
  for (const auto& [theirs, ours] : shown.conversion->fields)
    if (theirs == field) return ours;
  return field;
}

void convert_to_stored(json::Object& object, const Resource& shown) {
  shown.conversion->to_stored(object);
  object["apiVersion"] = shown.storage_api_version;
}

void convert_from_stored(json::Object& object, const Resource& shown) {
  shown.conversion->from_stored(object);
  object["apiVersion"] = api_version(shown.group(), shown.conversion->version);
  object["kind"] = shown.kind->kind;
}

void convert_text(std::string& out, std::size_t start, const Resource& shown) {
  auto document = json::Document::parse(std::string_view(out).substr(start), own_text);
  if (!document || !document->root().is_object()) throw std::runtime_error("a stored object is not readable");
  json::Object& object = document->root().get_object();
  convert_from_stored(object, shown);
  if (auto shaped = api::canonicalize(document->root(), *shown.kind->type); !shaped)
    throw std::runtime_error("a stored object does not fit its other form: " + shaped.error().message);
  out.resize(start);
  out.append(R"({"apiVersion":)");
  json::write(object["apiVersion"], out);
  out.append(R"(,"kind":)");
  json::write(object["kind"], out);
  out.append(R"(,"metadata":)");
  json::write(object["metadata"], out);
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (key == "apiVersion" || key == "kind" || key == "metadata") continue;
    out.push_back(',');
    json::write_string(key, out);
    out.push_back(':');
    json::write(member.value(), out);
  }
  out.push_back('}');
}

}  // namespace vg::resources
