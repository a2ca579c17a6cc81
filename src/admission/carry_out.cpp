#include "admission/carry_out.h"

#include <fmt/format.h>

#include "base/log.h"

namespace vg::admission {
namespace {

Status failed(const SideEffect& effect, const Status& why) {
  log::error("an object could not be changed as an admission rule requires; the request is refused",
             {{"resource", effect.resource}, {"namespace", effect.ns}, {"name", effect.name}, {"reason", why.message}});
  Status told = effect.failure;
  told.message = fmt::format("{}: {}", told.message, why.message);
  return told;
}

}  // namespace

Task<std::optional<Status>> carry_out_all(std::span<const SideEffect> effects, Core& core, const CarryOut& carry_out) {
  for (const SideEffect& effect : effects) {
    Result<void> done = fail(Status::internal_error("this server cannot change objects"));
    if (carry_out) done = co_await carry_out(core, effect);
    if (!done) co_return failed(effect, done.error());
  }
  co_return std::nullopt;
}

}  // namespace vg::admission
