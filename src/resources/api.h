// The Kubernetes resource API: one handler for everything below /api and /apis.
//
//   authenticate -> impersonate -> authorize -> find the resource -> choose the form of the answer -> serve -> audit
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admission/admit.h"
#include "auth/identify.h"
#include "auth/reviews.h"
#include "base/clock.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "flowcontrol/table.h"
#include "http/exchange.h"
#include "journal/journal.h"
#include "objects/effects.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"
#include "resources/api_request.h"
#include "resources/audit.h"
#include "resources/gate.h"
#include "server/router.h"

namespace vg::resources {

// One request to something that is not kept in the store, after it was authorized.
struct SpecialRequest {
  server::Call& call;
  const RequestInfo& info;
  const User& user;
};
using SpecialHandler = std::function<Task<void>(SpecialRequest&)>;

// Something to read that is no object.
struct OwnDocument {
  std::string_view content_type;  // static text
  std::function<std::string()> body;
  std::string_view cache_control = "public, max-age=3600";  // likewise
  server::RouteClass route_class = server::RouteClass::discovery;
};

struct ApiParts {
  ObjectStore& store;
  Commits& commits;  // to the same store
  Authorizer& authorizer;
  const auth::Identifier& identifier;
  const Clock& clock;
  const auth::RuleResolver& rules;
  TableMaker table;
  const admission::Environment& admission;
  const auth::ReviewParts& reviews;
  Audit& audit;
  journal::Recorder& journal;
  Quotas& quotas;                       // of the store, whose guard they are
  ContinueTokens continue_tokens = {};  // of its own, which the next process does not know
};

// Everything in the parts outlives this; this outlives the router's use.
// What came of a request, for the audit log.
struct Done {
  Deed deed = {};
  AuditBodies bodies = {};
};

class ResourceApi {
 public:
  explicit ResourceApi(ApiParts parts);
  ~ResourceApi();
  ResourceApi(const ResourceApi&) = delete;
  ResourceApi& operator=(const ResourceApi&) = delete;

  // Everything in that group goes to the handler (subresources.kubevirt.io). Before the first request.
  void add_group(std::string group, SpecialHandler handler);
  // A document of its own for whoever may get that path. Before add_routes.
  void add_document(std::string path, OwnDocument document) {
    documents_.insert_or_assign(std::move(path), std::move(document));
  }
  // "/api", "/apis", "/openapi" and everything below, "/", and the documents that were added.
  void add_routes(server::Router& router);

  Task<void> handle(server::Call& call);

  // Finds out who asks for what everybody may have, if they show who they are, so that the answer is one to them. False
  // when they were refused.
  Task<bool> meet(server::Call& call) const;

  // Who asks, for whom, when it is their turn, for a path that is no resource: 401 for nobody in particular.
  Task<Result<User>> identify(server::Call& call) const;

  // By what requests are classified; nothing until somebody has published it.
  flowcontrol::Classification& flows() { return flows_; }

  // For what reads and writes objects beside the requests of users.
  ApiBackend& backend() { return backend_; }

  // What admission rules want done to objects here, for those who ask them on other ways.
  admission::CarryOut effects() { return effects_in(backend_); }

 private:
  Task<void> serve(server::Call& call, const RequestInfo& info, const Asker& asker, Done& done);
  Task<void> serve_resource(server::Call& call, const RequestInfo& info, const Resource& resource,
                            const api::KindVersion& version, const Asker& asker, Done& done);
  Task<void> serve_review(server::Call& call, const RequestInfo& info, const Resource& review, const User& user);
  struct Recorded;
  void refuse(server::Call& call, const Recorded& request, const Status& status) const;
  std::string impersonator(const server::Call& call) const;
  void audit(const Recorded& request, bool allowed, const Asker& asker, const Done& done = {}) const;
  Task<void> settle_audit(server::Call& call, const RequestInfo& info, const Asker& asker, Done& done) const;
  static bool is_recorded(const RequestInfo& info);
  void expect_record(ApiRequest& context) const;
  void record(const Recorded& request, bool allowed, const Asker& asker, const Deed& deed) const;

  ApiParts parts_;
  AdmissionPolicies policies_;
  ApiBackend backend_;
  const std::string component_prefix_;  // of the names of KubeVirt's own accounts
  flowcontrol::Classification flows_;
  Gate gate_;
  std::map<std::string, SpecialHandler, std::less<>> groups_;
  std::map<std::string, OwnDocument, std::less<>> documents_;
};

}  // namespace vg::resources
