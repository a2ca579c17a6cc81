#include "handler/sync/kube_node_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "kube/paths.h"

namespace vg::handler {
namespace {

constexpr std::string_view own_namespace = "kubevirt";
constexpr std::string_view node_label = "kubevirt.io/nodeName", target_label = "kubevirt.io/migrationTargetNodeName";

kube::Reflector::Options vmis_labelled(std::string_view name, std::string_view label, std::string_view node) {
  return {.name = std::string(name),
          .group = "kubevirt.io",
          .version = "v1",
          .plural = "virtualmachineinstances",
          .label_selector = fmt::format("{}={}", label, node)};
}

kube::Reflector::Options kubevirt_objects() {
  return {.name = "kubevirts",
          .group = "kubevirt.io",
          .version = "v1",
          .plural = "kubevirts",
          .ns = std::string(own_namespace)};
}

}  // namespace

KubeNodeApi::KubeNodeApi(kube::Client& client, const std::string& node, std::string_view architecture,
                         metrics::Registry& metrics, const Clock& clock)
    : client_(client),
      node_(node),
      owned_(client, vmis_labelled("guests", node_label, node), metrics, clock),
      coming_(client, vmis_labelled("coming-guests", target_label, node), metrics, clock),
      kubevirts_(client, kubevirt_objects(), metrics, clock),
      config_(std::string(own_namespace), architecture) {
  owned_.on_change([this] { look(owned_, seen_owned_); });
  coming_.on_change([this] { look(coming_, seen_coming_); });
  kubevirts_.on_change([this] { config_.update(kubevirts_); });
}

void KubeNodeApi::start(Core& core) {
  kubevirts_.start(core);
  owned_.start(core);
  coming_.start(core);
}

bool KubeNodeApi::synced() const { return owned_.synced() && coming_.synced() && kubevirts_.synced(); }

// A copy says that something changed, not what. A node has some hundred VMIs at most.
void KubeNodeApi::look(const kube::Reflector& copy, Versions& seen) {
  Versions now;
  for (const auto& object : copy.list(""))
    now.emplace(Key{.ns = object->ns, .name = object->name}, object->resource_version);
  std::set<Key> changed;
  for (const auto& [key, version] : now)
    if (const auto before = seen.find(key); before == seen.end() || before->second != version) changed.insert(key);
  for (const auto& [key, version] : seen)
    if (!now.contains(key)) changed.insert(key);
  seen = std::move(now);
  if (changed_)
    for (const Key& key : changed) changed_(key);
}

NodeApi::ObjectPtr KubeNodeApi::vmi(const Key& key) const {
  auto found = owned_.find(key.ns, key.name);
  return found ? found : coming_.find(key.ns, key.name);
}

std::vector<Key> KubeNodeApi::vmis() const {
  std::set<Key> keys;
  for (const kube::Reflector* copy : {&owned_, &coming_})
    for (const auto& object : copy->list("")) keys.insert({.ns = object->ns, .name = object->name});
  return {keys.begin(), keys.end()};
}

Task<Result<json::Value>> KubeNodeApi::get(Core& core, ObjectName object, json::StoragePtr storage) {
  return client_.get(core, object, std::move(storage));
}

// A list that the server answers also says that it knows this node and serves VMIs, which no refusal does.
Task<Result<bool>> KubeNodeApi::is_ours(Core& core, const Key& key, std::string_view uid, json::StoragePtr storage) {
  for (const std::string_view label : {node_label, target_label}) {
    std::string query =
        fmt::format("?labelSelector={}&fieldSelector={}", kube::percent_encode(fmt::format("{}={}", label, node_)),
                    kube::percent_encode(fmt::format("metadata.name={}", key.name)));
    const auto found = co_await client_.list(core, vmi_resource, key.ns, std::move(query), storage);
    if (!found) co_return fail(found.error());
    const json::Array* items = json::get_array(*found, "items");
    const auto is_it = [&](const json::Value& vmi) {
      const json::Object* metadata = json::get_object(vmi, "metadata");
      return uid.empty() || (metadata && json::get_string_or(*metadata, "uid") == uid);
    };
    if (items && std::ranges::any_of(*items, is_it)) co_return true;
  }
  co_return false;
}

Task<Result<json::Value>> KubeNodeApi::create(Core& core, ResourceName resource, std::string_view ns,
                                              const json::Value& object, json::StoragePtr storage) {
  const std::string text = json::to_text(object);
  co_return co_await client_.create(core, resource, ns, text, false, std::move(storage));
}

Task<Result<json::Value>> KubeNodeApi::update(Core& core, ObjectName object, const json::Value& value,
                                              json::StoragePtr storage) {
  return client_.update(core, object, "", value, false, std::move(storage));
}

Task<Result<std::string>> KubeNodeApi::token(Core& core, std::string_view ns, std::string_view account) {
  kube::Question question{.method = "POST",
                          .target = kube::object_path({service_account_resource, ns, account}, "token"),
                          .subject = {"CREATE", service_account_resource.plural},
                          .content_type = "application/json",
                          .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})"};
  const auto answer = co_await client_.ask(core, std::move(question));
  if (!answer) co_return fail(answer.error());
  const auto document = json::Document::parse(answer->body);
  if (!document) co_return fail(document.error());
  const json::Object* status = json::get_object(document->root(), "status");
  co_return std::string(status ? json::get_string_or(*status, "token") : std::string_view());
}

Task<Result<json::Value>> KubeNodeApi::patch(Core& core, ObjectName object, std::string_view subresource,
                                             const json::Array& operations, json::StoragePtr storage) {
  const std::string text = json::to_text(json::Value(operations, storage));
  co_return co_await client_.patch(core, object, subresource, text, false, storage);
}

}  // namespace vg::handler
