// Who may use an image that is in the store. It came with somebody's credentials, and is for others only if the
// registry gives it to them as well.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "images/image_store.h"
#include "images/records.h"

namespace vg::images {

using WallTime = std::chrono::system_clock::time_point;

// Credentials as they are written down: with the key of this store, nobody learns them from it. Empty: there are none.
std::string account_of(std::string_view key, const PullRequest& request);

// Without asking the registry: it was loaded by hand, everybody may have it, or the registry has accepted this account
// within the last limits::image_account_life.
bool may_use(const ReferenceRecord& record, const std::string& account, WallTime now);
// The registry gave it to them.
void note_accepted(ReferenceRecord& record, const std::string& account, WallTime now);

}  // namespace vg::images
