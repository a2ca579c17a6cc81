// Objects for the tests of packing.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "store/packer.h"

namespace vg::store {

inline std::string random_text(std::mt19937& random, std::size_t size) {
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

inline Sample machine(std::mt19937& random, int number) {
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

inline void expect_same(const StoredObject& opened, const Sample& sample, const Stamp& stamp) {
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

inline Stamp stamp_of(int number) {
  const auto revision = (Revision{1} << number % 50) + static_cast<Revision>(number);
  return {.revision = revision,
          .created_revision = number % 2 == 0 ? revision : revision / 2,
          .ordinal = static_cast<std::uint16_t>(number % 1024)};
}

}  // namespace vg::store
