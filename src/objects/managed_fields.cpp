#include "objects/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/field_set.h"
#include "api/typed_merge.h"
#include "base/joined.h"
#include "base/json_text.h"
#include "base/limits.h"
#include "base/one_of.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "json/equal.h"
#include "json/parse.h"
#include "json/write.h"
#include "objects/draft.h"

namespace vg::resources {
namespace {

using api::FieldSet;
using std::string_view;

constexpr string_view apply_operation = "Apply";
constexpr string_view update_operation = "Update";

// The fields of one owner. They are only taken apart when something is done about them: most writes concern few owners.
class OwnedFields {
 public:
  OwnedFields() = default;
  explicit OwnedFields(FieldSet set) : set_(std::move(set)) {}
  // `text` is known to be a FieldsV1, and outlives this.
  explicit OwnedFields(const json::Value& text) : text_(&text) {}

  const FieldSet& set() { return open(); }
  bool empty() const {
    const json::Object* members = text_ ? text_->if_object() : nullptr;
    return text_ ? !members || members->empty() : set_.empty();
  }
  bool intersects(const FieldSet& other) const {
    return text_ ? other.intersects_fields_v1(*text_) : set_.intersects(other);
  }
  void subtract(const FieldSet& other) {
    if (intersects(other)) open().subtract(other);
  }
  void unite(FieldSet other) { open().unite(std::move(other)); }
  json::Value write(const json::StoragePtr& storage) const {
    return text_ ? json::Value(*text_, storage) : set_.to_fields_v1(storage);
  }

 private:
  FieldSet& open() {
    if (text_)
      if (auto set = FieldSet::from_fields_v1(*text_)) set_ = std::move(*set);
    text_ = nullptr;
    return set_;
  }
  const json::Value* text_ = nullptr;  // null once it was taken apart
  FieldSet set_;
};

// Names and versions are views into what was read or into whoever writes.
struct Owner {
  string_view manager, operation, api_version, subresource;
  std::string time;  // empty: never said
  OwnedFields fields;

