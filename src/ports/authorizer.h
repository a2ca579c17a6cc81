// The abstract side of "may this user do that": roles on one machine, access reviews in a cluster.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/task.h"

namespace vg {

class Core;

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;  // all of them, those that follow from being authenticated included
  std::map<std::string, std::vector<std::string>> extra;

  bool in_group(std::string_view group) const { return std::ranges::find(groups, group) != groups.end(); }
};

// What is asked for. A request for a path that is no resource has only verb and path.
struct AccessAttributes {
  std::string_view
      verb;  // get, list, watch, create, update, patch, delete, deletecollection, ... or a lower-case method
  bool resource_request = true;
  std::string_view path;  // of a request that is for no resource
  std::string_view group, version, resource, subresource;
  std::string_view ns, name;             // empty: none, that is all
  std::string_view label_selector = {};  // of a list, a watch, or a deletion of many; as it was asked for
};

struct AccessDecision {
  bool allowed = false;
  std::string reason;  // for people: which binding allowed it, or what was missing
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // On the core that is named, where the task goes on. An error means that it is not known whether they may: whoever
  // asked must not go on then. User and attributes stay valid until the task has ended.
  virtual Task<Result<AccessDecision>> authorize(Core& core, const User& user, const AccessAttributes& attributes) = 0;
  // Ends once decisions know everything that is written by now. Whoever wrote a role or a binding waits for it before
  // they say that it is written.
  virtual Task<void> settle(Core& core) {
    (void)core;
    co_return;
  }
};

}  // namespace vg
