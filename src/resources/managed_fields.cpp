#include "resources/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/field_set.h"
#include "api/typed_merge.h"
#include "base/limits.h"
#include "json/access.h"
#include "resources/catalog.h"

namespace vg::resources {
namespace {

using api::FieldSet;
using std::string_view;

constexpr string_view apply_operation = "Apply";
constexpr string_view update_operation = "Update";

struct Owner {
  std::string manager, operation, api_version, subresource, time;
  FieldSet fields;

  auto identity() const { return std::tie(manager, operation, api_version, subresource); }
  auto order() const { return std::tie(operation, time, manager, api_version, subresource); }
};
using Owners = std::vector<Owner>;

// --- reading and writing ---------------------------------------------------------------------------------------------

std::optional<Owner> read_owner(const json::Value& entry) {
  const json::Object* members = entry.if_object();
  if (!members) return std::nullopt;
  const auto text = [&](string_view name) { return std::string(json::get_string_or(*members, name)); };
  const json::Value* fields = json::find(*members, "fieldsV1");
  if (text("fieldsType") != "FieldsV1") return std::nullopt;
  Owner owner{.manager = text("manager"),
              .operation = text("operation"),
              .api_version = text("apiVersion"),
              .subresource = text("subresource"),
              .time = text("time"),
              .fields = {}};
  if (owner.operation != apply_operation && owner.operation != update_operation) return std::nullopt;
  if (fields && !fields->is_null()) {
    auto set = FieldSet::from_fields_v1(*fields);
    if (!set) return std::nullopt;
    owner.fields = std::move(*set);
  }
  return owner;
}

const json::Array* managed_fields_of(const json::Value& object) {
  const json::Value* found = json::find_path(object, {"metadata", "managedFields"});
  return found ? found->if_array() : nullptr;
}

bool is_version_of(string_view text, const api::Kind& kind) {
  const GroupVersion named = split_api_version(text);
  return named.group == kind.group && kind.version(named.version);
}

// Nothing when there are none, or when they cannot be read. Whoever wrote in a version that the kind does not have is
// forgotten: nobody knows what that version calls the fields.
std::optional<Owners> read_owners(const json::Value& object, const api::Kind& kind) {
  const json::Array* entries = managed_fields_of(object);
  if (!entries || entries->empty()) return std::nullopt;
  Owners owners;
  for (const json::Value& entry : *entries) {
    auto owner = read_owner(entry);
    if (!owner) return std::nullopt;
    if (is_version_of(owner->api_version, kind)) owners.push_back(std::move(*owner));
  }
  return owners;
}

json::Value write_owners(Owners owners, const json::StoragePtr& storage) {
  std::ranges::sort(owners, {}, [](const Owner& owner) { return owner.order(); });
  json::Array entries(storage);
  for (const Owner& owner : owners) {
    json::Object entry(storage);
    entry["manager"] = owner.manager;
    entry["operation"] = owner.operation;
    entry["apiVersion"] = owner.api_version;
    if (!owner.time.empty()) entry["time"] = owner.time;
    entry["fieldsType"] = "FieldsV1";
    entry.emplace("fieldsV1", owner.fields.to_fields_v1(storage));
    if (!owner.subresource.empty()) entry["subresource"] = owner.subresource;
    entries.push_back(json::Value(std::move(entry)));
  }
  return json::Value(std::move(entries));
}

json::Value without_notes(const json::Value& object, const json::StoragePtr& storage) {
  json::Value copy(object, storage);
  if (auto* metadata = json::get_object(copy.get_object(), "metadata")) json::erase(*metadata, "managedFields");
  return copy;
}

// --- what is owned ---------------------------------------------------------------------------------------------------

// What identifies the object, or what only the server writes, belongs to nobody.
const FieldSet& unowned_fields() {
  static const FieldSet set = [] {
    FieldSet fields;
    for (const string_view name : {"f:apiVersion", "f:kind", "f:metadata"}) fields.at(name).member = true;
    for (const string_view name : {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid",
                                   "f:clusterName", "f:generation", "f:managedFields", "f:resourceVersion"})
      fields.at("f:metadata").at(name).member = true;
    return fields;
  }();
  return set;
}

// Where the status is a subresource, the object itself is not asked about it, and the subresource about nothing else.
FieldSet asked_part(FieldSet fields, const api::Kind& kind, const FieldWriter& writer) {
  constexpr string_view status = "f:status";
  const bool about_status = writer.subresource == "status";
  if (about_status || kind.status_subresource)
    std::erase_if(fields.children,
                  [&](const FieldSet::Child& child) { return (child.element == status) != about_status; });
  return fields;
}

FieldSet owned_part(FieldSet fields, const api::Kind& kind, const FieldWriter& writer) {
  return asked_part(std::move(fields), kind, writer).without(unowned_fields());
}

struct Change {
  FieldSet written;  // added or changed
  FieldSet removed;
};

Change change_of(api::Difference difference, const api::Kind& kind, const FieldWriter& writer) {
  return {.written = owned_part(difference.added.united_with(difference.changed), kind, writer),
          .removed = owned_part(std::move(difference.removed), kind, writer)};
}

Change find_change(const json::Value& before, const json::Value& after, const api::Kind& kind,
                   const FieldWriter& writer) {
  return change_of(api::compare_objects(before, after, kind), kind, writer);
}

bool is_empty(const api::Difference& difference) {
  return difference.added.empty() && difference.changed.empty() && difference.removed.empty();
}

// Everything that an apply says is written down as its manager's, so an object whose fields alone take more than an
// object may take cannot be stored. Said here, before all the work that it would be for nothing.
std::optional<Status> find_excess(const FieldSet& said) {
  const std::size_t bytes = said.written_bytes_min();
  if (bytes <= limits::stored_object_bytes_max) return std::nullopt;
  return Status::too_large(
      fmt::format("the object would have more than {} bytes, its managedFields {} or more; "
                  "apply it in parts, or use fewer fields and list elements",
                  limits::stored_object_bytes_max, bytes));
}

Owner owner_of(const FieldWriter& writer, string_view operation) {
  return {.manager = std::string(writer.manager),
          .operation = std::string(operation),
          .api_version = std::string(writer.api_version),
          .subresource = std::string(writer.subresource),
          .time = std::string(writer.now),
          .fields = {}};
}

Owner* find_owner(Owners& owners, const Owner& who) {
  const auto found =
      std::ranges::find_if(owners, [&](const Owner& owner) { return owner.identity() == who.identity(); });
  return found == owners.end() ? nullptr : &*found;
}

void drop_empty(Owners& owners) {
  std::erase_if(owners, [](const Owner& owner) { return owner.fields.empty(); });
}

// Only so many who updated are told apart; the oldest become one.
void merge_oldest(Owners& owners) {
  constexpr string_view ancient = "ancient-changes";
  std::vector<std::size_t> updates;
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (owners[i].operation == update_operation) updates.push_back(i);
  if (updates.size() <= limits::update_managers_max) return;
  std::ranges::sort(updates, {}, [&](std::size_t i) { return std::tie(owners[i].time, owners[i].manager); });
  updates.resize(updates.size() - limits::update_managers_max + 1);
  Owner merged{.manager = std::string(ancient),
               .operation = std::string(update_operation),
               .api_version = owners[updates.back()].api_version,
               .subresource = owners[updates.back()].subresource,
               .time = owners[updates.back()].time,
               .fields = {}};
  std::vector<const FieldSet*> sets;
  for (const std::size_t i : updates) sets.push_back(&owners[i].fields);
  merged.fields = FieldSet::union_of(sets);
  for (const std::size_t i : updates) owners[i].fields = {};
  drop_empty(owners);
  owners.push_back(std::move(merged));
}

void take_over_versions(Owners& owners, Owner& self) {
  std::vector<const FieldSet*> sets = {&self.fields};
  std::vector<Owner*> taken;
  for (Owner& owner : owners) {
    if (owner.manager != self.manager || owner.operation != self.operation || owner.subresource != self.subresource)
      continue;
    sets.push_back(&owner.fields);
    taken.push_back(&owner);
  }
  if (taken.empty()) return;
  self.fields = FieldSet::union_of(sets);
  for (Owner* owner : taken) owner->fields = {};
}

void take_from(Owner& owner, const Change& change) {
  owner.fields.subtract(change.written);
  owner.fields.subtract(change.removed);
}

// Notes after `writer` wrote: what it wrote is its own and nobody else's, what it removed is nobody's.
void note_update(Owners& owners, const Change& change, const FieldWriter& writer) {
  Owner self = owner_of(writer, update_operation);
  const Owner* before = find_owner(owners, self);
  if (before) self.fields = before->fields;
  self.fields = self.fields.without(change.removed).united_with(change.written);
  const bool changed = !before || !(before->fields == self.fields);
  if (before && !changed) self.time = before->time;
  std::erase_if(owners, [&](const Owner& owner) { return owner.identity() == self.identity(); });
  for (Owner& owner : owners) take_from(owner, change);
  // What the same manager said in another version of the API is said in this one from now on.
  if (changed) take_over_versions(owners, self);
  owners.push_back(std::move(self));
  drop_empty(owners);
  merge_oldest(owners);
}

// --- applying --------------------------------------------------------------------------------------------------------

// What the manager said last time and no longer says, unless somebody else (or its new configuration, `said`) does. The
// configuration names the object, and so keeps metadata even when it says nothing else of it.
json::Value prune(const json::Value& merged, const Owners& owners, const FieldSet& said, const FieldSet& last,
                  const api::Kind& kind, const json::StoragePtr& storage) {
  // Who says all that they said before takes nothing away.
  if (last.without(said).empty()) return json::Value(merged, storage);
  const auto fields_named = [&](const json::Value& object) {
    auto fields = api::fields_of(object, kind);
    return api::with_named_fields(fields ? *fields : FieldSet(), kind);
  };
  const FieldSet last_named = api::with_named_fields(last, kind);
  std::vector<const FieldSet*> sets = {&said};
  for (const Owner& owner : owners) sets.push_back(&owner.fields);
  const FieldSet managed = api::with_named_fields(FieldSet::union_of(sets), kind);
  const FieldSet all = fields_named(merged);
  // Back comes what is owned.
  json::Value pruned = api::remove_fields(merged, last_named, kind, storage);
  pruned = api::remove_fields(merged, all.without(fields_named(pruned).united_with(managed)), kind, storage);
  // And what was never this manager's to take away, which an owned object that is left empty may still hold.
  const FieldSet gone = all.without(fields_named(pruned)).without(managed);
  return api::remove_fields(merged, gone.common_with(last_named), kind, storage);
}

// The message names the fields: kubectl prints it above its advice, and shows nothing else.
Status conflict_status(const std::vector<std::pair<const Owner*, FieldSet>>& conflicts) {
  Status status = Status::conflict("", "", "", "");
  status.details = {};
  std::string lines;
  for (const auto& [owner, fields] : conflicts) {
    if (status.details.causes.size() >= limits::causes_max) {
      lines += "\nand more";
      break;
    }
    const auto paths = fields.paths(limits::causes_max - status.details.causes.size());
    lines += fmt::format("\n{2} by \"{0}\" ({1})", owner->manager, owner->operation, fmt::join(paths, ", "));
    for (const std::string& path : paths)
      status.details.causes.push_back(
          {.reason = "FieldManagerConflict",
           .message = fmt::format("{} is managed by \"{}\" ({} in {}{}{})", path, owner->manager, owner->operation,
                                  owner->api_version, owner->subresource.empty() ? "" : ", ", owner->subresource),
           .field = path});
  }
  status.message = fmt::format(
      "conflict: these fields are managed by others:{}\nuse --force-conflicts to take them over, or leave them out",
      lines);
  return status;
}

// Fields of others that this change writes.
Result<void> settle_conflicts(Owners& owners, const Owner& self, const Change& change, bool force) {
  std::vector<std::pair<const Owner*, FieldSet>> conflicts;
  for (const Owner& owner : owners) {
    if (owner.identity() == self.identity()) continue;
    FieldSet shared = owner.fields.common_with(change.written);
    if (!shared.empty()) conflicts.emplace_back(&owner, std::move(shared));
  }
  std::ranges::sort(conflicts, {}, [](const auto& conflict) { return conflict.first->identity(); });
  if (!force && !conflicts.empty()) return fail(conflict_status(conflicts));
  for (Owner& owner : owners)
    if (owner.identity() != self.identity()) take_from(owner, change);
  return {};
}

}  // namespace

bool asks_for_reset(const json::Value& object) {
  const json::Array* entries = managed_fields_of(object);
  if (!entries || entries->size() > 1) return false;
  if (entries->empty()) return true;
  const json::Object* only = entries->front().if_object();
  return only && only->empty();
}

string_view manager_name(string_view field_manager, string_view user_agent) {
  if (!field_manager.empty()) return field_manager;
  const string_view program = user_agent.substr(0, user_agent.find('/'));
  return program.empty() ? "unknown" : program.substr(0, limits::field_manager_bytes_max);
}

std::optional<json::Value> track_change(const json::Value& old, const json::Value& wanted, const api::Kind& kind,
                                        const FieldWriter& writer, const json::StoragePtr& storage) {
  if (asks_for_reset(wanted)) return std::nullopt;
  auto owners = read_owners(wanted, kind);
  if (!owners) owners = read_owners(old, kind);
  if (!owners) return std::nullopt;
  note_update(*owners, find_change(without_notes(old, storage), without_notes(wanted, storage), kind, writer), writer);
  return write_owners(std::move(*owners), storage);
}

Result<Applied> apply_configuration(const json::Value& live, const json::Value& configuration, const api::Kind& kind,
                                    const FieldWriter& writer, bool force, const json::StoragePtr& storage) {
  auto said = api::fields_of(configuration, kind);
  if (!said) return fail(std::move(said.error()));
  if (auto excess = find_excess(*said)) return fail(std::move(*excess));
  const json::Value before = without_notes(live, storage);
  Owners owners = read_owners(live, kind).value_or(Owners());
  if (owners.empty()) {
    FieldWriter earlier = writer;
    earlier.manager = "before-first-apply";
    note_update(owners, find_change(json::Value(json::Object(storage)), before, kind, earlier), earlier);
  }
  Owner self = owner_of(writer, apply_operation);
  FieldSet last;
  self.time.clear();
  if (const Owner* known = find_owner(owners, self)) {
    last = known->fields;
    self.time = known->time;
  }
  const FieldSet asked = asked_part(std::move(*said), kind, writer);
  self.fields = asked.without(unowned_fields());
  std::erase_if(owners, [&](const Owner& owner) { return owner.identity() == self.identity(); });
  owners.push_back(self);

  json::Value merged = api::merge_objects(before, configuration, kind, storage);
  json::Value object = prune(merged, owners, asked, last, kind, storage);
  // Whoever only says what is so already has done nothing that has a time.
  auto difference = api::compare_objects(before, object, kind);
  if (!is_empty(difference)) owners.back().time = std::string(writer.now);
  const Change change = change_of(std::move(difference), kind, writer);
  if (auto settled = settle_conflicts(owners, self, change, force); !settled) return fail(std::move(settled.error()));
  drop_empty(owners);
  return Applied{.object = std::move(object), .managed_fields = write_owners(std::move(owners), storage)};
}

}  // namespace vg::resources
