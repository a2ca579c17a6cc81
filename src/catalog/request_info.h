// What a request to the Kubernetes API is about, from its method, path and query alone (pure). The same words decide
// routing, authorization and the audit line, so that these can never disagree.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::resources {

struct RequestInfo {
  bool resource_request = false;
  std::string path;   // percent-decoded
  std::string verb;   // get, list, watch, create, update, patch, delete, deletecollection; else the method: in
                      // capitals for a resource, where no such verb exists, in small letters for a path
  std::string group;  // empty: the core group
  std::string version;
  std::string ns;           // the namespace; also set for requests to a namespace object itself, as Kubernetes does
  std::string resource;     // plural
  std::string subresource;  // everything after the name, joined with '/'
  std::string name;
  std::string label_selector = {};  // of a list, a watch, or a deletion of many
};

// 400 for a path that cannot be decoded or is not in its shortest form (empty, "." or ".." segments).
Result<RequestInfo> request_info(std::string_view method, std::string_view raw_path, std::string_view raw_query);

// The first value of a query parameter, decoded; nothing when it is absent. An undecodable value is as good as absent.
std::optional<std::string> query_value(std::string_view raw_query, std::string_view name);

}  // namespace vg::resources
