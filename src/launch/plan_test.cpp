#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "base/base64.h"
#include "domain/derive.h"
#include "domain/testing.h"
#include "launch/credentials.h"
#include "launch/launch.h"

namespace vg::launch {
namespace {

using domain::testing::vmi_with;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Step::Kind;

// The objects that a VMI mounts, "Secret/name" by JSON.
class Objects {
 public:
  Objects() = default;
  void put(const std::string& name, std::string_view json) {
    documents_.insert_or_assign(name, std::move(*json::Document::parse(json)));
  }
  void put(const std::string& name, json::Object object) {
    json::Document document;
    document.root() = std::move(object);
    documents_.insert_or_assign(name, std::move(document));
  }
  Mounted mounted() const {
    return [this](std::string_view kind, std::string_view name) -> const json::Object* {
      const auto found = documents_.find(fmt::format("{}/{}", kind, name));
      return found == documents_.end() ? nullptr : found->second.root().if_object();
    };
  }

 private:
  std::map<std::string, json::Document> documents_;
};

const Folders folders{.guest = "/s/nodes/n/guests/U",
                      .shared = "/s/nodes/n/shared/U",
                      .sockets = "/run/n/U",
                      .disks = "/s/disks",
                      .images = "/s/images",
                      .tpm = "/s/nodes/n/swtpm"};

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    objects.put("Secret/keys", fmt::format(R"({{"data":{{"b":"{}","a":"{}","..x":"{}"}}}})", base64_encode("key-b"),
                                           base64_encode("key-a"), base64_encode("hidden")));
    objects.put("Secret/data", fmt::format(R"({{"data":{{"userdata":"{}","networkData":"{}"}}}})",
                                           base64_encode("from secret"), base64_encode("net of secret")));
    objects.put("Secret/empty", R"({"data":{}})");
    objects.put("ConfigMap/map", R"({"data":{"z":"last","a":"first"},"binaryData":{"m":"AAE="}})");
    objects.put("ConfigMap/answers", R"({"data":{"AutoUnattend.xml":"<x/>"}})");
    images.push_back({.volume = "root", .disk = "/s/images/d", .format = "qcow2"});  // of no known digest
  }
  Wanted wanted(const json::Document& vmi) const {
    return {.vmi = vmi.root(),
            .folders = folders,
            .mounted = objects.mounted(),
            .images = images,
            .service_account_token = "token",
            .authority = "ca",
            .source_guest = is_target ? "/s/nodes/other/guests/U" : ""};
  }
  Result<Plan> planned(std::string_view patch) const {
    const auto vmi = vmi_with(patch);
    return plan(wanted(vmi));
  }
  // One disk `d` over a volume.
  Result<Plan> volume(std::string_view source, std::string_view status = "{}") const {
    return planned(domain::testing::disk_on(R"("disk":{"bus":"virtio"})", source, status));
  }
  std::string refusal(const Result<Plan>& made) const {
    if (made) return "nothing refused it";
    EXPECT_FALSE(made.error().message.empty());
    return made.error().details.causes.empty() ? "" : std::string(made.error().details.causes.front().rule);
  }
  static Step only(const Result<Plan>& made, Kind kind) {
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (!made) return {};
    Step found;
    int count = 0;
    for (const auto* steps : {&made->before_define, &made->before_start})
      for (const Step& step : *steps)
        if (step.kind == kind) {
          found = step;
          ++count;
        }
    EXPECT_EQ(count, 1);
    return found;
  }
  static std::string content(const Step& step, std::string_view name) {
    for (const Step::File& file : step.files)
      if (file.name == name) return file.content;
    return "(none)";
  }

  Objects objects;
  std::vector<ContainerImage> images;
  bool is_target = false;
};

std::string no_cloud(std::string_view members, std::string_view more = "") {
  return fmt::format(
      R"({{"spec":{{"volumes":[{{"name":"root","containerDisk":{{"image":"i"}}}},{{"name":"ci","cloudInitNoCloud":{{{}}}}}]{}}}}})",
      members, more);
}
std::string config_drive(std::string_view members, std::string_view more = "") {
  return fmt::format(
      R"({{"spec":{{"volumes":[{{"name":"root","containerDisk":{{"image":"i"}}}},{{"name":"ci","cloudInitConfigDrive":{{{}}}}}]{}}}}})",
      members, more);
}

