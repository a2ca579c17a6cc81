#include "disks/live_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "base/disk_limits.h"
#include "disks/folder.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::disks {
namespace {

constexpr const char* new_note_file = ".part-live-note";
constexpr std::array<std::string_view, 4> words{"unused", "copying", "done", "failed"};

}  // namespace

std::optional<LiveCopy> read_live(int folder) {
  const Descriptor file(::openat(folder, live_note_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return std::nullopt;
  std::string text(limits::disk_note_bytes_max, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  const auto document = json::Document::parse(text);
  if (!document) return LiveCopy{.state = LiveCopy::State::failed, .message = "the node's note cannot be read"};
  const json::Value& root = document->root();
  const auto* word = std::ranges::find(words, json::get_string_or(root, "state"));
  return LiveCopy{
      .state = word == words.end() ? LiveCopy::State::failed : static_cast<LiveCopy::State>(word - words.begin()),
      .at_ms = json::get_int_or(root, "atMs", 0),
      .progress = static_cast<int>(std::clamp<std::int64_t>(json::get_int_or(root, "progress", -1), -1, 10000)),
      .message = std::string(json::get_string_or(root, "message")),
      .silent = std::chrono::seconds(std::max<std::int64_t>(0, ::time(nullptr) - info.st_mtime))};
}

Outcome<> write_live(int folder, const LiveCopy& copy) {
  std::string text;
  json::write(json::Object{{"state", words[static_cast<std::size_t>(copy.state)]},
                           {"atMs", copy.at_ms},
                           {"progress", copy.progress},
                           {"message", copy.message.substr(0, limits::disk_message_text_max)}},
              text);
  const Descriptor file(
      ::openat(folder, new_note_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return system_failed("the state of a copy cannot be written");
  if (::renameat(folder, new_note_file, folder, live_note_file) != 0)
    return system_failed("the state of a copy cannot be written");
  return {};
}

}  // namespace vg::disks
