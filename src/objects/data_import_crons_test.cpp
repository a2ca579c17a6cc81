#include "objects/data_import_crons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/document.h"
#include "json/patch.h"

namespace vg::resources {
namespace {

constexpr std::string_view good_cron =
    R"({"spec":{"schedule":"0 */12 * * *","managedDataSource":"fedora","template":{"spec":{
    "source":{"registry":{"url":"docker://quay.io/fedora:42"}},"storage":{"resources":{"requests":{"storage":"5Gi"}}}}}}})";

struct CronRow {
  std::string_view field;  // empty: it is fine
  std::string_view change;
};

// spec storage 9
TEST(DataImportCrons, TheFirstRuleThatIsBrokenIsTold) {
  const CronRow rows[] = {
      {"", "{}"},
      {"", R"({"spec":{"schedule":""}})"},
      {"", R"({"spec":{"schedule":"@daily","importsToKeep":0,"garbageCollect":"Never"}})"},
      {"", R"({"spec":{"template":{"spec":{"source":{"registry":null,"pvc":{"name":"a","namespace":"b"}}}}}})"},
      {"spec.Template", R"({"spec":{"template":{"spec":{"source":{"registry":null,"http":{"url":"http://x/y"}}}}}})"},
      {"spec.Template", R"({"spec":{"template":{"spec":{"source":{"blank":{}}}}}})"},
      {"spec.Template", R"({"spec":{"template":{"spec":{"source":null,"sourceRef":{"kind":"DataSource"}}}}})"},
      {"spec.Template", R"({"spec":{"template":null}})"},
      {"spec.Template", R"({"spec":{"template":{"spec":{"contentType":"kubevirt"}}}})"},
      {"spec.Template", R"({"spec":{"template":{"spec":{"checkpoints":[]}}}})"},
      {"spec.Schedule", R"({"spec":{"schedule":"every day"}})"},
      {"spec.Schedule", R"({"spec":{"schedule":"61 * * * *"}})"},
      {"spec.ImportsToKeep", R"({"spec":{"importsToKeep":-1}})"},
      {"spec.GarbageCollect", R"({"spec":{"garbageCollect":"Sometimes"}})"},
      {"spec.ManagedDataSource", R"({"spec":{"managedDataSource":""}})"},
      {"spec.ManagedDataSource", R"({"spec":{"managedDataSource":"../etc"}})"},
      // The DataVolumes that follow from it are judged now: later nobody would hear of it.
      {"spec.PVC", R"({"spec":{"template":{"spec":{"storage":null}}}})"},
      {"spec.Source.Registry.URL", R"({"spec":{"template":{"spec":{"source":{"registry":{"url":"ftp://x"}}}}}})"},
  };
  for (const CronRow& row : rows) {
    auto cron = json::Document::parse(good_cron);
    auto change = json::Document::parse(row.change);
    ASSERT_TRUE(cron && change) << row.change;
    ASSERT_TRUE(json::apply_merge_patch(cron->root(), change->root()));
    const auto found = find_import_cron_defect("cron", cron->root().get_object());
    if (row.field == "spec.Source.Registry.URL") {
      EXPECT_TRUE(found) << row.change;
      continue;
    }
    EXPECT_EQ(found ? found->field : "", row.field) << row.change;
  }
  auto cron = json::Document::parse(good_cron);
  EXPECT_TRUE(find_import_cron_defect(std::string(64, 'a'), cron->root().get_object()));
}

}  // namespace
}  // namespace vg::resources
