// What the parts of one request share, and what all requests share.
#pragma once

#include <atomic>
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
#include "http/exchange.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"
#include "resources/audit.h"
#include "resources/catalog.h"
#include "resources/commit.h"
#include "resources/continue_token.h"
#include "resources/negotiate.h"
#include "resources/options.h"
#include "resources/request_info.h"
#include "json/arena_pool.h"
#include "server/router.h"

namespace vg::resources {

struct ListMeta;
class QuotaKeeper;
// What a table is made of, besides its rows. Everything in it outlives the table.
struct TableCall {
  const Resource& resource;
  const Resource& shown;            // as in Context
  std::string_view api_version;     // in which the client speaks
  std::string_view table_version;   // "v1" or "v1beta1" of meta.k8s.io
  std::string_view include_object;  // "None", "Metadata" (also when empty) or "Object"
  const ListMeta& meta;
  bool with_columns = true;
  Clock::Wall now;
};
// Objects that are written one after the other, between a beginning and an end.
class ListText {
 public:
  virtual ~ListText() = default;
  virtual void open(std::string& out) = 0;
  virtual void add(std::string& out, const StoredObject& object) = 0;
  virtual void close(std::string& out) = 0;
};
using TableMaker = std::unique_ptr<ListText> (*)(const TableCall& call);

// Everything outlives the requests.
struct Backend {
  ObjectStore& store;
  Commits& commits;  // to the same store
  Authorizer& authorizer;
  const Clock& clock;
  const admission::Environment& admission;    // what the admission rules know beside the object
  const auth::RuleResolver* rules = nullptr;  // null: roles are written without the checks against escalation
  TableMaker table = nullptr;                 // null: tables are answered with the objects themselves
  QuotaKeeper* quotas = nullptr;              // null: ResourceQuotas are only kept
  ContinueTokens continue_tokens;
  std::atomic<std::size_t> watches = 0;  // that run now
};

// One request to a resource, after it was authorized.
struct Context {
  Backend& backend;
  server::Call& call;
  const RequestInfo& info;
  const Resource& resource;  // what is stored
  const Resource& shown;     // in which form the client knows it; the same but for conversions
  const api::KindVersion& version;
  const User& user;
  std::string api_version;  // in which the client speaks
  Query query;
  Answer answer;
  std::optional<json::LeasedArena> arena;  // taken by whoever needs it: a watch would hold it for an hour
  std::size_t body_bytes = 0;                // of the client's, once it was read: large ones are worked on off the loop
  std::vector<std::string> warnings;
  std::string_view own_manager;  // under which this server itself writes; empty: the client's name counts
  Deed deed;                     // for the audit line

  Context(Backend& shared, server::Call& served, const RequestInfo& asked, const Resource& found,
          const api::KindVersion& spoken, const User& asking, Answer form)
      : backend(shared),
        call(served),
        info(asked),
        resource(found.conversion ? *find_resource(found.key) : found),
        shown(found),
        version(spoken),
        user(asking),
        api_version(resources::api_version(found.group(), spoken.name)),
        query(served.request().query),
        answer(form) {}

  json::StoragePtr storage() {
    if (!arena) arena.emplace();
    return arena->storage();
  }
  std::string_view group() const { return resource.group(); }
  std::string_view plural() const { return resource.plural(); }
  // The namespace of the object's key: a request for a namespace itself also bears one.
  std::string_view key_ns() const { return resource.kind->namespaced ? std::string_view(info.ns) : std::string_view(); }
  ObjectPtr find(std::string_view name) const { return backend.store.get(resource.key, key_ns(), name); }
  Status not_found(std::string_view name) const {
    Status status = Status::not_found(std::string(group()), std::string(plural()), std::string(name));
    if (!key_ns().empty()) status.message.append("; check the namespace (").append(key_ns()).append(")");
    return status;
  }
  std::string now() const;  // RFC 3339
};

}  // namespace vg::resources
