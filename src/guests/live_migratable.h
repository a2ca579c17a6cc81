// Whether a VMI can be moved while it runs, as its node judges it (spec vmi-lifecycle 3.7).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/cluster_config.h"
#include "controllers/nodes.h"
#include "controllers/vmi/draft.h"
#include "json/value.h"

namespace vg::guests {

struct Migratable {
  std::string_view reason;  // why not; empty: it is
  std::string message;
  bool block = false;           // disks are copied
  std::string storage_reasons;  // why its volumes cannot be moved; empty: they can
};

// Whether the state of a persistent TPM can be handed to another node: not between two emulators on one folder.
enum class TpmState : std::uint8_t { moves, stays };

Migratable judge_migration(const json::Object& vmi, const controllers::NodeInfo& node,
                           const config::ClusterConfig& config, TpmState tpm = TpmState::moves);
// The two conditions and status.migrationMethod.
void show_migratable(controllers::vmi::Draft& guest, const controllers::NodeInfo& node, TpmState tpm = TpmState::moves);

}  // namespace vg::guests
