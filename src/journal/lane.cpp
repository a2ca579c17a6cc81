#include "journal/lane.h"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "base/log.h"

namespace vg::journal {
namespace {

using std::string_view;

constexpr string_view suffix = ".journal";
// Four hexadecimal numbers, a space behind each: long enough for the sequence and the seconds, and two hashes.
constexpr std::size_t sequence_digits = 10, hash_digits = 8;
constexpr std::size_t prefix_bytes = 2 * (sequence_digits + 1) + 2 * (hash_digits + 1);

Status broken(string_view what, const std::string& path) {
  return Status::internal_error(fmt::format("the journal file {} cannot be {}: {}", path, what, std::strerror(errno)));
}

template <class Number>
bool read_number(string_view& text, std::size_t digits, Number& number) {
  const char* const wanted = text.data() + digits;
  const auto [end, error] = std::from_chars(text.data(), wanted, number, 16);
  if (error != std::errc() || end != wanted || *end != ' ') return false;
  text.remove_prefix(digits + 1);
  return true;
}

std::optional<Record> read_prefix(string_view line) {
  if (line.size() <= prefix_bytes + 1) return std::nullopt;
  Record record;
  const bool is_whole = read_number(line, sequence_digits, record.sequence) &&
                        read_number(line, sequence_digits, record.seconds) &&
                        read_number(line, hash_digits, record.id) && read_number(line, hash_digits, record.object);
  if (!is_whole || line.front() != '{' || line.back() != '}') return std::nullopt;
  return record;
}

}  // namespace

Segment::~Segment() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

Result<std::size_t> Segment::open() {
  if (in_memory()) return 0;
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat info{};
  if (fd_ < 0 || ::fstat(fd_, &info) != 0) return fail(broken("opened", path_));
  if (!S_ISREG(info.st_mode))
    return fail(Status::internal_error(fmt::format("the journal file {} is not a regular file; remove it", path_)));
  if (info.st_size == 0) return 0;
  auto text = read_file(path_, static_cast<std::size_t>(info.st_size));
  if (!text) return fail(std::move(text.error()));
  const std::size_t damaged = read_index(*text);
  // A line that a crash cut short must not be joined with the next one.
  if (!text->ends_with('\n')) pending_ = "\n";
  written_ = text->size();
  bytes_ = written_ + pending_.size();
  return damaged;
}

std::size_t Segment::read_index(string_view text) {
  std::size_t damaged = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const string_view line = text.substr(at, end - at);
    auto record = read_prefix(line);
    if (record) {
      record->offset = static_cast<std::uint32_t>(at + prefix_bytes);
      record->size = static_cast<std::uint32_t>(line.size() - prefix_bytes);
      records_.push_back(*record);
    } else if (!line.empty()) {
      ++damaged;
    }
    at = end + 1;
  }
  return damaged;
}

void Segment::append(const Record& record, string_view text) {
  fmt::format_to(std::back_inserter(pending_), FMT_COMPILE("{:010x} {:010x} {:08x} {:08x} "), record.sequence,
                 record.seconds, record.id, record.object);
  Record kept = record;
  kept.offset = static_cast<std::uint32_t>(bytes_ + prefix_bytes);
  kept.size = static_cast<std::uint32_t>(text.size());
  pending_ += text;
  pending_ += '\n';
  bytes_ += prefix_bytes + text.size() + 1;
  records_.push_back(kept);
}

std::string Segment::text_of(const Record& record) const {
  if (record.offset >= written_) return pending_.substr(record.offset - written_, record.size);
  std::string text(record.size, '\0');
  const ssize_t got = ::pread(fd_, text.data(), text.size(), record.offset);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::size_t Segment::flush() {
  if (in_memory() || pending_.empty()) return 0;
  while (!pending_.empty()) {
    const ssize_t wrote = ::write(fd_, pending_.data(), pending_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    pending_.erase(0, static_cast<std::size_t>(wrote));
    written_ += static_cast<std::size_t>(wrote);
  }
  if (pending_.size() <= limits::journal_pending_bytes_max) return 0;
  // The part of a line that is in the file already stays there as a damaged one.
  const auto lost = std::ranges::partition_point(records_, [&](const Record& one) { return one.offset < written_; });
  const auto count = static_cast<std::size_t>(records_.end() - lost);
  records_.erase(lost, records_.end());
  pending_ = "\n";
  bytes_ = written_ + pending_.size();
  return count;
}

void Segment::remove() {
  if (in_memory()) return;
  pending_.clear();
  ::unlink(path_.c_str());
}

std::string Journal::Lane::path_of(std::uint64_t number) const {
  if (options_.folder.empty()) return {};
  return fmt::format("{}/{}-{:08}{}", options_.folder, options_.name, number, suffix);
}

std::vector<std::uint64_t> Journal::Lane::numbers_on_disk() const {
  std::vector<std::uint64_t> numbers;
  if (options_.folder.empty()) return numbers;
  const std::string begin = options_.name + "-";
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(options_.folder, ignored)) {
    const std::string name = file.path().filename().native();
    if (!name.starts_with(begin) || !name.ends_with(suffix)) continue;
    std::uint64_t number = 0;
    const char* const digits_end = name.data() + name.size() - suffix.size();
    const auto [end, error] = std::from_chars(name.data() + begin.size(), digits_end, number);
    if (error == std::errc() && end == digits_end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::size_t> Journal::Lane::open() {
  std::vector<std::uint64_t> numbers = numbers_on_disk();
  if (numbers.empty()) numbers.push_back(1);
  std::size_t damaged = 0;
  for (const std::uint64_t number : numbers) {
    const auto added = add_segment(number);
    if (!added) return added;
    damaged += *added;
  }
  return damaged;
}

Result<std::size_t> Journal::Lane::add_segment(std::uint64_t number) {
  auto segment = std::make_unique<Segment>(path_of(number), number);
  auto damaged = segment->open();
  if (!damaged) return damaged;
  bytes_ += segment->bytes();
  entries_ += segment->records().size();
  segments_.push_back(std::move(segment));
  return damaged;
}

void Journal::Lane::append(const Record& record, string_view text) {
  Segment& last = *segments_.back();
  const bool is_full = last.bytes() >= options_.file_bytes_max || last.records().size() >= options_.file_entries_max;
  // Where no new file can be made, the old one takes more.
  if (is_full && add_segment(last.number() + 1)) last.flush();
  const std::size_t before = segments_.back()->bytes();
  segments_.back()->append(record, text);
  bytes_ += segments_.back()->bytes() - before;
  ++entries_;
}

bool Journal::Lane::drop_oldest() {
  if (segments_.size() < 2) return false;
  bytes_ -= segments_.front()->bytes();
  entries_ -= segments_.front()->records().size();
  segments_.front()->remove();
  segments_.pop_front();
  return true;
}

std::size_t Journal::Lane::flush() {
  const std::size_t before = segments_.back()->bytes();
  const std::size_t lost = segments_.back()->flush();
  bytes_ -= before - segments_.back()->bytes();
  entries_ -= lost;
  return lost;
}

std::uint64_t Journal::Lane::newest() const {
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment)
    if (!(*segment)->records().empty()) return (*segment)->records().back().sequence;
  return 0;
}

std::int64_t Journal::Lane::oldest_ends() const {
  const auto& records = segments_.front()->records();
  return records.empty() ? 0 : records.back().seconds;
}

}  // namespace vg::journal
