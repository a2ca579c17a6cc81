#include "objects/data_volumes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/document.h"

namespace vg::resources {
namespace {

struct Row {
  std::string_view rule;  // empty: it is fine
  std::string_view field;
  std::string spec;
};

constexpr std::string_view sized = R"("resources":{"requests":{"storage":"1Gi"}})";

std::string storage(std::string_view source, std::string_view more = "") {
  return fmt::format(R"({{"source":{},"storage":{{{}}}{}}})", source, sized, more);
}
std::string pvc(std::string_view modes, std::string_view more = "") {
  return fmt::format(R"({{"source":{{"blank":{{}}}},"pvc":{{{},"accessModes":{}{}}}}})", sized, modes, more);
}
std::string http(std::string_view members) { return storage(fmt::format(R"({{"http":{{{}}}}})", members)); }

// spec storage 2.1, 2.3
TEST(DataVolumes, TheFirstRuleThatIsBrokenIsTold) {
  const std::string digest(64, 'a');
  const Row rows[] = {
      {"", "", storage(R"({"blank":{}})")},
      {"DV-01", "spec.PVC", R"({"source":{"blank":{}}})"},
      {"DV-01", "spec.PVC.Storage", R"({"source":{"blank":{}},"pvc":{},"storage":{}})"},
      {"DV-02", "spec.Storage.resources.requests.size",
       R"({"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"512Ki"}}}})"},
      {"DV-02", "spec.PVC.resources.requests.size",
       R"({"source":{"blank":{}},"pvc":{"resources":{"requests":{"storage":"-1"}}}})"},
      {"DV-03", "spec.Storage.resources.requests.size", R"({"source":{"blank":{}},"storage":{}})"},
      {"DV-03", "spec.PVC.resources.requests.size", R"({"source":{"pvc":{"name":"x"}},"pvc":{}})"},
      {"", "", R"({"source":{"pvc":{"name":"x","namespace":"y"}},"storage":{}})"},
      {"", "", R"({"sourceRef":{"kind":"DataSource","name":"x"},"storage":{}})"},
      {"DV-04", "", pvc(R"(["ReadWriteOnce"])", fmt::format(R"(,"storageClassName":"{}")", std::string(254, 'a')))},
      {"", "", pvc(R"(["ReadWriteOnce"])", R"(,"storageClassName":"other")")},
      {"DV-05", "spec.PVC.accessModes", pvc("[]")},
      {"DV-05", "spec.PVC.accessModes", pvc(R"(["ReadWriteOnce","ReadWriteMany"])")},
      {"DV-05", "spec.PVC.accessModes", pvc(R"(["Sometimes"])")},
      {"DV-06", "spec.Storage.accessModes",
       fmt::format(R"({{"source":{{"blank":{{}}}},"storage":{{{},"accessModes":["x"]}}}})", sized)},
      {"", "",
       fmt::format(R"({{"source":{{"blank":{{}}}},"storage":{{{},"accessModes":["ReadWriteOnce","ReadWriteMany"]}}}})",
                   sized)},
      {"DV-07", "spec.dataSource", pvc(R"(["ReadWriteOnce"])", R"(,"dataSource":{"kind":"x","name":"y"})")},
      {"DV-08", "spec.source", fmt::format(R"({{"storage":{{{}}}}})", sized)},
      {"DV-08", "spec.source", storage(R"({"blank":{}})", R"(,"sourceRef":{"kind":"DataSource","name":"x"})")},
      {"DV-09", "spec.sourceRef.Kind", R"({"sourceRef":{"kind":"x","name":"x"},"storage":{}})"},
      {"DV-09", "spec.sourceRef.Name", R"({"sourceRef":{"kind":"DataSource"},"storage":{}})"},
      {"DV-10", "spec.source", storage("{}")},
      {"DV-10", "spec.source", storage(R"({"blank":{},"http":{"url":"http://x"}})")},
      {"DV-11", "spec.contentType", storage(R"({"blank":{}})", R"(,"contentType":"x")")},
      {"DV-12", "spec.source.HTTP.url", http("")},
      {"DV-12", "spec.source.HTTP.url", http(R"("url":"ftp://x/y")")},
      {"DV-12", "spec.source.HTTP.url", http(R"("url":"http://")")},
      {"DV-12", "spec.source.HTTP.url", http(R"("url":"file:///etc/passwd")")},
      {"", "", http(R"("url":"https://x/y")")},
      {"DV-13", "spec.source.HTTP.checksum",
       http(fmt::format(R"("url":"https://x/y","checksum":"sha256:{}")", digest.substr(1)))},
      {"DV-13", "spec.source.HTTP.checksum", http(R"("url":"https://x/y","checksum":"crc32:0")")},
      {"", "", http(fmt::format(R"("url":"https://x/y","checksum":"SHA256:{}")", digest))},
      {"DV-14", "spec.contentType", storage(R"({"blank":{}})", R"(,"contentType":"archive")")},
      {"DV-14", "spec.contentType", storage(R"({"registry":{"url":"docker://x"}})", R"(,"contentType":"archive")")},
      {"", "", storage(R"({"upload":{}})", R"(,"contentType":"archive")")},
      {"DV-15", "spec.source.Registry", storage(R"({"registry":{}})")},
      {"DV-15", "spec.source.Registry", storage(R"({"registry":{"url":"docker://x","imageStream":"y"}})")},
      {"DV-15", "spec.source.Registry.URL", storage(R"({"registry":{"url":"http://x"}})")},
      {"DV-15", "spec.source.Registry.URL", storage(R"({"registry":{"url":"oci-archive:x"}})")},
      {"DV-15", "spec.source.Registry.importMethod", storage(R"({"registry":{"url":"docker://x","pullMethod":"z"}})")},
      {"DV-15", "spec.source.Registry.imageStream", storage(R"({"registry":{"imageStream":"y","pullMethod":"node"}})")},
      {"", "", storage(R"({"registry":{"url":"docker://x","pullMethod":"node"}})")},
      {"DV-16", "spec.source.S3", storage(R"({"s3":{"url":"https://x"}})")},
      {"DV-16", "spec.source.GCS", storage(R"({"gcs":{"url":"gs://x"}})")},
      {"DV-16", "spec.source.VDDK", storage(R"({"vddk":{}})")},
      {"DV-16", "spec.source.Imageio", storage(R"({"imageio":{}})")},
      {"DV-16", "spec.source.Snapshot", storage(R"({"snapshot":{"name":"x"}})")},
      {"DV-16", "spec.checkpoints", storage(R"({"blank":{}})", R"(,"finalCheckpoint":true)")},
      {"DV-16", "spec.PVC.volumeMode", pvc(R"(["ReadWriteOnce"])", R"(,"volumeMode":"Block")")},
      {"DV-17", "spec.source.PVC", storage(R"({"pvc":{"namespace":"x"}})")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.spec);
    const auto document = json::Document::parse(fmt::format(R"({{"metadata":{{"name":"a"}},"spec":{}}})", row.spec));
    ASSERT_TRUE(document);
    const auto found = find_data_volume_defect(document->root().get_object());
    EXPECT_EQ(found ? found->rule : "", row.rule);
    EXPECT_EQ(found ? found->field : "", row.field);
  }
}

TEST(DataVolumes, AnnotationsThatAskForWhatIsNotThereAreRefused) {
  for (const auto& [marks, refused] : {std::pair(R"({"cdi.kubevirt.io/storage.usePopulator":"true"})", true),
                                       {R"({"cdi.kubevirt.io/storage.usePopulator":"false"})", false},
                                       {R"({"cdi.kubevirt.io/storage.checkStaticVolume":""})", true}}) {
    const auto document = json::Document::parse(
        fmt::format(R"({{"metadata":{{"annotations":{}}},"spec":{}}})", marks, storage(R"({"blank":{}})")));
    EXPECT_EQ(find_data_volume_defect(document->root().get_object()).has_value(), refused) << marks;
  }
}

// A claim of the name is there: may the DataVolume be made?
TEST(DataVolumes, ANameThatIsTakenIsRefused) {
  struct Taken {
    std::string_view id;  // empty: it may
    std::string_view marks, claim;
  };
  constexpr std::string_view adopts = R"({"cdi.kubevirt.io/allowClaimAdoption":"true"})";
  const Taken rows[] = {
      {"DV-19", "{}", "{}"},
      {"DV-19", R"({"cdi.kubevirt.io/allowClaimAdoption":"false"})", "{}"},
      {"", adopts, "{}"},
      {"DV-19", "{}", R"({"annotations":{"cdi.kubevirt.io/storage.populatedFor":"other"}})"},
      {"", "{}", R"({"annotations":{"cdi.kubevirt.io/storage.populatedFor":"a"}})"},
      {"DV-19", "{}", R"({"ownerReferences":[{"kind":"VirtualMachine","controller":true}]})"},
      {"DV-19", "{}", R"({"ownerReferences":[{"kind":"DataVolume"}]})"},  // an owner, and not the controller
      {"", "{}", R"({"ownerReferences":[{"kind":"DataVolume","controller":true}]})"},
  };
  for (const Taken& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.marks, row.claim));
    const auto dv = json::Document::parse(fmt::format(R"({{"metadata":{{"name":"a","annotations":{}}}}})", row.marks));
    const auto claim = json::Document::parse(fmt::format(R"({{"metadata":{}}})", row.claim));
    const auto found = find_taken_name("a", dv->root().get_object(), claim->root().get_object());
    EXPECT_EQ(found ? found->rule : "", row.id);
    EXPECT_EQ(found ? found->field : "", row.id.empty() ? "" : "DataVolume.Name");
  }
}

TEST(DataVolumes, ASpecDoesNotChange) {
  struct Changed {
    std::string_view id, before, after;
  };
  for (const Changed& row : {Changed{"DV-20", R"({"spec":{"source":{"blank":{}}}})", R"({"spec":{"source":{}}})"},
                             Changed{"DV-20", R"({"spec":{}})", "{}"}, Changed{"DV-20", "{}", R"({"spec":{}})"},
                             Changed{"", R"({"spec":{"a":1,"b":2}})", R"({"spec":{"b":2,"a":1},"status":{}})"},
                             Changed{"", "{}", R"({"metadata":{"labels":{"a":"b"}}})"}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.before, row.after));
    const auto before = json::Document::parse(row.before), after = json::Document::parse(row.after);
    const auto found = find_changed_spec(before->root().get_object(), after->root().get_object());
    EXPECT_EQ(found ? found->rule : "", row.id);
    EXPECT_EQ(found ? found->field : "", row.id.empty() ? "" : "DataVolume.Spec");
    EXPECT_EQ(found ? found->reason : "", row.id.empty() ? "" : "FieldValueDuplicate");
  }
}

}  // namespace
}  // namespace vg::resources
