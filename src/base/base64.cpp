#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/limits.h"

namespace vg {
namespace {

constexpr std::string_view standard_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using LetterPairs = std::array<std::array<char, 2>, 64 * 64>;
constexpr LetterPairs pairs_of(std::string_view letters) {
  LetterPairs pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {letters[i / 64], letters[i % 64]};
  return pairs;
}
constexpr LetterPairs standard_pairs = pairs_of(standard_alphabet);
constexpr LetterPairs url_pairs = pairs_of(url_alphabet);

constexpr bool is_padded(Base64 form) { return form != Base64::url_raw; }

constexpr std::uint8_t no_value = 0xFF;
constexpr std::array<std::uint8_t, 256> values_of(std::string_view letters) {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_value);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    values[static_cast<std::uint8_t>(letters[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr auto standard_values = values_of(standard_alphabet);
constexpr auto url_values = values_of(url_alphabet);

std::optional<std::string> decode(std::string_view text, Base64 form, bool any_last_bits) {
  if (text.size() > limits::base64_bytes_max) return std::nullopt;
  if (is_padded(form)) {
    if (text.size() % 4 != 0) return std::nullopt;
    if (text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  const auto& values = form == Base64::standard ? standard_values : url_values;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;  // of bits not yet written
  for (char c : text) {
    const std::uint8_t value = values[static_cast<std::uint8_t>(c)];
    if (value == no_value) return std::nullopt;
    bits = bits << 6 | value;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  if (!any_last_bits && (bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

// Three bytes at a time, by two look-ups of two letters each: every patch of a mutating webhook goes through here.
void append_base64(std::string& out, std::string_view bytes, Base64 form) {
  const LetterPairs& pairs = form == Base64::standard ? standard_pairs : url_pairs;
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + (bytes.size() + 2) / 3 * 4, [&](char* text, std::size_t) {
    char* to = text + before;
    const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    for (; left >= 3; left -= 3, in += 3, to += 4) {
      const std::uint32_t bits = std::uint32_t{in[0]} << 16 | std::uint32_t{in[1]} << 8 | in[2];
      std::memcpy(to, pairs[bits >> 12].data(), 2);
      std::memcpy(to + 2, pairs[bits & 0xFFF].data(), 2);
    }
    if (left == 0) return static_cast<std::size_t>(to - text);
    const std::uint32_t bits = std::uint32_t{in[0]} << 16 | (left == 2 ? std::uint32_t{in[1]} << 8 : 0);
    to = std::copy_n(pairs[bits >> 12].data(), 2, to);
    if (left == 2) *to++ = pairs[bits & 0xFFF][0];
    if (is_padded(form))
      for (; left < 3; ++left) *to++ = '=';
    return static_cast<std::size_t>(to - text);
  });
}

std::string base64_encode(std::string_view bytes, Base64 form) {
  std::string text;
  append_base64(text, bytes, form);
  return text;
}

std::optional<std::string> base64_decode(std::string_view text, Base64 form) { return decode(text, form, false); }

std::optional<std::string> base64_decode_lenient(std::string_view text) {
  if (text.size() > limits::base64_bytes_max) return std::nullopt;
  if (text.find_first_of("\r\n") == std::string_view::npos) return decode(text, Base64::standard, true);
  std::string joined;
  std::ranges::copy_if(text, std::back_inserter(joined), [](char c) { return c != '\r' && c != '\n'; });
  return decode(joined, Base64::standard, true);
}

}  // namespace vg
