#include "world.h"

#include <array>
#include <atomic>

namespace vg::contract {
namespace {

std::array<std::unique_ptr<World>, 2>& worlds() {
  static std::array<std::unique_ptr<World>, 2> made;
  return made;
}

// Worlds have threads and processes, which must be gone before the program's own end.
class EndOfWorlds final : public ::testing::Environment {
 public:
  void TearDown() override {
    for (auto& world : worlds()) world.reset();
  }
};
[[maybe_unused]] const auto* const end_of_worlds = ::testing::AddGlobalTestEnvironment(new EndOfWorlds);

constexpr std::string_view merge_type = "application/merge-patch+json", json_type = "application/json";

}  // namespace

World& world_of(Mode mode) {
  auto& world = worlds()[static_cast<std::size_t>(mode)];
  if (!world) world = mode == Mode::standalone ? make_standalone_world() : make_cluster_world();
  return *world;
}

ContractTest::ContractTest() : world_(world_of(GetParam())), ns_(make_namespace()) {}

std::string ContractTest::make_namespace() {
  static std::atomic<int> made{0};
  const std::string name = fmt::format("contract-{}", ++made);
  create("/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  return name;
}

Reply ContractTest::create(std::string_view collection, std::string_view object) {
  Reply reply = world_.ask("POST", std::string(collection), std::string(object), json_type);
  EXPECT_EQ(reply.status, 201) << collection << ": " << json::to_text(reply.body.root());
  return reply;
}

Reply ContractTest::merge(std::string_view path, std::string_view patch) {
  Reply reply = world_.ask("PATCH", std::string(path), std::string(patch), merge_type);
  EXPECT_EQ(reply.status, 200) << path << ": " << json::to_text(reply.body.root());
  return reply;
}

Reply ContractTest::read(std::string_view path) {
  Reply reply = world_.ask("GET", std::string(path), {}, {});
  EXPECT_EQ(reply.status, 200) << path << ": " << json::to_text(reply.body.root());
  return reply;
}

void ContractTest::remove(std::string_view path) {
  const Reply reply = world_.ask("DELETE", std::string(path), {}, {});
  EXPECT_EQ(reply.status, 200) << path << ": " << json::to_text(reply.body.root());
}

std::string ContractTest::collection(std::string_view group_version, std::string_view plural,
                                     std::string_view ns) const {
  return fmt::format("/{}/{}/namespaces/{}/{}", group_version.contains('/') ? "apis" : "api", group_version,
                     ns.empty() ? std::string_view(ns_) : ns, plural);
}

std::string ContractTest::vm(std::string_view name, std::string_view metadata) {
  return fmt::format(
      R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{{"name":"{}"{}}},"spec":{{)"
      R"("runStrategy":"Halted","template":{{"spec":{{"domain":{{"devices":{{}},"memory":{{"guest":"64Mi"}}}}}}}}}}}})",
      name, metadata);
}

std::string ContractTest::config_map(std::string_view name, std::string_view metadata, std::string_view data) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{{{}}}}})", name,
                     metadata, data);
}

}  // namespace vg::contract
