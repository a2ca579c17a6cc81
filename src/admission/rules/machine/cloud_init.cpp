#include "admission/rules/machine/cloud_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "admission/rules/machine/machine.h"
#include "base/base64.h"

namespace vg::admission {
namespace {

using api::View;
using std::string_view;

// A machine gets two kinds of data, each in one of three ways.
struct Data {
  string_view what, secret, base64, text;  // what: for people; the others: members of the source
};
constexpr Data user_data = {"user data", "secretRef", "userDataBase64", "userData"};
constexpr Data network_data = {"network data", "networkDataSecretRef", "networkDataBase64", "networkData"};

// What cloud-init reads them from has no room for more.
constexpr std::size_t data_bytes_max = 2048;

struct CloudInitAt {
  View source;
  const Place& place;

  string_view text(string_view member) const { return api::Read<string_view>::or_zero(source.get(member)); }
  // A reference without a name is none.
  bool refers(string_view member) const {
    return !api::Read<string_view>::or_zero(View(source.get(member)).get("name")).empty();
  }
  int ways(const Data& data) const {
    return (refers(data.secret) ? 1 : 0) + (text(data.base64).empty() ? 0 : 1) + (text(data.text).empty() ? 0 : 1);
  }
};

// What Go's decoder has written when it meets the first character that it cannot read: whole groups of four, and a
// group with proper padding if the fault comes after it. Upstream measures this as well.
std::size_t bytes_before_fault(string_view encoded) {
  const auto is_line_end = [](char c) { return c == '\r' || c == '\n'; };
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  std::size_t at = 0, letters = 0, padding = 0;
  for (; at < encoded.size() && (is_letter(encoded[at]) || is_line_end(encoded[at])); ++at)
    letters += is_line_end(encoded[at]) ? 0 : 1;
  for (; at < encoded.size() && (encoded[at] == '=' || is_line_end(encoded[at])); ++at)
    padding += encoded[at] == '=' ? 1 : 0;
  const std::size_t rest = letters % 4, padded = rest >= 2 && padding >= 4 - rest ? rest - 1 : 0;
  return letters / 4 * 3 + padded;
}

std::size_t length_of(const CloudInitAt& at, const Data& data) {
  if (const string_view text = at.text(data.text); !text.empty()) return text.size();
  const string_view encoded = at.text(data.base64);
  const auto decoded = base64_decode_lenient(encoded);
  return decoded ? decoded->size() : bytes_before_fault(encoded);
}

template <const Data& data>
void base64_is_readable(const CloudInitAt& at, Causes& causes) {
  if (!base64_decode_lenient(at.text(data.base64)))
    causes.invalid(at.place.field(data.base64),
                   fmt::format("{} must be base64; encode the data, or set {} instead", data.base64, data.text));
}

template <const Data& data>
void comes_one_way(const CloudInitAt& at, Causes& causes) {
  if (at.ways(data) > 1)
    causes.invalid(at.place, fmt::format("{} is set more than once; {}, {} and {} are mutually exclusive", data.what,
                                         data.secret, data.base64, data.text));
}

template <const Data& data>
void is_short(const CloudInitAt& at, Causes& causes) {
  if (const std::size_t bytes = length_of(at, data); bytes > data_bytes_max)
    causes.invalid(at.place, fmt::format("the {} has {} bytes, at most {} are supported; store it in a Secret and set "
                                         "{}",
                                         data.what, bytes, data_bytes_max, data.secret));
}

void says_something(const CloudInitAt& at, Causes& causes) {
  if (at.ways(user_data) == 0 && at.ways(network_data) == 0)
    causes.invalid(at.place, "user data or network data is required; set one of them, or remove the volume");
}

constexpr RuleOn<CloudInitAt> cloud_init_rows[] = {
    {"CLI-01", "userDataBase64 must be base64", "volumes[].cloudInitNoCloud.userDataBase64",
     base64_is_readable<user_data>},
    {"CLI-02", "the sources of user data are mutually exclusive", "volumes[].cloudInitNoCloud",
     comes_one_way<user_data>},
    {"CLI-03", "user data must have at most 2048 bytes", "volumes[].cloudInitNoCloud", is_short<user_data>},
    {"CLI-04", "networkDataBase64 must be base64", "volumes[].cloudInitNoCloud.networkDataBase64",
     base64_is_readable<network_data>},
    {"CLI-05", "the sources of network data are mutually exclusive", "volumes[].cloudInitNoCloud",
     comes_one_way<network_data>},
    {"CLI-06", "network data must have at most 2048 bytes", "volumes[].cloudInitNoCloud", is_short<network_data>},
    {"CLI-07", "user data or network data is required", "volumes[].cloudInitNoCloud", says_something},
};

}  // namespace

void check_cloud_init(const api::kubevirt::Volume& volume, const Place& place, Causes& causes) {
  for (const string_view kind : {string_view("cloudInitNoCloud"), string_view("cloudInitConfigDrive")})
    if (const View source(volume.get(kind)); source) {
      const Place at = place.field(kind);
      return ask_all<cloud_init_rows>(CloudInitAt{.source = source, .place = at}, causes);
    }
}

void list_cloud_init_rules(std::vector<RuleInfo>& out) { list_rows<cloud_init_rows>(out); }

}  // namespace vg::admission
