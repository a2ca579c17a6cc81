#include "render_domain.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "api/canonical.h"
#include "api/schema.h"
#include "base/files.h"
#include "base/limits.h"
#include "domain/context_file.h"
#include "domain/convert.h"
#include "domain/refusal.h"
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

// What `--as domain` takes. A VM has to become a VMI first: that is `--as vmi`, whose result goes in here once it
// exists.
Result<void> check_kind(const json::Value& object) {
  const auto kind = json::get_string_or(object, "kind"), version = json::get_string_or(object, "apiVersion");
  if (kind == "VirtualMachineInstance" && version.starts_with("kubevirt.io/")) return {};
  if (kind == "VirtualMachine")
    return fail(Status::bad_request(
        "a VirtualMachine has no domain of its own; give its VirtualMachineInstance, for example from "
        "kubectl get vmi NAME -o yaml"));
  return fail(Status::bad_request(fmt::format("kind must be VirtualMachineInstance of kubevirt.io/v1, not {} of {}",
                                              domain::quoted(kind), domain::quoted(version))));
}

Result<domain::DomainContext> context_of(const domain::Vmi& vmi, const std::string& path) {
  json::Document none;
  none.root().emplace_object();
  if (path.empty()) return domain::read_context(vmi, none.root());
  const auto file = read_object(path, limits::config_file_bytes_max);
  auto context = file ? domain::read_context(vmi, file->root()) : fail(file.error());
  if (!context && context.error().code == 400) context.error().message.insert(0, fmt::format("{}: ", path));
  return context;
}

}  // namespace

std::vector<Flag> RenderDomainOptions::flags() {
  return {{"context", '\0', &context, "FILE",
           "domain: what is known of cluster and host, as JSON or YAML (default what KubeVirt has without "
           "configuration)"}};
}

Result<std::string> domain_of(json::Value& vmi, const RenderDomainOptions& options) {
  const api::Kind* kind = api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance");
  if (auto done = api::canonicalize(vmi, *kind->type); !done) return fail(std::move(done.error()));
  const domain::Vmi view(vmi);
  const auto context = context_of(view, options.context);
  if (!context) return fail(context.error());
  const auto made = domain::convert(view, *context);
  if (!made) return fail(made.error());
  return domain::to_xml(*made);
}

int render_domain(const std::string& file, const RenderDomainOptions& options, Output output) {
  const auto text = [&]() -> Result<std::string> {
    auto object = read_object(file, limits::object_body_bytes_max);
    if (!object) return fail(std::move(object.error()));
    if (auto checked = check_kind(object->root()); !checked) return fail(std::move(checked.error()));
    return domain_of(object->root(), options);
  }();
  if (!text) {
    fmt::print(output.err, "virtgate render: {}: {}\n", file, text.error().message);
    return exit_failed;
  }
  fmt::print(output.out, "{}", *text);
  return exit_ok;
}

}  // namespace vg::cmd
