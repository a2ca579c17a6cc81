// The abstract side of "the Kubernetes API as this program uses it": live reads, and writes under the program's own
// name with everything that a write passes. On one machine that is our own resource API, in a cluster kube-apiserver.
//
// Tasks run on the core that is named, and values are made in `storage`, which the caller keeps for the request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"

namespace vg {

class Core;

struct ResourceName {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view plural;
};

struct ObjectName {
  ResourceName resource;
  std::string_view ns = {};  // empty: an object of the whole cluster
  std::string_view name = {};
};

// As in a query; empty takes all.
struct Selectors {
  std::string_view labels = {};
  std::string_view fields = {};
};

// A part of a list.
struct PageRequest {
  Selectors selectors = {};
  std::size_t limit = 0;                 // how many objects; there may be fewer
  std::string_view continue_token = {};  // from the page before; empty: the first one
};
struct ObjectPage {
  std::vector<json::Value> objects;
  std::string continue_token;  // empty: there are no more
};

// What was written, as it is now.
struct WrittenObject {
  std::string name, uid, version;  // of a dry run without a version
};

class ObjectApi {
 public:
  virtual ~ObjectApi() = default;

  // In the version that is asked for. 404 NotFound when there is none, also of a name that no object can have.
  virtual Task<Result<json::Value>> get(Core& core, ObjectName object, json::StoragePtr storage) = 0;
  // By namespace and name, each with its kind and the version that is asked for. 500 when there are more than anybody
  // could want (limits::lookup_list_bytes_max): a part of them is never an answer.
  virtual Task<Result<std::vector<json::Value>>> list(Core& core, ResourceName resource, std::string_view ns,
                                                      Selectors selectors, json::StoragePtr storage) = 0;
  // The same, page by page. 410 when the token is too old, 400 when it is none.
  virtual Task<Result<ObjectPage>> list_page(Core& core, ResourceName resource, std::string_view ns, PageRequest page,
                                             json::StoragePtr storage) = 0;
  // A JSON patch. An operation that fails, a `test` among them, is a 422 without details; one that rules refuse has
  // details.
  virtual Task<Result<WrittenObject>> patch(Core& core, ObjectName object, std::string_view subresource,
                                            const json::Array& operations, bool dry_run) = 0;
  // With the name that the object got.
  virtual Task<Result<WrittenObject>> create(Core& core, ResourceName resource, std::string_view ns,
                                             const json::Value& object, bool dry_run) = 0;
};

// A patch that did not apply, because the object is no longer (or never was) what its tests say.
inline bool is_failed_patch(const Status& status) { return status.code == 422 && status.details == StatusDetails{}; }

}  // namespace vg
