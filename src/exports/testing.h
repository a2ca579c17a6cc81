// For tests of exports: a folder that goes with the test, and what a client does with what it downloads.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace vg::exports::testing {

// Gone with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string made = (std::filesystem::temp_directory_path() / "virtgate-exports-XXXXXX").native();
    if (!::mkdtemp(made.data())) throw std::system_error(errno, std::generic_category());
    path_ = made;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

inline std::string unpacked(const std::string& packed) {
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string all;
  std::vector<char> part(1 << 16);
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    all.append(part.data(), part.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  EXPECT_EQ(state, Z_STREAM_END);
  return all;
}

}  // namespace vg::exports::testing
