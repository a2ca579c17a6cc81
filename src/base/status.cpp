#include "base/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_text.h"
#include "base/limits.h"
#include "base/phrases.h"

namespace vg {
namespace {

StatusDetails object_details(std::string group, std::string kind, std::string name) {
  StatusDetails details;
  details.name = std::move(name);
  details.group = std::move(group);
  details.kind = std::move(kind);
  return details;
}

Status plain(int code, const char* reason, std::string message, StatusDetails details = {}) {
  return {.code = code, .reason = reason, .message = std::move(message), .details = std::move(details)};
}

Status with_retry(int code, const char* reason, std::string message, int retry_after_seconds) {
  StatusDetails details;
  details.retry_after_seconds = std::max(retry_after_seconds, 0);
  return plain(code, reason, std::move(message), std::move(details));
}

// One cause as it is, several in brackets: "[a: Required value, b: Forbidden: ...]".
std::string list_causes(const std::vector<StatusCause>& causes) {
  if (causes.size() == 1) return phrases::with_field(causes[0].field, causes[0].message);
  std::string text = "[";
  const std::size_t shown = std::min(causes.size(), limits::causes_in_message_max);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += phrases::with_field(causes[i].field, causes[i].message);
  }
  if (shown < causes.size()) text += fmt::format(", and {} more in details.causes", causes.size() - shown);
  return text += ']';
}

// How a request with this verb is refused: "pods cannot be deleted". Others are just not supported.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> participles = {{
    {"create", "created"},
    {"update", "updated"},
    {"patch", "patched"},
    {"delete", "deleted"},
    {"deletecollection", "deleted as a collection"},
    {"get", "read one by one"},
    {"list", "listed"},
    {"watch", "watched"},
}};

std::string verb_not_supported(std::string_view what, std::string_view verb) {
  const auto* row = std::ranges::find(participles, verb, &std::pair<std::string_view, std::string_view>::first);
  if (row == participles.end()) return fmt::format("{} does not support {}", what, verb);
  return fmt::format("{} cannot be {} here", what, row->second);
}