TEST_F(PlanTest, W01NoCloud) {  // W-01, RUN-CI-08, RUN-CI-09
  const std::string keys =
      R"(,"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"one"}},"propagationMethod":{"noCloud":{}}}}])";
  objects.put("Secret/one", fmt::format(R"({{"data":{{"x":"{}"}}}})", base64_encode("k")));
  std::string patch = no_cloud(R"("userData":"#cloud-config")", keys);
  patch.insert(1, R"("metadata":{"name":"vm1.x"},)");
  const Step iso = only(planned(patch), Kind::make_iso);
  EXPECT_EQ(iso.label, "cidata");
  EXPECT_EQ(iso.volume, "ci");
  EXPECT_EQ(iso.path, "/s/nodes/n/guests/U/cloud-init/noCloud.iso");
  EXPECT_EQ(iso.files.size(), 2U);
  EXPECT_EQ(content(iso, "user-data"), "#cloud-config");
  EXPECT_EQ(content(iso, "meta-data"), R"({"instance-id":"F","local-hostname":"vm1","public-keys":{"0":"k"}})");
}

TEST_F(PlanTest, W02ConfigDrive) {  // W-02, RUN-CI-10, RUN-CI-11
  const Step iso = only(planned(config_drive(R"("userData":"u")")), Kind::make_iso);
  EXPECT_EQ(iso.label, "config-2");
  EXPECT_EQ(iso.path, "/s/nodes/n/guests/U/cloud-init/configdrive.iso");
  EXPECT_EQ(content(iso, "openstack/latest/user_data"), "u");
  EXPECT_EQ(content(iso, "openstack/latest/meta_data.json"),
            R"({"instance_id":"vm1.default","hostname":"vm1","uuid":"F"})");
}

struct DataRow {
  std::string_view id, members, user, network;
};
class CloudInitData : public PlanTest, public testing::WithParamInterface<DataRow> {};
TEST_P(CloudInitData, Is) {
  const Step iso = only(planned(no_cloud(GetParam().members)), Kind::make_iso);
  EXPECT_EQ(content(iso, "user-data"), GetParam().user);
  EXPECT_EQ(content(iso, "network-config"), GetParam().network);
}
INSTANTIATE_TEST_SUITE_P(
    Rows, CloudInitData,
    testing::Values(
        DataRow{"RUN-CI-02 text", R"("userData":"u","userDataBase64":"eA==")", "u", "(none)"},
        DataRow{"RUN-CI-02 base64", R"("userDataBase64":"eA==")", "x", "(none)"},
        DataRow{"RUN-CI-02 secret", R"("secretRef":{"name":"data"},"userData":"u")", "from secret", "(none)"},
        DataRow{"RUN-CI-02 secret has none", R"("secretRef":{"name":"empty"},"userData":"u")", "u", "(none)"},
        DataRow{"RUN-CI-02 no secret", R"("secretRef":{"name":"gone"},"userData":"u")", "u", "(none)"},
        DataRow{"RUN-CI-03 secret", R"("userData":"u","networkDataSecretRef":{"name":"data"})", "u", "net of secret"},
        DataRow{"RUN-CI-03 base64", R"("networkDataBase64":"bg==")", "", "n"},
        DataRow{"RUN-CI-16", R"("networkData":"version: 2\n")", "", "version: 2\n"}),
    [](const auto& row) {
      std::string name(row.param.id);
      for (char& c : name)
        if (c == '-' || c == ' ') c = '_';
      return name;
    });

TEST_F(PlanTest, CloudInitWithoutDataIsRefused) {  // RUN-CI-04
  EXPECT_EQ(refusal(planned(no_cloud(R"("userData":"")"))), "RUN-CI-04");
  EXPECT_EQ(refusal(planned(
                no_cloud(R"("secretRef":{"name":"gone"},"networkDataSecretRef":{"name":"empty"},"userData":"u")"))),
            "RUN-CI-04");
  EXPECT_EQ(refusal(planned(no_cloud(R"("userDataBase64":"*")"))), "RUN-CI-02");
}

TEST_F(PlanTest, TheFirstCloudInitVolumeOfEachKindCounts) {  // RUN-CI-01
  const auto made = planned(
      R"({"spec":{"volumes":[{"name":"root","containerDisk":{"image":"i"}},
         {"name":"b","cloudInitConfigDrive":{"userData":"2"}},{"name":"a","cloudInitNoCloud":{"userData":"1"}},
         {"name":"c","cloudInitConfigDrive":{"userData":"3"}},{"name":"d","cloudInitNoCloud":{"userData":"4"}}]}})");
  ASSERT_TRUE(made);
  std::vector<std::string> isos;
  for (const Step& step : made->before_start)
    if (step.kind == Kind::make_iso) isos.push_back(step.volume + " " + step.label + " " + step.files.front().content);
  EXPECT_EQ(isos, (std::vector<std::string>{"b config-2 2", "a cidata 1"}));
}

