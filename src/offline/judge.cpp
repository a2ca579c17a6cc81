#include "offline/judge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "admission/admit.h"
#include "admission/lookup_session.h"
#include "admission/store_lookups.h"
#include "auth/identify.h"
#include "json/access.h"
#include "objects/object_writes.h"
#include "offline/waiting_core.h"

namespace vg::offline {
namespace {

constexpr std::string_view manager = "virtgate";

// Whoever checks a file may do everything: it is the object that is judged.
class EverythingIsAllowed final : public Authorizer, public auth::RuleResolver {
 public:
  Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes&) override {
    co_return AccessDecision{.allowed = true, .reason = "nobody is asked without a server"};
  }
  std::vector<auth::PolicyRule> rules_for(const User&, std::string_view) const override {
    return {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}};
  }
  Result<std::vector<auth::PolicyRule>> rules_of_role(std::string_view, std::string_view,
                                                      std::string_view) const override {
    return std::vector<auth::PolicyRule>();
  }
};

// What is used up already is not known here.
class NothingIsCounted final : public resources::Quotas {
 public:
  std::optional<Status> find_problem(const ObjectKey&, const json::Object*, const json::Object&) const override {
    return std::nullopt;
  }
  Task<void> counted(Core&, ObjectKey) override { co_return; }
};

const User& administrator() {
  static const User user{.name = "kubernetes-admin",
                         .uid = {},
                         .groups = {std::string(auth::administrators_group), "system:authenticated"},
                         .extra = {}};
  return user;
}

ObjectKey key_of(const Candidate& candidate) {
  const json::Object* metadata = json::get_object(candidate.object, "metadata");
  return {candidate.resource.key, std::string(candidate.ns),
          std::string(metadata ? json::get_string_or(*metadata, "name") : std::string_view())};
}

ServerAnswer judge_once(const Candidate& candidate, const World& world, StandIn stand_in) {
  ObjectsBeside store(world.known, key_of(candidate), stand_in, !world.complete);
  const admission::StoreLookups at_hand(store);
  const admission::ReadyLookups lookups(at_hand);
  const admission::Environment environment{
      .config = world.config, .lookups = lookups, .clock = world.clock, .randomness = world.randomness};
  resources::Commits commits(store);
  EverythingIsAllowed allowed;
  NothingIsCounted quotas;
  resources::AdmissionPolicies policies(store);
  resources::Backend backend{.store = store,
                             .commits = commits,
                             .authorizer = allowed,
                             .clock = world.clock,
                             .admission = environment,
                             .rules = allowed,
                             .quotas = quotas,
                             .policies = policies};
  WaitingCore core;
  resources::ObjectRequest request(backend, core, nullptr, candidate.resource, candidate.version,
                                   candidate.user ? *candidate.user : administrator(), {.ns = candidate.ns});
  request.manager = manager;
  request.set_options({.dry_run = true, .field_validation = resources::FieldValidation::ignore});
  ServerAnswer answer;
  request.field_problems = &answer.fields;
  auto made = core.run(resources::create(request, {.object = json::Value(candidate.object, request.storage())}));
  if (made) {
    answer.object = std::move(*made);
  } else {
    answer.refusal = std::move(made.error());
    answer.rule = request.refused_by;
  }
  answer.failure = store.failure();
  answer.warnings = std::move(request.warnings);
  if (candidate.version.deprecated) answer.warnings.emplace_back(candidate.version.warning);
  answer.missing = store.missing();
  answer.asked = store.asked();
  return answer;
}

bool same_finding(const StatusCause& a, const StatusCause& b) {
  return a.reason == b.reason && a.field == b.field && a.rule == b.rule;
}

// What both refusals have in common; nothing when that is nothing.
std::optional<Status> common(const std::optional<Status>& a, const std::optional<Status>& b) {
  if (!a || !b || a->code != b->code) return std::nullopt;
  if (a->details.causes.empty() && b->details.causes.empty()) return a;
  Status both = *a;
  std::erase_if(both.details.causes, [&](const StatusCause& cause) {
    return std::ranges::none_of(b->details.causes,
                                [&](const StatusCause& other) { return same_finding(cause, other); });
  });
  if (both.details.causes.empty()) return std::nullopt;
  return both;
}

}  // namespace

ServerAnswer judge(const Candidate& candidate, const World& world) {
  ServerAnswer plain = judge_once(candidate, world, StandIn::none);
  const bool only_namespaces =
      std::ranges::all_of(plain.missing, [](const Missing& missing) { return missing.resource == "namespaces"; });
  if (world.complete || only_namespaces || !plain.refusal || !plain.failure.empty()) return plain;
  // Refused, and something was not found. What would be wrong whatever that is?
  ServerAnswer modest = judge_once(candidate, world, StandIn::modest);
  ServerAnswer ample = judge_once(candidate, world, StandIn::ample);
  modest.refusal = common(modest.refusal, ample.refusal);
  if (!modest.object) modest.object = std::move(ample.object);
  modest.missing = std::move(plain.missing);
  modest.asked.merge(plain.asked);
  modest.asked.merge(ample.asked);
  return modest;
}

}  // namespace vg::offline
