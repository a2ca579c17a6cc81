#include "admission/webhook_operations.h"

#include <algorithm>
#include <array>

namespace vg::admission {
namespace {

// All others take creates and updates.
constexpr std::array<std::string_view, 5> only_create = {
    "/virt-launcher-pod-mutate", "/migration-mutate-create", "/vm-clone-mutate-create",
    "/virtualmachineinstances-validate-create", "/migration-validate-create"};
constexpr std::array<std::string_view, 2> only_update = {"/virtualmachineinstances-validate-update",
                                                         "/migration-validate-update"};

}  // namespace

Operations operations_of(const Webhook& webhook) {
  if (std::ranges::find(only_create, webhook.path) != only_create.end()) return Operations::create;
  if (std::ranges::find(only_update, webhook.path) != only_update.end()) return Operations::update;
  return Operations::create_and_update;
}

}  // namespace vg::admission
