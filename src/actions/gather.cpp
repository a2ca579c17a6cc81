#include "actions/gather.h"

#include <fmt/format.h>

#include <utility>

#include "actions/body.h"
#include "actions/components.h"
#include "actions/decisions.h"
#include "api/schema.h"
#include "api/views/k8s_meta.h"
#include "base/limits.h"
#include "base/off_loop.h"
#include "config/cluster_config.h"
#include "json/arena.h"
#include "server/trace.h"

namespace vg::actions {
namespace {

constexpr ResourceName claims{"", "v1", "persistentvolumeclaims"};
constexpr ResourceName pods{"", "v1", "pods"};
constexpr ResourceName nodes{"", "v1", "nodes"};
constexpr ResourceName kubevirts{kubevirt_group, "v1", "kubevirts"};
constexpr ResourceName cdi_configs{"cdi.kubevirt.io", "v1beta1", "cdiconfigs"};

// Pods of components are some KiB each; a page is well below limits::lookup_list_bytes_max.
constexpr std::size_t pods_per_page = 250;

Status unreadable(std::string_view kind, std::string_view name, const Status& why) {
  return Status::internal_error(fmt::format("{} \"{}\" could not be read: {}", kind, name, why.message));
}

// What cannot stand in a path names nothing that could be asked for.
bool can_be_asked_for(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/%") == name.npos;
}

class Gatherer {
 public:
  Gatherer(ActionCase& asked, Gathered& values, const Parts& parts, server::Call& call)
      : asked_(asked), values_(values), parts_(parts), call_(call) {}

  Task<Result<void>> take(const GatherStep& step) {
    switch (step.kind) {
      case StepKind::check:
        if (auto refusal = step.ask(asked_)) co_return fail(std::move(*refusal));
        co_return Result<void>();
      case StepKind::body:
        co_return co_await body();
      case StepKind::body_later: {
        if (auto read = co_await body(); !read) asked_.body_problem = std::move(read.error());
        co_return Result<void>();
      }
      case StepKind::machine:
      case StepKind::machine_if:
        co_return co_await object(machines, machine_kind, asked_.name, asked_.machine, step.kind == StepKind::machine);
      case StepKind::instance:
      case StepKind::instance_if:
        co_return co_await object(instances, instance_kind, asked_.name, asked_.instance,
                                  step.kind == StepKind::instance);
      case StepKind::own_instance:
        co_return co_await own_instance();
      case StepKind::claim:
        co_return co_await object(claims, claim_kind, dump_claim(asked_), asked_.claim, true);
      case StepKind::cdi:
        co_return co_await cdi();
      case StepKind::node:
        co_return co_await node();
      case StepKind::launchers:
        co_return co_await list(pods, "kubevirt.io=virt-launcher", asked_.pods);
      case StepKind::own_launchers:
        if (asked_.vmi().metadata().uid().empty()) co_return Result<void>();
        co_return co_await list(pods, fmt::format("kubevirt.io/created-by={}", asked_.vmi().metadata().uid()),
                                asked_.pods);
      case StepKind::state_claims:
        co_return co_await list(claims, fmt::format("persistent-state-for={}", asked_.name), asked_.claims);
      case StepKind::kubevirt:
        co_return co_await kubevirt();
      case StepKind::components:
        co_return co_await components();
      case StepKind::component_page:
        co_return co_await component_page();
    }
    co_return Result<void>();
  }

 private:
  const json::Value* keep(json::Value value) { return &values_.emplace_back(std::move(value)); }

  Task<Result<void>> body() {
    const auto text = co_await call_.read_body(limits::object_body_bytes_max);
    if (!text) co_return fail(text.error());
    auto value =
        co_await off_loop(call_.core(), text->size(), [&] { return read_body(asked_.action, *text, asked_.storage); });
    if (!value) co_return fail(std::move(value.error()));
    asked_.body = keep(std::move(*value));
    co_return Result<void>();
  }

  Task<Result<void>> object(ResourceName resource, std::string_view kind, std::string_view name,
                            const json::Value*& into, bool must_exist) {
    if (!can_be_asked_for(name))
      co_return fail(Status::internal_error(fmt::format("\"{}\" is not a valid name of a {}", name, kind)));
    const tracing::HandOver trace(server::span_of(call_).context());
    auto found = co_await parts_.objects.get(call_.core(), {.resource = resource, .ns = asked_.ns, .name = name},
                                             asked_.storage);
    if (found) {
      into = keep(std::move(*found));
      co_return Result<void>();
    }
    if (found.error().code != 404) co_return fail(unreadable(kind, name, found.error()));
    if (must_exist) co_return fail(not_found(kind, name));
    co_return Result<void>();
  }