TEST_F(PlanTest, MetaDataOfTheVmi) {  // RUN-CI-05, RUN-CI-06, RUN-CI-07
  const std::string keys =
      R"(,"hostname":"h.of.it","accessCredentials":[
        {"sshPublicKey":{"source":{"secret":{"secretName":"keys"}},"propagationMethod":{"noCloud":{}}}},
        {"sshPublicKey":{"source":{"secret":{"secretName":"gone"}},"propagationMethod":{"configDrive":{}}}}])";
  std::string patch = no_cloud(R"("userData":"u")", keys);
  patch.insert(1, R"("metadata":{"annotations":{"kubevirt.io/instancetype-name":"<small>"}},)");
  EXPECT_EQ(
      content(only(planned(patch), Kind::make_iso), "meta-data"),
      R"({"instance-type":"\u003csmall\u003e","instance-id":"F","local-hostname":"h.of.it","public-keys":{"0":"key-a","1":"key-b"}})");
  const std::string gone =
      R"(,"accessCredentials":[{"sshPublicKey":{"source":{"secret":{"secretName":"gone"}},"propagationMethod":{"noCloud":{}}}}])";
  EXPECT_EQ(refusal(planned(no_cloud(R"("userData":"u")", gone))), "RUN-CI-07");
}

TEST_F(PlanTest, ALongNameIsCut) {  // RUN-CI-05
  std::string patch = no_cloud(R"("userData":"u")");
  patch.insert(1, fmt::format(R"("metadata":{{"name":"{}"}},)", std::string(80, 'a')));
  EXPECT_THAT(content(only(planned(patch), Kind::make_iso), "meta-data"),
              HasSubstr(fmt::format(R"("local-hostname":"{}")", std::string(63, 'a'))));
}

TEST_F(PlanTest, AddressesOfTaggedNicsAreTold) {  // RUN-CI-12, RUN-CI-13
  const auto vmi = vmi_with(config_drive(
      R"("userData":"u")",
      R"(,"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{},"tag":"t"},{"name":"b","masquerade":{}}]}})"));
  const auto steps = plan_before_start(wanted(vmi), R"(<domain><devices>
    <disk><alias name='ua-default'/><address type='pci' domain='0x0000' bus='0x09' slot='0x00' function='0x0'/></disk>
    <interface type='user'><mac address='52:54:00:00:00:01'/><alias name='ua-default'/>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x02' function='0x3'/></interface>
    <interface type='user'><alias name='ua-b'/><address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/></interface>
    </devices></domain>)");
  ASSERT_TRUE(steps);
  EXPECT_THAT(
      content(steps->back(), "openstack/latest/meta_data.json"),
      HasSubstr(
          R"("devices":[{"type":"nic","bus":"pci","address":"0000:01:02.3","mac":"52:54:00:00:00:01","tags":["t"]}])"));
}

TEST_F(PlanTest, AMigrationTargetHasACopyInstead) {  // RUN-CI-17, RUN-ISO-07
  is_target = true;
  std::string patch = no_cloud(R"("userData":"u")");
  patch.insert(1, R"("status":{"volumeStatus":[{"name":"ci","size":374784,"target":""}]},)");
  const Step step = only(planned(patch), Kind::copy);
  EXPECT_EQ(step.size, 374784);
  EXPECT_EQ(step.path, "/s/nodes/n/guests/U/cloud-init/noCloud.iso");
  EXPECT_EQ(step.backing, "/s/nodes/other/guests/U/cloud-init/noCloud.iso");
}

