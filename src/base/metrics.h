// Metrics for Prometheus: counters, gauges and histograms, with or without labels, in the text format 0.0.4.
//
// Who counts on a hot path resolves its series once and keeps the handle; from then on counting is a relaxed atomic
// operation, without lock or allocation.
//
// Debian packages prometheus-cpp. It is not used because its series are plain references that dangle once a series is
// removed (ours come and go with machines), even its counters are doubles that count with a compare-and-swap loop,
// nothing bounds the number of series, and what remains to write by hand is this one file.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vg::metrics {

class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(double n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void sub(double n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  // Upper bounds, ascending and finite; +Inf is added.
  explicit Histogram(std::span<const double> bounds);
  void observe(double value) noexcept;
  // Observations in each bucket (not cumulated), the last one for everything above the bounds.
  std::vector<std::uint64_t> counts() const;
  double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }
  std::span<const double> bounds() const { return bounds_; }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// start, start*factor, ... : `count` bounds.
std::vector<double> exponential_buckets(double start, double factor, std::size_t count);

class FamilyBase {
 public:
  FamilyBase(std::string name, std::string help, std::vector<std::string> labels);
  virtual ~FamilyBase() = default;
  FamilyBase(const FamilyBase&) = delete;
  FamilyBase& operator=(const FamilyBase&) = delete;
  virtual void expose(std::string& out) const = 0;
  const std::string& name() const { return name_; }
  const std::vector<std::string>& labels() const { return labels_; }

 protected:
  using LabelValues = std::vector<std::string>;
  // Label values come from requests: cut to their limit and made valid UTF-8.
  LabelValues clean(std::span<const std::string_view> values) const;
  LabelValues overflow() const;
  void expose_head(std::string& out, std::string_view type) const;
  void expose_series(std::string& out, const LabelValues& values, const Counter& metric) const;
  void expose_series(std::string& out, const LabelValues& values, const Gauge& metric) const;
  void expose_series(std::string& out, const LabelValues& values, const Histogram& metric) const;

 private:
  void append_labels(std::string& out, const LabelValues& values, std::string_view le = {}) const;

  std::string name_;
  std::string help_;
  std::vector<std::string> labels_;
};

// All series of one name. A handle stays usable after its series was removed; what it counts is then seen by nobody.
// Once limits::metric_series_max series exist, further label values share one series whose labels read "_overflow_", so
// that totals stay right.
template <class Metric>
class Family final : public FamilyBase {
 public:
  Family(std::string name, std::string help, std::vector<std::string> labels, std::vector<double> bounds = {})
      : FamilyBase(std::move(name), std::move(help), std::move(labels)), bounds_(std::move(bounds)) {}

  // The series with these label values, in the order of the label names; made when it is not there yet.
  std::shared_ptr<Metric> with(std::initializer_list<std::string_view> values);
  // True when there was such a series.
  bool remove(std::initializer_list<std::string_view> values);
  void expose(std::string& out) const override;
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  std::shared_ptr<Metric> make() const;

  std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::map<LabelValues, std::shared_ptr<Metric>> series_;  // sorted, so that every exposition has the same order
};

extern template class Family<Counter>;
extern template class Family<Gauge>;
extern template class Family<Histogram>;

// Registering the same name again returns what is there. A name, label or bound that is malformed, or that differs from
// the first registration, is a bug in the program and throws std::logic_error.
class Registry {
 public:
  Counter& counter(std::string name, std::string help);
  Gauge& gauge(std::string name, std::string help);
  Histogram& histogram(std::string name, std::string help, std::vector<double> bounds);
  Family<Counter>& counters(std::string name, std::string help, std::vector<std::string> labels);
  Family<Gauge>& gauges(std::string name, std::string help, std::vector<std::string> labels);
  Family<Histogram>& histograms(std::string name, std::string help, std::vector<std::string> labels,
                                std::vector<double> bounds);

  // Everything, sorted by name and label values. Families without a series are left out.
  std::string expose() const;

 private:
  template <class Metric>
  Family<Metric>& family(std::string name, std::string help, std::vector<std::string> labels,
                         std::vector<double> bounds = {});

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<FamilyBase>> families_;
};

inline constexpr std::string_view exposition_content_type = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace vg::metrics
