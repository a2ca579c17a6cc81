// A FlowSchema and a PriorityLevelConfiguration as far as they say where a request belongs, and whether a schema takes
// a request. Pure: the rules are those of Kubernetes' API server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::flowcontrol {

// Who asks. Few have many groups, but a front proxy or whoever impersonates may name as many as a header holds: those
// are put in order once, since every subject may be one of them.
class Asking {
 public:
  explicit Asking(const User& user);
  const std::string& name() const { return user_.name; }
  bool in_group(std::string_view group) const;
  // A bit for each subject that it may be: whoever has none of a rule's bits is none of its subjects.
  std::uint64_t marks() const { return marks_; }

 private:
  const User& user_;
  std::uint64_t marks_ = 0;
  std::vector<std::string_view> sorted_;  // empty: few
};

// A list of texts; one that has "*" alone takes any.
struct TextSet {
  bool any = false;
  std::vector<std::string> texts = {};

  bool has(std::string_view text) const;
};

struct Subject {
  enum class Kind : std::uint8_t { anybody, user, group, user_prefix };
  Kind kind = Kind::user;
  std::string name = {};  // of a service account: its user name, or what all of its namespace begin with

  bool includes(const Asking& asking) const;
};

struct ResourceRule {
  TextSet verbs = {}, groups = {}, namespaces = {};
  TextSet resources = {};  // with their subresource: "pods", "pods/status"
  bool cluster_scope = false;

  bool takes(const AccessAttributes& request) const;
};

struct PathRule {
  TextSet verbs = {};
  TextSet paths = {};  // each stands for what is below it as well; without the "*" at its end

  bool takes(const AccessAttributes& request) const;
};

struct Rule {
  std::vector<Subject> subjects = {};
  std::vector<ResourceRule> resources = {};
  std::vector<PathRule> paths = {};
  std::uint64_t marks = 0;  // of its subjects

  bool takes(const Asking& asking, const AccessAttributes& request) const;
};

struct Schema {
  std::string name = {}, uid = {};
  std::string level = {};       // the name of its PriorityLevelConfiguration
  std::int64_t precedence = 0;  // the lowest is asked first
  std::vector<Rule> rules = {};
  std::size_t texts = 1;  // that a request may have to be compared with, and one

  bool takes(const Asking& asking, const AccessAttributes& request) const;
};

struct Level {
  std::string name = {}, uid = {};
  std::int64_t shares = 0;  // of the seats, as against those of all levels
};

// Of valid objects. What is of another type than it should be is passed over.
Schema read_schema(const json::Value& object);
Level read_level(const json::Value& object);

}  // namespace vg::flowcontrol
