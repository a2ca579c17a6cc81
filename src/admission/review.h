// The envelope of a webhook call (spec server 5.4 and 5.5): reading the review, writing the answer. Pure functions.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

enum class Operation { create, update, remove, connect, other };

struct GroupVersionKind {
  std::string_view group, version, kind;
};
struct GroupVersionResource {
  std::string_view group, version, resource;
};

struct UserInfo {
  std::string_view username, uid;
  const json::Array* groups = nullptr;  // of strings (or null, which stands for an empty one)
  const json::Object* extra = nullptr;  // from string to a list of strings
};

// Everything refers to the document that it was read from.
struct Review {
  std::string_view api_version;  // of the envelope
  std::string_view uid;
  GroupVersionKind kind, request_kind;
  GroupVersionResource resource, request_resource;
  std::string_view sub_resource, request_sub_resource;
  std::string_view name, name_space;
  std::string_view operation_name;
  UserInfo user;
  bool dry_run = false;
  // Null when absent or null in the review. Objects are brought into canonical form where they lie.
  json::Value* object = nullptr;
  json::Value* old_object = nullptr;
  const json::Value* options = nullptr;

  Operation operation() const;
};

enum class ReviewError {
  malformed,   // a value has a type that Go's decoder refuses: 400 without a body
  no_request,  // nothing to decide on; upstream crashes here
};

// As Go decodes: unknown members are ignored, names match whatever their case, null leaves a field as it was.
std::expected<Review, ReviewError> read_review(json::Value& document);

// What a verdict wants done to another object. Rules only say so: whoever asked carries it out before it answers
// (carry_out.h).
struct SideEffect {
  std::string resource;  // as Lookups names it
  std::string ns, name;
  json::Value patch;     // a JSON Patch, in memory of the request
  bool dry_run = false;  // only find out whether it could be done
  Status failure;        // the answer when it cannot be done; why is added to its message
};

// One operation of the patch that leads from the object as it was sent to the object as it is now.
struct PatchStep {
  std::string_view op;
  std::string_view path;
  const json::Value* value;  // inside the object
};

// What a webhook decided.
struct Verdict {
  bool allowed = true;
  std::vector<std::string> warnings;     // shown to the user by kubectl
  std::vector<PatchStep> patch;          // empty for none; valid as long as the object is
  std::vector<SideEffect> effects = {};  // in their order
  std::string_view rule = {};            // the id of the rule that ended the matter; causes have their own
  std::optional<Failure> refused;  // holds refusal(): behind a pointer, since verdicts are handed on and rarely refuse

  // Says nothing where allowed. A code of 0 and empty texts are left out of the answer.
  const Status& refusal() const;

  // Which rules refuse it, in the order of causes, each once: "MEM-01, DISK-04". Empty where no rule did.
  std::string rule_ids() const;

  static Verdict allow() { return {}; }
  static Verdict refuse(Status status);
  // The object or the request cannot be judged at all: 400, no reason, no details.
  static Verdict error(std::string message);
  // The object breaks rules: 422 with causes. Only the first ten are told; the message says how many more there are.
  static Verdict invalid(std::vector<StatusCause> causes);
};

// Upstream cuts the list of causes here (spec server Q21); clients see it, so it is part of the contract.
inline constexpr std::size_t told_causes_max = 10;

// The patch as a JSON Patch: its text, which is empty without steps, or its operations.
std::string print_patch(std::span<const PatchStep> patch);
json::Value patch_operations(std::span<const PatchStep> patch, const json::StoragePtr& storage);

// Appends the answer's body.
void write_answer(std::string& out, bool mutating, const Review& review, const Verdict& verdict);

}  // namespace vg::admission
