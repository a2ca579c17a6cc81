#include "controllers/copies/revisions.h"

#include "controllers/copies/names.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::copies {

std::string_view revision_in_use(const json::Object& spec, const json::Object& vm, const MatcherRef& matcher) {
  const json::Object* named = json::get_object(spec, matcher.member);
  if (!named) return {};
  if (const std::string_view own = json::get_string_or(*named, "revisionName"); !own.empty()) return own;
  const json::Object* used = vm::at(&vm, {"status", matcher.reference, "controllerRevisionRef"});
  return used ? json::get_string_or(*used, "name") : std::string_view();
}

std::string renamed_revision(std::string_view name, std::string_view from, std::string_view to) {
  std::string made(name);
  const std::size_t place = from.empty() ? std::string::npos : made.find(from);
  if (place != std::string::npos) made.replace(place, from.size(), to);
  constexpr std::size_t name_length = 253;
  return made.size() <= name_length ? made : label_value(made);
}

Effect revision_copy(const Turn& turn, const json::Object& revision, const std::string& name, const Owner& owner,
                     Identity identity) {
  json::Value made({{"apiVersion", "apps/v1"},
                    {"kind", "ControllerRevision"},
                    {"metadata",
                     {{"name", name},
                      {"namespace", turn.key.ns},
                      {"ownerReferences", json::Array({controller_reference_to(owner, turn.storage)}, turn.storage)}}},
                    {"revision", json::get_int_or(revision, "revision", 0)}},
                   turn.storage);
  if (const json::Object* labels = vm::at(&revision, {"metadata", "labels"}))
    json::ensure_object(made.get_object(), "metadata")["labels"] = *labels;
  if (const json::Value* data = json::find(revision, "data")) made.get_object()["data"] = *data;
  return {.verb = Verb::create,
          .resource = kinds::revision,
          .ns = turn.key.ns,
          .name = name,
          .identity = std::move(identity),
          .document = std::move(made),
          .already_done_is_fine = true};
}

}  // namespace vg::controllers::copies
