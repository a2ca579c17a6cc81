// Protobuf's wire format: a message is a run of fields, each a number, a wire type and a value. What a number means is
// not said in the bytes; whoever reads them must know.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vg::api::wire {

enum class Form : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Item {
  std::uint32_t number = 0;  // 0: there was none
  Form form = Form::bytes;
  std::uint64_t scalar = 0;  // of every form but bytes
  std::string_view bytes = {};
};

// Nothing when the bytes end inside of it, or when it is longer than 64 bits can be.
std::optional<std::uint64_t> take_varint(std::string_view& rest);

// Reads one field after the other, without looking into them.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // Nothing at the end, or where the bytes are no fields any more.
  std::optional<Item> next();
  bool malformed() const { return malformed_; }

 private:
  std::optional<Item> give_up() {
    malformed_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  bool malformed_ = false;
};

// The fields of a small message by their numbers, from 1 to as many as it has forms.
template <std::size_t N>
class Parts {
 public:
  // Of the number 0 when the field is absent.
  const Item& at(std::uint32_t number) const { return items_[number - 1]; }
  void put(const Item& item) { items_[item.number - 1] = item; }

 private:
  std::array<Item, N> items_;
};

// Of a field that occurs again the last one counts. Nothing when the bytes are malformed or a field has another form
// than it must.
template <std::size_t N>
std::optional<Parts<N>> read_parts(std::string_view bytes, const std::array<Form, N>& forms) {
  Parts<N> parts;
  Reader reader(bytes);
  while (const auto item = reader.next()) {
    if (item->number > N) continue;
    if (item->form != forms[item->number - 1]) return std::nullopt;
    parts.put(*item);
  }
  return reader.malformed() ? std::nullopt : std::optional(parts);
}

// A message that grows field by field.
class Message {
 public:
  void text(std::uint32_t number, std::string_view value) {
    begin_text(number, value.size());
    out_.append(value);
  }
  // The value itself follows elsewhere.
  void begin_text(std::uint32_t number, std::size_t bytes) {
    key(number, Form::bytes);
    varint(bytes);
  }
  void message(std::uint32_t number, const Message& value) { text(number, value.out_); }
  // Negative numbers take ten bytes, whatever their type.
  void integer(std::uint32_t number, std::int64_t value) {
    key(number, Form::varint);
    varint(static_cast<std::uint64_t>(value));
  }
  void number(std::uint32_t number, double value) {
    key(number, Form::fixed64);
    for (auto bits = std::bit_cast<std::uint64_t>(value), i = std::uint64_t{0}; i < 8; ++i, bits >>= 8)
      out_.push_back(static_cast<char>(bits & 0xff));
  }
  // Maps are lists of such entries.
  void entry(std::uint32_t number, std::string_view name, const Message& value) {
    Message named;
    named.text(1, name);
    named.message(2, value);
    message(number, named);
  }

  bool empty() const { return out_.empty(); }
  std::string take() { return std::move(out_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void key(std::uint32_t number, Form form) { varint(std::uint64_t{number} << 3 | static_cast<std::uint8_t>(form)); }

  std::string out_;
};

}  // namespace vg::api::wire
