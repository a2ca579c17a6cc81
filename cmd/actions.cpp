#include "actions.h"

#include <fmt/format.h>

#include <string>

#include "actions/action.h"
#include "config/gates.h"
#include "listing.h"

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
  if (action.body == actions::Body::first) return "ClusterProfilerRequest";
  return action.body == actions::Body::strict ? "VirtualMachine" : "";
}

std::string_view gate_name(const Action& action) {
  return action.gate ? config::gate_name(*action.gate) : std::string_view();
}

void print_table(std::FILE* out) {
  std::string_view line;
  for (const std::string_view resource : {"virtualmachines", "virtualmachineinstances", ""}) {
    fmt::print(out, "{}{}\n", line, resource.empty() ? std::string_view("without a VM") : resource);
    line = "\n";
    for (const Action& action : actions::actions())
      if (action.resource == resource)
        fmt::print(out, "  {:<26} {:<4} {:<32} {:<7} {}\n", action.name, action.method, body_name(action),
                   action.verb(), action.does);
  }
}

void print_json(std::FILE* out) {
  std::string text = "[";
  for (const Action& action : actions::actions())
    append_row(text, {{"resource", action.resource},
                      {"name", action.name},
                      {"method", action.method},
                      {"body", body_name(action)},
                      {"does", action.does},
                      {"answers", action.stream                            ? std::string_view("a stream")
                                  : action.produces_json && action.answers ? "a document"
                                                                           : ""},
                      {"gate", gate_name(action)},
                      {"permissionGroup", actions::group},
                      {"permissionResource", permitted_resource(action)},
                      {"permissionVerb", action.verb()}});
  fmt::print(out, "{}]\n", text);
}

}  // namespace

int run_actions(std::span<const std::string_view> arguments, Output output) {
  const auto format = read_listing(
      {.name = "actions",
       .synopsis = "[flags]",
       .description = "Lists the actions on VMs and VMIs (subresources), and the permissions they require.",
       .examples = "virtgate actions\nvirtgate actions -o json"},
      {}, arguments, output);
  if (!format) return format.error();
  if (*format == ListingFormat::json)
    print_json(output.out);
  else
    print_table(output.out);
  return exit_ok;
}

}  // namespace vg::cmd
