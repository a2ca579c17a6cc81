// A file from a web server (spec storage 5.1), by curl: bounded, resumed where that is safe, verified where a checksum
// was given. Credentials go to the host that they are for and to no other.
#pragma once

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

 private:
  std::string pending_;
  std::optional<AnswerHead> head_;
};

// "https://Host:8443/path?x" -> "https://host:8443"; nothing for another scheme, or what is no URL that is fetched.
std::optional<std::string> origin_of(std::string_view url);
// A line of a configuration file of curl.
std::string curl_line(std::string_view option, std::string_view value);

// Into download_file of the folder. What was fetched before is gone on with.
Outcome<> fetch(int folder, const ImportHttp& from, std::int64_t free_bytes, const Progress& progress);
// DV-84. "sha256:..."
Outcome<> verify(int folder, const std::string& file, std::string_view checksum);

}  // namespace vg::disks
