#include "kube/token_reviews.h"

#include <string>
#include <utility>
#include <vector>

#include "base/ui_limits.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::kube {
namespace {

constexpr std::string_view token_reviews_path = "/apis/authentication.k8s.io/v1/tokenreviews";

std::vector<std::string> texts(const json::Array* array) {
  std::vector<std::string> found;
  for (const json::Value& value : array ? *array : json::Array())
    if (const auto text = json::as_string(&value)) found.emplace_back(*text);
  return found;
}

}  // namespace

Result<User> read_token_review(const json::Value& review) {
  const json::Value* status = json::find(review, "status");
  const json::Value* user = status ? json::find(*status, "user") : nullptr;
  if (!status) return fail(Status::internal_error("the API server answered a token review without a status"));
  const std::string_view name = user ? json::get_string_or(*user, "username") : std::string_view();
  // Whoever is let in has a name. What went wrong may repeat the token, so it is not told.
  if (!json::get_bool_or(*status, "authenticated", false) || name.empty())
    return fail(Status::unauthorized("invalid bearer token"));
  User found{.name = std::string(name),
             .uid = std::string(json::get_string_or(*user, "uid")),
             .groups = texts(json::get_array(*user, "groups")),
             .extra = {}};
  if (const json::Object* extra = json::get_object(*user, "extra"))
    for (const auto& member : *extra) found.extra.emplace(std::string(member.key()), texts(member.value().if_array()));
  return found;
}

Task<Result<User>> TokenReviews::check(Core& core, std::string_view token, std::string_view asker) {
  std::string body;
  json::write(json::Object{{"kind", "TokenReview"},
                           {"apiVersion", "authentication.k8s.io/v1"},
                           {"spec", json::Object{{"token", token}}}},
              body);
  Question question{.method = "POST",
                    .target = std::string(token_reviews_path),
                    .subject = {"CREATE", "tokenreviews"},
                    .content_type = "application/json",
                    .body = body,
                    .timeout = limits::ui_token_review_deadline,
                    .repeatable = true,
                    .asker = asker};
  auto answer = co_await client_.ask(core, std::move(question));
  // Who may not ask is this program, and not the one who wants to sign in.
  if (!answer && (answer.error().code == 401 || answer.error().code == 403))
    co_return fail(Status::unavailable("virtgate may not create TokenReviews; see its role in deploy/README.md"));
  if (!answer) co_return fail(std::move(answer.error()));
  json::Arena arena;
  const auto review = json::parse(answer->body, arena.storage());
  if (!review) co_return fail(Status::internal_error("the answer of the API server to a token review is not JSON"));
  co_return read_token_review(*review);
}

}  // namespace vg::kube
