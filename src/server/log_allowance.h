// How many lines of the log one user may cause. Most requests leave none; those that do (refused reviews, answers of
// 500 and more, actions) must not let one user fill the disk, or bury what the log says of others. What is left out is
// counted, and told with the next line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace vg::server {

// For any thread.
class LogAllowance {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Options {
    double burst;
    double lines_per_second;
    std::size_t subjects_max;
  };
  // Who finds no place among those that are told apart shares one with all others who do not.
  static constexpr std::string_view others = "(others)";

  explicit LogAllowance(Options options) : options_(options) {}

  struct Line {
    std::string who;             // on whose account it goes
    std::uint64_t left_out = 0;  // of them before this one
  };
  // Nothing: leave the line out.
  std::optional<Line> take(std::string_view who, Time now);
  std::size_t subjects() const { return buckets_.size(); }

 private:
  struct Bucket {
    double lines = 0;
    Time filled{};  // when `lines` was right
    std::uint64_t left_out = 0;
  };
  Bucket& find(std::string_view& who, Time now);
  void fill(Bucket& bucket, Time now) const;

  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_;
  Time cleaned_{};
};

}  // namespace vg::server
