// The files of the page, inside of the program: packed at build time by tools/ui_assets.py, read-only, shared by all
// requests.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::ui {

struct Asset {
  std::string_view path;        // below /ui/: "index.html", "vendor/xterm/xterm.css"
  std::string_view media_type;  // with its charset
  std::string_view digest;      // of the bytes: another one means another file
  std::string_view packed;      // by gzip
  std::size_t bytes = 0;        // unpacked
};

// In the order of their paths.
std::span<const Asset> assets();
const Asset* find_asset(std::string_view path);

// The file itself, for the few clients that do not take it packed.
Result<std::string> unpack(const Asset& asset);

}  // namespace vg::ui