struct IsoRow {
  std::string_view id, source, label, path;
  std::vector<Step::File> files;
};
class ConfigDisk : public PlanTest, public testing::WithParamInterface<IsoRow> {};
TEST_P(ConfigDisk, Is) {
  const Step iso = only(volume(GetParam().source), Kind::make_iso);
  EXPECT_EQ(iso.label, GetParam().label);
  EXPECT_EQ(iso.path, fmt::format("/s/nodes/n/guests/U/{}", GetParam().path));
  EXPECT_EQ(iso.files, GetParam().files);
  EXPECT_EQ(iso.volume, "d");
}
INSTANTIATE_TEST_SUITE_P(
    Rows, ConfigDisk,
    testing::Values(IsoRow{"RUN_ISO_01",
                           R"("configMap":{"name":"map"})",
                           "cfgdata",
                           "config-map-disks/d.iso",
                           {{"a", "first"}, {"m", std::string("\0\1", 2)}, {"z", "last"}}},
                    IsoRow{"RUN_ISO_01_label",
                           R"("configMap":{"name":"map","volumeLabel":"L"})",
                           "L",
                           "config-map-disks/d.iso",
                           {{"a", "first"}, {"m", std::string("\0\1", 2)}, {"z", "last"}}},
                    IsoRow{"RUN_ISO_01_optional",
                           R"("configMap":{"name":"gone","optional":true})",
                           "cfgdata",
                           "config-map-disks/d.iso",
                           {}},
                    IsoRow{"RUN_ISO_02",
                           R"("secret":{"secretName":"data"})",
                           "cfgdata",
                           "secret-disks/d.iso",
                           {{"networkData", "net of secret"}, {"userdata", "from secret"}}},
                    IsoRow{"RUN_ISO_03",
                           R"("downwardAPI":{"fields":[{"path":"a/name","fieldRef":{"fieldPath":"metadata.name"}}]})",
                           "cfgdata",
                           "downwardapi-disks/d.iso",
                           {{"a/name", "vm1"}}},
                    IsoRow{"RUN_ISO_04",
                           R"("serviceAccount":{"serviceAccountName":"x"})",
                           "cfgdata",
                           "service-account-disk/service-account.iso",
                           {{"ca.crt", "ca"}, {"namespace", "default"}, {"token", "token"}}},
                    IsoRow{"RUN_ISO_05",
                           R"("sysprep":{"configMap":{"name":"answers"}})",
                           "unattendCD",
                           "sysprep-disks/d.iso",
                           {{"AutoUnattend.xml", "<x/>"}}}),
    [](const auto& row) { return std::string(row.param.id); });

TEST_F(PlanTest, ConfigDisksThatCannotBe) {
  EXPECT_EQ(refusal(volume(R"("sysprep":{"configMap":{"name":"map"}})")), "RUN-ISO-05");
  EXPECT_FALSE(volume(R"("configMap":{"name":"gone"})"));
  EXPECT_FALSE(volume(R"("secret":{"secretName":"gone"})"));
  EXPECT_EQ(refusal(volume(R"("downwardAPI":{"fields":[{"path":"a","fieldRef":{"fieldPath":"spec.x"}}]})")),
            "RUN-ISO-03");
  for (const std::string_view path : {"../a", "/a", "a//b", "a/..", ""})
    EXPECT_FALSE(volume(fmt::format(
        R"("downwardAPI":{{"fields":[{{"path":"{}","fieldRef":{{"fieldPath":"metadata.name"}}}}]}})", path)))
        << path;
  for (const std::string_view key : {"..", ".", "a/b", ""}) {
    objects.put("ConfigMap/bad", fmt::format(R"({{"data":{{"{}":"x"}}}})", key));
    EXPECT_FALSE(volume(R"("configMap":{"name":"bad"})")) << key;
  }
  objects.put("ConfigMap/huge", json::Object{{"data", json::Object{{"a", std::string(17 << 20, 'x')}}}});
  EXPECT_EQ(refusal(volume(R"("configMap":{"name":"huge"})")), "RUN-ISO-06");
}

TEST_F(PlanTest, AVolumeWithoutADiskIsNotMade) {  // RUN-ISO-01
  const auto made = planned(
      R"({"spec":{"volumes":[{"name":"root","containerDisk":{"image":"i"}},{"name":"x","configMap":{"name":"gone"}}]}})");
  ASSERT_TRUE(made) << made.error().message;
  for (const Step& step : made->before_define) EXPECT_NE(step.kind, Kind::make_iso);
}

