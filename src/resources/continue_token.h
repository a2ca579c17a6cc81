// The tokens with which clients fetch the rest of a list. A token says behind which object the list goes on, so it must
// be one that this server wrote for this very list: nobody can make one, alter one, or take one to another place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "auth/digest.h"
#include "base/selector.h"
#include "base/status.h"
#include "ports/stored_object.h"

namespace vg::resources {

// The key behind which a list goes on, and the state it goes on with.
struct ContinueToken {
  Revision revision = 0;   // 0: whatever is newest, for a client that was told that its state is gone
  std::int64_t since = 0;  // when the list began, in seconds since 1970; 0 with no revision
  std::string ns, name;
};

// What the pages of one list have in common. The user is not part of it: whether they may list is asked for every
// page, and a list may be handed over to somebody else who may.
struct ListScope {
  std::string_view resource;  // the store's key
  std::string_view ns;        // empty: all of them
  const LabelSelector& labels;
  const FieldSelector& fields;
};

class ContinueTokens {
 public:
  // With the same secret, tokens stay good for the next process.
  explicit ContinueTokens(std::string_view secret);
  // With one of its own.
  ContinueTokens();

  // base64url; what is in it is no secret, since whoever gets it was shown the object.
  std::string write(const ContinueToken& token, const ListScope& scope) const;
  // 400 for everything that write() did not make with this key and for this scope.
  Result<ContinueToken> read(std::string_view text, const ListScope& scope) const;

 private:
  std::string seal(std::string_view content, const ListScope& scope) const;

  auth::Digest key_;
};

}  // namespace vg::resources
