// A hash of a set of rows that does not depend on their order: each row adds a number of 128 bits and takes it away
// when it goes, so it costs the same however many rows there are. A row that is missing, there twice, swapped for an
// older one or changed shows as another sum.
#pragma once

#include <cstdint>

namespace vg::store {

class SetHash {
 public:
  struct Element {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Element&) const = default;
  };
  // Of what identifies an element of the set and what it says.
  static Element element(std::uint64_t key, std::uint64_t content) {
    return {.low = mix(key ^ mix(content + 0x2545f4914f6cdd1d)), .high = mix(mix(key + 0x9fb21c651e98df25) ^ content)};
  }

  SetHash() = default;
  explicit SetHash(const Element& sum) : sum_(sum) {}
  void add(const Element& element) {
    sum_.low += element.low;
    sum_.high += element.high;
  }
  void remove(const Element& element) {
    sum_.low -= element.low;
    sum_.high -= element.high;
  }
  const Element& sum() const { return sum_; }
  bool operator==(const SetHash&) const = default;

 private:
  // Every bit of the result depends on every bit of the argument, and no two arguments share a result.
  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }
  Element sum_;
};

}  // namespace vg::store
