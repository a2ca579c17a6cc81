#include "json/pointer.h"

#include <fmt/format.h>

#include <charconv>

#include "base/limits.h"
#include "json/access.h"

namespace vg::json {
namespace {

// RFC 6901 section 4: "~1" is "/", "~0" is "~", and no other use of "~" is valid.
std::optional<std::string> unescape(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    if (++i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    out += token[i] == '0' ? '~' : '/';
  }
  return out;
}

const Value* child(const Value& value, std::string_view token) {
  if (const Object* object = value.if_object()) return find(*object, token);
  const Array* array = value.if_array();
  const auto index = array ? parse_index(token) : std::nullopt;
  return index && *index < array->size() ? &(*array)[*index] : nullptr;
}

}  // namespace

Result<Pointer> Pointer::parse(std::string_view text) {
  if (text.size() > limits::json_pointer_bytes_max) {
    return fail(Status::bad_request(fmt::format("a JSON pointer has {} bytes, at most {} are supported", text.size(),
                                                limits::json_pointer_bytes_max)));
  }
  Pointer pointer;
  while (!text.empty()) {
    if (text.front() != '/') return fail(Status::bad_request("a JSON pointer must be empty or start with \"/\""));
    text.remove_prefix(1);
    const std::string_view token = text.substr(0, text.find('/'));
    text.remove_prefix(token.size());
    auto plain = unescape(token);
    if (!plain) {
      return fail(Status::bad_request("in a JSON pointer \"~\" must be written \"~0\", and \"/\" in a name \"~1\""));
    }
    pointer.tokens_.push_back(std::move(*plain));
  }
  return pointer;
}

std::string Pointer::text() const {
  std::string out;
  for (const std::string& token : tokens_) append_token(out, token);
  return out;
}

const Value* resolve(const Value& root, const Pointer& pointer) {
  const Value* at = &root;
  for (const std::string& token : pointer.tokens()) {
    at = child(*at, token);
    if (!at) return nullptr;
  }
  return at;
}

void append_token(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

std::optional<std::size_t> parse_index(std::string_view token) {
  if (token.empty() || (token.front() == '0' && token.size() > 1)) return std::nullopt;
  std::size_t index = 0;
  const auto [end, ec] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (ec != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

}  // namespace vg::json