TEST_F(PlanTest, DownwardApiOfResourcesAndMaps) {  // RUN-ISO-03
  const auto made = planned(
      R"({"metadata":{"labels":{"b":"2","a":"1"}},"spec":{"domain":{"resources":{"requests":{"memory":"1Gi","cpu":"1500m"}},
          "devices":{"disks":[{"name":"d","disk":{"bus":"virtio"}}]}},
          "volumes":[{"name":"d","downwardAPI":{"fields":[
            {"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},{"path":"b","fieldRef":{"fieldPath":"metadata.labels['b']"}},
            {"path":"cpu","resourceFieldRef":{"resource":"requests.cpu"}},
            {"path":"mi","resourceFieldRef":{"resource":"requests.memory","divisor":"1Mi"}}]}}]}})");
  const Step iso = only(made, Kind::make_iso);
  EXPECT_EQ(content(iso, "labels"), "a=\"1\"\nb=\"2\"");
  EXPECT_EQ(content(iso, "b"), "2");
  EXPECT_EQ(content(iso, "cpu"), "2");
  EXPECT_EQ(content(iso, "mi"), "1024");
}

TEST_F(PlanTest, W03EmptyDisk) {  // W-03, RUN-IMG-02
  const Step step = only(volume(R"("emptyDisk":{"capacity":"1.5Mi"})"), Kind::make_empty);
  EXPECT_EQ(step.size, 1048576);
  EXPECT_EQ(step.path, "/s/nodes/n/guests/U/empty-disks/d.qcow2");
  EXPECT_EQ(refusal(volume(R"("emptyDisk":{"capacity":"512Ki"})")), "RUN-IMG-02");
  EXPECT_EQ(refusal(volume(R"("emptyDisk":{"capacity":"-1Gi"})")), "RUN-IMG-02");
}

std::string claim_status(std::string_view amounts, std::string_view more = "") {
  return fmt::format(
      R"({{"volumeStatus":[{{"name":"d","target":"","persistentVolumeClaimInfo":{{"claimName":"c",{}}}{}}}]}})",
      amounts, more);
}

TEST_F(PlanTest, W04Claim) {  // W-04, RUN-IMG-05, PVC-06: the image of a claim is there, or the guest does not start
  const auto made = volume(R"("persistentVolumeClaim":{"claimName":"c"})",
                           claim_status(R"("capacity":{"storage":"2Gi"},"requests":{"storage":"1500M"})"));
  ASSERT_TRUE(made);
  for (const Step& step : made->before_define) EXPECT_NE(step.kind, Kind::make_raw);
  const Step link = only(made, Kind::link);
  EXPECT_EQ(link.path, "/s/nodes/n/guests/U/volumes/d/disk.img");
  EXPECT_EQ(link.backing, "/s/disks/default/c/disk.img");
  EXPECT_EQ(only(volume(R"("dataVolume":{"name":"dv"})"), Kind::link).backing, "/s/disks/default/dv/disk.img");
  EXPECT_FALSE(volume(R"("persistentVolumeClaim":{"claimName":".."})"));
  EXPECT_FALSE(volume(R"("persistentVolumeClaim":{"claimName":"a/b"})"));
}

TEST_F(PlanTest, AHotpluggedClaimComesLater) {
  const std::string status =
      R"({"volumeStatus":[{"name":"d","target":"","hotplugVolume":{},"persistentVolumeClaimInfo":{"claimName":"c","capacity":{"storage":"2Gi"}}}]})";
  const std::string patch =
      domain::testing::disk_on(R"("disk":{"bus":"scsi"})", R"("persistentVolumeClaim":{"claimName":"c"})", status);
  const auto made = planned(patch);
  ASSERT_TRUE(made);
  for (const Step& step : made->before_define) EXPECT_EQ(step.kind, Kind::make_folder);
  const auto vmi = vmi_with(patch);
  const auto steps = plan_hotplug(wanted(vmi), "d");
  ASSERT_TRUE(steps);
  EXPECT_THAT(*steps, ElementsAre(Field(&Step::path, "/s/nodes/n/guests/U/hotplug"),
                                  AllOf(Field(&Step::kind, Kind::link),  // RUN-IMG-05: which must be there
                                        Field(&Step::path, "/s/nodes/n/guests/U/hotplug/d.img"),
                                        Field(&Step::backing, "/s/disks/default/c/disk.img"))));
  EXPECT_FALSE(plan_hotplug(wanted(vmi), "other"));
}

TEST_F(PlanTest, EphemeralIsAnOverlayOfTheClaim) {  // RUN-IMG-01
  const auto made = volume(R"("ephemeral":{"persistentVolumeClaim":{"claimName":"c"}})");
  const Step overlay = only(made, Kind::make_overlay);
  EXPECT_EQ(overlay.backing, "/s/nodes/n/guests/U/volumes/d/disk.img");
  EXPECT_EQ(overlay.backing_format, "raw");
  EXPECT_EQ(only(made, Kind::link).backing, "/s/disks/default/c/disk.img");
}

