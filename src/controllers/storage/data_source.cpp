#include "controllers/storage/data_source.h"

#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/storage/facts.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace storage {
namespace {

struct Verdict {
  bool ready = false;
  std::string reason, message;
  const json::Object* source = nullptr;  // what status.source says
  const json::Object* labelled[2] = {};  // objects whose labels of KubeVirt are copied
};

Verdict not_ready(std::string_view reason, std::string_view message) {
  return {.reason = std::string(reason), .message = std::string(message)};
}

const json::Object* source_in(const json::Object& object, std::string_view part) {
  const json::Object* inside = json::get_object(object, part);
  return inside ? json::get_object(*inside, "source") : nullptr;
}

// DSO-02..04
Verdict judge_claim(const World& world, const json::Object& source, const json::Object& pvc, std::string_view own_ns) {
  std::string_view ns = json::get_string_or(pvc, "namespace");
  if (ns.empty()) ns = own_ns;
  const std::string_view name = json::get_string_or(pvc, "name");
  const json::Object* claim = world.get(kinds::claim, ns, name);
  const json::Object* dv = world.get(kinds::data_volume, ns, name);
  if (!claim && !dv) return not_ready("NotFound", "the PVC does not exist");
  if (dv && phase_of(*dv) != "Succeeded")
    return not_ready(phase_of(*dv).empty() ? "Pending" : phase_of(*dv), "the import of the PVC is not complete");
  return {.ready = true,
          .reason = "Ready",
          .message = "the DataSource can be used",
          .source = &source,
          .labelled = {claim, dv}};
}

// DSO-05, DSO-06
Verdict judge_reference(const World& world, const json::Object& reference, const Key& own) {
  const std::string_view ns = json::get_string_or(reference, "namespace", own.ns),
                         name = json::get_string_or(reference, "name");
  if (!ns.empty() && ns != own.ns)
    return not_ready("CrossNamespaceReference", "the DataSource that is referred to is in another namespace");
  if (name == own.name) return not_ready("SelfReference", "the DataSource refers to itself");
  const json::Object* target = world.get(kinds::data_source, own.ns, name);
  if (!target) return not_ready("NotFound", "the DataSource that is referred to does not exist");
  const json::Object* source = source_in(*target, "spec");
  if (source && json::get_object(*source, "dataSource"))
    return not_ready("MaxReferenceDepthReached", "the DataSource that is referred to is itself a reference");
  const json::Object* status = json::get_object(*target, "status");
  if (!is_true(status, "Ready"))
    return not_ready(condition_reason(status, "Ready").empty() ? "NotFound" : condition_reason(status, "Ready"),
                     "the DataSource that is referred to is not ready");
  return {.ready = true,
          .reason = "Ready",
          .message = "the DataSource can be used",
          .source = source,
          .labelled = {target, nullptr}};
}

Verdict judge(const World& world, const json::Object& data_source, const Key& own) {
  const json::Object* source = source_in(data_source, "spec");
  if (!source || source->empty()) return not_ready("NoSource", "the DataSource names no source");  // DSO-01
  if (const json::Object* pvc = json::get_object(*source, "pvc")) return judge_claim(world, *source, *pvc, own.ns);
  if (const json::Object* other = json::get_object(*source, "dataSource")) return judge_reference(world, *other, own);
  if (json::get_object(*source, "snapshot"))
    return not_ready("NotFound", "there are no volume snapshots on this host");  // DSO-07
  return not_ready("NoSource", "the DataSource names no source");
}

bool is_of_kubevirt(std::string_view label) {
  const std::size_t slash = label.find('/');
  const std::string_view domain = label.substr(0, slash == std::string_view::npos ? 0 : slash);
  return domain == "kubevirt.io" || domain.ends_with(".kubevirt.io");
}

json::Value condition(const Turn& turn, const json::Object& data_source, const Verdict& verdict) {
  const std::string now = time_text(turn.now);
  const std::string_view status = verdict.ready ? "True" : "False";
  const json::Object* before = find_condition(json::get_object(data_source, "status"), "Ready");
  const bool same = before && json::get_string_or(*before, "status") == status;
  const bool same_words = same && json::get_string_or(*before, "reason") == verdict.reason;
  return json::Value({{"type", "Ready"},
                      {"status", status},
                      {"lastHeartbeatTime", kept_time(same_words ? before : nullptr, "lastHeartbeatTime", now)},
                      {"lastTransitionTime", kept_time(same ? before : nullptr, "lastTransitionTime", now)},
                      {"message", verdict.message},
                      {"reason", verdict.reason}},
                     turn.storage);
}

// DataSources have no status subresource: labels and status are one write.
Pass sync(const Turn& turn) {
  Pass pass;
  const json::Object* data_source = turn.world.get(kinds::data_source, turn.key.ns, turn.key.name);
  if (!data_source || is_being_deleted(*data_source)) return pass;
  const Verdict verdict = judge(turn.world, *data_source, turn.key);
  json::Value wanted(*data_source, turn.storage);
  json::Object& status = json::ensure_object(wanted.get_object(), "status");
  status["source"] =
      verdict.source ? json::Value(*verdict.source, turn.storage) : json::Value(boost::json::object_kind, turn.storage);
  status["conditions"] = json::Array({condition(turn, *data_source, verdict)}, turn.storage);
  for (const json::Object* from : verdict.labelled) {
    const json::Object* metadata = from ? json::get_object(*from, "metadata") : nullptr;
    const json::Object* labels = metadata ? json::get_object(*metadata, "labels") : nullptr;
    if (!labels) continue;
    for (const auto& label : *labels)
      if (is_of_kubevirt(label.key()))
        json::ensure_path(wanted.get_object(), {"metadata", "labels"})[label.key()] = label.value();
  }
  if (json::equal(json::Value(*data_source, turn.storage), wanted)) return pass;
  pass.add({.verb = Verb::update,
            .resource = kinds::data_source,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = std::move(wanted)});
  return pass;
}

// Those that name the object: `word` as in references.h.
std::vector<Key> that_name(const World& world, std::string_view word, const json::Object& object) {
  std::vector<Key> keys;
  const std::string target =
      fmt::format("{}/{}/{}", word, metadata_text(object, "namespace"), metadata_text(object, "name"));
  for (const std::string& one : world.referring(kinds::data_source, "", target)) {
    const std::size_t slash = one.find('/');
    keys.push_back({.ns = one.substr(0, slash), .name = one.substr(slash + 1)});
  }
  return keys;
}

std::vector<Key> of_claim(const Change& change, const World& world) {
  if (change.before && change.after && phase_of(*change.before) == phase_of(*change.after)) return {};
  return that_name(world, "claim", change.object());
}

std::vector<Key> of_source(const Change& change, const World& world) {
  return that_name(world, "source", change.object());
}

constexpr std::array triggers =
    std::to_array<Trigger>({{kinds::claim, of_claim}, {kinds::data_volume, of_claim}, {kinds::data_source, of_source}});

}  // namespace
}  // namespace storage

Controller data_source_controller() {
  return {.name = "datasource",
          .resource = kinds::data_source,
          .component = "datasource-controller",
          .triggers = storage::triggers,
          .sync = storage::sync};
}

}  // namespace vg::controllers