  bool applied() const { return operation == apply_operation; }
  // Whoever applies is the same in every version.
  using Identity = std::tuple<string_view, string_view, string_view, string_view>;
  Identity identity() const { return {manager, operation, applied() ? string_view() : api_version, subresource}; }
  std::int64_t seconds() const {
    const auto parsed = parse_rfc3339(time);
    return parsed ? parsed->seconds : 0;
  }
};
using Owners = std::vector<Owner>;

// --- reading and writing ---------------------------------------------------------------------------------------------

// Entries that this server wrote need not be looked at again.
enum class Trust : std::uint8_t { kept, sent };

bool read_fields(const json::Value* fields, Trust trust, OwnedFields& into) {
  if (!fields || fields->is_null()) return true;
  if (trust == Trust::kept && fields->is_object()) {
    into = OwnedFields(*fields);
    return true;
  }
  auto set = FieldSet::from_fields_v1(*fields);
  if (!set) return false;
  into = OwnedFields(std::move(*set));
  return true;
}

std::optional<Owner> read_owner(const json::Value& entry, Trust trust) {
  const json::Object* members = entry.if_object();
  if (!members || json::get_string_or(*members, "fieldsType") != "FieldsV1") return std::nullopt;
  Owner owner{.manager = json::get_string_or(*members, "manager"),
              .operation = json::get_string_or(*members, "operation"),
              .api_version = json::get_string_or(*members, "apiVersion"),
              .subresource = json::get_string_or(*members, "subresource"),
              .time = std::string(json::get_string_or(*members, "time")),
              .fields = {}};
  if (owner.operation != apply_operation && owner.operation != update_operation) return std::nullopt;
  if (owner.api_version.empty()) return std::nullopt;
  if (trust == Trust::sent && !owner.time.empty()) {
    const auto time = parse_rfc3339(owner.time);
    owner.time = time ? print_rfc3339(*time) : std::string();
  }
  if (!read_fields(json::find(*members, "fieldsV1"), trust, owner.fields)) return std::nullopt;
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

// Of entries about the same owner the last one counts.
void drop_repeated_owners(Owners& owners) {
  if (owners.size() < 2) return;
  std::map<Owner::Identity, const Owner*> last;
  for (const Owner& owner : owners) last[owner.identity()] = &owner;
  if (last.size() == owners.size()) return;
  Owners kept;
  kept.reserve(owners.size());
  for (Owner& owner : owners)
    if (last.at(owner.identity()) == &owner) kept.push_back(std::move(owner));
  owners = std::move(kept);
}

// Nothing when there are none, or when they cannot be read. Whoever wrote in a version that the kind does not have is
// forgotten: nobody knows what that version calls the fields.
std::optional<Owners> read_owners(const json::Array* entries, const api::Kind& kind, Trust trust) {
  if (!entries || entries->empty()) return std::nullopt;
  Owners owners;
  owners.reserve(entries->size() + 1);
  for (const json::Value& entry : *entries) {
    auto owner = read_owner(entry, trust);
    if (!owner) return std::nullopt;
    if (is_version_of(owner->api_version, kind)) owners.push_back(std::move(*owner));
  }
  drop_repeated_owners(owners);
  return owners;
}

// Whoever applied first, then by time.
void sort_for_writing(Owners& owners) {
  if (owners.size() < 2) return;
  std::vector<std::pair<std::int64_t, Owner>> timed;
  timed.reserve(owners.size());
  for (Owner& owner : owners) {
    const std::int64_t seconds = owner.seconds();
    timed.emplace_back(seconds, std::move(owner));
  }
  std::ranges::sort(timed, {}, [](const auto& each) {
    const Owner& owner = each.second;
    return std::make_tuple(owner.operation, each.first, owner.manager, owner.api_version, owner.subresource);
  });
  for (std::size_t i = 0; i < owners.size(); ++i) owners[i] = std::move(timed[i].second);
}

json::Value write_owners(Owners owners, const json::StoragePtr& storage) {
  sort_for_writing(owners);
  json::Array entries(storage);
  entries.reserve(owners.size());
  for (const Owner& owner : owners) {
    json::Object entry(storage);
    entry.reserve(7);
    entry["manager"] = owner.manager;
    entry["operation"] = owner.operation;
    entry["apiVersion"] = owner.api_version;
    if (!owner.time.empty()) entry["time"] = owner.time;
    entry["fieldsType"] = "FieldsV1";
    entry.emplace("fieldsV1", owner.fields.write(storage));
    if (!owner.subresource.empty()) entry["subresource"] = owner.subresource;
    entries.push_back(json::Value(std::move(entry)));
  }
  return json::Value(std::move(entries));
}

json::Value without_managed_fields(const json::Value& object, const json::StoragePtr& storage) {
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

constexpr string_view status_element = "f:status", metadata_element = "f:metadata";

// Where the status is a subresource, the object itself is not asked about it, and the subresource about nothing else.
// One of Kubernetes' own is also asked about some of its metadata there.
FieldSet asked_part(FieldSet fields, const api::Kind& kind, const FieldWriter& writer) {
  if (writer.subresource == "status") {
    std::erase_if(fields.children, [&](const FieldSet::Child& child) {
      if (child.element == status_element) return false;
      return kind.custom || !is_one_of(child.element, {metadata_element, "f:apiVersion", "f:kind"});
    });
  } else if (kind.status_subresource) {
    std::erase_if(fields.children, [](const FieldSet::Child& child) { return child.element == status_element; });
  }
  return fields;
}

FieldSet owned_part(FieldSet fields, const api::Kind& kind, const FieldWriter& writer) {
  FieldSet owned = asked_part(std::move(fields), kind, writer);
  owned.subtract(unowned_fields());
  if (writer.subresource != "status") return owned;
  for (FieldSet::Child& child : owned.children)
    if (child.element == metadata_element)
      std::erase_if(child.below.children, [](const FieldSet::Child& member) {
        return !is_one_of(member.element, {"f:labels", "f:annotations", "f:finalizers"});
      });
  owned.trim();
  return owned;
}

struct Change {
  FieldSet written;  // added or changed
  FieldSet removed;

  bool empty() const { return written.empty() && removed.empty(); }
};

Change change_of(api::Difference difference, const api::Kind& kind, const FieldWriter& writer) {
  difference.added.unite(std::move(difference.changed));
  return {.written = owned_part(std::move(difference.added), kind, writer),
          .removed = owned_part(std::move(difference.removed), kind, writer)};
}

Change find_change(const json::Value& before, const json::Value& after, const api::Kind& kind,
                   const FieldWriter& writer) {
  // The status of a custom kind is all that is asked about there.
  const string_view only = kind.custom && writer.subresource == "status" ? "status" : "";
  return change_of(api::compare_objects(before, after, kind, only), kind, writer);
}

// What there is before an object is made. In Go an object of Kubernetes' own types is never quite empty: whatever is a
// struct is always there, and is nobody's.
json::Value empty_object(const api::Kind& kind, const json::StoragePtr& storage) {
  json::Value empty = json::Object(storage);
  if (!kind.custom) (void)api::canonicalize(empty, *kind.type);
  return empty;
}

// An object that is too large whoever owns it is not worth the work.
bool will_be_refused(const json::Value& object) {
  const json::Value* owners = json::find_path(object, {"metadata", "managedFields"});
  return text_bytes_min(object) - (owners ? text_bytes_min(*owners) : 0) > limits::stored_object_bytes_max;
}

bool is_too_long(const FieldSet& fields) { return fields.written_bytes_min() > limits::stored_object_bytes_max; }

// Everything that an apply says is written down as its manager's, so an object whose fields alone take more than an
// object may take cannot be stored. Said here, before all the work that it would be for nothing.
std::optional<Status> find_excess(const FieldSet& said) {
  if (!is_too_long(said)) return std::nullopt;
  return Status::too_large(
      fmt::format("the object would have more than {} bytes, its managedFields {} or more; "
                  "apply it in parts, or use fewer fields and list elements",
                  limits::stored_object_bytes_max, said.written_bytes_min()));
}

Owner owner_of(const FieldWriter& writer, string_view operation) {
  return {.manager = writer.manager,
          .operation = operation,
          .api_version = writer.api_version,
          .subresource = writer.subresource,
          .time = {},
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

// Only so many who updated are told apart. The oldest of a version become one, until there are few enough.
class OldestUpdates {
 public:
  explicit OldestUpdates(Owners& owners) {
    for (Owner& owner : owners)
      if (!owner.applied()) updates_.emplace_back(owner.seconds(), &owner);
  }
  bool too_many() const { return updates_.size() > limits::update_managers_max; }
  void merge() {
    std::ranges::sort(updates_, {},
                      [](const auto& each) { return std::make_tuple(each.first, each.second->identity()); });
    std::map<string_view, std::vector<Owner*>> buckets;  // by version
    std::size_t left = updates_.size();
    for (const auto& [seconds, owner] : updates_) {
      if (left <= limits::update_managers_max) break;
      auto& bucket = buckets[owner->api_version];
      bucket.push_back(owner);
      if (bucket.size() > 1) --left;
    }
    for (auto& [version, bucket] : buckets)
      if (bucket.size() > 1) put_together(version, bucket);
  }

 private:
  static constexpr string_view ancient = "ancient-changes";

  void put_together(string_view version, std::vector<Owner*>& bucket) {
    Owner& into = *bucket.front();
    into.time = bucket.back()->time;  // the most recent one
    // One that was made before, and has the time of others, may not be among them.
    for (const auto& [seconds, owner] : updates_)
      if (owner->manager == ancient && owner->subresource.empty() && owner->api_version == version &&
          std::ranges::find(bucket, owner) == bucket.end())
        bucket.push_back(owner);
    std::vector<const FieldSet*> sets;
    sets.reserve(bucket.size());
    for (Owner* owner : bucket) sets.push_back(&owner->fields.set());
    FieldSet all = FieldSet::union_of(sets);
    for (Owner* owner : bucket) owner->fields = {};
    into.fields = OwnedFields(std::move(all));
    into.manager = ancient;
    into.subresource = {};
  }

  std::vector<std::pair<std::int64_t, Owner*>> updates_;
};

// Owners after `writer` wrote: what it wrote is its own and nobody else's, what it removed is nobody's. Only what is
// written has a time.
void note_update(Owners& owners, Change change, const FieldWriter& writer) {
  for (Owner& owner : owners) {
    owner.fields.subtract(change.written);
    owner.fields.subtract(change.removed);
  }
  if (!change.written.empty()) {
    Owner self = owner_of(writer, update_operation);
    Owner* known = find_owner(owners, self);
    Owner& writing = known ? *known : owners.emplace_back(std::move(self));
    writing.fields.unite(std::move(change.written));
    writing.time = std::string(writer.now);
  }
  drop_empty(owners);
  if (OldestUpdates updates(owners); updates.too_many()) {
    updates.merge();
    drop_empty(owners);
  }
}

// --- applying --------------------------------------------------------------------------------------------------------

// What the manager said last time and no longer says, unless somebody else (or its new configuration, `said`) does. The
// configuration names the object, and so keeps metadata even when it says nothing else of it.
json::Value prune(const json::Value& merged, Owners& owners, const FieldSet& said, const FieldSet& last,
                  const api::Kind& kind, const json::StoragePtr& storage) {
  // Who says all that they said before takes nothing away.
  if (last.without(said).empty()) return json::Value(merged, storage);
  const auto fields_named = [&](const json::Value& object) {
    auto fields = api::fields_of(object, kind);
    return api::with_named_fields(fields ? *fields : FieldSet(), kind);
  };
  const FieldSet last_named = api::with_named_fields(last, kind);
  std::vector<const FieldSet*> sets = {&said};
  for (Owner& owner : owners) sets.push_back(&owner.fields.set());
  const FieldSet managed = api::with_named_fields(FieldSet::union_of(sets), kind);
  const FieldSet all = fields_named(merged);
  // Back comes what is owned.
  json::Value pruned = api::remove_fields(merged, last_named, kind, storage);
  pruned = api::remove_fields(merged, all.without(fields_named(pruned).united_with(managed)), kind, storage);
  // And what was never this manager's to take away, which an owned object that is left empty may still hold.
  const FieldSet gone = all.without(fields_named(pruned)).without(managed);
  return api::remove_fields(merged, gone.common_with(last_named), kind, storage);
}

using Conflicts = std::vector<std::pair<const Owner*, FieldSet>>;

// The message names the fields: kubectl prints it above its advice, and shows nothing else.
Status conflict_status(const Conflicts& conflicts) {
  Status status = Status::conflict("", "", "", "");
  status.details = {};
  std::string lines;
  for (const auto& [owner, fields] : conflicts) {
    if (status.details.causes.size() >= limits::causes_max) {
      lines += "\nand more";
      break;
    }
    const auto paths = fields.paths(limits::causes_max - status.details.causes.size());
    lines += fmt::format("\n{2} by \"{0}\" ({1})", owner->manager, owner->operation, joined(paths, ", "));
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
Conflicts find_conflicts(Owners& owners, const Owner& self, const Change& change) {
  Conflicts conflicts;
  for (Owner& owner : owners)
    if (owner.identity() != self.identity() && owner.fields.intersects(change.written))
      conflicts.emplace_back(&owner, owner.fields.set().common_with(change.written));
  std::ranges::sort(conflicts, {}, [](const auto& conflict) { return conflict.first->identity(); });
  return conflicts;
}

// --- the annotation of client-side apply -----------------------------------------------------------------------------

// The one manager for whom it counts. Whoever wants it otherwise applies under another name.
constexpr string_view kubectl = "kubectl";
constexpr string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";

json::Value* last_applied_of(json::Value& object) {
  return json::find_path(object, {"metadata", "annotations", last_applied});
}

// What client-side apply said and what is still so: kubectl's own, whoever it is written down to.
FieldSet still_applied(json::Value& live, const api::Kind& kind, const FieldWriter& writer,
                       const json::StoragePtr& storage) {
  const auto text = json::as_string(last_applied_of(live));
  if (!text || text->empty()) return {};
  const auto said = json::parse(*text, storage, {.bytes_max = limits::annotations_bytes_max});
  if (!said || !said->is_object() || json::get_string_or(*said, "apiVersion") != writer.api_version) return {};
  auto fields = api::fields_of(*said, kind);
  if (!fields) return {};
  const auto difference = api::compare_objects(*said, live, kind);
  for (const FieldSet* other : {&difference.changed, &difference.added, &difference.removed}) fields->subtract(*other);
  return std::move(*fields);
}

// Owners of an object of which none were kept. What client-side apply said is known by its annotation, and is told
// apart from all the rest, which kube-apiserver does not do: kubectl takes over all that the owner of the annotation
// has, and deletes of it what its file lacks.
Owners owners_before_first_apply(json::Value& live, const api::Kind& kind, const FieldWriter& writer,
                                 const json::StoragePtr& storage) {
  FieldWriter earlier = writer, client = writer;
  earlier.manager = "before-first-apply";
  client.manager = "kubectl-client-side-apply";
  Owners owners;
  note_update(owners, find_change(empty_object(kind, storage), live, kind, earlier), earlier);
  if (owners.empty() || !last_applied_of(live) || !writer.subresource.empty()) return owners;
  FieldSet said = owned_part(still_applied(live, kind, writer, storage), kind, writer);
  said.at(metadata_element).at("f:annotations").at(fmt::format("f:{}", last_applied)).member = true;
  note_update(owners, {.written = said.common_with(owners.front().fields.set()), .removed = {}}, client);
  return owners;
}

// Client-side apply may come back, and then goes by what server-side apply said in between.
void update_last_applied(json::Value& object, const json::Value& configuration, const json::StoragePtr& storage) {
  const json::Value* found = last_applied_of(object);
  if (!found || json::as_string(found).value_or("").empty()) return;
  json::Value said(configuration, storage);
  json::Object* annotations = json::as_object(json::find_path(said, {"metadata", "annotations"}));
  if (annotations) json::erase(*annotations, last_applied);
  json::Object& kept = json::find_path(object, {"metadata", "annotations"})->get_object();
  kept[last_applied] = json::to_text(said, {.escape_html = true, .sort_keys = true}) + "\n";
  std::size_t bytes = 0;
  for (const auto& annotation : kept)
    bytes += annotation.key().size() + json::as_string(&annotation.value()).value_or("").size();
  if (bytes > limits::annotations_bytes_max) json::erase(kept, last_applied);
}

Result<void> settle_conflicts(Owners& owners, const Owner& self, const Change& change, bool force, json::Value& live,
                              const api::Kind& kind, const FieldWriter& writer, const json::StoragePtr& storage) {
  if (!force) {
    Conflicts conflicts = find_conflicts(owners, self, change);
    if (!conflicts.empty() && writer.manager == kubectl) {
      const FieldSet allowed = still_applied(live, kind, writer, storage);
      for (auto& [owner, fields] : conflicts) fields.subtract(allowed);
      std::erase_if(conflicts, [](const auto& conflict) { return conflict.second.empty(); });
    }
    if (!conflicts.empty()) return fail(conflict_status(conflicts));
  }
  for (Owner& owner : owners) {
    if (owner.identity() == self.identity()) continue;
    owner.fields.subtract(change.written);
    owner.fields.subtract(change.removed);
  }
  return {};
}

// --- names of managers -----------------------------------------------------------------------------------------------

// Blocks of characters that show nothing: controls, formats, spaces other than the usual one, private use.
constexpr std::array<std::pair<char32_t, char32_t>, 17> unprintable = {{{0x0, 0x1F},
                                                                        {0x7F, 0xA0},
                                                                        {0xAD, 0xAD},
                                                                        {0x600, 0x605},
                                                                        {0x61C, 0x61C},
                                                                        {0x6DD, 0x6DD},
                                                                        {0x70F, 0x70F},
                                                                        {0x1680, 0x1680},
                                                                        {0x180E, 0x180E},
                                                                        {0x2000, 0x200F},
                                                                        {0x2028, 0x202F},
                                                                        {0x205F, 0x206F},
                                                                        {0x3000, 0x3000},
                                                                        {0xE000, 0xF8FF},
                                                                        {0xFEFF, 0xFEFF},
                                                                        {0xFFF9, 0xFFFB},
                                                                        {0xE0000, 0x10FFFF}}};

char32_t code_point(string_view sequence) {
  constexpr std::array<unsigned, 5> mask = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t point = static_cast<unsigned char>(sequence[0]) & mask[sequence.size()];
  for (const char c : sequence.substr(1)) point = (point << 6) | (static_cast<unsigned char>(c) & 0x3F);
  return point;
}

bool is_printable(string_view sequence) {
  const char32_t point = code_point(sequence);
  return std::ranges::none_of(unprintable,
                              [&](const auto& block) { return point >= block.first && point <= block.second; });
}

}  // namespace

bool asks_for_reset(const json::Value& object) {
  const json::Array* entries = managed_fields_of(object);
  if (!entries || entries->size() > 1) return false;
  if (entries->empty()) return true;
  const json::Object* only = entries->front().if_object();
  return only && std::ranges::all_of(*only, [](const auto& member) {
           return member.value().is_null() || json::as_string(&member.value()) == std::optional(string_view());
         });
}

std::string manager_name(string_view field_manager, string_view user_agent) {
  if (!field_manager.empty()) return std::string(field_manager);
  constexpr string_view replacement = "\xEF\xBF\xBD";
  std::string name;
  for (string_view rest = user_agent.substr(0, user_agent.find('/')); !rest.empty();) {
    const std::size_t length = utf8_sequence_length(rest);
    const string_view shown = length == 0 ? replacement : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
    if (!is_printable(shown)) continue;
    if (name.size() + shown.size() > limits::field_manager_bytes_max) break;
    name += shown;
  }
  return name.empty() ? "unknown" : name;
}

bool same_owners(const json::Value* one, const json::Value* other) {
  const auto sorted = [](const json::Value* list) {
    std::vector<const json::Object*> entries;
    if (const json::Array* array = json::as_array(list))
      for (const json::Value& entry : *array)
        if (const json::Object* members = entry.if_object()) entries.push_back(members);
    std::ranges::sort(entries, {}, [](const json::Object* entry) {
      return std::make_tuple(json::get_string_or(*entry, "manager"), json::get_string_or(*entry, "operation"),
                             json::get_string_or(*entry, "apiVersion"), json::get_string_or(*entry, "subresource"));
    });
    return entries;
  };
  const auto same = [](const json::Object* a, const json::Object* b) {
    for (const string_view name : {"manager", "operation", "apiVersion", "subresource", "fieldsType"})
      if (json::get_string_or(*a, name) != json::get_string_or(*b, name)) return false;
    const json::Value *x = json::find(*a, "fieldsV1"), *y = json::find(*b, "fieldsV1");
    return x && y ? json::equal(*x, *y) : x == y;
  };
  return std::ranges::equal(sorted(one), sorted(other), same);
}

std::optional<json::Value> track_creation(const json::Value& object, const api::Kind& kind, const FieldWriter& writer,
                                          const json::StoragePtr& storage) {
  if (writer.may_be_large && will_be_refused(object)) return std::nullopt;
  Change change = find_change(empty_object(kind, storage), object, kind, writer);
  if (is_too_long(change.written)) return std::nullopt;
  Owners owners = read_owners(managed_fields_of(object), kind, Trust::sent).value_or(Owners());
  note_update(owners, std::move(change), writer);
  if (owners.empty()) return std::nullopt;
  return write_owners(std::move(owners), storage);
}

std::optional<json::Value> track_change(const json::Value& old, const json::Value& wanted, const api::Kind& kind,
                                        const FieldWriter& writer, const json::StoragePtr& storage) {
  const bool own_word = writer.subresource.empty();
  if (own_word && asks_for_reset(wanted)) return std::nullopt;
  const json::Array* kept = managed_fields_of(old);
  const json::Array* sent = own_word ? managed_fields_of(wanted) : nullptr;
  if (sent && kept && json::equal(*sent, *kept)) sent = nullptr;
  if (!kept && !sent) return std::nullopt;
  if (writer.may_be_large && will_be_refused(wanted)) return std::nullopt;
  Change change = find_change(old, wanted, kind, writer);
  if (!sent && change.empty()) return json::Value(*kept, storage);
  if (is_too_long(change.written)) return std::nullopt;
  auto owners = read_owners(sent, kind, Trust::sent);
  if (!owners || owners->empty()) owners = read_owners(kept, kind, Trust::kept);
  if (!owners) return std::nullopt;
  note_update(*owners, std::move(change), writer);
  if (owners->empty()) return std::nullopt;
  return write_owners(std::move(*owners), storage);
}

Result<Applied> apply_configuration(const json::Value& live, const json::Value& configuration, const api::Kind& kind,
                                    const FieldWriter& writer, bool force, const json::StoragePtr& storage) {
  auto said = api::fields_of(configuration, kind);
  if (!said) return fail(std::move(said.error()));
  if (auto excess = find_excess(*said)) return fail(std::move(*excess));
  json::Value before = without_managed_fields(live, storage);
  Owners owners = read_owners(managed_fields_of(live), kind, Trust::kept).value_or(Owners());
  if (owners.empty()) owners = owners_before_first_apply(before, kind, writer, storage);
  Owner self = owner_of(writer, apply_operation);
  FieldSet last;
  if (Owner* known = find_owner(owners, self)) {
    last = known->fields.set();
    self.time = known->time;
  }
  const FieldSet asked = asked_part(std::move(*said), kind, writer);
  self.fields = OwnedFields(asked.without(unowned_fields()));
  std::erase_if(owners, [&](const Owner& owner) { return owner.identity() == self.identity(); });
  owners.push_back(self);

  json::Value merged = api::merge_objects(before, configuration, kind, storage);
  json::Value object = prune(merged, owners, asked, last, kind, storage);
  // Whoever only says what is so already has done nothing that has a time.
  if (!json::equal(object, before)) owners.back().time = std::string(writer.now);
  const Change change = find_change(before, object, kind, writer);
  if (auto settled = settle_conflicts(owners, self, change, force, before, kind, writer, storage); !settled)
    return fail(std::move(settled.error()));
  drop_empty(owners);
  if (writer.manager == kubectl) update_last_applied(object, configuration, storage);
  return Applied{.object = std::move(object), .managed_fields = write_owners(std::move(owners), storage)};
}

}  // namespace vg::resources
