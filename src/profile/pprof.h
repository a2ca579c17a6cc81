// Profiles in the format of pprof (profile.proto, gzip). Code is told by its address and the file in which it lies:
// pprof finds the names there (`pprof -top build/release/virtgate cpu.pprof`), by the build id wherever the file is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vg::profile {

// What is counted: {"cpu", "nanoseconds"}.
struct ValueType {
  std::string_view type;
  std::string_view unit;
};

// A part of a file that lies in memory.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t offset = 0;  // in the file
  std::string file = {};
  std::string build_id = {};  // hexadecimal digits; empty when it has none
};

// Where something happened.
struct Place {
  std::uint64_t address = 0;  // 0: in no program, but in something that has a name
  std::uint32_t mapping = 0;  // its number, from 1; 0: none
  std::string function = {};  // of what is in no program
};

struct Sample {
  std::vector<std::uint32_t> stack;  // places by their index, the innermost first
  std::vector<std::int64_t> values;  // one for each type
};

struct Profile {
  std::vector<ValueType> types = {};
  std::vector<Sample> samples = {};
  std::vector<Place> places = {};
  std::vector<Mapping> mappings = {};
  std::vector<std::string> comments = {};  // for people
  std::chrono::nanoseconds time{0};        // when it was taken, since 1970
  std::chrono::nanoseconds duration{0};    // what it covers; 0: a moment
  ValueType period_type = {};
  std::int64_t period = 0;  // between two samples; 0: nothing was sampled

  // The index of a place that is in no program. Each call makes a new one.
  std::uint32_t add_place(std::string function);
};

std::string write_pprof(const Profile& profile);

}  // namespace vg::profile
