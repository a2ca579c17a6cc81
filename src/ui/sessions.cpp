#include "ui/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "auth/seal.h"
#include "base/random.h"
#include "base/ui_limits.h"

namespace vg::ui {
namespace {

constexpr int retry_seconds = 60;

// Who has them: whoever may make service accounts in a namespace is as many users as they like, and counts as one.
std::string_view owner_of(std::string_view user) {
  constexpr std::string_view accounts = "system:serviceaccount:";
  return user.starts_with(accounts) ? user.substr(0, user.find(':', accounts.size())) : user;
}

// Makes room for one more of this owner's, whose are at most `own_max` then: those that are over go, then the one that
// comes first by `order`. False when others have all the room.
template <class Table, class IsOver, class Order>
bool make_room(Table& table, std::string_view owner, std::size_t own_max, std::size_t all_max, IsOver is_over,
               Order order) {
  std::erase_if(table, [&](const auto& entry) { return is_over(entry.second); });
  auto first = table.end();
  std::size_t own = 0;
  for (auto at = table.begin(); at != table.end(); ++at) {
    if (owner_of(order.user(at->second)) != owner) continue;
    ++own;
    if (first == table.end() || order.time(at->second) < order.time(first->second)) first = at;
  }
  if (own >= own_max) table.erase(first);
  return table.size() < all_max;
}

Failed too_many(std::string what) { return fail(Status::too_many_requests(std::move(what), retry_seconds)); }

Failed over(std::string_view why) {
  return fail(Status::unauthorized(fmt::format("{}; sign in again (virtgate ui gives a link)", why)));
}

auth::Digest sealing_key(std::string_view secret) { return auth::derive_key(secret, "virtgate session credential"); }

}  // namespace

Sessions::Bonds::~Bonds() {
  for (const auto& [number, bond] : open) bond.ended();
}

Sessions::Sealed Sessions::seal(Credential credential, std::string_view secret) {
  return {.token = credential.token.empty() ? std::string() : auth::seal(sealing_key(secret), credential.token),
          .user = std::move(credential.user),
          .ends = credential.ends};
}

std::optional<Credential> Sessions::unseal(const Sealed& sealed, std::string_view secret) {
  if (sealed.token.empty()) return Credential{.token = {}, .user = sealed.user, .ends = sealed.ends};
  auto token = auth::unseal(sealing_key(secret), sealed.token);
  if (!token) return std::nullopt;
  return Credential{.token = std::move(*token), .user = sealed.user, .ends = sealed.ends};
}

bool Sessions::is_over(const Session& session) const {
  const auto now = clock_.steady_now();
  // By both clocks: one stands still while the host sleeps, the other one may be set.
  return now - session.began >= options_.age_max || now - session.used >= limits::ui_session_idle_max ||
         clock_.wall_now() >= session.expires;
}

bool Sessions::is_over(const Code& code) const {
  return clock_.steady_now() - code.made >= limits::ui_code_life || clock_.wall_now() >= code.expires;
}

Result<Issued> Sessions::open(Credential credential) {
  Issued issued{.secret = random_token(), .expires = std::min(clock_.wall_now() + options_.age_max, credential.ends)};
  const auto now = clock_.steady_now();
  struct ByUse {
    static const std::string& user(const Session& session) { return session.credential.user.name; }
    static Clock::Steady time(const Session& session) { return session.used; }
  };
  const std::lock_guard lock(mutex_);
  const bool room = make_room(
      sessions_, owner_of(credential.user.name), limits::ui_sessions_of_user_max, limits::ui_sessions_max,
      [this](const Session& session) { return is_over(session); }, ByUse());
  if (!room) return too_many("all sessions of this server are in use; some end when they are idle");
  sessions_.emplace(auth::sha256(issued.secret), Session{.credential = seal(std::move(credential), issued.secret),
                                                         .began = now,
                                                         .used = now,
                                                         .checked = now,
                                                         .expires = issued.expires});
  return issued;
}

Sessions::SessionTable::iterator Sessions::find_live(std::string_view id) const {
  const auto found = sessions_.find(auth::sha256(id));
  if (found == sessions_.end() || !is_over(found->second)) return found;
  sessions_.erase(found);
  return sessions_.end();
}

std::shared_ptr<const Credential> Sessions::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_live(id);
  if (found == sessions_.end()) return nullptr;
  found->second.used = clock_.steady_now();
  auto credential = unseal(found->second.credential, id);
  return credential ? std::make_shared<const Credential>(std::move(*credential)) : nullptr;
}