TEST_F(PlanTest, HostDisks) {  // RUN-IMG-03, RUN-IMG-04
  const auto made = volume(R"("hostDisk":{"path":"/data/x.img","type":"DiskOrCreate","capacity":"10Mi"})");
  EXPECT_EQ(only(made, Kind::make_raw).size, 10 << 20);
  EXPECT_EQ(only(made, Kind::link).path, "/s/nodes/n/guests/U/volumes/d/x.img");
  for (const auto& [lines, makes] : {std::pair(R"(/data/x.img\n)", false), std::pair(R"(/data/x.img.old\n)", true)}) {
    const std::string patch = domain::testing::disk_on(
        R"("disk":{"bus":"virtio"})", R"("hostDisk":{"path":"/data/x.img","type":"DiskOrCreate","capacity":"10Mi"})");
    const auto again =
        planned(fmt::format(R"({{"metadata":{{"annotations":{{"virtgate.io/host-disks-made":"{}"}}}},{})", lines,
                            patch.substr(patch.find('{') + 1)));
    ASSERT_TRUE(again);
    EXPECT_EQ(std::ranges::any_of(again->before_define, [](const Step& step) { return step.kind == Kind::make_raw; }),
              makes)
        << "what an earlier run had is not made anew";
  }
  const auto existing = volume(R"("hostDisk":{"path":"/data/x.img","type":"Disk"})");
  ASSERT_TRUE(existing);
  for (const Step& step : existing->before_define) EXPECT_NE(step.kind, Kind::make_raw);
  for (const std::string_view path :
       {"x", "/a/../b", "/s/disks/other/c/disk.img", "/s/store.db", "/data/..", "/", "/a//b", "/run/n/U/virt-vnc", "/s",
        "/proc/self/root/data/x.img", "/etc/x", "/home/user/x.img", "/datax/x.img"})
    EXPECT_EQ(refusal(volume(fmt::format(R"("hostDisk":{{"path":"{}","type":"Disk"}})", path))), "RUN-IMG-04") << path;
}

TEST_F(PlanTest, ContainerDisks) {  // RUN-CD-02, RUN-CD-04
  const auto made = planned("{}");
  const Step shared = only(made, Kind::share);
  EXPECT_EQ(shared.path, "/s/nodes/n/shared/U/container-disks/disk_0.img");
  EXPECT_EQ(shared.backing, "/s/images/d");
  const Step overlay = only(made, Kind::make_overlay);
  EXPECT_EQ(overlay.path, "/s/nodes/n/guests/U/overlays/root.qcow2");
  EXPECT_EQ(overlay.backing, shared.path);
  EXPECT_EQ(overlay.backing_format, "qcow2");
  images.clear();
  EXPECT_EQ(refusal(planned("{}")), "RUN-CD-01");
}

TEST_F(PlanTest, WhatIsUsedIsWrittenDown) {
  images.front().digest = "sha256:1";
  const Step note = only(planned("{}"), Kind::write_file);
  EXPECT_EQ(note.path, "/s/nodes/n/shared/U/images");
  EXPECT_EQ(note.content, "sha256:1\n");
}

TEST_F(PlanTest, KernelBoot) {  // RUN-CD-05
  images.push_back({.volume = "", .disk = "", .format = "", .kernel = "/s/k", .initrd = "/s/i"});
  const auto boot = [&](std::string_view members) {
    return planned(domain::testing::dom(
        fmt::format(R"({{"firmware":{{"uuid":"F","kernelBoot":{{"container":{{"image":"i",{}}}}}}}}})", members)));
  };
  const auto made = boot(R"("kernelPath":"/boot/vmlinuz","initrdPath":"/boot/initrd")");
  ASSERT_TRUE(made) << made.error().message;
  std::map<std::string, std::string> links;
  for (const Step& step : made->before_define)
    if (step.kind == Kind::share) links[step.path] = step.backing;
  EXPECT_EQ(links["/s/nodes/n/shared/U/kernel-boot/vmlinuz"], "/s/k");
  EXPECT_EQ(links["/s/nodes/n/shared/U/kernel-boot/initrd"], "/s/i");
  EXPECT_EQ(refusal(boot(R"("kernelPath":"/a/x","initrdPath":"/b/x")")), "RUN-CD-05");
  EXPECT_EQ(refusal(boot(R"("kernelPath":"/a/..")")), "RUN-CD-05");
}

