#include "admission/rules/machine/cloud_init.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <string>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"
#include "base/base64.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

// A machine with one disk that holds this.
string_view no_cloud(string_view source) {
  static std::deque<std::string> kept;  // examples refer to their texts
  return kept.emplace_back(fmt::format(
      R"({{"object":{{"spec":{{"domain":{{"devices":{{"disks":[{{"name":"a","disk":{{"bus":"virtio"}}}}]}}}},
          "volumes":[{{"name":"a","cloudInitNoCloud":{}}}]}}}}}})",
      source));
}

constexpr string_view source_field = "FieldValueInvalid spec.volumes[0].cloudInitNoCloud";

const bool added = add_examples({
    {"CLI-01", vmi, no_cloud(R"({"userDataBase64":"YQ=="})"), no_cloud(R"({"userDataBase64":"YQ"})"),
     "FieldValueInvalid spec.volumes[0].cloudInitNoCloud.userDataBase64"},
    {"CLI-02", vmi, no_cloud(R"({"userData":"a","networkData":"b"})"),
     no_cloud(R"({"userData":"a","secretRef":{"name":"s"}})"), source_field},
    {"CLI-03", vmi, no_cloud(fmt::format(R"({{"userData":"{}"}})", std::string(2048, 'u'))),
     no_cloud(fmt::format(R"({{"userData":"{}"}})", std::string(2049, 'u'))), source_field},
    {"CLI-04", vmi, no_cloud(R"({"networkDataBase64":"Y\nQ=="})"), no_cloud(R"({"networkDataBase64":"%%%"})"),
     "FieldValueInvalid spec.volumes[0].cloudInitNoCloud.networkDataBase64"},
    {"CLI-05", vmi, no_cloud(R"({"networkDataSecretRef":{"name":"s"}})"),
     no_cloud(R"({"networkData":"a","networkDataBase64":"YQ=="})"), source_field},
    {"CLI-06", vmi, no_cloud(fmt::format(R"({{"networkData":"{}"}})", std::string(2048, 'n'))),
     no_cloud(fmt::format(R"({{"networkData":"{}"}})", std::string(2049, 'n'))), source_field},
    {"CLI-07", vmi, no_cloud(R"({"secretRef":{"name":"s"}})"), no_cloud(R"({"secretRef":{"name":""}})"), source_field},
});

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
