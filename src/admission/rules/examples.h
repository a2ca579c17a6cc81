// Every rule with something that it lets through and something that it refuses. The test asks for both, and fails for a
// rule without them; `virtgate explain` shows them. A family of rules has its examples beside it, in x_examples.cpp:
//
//   constexpr Example rows[] = {
//       {"MEM-01", vmi, "{}", R"({"object":{"spec":{"domain":{...}}}})", "FieldValueInvalid spec.domain..."},
//   };
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::admission {

struct Example {
  std::string_view id;    // of the rule; a further example of one has a blank and a word behind it
  std::string_view path;  // of the webhook that is asked
  std::string_view good;  // changes to the base of that webhook, as a merge patch of the review's request
  std::string_view bad;
  std::string_view refusal;               // "reason field" of a cause, "code" of a refusal without causes, or "warning"
  std::string_view configuration = "{}";  // spec.configuration of the KubeVirt object
  // Whose cause it is, where the rule asks others: the rules of a disk, of a label. Empty: its own.
  std::string_view found_by = {};

  std::string_view rule() const { return id.substr(0, id.find(' ')); }
};

// Rules of machines are asked of a new VMI.
inline constexpr std::string_view vmi = "/virtualmachineinstances-validate-create";

// An object that exists while the examples are asked.
struct ExistingObject {
  std::string_view name;  // with its resource: "kubevirt.io/virtualmachines/vm"; there are no namespaces
  std::string_view json;
};

std::vector<Example> all_examples();
std::vector<ExistingObject> example_objects();

// The request of the review that an example asks: what all examples of its webhook begin with, changed by `change`,
// which is its good or its bad one.
json::Value example_request(const Example& example, std::string_view change, const json::StoragePtr& storage);

// --- of the families
std::span<const Example> data_volume_templates_examples();
std::span<const Example> work_objects_examples();
std::span<const Example> access_credentials_examples();
std::span<const Example> architecture_examples();
std::span<const Example> cloud_init_examples();
std::span<const Example> cpu_examples();
std::span<const Example> devices_examples();
std::span<const Example> disk_list_examples();
std::span<const Example> disk_volumes_examples();
std::span<const Example> dns_examples();
std::span<const Example> dra_examples();
std::span<const Example> firmware_examples();
std::span<const Example> grace_examples();
std::span<const Example> hyperv_examples();
std::span<const Example> identity_examples();
std::span<const Example> launch_security_examples();
std::span<const Example> lifecycle_examples();
std::span<const Example> memory_examples();
std::span<const Example> metadata_examples();
std::span<const Example> network_examples();
std::span<const Example> probes_examples();
std::span<const Example> scheduling_examples();
std::span<const Example> volumes_examples();
std::span<const Example> plugin_examples();
std::span<const Example> vm_matchers_examples();
std::span<const Example> vm_storage_examples();
std::span<const Example> vm_examples();
std::span<const Example> vmi_update_examples();
std::span<const ExistingObject> vm_example_objects();

}  // namespace vg::admission
