// How spans leave the process, from the environment, by the names and rules of the OpenTelemetry specification
// (configuration/sdk-environment-variables, protocol/exporter).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tracing/sampler.h"

namespace vg::otlp {

struct Settings {
  bool tls = false;
  std::string host = {};  // empty: nothing is sent, and nothing traced
  std::uint16_t port = 0;
  std::string path = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // secrets: never shown
  std::chrono::milliseconds timeout;
  std::string authority_file = {};   // empty: the system's authorities
  std::string authorities_pem = {};  // what is in it
  std::vector<std::pair<std::string, std::string>> resource = {};
  tracing::Sampler sampler = {};
  std::int64_t queue_max, batch_max;
  std::chrono::milliseconds delay;
  std::vector<std::string> warnings = {};  // what could not be understood, and counts as not set

  bool on() const { return !host.empty(); }
  std::string endpoint() const;  // for people
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// `service`: how the process is called when nobody says otherwise.
Settings read_settings(const Environment& environment, std::string_view service);

// Of this process, before its first thread, and while it may read the file of the collector's authority.
Result<Settings> read_process_settings(std::string_view service);

}  // namespace vg::otlp
