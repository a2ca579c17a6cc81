#include "simulated/calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/limits.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"
#include "simulated/made_up.h"
#include "simulated/settings.h"
#include "simulated/stats.h"

namespace vg::simulated {
namespace {

using controllers::EventType;
using json::Object;
using std::string_view;

Answered refused(int code, string_view phrase, std::string why) {
  return {.answer = {.status = code, .phrase = std::string(phrase), .body = std::move(why)}};
}

Answered accepted() { return {.answer = {.status = 202, .phrase = "Accepted", .body = {}}}; }

Answered document(const Object& object) {
  return {.answer = {.status = 200, .phrase = "OK", .body = json::to_text(json::Value(object))}};
}

Object& status_of(Object& vmi) { return json::ensure_object(vmi, "status"); }
const Object* read_status(const Asked& asked) { return json::get_object(asked.vmi, "status"); }

void tell(Answered& answered, string_view reason, string_view message) {
  answered.told.push_back(
      {.event = {.type = EventType::normal, .reason = std::string(reason), .message = std::string(message)}});
}

Answered changed(const Asked& asked) {
  Answered answered = accepted();
  answered.vmi.emplace(asked.vmi, asked.storage);
  return answered;
}

Answered pause(const Asked& asked) {  // STP-25
  Answered answered = changed(asked);
  const std::string now = controllers::time_text(asked.now);
  controllers::set_condition(status_of(*answered.vmi), {.type = "Paused",
                                                        .status = "True",
                                                        .reason = "PausedByUser",
                                                        .message = "VMI was paused by user",
                                                        .last_probe = now,
                                                        .last_transition = now});
  tell(answered, "Paused", "VirtualMachineInstance paused");
  return answered;
}

Answered unpause(const Asked& asked) {  // STP-26
  Answered answered = changed(asked);
  controllers::drop_condition(status_of(*answered.vmi), "Paused");
  tell(answered, "Unpaused", "VirtualMachineInstance unpaused");
  return answered;
}

// The agent comes back by itself, once the guest has booted.
void lose_agent(const Asked& asked, Object& vmi) {
  Object& status = status_of(vmi);
  controllers::drop_condition(status, "AgentConnected");
  if (const json::Array* old = json::get_array(status, "interfaces"))
    status["interfaces"] = interfaces_of(vmi, old, {}, asked.storage);
}

Answered soft_reboot(const Asked& asked) {  // STP-27
  Answered answered = changed(asked);
  lose_agent(asked, *answered.vmi);
  tell(answered, "SoftRebooted", "VirtualMachineInstance rebooted");
  return answered;
}

Answered reset(const Asked& asked) {  // STP-28
  Answered answered = changed(asked);
  lose_agent(asked, *answered.vmi);
  tell(answered, "Reset", "VirtualMachineInstance reset");
  return answered;
}

std::optional<std::chrono::nanoseconds> read_timeout(const Asked& asked) {
  const auto body = json::parse(asked.body, asked.storage, {.bytes_max = limits::object_body_bytes_max});
  if (!body) return std::nullopt;
  const auto text = json::get_string(*body, "unfreezeTimeout");
  const auto timeout = text ? parse_duration(*text) : parse_duration("");
  return timeout ? std::optional(*timeout) : std::nullopt;
}

bool is_migrating(const Asked& asked) {
  const Object* status = read_status(asked);
  const Object* state = status ? json::get_object(*status, "migrationState") : nullptr;
  return state && state->contains("startTimestamp") && !state->contains("endTimestamp");
}

Answered freeze(const Asked& asked) {  // STP-29
  const auto timeout = read_timeout(asked);
  if (!timeout) return refused(400, "Bad Request", "unfreezeTimeout is required, such as 5m0s");
  if (is_migrating(asked)) return refused(400, "Bad Request", "the VMI is migrating; freeze it afterwards");
  if (!controllers::is_true(read_status(asked), "AgentConnected"))
    return refused(400, "Bad Request", "the guest agent is not connected");
  Answered answered = changed(asked);
  status_of(*answered.vmi)["fsFreezeStatus"] = "frozen";
  if (*timeout > std::chrono::nanoseconds::zero())
    json::ensure_path(*answered.vmi, {"metadata", "annotations"})[thaw_annotation] =
        controllers::time_text(std::chrono::ceil<std::chrono::seconds>(asked.now + bounded(*timeout)));
  return answered;
}

Answered unfreeze(const Asked& asked) {  // STP-30
  Answered answered = changed(asked);
  json::erase(status_of(*answered.vmi), "fsFreezeStatus");
  json::erase(json::ensure_path(*answered.vmi, {"metadata", "annotations"}), thaw_annotation);
  return answered;
}

struct Call {
  string_view what;
  Answered (*answer)(const Asked& asked);
};
constexpr Call calls[] = {
    {"pause", pause},
    {"unpause", unpause},
    {"softreboot", soft_reboot},
    {"reset", reset},
    {"freeze", freeze},
    {"unfreeze", unfreeze},
    {"stats", [](const Asked& asked) { return document(guest_stats(asked.vmi, asked.now, asked.storage)); }},
    {"guestosinfo", [](const Asked& asked) { return document(guest_info(asked.vmi, asked.storage)); }},
    {"userlist", [](const Asked& asked) { return document(user_list(asked.storage)); }},
    {"filesystemlist", [](const Asked& asked) { return document(filesystem_list(asked.storage)); }},
};

}  // namespace

Answered answer_call(const Asked& asked) {
  const auto* call = std::ranges::find(calls, asked.what, &Call::what);
  if (call != std::end(calls)) return call->answer(asked);
  return refused(501, "Not Implemented", fmt::format("{} is not supported by simulated nodes", asked.what));
}

CallTarget read_target(string_view target) {
  constexpr string_view before_ns = "/v1/namespaces/", before_name = "/virtualmachineinstances/";
  target = target.substr(0, target.find('?'));
  if (!target.starts_with(before_ns)) return {};
  target.remove_prefix(before_ns.size());
  const std::size_t name_at = target.find(before_name);
  if (name_at == string_view::npos) return {};
  const string_view rest = target.substr(name_at + before_name.size());
  const std::size_t slash = rest.find('/');
  if (slash == string_view::npos) return {};
  return {.ns = target.substr(0, name_at), .name = rest.substr(0, slash), .what = rest.substr(slash + 1)};
}

}  // namespace vg::simulated
