#include "kube/tls_settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace vg::kube {
namespace {

using http::TlsVersion;

std::optional<TlsSettings> read(std::string_view tls, std::string_view metadata = "",
                                std::string_view phase = "Deployed") {
  return read_tls_settings(fmt::format(
      R"({{"metadata":{{"name":"kubevirt"{}}},"spec":{{"configuration":{{"imagePullPolicy":"nonsense"{}}}}},"status":{{"phase":"{}"}}}})",
      metadata, tls, phase));
}

TEST(TlsSettingsTest, AreReadWhateverElseIsWrong) {
  const auto settings = read(R"(,"tlsConfiguration":{"minTLSVersion":"VersionTLS13","ciphers":["a","b"]})");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->min_version, TlsVersion::tls1_3);
  EXPECT_EQ(settings->ciphers, (std::vector<std::string>{"a", "b"}));
}

TEST(TlsSettingsTest, UsualOnesWhenNothingIsSaid) {
  for (const char* nothing : {"", R"(,"tlsConfiguration":null)", R"(,"tlsConfiguration":{})",
                              R"(,"tlsConfiguration":{"minTLSVersion":"VersionTLS99","ciphers":[]})"})
    EXPECT_EQ(read(nothing), TlsSettings()) << nothing;
}

TEST(TlsSettingsTest, OnlyAnObjectThatCountsSaysSomething) {
  EXPECT_FALSE(read("", "", ""));
  EXPECT_FALSE(read("", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")"));
  EXPECT_FALSE(read_tls_settings("no JSON"));
}

}  // namespace
}  // namespace vg::kube
