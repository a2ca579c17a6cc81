#include "journal/document.h"

#include <fmt/format.h>

#include "story/facts.h"

namespace vg::journal {
namespace {

using json::Object;
using json::Value;
using std::string_view;

void put(Object& object, string_view key, string_view text) {
  if (!text.empty()) object[key] = text;
}

Value metadata(const Kept& kept, const json::StoragePtr& storage) {
  return Value({{"name", kept.entry.id},
                {"namespace", namespace_of(kept.entry)},
                {"uid", kept.entry.id},
                {"resourceVersion", fmt::format("{}", kept.sequence)},
                {"creationTimestamp", print_rfc3339(kept.entry.time)}},
               storage);
}

Object spec_of(const View& view, const json::StoragePtr& storage) {
  const Entry& entry = view.kept.entry;
  Object spec(storage);
  if (view.shows_user) {
    put(spec, "user", entry.user);
    put(spec, "impersonatedBy", entry.impersonated_by);
    put(spec, "client", entry.agent);
  }
  put(spec, "verb", entry.verb);
  put(spec, "group", entry.group);
  put(spec, "version", entry.version);
  put(spec, "resource", entry.resource);
  put(spec, "subresource", entry.subresource);
  put(spec, "name", entry.name);
  if (entry.dry_run) spec["dryRun"] = true;
  return spec;
}

Object status_of(const View& view, const json::StoragePtr& storage) {
  const Entry& entry = view.kept.entry;
  Object status(storage);
  status["code"] = entry.code;
  put(status, "reason", entry.reason);
  put(status, "message", entry.message);
  // Which role allowed it names whom it is bound to.
  if (view.shows_user || !entry.allowed)
    put(status, entry.allowed ? "allowedBy" : "forbiddenBecause", entry.allowed_by);
  put(status, "uid", entry.uid);
  put(status, "resourceVersion", entry.resource_version);
  for (const Cause& cause : entry.causes) {
    Value& rules = status["rules"];
    if (!rules.is_array()) rules.emplace_array();
    rules.get_array().push_back(Value({{"id", cause.rule}, {"field", cause.field}}, storage));
  }
  for (const Touched& touched : entry.touched) {
    Value& objects = status["objects"];
    if (!objects.is_array()) objects.emplace_array();
    objects.get_array().push_back(Value({{"action", touched.what}, {"object", touched.object}}, storage));
  }
  status["milliseconds"] = static_cast<double>(entry.microseconds) / 1000;
  status["verdict"] = view.outcome.says;
  put(status, "next", view.outcome.next);
  return status;
}

struct Column {
  string_view name, type, format, description;
};
constexpr Column table_columns[] = {
    {"Name", "string", "name", "The id of the request, as its answer and the log have it"},
    {"User", "string", "", "Who asked; needs the verb identify on requests for others than yourself"},
    {"Request", "string", "", "What was asked for"},
    {"Code", "integer", "", "The status of the answer"},
    {"Verdict", "string", "", "What became of it"},
    {"Age", "string", "", "How long ago it was"},
};

}  // namespace

string_view namespace_of(const Entry& entry) {
  return entry.ns.empty() ? string_view("default") : string_view(entry.ns);
}

Value to_object(const View& view, const json::StoragePtr& storage) {
  return Value({{"apiVersion", api_version},
                {"kind", "Request"},
                {"metadata", metadata(view.kept, storage)},
                {"spec", spec_of(view, storage)},
                {"status", status_of(view, storage)}},
               storage);
}

std::string what_text(const Entry& entry) {
  std::string text = fmt::format("{} {}", entry.verb, entry.resource);
  if (!entry.subresource.empty()) text += fmt::format("/{}", entry.subresource);
  if (!entry.name.empty()) text += fmt::format(" {}", entry.name);
  return text;
}

json::Array columns(const json::StoragePtr& storage) {
  json::Array found(storage);
  for (const Column& column : table_columns)
    found.push_back(Value({{"name", column.name},
                           {"type", column.type},
                           {"format", column.format},
                           {"description", column.description},
                           {"priority", 0}},
                          storage));
  return found;
}

Value to_row(const View& view, Timestamp now, const json::StoragePtr& storage) {
  const Entry& entry = view.kept.entry;
  const std::string age = story::span_text(std::max<std::int64_t>(now.seconds - entry.time.seconds, 0));
  return Value({{"cells",
                 {entry.id, view.shows_user ? string_view(entry.user) : string_view("-"), what_text(entry), entry.code,
                  view.outcome.says, age}},
                {"object",
                 {{"kind", "PartialObjectMetadata"},
                  {"apiVersion", "meta.k8s.io/v1"},
                  {"metadata", metadata(view.kept, storage)}}}},
               storage);
}

}  // namespace vg::journal
