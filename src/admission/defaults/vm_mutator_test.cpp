#include <gmock/gmock.h>

#include "admission/defaults/testing.h"

namespace vg::admission::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string vm(std::string_view members, std::string_view template_spec = R"({"domain":{"devices":{}}})") {
  return R"({"metadata":{"name":"m","namespace":"default"},"spec":{"runStrategy":"Halted",)" + std::string(members) +
         R"("template":{"spec":)" + std::string(template_spec) + "}}}";
}

std::string labelled(std::string_view api_version, std::string_view kind, std::string_view name,
                     std::string_view labels, std::string_view spec = "{}") {
  return R"({"apiVersion":")" + std::string(api_version) + R"(","kind":")" + std::string(kind) +
         R"(","metadata":{"namespace":"default","name":")" + std::string(name) + R"(","labels":)" +
         std::string(labels) + R"(},"spec":)" + std::string(spec) + "}";
}

constexpr std::string_view small_linux =
    R"({"instancetype.kubevirt.io/default-instancetype":"small",)"
    R"("instancetype.kubevirt.io/default-preference":"linux",)"
    R"("instancetype.kubevirt.io/default-preference-kind":"VirtualMachinePreference"})";

struct VmMutatorTest : DefaultsTest {
  Asked create(const std::string& object) { return ask("/virtualmachines-mutate", object); }
  Asked update(const std::string& object, const std::string& before) {
    return ask("/virtualmachines-mutate", object, before);
  }
  std::string cause(const Asked& asked) {
    const auto& causes = asked.verdict.refusal().details.causes;
    return causes.empty() ? "" : causes.front().reason + " " + causes.front().field;
  }
};

TEST_F(VmMutatorTest, ANewVmGetsAnIdentityAndItsPlatform) {
  const Asked asked = create(vm(""));
  EXPECT_EQ(asked.at("/spec/template/spec/architecture"), R"("amd64")");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/machine/type"), R"("q35")");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/firmware/serial"), '"' + std::string(fixed_uuid) + '"');
  EXPECT_EQ(asked.at("/spec/template/metadata/annotations/kubevirt.io~1pci-topology-version"), R"("v3")");
  ASSERT_EQ(asked.verdict.patch.size(), 2U);
  EXPECT_EQ(asked.verdict.patch[0].path, "/spec");
  EXPECT_EQ(asked.verdict.patch[1].path, "/metadata");
}

TEST_F(VmMutatorTest, AnUpdateGetsOnlyItsPlatform) {
  const Asked asked = update(vm(""), vm(""));
  EXPECT_EQ(asked.at("/spec/template/spec/domain/machine/type"), R"("q35")");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/firmware"), "");
  EXPECT_EQ(asked.at("/spec/template/metadata/annotations"), "");
}

TEST_F(VmMutatorTest, AVmThatIsBeingDeletedIsLeftAlone) {
  const Asked asked = create(R"({"metadata":{"name":"m","deletionTimestamp":"2026-01-01T00:00:00Z"},)"
                             R"("spec":{"instancetype":{},"template":{"spec":{"domain":{"devices":{}}}}}})");
  EXPECT_TRUE(asked.allowed());
  EXPECT_THAT(asked.verdict.patch, IsEmpty());
}

TEST_F(VmMutatorTest, MatchersAreChecked) {
  EXPECT_EQ(cause(create(vm(R"("instancetype":{},)"))), "FieldValueNotFound spec.instancetype");
  EXPECT_EQ(cause(create(vm(R"("preference":{"kind":"x"},)"))), "FieldValueNotFound spec.preference");
  EXPECT_EQ(cause(create(vm(R"("instancetype":{"name":"a","inferFromVolume":"v"},)"))),
            "FieldValueNotSupported spec.instancetype.name");
  EXPECT_EQ(cause(create(vm(R"("preference":{"kind":"a","inferFromVolume":"v"},)"))),
            "FieldValueNotSupported spec.preference.kind");
  EXPECT_EQ(cause(create(vm(R"("preference":{"name":"a","inferFromVolumeFailurePolicy":"Maybe"},)"))),
            "FieldValueInvalid spec.preference.inferFromVolumeFailurePolicy");
}

