#include "journal/lane.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/log.h"

namespace vg::journal {
namespace {

using std::string_view;

constexpr string_view suffix = ".requests";
constexpr string_view earlier_suffix = ".journal";  // a form that is not read any more

// What every file begins with; another number for another form.
constexpr string_view magic = "virtgate requests 2\n";
static_assert(std::endian::native == std::endian::little, "files are read where they were written");

// Before each part of a file. A text of the table has the sequence 0.
struct FrameHead {
  std::uint32_t size = 0, checksum = 0;  // of what follows, and of everything behind the checksum
  std::uint64_t sequence = 0;
  std::int64_t seconds = 0;
  std::uint32_t id = 0, object = 0;
};
static_assert(sizeof(FrameHead) == 32);
constexpr std::size_t summed_from = offsetof(FrameHead, sequence);

string_view bytes_of(const FrameHead& head) { return {reinterpret_cast<const char*>(&head), sizeof head}; }

// The head is short: its checksum and that of the body are put together.
std::uint32_t checksum_of(const FrameHead& head, string_view body) {
  return checksum(bytes_of(head).substr(summed_from)) ^ checksum(body);
}

Status broken(string_view what, const std::string& path) {
  return Status::internal_error(fmt::format("the journal file {} cannot be {}: {}", path, what, std::strerror(errno)));
}

// The next part of a file; nothing when it is damaged or cut short.
struct Frame {
  FrameHead head;
  string_view body;
};
std::optional<Frame> read_frame(string_view bytes) {
  Frame frame;
  if (bytes.size() < sizeof frame.head) return std::nullopt;
  std::memcpy(&frame.head, bytes.data(), sizeof frame.head);
  bytes.remove_prefix(sizeof frame.head);
  if (frame.head.size > std::min(bytes.size(), limits::journal_frame_bytes_max)) return std::nullopt;
  frame.body = bytes.substr(0, frame.head.size);
  if (checksum_of(frame.head, frame.body) != frame.head.checksum) return std::nullopt;
  return frame;
}

}  // namespace

Segment::~Segment() {
  if (fd_ >= 0) ::close(fd_);
}

Result<int> Segment::open_file() const {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(broken("opened", path_));
  return fd;
}

void Segment::begin() {
  pending_ = magic;
  bytes_ = pending_.size();
}

Result<bool> Segment::open() {
  if (in_memory()) {
    begin();
    return false;
  }
  const auto fd = open_file();
  if (!fd) return fail(fd.error());
  fd_ = *fd;
  struct stat info{};
  if (::fstat(fd_, &info) != 0) return fail(broken("opened", path_));
  if (!S_ISREG(info.st_mode))
    return fail(Status::internal_error(fmt::format("the journal file {} is not a regular file; remove it", path_)));
  if (info.st_size == 0) {
    begin();
    return false;
  }
  auto bytes = read_file(path_, static_cast<std::size_t>(info.st_size));
  if (!bytes) return fail(std::move(bytes.error()));
  bytes_ = written_ = bytes->size();
  return !read_index(*bytes);
}

bool Segment::read_index(string_view bytes) {
  if (!bytes.starts_with(magic)) return false;
  for (std::size_t at = magic.size(); at < bytes.size();) {
    const auto frame = read_frame(bytes.substr(at));
    if (!frame) return false;
    at += sizeof frame->head;
    const FrameHead& head = frame->head;
    if (head.sequence > 0) {
      records_.push_back({.sequence = head.sequence,
                          .seconds = head.seconds,
                          .id = head.id,
                          .object = head.object,
                          .offset = static_cast<std::uint32_t>(at),
                          .size = head.size});
    } else if (!texts_.is_full()) {
      texts_.add(frame->body);
    }
    at += head.size;
  }
  texts_said_ = texts_.size();
  return true;
}

void Segment::append_frame(const Record& record, string_view body) {
  FrameHead head{.size = static_cast<std::uint32_t>(body.size()),
                 .sequence = record.sequence,
                 .seconds = record.seconds,
                 .id = record.id,
                 .object = record.object};
  head.checksum = checksum_of(head, body);
  pending_ += bytes_of(head);
  pending_ += body;
  bytes_ += sizeof head + body.size();
}

void Segment::append(const Record& record, const EntryView& entry) {
  encoded_.clear();
  encode(entry, texts_, encoded_);
  for (; texts_said_ < texts_.size(); ++texts_said_) append_frame({}, texts_.at(texts_said_));
  append_frame(record, encoded_);
  Record& kept = records_.emplace_back(record);
  kept.size = static_cast<std::uint32_t>(encoded_.size());
  kept.offset = static_cast<std::uint32_t>(bytes_ - encoded_.size());
}

std::optional<Entry> Segment::entry_of(const Record& record) const {
  std::optional<Entry> entry;
  if (const std::size_t written = written_ + writing_.size(); record.offset >= written) {
    entry = decode(string_view(pending_).substr(record.offset - written, record.size), texts_);
  } else if (record.offset >= written_) {
    entry = decode(string_view(writing_).substr(record.offset - written_, record.size), texts_);
  } else {
    std::string bytes(record.size, '\0');
    const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), record.offset);
    if (got == static_cast<ssize_t>(bytes.size())) entry = decode(bytes, texts_);
  }
  if (entry) entry->time.seconds = record.seconds;
  return entry;
}

