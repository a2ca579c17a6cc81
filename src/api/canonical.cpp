#include "api/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/canonical_place.h"
#include "api/canonical_words.h"
#include "api/go_struct.h"
#include "base/base64.h"
#include "base/duration.h"
#include "base/net.h"
#include "base/quantity.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "json/sorted_members.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::String;
using json::Value;

// A set of fields of one type. The largest type has 43; `plans` refuses one that does not fit.
using FieldBits = std::uint64_t;
constexpr std::size_t fields_max = 64;

constexpr FieldBits bit(std::size_t index) { return FieldBits{1} << index; }
constexpr FieldBits bits(std::size_t first, std::size_t count) {
  return count == 0 ? 0 : (~FieldBits{0} >> (fields_max - count)) << first;
}

constexpr bool is_written_when_absent(const Field& field) {
  if (field.omission == Omission::always) return true;
  return field.omission == Omission::empty && !field.pointer && is_go_struct(field.shape);
}

// What of a type can be worked out ahead, so that encoding visits only fields that are there or must be.
struct Plan {
  FieldBits written_when_absent = 0;
  bool has_pointer_embeds = false;
  bool has_addresses = false;  // the one Go type whose decoder rewrites some of its strings
};

const Plan& plan_of(const Type& type) {
  static const std::vector<Plan> plans = [] {
    std::vector<Plan> made(types().size());
    for (std::size_t at = 0; at < made.size(); ++at) {
      const Type& each = types()[at];
      if (each.fields.size() > fields_max) std::abort();  // a mistake in schema/ that every test run meets
      for (std::size_t index = 0; index < each.fields.size(); ++index) {
        if (is_written_when_absent(each.fields[index])) made[at].written_when_absent |= bit(index);
      }
      made[at].has_pointer_embeds = std::ranges::any_of(each.embeds, &Embed::pointer);
      made[at].has_addresses = each.name == "kubevirt.VirtualMachineInstanceSpec";
    }
    return made;
  }();
  return plans[static_cast<std::size_t>(&type - types().data())];
}

// The fields of a struct that Go embeds by pointer exist only once one of them was seen.
FieldBits written_when_absent(const Type& type, const Plan& plan, FieldBits present) {
  FieldBits written = plan.written_when_absent & ~present;
  if (!plan.has_pointer_embeds) return written;
  for (const Embed& embed : type.embeds) {
    const FieldBits embedded = bits(embed.first, embed.count);
    if (embed.pointer && (present & embedded) == 0) written &= ~embedded;
  }
  return written;
}

template <class Integer>
std::string integer_words() {
  return fmt::format("a whole number from {} to {}", std::numeric_limits<Integer>::min(),
                     std::numeric_limits<Integer>::max());
}

class Canonicalizer {
 public:
  explicit Canonicalizer(Empties empties) : empties_(empties) {}

  bool node(Value& value, const Node& node, const Place& place) {
    if (value.is_null()) {
      if (node.pointer) return true;
      return null_value(value, node, place);
    }
    switch (node.shape) {
      case Shape::string:
        return value.is_string() || refuse(value, "a string", place);
      case Shape::boolean:
        return value.is_bool() || refuse(value, "true or false", place);
      case Shape::int_:
      case Shape::int64:
        return integer<std::int64_t>(value, place);
      case Shape::int32:
        return integer<std::int32_t>(value, place);
      case Shape::uint_:
      case Shape::uint64:
        return integer<std::uint64_t>(value, place);
      case Shape::uint8:
        return integer<std::uint8_t>(value, place);
      case Shape::uint32:
        return integer<std::uint32_t>(value, place);
      case Shape::float32:
        return number<float>(value, place);
      case Shape::float64:
        return number<double>(value, place);
      case Shape::bytes:
        return bytes(value, place);
      case Shape::quantity:
        return quantity(value, place);
      case Shape::time:
        return time(value, place);
      case Shape::micro_time:
        return micro_time(value, place);
      case Shape::duration:
        return duration(value, place);
      case Shape::int_or_string:
        return value.is_string() || integer<std::int32_t>(value, place, "a string or ");
      case Shape::raw:
      case Shape::fields:
        return true;
      case Shape::structure:
        return structure(value, *node.type, place);
      case Shape::list:
        return list(value, *node.element, place);
      case Shape::map:
        return map(value, *node.element, place);
    }
    return true;
  }