TEST_F(VmMutatorTest, ARevisionStaysWithItsObject) {
  const std::string a = vm(R"("preference":{"name":"a","revisionName":"r"},)");
  const std::string b = vm(R"("preference":{"name":"b","revisionName":"r"},)");
  EXPECT_EQ(cause(update(b, a)), "FieldValueInvalid spec.preference.revisionName");
  EXPECT_TRUE(update(vm(R"("preference":{"name":"b"},)"), a).allowed());
}

TEST_F(VmMutatorTest, PreferencesComeBeforeTheCluster) {
  known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineClusterPreference",)"
                 R"("metadata":{"name":"p"},"spec":{"preferredArchitecture":"arm64",)"
                 R"("machine":{"preferredMachineType":"virt-9"},"volumes":{"preferredStorageClassName":"fast"}}})");
  constexpr std::string_view members =
      R"("preference":{"name":"p"},"dataVolumeTemplates":[{"metadata":{"name":"d"},"spec":{"storage":{}}},)"
      R"({"metadata":{"name":"e"},"spec":{"pvc":{"storageClassName":""}}}],)";
  const Asked asked = create(vm(members));
  EXPECT_EQ(asked.at("/spec/template/spec/architecture"), R"("arm64")");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/machine/type"), R"("virt-9")");
  EXPECT_EQ(asked.at("/spec/dataVolumeTemplates/0/spec/storage/storageClassName"), R"("fast")");
  EXPECT_EQ(asked.at("/spec/dataVolumeTemplates/1/spec/pvc/storageClassName"), R"("")");
  known.break_resource("instancetype.kubevirt.io/virtualmachineclusterpreferences");
  EXPECT_EQ(create(vm(members)).at("/spec/template/spec/architecture"), R"("amd64")");
}

TEST_F(VmMutatorTest, ARevisionIsTakenInsteadOfTheLivePreference) {
  known.add_text(R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r","namespace":"default"},)"
                 R"("data":{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachinePreference",)"
                 R"("metadata":{"name":"p"},"spec":{"machine":{"preferredMachineType":"pc-q35-7"}}}})");
  EXPECT_EQ(
      create(vm(R"("preference":{"name":"p","revisionName":"r"},)")).at("/spec/template/spec/domain/machine/type"),
      R"("pc-q35-7")");
}

TEST_F(VmMutatorTest, TheArchitectureOfAnImageComesFromItsDataSource) {
  known.add_text(
      labelled("cdi.kubevirt.io/v1beta1", "DataSource", "inner", R"({"template.kubevirt.io/architecture":"s390x"})"));
  known.add_text(labelled("cdi.kubevirt.io/v1beta1", "DataSource", "outer",
                          R"({"template.kubevirt.io/architecture":"arm64"})",
                          R"({"source":{"dataSource":{"name":"inner","namespace":"default"}}})"));
  const Asked asked = create(vm(R"("dataVolumeTemplates":[{"metadata":{"name":"d"},"spec":)"
                                R"({"sourceRef":{"kind":"datasource","name":"outer"},"storage":{}}}],)"));
  EXPECT_EQ(asked.at("/spec/template/spec/architecture"), R"("s390x")");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/machine/type"), R"("s390-ccw-virtio")");
}

// --- inference

constexpr std::string_view claim_volume =
    R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[)"
    R"({"name":"v","persistentVolumeClaim":{"claimName":"c"}},)"
    R"({"name":"d","dataVolume":{"name":"d"}},{"name":"e","emptyDisk":{"capacity":"1Gi"}}]})";

struct InferenceTest : VmMutatorTest {
  Asked infer(std::string_view volume, std::string_view policy = "Reject", std::string_view extra = "") {
    return create(vm(std::string(extra) + R"("instancetype":{"inferFromVolume":")" + std::string(volume) +
                         R"(","inferFromVolumeFailurePolicy":")" + std::string(policy) + R"("},)",
                     claim_volume));
  }
};

