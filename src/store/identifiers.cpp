#include "store/identifiers.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace vg::store {
namespace {

constexpr char mark = '\xff';
constexpr std::size_t text_bytes = 36;
constexpr std::size_t value_bytes = 16;
using Value = std::array<unsigned char, value_bytes>;

// Where the two digits of each byte stand.
constexpr std::array<std::uint8_t, value_bytes> places = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
constexpr std::size_t first_dash = 8;

// Digits in lower case only: the text must come back as it was.
constexpr auto digit_values = [] {
  std::array<std::int16_t, 256> values{};
  values.fill(-1);
  for (int digit = 0; digit < 16; ++digit)
    values[static_cast<unsigned char>("0123456789abcdef"[digit])] = static_cast<std::int16_t>(digit);
  return values;
}();
constexpr auto digit_pairs = [] {
  std::array<std::array<char, 2>, 256> pairs{};
  for (unsigned byte = 0; byte < 256; ++byte)
    pairs[byte] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return pairs;
}();

// `text` has at least 36 characters.
bool read_identifier(const char* text, Value& value) {
  if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return false;
  int bad = 0;
  for (std::size_t i = 0; i < value_bytes; ++i) {
    const int high = digit_values[static_cast<unsigned char>(text[places[i]])];
    const int low = digit_values[static_cast<unsigned char>(text[places[i] + 1])];
    bad |= high | low;  // negative when one of them is
    value[i] = static_cast<unsigned char>((high & 15) << 4 | (low & 15));
  }
  return bad >= 0;
}

void write_identifier(char* text, const Value& value) {
  for (const auto dash : {8, 13, 18, 23}) text[dash] = '-';
  for (std::size_t i = 0; i < value_bytes; ++i) std::memcpy(text + places[i], digit_pairs[value[i]].data(), 2);
}

}  // namespace

std::size_t shorten_identifiers(std::string_view text, std::string& out) {
  if (text.find(mark) != std::string_view::npos) return 0;
  std::size_t found = 0, copied = 0;
  Value value;
  for (auto dash = text.find('-', first_dash); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    const auto start = dash - first_dash;
    if (start < copied || text.size() - start < text_bytes || !read_identifier(text.data() + start, value)) continue;
    out.append(text, copied, start - copied);
    out.push_back(mark);
    out.append(reinterpret_cast<const char*>(value.data()), value.size());
    copied = start + text_bytes;
    ++found;
    dash = copied - 1;
  }
  if (found > 0) out.append(text, copied);
  return found;
}

void restore_identifiers(char* bytes, std::size_t size, std::size_t identifiers) {
  char* to = bytes;
  const char* from = bytes + identifiers * identifier_saving;
  const char* const end = bytes + size;
  // What is written never reaches what is still to be read: it is behind by what the identifiers to come will need.
  for (; identifiers > 0; --identifiers) {
    const auto* next = static_cast<const char*>(std::memchr(from, mark, static_cast<std::size_t>(end - from)));
    if (next == nullptr) return;
    const auto plain = static_cast<std::size_t>(next - from);
    std::memmove(to, from, plain);
    Value value;
    std::memcpy(value.data(), next + 1, value.size());
    write_identifier(to + plain, value);
    to += plain + text_bytes;
    from = next + 1 + value.size();
  }
}

}  // namespace vg::store
