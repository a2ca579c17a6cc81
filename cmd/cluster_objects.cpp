#include "cluster_objects.h"

#include <fmt/format.h>

#include <future>
#include <utility>

#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "kube/cluster_access.h"
#include "kube/object_api.h"

namespace vg::cmd {
namespace {

constexpr std::string_view kubevirts = "kubevirt.io/kubevirts";

// Runs a task on the core and waits for it, from another thread.
template <class T, class Make>
T wait_for(Core& core, Make make) {
  std::promise<T> promise;
  auto answer = promise.get_future();
  core.post([&] {
    spawn([](Make& task, std::promise<T>& done) -> Task<void> { done.set_value(co_await task()); }(make, promise));
  });
  return answer.get();
}

ObjectPtr known(const json::Value& value, std::string_view ns) {
  const json::Object* object = value.if_object();
  return object ? offline::known_object(*object, ns) : nullptr;
}

std::string_view namespace_of(const json::Value& object) {
  return json::as_string(json::find_path(object, {"metadata", "namespace"})).value_or("");
}

// Items of a list do not say what they are; objects at hand do.
json::Value typed(const json::Value& item, const ResourceName& resource, std::string_view kind) {
  json::Value whole = item;
  if (json::Object* object = whole.if_object()) {
    (*object)["apiVersion"] =
        resource.group.empty() ? std::string(resource.version) : fmt::format("{}/{}", resource.group, resource.version);
    (*object)["kind"] = kind;
  }
  return whole;
}

}  // namespace

Result<std::unique_ptr<ClusterObjects>> ClusterObjects::open(const std::string& kubeconfig) {
  auto access = kube::find_cluster(kubeconfig, "", kube::process_environment());
  if (!access) return fail(std::move(access.error()));
  return std::unique_ptr<ClusterObjects>(new ClusterObjects(std::move(*access)));
}

ClusterObjects::ClusterObjects(kube::ClusterAccess access)
    : credentials_(std::move(access), clock_),
      limiter_(clock_, {.per_second = 100, .burst = 200}),
      client_({.credentials = credentials_, .limiter = limiter_, .user_agent = "virtgate-check/" VIRTGATE_VERSION}),
      cores_(1) {}

ClusterObjects::~ClusterObjects() { client_.close(); }

Result<ObjectPtr> ClusterObjects::get(const ObjectKey& key) const {
  const auto resource = kube::resource_of_key(key.resource);
  if (!resource) return ObjectPtr();
  const std::string place = fmt::format("{} {} {}", key.resource, key.ns, key.name);
  const std::lock_guard lock(mutex_);
  if (const auto found = objects_.find(place); found != objects_.end()) return found->second;
  json::Document document;
  const auto answer = wait_for<Result<json::Value>>(
      cores_[0], [&] { return client_.get(cores_[0], {*resource, key.ns, key.name}, document.storage()); });
  Result<ObjectPtr> result = ObjectPtr();
  if (answer)
    result = known(*answer, key.ns);
  else if (answer.error().code != 404)
    result = fail(Status::unavailable(
        fmt::format("the cluster does not tell {} {}: {}", key.resource, key.name, answer.error().message)));
  objects_.emplace(place, result);
  return result;
}

Result<std::vector<ObjectPtr>> ClusterObjects::list(std::string_view resource, std::string_view ns) const {
  const auto named = kube::resource_of_key(resource);
  const resources::Resource* row = resources::find_resource(resource);
  if (!named || !row) return std::vector<ObjectPtr>();
  const std::string place = fmt::format("{} {}", resource, ns);
  const std::lock_guard lock(mutex_);
  if (const auto found = lists_.find(place); found != lists_.end()) return found->second;
  json::Document document;
  const auto answer = wait_for<Result<json::Value>>(
      cores_[0], [&] { return client_.list(cores_[0], *named, ns, "", document.storage()); });
  Result<std::vector<ObjectPtr>> result = std::vector<ObjectPtr>();
  if (!answer && answer.error().code != 404)
    result =
        fail(Status::unavailable(fmt::format("the cluster does not list {}: {}", resource, answer.error().message)));
  const json::Array* items = answer ? json::get_array(*answer, "items") : nullptr;
  for (const json::Value& item : items ? *items : json::Array())
    if (ObjectPtr object = known(typed(item, *named, row->kind->kind), namespace_of(item)))
      result->push_back(std::move(object));
  lists_.emplace(place, result);
  return result;
}

Result<config::ConfigPtr> ClusterObjects::configuration() const {
  const auto all = list(kubevirts, "");
  if (!all) return fail(all.error());
  for (const ObjectPtr& object : *all) {
    const auto document = json::Document::parse(object->json());
    if (document && config::counts(document->root())) return config::ClusterConfig::read(document->root(), "");
  }
  return fail(Status::bad_request("the cluster has no KubeVirt object; name a file with --config"));
}

}  // namespace vg::cmd
