#include "json/write.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "json/sorted_members.h"

namespace vg::json {
namespace {

// Appends through a bare pointer: a capacity check per token is all that the everyday token pays.
class Sink {
 public:
  // Room for so many bytes is made first: whoever writes one short text, and keeps many of them, asks for little.
  explicit Sink(std::string& out, std::size_t room = min_grow) : out_(out), used_(out.size()) { grow(room); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() { out_.resize(used_); }

  void put(char c) {
    ensure(1);
    data_[used_++] = c;
  }
  void put(std::string_view text) {
    ensure(text.size());
    std::memcpy(data_ + used_, text.data(), text.size());
    used_ += text.size();
  }
  // Room for `count` bytes that the caller fills and then commits with advance_to().
  char* room(std::size_t count) {
    ensure(count);
    return data_ + used_;
  }
  void advance_to(const char* end) { used_ = static_cast<std::size_t>(end - data_); }

 private:
  static constexpr std::size_t min_grow = 512;

  void ensure(std::size_t count) {
    if (count > capacity_ - used_) [[unlikely]]
      grow(count);
  }
  void grow(std::size_t count) {
    const std::size_t wanted = std::max({used_ + count, out_.capacity(), 2 * used_});
    // Everything up to used_ is already in place; the rest is filled later or cut off by the destructor.
    out_.resize_and_overwrite(wanted, [](char*, std::size_t size) { return size; });
    data_ = out_.data();
    capacity_ = wanted;
  }

  std::string& out_;
  char* data_ = nullptr;
  std::size_t used_;
  std::size_t capacity_ = 0;
};

constexpr std::uint64_t ones = 0x0101010101010101;
constexpr std::uint64_t highs = 0x8080808080808080;

constexpr bool is_plain(unsigned char byte, bool html) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' &&
         !(html && (byte == '<' || byte == '>' || byte == '&'));
}

template <bool Html>
constexpr std::array<bool, 256> plain_table = [] {
  std::array<bool, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) table[byte] = is_plain(static_cast<unsigned char>(byte), Html);
  return table;
}();

constexpr std::uint64_t bytes_equal(std::uint64_t word, char wanted) {
  const std::uint64_t difference = word ^ (ones * static_cast<unsigned char>(wanted));
  return (difference - ones) & ~difference & highs;
}

// The high bit of every byte that needs a closer look; bits above the lowest set one may be false alarms.
template <bool Html>
std::uint64_t special_bytes(std::uint64_t word) {
  std::uint64_t special = (word & highs) | ((word - ones * 0x20) & ~word & highs);
  special |= bytes_equal(word, '"') | bytes_equal(word, '\\');
  if constexpr (Html) special |= bytes_equal(word, '<') | bytes_equal(word, '>') | bytes_equal(word, '&');
  return special;
}

struct Run {
  const char* at;  // where reading stopped: at the end or at a byte that is not plain
  char* out;
};

// Copies the bytes that need no escape: eight at a time, looked at while they pass, since most strings have no others.
template <bool Html>
Run copy_plain(const char* at, const char* end, char* out) {
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8, out += 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      std::memcpy(out, &word, 8);
      if (const std::uint64_t special = special_bytes<Html>(word)) {
        const int plain = std::countr_zero(special) >> 3;
        return {at + plain, out + plain};
      }
    }
  }
  while (at != end && plain_table<Html>[static_cast<unsigned char>(*at)]) *out++ = *at++;
  return {at, out};
}

constexpr char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

void put_ascii_escape(Sink& sink, char c) {
  static constexpr std::string_view digits = "0123456789abcdef";
  char* out = sink.room(6);
  *out++ = '\\';
  if (const char letter = short_escape(c)) {
    *out++ = letter;
  } else {
    for (const char part : {'u', '0', '0', digits[(c >> 4) & 0xF], digits[c & 0xF]}) *out++ = part;
  }
  sink.advance_to(out);
}

// Writes the character at `at`, which is not plain, and returns where the next one starts.
const char* put_special(Sink& sink, const char* at, const char* end) {
  if (static_cast<signed char>(*at) >= 0) {
    put_ascii_escape(sink, *at);
    return at + 1;
  }
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  const std::size_t length = utf8_sequence_length(rest);
  if (length == 0) {
    sink.put("\\ufffd");
    return at + 1;
  }
  const std::string_view character = rest.substr(0, length);
  if (character == "\u2028") {
    sink.put("\\u2028");
  } else if (character == "\u2029") {
    sink.put("\\u2029");
  } else {
    sink.put(character);
  }
  return at + length;
}

template <bool Html>
void put_string(Sink& sink, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  char* out = sink.room(text.size() + 2);
  *out++ = '"';
  for (;;) {
    const Run run = copy_plain<Html>(at, end, out);
    out = run.out;
    if (run.at == end) break;
    sink.advance_to(out);
    at = put_special(sink, run.at, end);
    out = sink.room(static_cast<std::size_t>(end - at) + 1);
  }
  *out++ = '"';
  sink.advance_to(out);
}

