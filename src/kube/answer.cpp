#include "kube/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/status.h"

namespace vg::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{50}, longest_pause{1000};

std::optional<milliseconds> named_pause(const http::ResponseHead& head) {
  const auto text = head.find("retry-after");
  if (!text) return std::nullopt;
  unsigned seconds = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size()) return std::nullopt;
  return std::min<milliseconds>(std::chrono::seconds(seconds), limits::kube_named_pause_max);
}

}  // namespace

Status refusal_of(const http::Answer& answer) {
  json::Arena arena;
  const auto document = json::parse(answer.body, arena.storage());
  if (document && json::get_string_or(*document, "kind") == "Status")
    return json::read_status(*document, answer.head.status);
  return {.code = answer.head.status,
          .reason = {},
          .message = fmt::format("the API server answered {} {}: {}", answer.head.status, answer.head.reason,
                                 std::string_view(answer.body).substr(0, limits::kube_quoted_bytes_max)),
          .details = {}};
}

void name_items(json::Value& list) {
  json::Array* items = json::get_array(list, "items");
  std::string_view kind = json::get_string_or(list, "kind");
  if (!items || !kind.ends_with("List")) return;
  kind.remove_suffix(std::string_view("List").size());
  const std::string_view api_version = json::get_string_or(list, "apiVersion");
  for (json::Value& item : *items) {
    json::Object* object = item.if_object();
    if (!object || json::find(*object, "kind")) continue;
    (*object)["apiVersion"] = api_version;
    (*object)["kind"] = kind;
  }
}

Result<void> check_object(const json::Value& answer, std::string_view name) {
  const json::Object* metadata = json::get_object(answer, "metadata");
  if (metadata && json::get_string_or(*metadata, "name") == name) return {};
  return fail(Status::internal_error(fmt::format("the API server did not answer with the object \"{}\"", name)));
}

// Go writes a list without items as null.
Result<void> check_list(const json::Value& answer) {
  const json::Value* items = json::find(answer, "items");
  if (items && (items->is_array() || items->is_null())) return {};
  return fail(Status::internal_error("the API server did not answer with a list"));
}

milliseconds back_off(milliseconds first, milliseconds most, int failures, double random) {
  const int doublings = std::clamp(failures - 1, 0, 20);
  const auto whole = std::min(most, first * (1 << doublings));
  return whole / 2 + milliseconds(static_cast<milliseconds::rep>(static_cast<double>(whole.count()) / 2 * random));
}

std::optional<milliseconds> retry_pause(const Result<http::Answer>& answer, bool repeatable, int attempt) {
  const milliseconds own = std::min(longest_pause, first_pause * (1 << std::min(attempt - 1, 10)));
  if (!answer) {
    // What took too long once would do so again, and our caller does not wait for ever.
    const bool unreachable = answer.error().code == 503;
    return repeatable && unreachable && attempt < limits::kube_attempts_max ? std::optional(own) : std::nullopt;
  }
  const int code = answer->head.status;
  if (code != 429 && code < 500) return std::nullopt;
  if (const auto pause = named_pause(answer->head))
    return attempt < limits::kube_attempts_asked_for_max ? std::optional(std::max(*pause, own)) : std::nullopt;
  // Whoever is turned away at the door did nothing inside.
  const bool again = code == 429 || (repeatable && code != 500 && code != 501);
  return again && attempt < limits::kube_attempts_max ? std::optional(own) : std::nullopt;
}

}  // namespace vg::kube
