// Bearer tokens that stand in a list: the administrator's, and those of a file in Kubernetes' format
//
//   token,user,uid,"group1,group2"
//
// The file may come, change and go while the server runs.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <mutex>
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
  // Nothing is read before the first token comes. The clock must outlive this.
  TokenFile(std::string path, const Clock& clock);

  // Looks at the file at most once a second. A file that cannot be used, or that others may read, is reported in the
  // log; while it is so, the tokens read before stay good.
  Result<std::optional<TokenIdentity>> verify(std::string_view token,
                                              std::span<const std::string> audiences) const override;

 private:
  struct Version {  // enough to notice every change that an editor or a rename makes
    ino_t inode = 0;
    off_t size = -1;
    timespec modified = {};
    timespec changed = {};
    bool operator==(const Version& other) const;
  };
  std::shared_ptr<const StaticTokens> current() const;
  void refresh() const;

  const std::string path_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const StaticTokens> tokens_;
  mutable Version version_;
  mutable Clock::Steady look_again_{};
};

}  // namespace vg::auth
