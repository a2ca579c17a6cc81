#include "guests/facts.h"

#include <gmock/gmock.h>

#include "base/node_limits.h"
#include "guests/testing.h"

namespace vg::guests {
namespace {

TEST(Facts, AreReadFromTheLiveDocument) {
  const auto facts = read_facts(testing::live_document);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->uid, "u-1");
  EXPECT_EQ(facts->machine, "pc-q35-7.2");
  EXPECT_EQ(facts->type, "qemu");
  EXPECT_TRUE(facts->acpi);
  EXPECT_TRUE(facts->agent_connected);
  EXPECT_EQ(facts->memory_bytes, 512U << 20);
  EXPECT_EQ(facts->vcpus, 2U);
  EXPECT_EQ(facts->pci_index_max, 7U);
  ASSERT_TRUE(facts->disk("root"));
  EXPECT_EQ(facts->disk("root")->target, "vda");
  EXPECT_EQ(facts->disk("root")->source, "/guests/u-1/root.qcow2");
  EXPECT_EQ(facts->disk("tray")->source, "");
  EXPECT_THAT(facts->disk("more")->xml,
              ::testing::StartsWith("<disk type=\"file\" device=\"disk\"><source file=\"/hot/more.img\"/>"));
  EXPECT_EQ(facts->nic("second")->link, "down");
  EXPECT_EQ(facts->nic("second")->queues, 4);
  EXPECT_EQ(facts->nic("default")->link, "up");
  EXPECT_FALSE(facts->disk("nobody"));
}

TEST(Facts, WhatIsNoDomainIsRefused) {
  for (const std::string_view text : {"", "<", "<network/>", "<domain>", "not xml", "<domain/><domain/>"})
    EXPECT_FALSE(read_facts(text)) << text;
  EXPECT_FALSE(read_facts(std::string(limits::domain_document_bytes_max + 1, ' ')));
  EXPECT_TRUE(read_facts("<domain/>"));
}

TEST(Facts, NoFileAndNoEntityIsEverFollowed) {
  const auto facts = read_facts(
      "<!DOCTYPE domain [<!ENTITY file SYSTEM \"file:///etc/hostname\">]>"
      "<domain><metadata><kubevirt><uid>&file;</uid></kubevirt></metadata></domain>");
  if (facts) {
    EXPECT_EQ(facts->uid, "");
  }
}

}  // namespace
}  // namespace vg::guests
