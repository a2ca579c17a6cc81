// What a writer asks for besides the object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ports/stored_object.h"

namespace vg::resources {

enum class FieldValidation : std::uint8_t { ignore, warn, strict };

// CreateOptions, UpdateOptions and PatchOptions.
struct WriteOptions {
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::warn;
  std::string field_manager = {};  // empty: not said
  std::optional<bool> force = {};  // of an apply: take over what others own
};

enum class Propagation : std::uint8_t { unset, background, foreground, orphan };

struct DeleteOptions {
  bool dry_run = false;
  std::optional<std::string> uid;    // precondition
  std::optional<Revision> revision;  // precondition
  std::optional<std::int64_t> grace_period_seconds;
  Propagation propagation = Propagation::unset;
  bool cascade_stated = false;  // orphanDependents=false: a client that expects to wait
};

}  // namespace vg::resources
