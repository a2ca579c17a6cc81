#include "store/identifiers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace vg::store {
namespace {

constexpr std::string_view one = "6f7bc611-a56f-4948-907e-537f17e55465";
constexpr std::string_view other = "00000000-ffff-0123-4567-89abcdef0000";

// There and back. Returns what the short form saves.
std::size_t saved(std::string_view text) {
  std::string shortened;
  const auto found = shorten_identifiers(text, shortened);
  if (found == 0) return 0;
  EXPECT_EQ(shortened.size() + found * identifier_saving, text.size());
  std::string back(text.size() - shortened.size(), '?');
  back += shortened;
  restore_identifiers(back.data(), back.size(), found);
  EXPECT_EQ(back, text);
  return text.size() - shortened.size();
}

TEST(Identifiers, are_kept_as_sixteen_bytes) {
  EXPECT_EQ(saved(one), 19u);
  EXPECT_EQ(saved(fmt::format("{}{}", one, other)), 38u);
  EXPECT_EQ(saved(fmt::format("{{\"uid\":\"{}\",\"owner-uid\":\"{}\"}}", one, other)), 38u);
  EXPECT_EQ(saved(fmt::format("a-b-c-d-e-{}-tail", one)), 19u);
  EXPECT_EQ(saved(fmt::format("0-{}", one)), 19u);
}

TEST(Identifiers, what_only_looks_like_one_stays) {
  for (const std::string_view text :
       {"", "-", "--------", "6f7bc611-a56f-4948-907e-537f17e5546", "6F7BC611-A56F-4948-907E-537F17E55465",
        "6f7bc611-a56f-4948-907e-537f17e5546g", "6f7bc611a-56f-4948-907e-537f17e55465",
        "g0000000-0000-0000-0000-000000000000", "a-name-with-dashes-and-0123456789-digits-in-it"}) {
    EXPECT_EQ(saved(text), 0u) << text;
  }
}

TEST(Identifiers, a_text_with_the_mark_in_it_stays) {
  EXPECT_EQ(saved(fmt::format("\xff{}", one)), 0u);
  EXPECT_EQ(saved(fmt::format("{}\xff", one)), 0u);
}

TEST(Identifiers, any_mixture_comes_back) {
  std::mt19937 random(7);
  const auto piece = [&]() -> std::string {
    switch (random() % 4) {
      case 0:
        return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:08x}{:04x}", random(), random() % 65536, random() % 65536,
                           random() % 65536, random(), random() % 65536);
      case 1:
        return std::string(random() % 40, static_cast<char>(random() % 255));
      case 2:
        return "-";
      default:
        return fmt::format("{:x}", random());
    }
  };
  std::size_t total = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto pieces = random() % 12; pieces > 0; --pieces) text += piece();
    total += saved(text);
  }
  EXPECT_GT(total, 20'000u);
}

}  // namespace
}  // namespace vg::store
