#include "http/descriptors.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/budgets.h"

namespace vg::http {
namespace {

// A stream holds two, one to each side, and the store and its helpers some.
std::size_t recommended_for(std::size_t connections) { return 2 * connections + 256; }

}  // namespace

Result<Descriptors> descriptors_within(std::size_t allowed, std::size_t connections_wanted) {
  Descriptors found{
      .allowed = allowed, .recommended = recommended_for(connections_wanted), .connections = connections_wanted};
  if (allowed >= found.recommended) return found;
  if (allowed < budgets::descriptors_min) {
    return fail(Status::unavailable(fmt::format(
        "open file limit is {}, at least {} needed and {} recommended; raise ulimit -n (LimitNOFILE= in systemd)",
        allowed, budgets::descriptors_min, found.recommended)));
  }
  // Few connections become streams at the same time: a quarter is for what requests open themselves.
  found.connections = std::min(connections_wanted, (allowed - budgets::own_descriptors) / 4 * 3);
  return found;
}

Result<Descriptors> allow_descriptors(std::size_t connections_wanted) {
  const rlim_t wanted = recommended_for(connections_wanted);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptors_within(wanted, connections_wanted);
  if (limit.rlim_cur < wanted) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return descriptors_within(std::min<rlim_t>(limit.rlim_cur, wanted), connections_wanted);
}

}  // namespace vg::http
