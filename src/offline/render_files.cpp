#include "offline/render_files.h"

#include <fmt/format.h>

#include <utility>

#include "json/access.h"
#include "json/arena_pool.h"
#include "json/yaml.h"
#include "offline/render.h"

namespace vg::offline {
namespace {

struct Shown {
  const World& world;
  const CheckOptions& options;
  RenderAs form;
  const std::function<void(const RenderedObject&)>& show;
};

std::string refusal_text(const ServerAnswer& answer, const Identity& identity) {
  return fmt::format("{} is refused: {}", identity.text(), answer.refusal->message);
}

void render_one(const json::Value& value, std::string_view file, const Shown& how) {
  RenderedObject shown{.file = std::string(file), .identity = {}, .before = &value, .problem = {}};
  const json::Object* object = value.if_object();
  const KindOfObject kind = object ? resource_of(*object) : KindOfObject{};
  if (object) shown.identity = identify(*object, kind, how.options.ns);
  json::LeasedArena arena;
  json::Value after(arena.storage());
  if (!kind.resource) {
    shown.problem = fmt::format("{} is not a kind that is known here", shown.identity.text());
    return how.show(shown);
  }
  const ServerAnswer answer = judge(
      {.resource = *kind.resource, .version = *kind.version, .ns = shown.identity.ns, .object = value}, how.world);
  if (answer.refusal || !answer.object) {
    shown.problem = answer.refusal
                        ? refusal_text(answer, shown.identity)
                        : fmt::format("{} names what is not in the files; add it with --with", shown.identity.text());
    return how.show(shown);
  }
  after = rendered(answer.object, *kind.resource, kind.api_version, arena.storage());
  if (how.form == RenderAs::instance && kind.resource->key == "kubevirt.io/virtualmachines") {
    auto instance = instance_of(after, how.world, arena.storage());
    if (instance)
      after = std::move(*instance);
    else
      shown.problem = fmt::format("{} has no VMI: {}", shown.identity.text(), instance.error().message);
  } else if (how.form == RenderAs::instance && kind.resource->key != "kubevirt.io/virtualmachineinstances") {
    return;
  }
  if (shown.problem.empty()) shown.after = &after;
  how.show(shown);
}

template <class F>
void for_each_document(const Sources& sources, std::vector<std::string>& unreadable, F&& f) {
  for (const auto& source : sources) {
    PieceReader reader(*source);
    while (true) {
      auto piece = reader.next();
      if (!piece) unreadable.push_back(piece.error().message);
      if (!piece || !*piece) break;
      f(source->name(), **piece);
    }
  }
}

void render_piece(std::string_view file, const Piece& piece, const Shown& how) {
  if (is_blank(piece.text)) return;
  json::LeasedArena arena;
  json::TextProblem problem;
  const auto value = json::parse_yaml(piece.text, arena.storage(), json::YamlOptions{.problem = &problem});
  if (!value || piece.too_long)
    return how.show({.file = std::string(file),
                     .identity = {},
                     .problem = fmt::format("{}:{}: {}", file, piece.line + problem.line - (problem.line ? 1 : 0),
                                            problem.line ? problem.what : "the document is too long")});
  if (value->is_null()) return;
  const json::Object* object = value->if_object();
  if (!object || !is_list(*object)) return render_one(*value, file, how);
  for (const json::Value& item : *json::get_array(*object, "items")) render_one(item, file, how);
}

}  // namespace

void render_all(const Sources& sources, KnownObjects& known, const World& world, const CheckOptions& options,
                RenderAs form, const std::function<void(const RenderedObject&)>& show,
                std::vector<std::string>& unreadable) {
  std::size_t document = 0;
  for_each_document(sources, unreadable, [&](const std::string& file, const Piece& piece) {
    learn({.file = file, .piece = piece, .document = ++document}, options, known);
  });
  std::vector<std::string> told_already;
  const Shown how{.world = world, .options = options, .form = form, .show = show};
  for_each_document(sources, told_already,
                    [&](const std::string& file, const Piece& piece) { render_piece(file, piece, how); });
}

}  // namespace vg::offline
