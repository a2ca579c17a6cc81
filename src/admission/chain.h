// What happens to a review, as one sentence a webhook: the steps in their order, and what they need. Upstream's
// webhooks differ in that order, and clients see it: it decides which of several problems is told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "admission/context.h"
#include "admission/rule.h"
#include "config/gates.h"

namespace vg::admission {

enum class Step : std::uint8_t {
  writes_only,      // allow whatever is neither a create nor an update
  creates_only,     // allow whatever is no create
  resource,         // refuse a review about another group or resource
  exact_resource,   // the same, and the version must be one of the webhook's
  machines_only,    // allow whatever is not about virtualmachines
  gate,             // refuse a create while the chain's gate is off
  schema,           // the check against upstream's definitions, on the object as it was sent
  status_schema,    // the same for status alone, of the kind that the object claims to be
  decode,           // bring the object into canonical form, or refuse
  decode_old,       // on an update, the old object as well
  try_old,          // the same, but an old object that cannot be read counts as none
  any_old,          // the same whatever is done: a review can bring an old object that it has no need for
  living,           // allow an object that is being deleted
  expand,           // for the rules: the machine that a VM comes to, with instance type, preference and defaults
  known_operation,  // refuse whatever is neither a create nor an update
  rules,
  defaults,
};

struct Chain {
  std::string_view path;
  std::span<const Step> steps;
  std::string_view schema = {};  // the kind whose definitions are used
  std::optional<config::Gate> gate = {};
  std::span<const Rule> (*rules)() = nullptr;
  Mutator mutate = nullptr;
};

// One for each webhook, in the order of webhooks().
std::span<const Chain> chains();

// Carries the chain of this webhook out.
Verdict run_chain(const Webhook& webhook, const Review& review, const Context& context);

}  // namespace vg::admission
