// What packing saves. That objects come back as they were is in packer_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "store/packer.h"
#include "store/packer_testing.h"

namespace vg::store {
namespace {

// The average of the last hundred, once the packer has seen so many.
std::size_t packed_bytes(Packer& packer, int objects, const std::function<Sample(int)>& make) {
  std::size_t bytes = 0;
  for (int i = 0; i < objects; ++i) {
    const auto kept = packer.pack(*make(i).object(), {.revision = 1, .created_revision = 1, .ordinal = 0});
    if (i >= objects - 100) bytes += kept->memory_bytes();
  }
  return bytes / 100;
}

TEST(Packer, learns_what_objects_have_in_common) {
  std::mt19937 random(2);
  Packer packer;
  const auto make = [&](int i) { return machine(random, i); };
  const auto plain = machine(random, 1).object()->memory_bytes();
  EXPECT_LT(packed_bytes(packer, 200, make), plain / 3);
}

TEST(Packer, learns_again_when_objects_change) {
  std::mt19937 random(3);
  Packer packer;
  packed_bytes(packer, 200, [&](int i) { return machine(random, i); });
  // Others, which have nothing in common with the first.
  const std::string shared = random_text(random, 1000);
  const auto make = [&](int i) {
    auto sample = machine(random, i);
    sample.json = shared + sample.uid;
    return sample;
  };
  EXPECT_GT(packed_bytes(packer, 100, make), 1000u);
  EXPECT_LT(packed_bytes(packer, 1000, make), 250u);
}

TEST(Packer, a_large_object_is_packed_by_itself) {
  std::mt19937 random(4);
  auto sample = machine(random, 1);
  std::string json;
  for (int i = 0; i < 100; ++i) json += machine(random, i).json;
  sample.json = json;
  EXPECT_LT(Packer().pack(*sample.object(), stamp_of(0))->memory_bytes(), json.size() / 2);
}

}  // namespace
}  // namespace vg::store
