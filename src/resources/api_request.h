// What the parts of one request over HTTP share, and what all of them share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "catalog/negotiate.h"
#include "catalog/request_info.h"
#include "http/exchange.h"
#include "objects/object_request.h"
#include "objects/turn.h"
#include "ports/object_store.h"
#include "resources/audit.h"
#include "resources/continue_token.h"
#include "resources/options.h"
#include "server/router.h"

namespace vg::resources {

struct ListMeta;
// What a table is made of, besides its rows. Everything in it outlives the table.
struct TableCall {
  const Resource& resource;
  const Resource& shown;            // as in ApiRequest
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

// What all requests to the API share. Everything outlives the requests.
struct ApiBackend : Backend {
  TableMaker table;
  ContinueTokens continue_tokens;
  std::atomic<std::size_t> watches = 0;  // that run now
  TurnQueues turns = {};                 // of lists and watches
};

// What the audit log wants of a request beside what it is about.
struct AuditBodies {
  AuditDecision decision = {};
  std::string request, answer;  // as they were sent

  bool wants_request() const { return decision.level >= AuditLevel::request; }
  bool wants_answer() const { return decision.level == AuditLevel::request_response; }
};

// A request that came over HTTP, and how it wants to be answered.
struct ApiRequest : ObjectRequest {
  ApiBackend& api_backend;
  server::Call& call;
  const RequestInfo& info;
  Query query;
  Answer answer;
  AuditBodies* bodies = nullptr;  // null: the answer is not recorded

  ApiRequest(ApiBackend& shared, server::Call& served, const RequestInfo& asked, const Resource& found,
             const api::KindVersion& spoken, const User& asking, Answer form)
      : ObjectRequest(shared, served.core(), &served, found, spoken, asking,
                      {.ns = asked.ns, .name = asked.name, .subresource = asked.subresource}),
        api_backend(shared),
        call(served),
        info(asked),
        query(served.request().query),
        answer(form) {}

  // For work that may be long. Whoever impersonates others has but one place among those who wait.
  Turn turn() const { return Turn(call.core(), api_backend.turns.at(call.core()), call.payer()); }
};

}  // namespace vg::resources
