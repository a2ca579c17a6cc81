// One rule of a role, and the questions that are asked about rules: does it allow this, does it cover that one.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::auth {

inline constexpr std::string_view rbac_group = "rbac.authorization.k8s.io";

struct PolicyRule {
  std::vector<std::string> verbs = {};
  std::vector<std::string> api_groups = {};
  std::vector<std::string> resources = {};
  std::vector<std::string> resource_names = {};
  std::vector<std::string> non_resource_urls = {};
  bool operator==(const PolicyRule&) const = default;
  auto operator<=>(const PolicyRule&) const = default;
};

// Reads what is there and skips what is of another type: a rule that says less allows less.
PolicyRule policy_rule_from(const json::Value& rule);
// The member "rules" of a Role or ClusterRole.
std::vector<PolicyRule> policy_rules_of(const json::Object& role);
// In the order of fields that Kubernetes prints, without empty lists (verbs are always there).
json::Object to_json(const PolicyRule& rule, json::StoragePtr storage = {});
json::Array to_json(std::span<const PolicyRule> rules, json::StoragePtr storage = {});

// Kubernetes' matching: "*" for anything; "pods/log" names a subresource, "*/scale" that subresource of everything;
// resource names limit a rule to requests that name one of them; a path may end with '*'.
bool allows(const PolicyRule& rule, const AccessAttributes& attributes);
bool path_matches(std::string_view pattern, std::string_view path);

// A question, made for many rules.
class RuleQuery {
 public:
  explicit RuleQuery(const AccessAttributes& attributes);

 private:
  friend class RuleIndex;
  const AccessAttributes& attributes_;
  std::string resource_, of_any_;  // "pods/log" and "*/log"; the latter only with a subresource
  std::uint64_t verb_ = 0, group_ = 0, resources_ = 0, name_ = 0;
};

// The rules of a role, made for many questions. Every question passes over all rules, but most of them cost four
// operations on numbers: a role of 20,000 rules answers in some 30 microseconds. What a rule lists is looked up in
// order, however long it is.
class RuleIndex {
 public:
  // The rules must outlive it, and stay where they are.
  explicit RuleIndex(std::span<const PolicyRule> rules);
  RuleIndex(RuleIndex&&) noexcept;
  RuleIndex& operator=(RuleIndex&&) noexcept;
  ~RuleIndex();
  bool allows(const RuleQuery& query) const;

 private:
  // A bit for each text that a rule lists; all bits for "*", and for no names, which is every name. A rule without the
  // bits of a question does not allow it.
  struct Row {
    std::uint64_t verbs, groups, resources, names;
  };
  struct Sorted;
  std::span<const PolicyRule> rules_;
  std::vector<Row> rows_;
  std::vector<Sorted> sorted_;               // of rules with long lists
  std::vector<std::uint32_t> sorted_rules_;  // which they are, in order
  std::vector<std::uint32_t> path_rules_;    // those that name paths
};

// What `wanted` grants and `owned` does not, broken down to one verb, group, resource and name each. Every such piece
// must be covered by one owned rule. Stops after a few pieces: one is enough to refuse, and more only fill the message.
struct Uncovered {
  std::vector<PolicyRule> pieces = {};
  bool more = false;         // there are, or there may be, further ones
  bool too_complex = false;  // gave up: the product of the lists is beyond any real role
};
Uncovered uncovered_rules(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted);
// Every uncovered piece, merged again where only verbs or resources differ: what must be added to `owned`. For rules of
// our own, whose size is known.
std::vector<PolicyRule> missing_rules(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted);

// About how much text the rules are.
std::size_t text_bytes(std::span<const PolicyRule> rules);

// "get, list on virtualmachines.kubevirt.io named a"
std::string describe(const PolicyRule& rule);

// Who holds which rules: the side of RBAC that reviews and the checks against escalation need beside yes and no.
class RuleResolver {
 public:
  virtual ~RuleResolver() = default;
  // Every rule that the user holds in the namespace, those of the whole cluster included; empty: only the latter.
  virtual std::vector<PolicyRule> rules_for(const User& user, std::string_view ns) const = 0;
  // The rules of what a binding refers to. `kind` is "Role" or "ClusterRole"; `ns` is the binding's. 404 where there is
  // no such role.
  virtual Result<std::vector<PolicyRule>> rules_of_role(std::string_view kind, std::string_view name,
                                                        std::string_view ns) const = 0;
  // About how much text each of the two would give; for deciding where that is gone over.
  virtual std::size_t bytes_for(const User& user, std::string_view ns) const { return (void)user, (void)ns, 0; }
  virtual std::size_t bytes_of_role(std::string_view kind, std::string_view name, std::string_view ns) const {
    return (void)kind, (void)name, (void)ns, 0;
  }
};

}  // namespace vg::auth
