// How the tables of roles are written. Lists of words are separated by blanks, and "core" stands for the group without
// a name.
#pragma once

#include <span>
#include <string_view>

namespace vg::local::tables {

struct RuleRow {
  std::string_view verbs = {};
  std::string_view groups = {};
  std::string_view resources = {};
  std::string_view urls = {};
  std::string_view names = {};  // of objects; empty: all
};

struct RoleRow {
  std::string_view name = {};
  std::string_view ns = {};            // empty: a ClusterRole
  bool kubevirt = false;               // KubeVirt's, with its label; else Kubernetes', with its label and annotation
  bool bootstrapping = false;          // KubeVirt's with Kubernetes' label
  bool autoupdate = false;             // KubeVirt's with Kubernetes' annotation
  std::string_view aggregate_to = {};  // the role that gathers this one's rules
  std::string_view gathers = {};       // gathers the rules of those that aggregate to this
  std::span<const RuleRow> rules = {};
};

struct BindingRow {
  std::string_view name = {};
  std::string_view ns = {};  // empty: a ClusterRoleBinding
  bool kubevirt = false;
  bool autoupdate = false;
  std::string_view role_kind = "ClusterRole";
  std::string_view role = {};
  std::string_view subjects = {};  // group:NAME, user:NAME or account:NAME, the latter in the namespace kubevirt
};

}  // namespace vg::local::tables
