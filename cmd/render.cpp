#include "render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "command.h"
#include "render_domain.h"

namespace vg::cmd {
namespace {

// Each form has its own flags; those that a form does not know are the others' and do nothing.
struct Options {
  std::string as;
  RenderDomainOptions domain;
};

struct Form {
  std::string_view name;
  int (*run)(const std::vector<std::string>& files, const Options& options, Output output);
};

constexpr std::array forms = std::to_array<Form>({
    {"domain", [](const std::vector<std::string>& files, const Options& options,
                  Output output) { return render_domain(files.front(), options.domain, output); }},
});

std::string form_names() {
  std::string names;
  for (const Form& form : forms) names += fmt::format("{}{}", names.empty() ? "" : ", ", form.name);
  return names;
}

}  // namespace

int run_render(std::span<const std::string_view> arguments, Output output) {
  Options options;
  std::vector<Flag> flags = options.domain.flags();
  flags.insert(flags.begin(), {"as", '\0', &options.as, "FORM",
                               "what to show: domain, the libvirt domain that KubeVirt makes of a VMI"});
  const CommandLine command{.name = "render",
                            .synopsis = "--as domain [flags] FILE | -",
                            .about =
                                "Shows what an object becomes, offline: nothing is asked of a server or a host. "
                                "The object must have its defaults, as a server stores it.",
                            .examples =
                                "virtgate render --as domain vmi.yaml\n"
                                "kubectl get vmi demo -o json | virtgate render --as domain -",
                            .argument = "FILE",
                            .arguments_min = 1,
                            .arguments_max = 1};
  const auto files = read_command(command, flags, arguments, output);
  if (!files) return files.error();
  const auto* form = std::ranges::find(forms, options.as, &Form::name);
  if (form != forms.end()) return form->run(*files, options, output);
  return refuse_usage(command,
                      options.as.empty() ? fmt::format("--as is required; supported are {}", form_names())
                                         : fmt::format("--as must be one of {}, not \"{}\"", form_names(), options.as),
                      output);
}

}  // namespace vg::cmd
