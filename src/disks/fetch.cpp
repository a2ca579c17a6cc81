#include "disks/fetch.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/disk_limits.h"
#include "disks/address.h"
#include "disks/folder.h"
#include "disks/program.h"
#include "disks/room.h"
#include "disks/way_out.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::disks {
namespace {

constexpr const char* authorities_file = ".part-authorities";
constexpr std::string_view checked_host = "checked.invalid";
constexpr int curl_timed_out = 28;
constexpr const char* system_authorities = "/etc/ssl/certs/ca-certificates.crt";

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return made;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

AnswerHead read_head_text(std::string_view text) {
  AnswerHead head;
  const std::string_view first = text.substr(0, text.find('\n'));
  if (const std::size_t blank = first.find(' '); blank != std::string_view::npos)
    head.status = static_cast<int>(number_of(first.substr(blank + 1, 3)).value_or(0));
  text.remove_prefix(std::min(first.size() + 1, text.size()));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      head.fields.insert_or_assign(lower(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1))));
  }
  return head;
}

// What the bytes in download_file are, so that an attempt can go on where the last one ended.
struct Known {
  std::string url, tag = {};  // tag: a strong ETag, or a date; empty: the server gave none
  std::int64_t total = -1;    // that there are; -1: the server did not say
};

Known read_known(int folder) {
  const Descriptor file(::openat(folder, download_note_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(limits::disk_note_bytes_max, '\0');
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  const auto document = json::Document::parse(text);
  if (!document) return {.url = {}};
  return {.url = std::string(json::get_string_or(document->root(), "url")),
          .tag = std::string(json::get_string_or(document->root(), "tag")),
          .total = json::get_int_or(document->root(), "total", -1)};
}

void write_known(int folder, const Known& known) {
  std::string text;
  json::write(json::Object{{"url", known.url}, {"tag", known.tag}, {"total", known.total}}, text);
  const Descriptor file(
      ::openat(folder, download_note_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  // Without the note the next attempt begins again, which is never wrong.
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    ::unlinkat(folder, download_note_file, 0);
}

std::string tag_of(const AnswerHead& head) {
  const std::string_view tag = head.field("etag");
  if (!tag.empty() && !tag.starts_with("W/")) return std::string(tag);
  return std::string(head.field("last-modified"));
}

// One request and what becomes of its answer.
class Request {
 public:
  Request(int folder, int file, const ImportHttp& from, std::string url, std::int64_t free_bytes,
          const Progress& progress)
      : folder_(folder),
        file_(file),
        from_(from),
        url_(std::move(url)),
        free_(free_bytes),
        room_(file),
        progress_(progress) {}

  // Whether bytes behind `have` were asked for.
  Outcome<Ended> send(std::int64_t have, const Known& known);
  // Only these are dialled, whatever the name stands for by then, and however curl reads the URL.
  void pin(std::string addresses) { addresses_ = std::move(addresses); }

  const std::optional<AnswerHead>& head() const { return reader_.head(); }
  std::int64_t at() const { return at_; }
  std::int64_t total() const { return total_; }
  const std::optional<Failure>& failure() const { return failure_; }
  // What is here already is of another version than what is there now.
  bool is_stale() const { return stale_; }

 private:
  bool keeps_up(std::string_view text);
  std::optional<std::string_view> take_head(std::string_view text);
  bool take(std::string_view text);
  bool begin_rest(const AnswerHead& head);
  bool begin_body(const AnswerHead& head);
  bool put(std::string_view bytes);

  int folder_, file_;
  const ImportHttp& from_;
  std::string url_, addresses_;
  std::int64_t free_;
  RoomWatch room_;
  RateWatch rate_{std::chrono::steady_clock::now()};
  std::int64_t came_ = 0;  // bytes, head included
  const Progress& progress_;
  HeadReader reader_;
  bool began_ = false, kept_ = false;  // kept: the body is what was asked for
  bool stale_ = false;
  Known known_;
  std::int64_t asked_from_ = 0, at_ = 0, total_ = -1;
  std::optional<Failure> failure_;
};

// Only of the very version that the bytes before it are of, which a server may have changed or not have looked for.
bool Request::begin_rest(const AnswerHead& head) {
  const std::string_view range = head.field("content-range");
  if (asked_from_ == 0 || !range.starts_with(fmt::format("bytes {}-", asked_from_))) {
    failure_ = Failure{.message = "the server sent another part than was asked for"};
    return false;
  }
  total_ = number_of(range.substr(std::min(range.find('/'), range.size() - 1) + 1)).value_or(-1);
  stale_ = tag_of(head) != known_.tag || total_ != known_.total;
  kept_ = !stale_;
  return kept_;
}

bool Request::begin_body(const AnswerHead& head) {
  began_ = true;
  if (head.status == 206) {
    if (!begin_rest(head)) return false;
  } else if (head.status == 200) {
    at_ = 0;
    if (::ftruncate(file_, 0) != 0) return false;
    total_ = number_of(head.field("content-length")).value_or(-1);
    write_known(folder_, {.url = from_.url, .tag = tag_of(head), .total = total_});
    // spec storage Q-14: a page that asks to log in is no disk.
    if (head.field("content-type").starts_with("text/html") && total_ < static_cast<std::int64_t>(limits::mib)) {
      failure_ =
          Failure{.error = DiskError::bad_image, .message = "the server answered with a web page instead of an image"};
      return false;
    }
    kept_ = true;
  }
  const std::int64_t most = 2 * from_.target.size + limits::disk_format_bytes_max;
  if (kept_ && total_ > most) {
    failure_ = Failure{.error = DiskError::too_small, .message = "DataVolume too small to contain image"};
    return false;
  }
  if (kept_ && total_ - at_ > free_) {
    failure_ = no_room().error();
    return false;
  }
  return true;
}

bool Request::put(std::string_view bytes) {
  if (!kept_) return true;  // the text of an error
  const auto length = static_cast<std::int64_t>(bytes.size());
  free_ -= length;
  if (auto room = room_.before(length); !room) {
    failure_ = room.error();
    return false;
  }
  if (free_ < 0 || at_ + length > 2 * from_.target.size + limits::disk_format_bytes_max) {
    failure_ = Failure{.error = free_ < 0 ? DiskError::no_space : DiskError::too_small,
                       .message = "DataVolume too small to contain image"};
    return false;
  }
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file_, bytes.data(), bytes.size(), at_);
    if (put <= 0) {
      failure_ = system_failed("the download cannot be written").error();
      return false;
    }
    at_ += put;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (total_ > 0) progress_(static_cast<int>(10000.0 * static_cast<double>(at_) / static_cast<double>(total_)));
  return true;
}

bool Request::keeps_up(std::string_view text) {
  came_ += static_cast<std::int64_t>(text.size());
  if (rate_.look(came_, std::chrono::steady_clock::now())) return true;
  failure_ = Failure{.message = too_slow()};
  return false;
}

// What comes after the head is of curl, or a trailer, of which nothing is wanted.
std::optional<std::string_view> Request::take_head(std::string_view text) {
  if (!keeps_up(text)) return std::nullopt;
  const auto rest = reader_.take(text);
  if (rest) return *rest;
  failure_ = rest.error();
  return std::nullopt;
}

bool Request::take(std::string_view text) {
  if (!keeps_up(text)) return false;
  if (!reader_.head()) {
    failure_ = Failure{.message = "the answer of the server has no head"};
    return false;
  }
  if (!began_ && !begin_body(*reader_.head())) return false;
  return put(text);
}

Outcome<Ended> Request::send(std::int64_t have, const Known& known) {
  asked_from_ = at_ = have;
  known_ = known;
  auto ended =
      run({.command = {"curl", "-q", "-K", "-"},
           .folder = folder_,
           .input = curl_options(from_, {.url = url_, .addresses = addresses_, .have = have, .tag = known.tag}),
           .bytes_max = 0,
           .image_bytes = 2 * from_.target.size,
           .take = [this](std::string_view text) { return take(text); },
           .take_errors = [this](std::string_view text) { return take_head(text); }});
  if (ended && !reader_.head()) ended->errors += reader_.pending();  // there was none, and curl says why
  // An answer without a body says what it is as well.
  if (ended && !began_ && !failure_ && reader_.head()) (void)begin_body(*reader_.head());
  return ended;
}

// curl takes one file, so that the system's are put into it as well.
Outcome<> write_authorities(int folder, const std::string& own) {
  std::string all = own;
  const Descriptor system(::open(system_authorities, O_RDONLY | O_CLOEXEC));
  std::array<char, 64 * 1024> buffer{};
  for (ssize_t got = 0; system && (got = ::read(system.get(), buffer.data(), buffer.size())) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(got));
  const Descriptor file(
      ::openat(folder, authorities_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file || ::write(file.get(), all.data(), all.size()) != static_cast<ssize_t>(all.size()))
    return system_failed("the authorities of an import cannot be written");
  return {};
}

HostAndPort place_of(const std::string& url) {
  const std::string origin = origin_of(url).value_or("");
  const bool secure = origin.starts_with("https:");
  return split_host(std::string_view(origin).substr(std::min(origin.size(), origin.find("://") + 3)),
                    secure ? "443" : "80");
}

// As curl is told of them (CurlRequest).
Outcome<std::string> checked_addresses(const std::string& url, const std::string& blocked) {
  const HostAndPort place = place_of(url);
  const auto hosts = allowed_hosts(place, blocked);
  if (!hosts) return std::unexpected(hosts.error());
  std::string addresses;
  for (const std::string& text : *hosts)
    addresses += fmt::format("{}{}", addresses.empty() ? place.port + ":" : ",",
                             text.contains(':') ? fmt::format("[{}]", text) : text);
  return addresses;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::int64_t bytes_so_far(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 ? info.st_size : 0;
}

Outcome<bool> judge(const Request& request, const Ended& ended, std::int64_t had) {
  if (request.failure()) return std::unexpected(*request.failure());
  return judge_transfer({.status = request.head() ? request.head()->status : 0,
                         .had = had,
                         .at = request.at(),
                         .total = request.total(),
                         .code = ended.code,
                         .complaint = complaint(ended)});
}

// A name as HTTP has them, and a colon. What begins with @ would be the name of a file to curl.
bool is_header(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const std::string_view name = text.substr(0, text.find(':'));
  return name.size() < text.size() && !name.empty() &&
         std::ranges::all_of(
             name,
             [&](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || marks.contains(c);
             });
}

}  // namespace

std::string_view AnswerHead::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

Outcome<std::string_view> HeadReader::take(std::string_view text) {
  if (head_) return text;
  const std::size_t before = pending_.size();
  pending_.append(text);
  std::size_t used = 0;
  while (true) {
    const std::string_view rest = std::string_view(pending_).substr(used);
    const std::size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos) break;
    AnswerHead head = read_head_text(rest.substr(0, end + 2));
    used += end + 4;
    if (head.status >= 100 && head.status < 200) continue;
    head_ = std::move(head);
    return text.substr(used - before);
  }
  if (pending_.size() > limits::download_head_bytes_max)
    return failed(DiskError::other, "the answer of the server has no end of its head");
  pending_.erase(0, used);
  return std::string_view();
}

std::optional<std::string> origin_of(std::string_view url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string scheme = lower(url.substr(0, colon));
  if (scheme != "http" && scheme != "https") return std::nullopt;
  std::string_view rest = url.substr(colon + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (rest.empty() || rest.contains('@')) return std::nullopt;
  return fmt::format("{}://{}", scheme, lower(rest));
}

std::string curl_line(std::string_view option, std::string_view value) {
  std::string line = fmt::format("{} = \"", option);
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    if (c != '\n' && c != '\r' && c != '\0') line += c;  // nothing of a value begins an option of its own
  }
  return line + "\"\n";
}

std::string curl_options(const ImportHttp& from, const CurlRequest& request) {
  std::string text;
  const auto add = [&](std::string_view option, std::string_view value) { text += curl_line(option, value); };
  add("url", request.url);
  // The head comes beside the body: what a server sends after the body would else be part of it.
  add("dump-header", "/dev/stderr");
  text += "silent\nshow-error\nsuppress-connect-headers\ngloboff\ndisallow-username-in-url\n";
  add("proto", "=http,https");
  add("user-agent", "cdi-golang-importer");
  // curl ends what stands still; what comes in drops is ended by RateWatch, which is asked when some come.
  add("speed-limit", fmt::to_string(limits::download_window_bytes_min / limits::download_window.count()));
  add("speed-time", fmt::to_string(limits::download_window.count()));
  add("connect-timeout", "60");
  if (!request.addresses.empty()) {
    // Every connection is made to a name that nobody has, and that name stands for what was checked.
    add("connect-to", fmt::format("::{}:{}", checked_host, request.addresses.substr(0, request.addresses.find(':'))));
    add("resolve", fmt::format("{}:{}", checked_host, request.addresses));
  }
  const bool same_host = origin_of(request.url) == origin_of(from.url);
  if (same_host && !from.user.empty()) add("user", fmt::format("{}:{}", from.user, from.password));
  if (same_host)
    for (const std::string& header : from.headers)
      if (is_header(header)) add("header", header);
  if (from.insecure) text += "insecure\n";
  if (!from.authorities.empty()) add("cacert", authorities_file);
  if (request.have > 0) {
    add("header", fmt::format("Range: bytes={}-", request.have));
    if (!request.tag.empty()) add("header", fmt::format("If-Range: {}", request.tag));
  }
  return text;
}

std::optional<std::string> redirected(const std::string& url, std::string_view to) {
  if (to.empty()) return std::nullopt;
  if (to.starts_with('/')) {
    const auto origin = origin_of(url);
    if (to.starts_with("//")) return url.substr(0, url.find(':') + 1) + std::string(to);
    return origin ? std::optional(*origin + std::string(to)) : std::nullopt;
  }
  if (to.contains("://")) return origin_of(to) ? std::optional(std::string(to)) : std::nullopt;
  return url.substr(0, url.substr(0, url.find('?')).rfind('/') + 1) + std::string(to);
}

bool RateWatch::look(std::int64_t bytes, Time now) {
  if (now - since_ < limits::download_window) return true;
  const bool enough = bytes - then_ >= limits::download_window_bytes_min;
  since_ = now;
  then_ = bytes;
  return enough;
}

std::string too_slow() {
  return fmt::format("the server is too slow: it sent less than {} KiB within {} s",
                     limits::download_window_bytes_min / std::int64_t{limits::kib}, limits::download_window.count());
}

Outcome<bool> judge_transfer(const Transfer& done) {
  if (done.status == 0)
    return failed(DiskError::other, fmt::format("the server cannot be reached: {}", done.complaint));
  if (done.status != 200 && done.status != 206)
    return failed(DiskError::other, fmt::format("expected status code 200, got {}", done.status));
  const bool whole = done.total < 0 ? done.code == 0 : done.at == done.total;
  if (whole && done.code == 0) return true;
  if (done.code == curl_timed_out) return failed(DiskError::other, too_slow());  // others have the slot meanwhile
  if (done.at <= done.had)
    return failed(DiskError::other, fmt::format("the transfer ended too early: {}", done.complaint));
  return false;
}

Outcome<> fetch(int folder, const ImportHttp& from, std::int64_t free_bytes, const Progress& progress) {
  if (!origin_of(from.url)) return failed(DiskError::other, "the URL must be of http or https, without a user in it");
  if (!from.authorities.empty())
    if (auto written = write_authorities(folder, from.authorities); !written) return written;
  const Descriptor file(::openat(folder, download_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, file_mode));
  if (!file) return system_failed("the download cannot be written");
  std::string url = from.url;
  int redirects = 0;
  for (int round = 0; round <= limits::download_resumes_max;) {
    const Known known = read_known(folder);
    // Without anything that tells versions apart, only a checksum could find out that the parts do not fit.
    const bool resumable = known.url == from.url && known.total >= 0 && (!known.tag.empty() || !from.checksum.empty());
    const std::int64_t had = resumable ? bytes_so_far(file.get()) : 0;
    Request request(folder, file.get(), from, url, free_bytes, progress);
    if (!from.blocked.empty()) {
      auto addresses = checked_addresses(url, from.blocked);
      if (!addresses) return std::unexpected(addresses.error());
      if (!has_proxy(origin_of(url).value_or("").starts_with("https:") ? "https" : "http"))
        request.pin(std::move(*addresses));
    }
    const auto ended = request.send(had, known);
    if (!ended) return std::unexpected(ended.error());
    if (request.head() && is_redirect(request.head()->status) && !request.failure()) {
      const auto next = redirected(url, request.head()->field("location"));
      if (!next || ++redirects > limits::download_redirects_max)
        return failed(DiskError::other, "the server redirects to where nothing is fetched from, or too often");
      url = *next;
      continue;
    }
    if (request.is_stale() || (had > 0 && request.head() && request.head()->status == 416)) {
      if (::ftruncate(file.get(), 0) != 0) return system_failed("the download cannot be written");
      ::unlinkat(folder, download_note_file, 0);
      ++round;
      continue;
    }
    const auto done = judge(request, *ended, request.head() && request.head()->status == 206 ? had : 0);
    if (!done) return std::unexpected(done.error());
    if (*done) return {};
    url = from.url;
    ++round;
  }
  return failed(DiskError::other, "the transfer was interrupted too often");
}

Outcome<> verify(int folder, const std::string& file, std::string_view checksum) {
  const std::size_t colon = checksum.find(':');
  const std::string algorithm = lower(checksum.substr(0, colon));
  const EVP_MD* digest = EVP_get_digestbyname(algorithm.c_str());
  if (colon == std::string_view::npos || !digest)
    return failed(DiskError::checksum, "the checksum is of no known algorithm");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const Descriptor in(::openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in || !context || EVP_DigestInit_ex(context.get(), digest, nullptr) != 1)
    return system_failed("the checksum cannot be computed");
  std::vector<char> buffer(limits::mib);
  for (ssize_t got = 0; (got = ::read(in.get(), buffer.data(), buffer.size())) != 0;) {
    if (got < 0) return system_failed("the download cannot be read");
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(got));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), sum.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", sum[i]);
  if (text == lower(checksum.substr(colon + 1))) return {};
  return failed(DiskError::checksum,
                fmt::format("the checksum does not match: expected {}, got {}:{}", checksum, algorithm, text));
}

}  // namespace vg::disks
