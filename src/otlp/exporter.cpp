#include "otlp/exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "base/tracing_limits.h"
#include "otlp/encode.h"

namespace vg::otlp {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view content_type = "application/x-protobuf";

// What the protocol wants tried again (OTLP 1.x, failures).
bool is_retryable(int code) { return code == 429 || code == 502 || code == 503 || code == 504; }

milliseconds asked_pause(const http::ResponseHead& head) {
  const auto value = head.find("retry-after");
  std::int64_t seconds = 0;
  if (!value || std::from_chars(value->data(), value->data() + value->size(), seconds).ec != std::errc() || seconds < 0)
    return milliseconds(0);
  return std::min<milliseconds>(std::chrono::seconds(std::min<std::int64_t>(seconds, 3600)), limits::span_pause_max);
}

}  // namespace

Exporter::Exporter(Settings settings, metrics::Registry& metrics)
    : settings_(std::move(settings)),
      tracer_({.sampler = settings_.sampler,
               .queue_max = static_cast<std::size_t>(settings_.queue_max),
               .batch_max = static_cast<std::size_t>(settings_.batch_max)}) {
  auto& spans = metrics.counters("virtgate_trace_spans_total",
                                 "Spans by what became of them: sent, or dropped because the queue was full, the "
                                 "collector refused them or could not be reached.",
                                 {"outcome"});
  sent_ = spans.with({"sent"});
  refused_ = spans.with({"refused"});
  unreachable_ = spans.with({"unreachable"});
  tracer_.count_dropped(spans.with({"queue_full"}));
}

std::unique_ptr<Exporter> Exporter::start(Settings settings, metrics::Registry& metrics) {
  if (!settings.on()) return nullptr;
  std::unique_ptr<Exporter> exporter(new Exporter(std::move(settings), metrics));
  exporter->begin();
  return exporter;
}

void Exporter::begin() {
  log::info("requests are traced", {{"collector", settings_.endpoint()}});
  loop_ = http::EventLoop::create(0);
  http::ClientOptions options;
  options.user_agent = "OTel-OTLP-Exporter-virtgate";
  options.tls = [this] { return http::TlsClientContext::create({.authorities_pem = settings_.authorities_pem}); };
  client_ = std::make_unique<http::Client>(*loop_, std::move(options));
  loop_->post([this] { running_ = Background(keep_running(*loop_, "exporting spans", [this] { return run(); })); });
  tracer_.on_batch([this] { loop_->post([this] { wake(); }); });
  tracer_.activate();
  thread_ = std::jthread([this] { loop_->run(); });
}

Exporter::~Exporter() {
  if (!loop_) return;
  std::atomic<bool> done = false;
  tracer_.on_batch(nullptr);
  loop_->post([this, &done] {
    running_ = Background();
    waiting_ = nullptr;
    flushing_ = Background(flush(done));
  });
  done.wait(false);
  loop_->stop();
  thread_.join();
  for (Background* task : {&running_, &alarm_, &flushing_}) *task = Background();
  client_.reset();
}

// --- waiting ---------------------------------------------------------------------------------------------------------

void Exporter::wake() {
  if (waiting_) std::exchange(waiting_, nullptr).resume();
}

Task<void> Exporter::ring() {
  co_await loop_->sleep(settings_.delay);
  // Not from here: what is woken sets the next alarm, and with it throws this task away.
  loop_->post([this] { wake(); });
}

Task<void> Exporter::wait_for_batch() {
  struct Awaiter {
    Exporter& exporter;
    bool await_ready() const { return exporter.tracer_.has_batch(); }
    void await_suspend(std::coroutine_handle<> coroutine) { exporter.waiting_ = coroutine; }
    void await_resume() const {}
  };
  alarm_ = Background(ring());
  co_await Awaiter{*this};
}

Task<void> Exporter::run() {
  for (;;) {
    co_await wait_for_batch();
    do {
      auto spans = tracer_.take();
      if (!spans.empty()) co_await send(std::move(spans));
    } while (tracer_.has_batch());
  }
}

// --- sending ---------------------------------------------------------------------------------------------------------

Task<Exporter::Attempt> Exporter::post(std::string_view body, milliseconds timeout) {
  http::ClientRequest request{.method = "POST", .target = settings_.path};
  request.headers = settings_.headers;
  request.headers.emplace_back("Content-Type", content_type);
  request.body = body;
  request.timeout = timeout;
  request.body_limit_bytes = limits::span_answer_bytes_max;
  const auto answer = co_await client_->fetch({.host = settings_.host, .port = settings_.port, .tls = settings_.tls},
                                              std::move(request));
  if (!answer) co_return Attempt{.outcome = Outcome::unreachable, .why = answer.error().message};
  const int code = answer->head.status;
  if (code >= 200 && code <= 299) {
    // What a collector has to say beside the code is its own affair, but for what it did not take.
    if (const std::uint64_t rejected = rejected_spans(answer->body).value_or(0)) refused_->add(rejected);
    co_return Attempt{.outcome = Outcome::taken};
  }
  co_return Attempt{.outcome = is_retryable(code) ? Outcome::unreachable : Outcome::refused,
                    .wait = asked_pause(answer->head),
                    .why = fmt::format("the collector answered {}", code)};
}

Task<void> Exporter::send(std::vector<tracing::SpanRecord> spans) {
  const std::string body = encode(spans, settings_.resource, "1");
  const std::uint64_t count = spans.size();
  spans = {};
  milliseconds pause = limits::span_pause_min;
  for (int attempt = 1;; ++attempt) {
    const Attempt tried = co_await post(body, settings_.timeout);
    tell(tried);
    if (tried.outcome != Outcome::unreachable || attempt == limits::span_tries_max)
      co_return this->count(count, tried.outcome);
    co_await loop_->sleep(std::max(pause, tried.wait));
    pause = std::min(pause * 2, limits::span_pause_max);
  }
}

// One try for what is left, as long as there is time.
Task<void> Exporter::flush(std::atomic<bool>& done) {
  const auto deadline = std::chrono::steady_clock::now() + limits::span_flush_deadline;
  for (;;) {
    const auto spans = tracer_.take();
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (spans.empty() || left.count() <= 0) break;
    const std::string body = encode(spans, settings_.resource, "1");
    const Attempt tried = co_await post(body, std::min(left, settings_.timeout));
    count(spans.size(), tried.outcome);
    if (tried.outcome == Outcome::unreachable) break;
  }
  done = true;
  done.notify_all();
}

void Exporter::count(std::uint64_t spans, Outcome outcome) {
  (outcome == Outcome::taken ? sent_ : outcome == Outcome::refused ? refused_ : unreachable_)->add(spans);
}

// Once when it begins, and once when it is over.
void Exporter::tell(const Attempt& attempt) {
  const bool well = attempt.outcome == Outcome::taken;
  if (well == well_) return;
  well_ = well;
  if (well)
    log::info("spans reach the collector again", {{"collector", settings_.endpoint()}});
  else
    log::warning("spans do not reach the collector; they are dropped when the queue is full",
                 {{"collector", settings_.endpoint()}, {"reason", attempt.why}});
}

}  // namespace vg::otlp
