#include "auth/static_tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/limits.h"
#include "base/log.h"

namespace vg::auth {
namespace {

constexpr std::chrono::seconds look_interval{1};

// One record of comma-separated values after another, as RFC 4180 has them: a field may stand in quotes, then it may
// hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::size_t line() const { return line_; }

  Parsed<std::vector<std::string>> record() {
    std::vector<std::string> fields;
    for (bool more = true; more;) {
      fields.emplace_back();
      if (rest_.starts_with('"')) {
        if (!quoted(fields.back())) return not_parsed("a quoted field is not closed");
      } else {
        plain(fields.back());
      }
      more = rest_.starts_with(',');
      if (more) rest_.remove_prefix(1);
    }
    line_end();
    return fields;
  }

 private:
  void plain(std::string& field) {
    std::string_view text = rest_.substr(0, rest_.find_first_of(",\n"));
    rest_.remove_prefix(text.size());
    if (!rest_.starts_with(',') && text.ends_with('\r')) text.remove_suffix(1);
    field = text;
  }

  bool quoted(std::string& field) {
    rest_.remove_prefix(1);
    for (;;) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) return false;
      const std::string_view text = rest_.substr(0, quote);
      line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
      field += text;
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      field += '"';
      rest_.remove_prefix(1);
    }
    return rest_.empty() || rest_.starts_with(',') || rest_.starts_with('\n') || rest_.starts_with("\r\n");
  }

  void line_end() {
    if (rest_.starts_with('\r')) rest_.remove_prefix(1);
    if (rest_.starts_with('\n')) rest_.remove_prefix(1);
    ++line_;
  }

  std::string_view rest_;
  std::size_t line_ = 1;
};

std::vector<std::string> split_groups(std::string_view text) {
  std::vector<std::string> groups;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const std::string_view group = text.substr(0, comma); !group.empty()) groups.emplace_back(group);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return groups;
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Why the file could be somebody else's work or known to somebody else; empty when it could not.
std::string distrust(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return "it is not a regular file";
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fmt::format("it belongs to user id {}; run chown {} on it", info.st_uid, ::geteuid());
  if (info.st_mode & 077) return "other users can read or change it; run chmod 600 on it, and replace its tokens";
  return {};
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

Parsed<std::vector<StaticToken>> parse_token_file(std::string_view text) {
  std::vector<StaticToken> tokens;
  CsvReader reader(text);
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    auto fields = reader.record();
    if (!fields) return not_parsed(fmt::format("line {}: {}", line, fields.error()));
    if (fields->size() == 1 && fields->front().empty()) continue;
    if (fields->size() < 3)
      return not_parsed(
          fmt::format("line {}: it has {} fields, at least 3 are required: token,user,uid,\"group1,group2\"", line,
                      fields->size()));
    if ((*fields)[0].empty()) continue;
    if ((*fields)[1].empty()) return not_parsed(fmt::format("line {}: the user name is empty", line));
    StaticToken token{
        .token = std::move((*fields)[0]),
        .user = {.name = std::move((*fields)[1]), .uid = std::move((*fields)[2]), .groups = {}, .extra = {}}};
    if (fields->size() > 3) token.user.groups = split_groups((*fields)[3]);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

StaticTokens::StaticTokens(std::vector<StaticToken> tokens) {
  for (StaticToken& token : tokens)
    if (!token.token.empty()) users_.insert_or_assign(sha256(token.token), std::move(token.user));
}

// These tokens say nothing about audiences: they are for this server.
Result<std::optional<TokenIdentity>> StaticTokens::verify(std::string_view token,
                                                          std::span<const std::string> audiences) const {
  if (token.empty() || std::ranges::find(audiences, default_audience) == audiences.end()) return std::nullopt;
  const auto found = users_.find(sha256(token));
  if (found == users_.end()) return std::nullopt;
  return TokenIdentity{.user = found->second, .audiences = {std::string(default_audience)}};
}

TokenFile::TokenFile(std::string path, const Clock& clock, Parser parser)
    : path_(std::move(path)), clock_(clock), parser_(std::move(parser)) {}

TokenFile::Version::Version(const struct stat& info)
    : device(info.st_dev), inode(info.st_ino), size(info.st_size), modified(info.st_mtim), changed(info.st_ctim) {}

bool TokenFile::Version::operator==(const Version& other) const {
  return device == other.device && inode == other.inode && size == other.size && same_time(modified, other.modified) &&
         same_time(changed, other.changed);
}

Result<std::optional<TokenIdentity>> TokenFile::verify(std::string_view token,
                                                       std::span<const std::string> audiences) const {
  std::shared_ptr<const StaticTokens> tokens;
  {
    const std::lock_guard lock(mutex_);
    look(look_for_token_);
    tokens = tokens_;
  }
  if (!tokens) return std::nullopt;
  return tokens->verify(token, audiences);
}

std::optional<std::string> TokenFile::problem() const {
  const std::lock_guard lock(mutex_);
  look(look_for_problem_);
  if (problem_.empty()) return std::nullopt;
  return fmt::format("the tokens in {} are not accepted: {}", path_.substr(path_.rfind('/') + 1), problem_);
}

void TokenFile::look(Clock::Steady& again) const {
  const auto now = clock_.steady_now();
  if (again != Clock::Steady{} && now < again) return;
  again = now + look_interval;
  refresh();
}

void TokenFile::close(std::string why) const {
  if (why != problem_)
    log::error(
        "the tokens in this file are not accepted until it is fixed; certificates and tokens of service "
        "accounts are not affected",
        {{"file", path_}, {"reason", why}});
  problem_ = std::move(why);
  tokens_ = nullptr;
  version_ = {};  // what a disk refused now it may give later, and the file need not have changed
}

void TokenFile::refresh() const {
  struct stat info{};
  if (::lstat(path_.c_str(), &info) == 0 && tokens_ && Version(info) == version_) return;
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
  if (file.fd < 0 && errno == ENOENT) {
    if (tokens_) log::info("the token file was removed; its tokens are not accepted any more", {{"file", path_}});
    tokens_ = nullptr;
    problem_.clear();
    return;
  }
  if (file.fd < 0)
    return close(errno == ELOOP ? "it is a symbolic link; a regular file is required"
                                : fmt::format("it cannot be opened: {}", std::strerror(errno)));
  if (::fstat(file.fd, &info) != 0) return close(fmt::format("it cannot be read: {}", std::strerror(errno)));
  if (auto why = distrust(info); !why.empty()) return close(std::move(why));
  auto text = read(file.fd);
  if (!text) return close(std::move(text.error().message));
  struct stat after{};
  if (::fstat(file.fd, &after) != 0 || !(Version(after) == Version(info)))
    return close("it is being written; it will be read again in a second");
  auto tokens = parser_(*text);
  if (!tokens) return close(std::move(tokens.error()));
  log::info("the token file was loaded", {{"file", path_}, {"tokens", std::to_string(tokens->size())}});
  tokens_ = std::make_shared<const StaticTokens>(std::move(*tokens));
  problem_.clear();
  version_ = Version(info);
}

Result<std::string> TokenFile::read(int fd) const {
  const auto refuse = [](int code, std::string message) {
    return fail({.code = code, .reason = {}, .message = std::move(message), .details = {}});
  };
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(500, fmt::format("it cannot be read: {}", std::strerror(errno)));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limits::config_file_bytes_max)
      return refuse(413, fmt::format("it has more than {} bytes", limits::config_file_bytes_max));
  }
}

}  // namespace vg::auth
