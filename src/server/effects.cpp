#include "server/effects.h"

#include <fmt/format.h>

#include "base/log.h"

namespace vg::server {
namespace {

Status failed(const Call& call, const admission::Effect& effect, const Status& why) {
  log::error("an object could not be changed as an admission rule requires", {{"requestId", call.request().id},
                                                                              {"resource", effect.resource},
                                                                              {"namespace", effect.ns},
                                                                              {"name", effect.name},
                                                                              {"reason", why.message}});
  Status told = effect.failure;
  told.message = fmt::format("{}: {}", told.message, why.message);
  return told;
}

}  // namespace

Task<std::optional<Status>> carry_out_all(std::span<const admission::Effect> effects, Call& call,
                                          const CarryOut& carry_out) {
  for (const admission::Effect& effect : effects) {
    Result<void> done = fail(Status::internal_error("this server cannot change objects"));
    if (carry_out) done = co_await carry_out(call, effect);
    if (!done) co_return failed(call, effect, done.error());
  }
  co_return std::nullopt;
}

}  // namespace vg::server
