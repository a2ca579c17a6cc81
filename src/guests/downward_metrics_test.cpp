#include "guests/downward_metrics.h"

#include <gmock/gmock.h>

namespace vg::guests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Asked = MetricsRequests::Asked;

constexpr std::string_view meminfo =
    "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    500 kB\nBuffers:          20 kB\n"
    "Cached:          200 kB\nSwapCached:        5 kB\nSwapTotal:       400 kB\nSwapFree:        300 kB\n";

HostTexts texts() {
  return {.stat = "cpu  100 20 30 400 5 0 0 0 0 0\ncpu0 1 1 1\n",
          .meminfo = std::string(meminfo),
          .vmstat = "pgpgin 9\npswpin 3\npswpout 4\n",
          .packages = 2};
}

TEST(DownwardMetrics, AreReadFromTheKernel) {
  const HostMetrics host = read_host_metrics(texts());
  EXPECT_EQ(host.packages, 2);
  EXPECT_EQ(host.cpu_seconds, 1.5);
  EXPECT_EQ(host.free, 100U);
  EXPECT_EQ(host.free_virtual, 400U);
  EXPECT_EQ(host.used, 680U);
  EXPECT_EQ(host.used_virtual, 1075U);
  EXPECT_EQ(host.paged_in, 12U);
  EXPECT_EQ(host.paged_out, 16U);
}

TEST(DownwardMetrics, WhatTheKernelDoesNotTellIsLeftOut) {
  for (const HostTexts& odd :
       {HostTexts{}, HostTexts{.stat = "cpu x", .meminfo = "MemTotal", .vmstat = "pswpin\npswpout -1"}}) {
    const HostMetrics host = read_host_metrics(odd);
    EXPECT_FALSE(host.packages || host.cpu_seconds || host.free || host.used || host.paged_in || host.paged_out);
  }
  // More is free than there is.
  EXPECT_EQ(read_host_metrics({.stat = {}, .meminfo = "MemTotal: 1 kB\nMemFree: 7 kB\n", .vmstat = {}}).used, 0U);
}

TEST(DownwardMetrics, TellOfTheHostAndTheVm) {
  const HostMetrics host = read_host_metrics(texts());
  const hypervisor::DomainStats vm{
      .vcpus = 4, .vcpu_time_ns = 2'500'000'000, .memory_balloon_bytes = std::uint64_t{256} << 20};
  const std::string document = metrics_document(
      {.node = "node01", .hypervisor = "QEMU 7.2.22", .host = host, .vm = vm, .unix_seconds = 1'700'000'000});
  EXPECT_TRUE(
      document.starts_with("<metrics>\n  <metric type=\"string\" context=\"host\">\n    <name>HostName</name>\n"
                           "    <value><![CDATA[node01]]></value>\n  </metric>\n"));
  EXPECT_TRUE(document.ends_with("\n</metrics>"));
  const auto metric = [](std::string_view head, std::string_view name, std::string_view value) {
    return HasSubstr(
        fmt::format("<metric {}>\n    <name>{}</name>\n    <value><![CDATA[{}]]></value>", head, name, value));
  };
  EXPECT_THAT(
      document,
      AllOf(metric(R"(type="string" context="host")", "VirtProductInfo", "QEMU 7.2.22"),
            metric(R"(type="real64" context="vm" unit="s")", "TotalCPUTime", "2.500000"),
            metric(R"(type="uint64" context="vm")", "ResourceProcessorLimit", "4"),
            metric(R"(type="uint64" context="vm" unit="KiB")", "PhysicalMemoryAllocatedToVirtualSystem", "262144"),
            metric(R"(type="uint64" context="vm" unit="KiB")", "ResourceMemoryLimit", "262144"),
            metric(R"(type="int64" context="host")", "NumberOfPhysicalCPUs", "2"),
            metric(R"(type="real64" context="host" unit="s")", "TotalCPUTime", "1.500000"),
            metric(R"(type="uint64" context="host" unit="KiB")", "MemoryAllocatedToVirtualServers", "680"),
            metric(R"(type="int64" context="host" unit="s")", "Time", "1700000000")));
  const HostMetrics unknown;
  EXPECT_THAT(metrics_document({.node = "n", .hypervisor = "", .host = unknown, .vm = vm}),
              AllOf(HasSubstr("ResourceMemoryLimit"), Not(HasSubstr("FreePhysicalMemory"))));
}

TEST(MetricsRequests, ComeInAnyPieces) {
  MetricsRequests requests;
  for (const char c : std::string_view("GET /metrics/XML\n")) {
    requests.add({&c, 1});
    EXPECT_EQ(requests.take(), Asked::nothing);
  }
  requests.add("\nGET /metrics/XML\r\n\r\nGET /me");
  EXPECT_EQ(requests.take(), Asked::metrics);
  EXPECT_EQ(requests.take(), Asked::metrics);
  EXPECT_EQ(requests.take(), Asked::nothing);
  requests.add("trics/XML\n\n");
  EXPECT_EQ(requests.take(), Asked::metrics);
}

TEST(MetricsRequests, AnythingElseIsInvalidAndForgotten) {
  MetricsRequests requests;
  for (const std::string_view odd : {"\n\n", "GET /\n\n", "PUT /metrics/XML\n\n", "GET /metrics/XML\nmore\n",
                                     "GET /metrics/XML HTTP/1.1\n\n", " GET /metrics/XML\n\n"}) {
    requests.add(odd);
    EXPECT_EQ(requests.take(), Asked::invalid) << odd;
    EXPECT_EQ(requests.take(), Asked::nothing) << odd;
  }
  // Without an end.
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    requests.add(std::string(200, 'x'));
    refused += requests.take() == Asked::invalid ? 1 : 0;
  }
  EXPECT_GT(refused, 10);
  requests.add(std::string(1 << 20, '\n'));
  EXPECT_EQ(requests.take(), Asked::invalid);
  requests.add("GET /metrics/XML\n\n");
  EXPECT_EQ(requests.take(), Asked::metrics);
}

}  // namespace
}  // namespace vg::guests
