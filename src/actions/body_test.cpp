#include "actions/body.h"

#include <gmock/gmock.h>

#include "json/write.h"

namespace vg::actions {
namespace {

std::string read(std::string_view body, std::string_view type = "kubevirt.StartOptions") {
  const auto value = read_options(body, *api::find_type(type), {});
  return value ? json::to_text(*value) : std::to_string(value.error().code);
}

TEST(Options, NothingIsOptionsThatSayNothing) {
  for (std::string_view body : {"", "  \n", "null", "{}", "~", "{} trailing", "# none", "--- \n # none\r\n"})
    EXPECT_EQ(read(body), "{}") << body;
  EXPECT_EQ(read("--- {paused: true}"), R"({"paused":true})");
}

TEST(Options, AreJsonOrYaml) {
  EXPECT_EQ(read(R"({"paused":true,"unknown":1})"), R"({"paused":true})");
  EXPECT_EQ(read(R"({"PAUSED":true,"DryRun":["All"]})"), R"({"paused":true,"dryRun":["All"]})");
  EXPECT_EQ(read("paused: true\ndryRun: [All]\n"), R"({"paused":true,"dryRun":["All"]})");
  EXPECT_EQ(read("paused: true\n---\npaused: false\n"), R"({"paused":true})");
  EXPECT_EQ(read(R"({"paused":true}{"paused":false)"), R"({"paused":true})");
}

TEST(Options, TakeNumbersForTextAsYamlDoes) {
  EXPECT_EQ(read(R"({"claimName":5})", "kubevirt.VirtualMachineMemoryDumpRequest"), R"({"claimName":"5","phase":""})");
  EXPECT_EQ(read(R"({"addedNodeSelector":{"a":true}})", "kubevirt.MigrateOptions"),
            R"({"addedNodeSelector":{"a":"true"}})");
  EXPECT_EQ(read("dryRun: [1]"), R"({"dryRun":["1"]})");
}

// Go's reader does not look into what a type embeds.
TEST(Options, TakeNoNumbersForTextOfEmbeddedParts) {
  EXPECT_EQ(read("kind: 5"), "400");
  EXPECT_EQ(read("{name: a, disk: {disk: {bus: 5}}}", "kubevirt.AddVolumeOptions"), "400");
  EXPECT_EQ(read("{name: a, volumeSource: {persistentVolumeClaim: {claimName: 5}}}", "kubevirt.AddVolumeOptions"),
            "400");
  EXPECT_THAT(read("{name: 5, disk: {serial: 7}}", "kubevirt.AddVolumeOptions"), ::testing::HasSubstr(R"("name":"5")"));
}

TEST(Options, TakeWholeNumbersInAnySpellingAsYamlDoes) {
  for (std::string_view body :
       {R"({"gracePeriod":5})", R"({"gracePeriod":5.0})", "gracePeriod: 5.0", "gracePeriod: 0x5"})
    EXPECT_EQ(read(body, "kubevirt.StopOptions"), R"({"gracePeriod":5})") << body;
  for (std::string_view body : {R"({"gracePeriod":5.5})", R"({"gracePeriod":1e300})", R"({"gracePeriod":"5"})"})
    EXPECT_EQ(read(body, "kubevirt.StopOptions"), "400") << body;
}

TEST(Options, RefuseTheRest) {
  for (std::string_view body : {"{bad", "[1]", "5", "text", R"({"paused":"yes"})", R"({"dryRun":"All"})", "a: b: c"})
    EXPECT_EQ(read(body), "400") << body;
}

TEST(Strict, TakesOneJsonObject) {
  const auto read_it = [](std::string_view body) {
    const auto value = read_strict(body, {});
    return value ? json::to_text(*value) : std::to_string(value.error().code);
  };
  EXPECT_EQ(read_it(R"({"Spec":1})"), R"({"Spec":1})");
  for (std::string_view body : {"", " ", "null", "[]", "{bad", "spec: 1", "{} {}"})
    EXPECT_EQ(read_it(body), "400") << body;
}

}  // namespace
}  // namespace vg::actions
