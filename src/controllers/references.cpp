#include "controllers/references.h"

#include <fmt/format.h>

#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/world.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

using References = std::vector<std::string>;

const json::Object* member(const json::Object* object, std::string_view name) {
  return object ? json::get_object(*object, name) : nullptr;
}

void add(References& all, std::string_view kind, std::string_view name) {
  if (!name.empty()) all.push_back(fmt::format("{}/{}", kind, name));
}

References of_snapshot(const json::Object& snapshot) {
  References all;
  const std::string_view phase = json::text_in(member(&snapshot, "status"), "phase");
  const bool is_over = phase == "Succeeded" || phase == "Failed";
  if (!is_over || is_being_deleted(snapshot))
    add(all, "vm", json::text_in(member(member(&snapshot, "spec"), "source"), "name"));
  return all;
}

References of_restore(const json::Object& restore) {
  References all;
  const json::Object* status = member(&restore, "status");
  const bool is_over = status && (json::get_bool_or(*status, "complete", false) || find_condition(status, "Failure"));
  if (!is_over || is_being_deleted(restore))
    add(all, "vm", json::text_in(member(member(&restore, "spec"), "target"), "name"));
  return all;
}

References of_clone(const json::Object& clone) {
  References all;
  const json::Object* spec = member(&clone, "spec");
  const json::Object* source = member(spec, "source");
  const std::string_view phase = json::text_in(member(&clone, "status"), "phase");
  if (phase.empty() || phase == "SnapshotInProgress")
    add(all, json::text_in(source, "kind") == "VirtualMachineSnapshot" ? "snapshot" : "vm",
        json::text_in(source, "name"));
  if (phase == "Succeeded") add(all, "target", json::text_in(member(&clone, "status"), "targetName"));
  return all;
}

References of_export(const json::Object& object) {
  References all;
  const json::Object* spec = member(&object, "spec");
  const json::Object* source = member(spec, "source");
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kinds_of_sources{
      {{"VirtualMachine", "vm"}, {"VirtualMachineSnapshot", "snapshot"}, {"PersistentVolumeClaim", "claim"}}};
  for (const auto& [kind, word] : kinds_of_sources)
    if (json::text_in(source, "kind") == kind) add(all, word, json::text_in(source, "name"));
  add(all, "secret", json::text_in(spec, "tokenSecretRef"));
  return all;
}

References of_data_source(const json::Object& object) {
  References all;
  const json::Object* source = member(member(&object, "spec"), "source");
  for (const auto& [kind, word] : {std::pair("pvc", "claim"), std::pair("dataSource", "source")}) {
    const json::Object* named = member(source, kind);
    std::string_view ns = json::text_in(named, "namespace");
    if (ns.empty()) ns = metadata_text(object, "namespace");
    if (!json::text_in(named, "name").empty()) add(all, word, fmt::format("{}/{}", ns, json::text_in(named, "name")));
  }
  return all;
}

struct Row {
  std::string_view resource;
  References (*of)(const json::Object& object);
  bool elsewhere = false;
};
constexpr Row rows[] = {
    {.resource = kinds::snapshot, .of = of_snapshot},
    {.resource = kinds::restore, .of = of_restore},
    {.resource = kinds::clone, .of = of_clone},
    {.resource = kinds::vm_export, .of = of_export},
    {.resource = kinds::data_source, .of = of_data_source, .elsewhere = true},
};

const Row* row_of(std::string_view resource) {
  for (const Row& row : rows)
    if (row.resource == resource) return &row;
  return nullptr;
}

}  // namespace

std::string_view with_references(std::string_view resource) {
  const Row* row = row_of(resource);
  return row ? row->resource : std::string_view();
}

bool refers_elsewhere(std::string_view resource) {
  const Row* row = row_of(resource);
  return row && row->elsewhere;
}

std::vector<std::string> references_of(std::string_view resource, const json::Object& object) {
  const Row* row = row_of(resource);
  return row ? row->of(object) : References();
}

}  // namespace vg::controllers
