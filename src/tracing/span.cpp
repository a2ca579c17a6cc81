#include "tracing/span.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/random.h"
#include "base/tracing_limits.h"

namespace vg::tracing {
namespace {

// Ids tell spans apart and protect nothing, so they need not cost a system call each: xorshift64* from a random start.
std::uint64_t next_random() {
  thread_local std::uint64_t state = random_u64() | 1U;
  state ^= state >> 12U;
  state ^= state << 25U;
  state ^= state >> 27U;
  return state * 0x2545f4914f6cdd1dU;
}

template <std::size_t N>
std::array<std::uint8_t, N> new_id() {
  std::array<std::uint8_t, N> id{};
  while (id == std::array<std::uint8_t, N>{})
    for (std::size_t at = 0; at < N; at += 8) {
      const auto bytes = std::bit_cast<std::array<std::uint8_t, 8>>(next_random());
      std::ranges::copy(bytes, id.begin() + static_cast<std::ptrdiff_t>(at));
    }
  return id;
}

// Texts of spans are UTF-8, and clients are asked for theirs.
std::string clean(std::string_view text) {
  std::string cleaned(text.substr(0, limits::span_text_bytes_max));
  for (char& c : cleaned)
    if (c < ' ' || c > '~') c = '?';
  return cleaned;
}

}  // namespace

std::atomic<Tracer*> Tracer::active_ = nullptr;

Span Span::begin(std::string_view name, SpanKind kind, const Context* parent) {
  const Tracer* tracer = Tracer::active();
  Span span;
  if (!tracer) return span;
  span.data_ = std::make_unique<Data>();
  SpanRecord& record = span.data_->record;
  const bool follows = parent && *parent;
  record.context.trace = follows ? parent->trace : new_id<16>();
  record.context.span = new_id<8>();
  record.context.sampled = tracer->sampler().samples(record.context.trace, follows ? parent : nullptr);
  if (follows) {
    record.parent = parent->span;
    record.context.state = parent->state;
  }
  if (!record.context.sampled) return span;
  record.name = clean(name);
  record.kind = kind;
  record.began = std::chrono::system_clock::now();
  span.data_->began = std::chrono::steady_clock::now();
  return span;
}

const Context& Span::context() const {
  static const Context none;
  return data_ ? data_->record.context : none;
}

void Span::mark_begin() {
  if (recorded())
    data_->record.context.state =
        with_begin(data_->record.context.state, std::chrono::floor<std::chrono::seconds>(data_->record.began));
}

void Span::rename(std::string_view name) {
  if (recorded()) data_->record.name = clean(name);
}

void Span::set(std::string_view literal_key, std::string_view value) {
  if (recorded() && !value.empty() && data_->record.attributes.size() < limits::span_attributes_max)
    data_->record.attributes.emplace_back(literal_key, clean(value));
}

void Span::set(std::string_view literal_key, std::int64_t value) {
  if (recorded() && data_->record.attributes.size() < limits::span_attributes_max)
    data_->record.attributes.emplace_back(literal_key, value);
}

void Span::fail(std::string_view why) {
  if (recorded()) data_->record.failure = clean(why);
}

void Span::end() {
  if (!data_) return;
  const std::unique_ptr<Data> data = std::move(data_);
  Tracer* tracer = Tracer::active();
  if (!tracer || !data->record.context.sampled) return;
  // The wall clock may have been set meanwhile.
  data->record.ended = data->record.began + (std::chrono::steady_clock::now() - data->began);
  tracer->record(std::move(data->record));
}

Tracer::Tracer(Options options) : options_(options) {}

Tracer::~Tracer() {
  Tracer* self = this;
  active_.compare_exchange_strong(self, nullptr);
}

void Tracer::on_batch(std::function<void()> told) {
  const std::scoped_lock lock(mutex_);
  told_ = std::move(told);
}

void Tracer::record(SpanRecord record) {
  const std::scoped_lock lock(mutex_);
  if (queue_.size() >= options_.queue_max) {
    dropped_->add();
    return;
  }
  queue_.push_back(std::move(record));
  if (queue_.size() == options_.batch_max && told_) told_();
}

std::vector<SpanRecord> Tracer::take() {
  const std::scoped_lock lock(mutex_);
  if (queue_.size() <= options_.batch_max) return std::exchange(queue_, {});
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(options_.batch_max);
  std::vector<SpanRecord> taken(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return taken;
}

bool Tracer::has_batch() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size() >= options_.batch_max;
}

}  // namespace vg::tracing
