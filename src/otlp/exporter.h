// Sends what the tracer has collected to a collector, in batches, from a thread of its own. Whoever is traced never
// waits for it: what a slow collector does not take in time is dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/background.h"
#include "base/metrics.h"
#include "base/status.h"
#include "http/client.h"
#include "http/core.h"
#include "otlp/settings.h"
#include "tracing/span.h"

namespace vg::otlp {

class Exporter {
 public:
  // From here on the process is traced; nothing where the settings have nowhere to send to. Starts a thread.
  static std::unique_ptr<Exporter> start(Settings settings, metrics::Registry& metrics);
  // What is left is sent, for a moment; then nothing is traced any more. Threads that are traced must have stopped.
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

 private:
  enum class Outcome : std::uint8_t { taken, refused, unreachable };
  struct Attempt {
    Outcome outcome;
    std::chrono::milliseconds wait{0};  // that the collector asks for
    std::string why = {};
  };
  Exporter(Settings settings, metrics::Registry& metrics);
  void begin();

  Task<void> run();
  Task<void> wait_for_batch();
  Task<void> ring();
  Task<void> flush(std::atomic<bool>& done);
  Task<void> send(std::vector<tracing::SpanRecord> spans);
  Task<Attempt> post(std::string_view body, std::chrono::milliseconds timeout);
  void count(std::uint64_t spans, Outcome outcome);
  void tell(const Attempt& attempt);
  void wake();

  const Settings settings_;
  std::shared_ptr<metrics::Counter> sent_, refused_, unreachable_;
  tracing::Tracer tracer_;
  std::unique_ptr<http::EventLoop> loop_;
  std::unique_ptr<http::Client> client_;
  std::jthread thread_;
  Background running_, alarm_, flushing_;
  std::coroutine_handle<> waiting_;  // only touched on the loop
  bool well_ = true;
};

}  // namespace vg::otlp
