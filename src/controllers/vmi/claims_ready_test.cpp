// Whether a claim can be used by a VMI (spec storage 3.5, spec copies STO-04).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/testing.h"
#include "controllers/vmi/storage.h"

namespace vg::controllers::vmi {
namespace {

TEST(ClaimState, OfAClaimThatOthersMayHave) {
  struct Row {
    const char* id;
    const char *modes, *phase;
    const char* other_vmi;  // the phase of another VMI that has it; empty: there is none
    DiskHold hold = {};
    ClaimState state = ClaimState::ready;
  };
  const Row rows[] = {
      {"PVC-01", R"(["ReadWriteOnce"])", "Pending", "", {}, ClaimState::waiting},
      {"PVC-06, a plain claim without an image", R"(["ReadWriteOnce"])", "Bound", ""},
      {"PVC-07, a guest on this machine has it", R"(["ReadWriteOnce"])", "Bound", "Running"},
      {"PVC-07, a guest on this machine waits for it", R"(["ReadWriteOnce"])", "Bound", "Scheduling"},
      {"PVC-07", R"(["ReadOnlyMany"])", "Bound", "Running"},
      {"STO-04, it is written", R"(["ReadWriteMany"])", "Bound", "", {.writer = "import-u"}, ClaimState::waiting},
      {"STO-04, it is copied", R"(["ReadOnlyMany"])", "Bound", "", {.readers = 1}, ClaimState::waiting},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    world.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"c","namespace":"ns","uid":"u"}},
        "spec":{{"accessModes":{}}},"status":{{"phase":"{}"}}}})",
                                        row.modes, row.phase));
    if (*row.other_vmi)
      world.put(kinds::vmi, fmt::format(R"({{"metadata":{{"name":"other","namespace":"ns"}},"spec":{{"domain":{{}},
          "volumes":[{{"name":"d","persistentVolumeClaim":{{"claimName":"c"}}}}]}},"status":{{"phase":"{}"}}}})",
                                        row.other_vmi));
    world.fake_disks.holds[{.ns = "ns", .name = "c"}] = row.hold;
    EXPECT_EQ(claim_state(world, "ns", "c"), row.state);
  }
}

}  // namespace
}  // namespace vg::controllers::vmi
