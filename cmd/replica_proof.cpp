#include "replica_proof.h"

#include <utility>

#include "base/journal_limits.h"

namespace vg::cmd {
namespace {

constexpr std::string_view scheme = "Bearer ";
// To whom the rate limiter of the API server's client charges these questions.
constexpr std::string_view asker = "virtgate-replica";

}  // namespace

Result<std::string> ReplicaProof::authorization() {
  auto value = own_.authorization();
  if (!value) return fail(std::move(value.error()));
  if (!value->starts_with(scheme))
    return fail(Status::unavailable("this replica has no service account token to prove itself with"));
  return std::move(*value);
}

Task<Result<std::string>> ReplicaProof::account_of(Core& core, std::string_view authorization) {
  authorization.remove_prefix(scheme.size());
  auto user = co_await reviews_.check(core, authorization, asker);
  if (!user) co_return fail(std::move(user.error()));
  co_return std::move(user->name);
}

bool ReplicaProof::is_known(const auth::Digest& token) {
  const std::lock_guard lock(mutex_);
  std::erase_if(checked_, [now = clock_.steady_now()](const auto& one) {
    return now - one.second >= limits::replica_proof_known_for;
  });
  return checked_.contains(token);
}

Task<Result<void>> ReplicaProof::check(Core& core, std::string authorization) {
  const auto refused = [] { return fail(Status::unauthorized("only another replica asks so, with its own token")); };
  if (!authorization.starts_with(scheme)) co_return refused();
  const auth::Digest digest = auth::sha256(authorization);
  if (is_known(digest)) co_return Result<void>();
  std::string own;
  {
    const std::lock_guard lock(mutex_);
    own = account_;
  }
  if (own.empty()) {
    const auto ours = this->authorization();
    if (!ours) co_return fail(ours.error());
    auto name = co_await account_of(core, *ours);
    if (!name) co_return fail(std::move(name.error()));
    own = std::move(*name);
  }
  const auto account = co_await account_of(core, authorization);
  if (!account) co_return fail(account.error());
  const std::lock_guard lock(mutex_);
  account_ = own;
  if (*account != own) co_return refused();
  if (checked_.size() >= limits::journal_peers_max) checked_.clear();
  checked_.emplace(digest, clock_.steady_now());
  co_return Result<void>();
}

}  // namespace vg::cmd
