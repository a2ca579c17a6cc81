#include "render_object.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "json/write.h"
#include "json/yaml_write.h"
#include "offline/render.h"

namespace vg::cmd {
namespace {

// Prints objects one after the other, as the form wants them to be separated.
class Printer {
 public:
  Printer(const RenderObjectOptions& options, Output output) : options_(options), output_(output) {}

  void show(const offline::RenderedObject& object) {
    if (!object.after) {
      refused_ = true;
      fmt::print(output_.err, "virtgate render: {}\n", object.problem);
      return;
    }
    if (options_.diff) return show_changes(object);
    if (options_.format == "json") {
      fmt::print(output_.out, "{}\n", json::to_text(*object.after));
    } else {
      fmt::print(output_.out, "{}{}", shown_ ? "---\n" : "", json::to_yaml(*object.after));
    }
    shown_ = true;
  }
  bool refused() const { return refused_; }

 private:
  void show_changes(const offline::RenderedObject& object) {
    const auto changes = offline::find_changes(*object.before, *object.after);
    fmt::print(output_.out, "{}--- {}\n+++ {}\n{}", shown_ ? "\n" : "", object.file, object.identity.text(),
               offline::print_changes(changes));
    shown_ = true;
  }

  const RenderObjectOptions& options_;
  Output output_;
  bool shown_ = false, refused_ = false;
};

}  // namespace

std::vector<Flag> RenderObjectOptions::flags() {
  std::vector<Flag> all = inputs.flags();
  all.push_back({"output", 'o', &format, "yaml|json", "the form of what is shown"});
  all.push_back({"diff", '\0', &diff, "", "only what changed against the file, field by field"});
  return all;
}

int render_sources(const offline::Sources& sources, std::vector<std::string> unreadable, const InputFlags& inputs,
                   offline::RenderAs form, const std::function<void(const offline::RenderedObject&)>& show,
                   Output output) {
  const auto config = read_config(inputs.config);
  if (!config) {
    fmt::print(output.err, "virtgate render: {}\n", config.error().message);
    return exit_usage;
  }
  const offline::CheckOptions how{.ns = inputs.ns};
  const offline::Sources beside = open_inputs(inputs.with, unreadable);
  offline::KnownObjects known;
  offline::learn_all(beside, how, known, unreadable);
  const config::FixedConfig fixed(*config);
  const ManualClock clock;  // times are left out, or always the same
  const offline::World world{.known = known, .config = fixed, .clock = clock, .randomness = offline::no_randomness()};
  offline::render_all(sources, known, world, how, form, show, unreadable);
  for (const std::string& why : unreadable) fmt::print(output.err, "virtgate render: {}\n", why);
  return unreadable.empty() ? exit_ok : exit_usage;
}

int render_objects(const std::vector<std::string>& names, const RenderObjectOptions& options, offline::RenderAs form,
                   Output output) {
  std::vector<std::string> unreadable;
  const offline::Sources sources = open_inputs(names, unreadable);
  Printer printer(options, output);
  const int code = render_sources(
      sources, std::move(unreadable), options.inputs, form,
      [&](const offline::RenderedObject& object) { printer.show(object); }, output);
  return code != exit_ok ? code : printer.refused() ? exit_failed : exit_ok;
}

}  // namespace vg::cmd
