// Sessions of the page and the one-time codes that open them: a bounded table in memory, by the digests of what
// browsers know. Whoever reads the memory of the table finds no id that could be used; a restart ends all of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/digest.h"
#include "auth/session.h"
#include "base/clock.h"
#include "base/status.h"
#include "ports/authorizer.h"

namespace vg::ui {

// The credential that a session goes by: it lets in whom that would let in, for as long as that would.
struct Credential {
  std::string token = {};  // empty: it was a certificate
  User user;               // whom it stood for, with all implied groups
  Clock::Wall ends = Clock::Wall::max();
};

// Something that was handed out, once.
struct Issued {
  std::string secret;
  Clock::Wall expires;
};

class Sessions final : public auth::SessionVerifier {
 public:
  // Whom a token stands for now, with all implied groups.
  using TokenCheck = std::function<Result<User>(std::string_view token)>;
  Sessions(std::chrono::seconds age_max, TokenCheck check, const Clock& clock)
      : age_max_(age_max), check_(std::move(check)), clock_(clock) {}

  // 429 when there are too many; of one user's the one that was used least lately ends.
  Result<Issued> open(Credential credential);
  // The user of the session, who is asked for again by its token.
  Result<User> verify(std::string_view id) const override;
  // When it ends if it is used until then.
  std::optional<Clock::Wall> expires(std::string_view id) const;
  // Its credential, without checking that again. It counts as used.
  std::shared_ptr<const Credential> find(std::string_view id) const;
  void close(std::string_view id) const;

  // 429 when too many wait; of one user's the oldest goes.
  Result<Issued> make_code(Credential credential);
  // Nothing for a code that nobody made, that was used, or that is too old.
  std::optional<Credential> redeem(std::string_view code);

  std::size_t size() const;

 private:
  struct Session {
    std::shared_ptr<const Credential> credential;
    Clock::Steady began, used;
    Clock::Wall expires;
  };
  struct Code {
    Credential credential;
    Clock::Steady made;
    Clock::Wall expires;
  };
  using SessionTable = std::unordered_map<auth::Digest, Session, auth::DigestHash>;
  using CodeTable = std::unordered_map<auth::Digest, Code, auth::DigestHash>;

  bool is_over(const Session& session) const;
  bool is_over(const Code& code) const;
  SessionTable::iterator find_live(std::string_view id) const;  // with the lock

  const std::chrono::seconds age_max_;
  const TokenCheck check_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable SessionTable sessions_;
  CodeTable codes_;
};

}  // namespace vg::ui
