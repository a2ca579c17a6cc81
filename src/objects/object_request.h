// One request to a resource, after it was authorized, whoever makes it: a client over HTTP or this server itself.
// Nothing in it knows how it came or how it is answered.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/admit.h"
#include "auth/policy_rule.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/request_record.h"
#include "base/work_turns.h"
#include "catalog/catalog.h"
#include "json/arena_pool.h"
#include "objects/commit.h"
#include "objects/decode.h"
#include "objects/policies/policy_set.h"
#include "objects/quotas.h"
#include "objects/write_options.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"

namespace vg::resources {

// What all requests share. Everything outlives the requests.
struct Backend {
  ObjectStore& store;
  Commits& commits;  // to the same store
  Authorizer& authorizer;
  const Clock& clock;
  const admission::Environment& admission;  // what the admission rules know beside the object
  const auth::RuleResolver& rules;          // what users hold: roles are written by those who hold as much
  Quotas& quotas;                           // of the same store
  AdmissionPolicies& policies;              // likewise
  bool marks = false;                       // work objects name the request that they come from (marks.h)
  bool fills_data_volumes = false;          // this server does, so it says which of them it can fill
};

// Where the object is. All texts outlive the request.
struct ObjectPlace {
  std::string_view ns = {};  // empty: of the whole cluster
  std::string_view name = {};
  std::string_view subresource = {};
};

// What a request did, for the audit log. Whoever carries it out says so: a query that asks for a dry run may not be
// what counted.
struct Deed {
  std::string name = {};  // of the object, when the server made it up
  std::string uid = {};   // of the object that was written, and its version
  Revision revision = 0;
  bool dry_run = false;  // it changed nothing on purpose
  bool changed = false;  // it changed something, even if it was refused in the end
  std::vector<std::pair<std::string, std::string>> annotations = {};  // what admission policies have to say of it
  record::Details* details = nullptr;  // for the journal, outlives the request; null: it is not recorded
};

struct ObjectRequest {
  Backend& backend;
  Core& core;
  WorkTurns* turns;          // null: nobody else waits for it
  const Resource& resource;  // what is stored
  const Resource& shown;     // in which form the writer knows it; the same but for conversions
  const api::KindVersion& version;
  const User& user;
  std::string api_version;  // in which the writer speaks
  std::string_view ns, name, subresource;
  std::string_view request_id = {};  // of a client's request, which outlives this
  WriteOptions options;
  std::string manager;  // to whom the fields belong that are written; an apply names its own in the options

  std::optional<json::LeasedArena> arena;  // taken by whoever needs it: a watch would hold it for an hour
  std::size_t body_bytes = 0;              // of what was sent: much is worked on off the loop
  std::vector<std::string> warnings;
  // A controller of this program writes, from an object that was read from the store: what it leaves as it is was
  // judged when it was written.
  bool own = false;
  // Who asks: the user, but for what a controller writes, which it does for others (controllers/identity.h). Theirs is
  // the permission that counts for data that a new object names elsewhere. Null: nobody, who has none.
  const User* asker;
  FieldProblems* field_problems = nullptr;  // receives them, whatever the options make of them; null: nobody asks
  std::string_view refused_by = {};         // the id of the rule that refused it, where no cause of the refusal has one
  Deed deed;

  ObjectRequest(Backend& shared, Core& on, WorkTurns* taking_turns, const Resource& found,
                const api::KindVersion& spoken, const User& asking, ObjectPlace place)
      : backend(shared),
        core(on),
        turns(taking_turns),
        resource(found.conversion ? *find_resource(found.key) : found),
        shown(found),
        version(spoken),
        user(asking),
        api_version(resources::api_version(found.group(), spoken.name)),
        ns(place.ns),
        name(place.name),
        subresource(place.subresource),
        asker(&asking) {}

  json::StoragePtr storage() {
    if (!arena) arena.emplace();
    return arena->storage();
  }
  std::string_view group() const { return resource.group(); }
  std::string_view plural() const { return resource.plural(); }
  // The namespace of the object's key: a request for a namespace itself also bears one.
  std::string_view key_ns() const { return resource.kind->namespaced ? ns : std::string_view(); }
  ObjectPtr find(std::string_view named) const { return backend.store.get(resource.key, key_ns(), named); }
  Status not_found(std::string_view named) const;
  std::string now() const;  // RFC 3339
  Task<Result<void>> work_on(std::size_t bytes);
  void set_options(WriteOptions wanted) {
    options = std::move(wanted);
    deed.dry_run = options.dry_run;
  }
};

}  // namespace vg::resources
