#include "cel/patterns.h"

#include <re2/re2.h>

#include "base/policy_limits.h"

namespace vg::cel {

std::shared_ptr<const re2::RE2> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(static_cast<std::int64_t>(limits::cel_pattern_memory_bytes_max));
  auto compiled = std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  return compiled->ok() ? compiled : nullptr;
}

}  // namespace vg::cel