TEST_F(InferenceTest, FromAClaim) {
  known.add_text(labelled("v1", "PersistentVolumeClaim", "c", small_linux));
  const Asked asked = infer("v");
  EXPECT_EQ(asked.at("/spec/instancetype"), R"({"name":"small"})");
  EXPECT_EQ(asked.at("/spec/template/spec/domain/memory/guest"), R"("1Gi")");
  const Asked preference = create(vm(R"("preference":{"inferFromVolume":"v"},)", claim_volume));
  EXPECT_EQ(preference.at("/spec/preference"), R"({"name":"linux","kind":"VirtualMachinePreference"})");
}

TEST_F(InferenceTest, ANamelessVolumeComesFromANamelessTemplate) {
  known.add_text(labelled("v1", "PersistentVolumeClaim", "c", small_linux));
  const Asked asked = create(vm(R"("dataVolumeTemplates":[{"metadata":{},"spec":{"source":{"pvc":{)"
                                R"("namespace":"default","name":"c"}}}}],"instancetype":{"inferFromVolume":"v"},)",
                                R"({"domain":{"devices":{}},"volumes":[{"name":"v","dataVolume":{}}]})"));
  EXPECT_EQ(asked.at("/spec/instancetype"), R"({"name":"small"})");
}

TEST_F(InferenceTest, AnEmptyLabelNamesNothing) {
  known.add_text(
      labelled("v1", "PersistentVolumeClaim", "c", R"({"instancetype.kubevirt.io/default-instancetype":""})"));
  EXPECT_EQ(infer("v").at("/spec/instancetype"), "{}");
}

TEST_F(InferenceTest, SuccessUnderIgnoreDropsTheMemory) {
  known.add_text(labelled("v1", "PersistentVolumeClaim", "c", small_linux));
  EXPECT_EQ(infer("v", "Ignore").at("/spec/template/spec/domain/memory"), "");
}

TEST_F(InferenceTest, FromADataVolumeItsSourceOrItsClaim) {
  known.add_text(labelled("v1", "PersistentVolumeClaim", "d", small_linux));
  EXPECT_EQ(infer("d").at("/spec/instancetype/name"), R"("small")");
  known.add_text(labelled("cdi.kubevirt.io/v1beta1", "DataVolume", "d", "{}",
                          R"({"source":{"pvc":{"namespace":"default","name":"src"}}})"));
  EXPECT_EQ(infer("d").code(), 400);
  known.add_text(
      labelled("v1", "PersistentVolumeClaim", "src", R"({"instancetype.kubevirt.io/default-instancetype":"big"})"));
  EXPECT_EQ(infer("d").at("/spec/instancetype/name"), R"("big")");
}

TEST_F(InferenceTest, FromADataSourceOrWhatItPointsAt) {
  constexpr std::string_view extra = R"("dataVolumeTemplates":[{"metadata":{"name":"d"},"spec":)"
                                     R"({"sourceRef":{"kind":"DataSource","name":"s"},"storage":{}}}],)";
  EXPECT_EQ(infer("d", "Ignore", extra).code(), 400);  // a failed look-up is not ignored
  known.add_text(labelled("cdi.kubevirt.io/v1beta1", "DataSource", "s", "{}",
                          R"({"source":{"snapshot":{"namespace":"default","name":"snap"}}})"));
  known.add_text(labelled("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "snap", small_linux));
  EXPECT_EQ(infer("d", "Reject", extra).at("/spec/instancetype/name"), R"("small")");
  known.add_text(labelled("cdi.kubevirt.io/v1beta1", "DataSource", "s",
                          R"({"instancetype.kubevirt.io/default-instancetype":"own"})"));
  EXPECT_EQ(infer("d", "Reject", extra).at("/spec/instancetype/name"), R"("own")");
}

TEST_F(InferenceTest, PolicyDecidesAboutVolumesThatSayNothing) {
  EXPECT_EQ(infer("e").code(), 400);
  const Asked ignored = infer("e", "Ignore");
  EXPECT_TRUE(ignored.allowed());
  EXPECT_EQ(ignored.at("/spec/instancetype"), "");
  EXPECT_EQ(ignored.at("/spec/template/spec/domain/memory/guest"), R"("1Gi")");
  EXPECT_EQ(infer("nowhere", "Ignore").code(), 400);
  EXPECT_THAT(infer("nowhere").verdict.refusal().message, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace vg::admission::testing
