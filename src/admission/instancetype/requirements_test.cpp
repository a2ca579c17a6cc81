#include "admission/instancetype/requirements.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

using Check = std::optional<Unmet> (*)(const Chosen&, const api::kubevirt::VirtualMachineInstanceSpec&);

// The field that is told; "fine" when the requirement is met. `type` may be empty: no instance type.
std::string told(Check check, std::string_view preferred, std::string_view machine, std::string_view type = "") {
  const json::Document preference_document = preference(preferred);
  const json::Document type_document =
      instancetype(type.empty() ? R"({"cpu":{"guest":0},"memory":{"guest":"0"}})" : type);
  json::Document vm = vm_of(machine);
  Chosen chosen;
  chosen.preference = api::instancetype::VirtualMachinePreferenceSpec(json::find(preference_document.root(), "spec"));
  if (!type.empty())
    chosen.instancetype = api::instancetype::VirtualMachineInstancetypeSpec(json::find(type_document.root(), "spec"));
  const auto unmet = check(chosen, api::kubevirt::VirtualMachineInstanceSpec(json::find(template_of(vm), "spec")));
  return unmet ? unmet->field : "fine";
}

std::string cpu_told(std::string_view topology, std::string_view cpu) {
  return told(unmet_cpu, R"({"cpu":{)" + std::string(topology) + R"(},"requirements":{"cpu":{"guest":4}}})",
              R"({"domain":{"devices":{},"cpu":)" + std::string(cpu) + "}}");
}

constexpr const char* sockets_field = "spec.template.spec.domain.cpu.sockets";

TEST(RequirementsTest, WithoutAnInstancetypeOneDimensionCounts) {
  EXPECT_EQ(cpu_told("", R"({"sockets":4})"), "fine");
  EXPECT_EQ(cpu_told("", R"({"sockets":2,"cores":2,"threads":1})"), sockets_field) << "K22";
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"preferSockets")", R"({"cores":4})"), sockets_field);
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"cores")", R"({"cores":4})"), "fine");
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"cores")", R"({"sockets":4})"), "spec.template.spec.domain.cpu.cores");
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"threads")", R"({"cores":4})"), "spec.template.spec.domain.cpu.threads");
}

TEST(RequirementsTest, OrAProduct) {
  constexpr const char* any = R"("preferredCPUTopology":"any")";
  EXPECT_EQ(cpu_told(any, R"({"sockets":2,"cores":2,"threads":1})"), "fine");
  EXPECT_EQ(cpu_told(any, R"({"cores":4})"),
            "spec.template.spec.domain.cpu.cores, spec.template.spec.domain.cpu.sockets, "
            "spec.template.spec.domain.cpu.threads")
      << "K21";
  constexpr const char* spread = R"("preferredCPUTopology":"spread")";
  EXPECT_EQ(cpu_told(spread, R"({"sockets":2,"cores":2})"), "fine");
  EXPECT_EQ(cpu_told(spread, R"({"sockets":1,"cores":2,"threads":2})"),
            "spec.template.spec.domain.cpu.sockets, spec.template.spec.domain.cpu.cores");
  EXPECT_EQ(
      cpu_told(R"("preferredCPUTopology":"spread","spreadOptions":{"across":"CoresThreads"})", R"({"sockets":4})"),
      "spec.template.spec.domain.cpu.cores, spec.template.spec.domain.cpu.threads");
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"spread","spreadOptions":{"across":"SocketsCoresThreads"})",
                     R"({"sockets":4})"),
            "spec.template.spec.domain.cpu.sockets, spec.template.spec.domain.cpu.cores, "
            "spec.template.spec.domain.cpu.threads");
  EXPECT_EQ(cpu_told(R"("preferredCPUTopology":"spread","spreadOptions":{"across":"x"})", R"({"sockets":4})"), "");
}

TEST(RequirementsTest, AnInstancetypeCountsByItself) {
  constexpr const char* required = R"({"requirements":{"cpu":{"guest":4},"memory":{"guest":"2Gi"}}})";
  constexpr const char* machine = R"({"domain":{"devices":{},"cpu":{"sockets":1},"memory":{"guest":"1Gi"}}})";
  constexpr const char* plain = R"({"domain":{"devices":{}}})";
  constexpr const char* large = R"({"cpu":{"guest":4},"memory":{"guest":"2048Mi"}})";
  EXPECT_EQ(told(unmet_cpu, required, machine, large), "fine");
  EXPECT_EQ(told(unmet_cpu, required, machine, R"({"cpu":{"guest":3},"memory":{"guest":"2Gi"}})"), "spec.instancetype");
  EXPECT_EQ(told(unmet_memory, required, plain, large), "fine");
  EXPECT_EQ(told(unmet_memory, required, machine, large), "spec.instancetype") << "the machine's own memory counts";
  EXPECT_EQ(told(unmet_memory, required, machine), "spec.template.spec.domain.memory");
  EXPECT_EQ(told(unmet_memory, required, plain), "spec.template.spec.domain.memory");
}

TEST(RequirementsTest, ArchitecturesAreComparedByTheLetter) {
  constexpr const char* required = R"({"requirements":{"architecture":"arm64"}})";
  EXPECT_EQ(told(unmet_architecture, required, R"({"architecture":"arm64","domain":{"devices":{}}})"), "fine");
  EXPECT_EQ(told(unmet_architecture, required, R"({"architecture":"ARM64","domain":{"devices":{}}})"),
            "spec.template.spec.architecture");
}

TEST(RequirementsTest, NothingRequiredIsMet) {
  for (const Check check : {unmet_cpu, unmet_memory, unmet_architecture})
    EXPECT_EQ(told(check, "{}", R"({"domain":{"devices":{}}})"), "fine");
}

}  // namespace
}  // namespace vg::admission::testing
