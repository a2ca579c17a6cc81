#include "controllers/exports/links.h"

#include <fmt/format.h>

#include "base/trimmed.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::exports {
namespace {

Value format(string_view name, string_view url, const json::StoragePtr& storage) {
  return Value({{"format", name}, {"url", url}}, storage);
}

Value volume_link(const std::string& base, const ExportedVolume& volume, const json::StoragePtr& storage) {
  const std::string root = fmt::format("{}/volumes/{}", base, volume.name);
  Array formats(storage);
  if (volume.is_disk) {
    formats.emplace_back(format("raw", root + "/disk.img", storage));
    formats.emplace_back(format("gzip", root + "/disk.img.gz", storage));
  } else {
    formats.emplace_back(format("dir", root + "/dir", storage));
    formats.emplace_back(format("tar.gz", root + "/disk.tar.gz", storage));
  }
  return Value({{"name", volume.name}, {"formats", std::move(formats)}}, storage);
}

Value link(const Turn& turn, const ExportSource& source, string_view side) {
  const json::StoragePtr& storage = turn.storage;
  const std::string base = export_base(turn.place ? turn.place->url : "", turn.key.ns, turn.key.name);
  Array volumes(storage), manifests(storage);
  for (const ExportedVolume& volume : source.volumes) volumes.emplace_back(volume_link(base, volume, storage));
  const auto manifest = [&](string_view type, string_view path) {
    manifests.emplace_back(
        Value({{"type", type}, {"url", fmt::format("{}/{}/manifests/{}", base, side, path)}}, storage));
  };
  if (source.has_manifests) manifest("all", "all");
  manifest("auth-header-secret", "secret");
  return Value({{"cert", trimmed(turn.place ? turn.place->authority : string_view(), all_blanks)},
                {"volumes", std::move(volumes)},
                {"manifests", std::move(manifests)}},
               storage);
}

}  // namespace

std::string export_base(string_view server_url, string_view ns, string_view name) {
  return fmt::format("{}{}v1/namespaces/{}/virtualmachineexports/{}", server_url, export_prefix, ns, name);
}

Value export_links(const Turn& turn, const ExportSource& source) {
  return Value({{"internal", link(turn, source, "internal")}, {"external", link(turn, source, "external")}},
               turn.storage);
}

}  // namespace vg::controllers::exports
