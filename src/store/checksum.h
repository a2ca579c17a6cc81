// Detects bytes that changed under us. Four independent lanes, because a load checks everything there is and should be
// bound by the disk. Not meant to stand against intent: whoever can write the store's files can write its keys, too.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vg::store {

class Checksum {
 public:
  void number(std::uint64_t value) { state_ = std::rotl(state_ ^ value * multiplier, 29) * multiplier; }
  void text(std::string_view bytes) {
    number(bytes.size());
    std::uint64_t lanes[4] = {state_, state_ + multiplier, state_ ^ multiplier, ~state_};
    while (bytes.size() >= 32) {
      for (int lane = 0; lane < 4; ++lane) {
        lanes[lane] = std::rotl(lanes[lane] ^ word(bytes.data() + lane * 8, 8) * multiplier, 29) * multiplier;
      }
      bytes.remove_prefix(32);
    }
    for (const auto lane : lanes) number(lane);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()))) {
      number(word(bytes.data(), std::min<std::size_t>(8, bytes.size())));
    }
  }
  std::uint64_t value() const { return state_ ^ state_ >> 31; }

 private:
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  // Little endian on every machine, so that a file can be carried to another.
  static std::uint64_t word(const char* from, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, size);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    return value;
  }
  std::uint64_t state_ = 0x243f6a8885a308d3;
};

}  // namespace vg::store
