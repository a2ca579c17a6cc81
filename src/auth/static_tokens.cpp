#include "auth/static_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/files.h"
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
        if (!quoted(fields.back())) return not_parsed("a quoted field does not end where it should");
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
      return not_parsed(fmt::format("line {}: it has {} fields and needs at least 3: token,user,uid,\"group1,group2\"",
                                    line, fields->size()));
    if ((*fields)[0].empty()) continue;
    if ((*fields)[1].empty()) return not_parsed(fmt::format("line {}: the name of the user is empty", line));
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

TokenFile::TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

bool TokenFile::Version::operator==(const Version& other) const {
  return inode == other.inode && size == other.size && same_time(modified, other.modified) &&
         same_time(changed, other.changed);
}

Result<std::optional<TokenIdentity>> TokenFile::verify(std::string_view token,
                                                       std::span<const std::string> audiences) const {
  const auto tokens = current();
  if (!tokens) return std::nullopt;
  return tokens->verify(token, audiences);
}

std::shared_ptr<const StaticTokens> TokenFile::current() const {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.steady_now();
  if (look_again_ == Clock::Steady{} || now >= look_again_) {
    look_again_ = now + look_interval;
    refresh();
  }
  return tokens_;
}

void TokenFile::refresh() const {
  struct stat info;
  if (::stat(path_.c_str(), &info) != 0) {
    if (tokens_) log::info("the file of tokens is gone, and with it its tokens", {{"file", path_}});
    tokens_ = nullptr;
    version_ = {};
    return;
  }
  const Version version{.inode = info.st_ino, .size = info.st_size, .modified = info.st_mtim, .changed = info.st_ctim};
  if (version == version_) return;
  version_ = version;
  const auto complain = [&](std::string_view why) {
    log::error("the file of tokens cannot be used; the tokens read before stay good",
               {{"file", path_}, {"reason", why}});
  };
  if (info.st_mode & 077) return complain("other users may read or change it; run chmod 600 on it");
  auto text = read_file(path_, limits::config_file_bytes_max);
  if (!text) return complain(text.error().message);
  auto tokens = parse_token_file(*text);
  if (!tokens) return complain(tokens.error());
  log::info("the file of tokens was read", {{"file", path_}, {"tokens", std::to_string(tokens->size())}});
  tokens_ = std::make_shared<const StaticTokens>(std::move(*tokens));
}

}  // namespace vg::auth
