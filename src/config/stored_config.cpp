#include "config/stored_config.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "json/document.h"

namespace vg::config {
namespace {

constexpr std::string_view kubevirts = "kubevirt.io/kubevirts";

}  // namespace

StoredConfig::StoredConfig(const ObjectStore& store, std::string own_namespace, std::string_view architecture)
    : store_(store), own_namespace_(std::move(own_namespace)) {
  seen_.store(std::make_shared<const Seen>(Seen{.config = ClusterConfig::defaults(architecture)}));
}

ConfigPtr StoredConfig::current() const {
  SeenPtr seen = seen_.load(std::memory_order_acquire);
  if (seen->store_revision == store_.revision()) return seen->config;
  // Two that look at once may both parse; whoever saw more stays. A later look must never be replaced by an earlier.
  SeenPtr newer = look(*seen);
  while (seen->store_revision < newer->store_revision &&
         !seen_.compare_exchange_weak(seen, newer, std::memory_order_acq_rel)) {
  }
  return newer->config;
}

StoredConfig::SeenPtr StoredConfig::look(const Seen& before) const {
  Seen now{.store_revision = store_.revision(), .object_revision = before.object_revision, .config = before.config};
  const auto page = store_.list({.resource = kubevirts, .ns = own_namespace_});
  if (!page) return std::make_shared<const Seen>(std::move(now));
  for (const ObjectPtr& object : page->objects) {
    if (object->revision() == before.object_revision) break;
    auto document = json::Document::parse(object->json());
    if (!document || !counts(document->root())) continue;
    now.object_revision = object->revision();
    if (auto read = ClusterConfig::read(document->root(), fmt::to_string(object->revision())))
      now.config = std::move(*read);
    else
      log::error("the KubeVirt object is not valid; the previous configuration stays in use",
                 {{"name", object->name()}, {"reason", read.error().message}});
    break;
  }
  return std::make_shared<const Seen>(std::move(now));
}

}  // namespace vg::config
