#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/limits.h"

namespace vg::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, ExposesSortedText) {
  Registry registry;
  auto& requests = registry.counters("z_requests_total", "Requests\nby code \\ \"verb\".", {"code", "verb"});
  requests.with({"500", "get"})->add();
  requests.with({"200", "say \"hi\"\\\n"})->add(41);
  requests.with({"200", "get"})->add(2);
  registry.gauge("a_ready", "Ready?").set(1);
  registry.gauge("b_time", "When.").set(1767323045.25);
  EXPECT_EQ(registry.expose(),
            "# HELP a_ready Ready?\n"
            "# TYPE a_ready gauge\n"
            "a_ready 1\n"
            "# HELP b_time When.\n"
            "# TYPE b_time gauge\n"
            "b_time 1767323045.25\n"
            "# HELP z_requests_total Requests\\nby code \\\\ \"verb\".\n"
            "# TYPE z_requests_total counter\n"
            "z_requests_total{code=\"200\",verb=\"get\"} 2\n"
            "z_requests_total{code=\"200\",verb=\"say \\\"hi\\\"\\\\\\n\"} 41\n"
            "z_requests_total{code=\"500\",verb=\"get\"} 1\n");
}

TEST(Metrics, HistogramsCumulate) {
  Registry registry;
  Histogram& plain = registry.histogram("h", "H.", {0.5, 1, 10});
  for (double value : {0.1, 0.5, 0.75, 1.0, 100.0}) plain.observe(value);
  plain.observe(NAN);
  EXPECT_THAT(plain.counts(), ElementsAre(2, 2, 0, 1));
  registry.histograms("i", "I.", {"verb"}, {1}).with({"GET"})->observe(2);
  EXPECT_EQ(registry.expose(),
            "# HELP h H.\n"
            "# TYPE h histogram\n"
            "h_bucket{le=\"0.5\"} 2\n"
            "h_bucket{le=\"1\"} 4\n"
            "h_bucket{le=\"10\"} 4\n"
            "h_bucket{le=\"+Inf\"} 5\n"
            "h_sum 102.35\n"
            "h_count 5\n"
            "# HELP i I.\n"
            "# TYPE i histogram\n"
            "i_bucket{verb=\"GET\",le=\"1\"} 0\n"
            "i_bucket{verb=\"GET\",le=\"+Inf\"} 1\n"
            "i_sum{verb=\"GET\"} 2\n"
            "i_count{verb=\"GET\"} 1\n");
}

TEST(Metrics, GaugesGoUpAndDownAndSpecial) {
  Registry registry;
  Gauge& gauge = registry.gauge("g", "G.");
  gauge.add(5);
  gauge.sub();
  EXPECT_EQ(gauge.value(), 4);
  gauge.set(-INFINITY);
  EXPECT_THAT(registry.expose(), HasSubstr("\ng -Inf\n"));
  gauge.set(NAN);
  EXPECT_THAT(registry.expose(), HasSubstr("\ng NaN\n"));
}

TEST(Metrics, SeriesCanGo) {
  Registry registry;
  auto& family = registry.gauges("g", "G.", {"vmi"});
  EXPECT_EQ(registry.expose(), "");
  const auto handle = family.with({"a"});
  family.with({"b"});
  EXPECT_TRUE(family.remove({"a"}));
  EXPECT_FALSE(family.remove({"a"}));
  handle->add();  // still safe, seen by nobody
  EXPECT_THAT(registry.expose(), Not(HasSubstr("vmi=\"a\"")));
  EXPECT_THAT(registry.expose(), HasSubstr("vmi=\"b\""));
  EXPECT_EQ(family.with({"a"})->value(), 0);
}

TEST(Metrics, SameNameSameFamily) {
  Registry registry;
  EXPECT_EQ(&registry.counter("c", "C."), &registry.counter("c", "C."));
  auto& family = registry.counters("d", "D.", {"l"});
  EXPECT_EQ(&family, &registry.counters("d", "D.", {"l"}));
  EXPECT_EQ(family.with({"x"}), family.with({"x"}));
  EXPECT_THROW(registry.counters("d", "D.", {"other"}), std::logic_error);
  EXPECT_THROW(registry.gauges("d", "D.", {"l"}), std::logic_error);
  registry.histogram("h", "H.", {1, 2});
  EXPECT_THROW(registry.histogram("h", "H.", {1, 3}), std::logic_error);
}

TEST(Metrics, RefusesMalformedRegistrations) {
  Registry registry;
  EXPECT_THROW(registry.counter("", ""), std::logic_error);
  EXPECT_THROW(registry.counter("1a", ""), std::logic_error);
  EXPECT_THROW(registry.counter("a-b", ""), std::logic_error);
  EXPECT_THROW(registry.counters("a", "", {}), std::logic_error);
  EXPECT_THROW(registry.counters("a", "", {"b:c"}), std::logic_error);
  EXPECT_THROW(registry.counters("a", "", {"le"}), std::logic_error);
  EXPECT_THROW(registry.histogram("a", "", {1, 1}), std::logic_error);
  EXPECT_THROW(registry.histogram("a", "", {1, INFINITY}), std::logic_error);
  EXPECT_THROW(registry.counters("ok", "", {"l"}).with({"1", "2"}), std::logic_error);
  EXPECT_NO_THROW(registry.counter("a:b_1", ""));
}

TEST(Metrics, LabelValuesAreMadeHarmless) {
  Registry registry;
  auto& family = registry.counters("c", "C.", {"l"});
  family.with({"bad\xFFutf"})->add();
  EXPECT_THAT(registry.expose(), HasSubstr("l=\"bad\xEF\xBF\xBDutf\""));
  const std::string long_value(1000, 'x');
  family.with({long_value})->add();
  EXPECT_THAT(registry.expose(), HasSubstr("\"" + long_value.substr(0, limits::metric_label_value_bytes_max) + "\""));
  EXPECT_TRUE(family.remove({long_value}));
}

TEST(Metrics, SeriesAreBounded) {
  Registry registry;
  auto& family = registry.counters("c", "C.", {"l"});
  for (std::size_t i = 0; i < limits::metric_series_max; ++i) family.with({std::to_string(i)});
  family.with({"new"})->add();
  family.with({"newer"})->add();
  EXPECT_EQ(family.with({"_overflow_"})->value(), 2u);
  EXPECT_THAT(registry.expose(), Not(HasSubstr("\"new\"")));
  EXPECT_NE(family.with({"7"}), family.with({"_overflow_"}));
}

TEST(Metrics, ExponentialBuckets) {
  EXPECT_THAT(exponential_buckets(0.5, 2, 4), ElementsAre(0.5, 1, 2, 4));
  EXPECT_TRUE(exponential_buckets(1, 2, 0).empty());
}

TEST(Metrics, CountsFromManyThreads) {
  Registry registry;
  Counter& counter = registry.counter("c", "C.");
  Gauge& gauge = registry.gauge("g", "G.");
  Histogram& histogram = registry.histogram("h", "H.", {1});
  auto& family = registry.counters("f", "F.", {"l"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        counter.add();
        gauge.add();
        histogram.observe(1);
        family.with({i % 2 == 0 ? "even" : "odd"})->add();
        if (i % 100 == 0) registry.expose();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 4000u);
  EXPECT_EQ(gauge.value(), 4000);
  EXPECT_EQ(histogram.sum(), 4000);
  EXPECT_EQ(family.with({"odd"})->value(), 2000u);
}

}  // namespace
}  // namespace vg::metrics