TEST_F(PlanTest, ClaimsGrow) {  // RUN-GRW-01, RUN-GRW-02
  const std::string amounts = R"("capacity":{"storage":"2Gi"},"filesystemOverhead":"0.055")";
  const Step step = only(volume(R"("persistentVolumeClaim":{"claimName":"c"})", claim_status(amounts)), Kind::grow);
  EXPECT_EQ(step.path, "/s/disks/default/c/disk.img");
  EXPECT_EQ(step.size, std::int64_t{2} << 30);
  EXPECT_EQ(step.overhead, 0.055);
  for (const std::string_view overhead : {"1", "-0.1", "x", "nan"}) {
    const auto none =
        volume(R"("persistentVolumeClaim":{"claimName":"c"})",
               claim_status(fmt::format(R"("capacity":{{"storage":"2Gi"}},"filesystemOverhead":"{}")", overhead)));
    ASSERT_TRUE(none);
    for (const Step& one : none->before_define) EXPECT_NE(one.kind, Kind::grow) << overhead;
  }
  const auto read_only =
      planned(domain::testing::disk_on(R"("disk":{"bus":"virtio","readonly":true})",
                                       R"("persistentVolumeClaim":{"claimName":"c"})", claim_status(amounts)));
  ASSERT_TRUE(read_only);
  for (const Step& one : read_only->before_define) EXPECT_NE(one.kind, Kind::grow);
  const auto only_read = volume(R"("persistentVolumeClaim":{"claimName":"c"})",
                                claim_status(amounts + R"(,"accessModes":["ReadOnlyMany"])"));  // PVC-07
  ASSERT_TRUE(only_read);
  for (const Step& one : only_read->before_define) EXPECT_NE(one.kind, Kind::grow);
}

TEST_F(PlanTest, OtherFiles) {  // RUN-IGN-01, RUN-DMX-01, DOM-OS-13
  EXPECT_EQ(
      only(planned(R"({"metadata":{"annotations":{"kubevirt.io/ignitiondata":"text"}}})"), Kind::write_file).content,
      "text");
  const Step metrics = only(volume(R"("downwardMetrics":{})"), Kind::write_file);
  EXPECT_EQ(metrics.content.size(), 262144U);
  EXPECT_TRUE(metrics.content.starts_with(std::string_view("mvbd\0\0\0\0", 8)));
  objects.put("Secret/acpi", R"({"data":{"slic.bin":"AAE="}})");
  const Step table = only(planned(R"({"spec":{"domain":{"firmware":{"acpi":{"slicNameRef":"t"}}},
      "volumes":[{"name":"root","containerDisk":{"image":"i"}},{"name":"t","secret":{"secretName":"acpi"}}]}})"),
                          Kind::write_file);
  EXPECT_EQ(table.path, "/s/nodes/n/guests/U/secret/t/slic.bin");
  EXPECT_EQ(table.content, std::string("\0\1", 2));
}

TEST_F(PlanTest, NamesOfVolumesStayNames) {
  for (const std::string_view name : {"..", "a/b", "."})
    EXPECT_FALSE(planned(fmt::format(
        R"({{"spec":{{"volumes":[{{"name":"root","containerDisk":{{"image":"i"}}}},{{"name":"{}","emptyDisk":{{"capacity":"1Gi"}}}}]}}}})",
        name)))
        << name;
}

TEST_F(PlanTest, FoldersComeFirst) {
  const auto made = planned(no_cloud(R"("userData":"u")"));
  ASSERT_TRUE(made);
  bool other = false;
  for (const Step& step : made->before_define) {
    EXPECT_FALSE(other && step.kind == Kind::make_folder);
    other = other || step.kind != Kind::make_folder;
  }
  EXPECT_EQ(made->before_start.front().kind, Kind::make_folder);
}

TEST_F(PlanTest, PathsOfTheDomainAreThoseOfThePlan) {
  const auto vmi = vmi_with("{}");
  auto context = *domain::derive(domain::Vmi(vmi.root()));
  context.block_pvc.insert("x");
  put_paths(wanted(vmi), context);
  for (std::size_t i = 0; i < static_cast<std::size_t>(domain::Path::count); ++i) {
    const auto path = context.paths.at(static_cast<domain::Path>(i),
                                       {{"volume", "v"}, {"name", "vm1"}, {"index", "0"}, {"file", "f"}});
    EXPECT_FALSE(path.contains("kubevirt") || path.starts_with("/var")) << path;
  }
  EXPECT_EQ(context.disk_info["root"], "qcow2");
  EXPECT_THAT(context.block_pvc, IsEmpty());
  EXPECT_FALSE(context.serial_log);
  const auto made = domain::convert(domain::Vmi(vmi.root()), context);
  ASSERT_TRUE(made);
  EXPECT_EQ(domain::testing::at(*made, "devices/disk/source@file"), "/s/nodes/n/guests/U/overlays/root.qcow2");
  EXPECT_EQ(domain::testing::at(*made, "devices/graphics/listen@socket"), "/run/n/U/virt-vnc");
}

