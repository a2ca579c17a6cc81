// Spans: what was done, when and for how long, as part of a trace. Nothing in them is what a user wrote: names of
// objects and resources, codes and the client's name at most.
//
//   tracing::Span span = call.span().child("authorize");
//   ... co_await ...
//   span.fail("forbidden");          // where it went wrong
//                                    // ends with its scope, or with end()
//
// There is one tracer in a process, or none, like the log. Without one a span is a null pointer, and making one costs a
// load and a comparison.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/metrics.h"
#include "tracing/context.h"
#include "tracing/sampler.h"

namespace vg::tracing {

enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3, producer = 4, consumer = 5 };

using SpanValue = std::variant<std::int64_t, std::string>;

// As it is sent.
struct SpanRecord {
  Context context;
  SpanId parent = {};
  std::string name;
  SpanKind kind = SpanKind::internal;
  std::chrono::system_clock::time_point began = {}, ended = {};
  std::vector<std::pair<std::string_view, SpanValue>> attributes = {};  // keys are literals
  std::optional<std::string> failure = {};
};

class Tracer;

class Span {
 public:
  Span() = default;  // of nothing
  Span(Span&&) noexcept = default;
  Span& operator=(Span&& other) noexcept {
    end();
    data_ = std::move(other.data_);
    return *this;
  }
  ~Span() { end(); }

  // Of the trace of `parent`, or of a new one.
  static Span begin(std::string_view name, SpanKind kind, const Context* parent);
  // Of the trace of `parent` alone: nothing without one.
  static Span below(const Context& parent, std::string_view name, SpanKind kind = SpanKind::internal) {
    return parent ? begin(name, kind, &parent) : Span();
  }
  Span child(std::string_view name, SpanKind kind = SpanKind::internal) const {
    return data_ ? begin(name, kind, &data_->record.context) : Span();
  }

  bool recorded() const { return data_ && data_->record.context.sampled; }
  // For whoever goes on with the trace; empty without one.
  const Context& context() const;
  // The time of the request that began it all goes with the context from here on (tracing::with_begin).
  void mark_begin();

  // What is not recorded is not kept.
  void rename(std::string_view name);
  void set(std::string_view literal_key, std::string_view value);
  void set(std::string_view literal_key, std::int64_t value);
  void fail(std::string_view why);
  // For a request of nobody who could be asked about it.
  void forget() { data_.reset(); }
  void end();

 private:
  struct Data {
    SpanRecord record;
    std::chrono::steady_clock::time_point began;
  };
  std::unique_ptr<Data> data_;
};

// Takes what has ended, from any thread, until somebody collects it. There is room for so many; more are counted and
// gone.
class Tracer {
 public:
  struct Options {
    Sampler sampler = {};
    std::size_t queue_max;
    std::size_t batch_max;
  };
  explicit Tracer(Options options);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // The one of this process; null: nothing is traced.
  static Tracer* active() { return active_.load(std::memory_order_acquire); }
  // Until it is destroyed. Spans may end on other threads meanwhile: those must have stopped by then.
  void activate() { active_.store(this, std::memory_order_release); }

  // Where those are counted that there was no room for. Before it is activated.
  void count_dropped(std::shared_ptr<metrics::Counter> counter) { dropped_ = std::move(counter); }

  const Sampler& sampler() const { return options_.sampler; }
  void record(SpanRecord record);
  // Told, by whoever records, when a batch is full; must not wait.
  void on_batch(std::function<void()> told);
  // The oldest, as many as a batch has at most.
  std::vector<SpanRecord> take();
  bool has_batch() const;

 private:
  static std::atomic<Tracer*> active_;
  const Options options_;
  mutable std::mutex mutex_;
  std::vector<SpanRecord> queue_;
  std::function<void()> told_;
  std::shared_ptr<metrics::Counter> dropped_ = std::make_shared<metrics::Counter>();
};

}  // namespace vg::tracing
