// A request that was served, as an entry of the journal: the same in both modes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "journal/entry.h"
#include "ports/authorizer.h"
#include "server/router.h"

namespace vg::journal {

// What is known of a request beside the call itself.
struct Served {
  std::string_view verb, group, version, resource, subresource, ns, name;
  std::string_view user;
  std::span<const std::string> groups;
  std::string_view impersonated_by = {};
  bool allowed = true;
  std::string_view allowed_by = {};  // the role binding or access review, or what was missing
  Clock::Steady began;
};

// How a request showed who it is from: "certificate", "token", "front proxy", "ui session"; empty when it did not.
std::string_view credential_of(const http::Request& request);

// Of texts that are the call's and the caller's: recorded before they are gone.
EntryView entry_of(const server::Call& call, const Served& served, const Clock& clock);

}  // namespace vg::journal
