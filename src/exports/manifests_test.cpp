#include "exports/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::exports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// spec copies 6.6, spec copies Q-11
TEST(ExportManifests, MakeTheVmElsewhere) {
  auto vm = json::Document::parse(R"({"metadata":{"name":"vm","uid":"u","resourceVersion":"7","labels":{"l":"v"}},
      "spec":{"dataVolumeTemplates":[{"metadata":{"name":"VOLUME10"},"spec":{"sourceRef":{"name":"x"}}},
      {"metadata":{"name":"unused"},"spec":{"source":{"blank":{}}}}],"template":{"spec":{"volumes":[
      {"name":"a","dataVolume":{"name":"VOLUME10"}},{"name":"b","persistentVolumeClaim":{"claimName":"VOLUME1"}},
      {"name":"c","persistentVolumeClaim":{"claimName":"gone"}},{"name":"d","containerDisk":{}}]}}},
      "status":{"ready":true}})");
  auto claim = json::Document::parse(R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},
      "storageClassName":"local","volumeName":"pvc-1"})");
  ASSERT_TRUE(vm && claim);
  const json::Object& spec = claim->root().get_object();
  json::Document memory;
  const json::Array made = manifests({.name = "e",
                                      .ns = "n",
                                      .base = "https://here/e",
                                      .authority = "CA",
                                      .vm = vm->root().get_object(),
                                      .claims = {{"VOLUME10", &spec}, {"VOLUME1", &spec}}},
                                     memory.storage());
  ASSERT_EQ(made.size(), 3);
  EXPECT_EQ(json::to_text(made[0]),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"export-ca-cm-e","namespace":"n"},)"
            R"("data":{"ca.pem":"CA"}})");
  const std::string machine = json::to_text(made[1]);
  EXPECT_THAT(machine, HasSubstr(R"("metadata":{"name":"vm","namespace":"n","labels":{"l":"v"}})"));
  EXPECT_THAT(machine,
              HasSubstr(R"("url":"https://here/e/volumes/VOLUME10/disk.img.gz","certConfigMap":"export-ca-cm-e",)"
                        R"("secretExtraHeaders":["header-secret-e"])"));
  EXPECT_THAT(machine, HasSubstr(R"({"metadata":{"name":"unused"},"spec":{"source":{"blank":{}}}})"));
  for (const std::string_view gone : {"sourceRef", "status", "uid"}) EXPECT_THAT(machine, Not(HasSubstr(gone)));
  EXPECT_EQ(json::get_string_or(made[2].at("metadata"), "name"), "VOLUME1");
  EXPECT_EQ(json::to_text(made[2].at("spec").at("storage")),
            R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})");
}

TEST(ExportManifests, ArePrinted) {
  json::Document memory;
  const json::Array one{header_secret("e", "n", "T", memory.storage())};
  EXPECT_THAT(print_list(one), HasSubstr(R"("stringData":{"token":"x-kubevirt-export-token:T"})"));
  EXPECT_THAT(print_yaml(one), ::testing::EndsWith("---\n"));
}

}  // namespace
}  // namespace vg::exports
