#include "kube/live_config.h"

#include <utility>

#include "base/log.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::kube {
namespace {

// A KubeVirt object counts once it has a phase and as long as nobody deletes it.
bool counts(const json::Value& kubevirt) {
  const auto phase = json::as_string(json::find_path(kubevirt, {"status", "phase"}));
  return phase && !phase->empty() && !json::find_path(kubevirt, {"metadata", "deletionTimestamp"});
}

}  // namespace

LiveConfig::LiveConfig(std::string own_namespace, std::string_view architecture)
    : own_namespace_(std::move(own_namespace)), current_(config::ClusterConfig::defaults(architecture)) {}

bool LiveConfig::update(const Reflector& kubevirts) {
  for (const auto& object : kubevirts.list(own_namespace_)) {
    auto document = json::Document::parse(object->json);
    if (!document || !counts(document->root())) continue;
    if (object->resource_version == seen_) return false;
    seen_ = object->resource_version;
    auto read = config::ClusterConfig::read(document->root(), object->resource_version);
    if (read) {
      current_.store(std::move(*read), std::memory_order_release);
      return true;
    }
    log::error("the KubeVirt object cannot be used; the configuration before stays in force",
               {{"name", object->name}, {"reason", read.error().message}});
    return false;
  }
  return false;
}

}  // namespace vg::kube
