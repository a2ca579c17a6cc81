// Attestation of guests that AMD SEV protects (spec subresources 2.9).
#include <fmt/format.h>

#include <utility>

#include "actions/decisions.h"
#include "actions/node_calls.h"
#include "api/views/subresources.h"
#include "api/views/vmi_domain.h"
#include "json/patch.h"

namespace vg::actions {
namespace {

using api::kubevirt::SEVSessionOptions;

api::kubevirt::LaunchSecurity launch_security(const ActionCase& asked) {
  return asked.vmi().spec().domain().launch_security();
}

std::optional<Status> find_no_attestation(const ActionCase& asked) {
  const auto security = launch_security(asked);
  if (security.sev().attestation() && !security.snp()) return std::nullopt;
  return instance_conflict(asked,
                           "attestation is not enabled; set spec.domain.launchSecurity.sev.attestation, without snp, "
                           "before the VM starts");
}

std::optional<Status> measured_obstacle(const ActionCase& asked) {
  if (asked.phase() != "Running") return not_running(asked, "no attestation");
  if (auto missing = find_no_attestation(asked)) return missing;
  if (has_condition(asked.vmi(), "Paused")) return std::nullopt;
  return instance_conflict(asked,
                           "the guest is already running and can be attested only while it is paused; "
                           "start it with startStrategy Paused");
}

}  // namespace

Decision decide_fetch_cert_chain(const ActionCase& asked) {
  if (asked.phase() != "Scheduled" && asked.phase() != "Running")
    return fail(
        instance_conflict(asked, fmt::format("the VMI is not on a node yet (phase {}); wait for phase Scheduled",
                                             printed_phase(asked.phase()))));
  if (auto missing = find_no_attestation(asked)) return fail(std::move(*missing));
  return call_node(asked, {.method = "GET", .suffix = "sev/fetchcertchain", .answer = CallNode::Answer::document});
}

Decision decide_query_measurement(const ActionCase& asked) {
  if (auto obstacle = measured_obstacle(asked)) return fail(std::move(*obstacle));
  return call_node(asked,
                   {.method = "GET", .suffix = "sev/querylaunchmeasurement", .answer = CallNode::Answer::document});
}

Decision decide_inject_secret(const ActionCase& asked) {
  if (auto obstacle = measured_obstacle(asked)) return fail(std::move(*obstacle));
  return call_node(asked, {.suffix = "sev/injectlaunchsecret", .forward_body = true});
}

std::optional<Status> check_session(const ActionCase& asked) {
  const auto options = asked.options<SEVSessionOptions>();
  if (options.session().empty())
    return Status::bad_request("session is required: the session blob of the owner, in base64");
  if (options.dh_cert().empty())
    return Status::bad_request("dhCert is required: the Diffie-Hellman certificate of the owner, in base64");
  return std::nullopt;
}

Decision decide_setup_session(const ActionCase& asked) {
  if (asked.phase() != "Scheduled")
    return fail(instance_conflict(
        asked, fmt::format("a session can be set up only in phase Scheduled, before the guest starts; "
                           "the VMI is in phase {}",
                           printed_phase(asked.phase()))));
  if (auto missing = find_no_attestation(asked)) return fail(std::move(*missing));
  const auto sev = launch_security(asked).sev();
  if (!sev.session().empty() || !sev.dh_cert().empty())
    return fail(instance_conflict(asked, "the VMI already has a session, which cannot be replaced; restart the VM"));
  json::PatchBuilder builder(asked.storage);
  constexpr std::string_view path = "/spec/domain/launchSecurity/sev";
  json::Value before(*sev.object(), asked.storage);
  json::Value after(before, asked.storage);
  const auto options = asked.options<SEVSessionOptions>();
  after.get_object()["session"] = text_of(options.session(), asked);
  after.get_object()["dhCert"] = text_of(options.dh_cert(), asked);
  builder.test(path, std::move(before)).replace(path, std::move(after));
  return effects(PatchObject{.resource = instances, .part = "", .operations = builder.take()});
}

}  // namespace vg::actions
