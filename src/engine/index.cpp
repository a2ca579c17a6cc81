#include "engine/index.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "controllers/placement.h"
#include "controllers/references.h"
#include "controllers/world.h"
#include "json/access.h"

namespace vg::engine {
namespace {

using controllers::Effect;
using controllers::Verb;

namespace kinds = controllers::kinds;

// The name that lives as long as the program; empty for what is not counted.
std::string_view counted(std::string_view resource) {
  for (const std::string_view kind : {kinds::node, kinds::vmi, kinds::migration, kinds::vm})
    if (resource == kind) return kind;
  return controllers::with_references(resource);
}

// A write after which something else counts, if it happens. A migration is over once that is written and not before:
// until then the server refuses another one of its VMI.
bool changes_counts(const Effect& effect) {
  if (!effect.document.is_object()) return false;
  if (effect.resource == kinds::vmi) return effect.verb == Verb::update;
  return effect.resource == kinds::migration && (effect.verb == Verb::update || effect.verb == Verb::update_status) &&
         !controllers::MigrationInfo::read(effect.document.get_object()).is_final();
}

// Under which name it is kept.
struct Referrer {
  Referrer(std::string_view resource, std::string_view of_ns, std::string_view of_name) : ns(of_ns), name(of_name) {
    if (!controllers::refers_elsewhere(resource)) return;
    name = std::string(of_ns) + "/" + name;
    ns.clear();
  }
  std::string ns, name;
};

}  // namespace

void Index::put_references(std::string_view resource, const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  if (!metadata) return;
  const std::vector<std::string> targets = controllers::references_of(resource, object);
  const Referrer who(resource, json::get_string_or(*metadata, "namespace"), json::get_string_or(*metadata, "name"));
  kept_.references[resource].put(who.ns, who.name, {targets.begin(), targets.end()});
}

void Index::put(std::string_view resource, const json::Object& object, Revision created) {
  if (!controllers::with_references(resource).empty()) return put_references(resource, object);
  if (resource == kinds::node) {
    const auto now = clock_.steady_now();
    return kept_.nodes.put(kept_.nodes.read(object, now), now, clock_.wall_now());
  }
  if (resource == kinds::migration) return kept_.migrations.put(controllers::MigrationInfo::read(object, created));
  const json::Object* metadata = json::get_object(object, "metadata");
  if (!metadata) return;
  const std::string_view ns = json::get_string_or(*metadata, "namespace"),
                         name = json::get_string_or(*metadata, "name");
  kept_.nodes.replace_of(ns, name, controllers::placements_of(object, *config_.current()));
  kept_.claims.put(ns, name, controllers::claims_of(object));
  kept_.migrations.put_vmi(controllers::MovableInfo::read(object));
}

// A VM that names no claim is not opened: most have none, and VMs change often while they start.
void Index::put_vm(const StoredObject& vm) {
  const auto names = [text = vm.json()](std::string_view member) {
    return ::memmem(text.data(), text.size(), member.data(), member.size()) != nullptr;
  };
  if (!names(R"("claimName")") && !names(R"("dataVolume")")) return kept_.vm_claims.forget(vm.ns(), vm.name());
  const OpenedPtr opened = opened_.open(vm);
  kept_.vm_claims.put(vm.ns(), vm.name(), controllers::template_claims_of(opened->root().get_object()));
}

void Index::put_newest(std::string_view resource, std::string_view ns, std::string_view name) {
  if (const ObjectPtr newest = store_.get(resource, ns, name)) {
    if (resource == kinds::vm) return put_vm(*newest);
    return put(resource, opened_.open(*newest)->root().get_object(), newest->created_revision());
  }
  if (resource == kinds::node) return kept_.nodes.forget(name);
  if (resource == kinds::migration) return kept_.migrations.forget(ns, name);
  if (resource == kinds::vm) return kept_.vm_claims.forget(ns, name);
  if (!controllers::with_references(resource).empty()) {
    const Referrer who(resource, ns, name);
    return kept_.references[resource].forget(who.ns, who.name);
  }
  kept_.nodes.remove_of(ns, name);
  kept_.claims.forget(ns, name);
  kept_.migrations.forget_vmi(ns, name);
}

void Index::see(const StoredObject& changed) {
  const std::string_view resource = counted(changed.resource());
  if (resource.empty()) return;
  const auto reserved =
      reserved_.find({resource, {.ns = std::string(changed.ns()), .name = std::string(changed.name())}});
  if (reserved == reserved_.end())
    put_newest(resource, changed.ns(), changed.name());
  else
    reserved->second.missed = true;
}

void Index::drop_gone() {
  std::vector<std::string> nodes;
  for (const auto& [name, info] : kept_.nodes.infos()) nodes.push_back(name);
  for (const std::string& name : nodes)
    if (!store_.get(kinds::node, "", name)) kept_.nodes.forget(name);
  std::set<controllers::Key> vmis;
  for (const controllers::Placed* placed : kept_.nodes.all()) vmis.insert({.ns = placed->ns, .name = placed->vmi});
  for (const controllers::Key& vmi : vmis)
    if (!store_.get(kinds::vmi, vmi.ns, vmi.name)) put_newest(kinds::vmi, vmi.ns, vmi.name);
}

void Index::Reservation::add(const controllers::Pass& pass) {
  for (const Effect& effect : pass.effects) {
    if (!changes_counts(effect)) continue;
    const Key& key =
        keys_.emplace_back(counted(effect.resource), controllers::Key{.ns = effect.ns, .name = effect.name});
    ++index_.reserved_[key].writes;
    const ObjectPtr stored = index_.store_.get(effect.resource, effect.ns, effect.name);
    index_.put(effect.resource, effect.document.get_object(), stored ? stored->created_revision() : 0);
  }
}

void Index::Reservation::end(bool is_done) noexcept {
  for (const Key& key : std::exchange(keys_, {})) try {
      index_.release(key, is_done);
    } catch (const std::exception& error) {
      log::error("an object cannot be counted", {{"object", fmt::format("{}/{}", key.second.ns, key.second.name)},
                                                 {"resource", key.first},
                                                 {"reason", error.what()}});
    }
}

void Index::release(const Key& key, bool is_done) {
  const auto found = reserved_.find(key);
  if (found == reserved_.end() || --found->second.writes != 0) return;
  const bool missed = found->second.missed;
  reserved_.erase(found);
  if (missed || !is_done) put_newest(key.first, key.second.ns, key.second.name);
}

}  // namespace vg::engine
