// The seam between a write and the admission rules. A write passes it twice, as in Kubernetes: rules that change the
// object first, rules that only judge it last, when nothing changes any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admit.h"
#include "base/request_record.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::resources {

enum class Stage : std::uint8_t { mutate, validate };
enum class WriteOperation : std::uint8_t { create, update };

struct AdmissionRequest {
  Stage stage = Stage::mutate;
  WriteOperation operation = WriteOperation::create;
  const Resource& resource;
  std::string_view version;      // in which the client speaks
  std::string_view subresource;  // "", "status", "scale", "eviction"
  std::string_view ns, name;     // name: empty for a create with generateName
  const User& user;
  bool dry_run = false;
  json::Value* object = nullptr;            // changed in place when mutating
  const json::Value* old_object = nullptr;  // null for a create
  // Where rules leave what they want done to other objects; null where no rule wants anything.
  std::vector<admission::SideEffect>* effects = nullptr;
  // Receives the id of the rule that ended the matter without a cause; null where nobody asks.
  std::string_view* refused_by = nullptr;
  // Receive what was looked up, and what was changed; null where nobody asks.
  std::vector<record::Seen>* seen = nullptr;
  std::vector<record::Change>* changes = nullptr;
};

struct AdmissionOutcome {
  bool changed = false;  // the object was patched: what the schema drops and fills in must be done again
};

// Asks every webhook that is registered for such a write. The first refusal is the answer. Warnings are appended.
Result<AdmissionOutcome> run_admission(const AdmissionRequest& request, const admission::Environment& environment,
                                       const json::StoragePtr& storage, std::vector<std::string>& warnings);

}  // namespace vg::resources
