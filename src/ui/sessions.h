// Sessions of the page and the one-time codes that open them: a bounded table in memory, by the digests of what
// browsers know. Whoever reads the memory of the table finds no id that could be used, nor a token: those are sealed
// with a key that follows from the id. A restart ends all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  struct Options {
    std::chrono::seconds age_max;
    // How long a check of the credential counts for what is open.
    std::chrono::seconds recheck_interval;
    TokenCheck check = {};  // empty: somebody else looks whether tokens hold, see due()
  };
  Sessions(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // 429 when there are too many; of one user's the one that was used least lately ends.
  Result<Issued> open(Credential credential);
  // The user of the session, who is asked for again by its token.
  Result<User> verify(std::string_view id) const override;
  Result<std::unique_ptr<auth::SessionBond>> bind(std::string_view id, std::function<void()> ended) const override;
  // When it ends if it is used until then.
  std::optional<Clock::Wall> expires(std::string_view id) const;
  // Its credential, without checking that again. It counts as used.
  std::shared_ptr<const Credential> find(std::string_view id) const;
  void close(std::string_view id) const;
  // Whether it is time to look at its credential again. Who is told so does that, and nobody else until the interval is
  // over once more.
  bool recheck_due(std::string_view id) const;

  // A session with something open whose credential is to be looked at again.
  struct Due {
    auth::Digest key;
    std::shared_ptr<const Credential> credential;
  };
  // Ends those whose time is over, and tells which are due; they are not told again before the interval is over.
  std::vector<Due> sweep() const;
  void end(const auth::Digest& key) const;

  // 429 when too many wait; of one user's the oldest goes.
  Result<Issued> make_code(Credential credential);
  // Nothing for a code that nobody made, that was used, or that is too old.
  std::optional<Credential> redeem(std::string_view code);

  std::size_t size() const;

 private:
  // What is open and ends with its session, which this does.
  struct Bonds {
    struct Bond {
      std::function<void()> ended;
      std::shared_ptr<const Credential> credential;  // in the open while it is in use
    };
    Bonds() = default;
    Bonds(Bonds&&) = default;
    Bonds& operator=(Bonds&&) = delete;
    ~Bonds();
    std::map<std::uint64_t, Bond> open = {};
  };
  // A credential whose token only the browser's secret opens.
  struct Sealed {
    std::string token;  // empty: there is none
    User user;
    Clock::Wall ends;
  };
  struct Session {
    Sealed credential;
    Clock::Steady began, used, checked;
    Clock::Wall expires;
    Bonds bonds = {};
  };
  struct Code {
    Sealed credential;
    Clock::Steady made;
    Clock::Wall expires;
  };
  using SessionTable = std::unordered_map<auth::Digest, Session, auth::DigestHash>;
  using CodeTable = std::unordered_map<auth::Digest, Code, auth::DigestHash>;

  class BondOfSession;

  static Sealed seal(Credential credential, std::string_view secret);
  static std::optional<Credential> unseal(const Sealed& sealed, std::string_view secret);
  void release(const auth::Digest& key, std::uint64_t number) const;
  bool is_over(const Session& session) const;
  bool is_over(const Code& code) const;
  SessionTable::iterator find_live(std::string_view id) const;  // with the lock

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable SessionTable sessions_;
  mutable std::uint64_t bonds_ = 0;  // so many were made
  CodeTable codes_;
};

}  // namespace vg::ui
