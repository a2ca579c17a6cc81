#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <type_traits>
#include <vector>

#include "api/views/all.h"

namespace vg::api {
namespace {

const json::Value& sample() {
  static const json::Value value = boost::json::parse(R"({
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "labels": {"app": "shop", "odd": 7}, "generation": 3},
    "spec": {
      "running": true,
      "template": {
        "spec": {
          "domain": {
            "cpu": {"cores": 4, "sockets": 99999999999},
            "memory": {"guest": "2Gi"},
            "resources": {"requests": {"memory": "1Gi", "cpu": 2}},
            "devices": {
              "disks": [
                {"name": "root", "bootOrder": 1, "disk": {"bus": "virtio"}},
                {"name": "media", "cdrom": {"bus": "sata", "readonly": false}},
                "no object"
              ],
              "gpus": [{"name": "g", "claimName": "c"}]
            }
          },
          "terminationGracePeriodSeconds": 0,
          "nodeSelector": {"zone": "a"},
          "tolerations": [{"operator": "Exists"}],
          "readinessProbe": {"httpGet": {"port": "web"}, "tcpSocket": {"port": 80}},
          "volumes": [{"name": "root", "containerDisk": {"image": "disk:1"}}]
        }
      }
    }
  })");
  return value;
}

kubevirt::VirtualMachineInstanceSpec sample_spec() {
  return kubevirt::VirtualMachine(&sample()).spec().template_().spec();
}

TEST(Views, ReadWhatIsThere) {
  const kubevirt::VirtualMachine vm(&sample());
  ASSERT_TRUE(vm);
  EXPECT_EQ(vm.kind(), "VirtualMachine");
  EXPECT_EQ(vm.metadata().name(), "web");
  EXPECT_EQ(vm.metadata().generation(), 3);
  EXPECT_EQ(vm.metadata().labels()["app"], "shop");
  EXPECT_EQ(vm.spec().running(), true);
  const kubevirt::VirtualMachineInstanceSpec spec = sample_spec();
  EXPECT_EQ(spec.domain().cpu().cores(), 4u);
  EXPECT_EQ(spec.domain().memory().guest().text(), "2Gi");
  EXPECT_EQ(spec.domain().resources().requests()["memory"].text(), "1Gi");
  EXPECT_EQ(spec.termination_grace_period_seconds(), 0);
  EXPECT_EQ(spec.tolerations()[0].operator_(), "Exists");
}

TEST(Views, TellAbsentFromZeroWhereGoDoes) {
  const auto disks = sample_spec().domain().devices().disks();
  EXPECT_EQ(disks[0].boot_order(), 1u);
  EXPECT_EQ(disks[1].boot_order(), std::nullopt);
  EXPECT_TRUE(disks[1].cdrom());
  EXPECT_FALSE(disks[0].cdrom());
  EXPECT_EQ(disks[1].cdrom().readonly(), false);
  EXPECT_EQ(disks[0].cdrom().readonly(), std::nullopt);
  EXPECT_EQ(disks[0].serial(), "");
}

TEST(Views, ListsAndMapsAreRanges) {
  std::vector<std::string_view> names;
  for (kubevirt::Disk disk : sample_spec().domain().devices().disks()) names.push_back(disk.name());
  EXPECT_EQ(names, (std::vector<std::string_view>{"root", "media", ""}));
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : kubevirt::VirtualMachine(&sample()).metadata().labels()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string_view>{"app", "odd"}));
  EXPECT_TRUE(sample_spec().node_selector().contains("zone"));
  EXPECT_FALSE(sample_spec().node_selector().contains("rack"));
}

TEST(Views, AnEmbeddedStructIsTheSameObject) {
  const kubevirt::Disk disk = sample_spec().domain().devices().disks()[0];
  EXPECT_EQ(disk.disk_device().disk().bus(), "virtio");
  EXPECT_EQ(disk.disk_device().object(), disk.object());
  EXPECT_EQ(sample_spec().volumes()[0].volume_source().container_disk().image(), "disk:1");
  EXPECT_EQ(sample_spec().domain().devices().gpus()[0].claim_name(), "c");
}

TEST(Views, IntOrStringIsEither) {
  const kubevirt::Probe probe = sample_spec().readiness_probe();
  EXPECT_EQ(probe.http_get().port().text(), "web");
  EXPECT_EQ(probe.http_get().port().number(), std::nullopt);
  EXPECT_EQ(probe.tcp_socket().port().number(), 80);
  EXPECT_FALSE(IntOrStringView());
}

TEST(Views, AnswerWhateverTheJsonIs) {
  const kubevirt::VirtualMachineInstanceSpec spec = sample_spec();
  EXPECT_EQ(spec.domain().cpu().sockets(), 0u);                       // does not fit
  EXPECT_EQ(spec.domain().resources().requests()["cpu"].text(), "");  // a number, not a text
  EXPECT_TRUE(spec.domain().resources().requests()["cpu"]);           // but it is there
  EXPECT_FALSE(spec.domain().devices().disks()[2]);                   // no object
  EXPECT_FALSE(spec.domain().devices().disks()[99]);                  // no such element
  EXPECT_EQ(kubevirt::VirtualMachine(&sample()).metadata().labels()["odd"], "");
  for (const char* text : {"null", "3", "[]", "\"x\"", "{}", R"({"spec":[],"metadata":null})"}) {
    const json::Value odd = boost::json::parse(text);
    const kubevirt::VirtualMachine vm(&odd);
    EXPECT_EQ(vm.metadata().name(), "");
    EXPECT_TRUE(vm.metadata().labels().empty());
    EXPECT_EQ(vm.spec().running(), std::nullopt);
    EXPECT_TRUE(vm.spec().template_().spec().domain().devices().disks().empty());
    EXPECT_EQ(vm.spec().template_().spec().domain().memory().guest().text(), "");
  }
  const kubevirt::VirtualMachine nothing;
  EXPECT_FALSE(nothing);
  EXPECT_TRUE(nothing.empty());
  EXPECT_FALSE(nothing.has("spec"));
  EXPECT_EQ(nothing.spec().template_().spec().networks().begin(), nothing.spec().template_().spec().networks().end());
}

TEST(Views, AreOnePointer) {
  static_assert(sizeof(kubevirt::Disk) == sizeof(void*));
  static_assert(std::is_trivially_copyable_v<kubevirt::Disk>);
  static_assert(std::is_trivially_copyable_v<List<kubevirt::Disk>>);
  static_assert(std::input_iterator<List<kubevirt::Disk>::Iterator>);
  static_assert(std::input_iterator<Map<std::string_view>::Iterator>);
}

}  // namespace
}  // namespace vg::api
