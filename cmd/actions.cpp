#include "actions.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "actions/action.h"
#include "base/json_text.h"
#include "config/gates.h"
#include "flags.h"

namespace vg::cmd {
namespace {

using actions::Action;

// "virtualmachines/start", or "version" for what is of no object.
std::string permitted_resource(const Action& action) {
  return action.resource.empty() ? std::string(action.name) : fmt::format("{}/{}", action.resource, action.name);
}

// "kubevirt.StartOptions" is for the schema; people know it without the package.
std::string_view body_name(const Action& action) {
  const auto dot = action.body_type.find('.');
  if (dot != std::string_view::npos) return action.body_type.substr(dot + 1);
  return action.body == actions::Body::strict ? "VirtualMachine" : "";
}

std::string_view gate_name(const Action& action) {
  return action.gate ? config::gate_name(*action.gate) : std::string_view();
}

void print_table(std::FILE* out) {
  std::string_view line;
  for (const std::string_view resource : {"virtualmachines", "virtualmachineinstances", ""}) {
    fmt::print(out, "{}{}\n", line, resource.empty() ? std::string_view("of no machine") : resource);
    line = "\n";
    for (const Action& action : actions::actions())
      if (action.resource == resource)
        fmt::print(out, "  {:<26} {:<4} {:<32} {:<7} {}\n", action.name, action.method, body_name(action),
                   action.verb(), action.does);
  }
}

void append_members(std::string& text, std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string_view separator = "{";
  for (const auto& [name, value] : members) {
    if (value.empty()) continue;
    text += separator;
    separator = ",";
    append_json_string(text, name);
    text += ':';
    append_json_string(text, value);
  }
  text += '}';
}

void print_json(std::FILE* out) {
  std::string text = "[";
  for (const Action& action : actions::actions()) {
    text += text.size() > 1 ? ",\n " : "";
    append_members(text, {{"resource", action.resource},
                          {"name", action.name},
                          {"method", action.method},
                          {"body", body_name(action)},
                          {"does", action.does},
                          {"answers", action.stream          ? std::string_view("a stream")
                                      : action.produces_json ? "a document"
                                                             : ""},
                          {"gate", gate_name(action)},
                          {"permissionGroup", actions::group},
                          {"permissionResource", permitted_resource(action)},
                          {"permissionVerb", action.verb()}});
  }
  fmt::print(out, "{}]\n", text);
}

}  // namespace

int run_actions(std::span<const std::string_view> arguments, Output output) {
  std::string format = "table";
  const std::vector<Flag> flags = {{"output", 'o', &format, "FORMAT", "table or json"}};
  const std::string usage = fmt::format("usage: virtgate actions [-o json]\n\n{}", describe_flags(flags));
  const auto parsed = parse_flags(flags, arguments);
  if (parsed && parsed->help) {
    fmt::print(output.out, "{}", usage);
    return exit_ok;
  }
  const bool known = format == "table" || format == "json";
  if (!parsed || !parsed->positional.empty() || !known) {
    fmt::print(output.err, "virtgate actions: {}\n\n{}",
               !parsed  ? parsed.error()
               : !known ? fmt::format("there is no output format \"{}\"; use table or json", format)
                        : fmt::format("there is nothing to do with \"{}\"", parsed->positional.front()),
               usage);
    return exit_usage;
  }
  if (format == "json")
    print_json(output.out);
  else
    print_table(output.out);
  return exit_ok;
}

}  // namespace vg::cmd
