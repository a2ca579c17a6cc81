#include "objects/policies/enforce.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "admission/lookup_allowance.h"
#include "base/phrases.h"
#include "base/policy_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/change.h"
#include "objects/core_kinds/values.h"
#include "objects/draft.h"
#include "objects/policies/judge.h"

namespace vg::resources {

using namespace policies;

namespace {

using std::string_view;

// Reads the store for one try of a judgement.
class StoreWorld final : public World {
 public:
  StoreWorld(const ObjectStore& store, json::StoragePtr storage) : store_(store), storage_(std::move(storage)) {}

  const json::Value* namespace_object(string_view name) override {
    const auto known = namespaces_.find(name);
    if (known != namespaces_.end()) return known->second;
    const ObjectPtr found = store_.get("namespaces", "", name);
    return namespaces_.emplace(name, found ? load(*found) : nullptr).first->second;
  }

  Result<const json::Value*> get(const Resource& resource, string_view ns, string_view name) override {
    const ObjectPtr found = store_.get(resource.key, ns, name);
    return found ? load(*found) : nullptr;
  }

  Result<std::vector<const json::Value*>> list(const Resource& resource, string_view ns,
                                               const LabelSelector& selector) override {
    auto page = store_.list({.resource = resource.key,
                             .ns = ns,
                             .limit = limits::policy_params_max + 1,
                             .matches = [&](const StoredObject& object) {
                               return selector.matches([&](string_view key) { return object.label(key); });
                             }});
    if (!page) return fail(page.error());
    if (page->objects.size() > limits::policy_params_max)
      return fail(Status::bad_request(
          fmt::format("paramRef selects more than {} objects; select fewer", limits::policy_params_max)));
    std::vector<const json::Value*> found;
    for (const ObjectPtr& object : page->objects) found.push_back(load(*object));
    return found;
  }

 private:
  const json::Value* load(const StoredObject& object) {
    admission::LookupAllowance::take(object.json().size());
    return new (storage_->allocate(sizeof(json::Value), alignof(json::Value)))
        json::Value(load_object(object, storage_));
  }

  const ObjectStore& store_;
  json::StoragePtr storage_;
  std::map<string_view, const json::Value*> namespaces_;
};

json::Object options_document(const ObjectRequest& request, string_view operation, const json::StoragePtr& storage) {
  json::Object options(storage);
  options["kind"] = operation == "CREATE" ? "CreateOptions" : operation == "DELETE" ? "DeleteOptions" : "UpdateOptions";
  options["apiVersion"] = "meta.k8s.io/v1";
  if (operation != "DELETE" && !request.manager.empty()) options["fieldManager"] = request.manager;
  if (request.options.dry_run) options["dryRun"] = json::Array({"All"}, storage);
  return options;
}

// Expressions keep a core for as long as reading so many bytes does.
void tick(std::size_t cost) { admission::LookupAllowance::take(cost); }

User service_account(const Question& question) {
  const std::string all = "system:serviceaccounts";
  return {.name = fmt::format("system:serviceaccount:{}:{}", question.service_account_ns, question.service_account),
          .uid = {},
          .groups = {all, fmt::format("{}:{}", all, question.service_account_ns), "system:authenticated"},
          .extra = {}};
}

Task<policies::Answer> ask(ObjectRequest& request, const Question& question) {
  const User other = service_account(question);
  const User& user = question.service_account.empty() ? request.user : other;
  const AccessAttributes attributes{.verb = question.verb,
                                    .resource_request = !question.path_check,
                                    .path = question.path,
                                    .group = question.group,
                                    .version = "*",
                                    .resource = question.resource,
                                    .subresource = question.subresource,
                                    .ns = question.ns,
                                    .name = question.name};
  const auto decision = co_await request.backend.authorizer.authorize(request.core, user, attributes);
  if (!decision) co_return policies::Answer{.allowed = false, .reason = {}, .error = decision.error().message};
  co_return policies::Answer{.allowed = decision->allowed, .reason = decision->reason, .error = {}};
}

void note(Deed& deed, std::vector<std::pair<std::string, std::string>> annotations) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : deed.annotations) bytes += key.size() + value.size();
  for (auto& annotation : annotations) {
    bytes += annotation.first.size() + annotation.second.size();
    if (bytes <= limits::policy_annotations_bytes_max) deed.annotations.push_back(std::move(annotation));
  }
}

struct Tried {
  Verdict verdict;
  std::optional<Question> open;  // has to be answered first
};

Result<Tried> try_once(const ObjectRequest& request, const PolicySet& set, const Subject& subject,
                       const Answers& answers, const json::StoragePtr& storage) {
  StoreWorld world(request.backend.store, storage);
  try {
    return Tried{
        .verdict = judge(set, subject, world, {.user = request.user, .answers = answers, .tick = tick}, storage),
        .open = std::nullopt};
  } catch (const Unanswered& unanswered) {
    return Tried{.verdict = {}, .open = unanswered.question};
  }
}

