#include "inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/files.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/yaml.h"

namespace vg::cmd {
namespace {

// The same on every machine, so that a check says the same everywhere; a KubeVirt object can name another.
constexpr std::string_view usual_architecture = "amd64";

void open_one(const std::string& name, offline::Sources& sources, std::vector<std::string>& unreadable) {
  auto source = name == "-" ? offline::read_pipe("-", STDIN_FILENO) : offline::open_file(name);
  if (source)
    sources.push_back(std::move(*source));
  else
    unreadable.push_back(source.error().message);
}

}  // namespace

std::vector<Flag> InputFlags::flags() {
  return {
      {"with", '\0', &with, "FILE", "a file or folder with objects that exist and are not checked; can be repeated"},
      {"config", '\0', &config, "FILE", "the KubeVirt object whose configuration and feature gates count"},
      {"namespace", 'n', &ns, "NAME", "the namespace of objects that name none"}};
}

offline::Sources open_inputs(const std::vector<std::string>& names, std::vector<std::string>& unreadable) {
  offline::Sources sources;
  for (const std::string& name : names) {
    if (name == "-" || !offline::is_folder(name)) {
      open_one(name, sources, unreadable);
      continue;
    }
    const auto files = offline::files_below(name);
    if (!files) {
      unreadable.push_back(files.error().message);
      continue;
    }
    if (files->empty()) unreadable.push_back(fmt::format("folder {} has no manifests (*.yaml, *.yml, *.json)", name));
    for (const std::string& file : *files) open_one(file, sources, unreadable);
  }
  return sources;
}

Result<config::ConfigPtr> read_config(const std::string& file) {
  if (file.empty()) return config::ClusterConfig::defaults(usual_architecture);
  const auto text = read_file(file, limits::config_file_bytes_max);
  if (!text) return fail(text.error());
  json::Document document;
  auto value = json::parse_yaml(*text, document.storage());
  if (!value) return fail(Status::bad_request(fmt::format("{}: {}", file, value.error().message)));
  if (json::get_string_or(*value, "kind") != "KubeVirt")
    return fail(Status::bad_request(fmt::format("{}: must be a KubeVirt object", file)));
  if (!json::find_path(*value, {"status", "defaultArchitecture"}))
    json::ensure_object(value->get_object(), "status")["defaultArchitecture"] = usual_architecture;
  auto config = config::ClusterConfig::read(*value, "");
  if (!config) return fail(Status::bad_request(fmt::format("{}: {}", file, config.error().message)));
  return config;
}

}  // namespace vg::cmd
