#include "guests/node_object.h"

#include <gmock/gmock.h>

#include "guests/testing.h"
#include "json/access.h"
#include "json/patch.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NodeObject, SaysWhatTheHostGives) {  // spec vmi-lifecycle 5.1, 5.2
  const hypervisor::HostFacts host{.architecture = "amd64",
                                   .why_no_kvm = "no device",
                                   .why_no_vsock = "no vsock",
                                   .machine_types = {"q35"},
                                   .cpu_models = {"Haswell", "486"},
                                   .known_models = {"Haswell"},
                                   .cpu_features = {"sse4.2", "a b"},
                                   .required_features = {},
                                   .host_model = "Haswell",
                                   .vendor = "Intel",
                                   .cpus = 4,
                                   .memory_bytes = std::uint64_t{8} << 30,
                                   .hypervisor_version = "x"};
  const auto kubevirt = json::Document::parse(
      R"({"spec":{"configuration":{"obsoleteCPUModels":{"486":true}}},"status":{"phase":"Deployed"}})");
  const auto config = config::ClusterConfig::read(kubevirt->root(), "1");
  ASSERT_TRUE(config);
  NodeFacts facts{.name = "node01", .host = host, .config = **config, .sharers = 2};
  json::Document document;
  document.root() = node_object(facts, testing::noon, document.storage());
  const auto at = [&](std::initializer_list<std::string_view> path) {
    return std::string(json::as_string(json::find_path(document.root(), path)).value_or("-"));
  };
  EXPECT_EQ(at({"status", "capacity", "cpu"}), "2");
  EXPECT_EQ(at({"status", "capacity", "memory"}), "4Gi");
  EXPECT_EQ(at({"metadata", "labels", "cpu-model.node.kubevirt.io/Haswell"}), "true");
  EXPECT_EQ(at({"metadata", "labels", "cpu-model.node.kubevirt.io/486"}), "-");
  EXPECT_EQ(at({"metadata", "labels", "cpu-feature.node.kubevirt.io/sse4.2"}), "true");
  EXPECT_EQ(at({"metadata", "labels", "cpu-feature.node.kubevirt.io/a b"}), "-");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/emulation"}), "no device");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/no-vsock"}), "no vsock");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/pod-network"}), "slirp");
  EXPECT_EQ(at({"status", "capacity", "devices.kubevirt.io/kvm"}), "1k");
  EXPECT_EQ(at({"status", "capacity", "devices.kubevirt.io/vhost-vsock"}), "-");
  EXPECT_EQ(at({"metadata", "annotations", "kubevirt.io/heartbeat"}), "2023-11-14T22:13:20Z");

  json::ensure_path(document.root().get_object(), {"metadata", "labels"})["cpu-model.node.kubevirt.io/Old"] = "true";
  json::ensure_path(document.root().get_object(), {"metadata", "annotations"})["node.virtgate.io/emulation"] = "old";
  facts.is_schedulable = false;
  const NodePatches patches = node_patches(document.root().get_object(), facts, testing::noon, document.storage());
  std::vector<std::string> paths;
  for (const json::Array* list : {&patches.object, &patches.status})
    for (const json::Value& one : *list)
      paths.push_back(fmt::format("{} {}", json::get_string_or(one, "op"), json::get_string_or(one, "path")));
  EXPECT_THAT(paths, ElementsAre("add /metadata/labels/kubevirt.io~1schedulable",
                                 "remove /metadata/labels/cpu-model.node.kubevirt.io~1Old",
                                 "add /metadata/annotations/node.virtgate.io~1emulation", "add /status/conditions"));
  hypervisor::HostFacts better;
  better.kvm = true;
  const NodeFacts later{.name = "node01", .host = better, .config = **config};
  const NodePatches now = node_patches(document.root().get_object(), later, testing::noon, document.storage());
  EXPECT_THAT(json::to_text(json::Value(now.object)),
              HasSubstr(R"({"op":"remove","path":"/metadata/annotations/node.virtgate.io~1no-vsock"})"));
}