// Writes the members of one JSON object and leaves out empty ones, as Kubernetes does.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  void text(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    name(key);
    append_json_string(out_, value);
  }
  void number(std::string_view key, int value) {
    if (value == 0) return;
    name(key);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void name(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_cause(std::string& out, const StatusCause& cause) {
  ObjectWriter object(out);
  object.text("reason", cause.reason);
  object.text("message", cause.message);
  object.text("field", cause.field);
  object.end();
}

void append_details(std::string& out, const StatusDetails& details) {
  ObjectWriter object(out);
  object.text("name", details.name);
  object.text("group", details.group);
  object.text("kind", details.kind);
  object.text("uid", details.uid);
  if (!details.causes.empty()) {
    object.name("causes");
    char separator = '[';
    for (const StatusCause& cause : details.causes) {
      out += std::exchange(separator, ',');
      append_cause(out, cause);
    }
    out += ']';
  }
  object.number("retryAfterSeconds", details.retry_after_seconds);
  object.end();
}

}  // namespace

Status Status::bad_request(std::string message) { return plain(400, "BadRequest", std::move(message)); }

Status Status::unauthorized(std::string message) {
  return plain(401, "Unauthorized", fmt::format("{}: {}", phrases::unauthorized, message));
}

Status Status::forbidden(std::string group, std::string resource, std::string name, std::string message) {
  message = phrases::forbidden(group, resource, name, message);
  return plain(403, "Forbidden", std::move(message),
               object_details(std::move(group), std::move(resource), std::move(name)));
}

Status Status::not_found(std::string group, std::string resource, std::string name) {
  std::string message = name.empty() ? fmt::format("{}; {} is not served, see kubectl api-resources",
                                                   phrases::path_not_served, phrases::qualified(group, resource))
                                     : phrases::not_found(group, resource, name);
  return plain(404, "NotFound", std::move(message),
               object_details(std::move(group), std::move(resource), std::move(name)));
}

Status Status::method_not_supported(std::string group, std::string resource, std::string_view verb) {
  const std::string what = resource.empty() ? "this path" : phrases::qualified(group, resource);
  std::string message = fmt::format("{}: {}; see kubectl api-resources -o wide", phrases::method_not_allowed,
                                    verb_not_supported(what, verb));
  return plain(405, "MethodNotAllowed", std::move(message), object_details(std::move(group), std::move(resource), ""));
}

Status Status::not_acceptable(std::string message) { return plain(406, "NotAcceptable", std::move(message)); }

Status Status::timeout(std::string message, int retry_after_seconds) {
  return with_retry(504, "Timeout", std::move(message), retry_after_seconds);
}

Status Status::already_exists(std::string group, std::string resource, std::string name) {
  std::string message =
      fmt::format("{}; use kubectl apply to change it", phrases::already_exists(group, resource, name));
  return plain(409, "AlreadyExists", std::move(message),
               object_details(std::move(group), std::move(resource), std::move(name)));
}

Status Status::conflict(std::string group, std::string resource, std::string name, std::string message) {
  if (!resource.empty()) message = phrases::conflict(group, resource, name, message);
  return plain(409, "Conflict", std::move(message),
               object_details(std::move(group), std::move(resource), std::move(name)));
}

Status Status::expired(std::string message) { return plain(410, "Expired", std::move(message)); }

Status Status::too_large(std::string message) { return plain(413, "RequestEntityTooLarge", std::move(message)); }

Status Status::unsupported_media_type(std::string message) {
  return plain(415, "UnsupportedMediaType", std::move(message));
}

Status Status::invalid(std::string group, std::string kind, std::string name, std::vector<StatusCause> causes) {
  for (StatusCause& cause : causes) cause.message = phrases::cause_message(cause.reason, cause.message);
  std::string message =
      fmt::format("{} \"{}\" is invalid: {}", phrases::qualified(group, kind), name, list_causes(causes));
  StatusDetails details = object_details(std::move(group), std::move(kind), std::move(name));
  details.causes = std::move(causes);
  return plain(422, "Invalid", std::move(message), std::move(details));
}

Status Status::too_many_requests(std::string message, int retry_after_seconds) {
  return with_retry(429, "TooManyRequests", fmt::format("{}: {}", phrases::too_many_requests, message),
                    retry_after_seconds);
}

Status Status::internal_error(std::string message) {
  // Kubernetes repeats the error as a cause; its clients read it there.
  StatusDetails details;
  details.causes.push_back({.reason = "", .message = message, .field = ""});
  return plain(500, "InternalError", "internal error: " + std::move(message), std::move(details));
}

Status Status::unavailable(std::string message) { return plain(503, "ServiceUnavailable", std::move(message)); }

Failure::Failure(Status&& status) : status_(new Status(std::move(status))) {}
Failure::Failure(const Status& status) : status_(new Status(status)) {}
Failure::Failure(const Failure& other) : Failure(*other.status_) {}
Failure& Failure::operator=(const Failure& other) { return *this = Failure(other); }
void Failure::Delete::operator()(Status* status) const noexcept { delete status; }

Failed fail(Status&& status) { return Failed(std::in_place, std::move(status)); }
Failed fail(const Status& status) { return Failed(std::in_place, status); }

std::string to_json(const Status& status) {
  std::string out;
  out.reserve(192 + 2 * status.message.size());
  ObjectWriter object(out);
  object.text("kind", "Status");
  object.text("apiVersion", "v1");
  object.name("metadata");
  out += "{}";
  object.text("status", status.code < 400 ? "Success" : "Failure");
  object.text("message", status.message);
  object.text("reason", status.reason);
  // A 404 always has details, empty ones too: kubectl looks into them without asking whether they are there.
  if (status.code == 404 || status.details != StatusDetails{}) {
    object.name("details");
    append_details(out, status.details);
  }
  object.number("code", status.code);
  object.end();
  return out;
}

}  // namespace vg
