// The webhooks: one row a path (spec server 5.2 and 5.3). Routing, the check of what a review is about, and the choice
// of rules all start from a row of this table.
#pragma once

#include <span>
#include <string_view>

namespace vg::admission {

// What a webhook is asked about.
struct Subject {
  std::string_view resource;      // plural
  std::string_view sub_resource;  // empty for the resource itself
  std::string_view kind;          // of the object in the review
  std::string_view kind_group;    // differs from the resource's group only for subresources of other groups
};

struct Webhook {
  std::string_view path;
  std::string_view name;  // under which it is registered with Kubernetes; a refusal tells it
  bool mutating;
  std::string_view group;
  std::span<const std::string_view> versions;
  std::span<const Subject> subjects;
};

// All of them, 22 validating and 5 mutating, each path once.
std::span<const Webhook> webhooks();

// Null when there is none at that path.
const Webhook* find_webhook(std::string_view path);

// The subject that a review with this resource is about. A webhook with one subject has no choice; null when a webhook
// with several knows none of that name.
const Subject* find_subject(const Webhook& webhook, std::string_view resource);

}  // namespace vg::admission
