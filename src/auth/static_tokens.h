// Bearer tokens that stand in a list: the administrator's, and those of a file in Kubernetes' format
//
//   token,user,uid,"group1,group2"
//
// The file may come, change and go while the server runs. Taking a line out is how a token is revoked, so a file that
// cannot be read, cannot be understood to its end, or could be anybody's work, lets nobody in: none of its tokens
// counts until it is right again, and readiness says so.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/digest.h"
#include "auth/token_verifier.h"
#include "base/clock.h"
#include "base/parsed.h"

namespace vg::auth {

struct StaticToken {
  std::string token;
  User user;
};

// The lines of such a file. Blank lines and lines with an empty token are skipped; of a token given twice the last
// counts. The error names the line.
Parsed<std::vector<StaticToken>> parse_token_file(std::string_view text);

class StaticTokens final : public TokenVerifier {
 public:
  explicit StaticTokens(std::vector<StaticToken> tokens);

  Result<std::optional<TokenIdentity>> verify(std::string_view token,
                                              std::span<const std::string> audiences) const override;

 private:
  std::unordered_map<Digest, User, DigestHash> users_;
};

class TokenFile final : public TokenVerifier {
 public:
  using Parser = std::function<Parsed<std::vector<StaticToken>>(std::string_view text)>;

  // Nothing is read before the first question. The clock must outlive this.
  TokenFile(std::string path, const Clock& clock, Parser parser = parse_token_file);

  // Looks at the file at most once a second.
  Result<std::optional<TokenIdentity>> verify(std::string_view token,
                                              std::span<const std::string> audiences) const override;
  // Why the tokens of the file do not count, in words for anybody: the file and perhaps the line, nothing of what it
  // holds. Nothing when they count, or there is no file.
  std::optional<std::string> problem() const;

 private:
  struct Version {  // enough to notice every change that an editor or a rename makes
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    timespec modified = {};
    timespec changed = {};
    explicit Version(const struct stat& info);
    Version() = default;
    bool operator==(const Version& other) const;
  };
  void look(Clock::Steady& again) const;  // with the lock
  void refresh() const;                   // with the lock
  Result<std::string> read(int fd) const;
  void close(std::string why) const;

  const std::string path_;
  const Clock& clock_;
  const Parser parser_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const StaticTokens> tokens_;  // null: none counts
  mutable std::string problem_;
  mutable Version version_;  // of what tokens_ was read from
  // Each asker has a time of its own: a look for readiness does not make the next token wait.
  mutable Clock::Steady look_for_token_{}, look_for_problem_{};
};

}  // namespace vg::auth
