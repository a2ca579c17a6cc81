#include "base/names.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

struct Sample {
  std::string name;
  std::size_t defects;
};

std::string a(std::size_t count) { return std::string(count, 'a'); }

void expect_counts(Defects (*defects)(std::string_view), const std::vector<Sample>& cases) {
  for (const Sample& c : cases) {
    const Defects found = defects(c.name);
    EXPECT_EQ(found.size(), c.defects) << '"' << c.name << '"' << (found.empty() ? "" : ": " + found[0]);
    for (const std::string& words : found) EXPECT_FALSE(words.empty());
  }
}

TEST(Names, Dns1123Label) {
  expect_counts(dns1123_label_defects, {{"a", 0},
                                        {"0", 0},
                                        {"a-b", 0},
                                        {"a--b", 0},
                                        {"123-abc", 0},
                                        {a(63), 0},
                                        {"", 1},
                                        {"-a", 1},
                                        {"a-", 1},
                                        {"A", 1},
                                        {"a.b", 1},
                                        {"a_b", 1},
                                        {"a b", 1},
                                        {"a\n", 1},
                                        {"\xC3\xA4", 1},
                                        {a(64), 1},
                                        {a(64) + "-", 2}});
}

TEST(Names, Dns1123Subdomain) {
  expect_counts(dns1123_subdomain_defects, {{"a", 0},
                                            {"a.b", 0},
                                            {"a-1.b-2", 0},
                                            {a(100) + ".b", 0},
                                            {a(253), 0},
                                            {"", 1},
                                            {".", 1},
                                            {"a.", 1},
                                            {".a", 1},
                                            {"a..b", 1},
                                            {"a.-b", 1},
                                            {"A.b", 1},
                                            {"a_b", 1},
                                            {a(254), 1},
                                            {a(254) + ".", 2}});
}

TEST(Names, Dns1035Label) {
  expect_counts(dns1035_label_defects,
                {{"a", 0}, {"a1", 0}, {"a-1", 0}, {"1a", 1}, {"-a", 1}, {"a-", 1}, {"", 1}, {"A", 1}, {a(64), 1}});
}

TEST(Names, QualifiedName) {
  expect_counts(qualified_name_defects, {{"a", 0},
                                         {"A_b.c-d", 0},
                                         {"kubevirt.io/created-by", 0},
                                         {a(63), 0},
                                         {"x/" + a(63), 0},
                                         {"", 2},
                                         {"/", 3},
                                         {"x/", 2},
                                         {"/x", 1},
                                         {"a/b/c", 1},
                                         {"//", 1},
                                         {"X/a", 1},
                                         {a(254) + "./a", 2},
                                         {a(64), 1},
                                         {"-a", 1},
                                         {"a-", 1},
                                         {"a b", 1},
                                         {"." + a(64), 2}});
}

TEST(Names, LabelValue) {
  expect_counts(label_value_defects,
                {{"", 0}, {"a", 0}, {"A_b.c-1", 0}, {a(63), 0}, {a(64), 1}, {"-a", 1}, {"a/b", 1}, {"_" + a(64), 2}});
}

TEST(Names, PathSegment) {
  expect_counts(path_segment_defects, {{"", 0}, {"a b", 0}, {"...", 0}, {".", 1}, {"..", 1}, {"a/b", 1}, {"a%/b", 2}});
}

TEST(Names, PortName) {
  expect_counts(port_name_defects, {{"http", 0},
                                    {"a1-b", 0},
                                    {a(15), 0},
                                    {a(16), 1},
                                    {"", 2},
                                    {"123", 1},
                                    {"a--b", 1},
                                    {"-a", 1},
                                    {"a-", 1},
                                    {"Http", 1},
                                    {"--", 3}});
}

TEST(Names, GenerateName) {
  EXPECT_EQ(expand_generate_name("vm-", 0), "vm-bbbbb");
  EXPECT_EQ(expand_generate_name("vm-", 1), "vm-cbbbb");
  EXPECT_EQ(expand_generate_name("vm-", 26), "vm-9bbbb");
  EXPECT_EQ(expand_generate_name("vm-", 27), "vm-bcbbb");
  EXPECT_EQ(expand_generate_name("", 27).size(), 5u);
  EXPECT_EQ(expand_generate_name(a(100), 0), a(58) + "bbbbb");
  EXPECT_TRUE(dns1123_label_defects(expand_generate_name("a", ~std::uint64_t{0})).empty());
}

}  // namespace
}  // namespace vg
