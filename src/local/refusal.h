// Why the state of this machine cannot be used: for whoever runs the server, never an answer to a client.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace vg::local {

[[gnu::cold]] inline Failed refuse(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

}  // namespace vg::local
