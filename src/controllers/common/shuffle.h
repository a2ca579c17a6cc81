// Order that nobody is to rely on, from the one random number that a pass gets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace vg::controllers {

// The next of a row of numbers; good enough to choose with, and for nothing else.
inline std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

template <class Item>
void shuffle(std::vector<Item>& items, std::uint64_t& random) {
  for (std::size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[next_random(random) % left]);
}

}  // namespace vg::controllers
