#include "admission/rules/disks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> told(Causes& causes) {
  std::vector<std::string> all;
  const Verdict verdict = causes.verdict();
  for (const StatusCause& cause : verdict.refusal().details.causes)
    all.push_back(cause.reason.substr(std::string_view("FieldValue").size()) + " " + cause.field);
  return all;
}

// The list stands at "B", as the specification writes it.
std::vector<std::string> disks(std::string_view text) {
  const auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  const Place root, base = root.field("B");
  Causes causes;
  check_disks(&document->root(), base, causes);
  return told(causes);
}

std::vector<std::string> disk(std::string_view members) {
  return disks(fmt::format(R"([{{"name":"a",{}}}])", members));
}

TEST(DisksTest, Names) {
  EXPECT_THAT(disks(R"([{"name":"a"},{"name":"b"}])"), IsEmpty());
  EXPECT_THAT(disks(R"([{"name":"a"},{"name":"a"},{"name":"a"}])"),
              ElementsAre("Invalid B[1].name", "Invalid B[2].name", "Invalid B[2].name"));
  EXPECT_THAT(disks(R"([{"name":"A!"}])"), ElementsAre("Invalid B.domain.devices.disks[0].name"));
}

TEST(DisksTest, ManyDisksOfOneNameAreNoFlood) {
  std::string list = R"([{"name":"a"})";
  for (int i = 0; i < 20000; ++i) list += R"(,{"name":"a"})";
  EXPECT_EQ(disks(list + "]").size(), told_causes_max);
}

TEST(DisksTest, IsOneDevice) {
  EXPECT_THAT(disk(R"("disk":{},"cdrom":{})"), ElementsAre("Invalid B[0]"));
  EXPECT_THAT(disk(R"("lun":{})"), IsEmpty());
}

TEST(DisksTest, PciAddresses) {
  const std::string field = "Invalid B.domain.devices.disks.disk[0].pciAddress";
  EXPECT_THAT(disk(R"("disk":{"bus":"virtio","pciAddress":"0000:81:0A.7"})"), IsEmpty());
  EXPECT_THAT(disk(R"("disk":{"bus":"sata","pciAddress":"0000:81:01.0"})"), ElementsAre(field));
  for (const char* address : {"81:01.0", "0000:81:01.8", "0000-81-01.0", "000g:81:01.0", "00000:81:1.0"})
    EXPECT_THAT(disk(fmt::format(R"("disk":{{"bus":"virtio","pciAddress":"{}"}})", address)), ElementsAre(field))
        << address;
}

TEST(DisksTest, Buses) {
  EXPECT_THAT(disk(R"("disk":{"bus":"ide"})"), ElementsAre("Invalid B[0].disk.bus"));
  EXPECT_THAT(disk(R"("lun":{"bus":"floppy"})"), ElementsAre("Invalid B[0].lun.bus"));
  EXPECT_THAT(disk(R"("cdrom":{"bus":"virtio"})"), ElementsAre("Invalid B[0].cdrom.bus"));
  EXPECT_THAT(disk(R"("disk":{"bus":"sata","readonly":true})"), ElementsAre("Invalid B[0].disk.bus"));
  for (const char* bus : {"", "virtio", "scsi", "sata", "usb"})
    EXPECT_THAT(disk(fmt::format(R"("disk":{{"bus":"{}"}})", bus)), IsEmpty()) << bus;
}

TEST(DisksTest, Choices) {
  EXPECT_THAT(disk(R"("cache":"none","io":"native","errorPolicy":"stop","serial":"a_.+-1","bootOrder":1)"), IsEmpty());
  EXPECT_THAT(disk(R"("cache":"x")"), ElementsAre("Invalid B[0].cache"));
  EXPECT_THAT(disk(R"("io":"x")"), ElementsAre("NotSupported B.domain.devices.disks[0].io"));
  EXPECT_THAT(disk(R"("errorPolicy":"")"), ElementsAre("Invalid B[0].errorPolicy"));
  EXPECT_THAT(disk(R"("bootOrder":0)"), ElementsAre("Invalid B[0].bootOrder"));
  EXPECT_THAT(disk(R"("serial":"a b")"), ElementsAre("Invalid B[0].serial"));
  EXPECT_THAT(disk(fmt::format(R"("serial":"{}")", std::string(257, 'a'))), ElementsAre("Invalid B[0].serial"));
  EXPECT_THAT(disk(R"("dedicatedIOThread":true,"disk":{"bus":"sata"})"),
              ElementsAre("NotSupported B.domain.devices.disks[0]"));
  EXPECT_THAT(disk(R"("dedicatedIOThread":true,"disk":{})"), IsEmpty());
}

TEST(DisksTest, BlockSizes) {
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":512,"physical":4096,"discardGranularity":1024}})"), IsEmpty());
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":1},"matchVolume":{}})"), ElementsAre("Invalid B[0].blockSize"));
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":512,"physical":512},"matchVolume":{"enabled":false}})"),
              IsEmpty());
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":1024,"physical":512}})"),
              ElementsAre("Invalid B[0].blockSize.custom.logical"));
  EXPECT_THAT(disk(R"("disk":{"bus":"sata"},"blockSize":{"custom":{"logical":4096,"physical":4096}})"),
              ElementsAre("Invalid B[0].blockSize.custom.logical"));
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":512,"physical":512,"discardGranularity":700}})"),
              ElementsAre("Invalid B[0].blockSize.custom.discardGranularity"));
  EXPECT_THAT(disk(R"("blockSize":{"custom":{"logical":300,"physical":4194304}})"),
              ElementsAre("Invalid B[0].blockSize.custom.logical", "Invalid B[0].blockSize.custom.physical"));
}

}  // namespace
}  // namespace vg::admission