// --- table 5.1

hypervisor::HostFacts usual_host() {
  hypervisor::HostFacts host;
  host.architecture = "amd64";
  host.kvm = true;
  host.machine_types = {"q35"};
  host.cpu_models = {"Haswell"};
  host.known_models = {"Haswell", "EPYC"};
  host.cpu_features = {"aes"};
  host.required_features = {"vmx"};
  host.host_model = "Haswell";
  host.vendor = "Intel";
  host.cpus = 4;
  host.memory_bytes = std::uint64_t{8} << 30;
  return host;
}

struct NodeRow {
  std::string_view id;
  std::initializer_list<std::string_view> path;
  std::string_view expected;                 // "-": absent
  std::string_view without_hypervisor = {};  // empty: the same
};

TEST(NodeObject, EveryRow) {
  const NodeRow rows[] = {
      {"NODE-01", {"metadata", "labels", "kubevirt.io/schedulable"}, "true", "false"},
      {"NODE-02", {"metadata", "annotations", "kubevirt.io/heartbeat"}, "2023-11-14T22:13:20Z"},
      {"NODE-03", {"metadata", "labels", "cpumanager"}, "false"},
      {"NODE-03", {"metadata", "labels", "kubevirt.io/cpumanager"}, "false"},
      {"NODE-04", {"metadata", "labels", "kubevirt.io/ksm-enabled"}, "false"},
      {"NODE-04", {"metadata", "annotations", "kubevirt.io/ksm-handler-managed"}, "false"},
      {"NODE-05", {"status", "capacity", "devices.kubevirt.io/kvm"}, "1k"},
      {"NODE-05", {"status", "allocatable", "devices.kubevirt.io/tun"}, "1k"},
      {"NODE-05", {"status", "allocatable", "devices.kubevirt.io/vhost-net"}, "1k"},
      {"NODE-05b", {"status", "allocatable", "devices.kubevirt.io/vhost-vsock"}, "1k"},
      {"NODE-05b", {"status", "allocatable", "devices.kubevirt.io/sev"}, "-"},
      {"NODE-06", {"metadata", "labels", "cpu-model.node.kubevirt.io/Haswell"}, "true"},
      {"NODE-06", {"metadata", "labels", "cpu-model.node.kubevirt.io/EPYC"}, "-"},
      {"NODE-06", {"metadata", "labels", "cpu-model-migration.node.kubevirt.io/EPYC"}, "true"},
      {"NODE-06", {"metadata", "labels", "cpu-feature.node.kubevirt.io/aes"}, "true"},
      {"NODE-06", {"metadata", "labels", "host-model-cpu.node.kubevirt.io/Haswell"}, "true"},
      {"NODE-06", {"metadata", "labels", "host-model-required-features.node.kubevirt.io/vmx"}, "true"},
      {"NODE-06", {"metadata", "labels", "cpu-vendor.node.kubevirt.io/Intel"}, "true"},
      {"NODE-06", {"metadata", "labels", "machine-type.node.kubevirt.io/q35"}, "true"},
  };
  const hypervisor::HostFacts host = usual_host();
  const auto config = config::ClusterConfig::defaults("amd64");
  for (const bool connected : {true, false}) {
    json::Document document;
    document.root() = node_object({.name = "node01", .host = host, .config = *config, .is_schedulable = connected},
                                  testing::noon, document.storage());
    for (const NodeRow& row : rows)
      EXPECT_EQ(json::as_string(json::find_path(document.root(), row.path)).value_or("-"),
                connected || row.without_hypervisor.empty() ? row.expected : row.without_hypervisor)
          << row.id << *std::prev(row.path.end());
  }
}

