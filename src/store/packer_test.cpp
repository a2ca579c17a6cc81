#include "store/packer.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "store/packer_testing.h"

namespace vg::store {
namespace {

TEST(Packer, gives_back_what_it_was_given) {
  std::mt19937 random(1);
  Packer packer;
  std::vector<Sample> samples;
  std::vector<KeptPtr> kept;
  for (int i = 0; i < 3000; ++i) {
    samples.push_back(machine(random, i));
    if (i % 10 == 0) samples.back().json = random_text(random, random() % 20'000);
    if (i % 500 == 7) samples.back().json.assign(random() % 300'000, 'x');
    if (i % 11 == 0) samples.back().json.clear();
    kept.push_back(packer.pack(*samples.back().object(), stamp_of(i)));
  }
  KeptObject::Reader reader;
  for (int i = 0; i < 3000; ++i) {
    const auto& one = *kept[static_cast<std::size_t>(i)];
    const auto& sample = samples[static_cast<std::size_t>(i)];
    expect_same(*one.open(), sample, stamp_of(i));
    expect_same(reader.open(one), sample, stamp_of(i));
    EXPECT_EQ(one.name(), sample.name);
    EXPECT_EQ(one.revision(), stamp_of(i).revision);
    EXPECT_EQ(one.ordinal(), stamp_of(i).ordinal);
    EXPECT_EQ(one.deleting(), i % 5 == 0);
    EXPECT_EQ(one.has_owners(), i % 3 == 0);
    EXPECT_EQ(one.open_bytes(), one.open()->memory_bytes());
  }
}

TEST(Packer, what_cannot_be_packed_costs_no_more_than_it_is) {
  std::mt19937 random(5);
  Packer packer;
  for (int i = 0; i < 2000; ++i) {
    auto sample = machine(random, i);
    sample.json = random_text(random, 2000);
    const auto object = sample.object();
    EXPECT_LE(packer.pack(*object, stamp_of(1))->memory_bytes(), object->memory_bytes() + 100);
  }
}

TEST(KeptObject, is_opened_by_many_at_once_and_outlives_its_packer) {
  std::mt19937 random(6);
  std::vector<KeptPtr> kept;
  std::vector<Sample> samples;
  {
    Packer packer;
    for (int i = 0; i < 500; ++i) {
      samples.push_back(machine(random, i));
      kept.push_back(packer.pack(*samples.back().object(), stamp_of(i)));
    }
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = kept, &samples] {
      for (std::size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i]->open()->json(), samples[i].json);
    });
  }
  kept.clear();
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace vg::store
