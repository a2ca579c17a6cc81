#include "kube/access_reviews.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::kube {
namespace {

constexpr std::string_view reviews_path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                           self_reviews_path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

void put(json::Object& in, std::string_view key, std::string_view value) {
  if (!value.empty()) in[key] = value;
}

void put_attributes(json::Object& spec, const AccessAttributes& attributes) {
  if (!attributes.resource_request) {
    json::Object& path = spec["nonResourceAttributes"].emplace_object();
    put(path, "path", attributes.path);
    put(path, "verb", attributes.verb);
    return;
  }
  json::Object& resource = spec["resourceAttributes"].emplace_object();
  put(resource, "namespace", attributes.ns);
  put(resource, "verb", attributes.verb);
  put(resource, "group", attributes.group);
  put(resource, "version", attributes.version);
  put(resource, "resource", attributes.resource);
  put(resource, "subresource", attributes.subresource);
  put(resource, "name", attributes.name);
}

json::Array strings(const std::vector<std::string>& values, const json::StoragePtr& storage) {
  json::Array array(storage);
  for (const std::string& value : values) array.emplace_back(value);
  return array;
}

Result<AccessDecision> read_decision(const http::Answer& answer) {
  json::Arena arena;
  const auto document = json::parse(answer.body, arena.storage());
  const json::Object* status = document ? json::get_object(*document, "status") : nullptr;
  if (!status) return fail(Status::internal_error("the API server answered an access review without a status"));
  return AccessDecision{.allowed = json::get_bool_or(*status, "allowed", false),
                        .reason = std::string(json::get_string_or(*status, "reason"))};
}

}  // namespace

std::string review_spec(const User& user, const AccessAttributes& attributes) {
  json::Arena arena;
  json::Object spec(arena.storage());
  put_attributes(spec, attributes);
  put(spec, "user", user.name);
  if (!user.groups.empty()) spec["groups"] = strings(user.groups, arena.storage());
  if (!user.extra.empty()) {
    json::Object& extra = spec["extra"].emplace_object();
    for (const auto& [key, values] : user.extra) extra[key] = strings(values, arena.storage());
  }
  std::string text;
  json::write(spec, text);
  return text;
}

Task<Result<AccessDecision>> AccessReviews::authorize(Core& core, const User& user,
                                                      const AccessAttributes& attributes) {
  std::string spec = review_spec(user, attributes);
  if (auto known = remembered(spec)) co_return std::move(*known);
  const std::string body =
      fmt::format(R"({{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{}}})", spec);
  Question question{.method = "POST",
                    .target = std::string(reviews_path),
                    .subject = {"CREATE", "subjectaccessreviews"},
                    .content_type = "application/json",
                    .body = body,
                    .timeout = limits::access_review_deadline,
                    .repeatable = true};
  auto answer = co_await client_.ask(core, std::move(question));
  if (!answer) co_return fail(std::move(answer.error()));
  auto decision = read_decision(*answer);
  if (decision && decision->allowed) remember(std::move(spec), decision->reason);
  co_return decision;
}

Task<Result<AccessDecision>> SelfAccessReviews::authorize(Core& core, const User&, const AccessAttributes& attributes) {
  const std::string body =
      fmt::format(R"({{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{}}})",
                  review_spec(User(), attributes));
  Question question{.method = "POST",
                    .target = std::string(self_reviews_path),
                    .subject = {"CREATE", "selfsubjectaccessreviews"},
                    .content_type = "application/json",
                    .body = body,
                    .timeout = limits::access_review_deadline,
                    .repeatable = true,
                    .asker = asker_.name,
                    .token = asker_.token};
  auto answer = co_await client_.ask(core, std::move(question));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return read_decision(*answer);
}

std::optional<AccessDecision> AccessReviews::remembered(const std::string& spec) {
  if (options_.remember.count() == 0) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto found = allowed_.find(spec);
  if (found == allowed_.end() || found->second.until <= clock_.steady_now()) return std::nullopt;
  return AccessDecision{.allowed = true, .reason = found->second.reason};
}

void AccessReviews::remember(std::string spec, std::string reason) {
  if (options_.remember.count() == 0) return;
  const auto now = clock_.steady_now();
  const std::scoped_lock lock(mutex_);
  if (allowed_.size() >= options_.remembered_max) {
    std::erase_if(allowed_, [&](const auto& entry) { return entry.second.until <= now; });
    if (allowed_.size() >= options_.remembered_max) allowed_.clear();
  }
  allowed_.insert_or_assign(std::move(spec), Allowed{.until = now + options_.remember, .reason = std::move(reason)});
}

}  // namespace vg::kube
