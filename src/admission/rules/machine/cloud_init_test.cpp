#include "admission/rules/machine/cloud_init.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"
#include "base/base64.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

std::vector<std::string> told(string_view volume) {
  const auto document = json::Document::parse(volume);
  EXPECT_TRUE(document) << volume;
  const Place root, place = root.field("V");
  Causes causes;
  check_cloud_init(api::kubevirt::Volume(&document->root()), place, causes);
  return testing::told(causes);
}

TEST(CloudInitTest, NoCloudIsExaminedBeforeConfigDrive) {
  EXPECT_THAT(told(R"({"cloudInitConfigDrive":{}})"), ElementsAre("Invalid V.cloudInitConfigDrive"));
  EXPECT_THAT(told(R"({"cloudInitConfigDrive":{},"cloudInitNoCloud":{"userData":"a"}})"), IsEmpty());
  EXPECT_THAT(told(R"({"emptyDisk":{}})"), IsEmpty());
}

TEST(CloudInitTest, GarbageIsStillASource) {
  EXPECT_THAT(told(R"({"cloudInitNoCloud":{"userDataBase64":"#######garbage******"}})"),
              ElementsAre("Invalid V.cloudInitNoCloud.userDataBase64"));
}

TEST(CloudInitTest, UserDataComesBeforeNetworkData) {
  EXPECT_THAT(told(R"({"cloudInitNoCloud":{"userData":"a","userDataBase64":"%","networkData":"a",
                                           "networkDataBase64":"%"}})"),
              ElementsAre("Invalid V.cloudInitNoCloud.userDataBase64", "Invalid V.cloudInitNoCloud",
                          "Invalid V.cloudInitNoCloud.networkDataBase64", "Invalid V.cloudInitNoCloud"));
}

TEST(CloudInitTest, EncodedDataIsMeasuredDecoded) {
  const auto encoded = [](std::size_t bytes) {
    return fmt::format(R"({{"cloudInitNoCloud":{{"userDataBase64":"{}"}}}})", base64_encode(std::string(bytes, 'x')));
  };
  EXPECT_THAT(told(encoded(2048)), IsEmpty());
  EXPECT_THAT(told(encoded(2049)), ElementsAre("Invalid V.cloudInitNoCloud"));
}

// 2049 bytes are 2732 characters of base64, without padding.
TEST(CloudInitTest, WhatWasDecodedBeforeAFaultIsMeasured) {
  const auto faulty = [](std::size_t letters, string_view rest) {
    return fmt::format(R"({{"cloudInitNoCloud":{{"userDataBase64":"{}{}"}}}})", std::string(letters, 'A'), rest);
  };
  const string_view unreadable = "Invalid V.cloudInitNoCloud.userDataBase64", too_long = "Invalid V.cloudInitNoCloud";
  EXPECT_THAT(told(faulty(2732, "%")), ElementsAre(unreadable, too_long));
  EXPECT_THAT(told(faulty(2731, "%")), ElementsAre(unreadable));   // the last group is not whole
  EXPECT_THAT(told(faulty(2731, "=%")), ElementsAre(unreadable));  // 2046 + 2
  EXPECT_THAT(told(faulty(2734, "==%")), ElementsAre(unreadable, too_long));
  EXPECT_THAT(told(faulty(2728, "%")), ElementsAre(unreadable));
}

TEST(CloudInitTest, PlainTextIsMeasuredFirst) {
  EXPECT_THAT(told(fmt::format(R"({{"cloudInitNoCloud":{{"userData":"a","userDataBase64":"{}"}}}})",
                               base64_encode(std::string(3000, 'x')))),
              ElementsAre("Invalid V.cloudInitNoCloud"));  // two sources, and the one that counts is short
}

}  // namespace
}  // namespace vg::admission
