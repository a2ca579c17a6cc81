#include "kube/story_facts.h"

#include <fmt/format.h>

#include <utility>

#include "json/access.h"
#include "kube/paths.h"
#include "story/facts.h"

namespace vg::kube {
namespace {

using std::string_view;

constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr ResourceName vmis{"kubevirt.io", "v1", "virtualmachineinstances"};
constexpr ResourceName migrations{"kubevirt.io", "v1", "virtualmachineinstancemigrations"};
constexpr ResourceName kubevirts{"kubevirt.io", "v1", "kubevirts"};
constexpr ResourceName claims{"", "v1", "persistentvolumeclaims"};
constexpr ResourceName data_volumes{"cdi.kubevirt.io", "v1beta1", "datavolumes"};
constexpr ResourceName nodes{"", "v1", "nodes"};
constexpr ResourceName events{"", "v1", "events"};

struct Told {
  string_view key;
  ResourceName resource;
};
constexpr Told told[] = {{"vm", vms}, {"vmi", vmis}, {"migration", migrations}};  // by Subject

}  // namespace

Task<Result<void>> StoryFacts::need(Core& core, string_view key, ResourceName resource, std::string name) {
  auto found = co_await client_.get(core, {resource, ns_, name}, {}, asker_);
  if (!found) co_return fail(found.error());
  facts_.as_object()[key] = std::move(*found);
  co_return Result<void>();
}

Task<void> StoryFacts::want(Core& core, string_view key, ObjectName object) {
  auto found = co_await client_.get(core, object, {}, asker_);
  if (found)
    facts_.as_object()[key] = std::move(*found);
  else if (found.error().code != 404)
    unread_.push_back({std::string(object.resource.plural), found.error().message});
}

Task<void> StoryFacts::want_list(Core& core, string_view key, ResourceName resource, string_view ns,
                                 string_view selector) {
  std::string query;
  if (!selector.empty()) query += fmt::format("?fieldSelector={}", percent_encode(selector));
  if (list_max_ > 0) query += fmt::format("{}limit={}", query.empty() ? '?' : '&', list_max_);
  auto found = co_await client_.list(core, resource, ns, std::move(query), {}, limits::client_answer_bytes_max, asker_);
  json::Array* items = found ? json::get_array(*found, "items") : nullptr;
  if (items)
    facts_.as_object()[key] = std::move(*items);
  else if (!found && found.error().code != 404)
    unread_.push_back({std::string(resource.plural), found.error().message});
}

Task<Result<void>> StoryFacts::gather(Core& core, story::Subject subject, std::string name) {
  const auto& [key, resource] = told[static_cast<std::size_t>(subject)];
  if (auto there = co_await need(core, key, resource, name); !there) co_return there;
  // A VM and its VMI have one name.
  const std::string vmi(subject == story::Subject::migration
                            ? story::Object(&facts_).text({"migration", "spec", "vmiName"})
                            : string_view(name));
  if (subject == story::Subject::migration) co_await want(core, "vm", {vms, ns_, vmi});
  if (subject != story::Subject::vmi) co_await want(core, "vmi", {vmis, ns_, vmi});
  co_await want(core, "kubevirt", {kubevirts, "kubevirt", "kubevirt"});
  co_await want_list(core, "claims", claims, ns_);
  co_await want_list(core, "dataVolumes", data_volumes, ns_);
  co_await want_list(core, "nodes", nodes, "");
  if (subject == story::Subject::migration) co_await want_list(core, "migrations", migrations, "");
  co_await want_list(core, "events", events, ns_, fmt::format("involvedObject.name={}", name));
  co_return Result<void>();
}

}  // namespace vg::kube
