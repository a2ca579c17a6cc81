// Kubernetes' Status is the one error type of virtgate: whatever goes wrong inside is already shaped as the answer
// that the user will see. Codes and reasons are Kubernetes' own; the words of a message are ours.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace vg {

// One entry of status.details.causes. `reason` is a cause type such as "FieldValueInvalid"; `field` is a dotted
// path such as "spec.domain.devices.disks[0].name".
struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  bool operator==(const StatusCause&) const = default;
};

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;  // by Kubernetes' custom this is a kind or a plural resource, depending on who answers
  std::string uid;
  std::vector<StatusCause> causes;
  int retry_after_seconds = 0;
  bool operator==(const StatusDetails&) const = default;
};

struct Status {
  int code = 500;
  std::string reason;  // "NotFound", "Invalid", ...; may be empty, as upstream's webhooks leave it
  std::string message;
  StatusDetails details;
  bool operator==(const Status&) const = default;

  static Status bad_request(std::string message);
  static Status unauthorized(std::string message);
  static Status forbidden(std::string group, std::string resource, std::string name, std::string message);
  static Status not_found(std::string group, std::string resource, std::string name);
  static Status method_not_supported(std::string group, std::string resource, std::string_view verb);
  static Status not_acceptable(std::string message);
  static Status timeout(std::string message, int retry_after_seconds = 0);
  static Status already_exists(std::string group, std::string resource, std::string name);
  static Status conflict(std::string group, std::string resource, std::string name, std::string message);
  static Status expired(std::string message);  // 410: a resource version or continue token that is too old
  static Status too_large(std::string message);
  static Status unsupported_media_type(std::string message);
  static Status invalid(std::string group, std::string kind, std::string name, std::vector<StatusCause> causes);
  static Status too_many_requests(std::string message, int retry_after_seconds);
  static Status internal_error(std::string message);
  static Status unavailable(std::string message);
};

template <class T>
using Result = std::expected<T, Status>;

inline std::unexpected<Status> fail(Status status) { return std::unexpected<Status>(std::move(status)); }

// The Status as the JSON document that a client gets ("kind":"Status","apiVersion":"v1",...).
std::string to_json(const Status& status);

}  // namespace vg