  bool structure(Value& value, const Type& type, const Place& place) {
    Object* object = value.if_object();
    if (!object) return refuse(value, "an object", place);
    std::array<Value*, fields_max> slots;  // NOLINT: filled where `present` says so
    FieldBits present = 0;
    bool in_order = true;  // as far as seen, the members are what shall be written
    for (auto& member : *object) {
      const std::string_view key = member.key();
      const Field* field = type.find(key);
      if (!field) {
        in_order = false;
        field = type.find_fold(key);
        if (!field) continue;
      }
      const auto index = static_cast<std::size_t>(field - type.fields.data());
      in_order = in_order && (present >> index) == 0;
      if (present & bit(index)) [[unlikely]] {
        if (!merge(*slots[index], member.value(), *field, place.field(field->name))) return false;
        continue;
      }
      present |= bit(index);
      slots[index] = &member.value();
    }
    const Plan& plan = plan_of(type);
    FieldBits written = present;
    for (FieldBits rest = present; rest != 0; rest &= rest - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(rest));
      const Field& field = type.fields[index];
      Value& member = *slots[index];
      if (!node(member, field, place.field(field.name))) return false;
      if (is_left_out(member, field) && !is_kept(member, type, plan, index)) written &= ~bit(index);
    }
    const FieldBits added = written_when_absent(type, plan, present);
    if (!in_order || added != 0 || written != present) rebuild(*object, type, slots, written, added);
    if (plan.has_addresses) normalize_addresses(*object);
    return true;
  }

  Status take_error() { return std::move(error_); }

 private:
  // Members in the order of the type: those `written` move over from their slots, those `added` are zero.
  void rebuild(Object& object, const Type& type, const std::array<Value*, fields_max>& slots, FieldBits written,
               FieldBits added) {
    Object fresh(static_cast<std::size_t>(std::popcount(written | added)), object.storage());
    for (FieldBits rest = written | added; rest != 0; rest &= rest - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(rest));
      const Field& field = type.fields[index];
      if (added & bit(index)) {
        put_zero(fresh.emplace(field.name, nullptr).first->value(), field);
      } else {
        fresh.emplace(field.name, std::move(*slots[index]));
      }
    }
    object.swap(fresh);
  }

  // Two members stand for one field because Go ignores the case of letters. It decodes the second one on top of the
  // first: structs and maps unite, everything else is replaced. What is replaced must still have been decodable.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  bool merge(Value& first, Value& second, const Node& node, const Place& place) {
    Object* into = first.if_object();
    Object* from = second.if_object();
    if (into && from && node.shape == Shape::map) return merge_maps(*into, *from, *node.element, place);
    if (into && from && node.shape == Shape::structure) return merge_structures(*into, *from, *node.type, place);
    if (second.is_null() && !null_clears(node)) return true;
    return replace(first, second, node, place);
  }

  bool merge_structures(Object& into, Object& from, const Type& type, const Place& place) {
    for (auto& member : from) {
      const Field* field = type.find_fold(member.key());
      if (!field) continue;
      auto [existing, is_new] = into.emplace(member.key(), nullptr);
      Value& target = existing->value();
      if (is_new) {
        target = std::move(member.value());
      } else if (!merge(target, member.value(), *field, place.field(field->name))) {
        return false;
      }
    }
    return true;
  }

  // Go starts every element of a map from zero, so that the second one replaces the first.
  bool merge_maps(Object& into, Object& from, const Node& element, const Place& place) {
    for (auto& member : from) {
      auto [existing, is_new] = into.emplace(member.key(), nullptr);
      const Place at = place.key(member.key());
      if (is_new) {
        existing->value() = std::move(member.value());
      } else if (!replace(existing->value(), member.value(), element, at)) {
        return false;
      }
    }
    return true;
  }

  bool replace(Value& first, Value& second, const Node& element, const Place& place) {
    if (!node(first, element, place)) return false;
    first = std::move(second);
    return true;
  }

  // To Go a null means "no value" for what can be nil or decodes itself, and "leave it alone" for everything else.
  static bool null_clears(const Node& node) {
    switch (node.shape) {
      case Shape::list:
      case Shape::map:
      case Shape::bytes:
      case Shape::quantity:
      case Shape::time:
      case Shape::micro_time:
      case Shape::duration:
        return true;
      default:
        return node.pointer;
    }
  }

  bool list(Value& value, const Node& element, const Place& place) {
    Array* array = value.if_array();
    if (!array) return refuse(value, "a list", place);
    Place at = place.item(0);
    for (Value& item : *array) {
      if (!node(item, element, at)) return false;
      ++at.index;
    }
    return true;
  }

  bool map(Value& value, const Node& element, const Place& place) {
    Object* object = value.if_object();
    if (!object) return refuse(value, "an object", place);
    bool sorted = true;
    std::string_view last;
    for (auto& member : *object) {
      const std::string_view key = member.key();
      sorted = sorted && last <= key;
      last = key;
      if (!node(member.value(), element, place.key(key))) return false;
    }
    if (!sorted) sort(*object);
    return true;
  }

  static void sort(Object& object) {
    std::vector<Object::value_type*> members;
    members.reserve(object.size());
    for (auto& member : object) members.push_back(&member);
    json::sort_members(std::span(members));
    Object fresh(object.size(), object.storage());
    for (auto* member : members) fresh.emplace(member->key(), std::move(member->value()));
    object.swap(fresh);
  }

  // --- addresses
  // ------------------------------------------------------------------------------------------------------

  static void normalize_addresses(Object& spec) {
    if (Object* dns = json::get_object(spec, "dnsConfig")) normalize_ips(json::get_array(*dns, "nameservers"));
    Value* interfaces = json::find_path(*spec.if_contains("domain"), {"devices", "interfaces"});
    for_each(json::as_array(interfaces), [](Value& interface) {
      if (Object* options = json::get_object(interface, "dhcpOptions")) {
        normalize_ips(json::get_array(*options, "ntpServers"));
      }
    });
    for_each(json::get_array(spec, "networks"), [](Value& network) {
      Value* cidr = json::find_path(network, {"pod", "vmNetworkCIDR"});
      const auto text = json::as_string(cidr);
      if (const auto read = text ? parse_cidr(*text, LeadingZeros::ignored) : std::nullopt)
        assign(*cidr, read->to_string());
    });
  }

  static void normalize_ips(Array* list) {
    for_each(list, [](Value& item) {
      const auto text = json::as_string(&item);
      if (const auto read = text ? parse_ip(*text, LeadingZeros::ignored) : std::nullopt)
        assign(item, read->to_string());
    });
  }

  template <class Act>
  static void for_each(Array* list, Act act) {
    if (list) std::ranges::for_each(*list, act);
  }

  // --- scalars -------------------------------------------------------------------------------------------------------

  // Go reads an integer from the digits themselves, so 1.0 and 1e3 are none.
  template <class Integer>
  bool integer(Value& value, const Place& place, std::string_view or_else = {}) {
    if (const std::int64_t* given = value.if_int64(); given && std::in_range<Integer>(*given)) return true;
    if (const std::uint64_t* given = value.if_uint64(); given && std::in_range<Integer>(*given)) {
      // One kind for what fits in both, so that equal numbers compare equal.
      if (*given <= INT64_MAX) value = static_cast<std::int64_t>(*given);
      return true;
    }
    return refuse(value, fmt::format("{}{}", or_else, integer_words<Integer>()), place);
  }

  template <class Float>
  bool number(Value& value, const Place& place) {
    if (!value.is_number()) return refuse(value, "a number", place);
    const auto given = value.to_number<double>();
    if (std::abs(given) > static_cast<double>(std::numeric_limits<Float>::max())) {
      return refuse(value, "a number of single precision", place);
    }
    // An integer that the type holds exactly may stay one: it prints the same.
    static constexpr std::int64_t exact_max = std::int64_t{1} << std::numeric_limits<Float>::digits;
    if (const std::int64_t* whole = value.if_int64(); whole && *whole >= -exact_max && *whole <= exact_max) return true;
    if constexpr (std::is_same_v<Float, float>) {
      // Go prints the fewest digits that tell this float from its neighbours, which are fewer than for the double.
      std::array<char, 32> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(given)).ptr;
      double shortest = given;
      std::from_chars(digits.data(), end, shortest);
      value = shortest;
    } else {
      value = given;
    }
    return true;
  }

  bool bytes(Value& value, const Place& place) {
    std::string decoded;
    if (const Array* array = value.if_array()) {
      // To Go a []byte is also a list of small numbers.
      for (const Value& item : *array) {
        const std::int64_t* byte = item.if_int64();
        if (!item.is_null() && !(byte && std::in_range<std::uint8_t>(*byte))) {
          return refuse(value, "base64 in a string", place);
        }
        decoded += byte ? static_cast<char>(*byte) : '\0';
      }
    } else if (const String* text = value.if_string()) {
      auto read = base64_decode_lenient(*text);
      if (!read) return refuse(value, "base64 in a string", place);
      decoded = std::move(*read);
    } else {
      return refuse(value, "base64 in a string", place);
    }
    assign(value, base64_encode(decoded));
    return true;
  }

  bool quantity(Value& value, const Place& place) {
    const auto read = read_quantity(value);
    if (!read) return refuse(value, quantity_words, place);
    assign(value, read->to_string());
    return true;
  }

  static Parsed<Quantity> read_quantity(const Value& value) {
    if (const String* text = value.if_string()) return Quantity::parse_json(*text);
    if (const std::int64_t* whole = value.if_int64()) return Quantity::from_int(*whole);
    if (!value.is_number()) return not_parsed({});
    if (const double* number = value.if_double()) return Quantity::from_double(*number);
    return Quantity::parse_json(json::to_text(value));
  }

  bool time(Value& value, const Place& place) {
    const String* text = value.if_string();
    const auto read = text ? parse_rfc3339(*text) : not_parsed({});
    if (!read || !has_four_digit_year(*read)) return refuse(value, time_words, place);
    if (read->seconds == zero_time_seconds) {
      value = nullptr;
    } else {
      assign(value, print_rfc3339(*read));
    }
    return true;
  }

  bool micro_time(Value& value, const Place& place) {
    const String* text = value.if_string();
    // Go's layout for it demands six digits after the point, no more and no less.
    const bool has_micros = text && text->size() > 26 && text->at(19) == '.' && !is_digit(text->at(26)) &&
                            std::all_of(text->begin() + 20, text->begin() + 26, is_digit);
    const auto read = has_micros ? parse_rfc3339(*text) : not_parsed({});
    if (!read || !has_four_digit_year(*read)) return refuse(value, micro_time_words, place);
    if (read->seconds == zero_time_seconds && read->nanoseconds == 0) {
      value = nullptr;
    } else {
      assign(value, print_rfc3339_micro(*read));
    }
    return true;
  }

  bool duration(Value& value, const Place& place) {
    const String* text = value.if_string();
    const auto read = text ? parse_duration(*text) : not_parsed({});
    if (!read) return refuse(value, duration_words, place);
    assign(value, print_duration(*read));
    return true;
  }

  // --- zero ----------------------------------------------------------------------------------------------------------

  // A null where Go has no pointer leaves the zero value. Only a duration decodes it itself, and finds no duration
  // there.
  bool null_value(Value& value, const Node& node, const Place& place) {
    if (node.shape == Shape::duration) return refuse(value, duration_words, place);
    put_zero(value, node);
    return true;
  }

  static void put_zero(Value& value, const Node& node) {
    if (node.pointer) {
      value = nullptr;
      return;
    }
    switch (node.shape) {
      case Shape::string:
        value.emplace_string();
        return;
      case Shape::boolean:
        value = false;
        return;
      case Shape::int_:
      case Shape::int32:
      case Shape::int64:
      case Shape::uint_:
      case Shape::uint8:
      case Shape::uint32:
      case Shape::uint64:
      case Shape::float32:
      case Shape::float64:
      case Shape::int_or_string:
        value = std::int64_t{0};
        return;
      case Shape::quantity:
        value.emplace_string() = "0";
        return;
      case Shape::duration:
        value.emplace_string() = "0s";
        return;
      case Shape::structure:
        put_zero_structure(value, *node.type);
        return;
      case Shape::bytes:
      case Shape::time:
      case Shape::micro_time:
      case Shape::raw:
      case Shape::fields:
      case Shape::list:
      case Shape::map:
        value = nullptr;
        return;
    }
  }

  static void put_zero_structure(Value& value, const Type& type) {
    Object& object = value.emplace_object();
    const FieldBits written = written_when_absent(type, plan_of(type), 0);
    object.reserve(static_cast<std::size_t>(std::popcount(written)));
    for (FieldBits rest = written; rest != 0; rest &= rest - 1) {
      const Field& field = type.fields[static_cast<std::size_t>(std::countr_zero(rest))];
      put_zero(object.emplace(field.name, nullptr).first->value(), field);
    }
  }

  static bool is_left_out(const Value& value, const Field& field) {
    if (field.omission == Omission::always) return false;
    if (field.pointer) return value.is_null();
    if (field.omission == Omission::empty && is_go_struct(field.shape)) return false;
    return is_zero(value, field);
  }

  // Of a value that would be left out.
  bool is_kept(const Value& value, const Type& type, const Plan& plan, std::size_t index) const {
    if (empties_ == Empties::left_out) return false;
    if (value.is_array() || (value.is_object() && type.fields[index].shape == Shape::map)) return true;
    return plan.has_pointer_embeds && std::ranges::any_of(type.embeds, [index](const Embed& embed) {
             return embed.pointer && (bits(embed.first, embed.count) & bit(index)) != 0;
           });
  }

  // Of a value in canonical form. Only "omitzero" looks into structs.
  static bool is_zero(const Value& value, const Node& node) {
    switch (value.kind()) {
      case boost::json::kind::null:
        return true;
      case boost::json::kind::bool_:
        return !value.get_bool();
      case boost::json::kind::int64:
        return value.get_int64() == 0;
      case boost::json::kind::uint64:
        return value.get_uint64() == 0;
      case boost::json::kind::double_:
        return value.get_double() == 0;
      case boost::json::kind::string:
        return node.shape == Shape::quantity   ? value.get_string() == "0"
               : node.shape == Shape::duration ? value.get_string() == "0s"
                                               : value.get_string().empty();
      case boost::json::kind::array:
        return value.get_array().empty();
      case boost::json::kind::object:
        break;
    }
    if (node.shape != Shape::structure) return value.get_object().empty();
    return std::ranges::all_of(value.get_object(), [&](const auto& member) {
      const Field* field = node.type->find(member.key());
      return !field || (field->pointer ? member.value().is_null() : is_zero(member.value(), *field));
    });
  }

  // --- helpers -------------------------------------------------------------------------------------------------------

  static constexpr std::string_view quantity_words = "a quantity such as 500m, 2 or 4Gi";
  static constexpr std::string_view time_words = "a time such as 2026-01-02T03:04:05Z";
  static constexpr std::string_view micro_time_words = "a time such as 2026-01-02T03:04:05.000000Z";
  static constexpr std::string_view duration_words = "a duration such as 1m30s";
  static constexpr std::int64_t zero_time_seconds = -62135596800;  // the first second of the year 1, Go's zero time
  static constexpr std::int64_t year_0_seconds = -62167219200;
  static constexpr std::int64_t year_10000_seconds = 253402300800;

  static bool has_four_digit_year(const Timestamp& time) {
    return time.seconds >= year_0_seconds && time.seconds < year_10000_seconds;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  // Most texts are canonical already, and then there is nothing to allocate.
  static void assign(Value& value, std::string_view text) {
    if (const String* given = value.if_string(); given && std::string_view(*given) == text) return;
    value.emplace_string() = text;
  }

  bool refuse(const Value& value, std::string_view wanted, const Place& place) {
    const std::string where = print_place(place, PlaceStyle::brackets);
    error_ = Status::bad_request(
        fmt::format("{}: expected {}, got {}", where.empty() ? "the object" : where, wanted, in_words(value)));
    return false;
  }

  const Empties empties_;
  Status error_;
};

}  // namespace

Result<void> canonicalize(json::Value& value, const Type& type, const Place& place, Empties empties) {
  Canonicalizer canonicalizer(empties);
  const Node root{.shape = Shape::structure, .type = &type};
  if (!canonicalizer.node(value, root, place)) return fail(canonicalizer.take_error());
  return {};
}

}  // namespace vg::api
