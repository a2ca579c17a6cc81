#include "kube/aggregated_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "actions/action.h"

namespace vg::kube {
namespace {

std::string preflight(const std::string& path) { return preflight_methods(path, path); }

TEST(PreflightTest, EveryActionTellsItsMethod) {
  for (const actions::Action& action : actions::actions()) {
    for (const std::string_view version : actions::versions) {
      std::string path = fmt::format("/apis/{}/{}/", actions::group, version);
      if (action.namespaced) path += "namespaces/ns/";
      if (!action.resource.empty()) path += fmt::format("{}/demo/", action.resource);
      path += action.name;
      if (action.name == "portforward") path += "/80";
      EXPECT_EQ(preflight(path), action.method) << path;
      EXPECT_EQ(preflight(path + "/"), action.method) << path;
    }
  }
}

TEST(PreflightTest, DocumentsAreRead) {
  for (const char* path : {"/", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/apis/subresources.kubevirt.io",
                           "/apis/subresources.kubevirt.io/v1", "/dump-profiler"})
    EXPECT_EQ(preflight(path), "GET") << path;
}

TEST(PreflightTest, NothingWhereThereIsNoRoute) {
  const std::string of_vm = "/apis/subresources.kubevirt.io/v1/namespaces/ns/virtualmachines/";
  for (const std::string& path :
       {std::string("/nope"), of_vm, of_vm + "demo", of_vm + "demo/", of_vm + "demo/nope", of_vm + "demo//start",
        of_vm + "demo/portforward",
        std::string("/apis/subresources.kubevirt.io/v9/namespaces/ns/virtualmachines/demo/start"),
        std::string("/apis/subresources.kubevirt.io/v9/namespaces/ns/expand-vm-spec")})
    EXPECT_EQ(preflight(path), "") << path;
}

}  // namespace
}  // namespace vg::kube
