#include "render_domain.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
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
#include "offline/source.h"
#include "render_object.h"

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
Result<json::Document> parse_object(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && text[begin] == '{') return json::Document::parse(text);
  json::Document document;
  auto value = json::parse_yaml(text, document.storage());
  if (!value) return fail(std::move(value.error()));
  document.root() = std::move(*value);
  return document;
}

Result<json::Document> read_object(const std::string& path, std::size_t bytes_max) {
  auto text = read_input(path, bytes_max);
  return text ? parse_object(*text) : fail(std::move(text.error()));
}

// Whether there is more to do than to convert one VMI: VMs have to become VMIs first, as `--as vmi` shows them.
bool has_machines(const offline::Source& text, const Result<json::Document>& object) {
  offline::PieceReader reader(text);
  const auto first = reader.next();
  const auto second = first && *first ? reader.next() : Result<std::optional<offline::Piece>>(std::nullopt);
  if (second && *second && !offline::is_blank((*second)->text)) return true;
  const std::string_view kind = object ? json::get_string_or(object->root(), "kind") : std::string_view();
  return kind == "VirtualMachine" || kind == "List" || kind == "VirtualMachineList";
}

Result<void> check_kind(const json::Value& object) {
  const auto kind = json::get_string_or(object, "kind"), version = json::get_string_or(object, "apiVersion");
  if (kind == "VirtualMachineInstance" && version.starts_with("kubevirt.io/")) return {};
  return fail(Status::bad_request(
      fmt::format("kind must be VirtualMachine or VirtualMachineInstance of kubevirt.io/v1, not {} of {}",
                  domain::in_quotes(kind), domain::in_quotes(version))));
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

namespace {

int print_domain(const std::string& file, const Result<std::string>& text, Output output) {
  if (text)
    fmt::print(output.out, "{}", *text);
  else
    fmt::print(output.err, "virtgate render: {}: {}\n", file, text.error().message);
  return text ? exit_ok : exit_failed;
}

// The domains of all VMs and VMIs of a text, one after the other.
int render_domains(std::unique_ptr<offline::Source> text, const RenderDomainOptions& options, const InputFlags& inputs,
                   Output output) {
  offline::Sources sources;
  sources.push_back(std::move(text));
  int failed = exit_ok, shown = 0;
  const auto show = [&](const offline::RenderedObject& object) {
    ++shown;
    json::Document vmi;
    if (object.after) vmi.root() = *object.after;
    const int code = print_domain(
        object.file,
        object.after ? domain_of(vmi.root(), options) : Result<std::string>(fail(Status::bad_request(object.problem))),
        output);
    if (code != exit_ok) failed = code;
  };
  const int code = render_sources(sources, {}, inputs, offline::RenderAs::instance, show, output);
  if (code == exit_ok && shown == 0)
    return print_domain(sources.front()->name(), fail(Status::bad_request("there is no VM or VMI in it")), output);
  return code != exit_ok ? code : failed;
}

}  // namespace

int render_domain(const std::string& file, const RenderDomainOptions& options, const InputFlags& inputs,
                  Output output) {
  auto text = read_input(file, limits::object_body_bytes_max);
  if (!text) return print_domain(file, fail(std::move(text.error())), output);
  auto object = parse_object(*text);
  auto source = offline::text_source(file, std::move(*text));
  if (has_machines(*source, object)) return render_domains(std::move(source), options, inputs, output);
  if (!object) return print_domain(file, fail(std::move(object.error())), output);
  if (auto checked = check_kind(object->root()); !checked)
    return print_domain(file, fail(std::move(checked.error())), output);
  return print_domain(file, domain_of(object->root(), options), output);
}

}  // namespace vg::cmd
