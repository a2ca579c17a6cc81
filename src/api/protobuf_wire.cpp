#include "api/protobuf_wire.h"

namespace vg::api::wire {
namespace {

// Little-endian, of as many bytes as `size` says.
std::optional<std::uint64_t> take_fixed(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  rest.remove_prefix(size);
  return value;
}

std::optional<std::string_view> take_bytes(std::string_view& rest) {
  const auto size = take_varint(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  const std::string_view bytes = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<Item> Reader::next() {
  constexpr std::uint64_t number_max = (std::uint64_t{1} << 29) - 1;
  if (rest_.empty() || malformed_) return std::nullopt;
  const auto key = take_varint(rest_);
  if (!key || *key >> 3 == 0 || *key >> 3 > number_max) return give_up();
  Item item{.number = static_cast<std::uint32_t>(*key >> 3), .form = static_cast<Form>(*key & 7)};
  if (item.form == Form::bytes) {
    const auto bytes = take_bytes(rest_);
    if (!bytes) return give_up();
    item.bytes = *bytes;
    return item;
  }
  std::optional<std::uint64_t> scalar;
  if (item.form == Form::varint) scalar = take_varint(rest_);
  if (item.form == Form::fixed64) scalar = take_fixed(rest_, 8);
  if (item.form == Form::fixed32) scalar = take_fixed(rest_, 4);
  if (!scalar) return give_up();  // also groups, which protobuf gave up long before Kubernetes began
  item.scalar = *scalar;
  return item;
}

}  // namespace vg::api::wire