void Segment::flush(std::unique_lock<std::mutex>& lock) {
  if (in_memory() || pending_.empty()) return;
  writing_.swap(pending_);
  int fd = fd_;
  lock.unlock();
  if (fd < 0) fd = open_file().value_or(-1);
  std::size_t done = 0;
  while (fd >= 0 && done < writing_.size()) {
    const ssize_t wrote = ::write(fd, writing_.data() + done, writing_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  lock.lock();
  fd_ = fd;
  written_ += done;
  pending_.insert(0, writing_, done);
  writing_.clear();
}

void Segment::remove() const {
  if (!in_memory()) ::unlink(path_.c_str());
}

std::string Journal::Lane::path_of(std::uint64_t number, string_view ending) const {
  if (options_.folder.empty()) return {};
  return fmt::format("{}/{}-{:08}{}", options_.folder, options_.name, number, ending);
}

std::vector<std::uint64_t> Journal::Lane::numbers_on_disk(string_view ending) const {
  std::vector<std::uint64_t> numbers;
  if (options_.folder.empty()) return numbers;
  const std::string begin = options_.name + "-";
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(options_.folder, ignored)) {
    const std::string name = file.path().filename().native();
    if (!name.starts_with(begin) || !name.ends_with(ending)) continue;
    std::uint64_t number = 0;
    const char* const digits_end = name.data() + name.size() - ending.size();
    const auto [end, error] = std::from_chars(name.data() + begin.size(), digits_end, number);
    if (error == std::errc() && end == digits_end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::size_t> Journal::Lane::open() {
  remove_earlier_form();
  std::vector<std::uint64_t> numbers = numbers_on_disk(suffix);
  if (numbers.empty()) numbers.push_back(1);
  std::size_t damaged = 0;
  bool last_is_damaged = false;
  for (const std::uint64_t number : numbers) {
    const auto opened = open_segment(number);
    if (!opened) return fail(opened.error());
    last_is_damaged = *opened;
    damaged += last_is_damaged ? 1 : 0;
  }
  // What is appended behind damage would not be found again.
  if (last_is_damaged) begin_segment(numbers.back() + 1);
  return damaged;
}

void Journal::Lane::remove_earlier_form() const {
  for (const std::uint64_t number : numbers_on_disk(earlier_suffix)) ::unlink(path_of(number, earlier_suffix).c_str());
}

Result<bool> Journal::Lane::open_segment(std::uint64_t number) {
  auto segment = std::make_shared<Segment>(path_of(number, suffix), number);
  auto damaged = segment->open();
  if (damaged) add_segment(std::move(segment));
  return damaged;
}

void Journal::Lane::begin_segment(std::uint64_t number) {
  auto segment = std::make_shared<Segment>(path_of(number, suffix), number);
  segment->begin();
  add_segment(std::move(segment));
}

void Journal::Lane::add_segment(std::shared_ptr<Segment> segment) {
  if (!segments_.empty()) segments_.back()->end_writing();
  bytes_ += segment->bytes();
  entries_ += segment->records().size();
  segments_.push_back(std::move(segment));
}

Journal::Lane::Appended Journal::Lane::append(const Record& record, const EntryView& entry) {
  std::size_t waiting = 0;  // in the newest: they are flushed in their order
  for (auto at = segments_.rbegin(); at != segments_.rend() && (*at)->waiting_bytes() > 0; ++at)
    waiting += (*at)->waiting_bytes();
  if (waiting > limits::journal_pending_bytes_max) return Appended::lost;
  const Segment& last = *segments_.back();
  const bool is_full = last.bytes() >= options_.file_bytes_max || last.records().size() >= options_.file_entries_max;
  if (is_full) begin_segment(last.number() + 1);
  const std::size_t before = segments_.back()->bytes();
  segments_.back()->append(record, entry);
  bytes_ += segments_.back()->bytes() - before;
  ++entries_;
  return is_full ? Appended::in_new_file : Appended::yes;
}

bool Journal::Lane::drop_oldest() {
  if (segments_.size() < 2) return false;
  bytes_ -= segments_.front()->bytes();
  entries_ -= segments_.front()->records().size();
  if (!options_.folder.empty()) dropped_.push_back(std::move(segments_.front()));
  segments_.pop_front();
  return true;
}

void Journal::Lane::flush(std::unique_lock<std::mutex>& lock) {
  for (const auto segments = segments_; const auto& segment : segments) segment->flush(lock);
  auto dropped = std::exchange(dropped_, {});
  lock.unlock();
  for (const auto& segment : dropped) segment->remove();
  dropped.clear();  // a file that nobody has open any more is what takes time
  lock.lock();
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
