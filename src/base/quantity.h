// Amounts of memory, CPU and the like, with the exact semantics of Kubernetes' resource.Quantity: what is accepted, how
// it is rounded, which family of suffixes a value remembers, and how it is printed.
//
// A value is an int64 and a power of ten; only what does not fit there goes to shared, immutable storage of any size.
// So a Quantity is small, cheap to copy, and allocates nothing in practice.
//
// Knowing differences from upstream, all far outside of sensible values:
// - value() and its relatives saturate where upstream returns 0 or wraps around ("10E" is not 0 bytes);
// - decimal values from 1e21 on keep their suffix E ("1000E") where upstream loses the suffix ("1");
// - exponents, digits and length are bounded (see limits.h).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/parsed.h"

namespace vg {

class Quantity {
 public:
  enum class Format : std::uint8_t {
    decimal_si,        // 12M, 1500m
    binary_si,         // 12Mi
    decimal_exponent,  // 12e6
  };

  Quantity() = default;  // 0
  static Quantity from_int(std::int64_t value, Format format = Format::decimal_si);
  static Quantity from_milli(std::int64_t value, Format format = Format::decimal_si);

  // Sign, digits with an optional point, suffix; nothing around it. As upstream, digits may be missing ("Ki" is 0).
  static Parsed<Quantity> parse(std::string_view text);
  // The content of a JSON string, around which upstream ignores blanks, or the text of a JSON number.
  static Parsed<Quantity> parse_json(std::string_view text);
  // A JSON number whose text is gone.
  static Parsed<Quantity> from_double(double value);

  // As upstream writes it: some spellings that are not canonical survive until the value changes ("+1", "1.500").
  std::string to_string() const;
  // The largest suffix that leaves no fraction.
  std::string canonical() const;

  // In units of 10^scale, rounded away from zero, saturated.
  std::int64_t scaled_value(int scale) const;
  std::int64_t value() const { return scaled_value(0); }
  std::int64_t milli_value() const { return scaled_value(-3); }
  // Upstream's fast conversion: only values that it keeps as integers have it ("1Gi" and "1k" do; "1Pi", "1.5Gi" and
  // "1.0", although whole, do not).
  std::optional<std::int64_t> as_int64() const;
  int sign() const;
  bool is_zero() const { return sign() == 0; }
  Format format() const { return format_; }

  // The format of a sum or difference is that of the left side, or of the right side if the left is zero.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity& operator*=(std::int64_t factor);
  Quantity operator-() const;
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  friend Quantity operator*(Quantity a, std::int64_t factor) { return a *= factor; }

  // By value, whatever the spelling: 1 == 1000m.
  std::strong_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  struct Decimal;  // any number of digits
  struct Extra;
  Decimal decimal() const;
  bool is_wide() const;
  void set(Decimal value);
  void drop_text();
  void add(const Quantity& other, bool negated);

  std::int64_t value_ = 0;
  std::int32_t scale_ = 0;  // power of ten
  Format format_ = Format::decimal_si;
  bool promoted_ = false;               // upstream would hold it as a big decimal; only as_int64 shows that
  std::shared_ptr<const Extra> extra_;  // a value that does not fit above, or a spelling to keep
};

}  // namespace vg
