#include "json/status.h"

#include <string>

#include "json/access.h"

namespace vg::json {

Status read_status(const Value& document, int code) {
  Status status{.code = code, .reason = {}, .message = {}, .details = {}};
  status.reason = get_string_or(document, "reason");
  status.message = get_string_or(document, "message");
  const Object* details = get_object(document, "details");
  if (!details) return status;
  status.details.name = get_string_or(*details, "name");
  status.details.group = get_string_or(*details, "group");
  status.details.kind = get_string_or(*details, "kind");
  status.details.uid = get_string_or(*details, "uid");
  status.details.retry_after_seconds = static_cast<int>(get_int_or(*details, "retryAfterSeconds", 0));
  if (const Array* causes = get_array(*details, "causes"))
    for (const Value& cause : *causes)
      status.details.causes.push_back({.reason = std::string(get_string_or(cause, "reason")),
                                       .message = std::string(get_string_or(cause, "message")),
                                       .field = std::string(get_string_or(cause, "field"))});
  return status;
}

}  // namespace vg::json
