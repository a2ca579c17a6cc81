#include <fmt/format.h>

#include <string>
#include <utility>

#include "auth/forbidden.h"
#include "base/ui_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "ui/answers.h"
#include "ui/questions.h"

namespace vg::ui {
namespace {

using server::Call;
using std::string_view;

constexpr string_view vmi_group = "kubevirt.io", vmi_plural = "virtualmachineinstances";

// What the node says is passed on only if it is what it should be.
Result<std::string> document_of(NodeAnswer answer) {
  switch (answer.status) {
    case 200:
      break;
    case 404:
    case 409:
      return fail(
          Status::conflict(std::string(vmi_group), std::string(vmi_plural), "", "the guest does not run on its node"));
    case 501:
      return fail(
          {.code = 501, .reason = "NotImplemented", .message = "the node of the VMI has no statistics", .details = {}});
    default:
      return fail(
          Status::unavailable(fmt::format("the node answered {} when it was asked for statistics", answer.status)));
  }
  if (answer.body.size() > limits::ui_stats_bytes_max || !json::Document::parse(answer.body))
    return fail(Status::internal_error("the node's statistics cannot be read"));
  return std::move(answer.body);
}

Task<Result<std::string>> ask_node(Core& core, NodeLink& nodes, std::string node, StoryTarget target) {
  const auto address = co_await nodes.find(core, node);
  if (!address) co_return fail(address.error());
  const std::string path = fmt::format("/v1/namespaces/{}/{}/{}/stats", target.ns, vmi_plural, target.name);
  auto answer = co_await nodes.call(
      core, *address,
      {.method = "GET", .target = path, .body = {}, .accept_json = true, .timeout = limits::ui_stats_deadline});
  if (!answer) co_return fail(std::move(answer.error()));
  co_return document_of(std::move(*answer));
}

Task<void> answer_stats(Call& call, const User& user, StoryTarget target, const StatsParts& parts) {
  AccessAttributes asked{};
  asked.verb = "get";
  asked.group = vmi_group;
  asked.version = "v1";
  asked.resource = vmi_plural;
  asked.ns = target.ns;
  asked.name = target.name;
  const auto decision = co_await parts.authorizer.authorize(call.core(), user, asked);
  if (!decision) co_return refuse(call, decision.error());
  if (!decision->allowed) co_return refuse(call, auth::forbidden(user, asked, decision->reason));
  const ObjectPtr stored = parts.store.get(fmt::format("{}/{}", vmi_group, vmi_plural), target.ns, target.name);
  if (!stored)
    co_return refuse(call,
                     Status::not_found(std::string(vmi_group), std::string(vmi_plural), std::string(target.name)));
  json::Document memory;
  auto node = node_of_guest(resources::load_object(*stored, memory.storage()));
  if (!node) co_return refuse(call, node.error());
  auto told = co_await ask_node(call.core(), parts.nodes, std::move(*node), target);
  if (!told) co_return refuse(call, told.error());
  respond(call, {.status = 200, .content_type = "application/json", .body = std::move(*told)});
}

}  // namespace

Result<std::string> node_of_guest(const json::Value& vmi) {
  const json::Value* status = json::find(vmi, "status");
  const string_view node = status ? json::get_string_or(*status, "nodeName") : string_view();
  if (!status || json::get_string_or(*status, "phase") != "Running" || node.empty())
    return fail(Status::conflict(std::string(vmi_group), std::string(vmi_plural),
                                 std::string(story::Object(&vmi).name()), "the VMI is not running"));
  return std::string(node);
}

void add_stats_question(UiService& service, const StatsParts& parts) {
  service.add_question("GET", "stats/", [parts](Call& call, const User& user, string_view rest) -> Task<void> {
    const auto target = read_story_target(rest);
    if (!target || target->resource != vmi_plural)
      co_return refuse(call, Status::bad_request("the path must be namespaces/NS/virtualmachineinstances/NAME"));
    co_await answer_stats(call, user, *target, parts);
  });
}

}  // namespace vg::ui
