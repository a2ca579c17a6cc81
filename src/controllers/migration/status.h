// The phase of a migration (spec migration-and-fleets 2.3, 2.4).
#pragma once

#include <string_view>

#include "controllers/migration/work.h"

namespace vg::controllers::migration {

// What the first row that applies makes of the moment. One step: whoever wants more asks again.
struct Verdict {
  std::string_view id;
  std::string_view phase = {};   // the next one; empty: it stays
  std::string_view reason = {};  // of the event on the migration; empty: none
  std::string_view message = {};
  bool show_abort = false;  // C(migrationAbortRequested=True)
};
Verdict judge(const State& state);

// Carries a verdict out.
void show(Work& work, const State& state, const Verdict& verdict);

// 2.8, while a Pending migration waits for something of the VMI to end (MIG-T06..T08).
void wait_for_vmi(Work& work, const State& state);

// MIG-S01: a migration that is over shows how it went, and is let go.
void close(Work& work, const State& state);

}  // namespace vg::controllers::migration