// The shortest digits that read back as the same number, laid out as Go does: with an exponent only below 1e-6 and
// from 1e21 on, and without leading zeros in it.
void put_double(Sink& sink, double number) {
  if (!std::isfinite(number)) return sink.put("null");  // never parsed; JSON has no word for it
  if (std::signbit(number)) sink.put('-');
  if (number == 0) return sink.put('0');
  std::array<char, 32> text;
  const auto end = std::to_chars(text.begin(), text.end(), std::abs(number), std::chars_format::scientific).ptr;
  const auto mark = std::find(text.begin(), end, 'e');
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);
  std::array<char, 32> digits;
  const auto digits_end = std::remove_copy(text.begin(), mark, digits.begin(), '.');
  const auto count = static_cast<int>(digits_end - digits.begin());

  char* out = sink.room(48);
  const auto copy = [&](int from, int to) { out = std::copy(digits.begin() + from, digits.begin() + to, out); };
  if (exponent < -6 || exponent >= 21) {
    copy(0, 1);
    if (count > 1) *out++ = '.';
    copy(1, count);
    *out++ = 'e';
    if (exponent > 0) *out++ = '+';
    out = std::to_chars(out, out + 5, exponent).ptr;
  } else if (exponent < 0) {
    *out++ = '0';
    *out++ = '.';
    out = std::fill_n(out, -exponent - 1, '0');
    copy(0, count);
  } else {
    const int whole = std::min(count, exponent + 1);
    copy(0, whole);
    out = std::fill_n(out, exponent + 1 - whole, '0');
    if (count > whole) *out++ = '.';
    copy(whole, count);
  }
  sink.advance_to(out);
}

template <class Integer>
void put_integer(Sink& sink, Integer number) {
  char* const out = sink.room(20);
  sink.advance_to(std::to_chars(out, out + 20, number).ptr);
}

template <bool Html>
class Writer {
 public:
  Writer(Sink& sink, bool sort_keys) : sink_(sink), sort_keys_(sort_keys) {}

  void value(const Value& value) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return sink_.put("null");
      case boost::json::kind::bool_:
        return sink_.put(value.get_bool() ? std::string_view("true") : std::string_view("false"));
      case boost::json::kind::int64:
        return put_integer(sink_, value.get_int64());
      case boost::json::kind::uint64:
        return put_integer(sink_, value.get_uint64());
      case boost::json::kind::double_:
        return put_double(sink_, value.get_double());
      case boost::json::kind::string:
        return put_string<Html>(sink_, value.get_string());
      case boost::json::kind::array:
        return array(value.get_array());
      case boost::json::kind::object:
        return object(value.get_object());
    }
  }

  void array(const Array& array) {
    char before = '[';
    for (const Value& element : array) {
      sink_.put(before);
      before = ',';
      value(element);
    }
    sink_.put(array.empty() ? std::string_view("[]") : std::string_view("]"));
  }

  void object(const Object& object) {
    if (object.empty()) return sink_.put("{}");
    char before = '{';
    if (sort_keys_) {
      const std::size_t first = push_sorted(object);
      for (std::size_t i = first; i < first + object.size(); ++i) put_member(std::exchange(before, ','), *sorted_[i]);
      sorted_.resize(first);
    } else {
      for (const auto& member : object) put_member(std::exchange(before, ','), member);
    }
    sink_.put('}');
  }

 private:
  using Member = Object::value_type;

  // Puts the members of `object` in order at the end of sorted_, above those of the objects around it.
  std::size_t push_sorted(const Object& object) {
    const std::size_t first = sorted_.size();
    for (const Member& member : object) sorted_.push_back(&member);
    sort_members(std::span(sorted_).subspan(first));
    return first;
  }

  void put_member(char before, const Member& member) {
    sink_.put(before);
    put_string<Html>(sink_, member.key());
    sink_.put(':');
    value(member.value());
  }

  Sink& sink_;
  bool sort_keys_;
  std::vector<const Member*> sorted_ = {};
};

template <class Write>
void with_writer(std::string& out, const WriteOptions& options, Write write) {
  Sink sink(out);
  if (options.escape_html) {
    write(Writer<true>(sink, options.sort_keys));
  } else {
    write(Writer<false>(sink, options.sort_keys));
  }
}

}  // namespace

void write(const Value& value, std::string& out, const WriteOptions& options) {
  with_writer(out, options, [&](auto writer) { writer.value(value); });
}

void write(const Object& object, std::string& out, const WriteOptions& options) {
  with_writer(out, options, [&](auto writer) { writer.object(object); });
}

void write(const Array& array, std::string& out, const WriteOptions& options) {
  with_writer(out, options, [&](auto writer) { writer.array(array); });
}

std::string to_text(const Value& value, const WriteOptions& options) {
  if (const auto* number = value.if_int64()) return std::to_string(*number);
  std::string out;
  if (const String* text = value.if_string())
    write_string(*text, out, options);
  else
    write(value, out, options);
  return out;
}

void write_string(std::string_view text, std::string& out, const WriteOptions& options) {
  Sink sink(out, text.size() + 2);
  options.escape_html ? put_string<true>(sink, text) : put_string<false>(sink, text);
}

std::size_t size_hint(const Value& value) {
  static constexpr std::size_t scalar_bytes = 8;
  if (const String* string = value.if_string()) return string->size() + 3;
  if (const Array* array = value.if_array()) {
    std::size_t bytes = 2;
    for (const Value& element : *array) bytes += size_hint(element) + 1;
    return bytes;
  }
  if (const Object* object = value.if_object()) {
    std::size_t bytes = 2;
    for (const auto& member : *object) bytes += member.key().size() + size_hint(member.value()) + 4;
    return bytes;
  }
  return scalar_bytes;
}

}  // namespace vg::json
