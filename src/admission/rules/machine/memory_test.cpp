#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

constexpr std::string_view staged = R"({"vmRolloutStrategy":"Stage"})";

// `memory`: members of domain.memory; `request` and `limit` may be empty.
std::string with(std::string_view memory, std::string_view request, std::string_view limit = "") {
  const auto resource = [](std::string_view amount) {
    return amount.empty() ? std::string("{}") : fmt::format(R"({{"memory":"{}"}})", amount);
  };
  return fmt::format(R"({{"domain":{{"devices":{{}},"memory":{{{}}},"resources":{{"requests":{},"limits":{}}}}}}})",
                     memory, resource(request), resource(limit));
}

constexpr const char* request_field = "Invalid spec.domain.resources.requests.memory";
constexpr const char* page_field = "Invalid spec.domain.memory.hugepages.pageSize";

TEST(MemoryTest, Requests) {
  for (const char* fine : {"", "0", "1M", "1000000", "1Gi", "1e6"})
    EXPECT_THAT(told_by(memory_family, with("", fine)), IsEmpty()) << fine;
  for (const char* negative : {"-1", "-1n", "-2Gi"})
    EXPECT_THAT(told_by(memory_family, with("", negative)), ElementsAre(request_field)) << negative;
  // Compared exactly: not by whole bytes.
  for (const char* tiny : {"1", "64m", "999999", "999999999m"})
    EXPECT_THAT(told_by(memory_family, with("", tiny)), ElementsAre(request_field)) << tiny;
}

TEST(MemoryTest, LimitsAreComparedByWholeBytes) {
  EXPECT_THAT(told_by(memory_family, with("", "2Gi", "0")), IsEmpty());
  EXPECT_THAT(told_by(memory_family, with("", "2Gi", "2Gi")), IsEmpty());
  EXPECT_THAT(told_by(memory_family, with("", "1000000001m", "1000001")), IsEmpty());
  EXPECT_THAT(told_by(memory_family, with("", "2Gi", "-1")),
              ElementsAre("Invalid spec.domain.resources.limits.memory"));
  EXPECT_THAT(told_by(memory_family, with("", "2Gi", "1Gi")), ElementsAre(request_field));
}

TEST(MemoryTest, PageSizesAreAmounts) {
  for (const char* bad :
       {R"("hugepages":{})", R"("hugepages":{"pageSize":"2ab"})", R"("hugepages":{"pageSize":" 2Mi"})"})
    EXPECT_THAT(told_by(memory_family, with(bad, "64Mi")), ElementsAre(page_field)) << bad;
  // Nothing more is asked of pages that have no size.
  EXPECT_THAT(told_by(memory_family, with(R"("hugepages":{"pageSize":"x"})", "")), ElementsAre(page_field));
}

TEST(MemoryTest, WhatMustFillPages) {
  const auto told = [](std::string_view page, std::string_view guest, std::string_view request,
                       std::string_view limit) {
    return told_by(memory_family,
                   with(fmt::format(R"("guest":"{}","hugepages":{{"pageSize":"{}"}})", guest, page), request, limit));
  };
  EXPECT_THAT(told("2Mi", "3Mi", "64Mi", ""), IsEmpty()) << "the request comes first";
  EXPECT_THAT(told("2Mi", "3Mi", "", ""), ElementsAre(request_field)) << "then the guest";
  EXPECT_THAT(told("2Mi", "0", "", "3Mi"), ElementsAre(request_field)) << "then the limit";
  EXPECT_THAT(told("2Mi", "0", "", ""), IsEmpty()) << "nothing fits";
  EXPECT_THAT(told("1Gi", "0", "64Mi", ""), ElementsAre(request_field)) << "less than a page is told once";
  EXPECT_THAT(told("2Mi", "0", "-2Mi", ""), ElementsAre(request_field, request_field)) << "negative, and below a page";
  EXPECT_THAT(told("-2Mi", "0", "64Mi", ""), IsEmpty()) << "upstream takes a negative size that divides";
  EXPECT_THAT(told("-1", "0", "64Mi", ""), IsEmpty());
  EXPECT_THAT(told("-1", "-9223372036854775808", "", ""), ElementsAre(request_field));
  EXPECT_THAT(told("0", "1", "", ""), ElementsAre(page_field));
  EXPECT_THAT(told("0", "0", "-1Gi", ""), ElementsAre(request_field, request_field));
}

TEST(MemoryTest, HugePagesWithoutMemoryAreToldOnce) {
  const char* pages = R"("hugepages":{"pageSize":"2Mi"})";
  EXPECT_THAT(told_by(memory_family, with(pages, "")), ElementsAre("Required spec.domain.memory.guest"));
  EXPECT_THAT(told_by(memory_required_family, with(pages, "")), IsEmpty());
}

TEST(MemoryTest, TheGuestMayBeAboveTheLimitOnlyWithLiveUpdates) {
  const std::string spec = with(R"("guest":"1Gi")", "512Mi", "600Mi");
  EXPECT_THAT(told_by(memory_family, spec), IsEmpty());
  EXPECT_THAT(told_by(memory_family, spec, staged), ElementsAre("Invalid spec.domain.memory.guest"));
  EXPECT_THAT(told_by(memory_family, with(R"("guest":"1Gi")", "512Mi"), staged), IsEmpty());
}

TEST(MemoryTest, MemoryIsRequired) {
  EXPECT_THAT(told_by(memory_required_family, R"({"domain":{"devices":{}}})"), ElementsAre("Required "));
  EXPECT_THAT(told_by(memory_required_family, with(R"("maxGuest":"1Gi")", "0")), ElementsAre("Required "));
  EXPECT_THAT(told_by(memory_required_family, with(R"("guest":"0")", "")), IsEmpty());
  EXPECT_THAT(told_by(memory_required_family, with("", "1")), IsEmpty());
}

TEST(MemoryTest, OverheadIsBehindItsGate) {
  const char* spec = R"({"domain":{"devices":{},"memory":{"reservedOverhead":{"addedOverhead":"1Mi"}}}})";
  EXPECT_THAT(told_by(overhead_family, spec), ElementsAre("Invalid spec.domain.memory.reservedOverhead"));
  EXPECT_THAT(
      told_by(overhead_family, spec, R"({"developerConfiguration":{"featureGates":["ReservedOverheadMemlock"]}})"),
      IsEmpty());
}

}  // namespace
}  // namespace vg::admission