Status too_many_questions(const Subject& subject) {
  return Status::forbidden(std::string(subject.resource.group()), std::string(subject.requested.plural()),
                           std::string(subject.name),
                           fmt::format("the admission policies ask for more than {} permissions of one request",
                                       limits::policy_questions_max));
}

}  // namespace

Task<std::optional<Status>> find_policy_problem(ObjectRequest& request, PolicyQuestion question,
                                                json::StoragePtr storage, std::size_t bytes) {
  const auto set = request.backend.policies.current();
  if (!set) co_return std::nullopt;
  const json::Object options = options_document(request, question.operation, storage);
  const Subject subject{
      .operation = question.operation,
      .resource = request.resource,
      .requested = {.group = request.shown.group(), .version = request.version.name, .resource = &request.shown},
      .subresource = request.subresource,
      .ns = question.ns,
      .name = question.name,
      .body_group = question.body_group,
      .body_version = question.body_version,
      .body_kind = question.body_kind,
      .object = question.object,
      .old_object = question.old_object,
      .options = &options,
      .dry_run = request.options.dry_run};
  if (is_exempt(subject)) co_return std::nullopt;
  Answers answers;
  for (;;) {
    auto tried = co_await off_loop_with_lookups(request, bytes,
                                                [&] { return try_once(request, *set, subject, answers, storage); });
    if (!tried) co_return std::move(tried.error());
    if (!tried->open) {
      Verdict& verdict = tried->verdict;
      std::ranges::move(verdict.warnings, std::back_inserter(request.warnings));
      note(request.deed, std::move(verdict.annotations));
      co_return std::move(verdict.refusal);
    }
    if (answers.size() == limits::policy_questions_max) co_return too_many_questions(subject);
    policies::Answer answer = co_await ask(request, *tried->open);
    answers.emplace(std::move(*tried->open), std::move(answer));
  }
}

Task<std::optional<Status>> find_deletion_problem(ObjectRequest& request, ObjectPtr current) {
  // An eviction was judged as what it is.
  if (!request.subresource.empty() || !request.backend.policies.current()) co_return std::nullopt;
  const std::size_t bytes = current->json().size();
  // Not the request's own memory: a collection may be larger than everything a request should hold.
  json::Document memory;
  json::Value old(memory.storage());
  const auto loaded = co_await off_loop(request.core, bytes, [&]() -> Result<void> {
    old = load_object(*current, memory.storage());
    return {};
  });
  if (!loaded) co_return loaded.error();
  co_return co_await find_policy_problem(
      request, {.operation = "DELETE", .ns = current->ns(), .name = current->name(), .old_object = &old},
      memory.storage(), bytes);
}

Task<std::optional<Status>> find_parameter_problem(ObjectRequest& request, const json::Object& object) {
  const json::Object& spec = core_kinds::members(object, "spec");
  const bool is_binding = request.resource.key == bindings_key;
  if ((request.resource.key != policies_key && !is_binding) || !request.subresource.empty()) co_return std::nullopt;
  json::Value policy(request.storage());
  if (is_binding) {
    if (!core_kinds::has(spec, "paramRef")) co_return std::nullopt;
    const ObjectPtr found = request.backend.store.get(policies_key, "", core_kinds::text(spec, "policyName"));
    if (found) policy = load_object(*found, request.storage());
  }
  const json::Object& kind =
      core_kinds::members(is_binding ? core_kinds::members(core_kinds::members(policy), "spec") : spec, "paramKind");
  const string_view kind_name = core_kinds::text(kind, "kind"), kind_version = core_kinds::text(kind, "apiVersion");
  if (!is_binding && kind_name.empty()) co_return std::nullopt;
  const Resource* resource = find_resource_of_kind(kind_version, kind_name);
  const json::Object& wanted = core_kinds::members(spec, "paramRef");
  const auto or_any = [](string_view text) { return text.empty() ? string_view("*") : text; };
  const AccessAttributes attributes{.verb = "get",
                                    .resource_request = true,
                                    .path = {},
                                    .group = resource ? resource->group() : string_view("*"),
                                    .version = or_any(split_api_version(kind_version).version),
                                    .resource = resource ? resource->plural() : string_view("*"),
                                    .subresource = {},
                                    .ns = is_binding ? or_any(core_kinds::text(wanted, "namespace")) : string_view("*"),
                                    .name = is_binding ? or_any(core_kinds::text(wanted, "name")) : string_view("*")};
  const auto decision = co_await request.backend.authorizer.authorize(request.core, request.user, attributes);
  if (!decision) co_return decision.error();
  if (decision->allowed) co_return std::nullopt;
  const string_view field = is_binding ? "spec.paramRef" : "spec.paramKind";
  co_return Status::invalid(
      std::string(request.group()), std::string(request.resource.kind->kind), std::string(core_kinds::name_of(object)),
      {{.reason = "FieldValueForbidden",
        .message = fmt::format("user {} must have \"get\" permission on {} to use them as parameters",
                               request.user.name, resource ? resource->plural() : string_view("all resources")),
        .field = std::string(field)}});
}

}  // namespace vg::resources
