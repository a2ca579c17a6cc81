// The webhooks: one row a path (spec server 5.2 and 5.3). Routing, what a review must be about, the steps that judge it
// and the rules or defaults that are asked all come from a row of this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "config/gates.h"
#include "json/value.h"

namespace vg::admission {

struct Case;
struct Rule;
struct Verdict;

// What a webhook is asked about.
struct Subject {
  std::string_view resource;      // plural
  std::string_view sub_resource;  // empty for the resource itself
  std::string_view kind;          // of the object in the review
  std::string_view kind_group;    // differs from the resource's group only for subresources of other groups
};

// Which writes it is registered for.
enum class Operations : std::uint8_t { create_and_update, create, update };

// Upstream's webhooks differ in the order of their steps, and clients see it: it decides which of several problems is
// told.
enum class Step : std::uint8_t {
  writes_only,      // allow whatever is neither a create nor an update
  creates_only,     // allow whatever is no create
  resource,         // refuse a review about another group or resource
  exact_resource,   // the same, and the version must be one of the webhook's
  machines_only,    // allow whatever is not about virtualmachines
  gate,             // refuse a create while the webhook's gate is off
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

struct Webhook {
  std::string_view path;
  std::string_view name;  // under which it is registered with Kubernetes; a refusal tells it
  std::string_view group;
  std::span<const std::string_view> versions;
  std::span<const Subject> subjects;
  Operations operations = Operations::create_and_update;
  std::span<const Step> steps;
  std::string_view schema = {};  // the kind whose definitions are used
  std::optional<config::Gate> gate = {};
  // A validating webhook has rules, a mutating one a function that completes the object where it lies, which may have
  // rules of its own before it.
  std::span<const Rule> (*rules)() = nullptr;
  Verdict (*complete)(const Case& judged) = nullptr;
  // Whether it is registered for this object at all; null: for every one of its subjects.
  bool (*selects)(const json::Value& object) = nullptr;

  bool mutating() const { return complete != nullptr; }
  bool takes_creates() const { return operations != Operations::update; }
  bool takes_updates() const { return operations != Operations::create; }
};

// All of them, 22 validating and 5 mutating, each path once.
std::span<const Webhook> webhooks();

// Null when there is none at that path.
const Webhook* find_webhook(std::string_view path);

// The subject that a review with this resource is about. A webhook with one subject has no choice; null when a webhook
// with several knows none of that name.
const Subject* find_subject(const Webhook& webhook, std::string_view resource);

}  // namespace vg::admission
