#include "render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/schema.h"
#include "base/files.h"
#include "base/limits.h"
#include "command.h"
#include "domain/context_file.h"
#include "domain/convert.h"
#include "domain/vmi.h"
#include "domain/xml.h"
#include "json/access.h"
#include "json/document.h"
#include "json/yaml.h"

namespace vg::cmd {
namespace {

Result<std::string> read_input(const std::string& path, std::size_t bytes_max) {
  if (path != "-") return read_file(path, bytes_max);
  std::string text;
  std::array<char, 16 * limits::kib> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), stdin)) {
    text.append(part.data(), count);
    if (text.size() > bytes_max) return fail(Status::too_large(fmt::format("longer than {} bytes", bytes_max)));
  }
  return text;
}

// JSON or YAML, by how it begins: JSON is YAML too, but reads faster as what it is.
Result<json::Document> read_object(const std::string& path, std::size_t bytes_max) {
  auto text = read_input(path, bytes_max);
  if (!text) return fail(std::move(text.error()));
  const auto begin = text->find_first_not_of(" \t\r\n");
  if (begin != text->npos && (*text)[begin] == '{') return json::Document::parse(*text);
  json::Document document;
  auto value = json::parse_yaml(*text, document.storage());
  if (!value) return fail(std::move(value.error()));
  document.root() = std::move(*value);
  return document;
}

struct Input {
  std::string object, context;  // paths; the context may be empty
};

// What `--as domain` takes. A VM has to become a VMI first: that is `--as vmi`, whose result goes in here once it
// exists.
Result<void> check_kind(const json::Value& object) {
  const auto kind = json::get_string_or(object, "kind"), version = json::get_string_or(object, "apiVersion");
  if (kind == "VirtualMachineInstance" && version.starts_with("kubevirt.io/")) return {};
  if (kind == "VirtualMachine")
    return fail(Status::bad_request(
        "a VirtualMachine has no domain of its own; give its VirtualMachineInstance, for example from "
        "kubectl get vmi NAME -o yaml"));
  return fail(Status::bad_request(
      fmt::format("kind must be VirtualMachineInstance of kubevirt.io/v1, not \"{}\" of \"{}\"", kind, version)));
}

Result<std::string> render_domain(const Input& input) {
  auto object = read_object(input.object, limits::object_body_bytes_max);
  if (!object) return fail(std::move(object.error()));
  if (auto checked = check_kind(object->root()); !checked) return fail(std::move(checked.error()));
  const api::Kind* kind = api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance");
  if (auto done = api::canonicalize(object->root(), *kind->type); !done) return fail(std::move(done.error()));
  const domain::Vmi vmi(object->root());

  json::Document settings;
  settings.root().emplace_object();
  if (!input.context.empty()) {
    auto read = read_object(input.context, limits::config_file_bytes_max);
    if (!read) return fail(Status::bad_request(fmt::format("{}: {}", input.context, read.error().message)));
    settings = std::move(*read);
  }
  const auto context = domain::read_context(vmi, settings.root());
  if (!context) return fail(context.error());
  const auto made = domain::convert(vmi, *context);
  if (!made) return fail(made.error());
  return domain::to_xml(*made);
}

struct Form {
  std::string_view name, about;
  Result<std::string> (*render)(const Input&);
};

constexpr std::array forms = std::to_array<Form>({
    {"domain", "the libvirt domain that KubeVirt makes of a VMI", render_domain},
});

std::string form_names() {
  std::string names;
  for (const Form& form : forms) names += fmt::format("{}{}", names.empty() ? "" : ", ", form.name);
  return names;
}

}  // namespace

int run_render(std::span<const std::string_view> arguments, Output output) {
  Input input;
  std::string as;
  const std::vector<Flag> flags{
      {"as", '\0', &as, "FORM", "what to show: domain, the libvirt domain that KubeVirt makes of a VMI"},
      {"context", '\0', &input.context, "FILE",
       "what is known of cluster and host, as JSON or YAML (default what KubeVirt has without configuration)"},
  };
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
  const auto read = read_command(command, flags, arguments, output);
  if (!read) return read.error();
  const auto* form = std::ranges::find(forms, as, &Form::name);
  if (form == forms.end())
    return refuse_usage(command,
                        as.empty() ? fmt::format("--as is required; supported are {}", form_names())
                                   : fmt::format("--as must be one of {}, not \"{}\"", form_names(), as),
                        output);
  input.object = read->front();
  const auto text = form->render(input);
  if (!text) {
    fmt::print(output.err, "{}: {}: {}\n", command.title(), input.object, text.error().message);
    return exit_failed;
  }
  fmt::print(output.out, "{}", *text);
  return exit_ok;
}

}  // namespace vg::cmd