// NODE-06: what the labeller wrote and is true no more goes, others' labels stay, and a node can be left out.
TEST(NodeObject, LabelsAreKeptTrueUnlessTheNodeIsSkipped) {
  const hypervisor::HostFacts host = usual_host();
  const auto config = config::ClusterConfig::defaults("amd64");
  const auto labels_after = [&](std::string_view annotations) {
    auto stored = json::Document::parse(fmt::format(
        R"({{"metadata":{{"name":"node01","labels":{{"cpu-model.node.kubevirt.io/Old":"true","of-others":"x"}},"annotations":{}}}}})",
        annotations));
    const NodePatches patches = node_patches(stored->root().get_object(),
                                             {.name = "node01", .host = host, .config = *config}, testing::noon, {});
    EXPECT_TRUE(json::apply_json_patch(stored->root(), json::Value(patches.object)));
    std::string text;
    for (const std::string_view label : {"cpu-model.node.kubevirt.io/Old", "cpu-model.node.kubevirt.io/Haswell",
                                         "of-others", "kubevirt.io/schedulable"})
      text += json::find_path(stored->root(), {"metadata", "labels", label}) ? "1" : "0";
    return text;
  };
  EXPECT_EQ(labels_after("{}"), "0111");
  EXPECT_EQ(labels_after(R"({"node-labeller.kubevirt.io/skip-node":"true"})"), "1011");
}

TEST(NodeObject, ANodeThatCanStartNothingSaysSo) {  // NODE-01
  const auto patch = [](std::string_view labels) {
    const auto stored = json::Document::parse(fmt::format(R"({{"metadata":{{"name":"node01"{}}}}})", labels));
    return json::to_text(json::Value(away_patch(stored->root().get_object(), {})));
  };
  constexpr std::string_view change =
      R"({"op":"add","path":"/metadata/labels/kubevirt.io~1schedulable","value":"false"})";
  EXPECT_EQ(patch(R"(,"labels":{"kubevirt.io/schedulable":"true"})"), fmt::format("[{}]", change));
  EXPECT_EQ(patch(""), fmt::format(R"([{{"op":"add","path":"/metadata/labels","value":{{}}}},{}])", change));
  EXPECT_EQ(patch(R"(,"labels":{"kubevirt.io/schedulable":"false"})"), "[]");
}

TEST(NodeObject, TellsOfItsImagesTheLargestFirst) {
  const auto kubevirt = json::Document::parse(R"({"spec":{},"status":{"phase":"Deployed"}})");
  const auto config = config::ClusterConfig::read(kubevirt->root(), "1");
  const hypervisor::HostFacts host;
  std::vector<NodeImage> images{
      {.reference = "virtgate.local/demo:1", .digest = "sha256:ab", .bytes = 7},
      {.reference = "registry:5000/a/large", .digest = "sha256:cd", .bytes = 9},
      {.reference = "b", .digest = "", .bytes = 7},
  };
  NodeFacts facts{.name = "node01", .host = host, .config = **config, .images = images};
  json::Document document;
  document.root() = node_object(facts, testing::noon, document.storage());
  EXPECT_EQ(json::to_text(*json::find_path(document.root(), {"status", "images"})),
            R"([{"names":["registry:5000/a/large","registry:5000/a/large@sha256:cd"],"sizeBytes":9},)"
            R"({"names":["b"],"sizeBytes":7},)"
            R"({"names":["virtgate.local/demo:1","virtgate.local/demo@sha256:ab"],"sizeBytes":7}])");
  const auto status_patch = [&] {
    return json::to_text(
        json::Value(node_patches(document.root().get_object(), facts, testing::noon, document.storage()).status));
  };
  EXPECT_EQ(status_patch(), "[]");  // nothing new
  facts.images = {};
  EXPECT_EQ(status_patch(), R"([{"op":"remove","path":"/status/images"}])");
  images.resize(1);
  facts.images = images;
  EXPECT_THAT(status_patch(), HasSubstr(R"("path":"/status/images","value":[{"names":["virtgate.local/demo:1")"));
  images.resize(1000);
  facts.images = images;
  document.root() = node_object(facts, testing::noon, document.storage());
  EXPECT_EQ(json::find_path(document.root(), {"status", "images"})->get_array().size(), 50U);
}

}  // namespace
}  // namespace vg::guests
