#include "controllers/vm/stable_uuid.h"

#include <gtest/gtest.h>

namespace vg::controllers::vm {
namespace {

// VMC-53, spec vm-controller 19
TEST(StableUuid, IsThatOfUpstream) {
  EXPECT_EQ(stable_firmware_uuid("testvmi"), "f8918e71-270a-598e-a2a4-1afac39e1394");
  EXPECT_EQ(stable_firmware_uuid("testvm1"), "cfb867c9-fa3a-51f5-b0f5-485fd556fd68");
  EXPECT_EQ(stable_firmware_uuid("fedora"), "98f07cdd-96da-5880-b6c7-1a5700b73dc4");
}

TEST(StableUuid, LongNamesTakeMoreThanOneBlock) {
  EXPECT_NE(stable_firmware_uuid(std::string(63, 'a')), stable_firmware_uuid(std::string(62, 'a')));
  EXPECT_EQ(stable_firmware_uuid(std::string(253, 'a')).size(), 36U);
}

}  // namespace
}  // namespace vg::controllers::vm
