#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

std::string named(std::string_view member, std::string_view name) {
  return fmt::format(R"({{"{}":"{}"}})", member, name);
}

TEST(IdentityTest, HostNamesAreLabels) {
  for (const char* good : {"", "a", "web-1", "0"})
    EXPECT_THAT(told_by(name_family, named("hostname", good)), IsEmpty()) << good;
  for (const char* bad : {"a.b", "A", "-a", "a-", "a_b"})
    EXPECT_THAT(told_by(name_family, named("hostname", bad)), ElementsAre("Invalid spec.hostname")) << bad;
  EXPECT_THAT(told_by(name_family, named("hostname", std::string(63, 'a'))), IsEmpty());
  // Too long and of the wrong shape: still one cause.
  EXPECT_THAT(told_by(name_family, named("hostname", std::string(64, 'A'))), ElementsAre("Invalid spec.hostname"));
}

TEST(IdentityTest, SubdomainsMayHaveLongLabels) {
  EXPECT_THAT(told_by(name_family, named("subdomain", std::string(253, 'a'))), IsEmpty());
  EXPECT_THAT(told_by(name_family, named("subdomain", std::string(254, 'a'))), ElementsAre("Invalid spec.subdomain"));
  EXPECT_THAT(told_by(name_family, named("subdomain", "a..b")), ElementsAre("Invalid spec.subdomain"));
}

TEST(IdentityTest, OnlyTheFirstVolumeOfAnotherAccountIsTold) {
  EXPECT_THAT(told_by(service_account_family, R"({"serviceAccountName":"X","volumes":[
    {"name":"a","serviceAccount":{"serviceAccountName":"X"}},{"name":"b","serviceAccount":{"serviceAccountName":"y"}},
    {"name":"c","serviceAccount":{"serviceAccountName":"z"}}]})"),
              ElementsAre("Invalid spec.serviceAccountName", "Invalid spec.serviceAccountName"));
  EXPECT_THAT(
      told_by(service_account_family, R"({"volumes":[{"name":"a","serviceAccount":{"serviceAccountName":"x"}}]})"),
      IsEmpty());
}

}  // namespace
}  // namespace vg::admission
