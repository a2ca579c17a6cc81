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
};

// Rules of machines are asked of a new VMI.
inline constexpr std::string_view vmi = "/virtualmachineinstances-validate-create";

inline std::vector<Example>& all_examples() {
  static std::vector<Example> examples;
  return examples;
}

inline bool add_examples(std::initializer_list<Example> examples) {
  all_examples().insert(all_examples().end(), examples.begin(), examples.end());
  return true;
}

}  // namespace vg::admission
