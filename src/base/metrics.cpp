#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/json_text.h"
#include "base/limits.h"

namespace vg::metrics {
namespace {

constexpr bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_name_rest(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

bool is_label_name(std::string_view name) {
  return !name.empty() && is_name_start(name[0]) && std::ranges::all_of(name, is_name_rest);
}
bool is_metric_name(std::string_view name) {
  return !name.empty() && (is_name_start(name[0]) || name[0] == ':') &&
         std::ranges::all_of(name, [](char c) { return is_name_rest(c) || c == ':'; });
}

void append_escaped(std::string& out, std::string_view text, bool quotes_too) {
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes_too) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string clean_label_value(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view piece = length > 0 ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    if (out.size() + piece.size() > limits::metric_label_value_bytes_max) break;
    out += piece;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

void check(bool ok, std::string_view what, std::string_view name) {
  if (!ok) throw std::logic_error(fmt::format("metric {}: {}", name, what));
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(new std::atomic<std::uint64_t>[bounds.size() + 1]()) {}

void Histogram::observe(double value) noexcept {
  if (std::isnan(value)) return;  // it would spoil the sum for good
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts(bounds_.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

std::vector<double> exponential_buckets(double start, double factor, std::size_t count) {
  std::vector<double> bounds(count);
  for (double& bound : bounds) {
    bound = start;
    start *= factor;
  }
  return bounds;
}

FamilyBase::FamilyBase(std::string name, std::string help, std::vector<std::string> labels)
    : name_(std::move(name)), help_(std::move(help)), labels_(std::move(labels)) {
  check(is_metric_name(name_), "the name is malformed", name_);
  for (const std::string& label : labels_) check(is_label_name(label) && label != "le", "a label is malformed", name_);
}

FamilyBase::LabelValues FamilyBase::clean(std::span<const std::string_view> values) const {
  check(values.size() == labels_.size(), "wrong number of label values", name_);
  LabelValues cleaned(values.size());
  std::ranges::transform(values, cleaned.begin(), clean_label_value);
  return cleaned;
}

FamilyBase::LabelValues FamilyBase::overflow() const { return LabelValues(labels_.size(), "_overflow_"); }

void FamilyBase::expose_head(std::string& out, std::string_view type) const {
  fmt::format_to(std::back_inserter(out), "# HELP {} ", name_);
  append_escaped(out, help_, false);
  fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", name_, type);
}

void FamilyBase::append_labels(std::string& out, const LabelValues& values, std::string_view le) const {
  if (values.empty() && le.empty()) return;
  char separator = '{';
  const auto append = [&](std::string_view label, std::string_view value) {
    out += std::exchange(separator, ',');
    out += label;
    out += "=\"";
    append_escaped(out, value, true);
    out += '"';
  };
  for (std::size_t i = 0; i < values.size(); ++i) append(labels_[i], values[i]);
  if (!le.empty()) append("le", le);
  out += '}';
}

void FamilyBase::expose_series(std::string& out, const LabelValues& values, const Counter& metric) const {
  out += name_;
  append_labels(out, values);
  fmt::format_to(std::back_inserter(out), " {}\n", metric.value());
}

void FamilyBase::expose_series(std::string& out, const LabelValues& values, const Gauge& metric) const {
  out += name_;
  append_labels(out, values);
  fmt::format_to(std::back_inserter(out), " {}\n", number(metric.value()));
}

void FamilyBase::expose_series(std::string& out, const LabelValues& values, const Histogram& metric) const {
  const double sum = metric.sum();
  const auto counts = metric.counts();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    out += name_ + "_bucket";
    append_labels(out, values, i < metric.bounds().size() ? number(metric.bounds()[i]) : "+Inf");
    fmt::format_to(std::back_inserter(out), " {}\n", total);
  }
  out += name_ + "_sum";
  append_labels(out, values);
  fmt::format_to(std::back_inserter(out), " {}\n", number(sum));
  // From the same reading as the buckets: a scrape during an observation must still add up.
  out += name_ + "_count";
  append_labels(out, values);
  fmt::format_to(std::back_inserter(out), " {}\n", total);
}

template <class Metric>
std::shared_ptr<Metric> Family<Metric>::make() const {
  if constexpr (std::is_same_v<Metric, Histogram>) {
    return std::make_shared<Metric>(bounds_);
  } else {
    return std::make_shared<Metric>();
  }
}

template <class Metric>
std::shared_ptr<Metric> Family<Metric>::with(std::initializer_list<std::string_view> values) {
  LabelValues key = clean(values);
  const std::lock_guard lock(mutex_);
  if (const auto found = series_.find(key); found != series_.end()) return found->second;
  if (series_.size() >= limits::metric_series_max) key = overflow();
  std::shared_ptr<Metric>& series = series_[std::move(key)];
  if (!series) series = make();
  return series;
}

template <class Metric>
bool Family<Metric>::remove(std::initializer_list<std::string_view> values) {
  const LabelValues key = clean(values);
  const std::lock_guard lock(mutex_);
  return series_.erase(key) > 0;
}

template <class Metric>
void Family<Metric>::expose(std::string& out) const {
  constexpr std::string_view type = std::is_same_v<Metric, Counter> ? "counter"
                                    : std::is_same_v<Metric, Gauge> ? "gauge"
                                                                    : "histogram";
  const std::lock_guard lock(mutex_);
  if (series_.empty()) return;
  expose_head(out, type);
  for (const auto& [values, metric] : series_) expose_series(out, values, *metric);
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

template <class Metric>
Family<Metric>& Registry::family(std::string name, std::string help, std::vector<std::string> labels,
                                 std::vector<double> bounds) {
  const bool ascending = std::ranges::adjacent_find(bounds, std::greater_equal<>()) == bounds.end();
  check(ascending && std::ranges::all_of(bounds, [](double b) { return std::isfinite(b); }), "bounds must ascend",
        name);
  const std::lock_guard lock(mutex_);
  if (const auto found = families_.find(name); found != families_.end()) {
    auto* existing = dynamic_cast<Family<Metric>*>(found->second.get());
    check(existing && existing->labels() == labels && existing->bounds() == bounds, "registered twice, differently",
          name);
    return *existing;
  }
  auto created = std::make_unique<Family<Metric>>(name, std::move(help), std::move(labels), std::move(bounds));
  Family<Metric>& result = *created;
  families_.emplace(std::move(name), std::move(created));
  return result;
}

// The family keeps a series without labels for as long as it lives: nobody can ask for its removal from outside.
Counter& Registry::counter(std::string name, std::string help) {
  return *family<Counter>(std::move(name), std::move(help), {}).with({});
}
Gauge& Registry::gauge(std::string name, std::string help) {
  return *family<Gauge>(std::move(name), std::move(help), {}).with({});
}
Histogram& Registry::histogram(std::string name, std::string help, std::vector<double> bounds) {
  return *family<Histogram>(std::move(name), std::move(help), {}, std::move(bounds)).with({});
}
Family<Counter>& Registry::counters(std::string name, std::string help, std::vector<std::string> labels) {
  check(!labels.empty(), "needs a label", name);
  return family<Counter>(std::move(name), std::move(help), std::move(labels));
}
Family<Gauge>& Registry::gauges(std::string name, std::string help, std::vector<std::string> labels) {
  check(!labels.empty(), "needs a label", name);
  return family<Gauge>(std::move(name), std::move(help), std::move(labels));
}
Family<Histogram>& Registry::histograms(std::string name, std::string help, std::vector<std::string> labels,
                                        std::vector<double> bounds) {
  check(!labels.empty(), "needs a label", name);
  return family<Histogram>(std::move(name), std::move(help), std::move(labels), std::move(bounds));
}

std::string Registry::expose() const {
  std::string out;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) family->expose(out);
  return out;
}

}  // namespace vg::metrics
