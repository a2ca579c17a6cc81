#include "journal/follow.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/journal_limits.h"
#include "json/document.h"
#include "objects/draft.h"
#include "story/verdict.h"

namespace vg::journal {
namespace {

using std::string_view;
using story::Subject;

constexpr string_view vms = "kubevirt.io/virtualmachines", vmis = "kubevirt.io/virtualmachineinstances",
                      migrations = "kubevirt.io/virtualmachineinstancemigrations";

std::optional<Target> created_migration(const Entry& entry) {
  for (const Touched& touched : entry.touched)
    if (const string_view name = story::migration_in(touched.object); !name.empty())
      return Target{Subject::migration, entry.ns, std::string(name)};
  return std::nullopt;
}

class Gatherer {
 public:
  explicit Gatherer(const ObjectStore& store) : store_(store), document_(std::size_t{16} * 1024) {
    document_.root().emplace_object();
  }

  bool object(string_view key, string_view resource, string_view ns, string_view name) {
    const ObjectPtr stored = name.empty() ? nullptr : store_.get(resource, ns, name);
    if (stored) facts()[key] = resources::load_object(*stored, document_.storage());
    return stored != nullptr;
  }

  void list(string_view key, string_view resource, string_view ns) {
    const auto page = store_.list({.resource = resource, .ns = ns, .limit = limits::journal_list_max});
    if (!page) return;
    json::Array& items = facts()[key].emplace_array();
    for (const ObjectPtr& stored : page->objects) items.push_back(resources::load_object(*stored, document_.storage()));
  }

  const json::Value& root() const { return document_.root(); }

 private:
  json::Object& facts() { return document_.root().get_object(); }

  const ObjectStore& store_;
  json::Document document_;
};

// False: there is none.
bool gather(Gatherer& facts, const Target& target) {
  if (target.subject == Subject::vm) {
    facts.object("vmi", vmis, target.ns, target.name);
    return facts.object("vm", vms, target.ns, target.name);
  }
  if (target.subject == Subject::vmi) return facts.object("vmi", vmis, target.ns, target.name);
  if (!facts.object("migration", migrations, target.ns, target.name)) return false;
  facts.object("vmi", vmis, target.ns, story::Object(&facts.root()).text({"migration", "spec", "vmiName"}));
  return true;
}

void gather_more(Gatherer& facts, const Target& target) {
  facts.object("kubevirt", "kubevirt.io/kubevirts", "kubevirt", "kubevirt");
  facts.list("claims", "persistentvolumeclaims", target.ns);
  facts.list("dataVolumes", "cdi.kubevirt.io/datavolumes", target.ns);
  facts.list("nodes", "nodes", "");
  if (target.subject == Subject::migration) facts.list("migrations", migrations, "");
}

// Refusals that are about neither the object nor its content.
std::string next_after(int code) {
  if (code == 429)
    return "the client makes more requests than it may: kubectl and controllers try again by themselves, others should "
           "wait as long as Retry-After says";
  if (code == 503 || code == 504) return "try again; if it lasts, /readyz?verbose of the server says what is missing";
  return {};
}

Outcome refusal(const Entry& entry) {
  if (!entry.allowed)
    return {fmt::format("forbidden: {}", entry.allowed_by), "ask an administrator for a role that allows it"};
  // What neither a rule nor a field is named for was not refused for what it holds.
  if (!entry.causes.empty() && !(entry.causes.front().rule.empty() && entry.causes.front().field.empty())) {
    const Cause& cause = entry.causes.front();
    return {fmt::format("refused by {}{}{}", cause.rule.empty() ? "the schema" : cause.rule,
                        cause.field.empty() ? "" : " at ", cause.field),
            cause.rule.empty() ? std::string() : fmt::format("virtgate explain {} tells what it wants", cause.rule)};
  }
  const bool has_message = !entry.message.empty();
  return {fmt::format("refused ({} {}){}{}", entry.code, entry.reason, has_message ? ": " : "", entry.message),
          next_after(entry.code)};
}

}  // namespace

std::optional<Target> target_of(const Entry& entry) {
  if (auto migration = created_migration(entry)) return migration;
  if (entry.name.empty() || (entry.group != "kubevirt.io" && entry.group != "subresources.kubevirt.io"))
    return std::nullopt;
  if (entry.resource == "virtualmachines") return Target{Subject::vm, entry.ns, entry.name};
  if (entry.resource == "virtualmachineinstances") return Target{Subject::vmi, entry.ns, entry.name};
  if (entry.resource == "virtualmachineinstancemigrations") return Target{Subject::migration, entry.ns, entry.name};
  return std::nullopt;
}

std::optional<Outcome> told_at_once(const Entry& entry) {
  if (entry.was_refused()) return refusal(entry);
  if (entry.dry_run) return Outcome{"dry run: nothing was changed", {}};
  if (target_of(entry)) return std::nullopt;
  return Outcome{entry.code == 0 ? "nobody waited for the answer" : "done", {}};
}

Outcome follow(const Entry& entry, const ObjectStore& store, Timestamp now, Depth depth) {
  if (auto told = told_at_once(entry)) return std::move(*told);
  const auto target = target_of(entry);
  Gatherer facts(store);
  if (gather(facts, *target) && depth == Depth::whole) gather_more(facts, *target);
  return told_by(*target, facts.root(), now);
}

Outcome told_by(const Target& target, const json::Value& facts, Timestamp now) {
  static constexpr std::array<string_view, 3> keys = {"vm", "vmi", "migration"};  // by Subject
  if (!story::Object(&facts).at({keys[static_cast<std::size_t>(target.subject)]}))
    return {"accepted; the object is gone since", {}};
  auto verdict = std::move(story::judge(target.subject, story::Facts(facts, now)).front());
  return {fmt::format("accepted; {}", verdict.telling.says), std::move(verdict.telling.next)};
}

}  // namespace vg::journal
