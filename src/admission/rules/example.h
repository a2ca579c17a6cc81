// Examples of rules, for the test that asks every rule for one that it lets through and one that it refuses. A test
// file beside the rules adds its own:
//
//   const bool added = add_examples({
//       {"MEM-01", vmi, "{}", R"({"object":{"spec":{"domain":{...}}}})", "FieldValueInvalid spec.domain..."},
//   });
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

namespace vg::admission {

struct Example {
  std::string_view id;
  std::string_view path;  // of the webhook that is asked
  std::string_view good;  // changes to the base of that webhook, as a merge patch of the review's request
  std::string_view bad;
  std::string_view refusal;               // "reason field" of a cause, "code" of a refusal without causes, or "warning"
  std::string_view configuration = "{}";  // spec.configuration of the KubeVirt object
  // Whose cause it is, where the rule asks others: the rules of a disk, of a label. Empty: its own.
  std::string_view found_by = {};
};

// Rules of machines are asked of a new VMI.
inline constexpr std::string_view vmi = "/virtualmachineinstances-validate-create";

inline std::vector<Example>& all_examples() {
  static std::vector<Example> examples;
  return examples;
}

// An object that exists while the examples are asked.
struct ExistingObject {
  std::string_view name;  // with its resource: "kubevirt.io/virtualmachines/vm"; there are no namespaces
  std::string_view json;
};

inline std::vector<ExistingObject>& existing_objects() {
  static std::vector<ExistingObject> objects;
  return objects;
}

inline bool add_existing(std::initializer_list<ExistingObject> objects) {
  existing_objects().insert(existing_objects().end(), objects.begin(), objects.end());
  return true;
}

inline bool add_examples(std::initializer_list<Example> examples) {
  all_examples().insert(all_examples().end(), examples.begin(), examples.end());
  return true;
}

}  // namespace vg::admission
