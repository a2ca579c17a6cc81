// Kubernetes' Status is the one error type of virtgate: whatever goes wrong inside is already shaped as the answer
// that the user will see. Codes and reasons are Kubernetes' own; the words of a message are ours.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vg {

// One entry of status.details.causes. `reason` is a cause type such as "FieldValueInvalid"; `field` is a dotted
// path such as "spec.domain.devices.disks[0].name".
struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  std::string_view rule = {};  // the id of the rule that found it; for logs and tests, clients do not see it
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

struct [[nodiscard]] Status {
  int code = 500;
  std::string reason;  // "NotFound", "Invalid", ...; may be empty, as upstream's webhooks leave it
  std::string message;
  StatusDetails details;
  bool operator==(const Status&) const = default;

  // Cold: whoever calls one has left the usual way, and the compiler lays that code out beside the path of a request.
  [[gnu::cold]] static Status bad_request(std::string message);
  [[gnu::cold]] static Status unauthorized(std::string message);
  [[gnu::cold]] static Status forbidden(std::string group, std::string resource, std::string name, std::string message);
  [[gnu::cold]] static Status not_found(std::string group, std::string resource, std::string name);
  [[gnu::cold]] static Status method_not_supported(std::string group, std::string resource, std::string_view verb);
  [[gnu::cold]] static Status not_acceptable(std::string message);
  [[gnu::cold]] static Status timeout(std::string message, int retry_after_seconds = 0);
  [[gnu::cold]] static Status already_exists(std::string group, std::string resource, std::string name);
  [[gnu::cold]] static Status conflict(std::string group, std::string resource, std::string name, std::string message);
  // 410: a resource version or continue token that is too old.
  [[gnu::cold]] static Status expired(std::string message);
  [[gnu::cold]] static Status too_large(std::string message);
  [[gnu::cold]] static Status unsupported_media_type(std::string message);
  [[gnu::cold]] static Status invalid(std::string group, std::string kind, std::string name,
                                      std::vector<StatusCause> causes);
  [[gnu::cold]] static Status too_many_requests(std::string message, int retry_after_seconds);
  [[gnu::cold]] static Status internal_error(std::string message);
  [[gnu::cold]] static Status unavailable(std::string message);
};

// What a Result holds in place of a value: a Status on the heap, behind one pointer. A Status is large and seldom, so a
// Result is hardly larger than its value, and the code that hands one on moves a pointer instead of six strings.
class Failure {
 public:
  [[gnu::cold]] Failure(Status&& status);       // NOLINT: a Status is converted where a Result is returned
  [[gnu::cold]] Failure(const Status& status);  // NOLINT: the same
  [[gnu::cold]] Failure(const Failure& other);
  [[gnu::cold]] Failure& operator=(const Failure& other);
  Failure(Failure&&) noexcept = default;
  Failure& operator=(Failure&&) noexcept = default;
  ~Failure() = default;
  [[gnu::cold]] bool operator==(const Failure& other) const { return *status_ == *other.status_; }

  Status& status() const noexcept { return *status_; }

 private:
  struct Delete {
    [[gnu::cold]] void operator()(Status* status) const noexcept;
  };
  std::unique_ptr<Status, Delete> status_;
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Failure> {
  using Base = std::expected<T, Failure>;

 public:
  using Base::Base;
  Status& error() & noexcept { return Base::error().status(); }
  const Status& error() const& noexcept { return Base::error().status(); }
  Status&& error() && noexcept { return std::move(Base::error().status()); }
};

using Failed = std::unexpected<Failure>;  // becomes a Result of any type

[[gnu::cold]] Failed fail(Status&& status);
[[gnu::cold]] Failed fail(const Status& status);

// The Status as the JSON document that a client gets ("kind":"Status","apiVersion":"v1",...).
std::string to_json(const Status& status);

}  // namespace vg
