// Quantities come from every object that a user sends. Whatever the text: no crash, no undefined behaviour, and what is
// accepted keeps its value through printing, comparison and arithmetic.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"
#include "base/quantity.h"

namespace {

void expect(bool ok) {
  if (!ok) std::abort();
}

void round_trip(const vg::Quantity& quantity) {
  // The first printing may change the family of suffixes (a binary value without a binary suffix reads as a decimal
  // one); from then on the text stays what it is.
  const auto again = vg::Quantity::parse(quantity.canonical());
  expect(again.has_value() && *again == quantity);
  const auto settled = vg::Quantity::parse(again->canonical());
  expect(settled.has_value() && *settled == quantity && settled->canonical() == again->canonical());
  if (again->format() == quantity.format()) expect(again->canonical() == quantity.canonical());
  const auto as_written = vg::Quantity::parse(quantity.to_string());
  expect(as_written.has_value() && *as_written == quantity);
}

void arithmetic(const vg::Quantity& a, const vg::Quantity& b) {
  expect((a < b) == (b > a) && (a > b) == (b < a));
  expect((a == b) == ((a <=> b) == 0));
  expect(a + b == b + a);
  expect(a + b - b == a);
  expect((a - b).sign() == ((a > b) - (a < b)));
  expect(a * 3 == a + a + a);
  expect(-(-a) == a);
  expect((a * INT64_MIN).sign() == -a.sign());
  if (const auto fast = a.as_int64()) expect(vg::Quantity::from_int(*fast) == a && *fast == a.value());
  for (int scale : {-30, -9, -3, 0, 3, 30})
    expect((a.scaled_value(scale) > 0) - (a.scaled_value(scale) < 0) == a.sign());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto split = text.find('|');
  const auto first = vg::Quantity::parse_json(text.substr(0, split));
  if (!first) return 0;
  round_trip(*first);
  const auto second =
      vg::Quantity::parse_json(split == std::string_view::npos ? std::string_view("1m") : text.substr(split + 1));
  if (!second) return 0;
  round_trip(*second);
  arithmetic(*first, *second);
  return 0;
}
