#include "store/packer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace vg::store {
namespace {

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>('!' + random() % 90);
  return text;
}

// Like a machine: much that all have, three identifiers that none shares.
struct Sample {
  std::string name, uid, facts, json;
  std::shared_ptr<StoredObject> object() const {
    return StoredObject::make({.resource = "kubevirt.io/virtualmachines",
                               .ns = "default",
                               .name = name,
                               .uid = uid,
                               .facts = facts,
                               .json = json,
                               .revision_offset = 7});
  }
};

Sample machine(std::mt19937& random, int number) {
  Sample sample{.name = fmt::format("machine-{}", number),
                .uid = fmt::format("{:08x}-{:08x}-{:08x}-{:08x}", random(), random(), random(), random()),
                .facts = {},
                .json = {}};
  ObjectDraft draft;
  draft.labels = {{"app", fmt::format("a{}", number % 7)}};
  if (number % 3 == 0) draft.owner_uids = {fmt::format("owner-{}", number)};
  draft.deleting = number % 5 == 0;
  sample.facts = pack_facts(draft);
  sample.json = fmt::format(
      R"({{"kind":"VirtualMachine","metadata":{{"name":"{}","uid":"{}","creationTimestamp":"2026-01-01T00:{:02}:00Z"}},)"
      R"("spec":{{"runStrategy":"Halted","template":{{"spec":{{"domain":{{"devices":{{"disks":[{{"name":"containerdisk",)"
      R"("disk":{{"bus":"virtio"}}}},{{"name":"cloudinitdisk","disk":{{"bus":"virtio"}}}}]}},"firmware":{{"uuid":"{:032x}"}},)"
      R"("machine":{{"type":"q35"}},"memory":{{"guest":"{}Mi"}}}},"terminationGracePeriodSeconds":180,"volumes":[)"
      R"({{"name":"containerdisk","containerDisk":{{"image":"registry.example.com/disks/cirros:devel"}}}},)"
      R"({{"name":"cloudinitdisk","cloudInitNoCloud":{{"userData":"#!/bin/sh\necho printed by cloud-init\n"}}}}]}}}}}}}})",
      sample.name, sample.uid, number % 60, random(), 128 << number % 4);
  return sample;
}

void expect_same(const StoredObject& opened, const Sample& sample, const Stamp& stamp) {
  EXPECT_EQ(opened.json(), sample.json);
  EXPECT_EQ(opened.facts(), sample.facts);
  EXPECT_EQ(opened.name(), sample.name);
  EXPECT_EQ(opened.uid(), sample.uid);
  EXPECT_EQ(opened.ns(), "default");
  EXPECT_EQ(opened.resource(), "kubevirt.io/virtualmachines");
  EXPECT_EQ(opened.revision_offset(), 7u);
  EXPECT_EQ(opened.revision(), stamp.revision);
  EXPECT_EQ(opened.created_revision(), stamp.created_revision);
  EXPECT_EQ(opened.ordinal(), stamp.ordinal);
}

Stamp stamp_of(int number) {
  const auto revision = (Revision{1} << number % 50) + static_cast<Revision>(number);
  return {.revision = revision,
          .created_revision = number % 2 == 0 ? revision : revision / 2,
          .ordinal = static_cast<std::uint16_t>(number % 1024)};
}

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
