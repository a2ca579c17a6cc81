#include "json/yaml_write.h"

#include <algorithm>
#include <cmath>

#include "json/arena.h"
#include "json/write.h"
#include "json/yaml.h"

namespace vg::json {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._/-+@").contains(c);
}

// Whether a text means itself without quotes: letters of names and images, and no number or word of YAML's own.
bool is_plain_scalar(std::string_view text) {
  if (text.empty() || text.front() == '-' || text.front() == '@' || text.back() == ':') return false;
  const bool simple = std::ranges::all_of(text, [](char c) { return is_word_character(c) || c == ':'; });
  if (!simple) return false;
  // Other readers take these for dates and times.
  if (std::ranges::all_of(text, [](char c) { return std::string_view("0123456789-:.TZ+").contains(c); })) return false;
  Arena arena(1024);
  const auto read = parse_yaml(text, arena.storage());
  return read && read->is_string() && std::string_view(read->get_string()) == text;
}

// Whether lines of a text can stand as they are.
bool is_block(std::string_view text) {
  if (!text.contains('\n') || text.front() == ' ' || text.front() == '\n' || text.ends_with("\n\n")) return false;
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte < 0x7f : c == '\n';
  });
}

class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the value
  void block(const Value& value, std::size_t indent) {
    if (const Object* object = value.if_object())
      members(*object, indent, false);
    else if (const Array* array = value.if_array())
      items(*array, indent);
    else
      scalar(value, indent);
  }

 private:
  void begin_line(std::size_t indent) { out_.append(indent, ' '); }

  // What follows a key or a dash.
  // NOLINTNEXTLINE(misc-no-recursion)
  void after_key(const Value& value, std::size_t indent) {
    const Object* object = value.if_object();
    const Array* array = value.if_array();
    if (object && !object->empty()) {
      out_ += '\n';
      members(*object, indent + 2, false);
    } else if (array && !array->empty()) {
      out_ += '\n';
      items(*array, indent);
    } else {
      out_ += ' ';
      scalar(value, indent);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void members(const Object& object, std::size_t indent, bool begun) {
    for (const auto& member : object) {
      if (!begun) begin_line(indent);
      begun = false;
      text(member.key(), std::string_view::npos);
      out_ += ':';
      after_key(member.value(), indent);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void items(const Array& array, std::size_t indent) {
    for (const Value& item : array) {
      begin_line(indent);
      out_ += '-';
      const Object* object = item.if_object();
      if (object && !object->empty()) {
        out_ += ' ';
        members(*object, indent + 2, true);
      } else if (const Array* inner = item.if_array(); inner && !inner->empty()) {
        out_ += '\n';
        items(*inner, indent + 2);
      } else {
        out_ += ' ';
        scalar(item, indent);
      }
    }
  }

  void scalar(const Value& value, std::size_t indent) {
    if (const String* string = value.if_string()) {
      text(*string, indent);
      if (!out_.ends_with('\n')) out_ += '\n';
      return;
    }
    if (const double* number = value.if_double(); number && *number == 0 && std::signbit(*number))
      out_ += "-0.0";  // "-0" is an integer to YAML, which has no sign
    else
      write(value, out_);  // numbers, true, null, {} and [] look the same
    out_ += '\n';
  }

  // `indent`: of the line that it stands in; npos where it must be one line.
  void text(std::string_view words, std::size_t indent) {
    if (is_plain_scalar(words)) {
      out_ += words;
    } else if (indent != std::string_view::npos && is_block(words)) {
      out_ += words.ends_with('\n') ? "|\n" : "|-\n";
      for (std::string_view rest = words; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.empty()) out_.append(indent + 2, ' ').append(line);
        out_ += '\n';
      }
    } else {
      write_string(words, out_);
    }
  }

  std::string& out_;
};

}  // namespace

std::string to_yaml(const Value& value) {
  std::string out;
  const Object* object = value.if_object();
  const Array* array = value.if_array();
  if ((object && object->empty()) || (array && array->empty()))
    out = to_text(value) + '\n';
  else
    YamlWriter(out).block(value, 0);
  return out;
}

}  // namespace vg::json
