// A socket of this machine as a Stream.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/core.h"
#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"

namespace vg::http {

// A connection to whoever listens on that path. 503 when nobody does, 504 when they do not take it in time.
Task<Result<std::unique_ptr<Stream>>> connect_unix(Core& core, std::string path, std::chrono::milliseconds timeout);

}  // namespace vg::http
