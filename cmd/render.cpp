#include "render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "command.h"
#include "render_domain.h"
#include "render_object.h"

namespace vg::cmd {
namespace {

// Each form has its own flags; those that a form does not know are the others' and do nothing.
struct RenderOptions {
  std::string as = "object";
  RenderObjectOptions object;
  RenderDomainOptions domain;
};

struct Form {
  std::string_view name;
  std::size_t files_max;
  int (*run)(const std::vector<std::string>& files, const RenderOptions& options, Output output);
};

using Files = const std::vector<std::string>&;

constexpr std::array forms = std::to_array<Form>({
    {"object", SIZE_MAX,
     [](Files files, const RenderOptions& options, Output output) {
       return render_objects(files, options.object, offline::RenderAs::object, output);
     }},
    {"vmi", SIZE_MAX,
     [](Files files, const RenderOptions& options, Output output) {
       return render_objects(files, options.object, offline::RenderAs::instance, output);
     }},
    {"domain", 1,
     [](Files files, const RenderOptions& options, Output output) {
       return render_domain(files.front(), options.domain, options.object.inputs, output);
     }},
});

std::string form_names() {
  std::string names;
  for (const Form& form : forms) names += fmt::format("{}{}", names.empty() ? "" : ", ", form.name);
  return names;
}

std::vector<Flag> render_flags(RenderOptions& options) {
  std::vector<Flag> flags{{"as", '\0', &options.as, "FORM",
                           "what to show: object, with all defaults; vmi, the VMI that a VM becomes; domain, the "
                           "libvirt domain that KubeVirt makes of a VMI, or of a VM's"}};
  for (const auto& more : {options.object.flags(), options.domain.flags()})
    flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

const CommandLine render_command{
    .name = "render",
    .synopsis = "[--as object|vmi|domain] [flags] FILE... | -",
    .description =
        "Shows what objects become, offline: nothing is asked of a server or a host. As object: as the server would "
        "store it, without what is new in every object (uid, times); what is random is shown as zeros. As vmi: the "
        "VMI that a VM becomes when it starts. As domain: of a VMI that has its defaults, as a server stores it, or of "
        "the VMI that a VM becomes.",
    .examples =
        "virtgate render vm.yaml --diff\n"
        "virtgate render --as vmi vm.yaml --with instancetypes.yaml\n"
        "virtgate render --as domain vm.yaml --with instancetypes.yaml\n"
        "kubectl get vmi demo -o json | virtgate render --as domain -",
    .argument = "FILE",
    .arguments_min = 1,
    .arguments_max = SIZE_MAX};

}  // namespace

int run_render(std::span<const std::string_view> arguments, Output output) {
  RenderOptions options;
  const auto files = read_command(render_command, render_flags(options), arguments, output);
  if (!files) return files.error();
  const auto* form = std::ranges::find(forms, options.as, &Form::name);
  if (form == forms.end())
    return refuse_usage(render_command, fmt::format("--as must be one of {}, not \"{}\"", form_names(), options.as),
                        output);
  if (files->size() > form->files_max)
    return refuse_usage(render_command, fmt::format("--as {} takes one file; render them one by one", form->name),
                        output);
  return form->run(*files, options, output);
}

}  // namespace vg::cmd
