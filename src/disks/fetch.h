// A file from a web server (spec storage 5.1), by curl: bounded, resumed where that is safe, verified where a checksum
// was given. Credentials go to the host that they are for and to no other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "disks/convert.h"
#include "disks/outcome.h"
#include "ports/disk_agent.h"

namespace vg::disks {

// The head of an answer, as far as it matters; names in lower case.
struct AnswerHead {
  int status = 0;
  std::map<std::string, std::string, std::less<>> fields = {};
  std::string_view field(std::string_view name) const;
};

// Takes heads off a stream of answers until the last one, which no interim answer follows.
class HeadReader {
 public:
  // What of the text belongs to the body. Nothing is decided before head() has something.
  Outcome<std::string_view> take(std::string_view text);
  const std::optional<AnswerHead>& head() const { return head_; }
  // What came of a head that has no end.
  const std::string& pending() const { return pending_; }

 private:
  std::string pending_;
  std::optional<AnswerHead> head_;
};

// "https://Host:8443/path?x" -> "https://host:8443"; nothing for another scheme, or what is no URL that is fetched.
std::optional<std::string> origin_of(std::string_view url);
// A line of a configuration file of curl.
std::string curl_line(std::string_view option, std::string_view value);

// One request, to the URL of the import or to where it was redirected to.
struct CurlRequest {
  std::string_view url;
  std::string_view addresses = {};  // "PORT:ADDRESS,ADDRESS" that are dialled, whatever the URL says; empty: any
  std::int64_t have = 0;            // so many bytes are here already
  std::string_view tag = {};        // of the version that they are of
};
// DV-80, DV-82, DV-83: how curl is told.
std::string curl_options(const ImportHttp& from, const CurlRequest& request);
// Where a `Location` leads to; nothing when nothing is fetched from there.
std::optional<std::string> redirected(const std::string& url, std::string_view to);

struct Transfer {
  int status = 0;                // 0: no answer
  std::int64_t had = 0, at = 0;  // bytes, before and after
  std::int64_t total = -1;       // that there are; -1: not known
  int code = 0;                  // that curl ended with
  std::string complaint = {};
};
// DV-80: what it means. Done (true), go on (false), or over.
Outcome<bool> judge_transfer(const Transfer& done);

// Whether bytes come fast enough, by the steady clock: so many within every window.
class RateWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit RateWatch(Time now) : since_(now) {}
  // `bytes`: that came in all. False once a window had too few.
  bool look(std::int64_t bytes, Time now);

 private:
  Time since_;
  std::int64_t then_ = 0;
};
std::string too_slow();

// Into download_file of the folder. What was fetched before is gone on with.
Outcome<> fetch(int folder, const ImportHttp& from, std::int64_t free_bytes, const Progress& progress);
// DV-84. "sha256:..."
Outcome<> verify(int folder, const std::string& file, std::string_view checksum);

}  // namespace vg::disks
