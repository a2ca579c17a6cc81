#include "kube/live_config.h"

#include <utility>

#include "base/log.h"
#include "json/document.h"

namespace vg::kube {

LiveConfig::LiveConfig(std::string own_namespace, std::string_view architecture)
    : own_namespace_(std::move(own_namespace)), current_(config::ClusterConfig::defaults(architecture)) {}

bool LiveConfig::update(const Reflector& kubevirts) {
  for (const auto& object : kubevirts.list(own_namespace_)) {
    auto document = json::Document::parse(object->json);
    if (!document || !config::counts(document->root())) continue;
    if (object->resource_version == seen_) return false;
    seen_ = object->resource_version;
    auto read = config::ClusterConfig::read(document->root(), object->resource_version);
    if (read) {
      current_.store(std::move(*read), std::memory_order_release);
      return true;
    }
    log::error("the KubeVirt object is not valid; the previous configuration stays in use",
               {{"name", object->name}, {"reason", read.error().message}});
    return false;
  }
  return false;
}

}  // namespace vg::kube