  Task<Result<void>> own_instance() {
    if (auto read = co_await object(machines, machine_kind, asked_.name, asked_.machine, true); !read) co_return read;
    if (!asked_.vm().status().created())
      co_return fail(machine_conflict(
          asked_, fmt::format("the VM has no VMI: it is not running; start it with `virtctl start {}`", asked_.name)));
    if (auto read = co_await object(instances, instance_kind, asked_.name, asked_.instance, true); !read)
      co_return read;
    const std::string_view uid = asked_.vm().metadata().uid();
    for (const auto owner : asked_.vmi().metadata().owner_references())
      if (owner.uid() == uid) co_return Result<void>();
    co_return fail(Status::internal_error(
        fmt::format("VMI \"{0}\" does not belong to VM \"{0}\"; delete the VMI, or use its own path", asked_.name)));
  }

  // Without an importer its configuration is the usual one. Whoever may not look at it cannot know that (spec
  // subresources Q43).
  Task<Result<void>> cdi() {
    auto found = co_await parts_.objects.get(call_.core(), {.resource = cdi_configs, .ns = {}, .name = "config"},
                                             asked_.storage);
    if (found)
      asked_.cdi = keep(std::move(*found));
    else if (found.error().code != 404)
      co_return fail(unreadable("cdiconfig", "config", found.error()));
    co_return Result<void>();
  }

  Task<Result<void>> node() {
    const std::string_view name = left_node(asked_.vmi());
    // What cannot be a node's name is no node that is drained.
    if (!can_be_asked_for(name) || asked_.config.node_drain_taint_key().empty()) co_return Result<void>();
    auto found = co_await parts_.objects.get(call_.core(), {.resource = nodes, .ns = {}, .name = name}, asked_.storage);
    if (found)
      asked_.node = keep(std::move(*found));
    else if (found.error().code != 404)
      co_return fail(unreadable("node", name, found.error()));
    co_return Result<void>();
  }

  Task<Result<void>> list(ResourceName resource, std::string selector, std::vector<const json::Value*>& into) {
    const tracing::HandOver trace(server::span_of(call_).context());
    auto found = co_await parts_.objects.list(call_.core(), resource, asked_.ns, {.labels = selector}, asked_.storage);
    if (!found) co_return fail(unreadable(resource.plural, selector, found.error()));
    for (json::Value& value : *found) into.push_back(keep(std::move(value)));
    co_return Result<void>();
  }

  // The one that was deployed and stays.
  Task<Result<void>> kubevirt() {
    auto found = co_await parts_.objects.list(call_.core(), kubevirts, {}, {}, asked_.storage);
    if (!found) co_return fail(unreadable("kubevirt", "", found.error()));
    for (json::Value& value : *found) {
      if (!config::counts(value)) continue;
      asked_.kubevirt = keep(std::move(value));
      break;
    }
    co_return Result<void>();
  }

  // Pods are large, so they are looked at page by page, and only what is needed of them is kept.
  Task<Result<void>> components() {
    std::size_t seen = 0;
    do {
      const auto more = co_await take_components(
          {.selectors = {.labels = component_label}, .limit = pods_per_page, .continue_token = asked_.continue_token});
      if (!more) co_return fail(unreadable(pods.plural, component_label, more.error()));
      seen += *more;
      if (seen > limits::component_pods_max)
        co_return fail(Status::internal_error(
            fmt::format("namespace \"{}\" has more than {} pods with label {}, too many to find the components",
                        asked_.context.own_namespace, limits::component_pods_max, component_label)));
    } while (!asked_.continue_token.empty());
    co_return Result<void>();
  }

  Task<Result<void>> component_page() {
    const auto request = read_profiles_request(*asked_.body);
    if (!request) co_return fail(request.error());
    const auto taken = co_await take_components({.selectors = {.labels = request->label_selector},
                                                 .limit = request->page_size,
                                                 .continue_token = request->continue_token});
    if (!taken)
      co_return fail(Status::bad_request(fmt::format("the pods cannot be listed: {}", taken.error().message)));
    co_return Result<void>();
  }

  // How many pods there were on the page.
  Task<Result<std::size_t>> take_components(PageRequest page) {
    json::Arena arena;
    auto found =
        co_await parts_.objects.list_page(call_.core(), pods, asked_.context.own_namespace, page, arena.storage());
    if (!found) co_return fail(std::move(found.error()));
    for (const json::Value& pod : found->objects)
      if (auto component = component_of(pod)) asked_.components.push_back(std::move(*component));
    asked_.continue_token = std::move(found->continue_token);
    co_return found->objects.size();
  }

  ActionCase& asked_;
  Gathered& values_;
  const Parts& parts_;
  server::Call& call_;
};

}  // namespace

Task<Result<void>> gather(ActionCase& asked, Gathered& values, const Parts& parts, server::Call& call) {
  Gatherer gatherer(asked, values, parts, call);
  for (const GatherStep& step : asked.action.steps)
    if (auto taken = co_await gatherer.take(step); !taken) co_return taken;
  co_return Result<void>();
}

}  // namespace vg::actions