constexpr std::string_view state_claim =
    R"("status":{"volumeStatus":[{"name":"persistent-state-for-this-vm","target":"",)"
    R"("persistentVolumeClaimInfo":{"claimName":"persistent-state-for-vm1-x"}}]},)";

TEST_F(PlanTest, VariablesThatAreKeptAreInAClaim) {  // RUN-TPM-01
  for (const bool kept : {false, true}) {
    std::string patch = domain::testing::dom(
        fmt::format(R"({{"firmware":{{"bootloader":{{"efi":{{"secureBoot":false,"persistent":{}}}}}}}}})", kept));
    patch.insert(1, state_claim);
    const auto vmi = vmi_with(patch);
    domain::DomainContext context;
    put_paths(wanted(vmi), context);
    EXPECT_EQ(
        context.paths.at(domain::Path::nvram, {{"name", "vm1"}}),
        fmt::format("{}/nvram/vm1_VARS.fd", kept ? "/s/disks/default/persistent-state-for-vm1-x" : folders.guest));
  }
}

TEST_F(PlanTest, AMemoryDumpHasNoImage) {  // RUN-DMP-02
  const auto vmi =
      vmi_with(R"({"spec":{"volumes":[{"name":"d","memoryDump":{"claimName":"c","hotpluggable":true}}]}})");
  const auto steps = plan_hotplug(wanted(vmi), "d");
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_THAT(*steps, testing::IsEmpty());
}

TEST_F(PlanTest, FileSystemsAreRefused) {  // DOM-FS-01
  const auto made = planned(domain::testing::dom(R"({"devices":{"filesystems":[{"name":"f","virtiofs":{}}]}})"));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("virtiofsd"));
}

TEST_F(PlanTest, ATpmThatIsKeptIsInAClaim) {  // RUN-TPM-01
  std::string patch = domain::testing::dom(R"({"firmware":{"uuid":"u-1"},"devices":{"tpm":{"persistent":true}}})");
  patch.insert(1, state_claim);
  const auto made = planned(patch);
  ASSERT_TRUE(made);
  std::map<std::string, std::string> links;
  for (const Step& step : made->before_define)
    if (step.kind == Kind::link_folder) links.emplace(step.path, step.backing);
  EXPECT_THAT(links, testing::ElementsAre(
                         testing::Pair("/s/nodes/n/guests/U/tpm", "/s/nodes/n/swtpm/u-1"),
                         testing::Pair("/s/nodes/n/swtpm/u-1", "/s/disks/default/persistent-state-for-vm1-x/tpm")));
  is_target = true;
  EXPECT_FALSE(planned(patch));
}

struct AccountRow {
  std::string_view reference, user;
};
TEST(Credentials, TheLongestEntryCounts) {
  const std::string config = R"({"auths":{"quay.io":{"auth":"YTpi"},"quay.io/team":{"username":"team","password":"p"},
    "https://index.docker.io/v1/":{"auth":"ZDpw"},"quay.io/te":{"auth":"eDp5"},"bad":{"auth":"%%"}}})";
  const auto secret =
      json::Document::parse(fmt::format(R"({{"data":{{".dockerconfigjson":"{}"}}}})", base64_encode(config)));
  for (const AccountRow& row : std::initializer_list<AccountRow>{{"quay.io/other/x:1", "a"},
                                                                 {"quay.io/team/x:1", "team"},
                                                                 {"quay.io/teams/x:1", "a"},
                                                                 {"library/x", "d"},
                                                                 {"x", "d"},
                                                                 {"quay.io.evil.org/x", ""},
                                                                 {"ghcr.io/x", ""}}) {
    const auto account = account_for(*secret->root().if_object(), row.reference);
    EXPECT_EQ(account ? account->user : "", row.user) << row.reference;
  }
}

}  // namespace
}  // namespace vg::launch
