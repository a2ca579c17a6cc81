#include "objects/object_request.h"

#include "base/time_rfc3339.h"

namespace vg::resources {

Status ObjectRequest::not_found(std::string_view named) const {
  Status status = Status::not_found(std::string(group()), std::string(plural()), std::string(named));
  if (!key_ns().empty()) status.message.append("; check the namespace (").append(key_ns()).append(")");
  return status;
}

std::string ObjectRequest::now() const { return print_rfc3339(Timestamp::from(backend.clock.wall_now())); }

Task<Result<void>> ObjectRequest::work_on(std::size_t bytes) {
  if (turns) co_return co_await turns->work_on(bytes);
  co_return Result<void>();
}

}  // namespace vg::resources
