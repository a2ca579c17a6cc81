#include "resources/audit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/access.h"
#include "json/document.h"
#include "store/testing.h"

namespace vg::resources {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

AuditEntry entry() {
  AuditEntry one;
  one.time = "2026-01-01T00:00:00.000001Z";
  one.request_id = "r1";
  one.user = "a \"user\"";
  one.verb = "create";
  one.resource = "pods";
  one.ns = "default";
  one.name = "p";
  one.code = 201;
  one.milliseconds = 1.5;
  return one;
}

TEST(AuditLog, WritesOneObjectALine) {
  const store::TemporaryFolder folder;
  const std::string path = folder.file("audit.log");
  auto log = AuditLog::open(path);
  ASSERT_TRUE(log);
  (*log)->write(entry());
  (*log)->flush();
  const auto document = json::Document::parse(content(path));
  ASSERT_TRUE(document) << content(path);
  EXPECT_EQ(json::get_string_or(document->root(), "user"), "a \"user\"");
  EXPECT_EQ(json::get_int_or(document->root(), "code", 0), 201);
  EXPECT_EQ(json::get_string_or(document->root(), "decision"), "allow");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions() & (perms::group_all | perms::others_all), perms::none);
}

TEST(AuditLog, NeverTakesMoreThanTwoFiles) {
  const store::TemporaryFolder folder;
  const std::string path = folder.file("audit.log");
  auto log = AuditLog::open(path, 4096);
  ASSERT_TRUE(log);
  for (int i = 0; i < 200; ++i) {
    (*log)->write(entry());
    (*log)->flush();
  }
  EXPECT_LT(std::filesystem::file_size(path), 4096u + 1024u);
  EXPECT_LT(std::filesystem::file_size(path + ".1"), 4096u + 1024u);
}

}  // namespace
}  // namespace vg::resources
