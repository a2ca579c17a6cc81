#include "resources/continue_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "base/base64.h"
#include "base/limits.h"
#include "base/random.h"

namespace vg::resources {
namespace {

// A token is VERSION SEAL CONTENT, in base64url. Another layout takes another version, and a purpose of its own.
constexpr char version = 3;
constexpr std::string_view purpose = "virtgate continue token 3";
constexpr std::size_t seal_bytes = 16;  // of the HMAC's 32: nobody guesses 128 bits

// With its length in front, so that no two lists of texts look the same.
void add(std::string& out, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{}:", text.size());
  out.append(text);
}

// Selectors that ask for the same in another order are the same. Label selectors are kept in order.
void add(std::string& out, const FieldSelector& selector) {
  std::vector<std::string> terms;
  for (const auto& term : selector.terms()) {
    std::string& text = terms.emplace_back(term.equal ? "=" : "!");
    add(text, term.field);
    add(text, term.value);
  }
  std::ranges::sort(terms);
  for (const auto& term : terms) add(out, term);
}

// Up to the next blank, which goes with it; nothing where there is none.
std::optional<std::string_view> next_word(std::string_view& rest) {
  const auto blank = rest.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view word = rest.substr(0, blank);
  rest.remove_prefix(blank + 1);
  return word;
}

bool read_number(std::string_view text, auto& into) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && stop == text.data() + text.size();
}

// "REVISION SINCE NAMESPACE NAME", none of which can hold a blank.
std::optional<ContinueToken> read_content(std::string_view rest) {
  const auto revision = next_word(rest), since = next_word(rest), ns = next_word(rest);
  if (!ns || rest.empty()) return std::nullopt;
  ContinueToken token{.ns = std::string(*ns), .name = std::string(rest)};
  if (!read_number(*revision, token.revision) || !read_number(*since, token.since)) return std::nullopt;
  return token;
}

std::string random_secret() {
  std::array<std::uint8_t, 32> bytes;
  fill_random(bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

ContinueTokens::ContinueTokens(std::string_view secret) : key_(auth::derive_key(secret, purpose)) {}

ContinueTokens::ContinueTokens() : ContinueTokens(random_secret()) {}

std::string ContinueTokens::seal(std::string_view content, const ListScope& scope) const {
  std::string all;
  add(all, scope.resource);
  add(all, scope.ns);
  add(all, scope.labels.to_string());
  add(all, scope.fields);
  all.push_back(';');
  all.append(content);
  const auth::Digest code = auth::hmac_sha256({reinterpret_cast<const char*>(key_.data()), key_.size()}, all);
  return {code.begin(), code.begin() + seal_bytes};
}

std::string ContinueTokens::write(const ContinueToken& token, const ListScope& scope) const {
  const std::string content = fmt::format("{} {} {} {}", token.revision, token.since, token.ns, token.name);
  return base64_encode(version + seal(content, scope) + content, Base64::url_raw);
}

Result<ContinueToken> ContinueTokens::read(std::string_view text, const ListScope& scope) const {
  const auto refusal = [] {
    return fail(Status::bad_request(
        "the continue token is not valid: this server did not issue it for a list of this resource, "
        "namespace and selectors; list again without continue"));
  };
  if (text.size() > limits::continue_token_chars_max) return refusal();
  const auto bytes = base64_decode(text, Base64::url_raw);
  if (!bytes || bytes->size() <= 1 + seal_bytes || bytes->front() != version) return refusal();
  const std::string_view sealed = std::string_view(*bytes).substr(1, seal_bytes);
  const std::string_view content = std::string_view(*bytes).substr(1 + seal_bytes);
  if (!auth::equal_in_constant_time(sealed, seal(content, scope))) return refusal();
  auto token = read_content(content);
  if (!token) return refusal();
  return std::move(*token);
}

}  // namespace vg::resources
