#include "json/sorted_members.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace vg::json {
namespace {

using namespace std::string_literals;

std::vector<std::string> sorted(std::vector<std::string> names) {
  sort_by_name(std::span(names), [](const std::string& name) { return std::string_view(name); });
  return names;
}

void expect_as_plainly_sorted(const std::vector<std::string>& names) {
  auto expected = names;
  std::ranges::sort(expected);
  EXPECT_EQ(sorted(names), expected);
}

TEST(SortedMembers, AreInTheByteOrderOfTheirNames) {
  std::mt19937 random(7);
  for (const std::size_t count : {0U, 1U, 2U, 32U, 33U, 1000U}) {
    for (const std::string_view begin : {"", "a", "a-long-beginning-that-all-of-them-have/"}) {
      for (const unsigned char_count : {2U, 256U}) {  // few characters make equal beginnings and equal names
        std::vector<std::string> names(count);
        for (std::string& name : names) {
          name = begin;
          for (std::size_t left = random() % 20; left > 0; --left) name += static_cast<char>(random() % char_count);
        }
        expect_as_plainly_sorted(names);
      }
    }
  }
}

TEST(SortedMembers, AShorterNameComesBeforeOneThatGoesOnWithZeros) {
  std::vector<std::string> names(40, "a\0\0"s);
  names.insert(names.end(), {"a\0"s, "a"s, "a\0\0\0\0\0\0\0\0\0"s, ""s});
  expect_as_plainly_sorted(names);
}

TEST(SortedMembers, OfAnObject) {
  Object object;
  for (int i = 100; i > 0; --i) object[fmt::format("k{:03}", i)] = i;
  std::vector<const Object::value_type*> members;
  for (const auto& member : object) members.push_back(&member);
  sort_members(std::span(members));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(members[static_cast<std::size_t>(i)]->value(), i + 1);
}

}  // namespace
}  // namespace vg::json
