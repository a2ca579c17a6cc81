// Opens a store whose files were changed, and saves what is left of it. Never a crash, and never less than what was
// acknowledged behind a store that opened.
//
// The input is a list of changes to a small valid store: which file, where, and the bytes that are put there.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/salvage.h"

namespace {

namespace fs = std::filesystem;
using namespace vg::testing;

constexpr std::array suffixes = {"", "-wal", "-mark"};
constexpr int objects = 12;

void expect(bool ok) {
  if (!ok) std::abort();
}

vg::store::Options options(const std::string& path) {
  vg::store::Options options;
  options.path = path;
  options.boot = "another";
  return options;
}

struct Sample {
  std::string path;
  std::array<std::string, 3> files;

  // On memory where there is some to be had: every input writes all of it.
  Sample() {
    const auto base = fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    const auto folder = base / ("virtgate-store-open-fuzz-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    path = (folder / "store.db").string();
    {
      auto store = vg::store::EmbeddedStore::open(options(path));
      expect(store.has_value());
      for (int i = 0; i < objects / 2; ++i)
        expect(commit(**store, create(machine_key("m" + std::to_string(i)), "1")).has_value());
    }
    auto store = vg::store::EmbeddedStore::open(options(path));
    expect(store.has_value());
    for (int i = objects / 2; i < objects; ++i) {
      expect(commit(**store, create(machine_key("m" + std::to_string(i)), std::string(i == 8 ? 20'000 : 10, 'x')))
                 .has_value());
    }
    for (auto mark = vg::store::read_mark(path + "-mark"); mark->newest->confirmed != mark->newest->intended;
         mark = vg::store::read_mark(path + "-mark")) {
      ::usleep(1000);
    }
    for (std::size_t i = 0; i < suffixes.size(); ++i) {
      std::ifstream in(path + suffixes[i], std::ios::binary);
      files[i].assign(std::istreambuf_iterator<char>(in), {});
    }
  }
  ~Sample() {
    std::error_code ignored;
    fs::remove_all(fs::path(path).parent_path(), ignored);
  }
};

// A change is: a byte for the file and the kind, three for the place, one for the length, and the bytes.
void change(std::array<std::string, 3>& files, std::string_view input) {
  while (input.size() >= 5) {
    const auto number = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(input[at])); };
    auto& file = files[number(0) % 3];
    const auto place = number(1) << 16 | number(2) << 8 | number(3);
    const auto length = std::min(number(4), input.size() - 5);
    if (number(0) >= 0xf0) {
      file.resize(std::min(file.size(), place));
    } else if (!file.empty()) {
      for (std::size_t i = 0; i < length; ++i) file[(place + i) % file.size()] = input[5 + i];
    }
    input.remove_prefix(5 + length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Sample sample;
  auto files = sample.files;
  change(files, {reinterpret_cast<const char*>(data), size});
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    std::ofstream(sample.path + suffixes[i], std::ios::binary | std::ios::trunc)
        .write(files[i].data(), static_cast<std::streamsize>(files[i].size()));
  }
  const auto found = vg::store::salvage(sample.path);
  std::string text;
  vg::store::append_as_list(text, found.objects);
  const auto store = vg::store::EmbeddedStore::open(options(sample.path));
  if (store) {
    expect((*store)->count(machines) == objects);
    expect(found.objects.size() == objects);
  }
  return 0;
}
