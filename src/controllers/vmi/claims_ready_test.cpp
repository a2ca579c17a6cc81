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
    EXPECT_EQ(claim_state(world, "ns", "c", true), row.state);
  }
}

// By what there is on the disk now, whatever the claim still says.
TEST(ClaimState, OfAClaimOfThisMachineTheDiskDecides) {
  struct Row {
    const char *id, *phase, *held;
    bool ready = true;
    std::optional<DiskClaim> disk = {};
    ClaimState state = ClaimState::lost, as_files = ClaimState::lost;
  };
  const DiskClaim empty{.uid = "u", .capacity = 1 << 20}, other{.uid = "other", .image_size = 1, .holds = "disk.img"};
  const DiskClaim full{.uid = "u", .capacity = 1 << 20, .image_size = 1 << 20, .holds = "disk.img"};
  using enum ClaimState;
  const Row rows[] = {
      {"nothing is known yet", "Bound", "", false, full, waiting, waiting},
      {"its folder is missing", "Bound", ""},
      {"another claim's folder", "Bound", "", true, other},
      {"its image is missing", "Bound", "disk.img", true, empty},
      {"PVC-06: it never had one", "Bound", "", true, empty, waiting, ClaimState::ready},
      {"all is there", "Bound", "disk.img", true, full, ClaimState::ready, ClaimState::ready},
      {"it is back, and the claim does not know yet", "Lost", "disk.img", true, full, waiting, waiting},
      {"lost", "Lost", "disk.img"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    world.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"c","namespace":"ns","uid":"u"}},
        "spec":{{"volumeName":"pvc-u"}},"status":{{"phase":"{}"}}}})",
                                        row.phase));
    world.put(kinds::volume, fmt::format(R"({{"metadata":{{"name":"pvc-u","annotations":{{"virtgate.io/holds":"{}"}}}},
        "spec":{{"csi":{{"driver":"virtgate.io/local"}}}}}})",
                                         row.held));
    world.fake_disks.is_ready = row.ready;
    if (row.disk) world.fake_disks.claims[{.ns = "ns", .name = "c"}] = *row.disk;
    EXPECT_EQ(claim_state(world, "ns", "c", true), row.state);
    EXPECT_EQ(claim_state(world, "ns", "c", false), row.as_files);
  }
}

}  // namespace
}  // namespace vg::controllers::vmi
