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

api::kubevirt::LaunchSecurity launch_security(const ActionCase& about) {
  return about.vmi().spec().domain().launch_security();
}

std::optional<Status> find_no_attestation(const ActionCase& about) {
  const auto security = launch_security(about);
  if (security.sev().attestation() && !security.snp()) return std::nullopt;
  return instance_conflict(about,
                           "attestation is not enabled; set spec.domain.launchSecurity.sev.attestation, without snp, "
                           "before the VM starts");
}

std::optional<Status> measured_obstacle(const ActionCase& about) {
  if (about.phase() != "Running") return not_running(about, "no attestation");
  if (auto missing = find_no_attestation(about)) return missing;
  if (has_condition(about.vmi(), "Paused")) return std::nullopt;
  return instance_conflict(about,
                           "the guest is already running and can be attested only while it is paused; "
                           "start it with startStrategy Paused");
}

}  // namespace

Decision decide_fetch_cert_chain(const ActionCase& about) {
  if (about.phase() != "Scheduled" && about.phase() != "Running")
    return fail(
        instance_conflict(about, fmt::format("the VMI is not on a node yet (phase {}); wait for phase Scheduled",
                                             printed_phase(about.phase()))));
  if (auto missing = find_no_attestation(about)) return fail(std::move(*missing));
  return call_node(about, {.method = "GET", .suffix = "sev/fetchcertchain", .answer = CallNode::Answer::document});
}

Decision decide_query_measurement(const ActionCase& about) {
  if (auto obstacle = measured_obstacle(about)) return fail(std::move(*obstacle));
  return call_node(about,
                   {.method = "GET", .suffix = "sev/querylaunchmeasurement", .answer = CallNode::Answer::document});
}

Decision decide_inject_secret(const ActionCase& about) {
  if (auto obstacle = measured_obstacle(about)) return fail(std::move(*obstacle));
  return call_node(about, {.suffix = "sev/injectlaunchsecret", .forward_body = true});
}

std::optional<Status> check_session(const ActionCase& about) {
  const auto options = about.options<SEVSessionOptions>();
  if (options.session().empty())
    return Status::bad_request("session is required: the session blob of the owner, in base64");
  if (options.dh_cert().empty())
    return Status::bad_request("dhCert is required: the Diffie-Hellman certificate of the owner, in base64");
  return std::nullopt;
}

Decision decide_setup_session(const ActionCase& about) {
  if (about.phase() != "Scheduled")
    return fail(instance_conflict(
        about, fmt::format("a session can be set up only in phase Scheduled, before the guest starts; "
                           "the VMI is in phase {}",
                           printed_phase(about.phase()))));
  if (auto missing = find_no_attestation(about)) return fail(std::move(*missing));
  const auto sev = launch_security(about).sev();
  if (!sev.session().empty() || !sev.dh_cert().empty())
    return fail(instance_conflict(about, "the VMI already has a session, which cannot be replaced; restart the VM"));
  json::PatchBuilder builder(about.storage);
  constexpr std::string_view path = "/spec/domain/launchSecurity/sev";
  json::Value before(*sev.object(), about.storage);
  json::Value after(before, about.storage);
  const auto options = about.options<SEVSessionOptions>();
  after.get_object()["session"] = text_of(options.session(), about);
  after.get_object()["dhCert"] = text_of(options.dh_cert(), about);
  builder.test(path, std::move(before)).replace(path, std::move(after));
  return effects(PatchObject{.resource = instances, .part = "", .operations = builder.take()});
}

}  // namespace vg::actions
