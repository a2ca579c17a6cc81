#include "journal/document.h"

#include <fmt/format.h>

#include <array>

#include "story/facts.h"

namespace vg::journal {
namespace {

using json::Object;
using json::Value;
using std::string_view;

json::Array& list_in(Object& object, string_view key) {
  Value& list = object[key];
  return list.is_array() ? list.get_array() : list.emplace_array();
}

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
    put(spec, "credential", entry.credential);
    for (const std::string& group : entry.groups) list_in(spec, "groups").push_back(Value(group, storage));
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

Value row_of(std::initializer_list<std::pair<string_view, string_view>> cells, const json::StoragePtr& storage) {
  Object row(storage);
  for (const auto& [key, text] : cells) put(row, key, text);
  return row;
}

Object times_of(const record::Times& times, const json::StoragePtr& storage) {
  static constexpr std::array<string_view, std::tuple_size_v<record::Times>> names = {"access", "lookUps", "decision",
                                                                                      "write"};
  Object found(storage);
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i]) found[names[i]] = static_cast<double>(times[i]) / 1000;
  return found;
}

// What the decision was made from, what it changed, and where the time went.
void put_details(Object& status, const Entry& entry, const json::StoragePtr& storage) {
  put(status, "decidedBy", entry.decided_by);
  for (const Cause& cause : entry.causes)
    list_in(status, "rules").push_back(row_of({{"id", cause.rule}, {"field", cause.field}}, storage));
  for (const Seen& seen : entry.seen) {
    Value row = row_of({{"object", seen.object}, {"state", seen.state}}, storage);
    row.get_object()["ageMilliseconds"] = seen.age_ms;
    list_in(status, "seen").push_back(std::move(row));
  }
  for (const Change& change : entry.changes)
    list_in(status, "changes").push_back(row_of({{"field", change.field}, {"value", change.value}}, storage));
  for (const Touched& touched : entry.touched)
    list_in(status, "objects")
        .push_back(row_of({{"action", touched.what},
                           {"object", touched.object},
                           {"uid", touched.uid},
                           {"resourceVersion", touched.version}},
                          storage));
  if (entry.times != record::Times()) status["timesMilliseconds"] = times_of(entry.times, storage);
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
  put_details(status, entry, storage);
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
