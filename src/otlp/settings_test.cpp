#include "otlp/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/tracing_limits.h"

namespace vg::otlp {
namespace {

using Given = std::map<std::string, std::string>;

Settings settings_of(const Given& given) {
  return read_settings(
      [&given](const char* name) {
        const auto found = given.find(name);
        return found == given.end() ? std::nullopt : std::optional(found->second);
      },
      "virtgate");
}

constexpr const char* endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

TEST(OtlpSettings, NothingIsTracedUnlessToldWhereTo) {
  EXPECT_FALSE(settings_of({}).on());
  EXPECT_FALSE(settings_of({{endpoint, ""}}).on());
  EXPECT_FALSE(settings_of({{endpoint, "http://a"}, {"OTEL_SDK_DISABLED", "true"}}).on());
  EXPECT_FALSE(settings_of({{endpoint, "http://a"}, {"OTEL_TRACES_EXPORTER", "none"}}).on());
}

TEST(OtlpSettings, Endpoints) {
  const std::vector<std::pair<Given, std::string>> rows = {
      {{{endpoint, "http://collector:4318"}}, "http://collector:4318/v1/traces"},
      {{{endpoint, "http://collector"}}, "http://collector:80/v1/traces"},
      {{{endpoint, "https://collector/base/"}}, "https://collector:443/base/v1/traces"},
      {{{endpoint, "http://[::1]:4318"}}, "http://[::1]:4318/v1/traces"},
      {{{endpoint, "http://a"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:1"}}, "http://b:1/"},
      {{{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://b:1/x"}}, "http://b:1/x"},
  };
  for (const auto& [given, shown] : rows) EXPECT_EQ(settings_of(given).endpoint(), shown);
  for (const char* wrong : {"collector:4318", "ftp://a", "http://", "http://user:secret@a", "http://a:0", "http://a:x",
                            "http://a:99999", "http://a/ b", "http://a\r\nb", "http://a/?q"}) {
    const Settings settings = settings_of({{endpoint, wrong}});
    EXPECT_FALSE(settings.on()) << wrong;
    ASSERT_EQ(settings.warnings.size(), 1U) << wrong;
    EXPECT_FALSE(settings.warnings[0].contains("secret"));
  }
}

TEST(OtlpSettings, TheRest) {
  const Settings settings = settings_of({{endpoint, "http://a"},
                                         {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, b=c"},
                                         {"OTEL_EXPORTER_OTLP_TIMEOUT", "1500"},
                                         {"OTEL_SERVICE_NAME", "door"},
                                         {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other,site=here"},
                                         {"OTEL_TRACES_SAMPLER", "always_off"},
                                         {"OTEL_BSP_SCHEDULE_DELAY", "100"},
                                         {"OTEL_BSP_MAX_QUEUE_SIZE", "10"}});
  EXPECT_TRUE(settings.warnings.empty());
  const std::vector<std::pair<std::string, std::string>> headers{{"authorization", "Bearer x"}, {"b", "c"}};
  EXPECT_EQ(settings.headers, headers);
  EXPECT_EQ(settings.timeout, std::chrono::milliseconds(1500));
  const std::vector<std::pair<std::string, std::string>> resource{{"service.name", "door"}, {"site", "here"}};
  EXPECT_EQ(settings.resource, resource);
  EXPECT_EQ(settings.sampler.threshold, 0U);
  EXPECT_EQ(settings.queue_max, 10);
  EXPECT_EQ(settings.batch_max, 10);
}

TEST(OtlpSettings, WhatIsWrongCountsAsNotSetAndIsTold) {
  for (const auto& [name, value] : Given{{"OTEL_EXPORTER_OTLP_TIMEOUT", "soon"},
                                         {"OTEL_EXPORTER_OTLP_HEADERS", "a"},
                                         {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%0d%0aHost: b"},
                                         {"OTEL_RESOURCE_ATTRIBUTES", "=b"},
                                         {"OTEL_TRACES_SAMPLER", "sometimes"},
                                         {"OTEL_BSP_MAX_QUEUE_SIZE", "100000000"},
                                         {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"}}) {
    const Settings settings = settings_of({{endpoint, "http://a"}, {name, value}});
    EXPECT_TRUE(settings.on()) << name;
    EXPECT_EQ(settings.warnings.size(), 1U) << name;
    EXPECT_TRUE(settings.headers.empty()) << name;
    EXPECT_EQ(settings.queue_max, limits::span_queue_default);
  }
  EXPECT_FALSE(settings_of({{endpoint, "http://a"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}).on());
}

}  // namespace
}  // namespace vg::otlp