Result<User> Sessions::verify(std::string_view id) const {
  const auto credential = find(id);
  if (!credential) return over("the session has ended");
  if (credential->token.empty() || !options_.check) return credential->user;
  auto user = options_.check(credential->token);
  if (user && user->name == credential->user.name) return user;
  close(id);
  return over("the token of this session is not valid any more");
}

std::optional<Clock::Wall> Sessions::expires(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_live(id);
  return found == sessions_.end() ? std::nullopt : std::optional(found->second.expires);
}

void Sessions::close(std::string_view id) const { end(auth::sha256(id)); }

void Sessions::end(const auth::Digest& key) const {
  const std::lock_guard lock(mutex_);
  sessions_.erase(key);
}

bool Sessions::recheck_due(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_live(id);
  if (found == sessions_.end()) return false;
  const auto now = clock_.steady_now();
  if (now - found->second.checked < options_.recheck_interval) return false;
  found->second.checked = now;
  return true;
}

// --- what is open ----------------------------------------------------------------------------------------------------

class Sessions::BondOfSession final : public auth::SessionBond {
 public:
  BondOfSession(const Sessions& sessions, auth::Digest key, std::uint64_t number)
      : sessions_(sessions), key_(key), number_(number) {}
  ~BondOfSession() override { sessions_.release(key_, number_); }

 private:
  const Sessions& sessions_;
  const auth::Digest key_;
  const std::uint64_t number_;
};

Result<std::unique_ptr<auth::SessionBond>> Sessions::bind(std::string_view id, std::function<void()> ended) const {
  auto credential = find(id);
  const auto key = auth::sha256(id);
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(key);
  if (!credential || found == sessions_.end()) return over("the session has ended");
  auto& open = found->second.bonds.open;
  if (open.size() >= limits::ui_bonds_of_session_max)
    return too_many("this session has too many consoles, screens and watches open; close some");
  open.emplace(++bonds_, Bonds::Bond{.ended = std::move(ended), .credential = std::move(credential)});
  return std::make_unique<BondOfSession>(*this, key, bonds_);
}

void Sessions::release(const auth::Digest& key, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = sessions_.find(key); found != sessions_.end()) found->second.bonds.open.erase(number);
}

std::vector<Sessions::Due> Sessions::sweep() const {
  std::vector<Due> due;
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [this](const auto& entry) { return is_over(entry.second); });
  const auto now = clock_.steady_now();
  for (auto& [key, session] : sessions_) {
    if (session.bonds.open.empty() || now - session.checked < options_.recheck_interval) continue;
    session.checked = now;
    due.push_back({.key = key, .credential = session.bonds.open.begin()->second.credential});
  }
  return due;
}

// --- codes -----------------------------------------------------------------------------------------------------------

Result<Issued> Sessions::make_code(Credential credential) {
  Issued issued{.secret = random_token(),
                .expires = std::min<Clock::Wall>(clock_.wall_now() + limits::ui_code_life, credential.ends)};
  struct ByAge {
    static const std::string& user(const Code& code) { return code.credential.user.name; }
    static Clock::Steady time(const Code& code) { return code.made; }
  };
  const std::lock_guard lock(mutex_);
  const bool room = make_room(
      codes_, owner_of(credential.user.name), limits::ui_codes_of_user_max, limits::ui_codes_max,
      [this](const Code& code) { return is_over(code); }, ByAge());
  if (!room) return too_many("too many sign-in codes are unused; they end after five minutes");
  codes_.emplace(auth::sha256(issued.secret), Code{.credential = seal(std::move(credential), issued.secret),
                                                   .made = clock_.steady_now(),
                                                   .expires = issued.expires});
  return issued;
}

std::optional<Credential> Sessions::redeem(std::string_view code) {
  const std::lock_guard lock(mutex_);
  const auto found = codes_.find(auth::sha256(code));
  if (found == codes_.end()) return std::nullopt;
  const bool late = is_over(found->second);
  auto credential = unseal(found->second.credential, code);
  codes_.erase(found);
  return late ? std::nullopt : std::move(credential);
}

std::size_t Sessions::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace vg::ui
