// What clients say about lists: the query of a list, the token that continues one, and where it goes on in the index.
// Whatever they say, a list never leaves its namespace, and a token is good for the list that it was written for alone.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "resources/continue_token.h"
#include "resources/options.h"
#include "store/object_index.h"

namespace {

using vg::resources::ContinueToken;
using vg::resources::ContinueTokens;
using vg::resources::ListScope;
using vg::store::NameView;
using vg::store::ObjectIndex;

void expect(bool ok) {
  if (!ok) std::abort();
}

// The input as a row of small decisions; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  bool empty() const { return rest_.empty(); }
  // Few different ones, so that they meet: "", "a", "ab", "b", ...
  std::string name() {
    const unsigned seed = byte();
    return std::string(seed % 3, static_cast<char>('a' + seed / 3 % 3)) + static_cast<char>('a' + seed / 9 % 3);
  }
  std::string ns() { return byte() % 8 == 0 ? std::string() : name(); }
  std::string_view text(std::size_t bytes_max) {
    const auto text = rest_.substr(0, std::min<std::size_t>(byte(), bytes_max));
    rest_.remove_prefix(std::min(text.size(), rest_.size()));
    return text;
  }
  std::string_view rest() { return std::exchange(rest_, {}); }

 private:
  std::string_view rest_;
};

vg::store::KeptPtr object(const std::string& ns, const std::string& name) {
  const auto made = vg::StoredObject::make({.resource = "r", .ns = ns, .name = name});
  return vg::store::KeptObject::make(*made, {.revision = 1, .created_revision = 1}, {.bytes = made->image()});
}

// Ranges against the same in a set.
void check_ranges(Input& input) {
  ObjectIndex index;
  std::set<std::pair<std::string, std::string>> model;
  const unsigned objects = input.byte();
  for (unsigned i = 0; i < objects && !input.empty(); ++i) {
    auto ns = input.name();
    auto name = input.name();
    if (input.byte() % 4 == 0) {
      index.erase({ns, name});
      model.erase({ns, name});
      continue;
    }
    index.put(object(ns, name));
    model.emplace(std::move(ns), std::move(name));
  }
  const auto ns = input.ns();
  auto range = ns.empty() ? index.snapshot().all() : index.snapshot().of_namespace(ns);
  std::erase_if(model, [&](const auto& key) { return !ns.empty() && key.first != ns; });
  for (unsigned cuts = input.byte() % 4; cuts > 0; --cuts) {
    const std::pair after(input.ns(), input.name());
    range = range.behind({after.first, after.second});
    std::erase_if(model, [&](const auto& key) { return key <= after; });
    const std::size_t skipped = input.byte() % 8;
    range = range.without_first(skipped);
    for (std::size_t i = 0; i < skipped && !model.empty(); ++i) model.erase(model.begin());
  }
  expect(range.size() == model.size());
  for (const auto& [in, name] : model) {
    expect(!range.empty() && name_of(*range.front()) == NameView{in, name});
    expect(range.find({in, name}) != nullptr);
    range.pop_front();
  }
  expect(range.empty() && range.size() == 0);
}

struct Scope {
  std::string resource, ns;
  vg::LabelSelector labels;
  vg::FieldSelector fields;
  ListScope view() const { return {.resource = resource, .ns = ns, .labels = labels, .fields = fields}; }
};

Scope scope_of(Input& input, const vg::resources::ListOptions& options) {
  return {.resource = input.name(), .ns = input.ns(), .labels = options.labels, .fields = options.fields};
}

void check_tokens(Input& input, const vg::resources::ListOptions& options) {
  static const ContinueTokens tokens("the secret of this test");
  static const ContinueTokens others("another secret");
  const Scope scope = scope_of(input, options);
  const ContinueToken token{.revision = input.byte(), .ns = input.ns(), .name = input.name()};
  const std::string text = tokens.write(token, scope.view());
  const auto read = tokens.read(text, scope.view());
  expect(read && read->revision == token.revision && read->ns == token.ns && read->name == token.name);
  expect(!others.read(text, scope.view()));

  const Scope elsewhere = scope_of(input, options);
  const bool same = elsewhere.resource == scope.resource && elsewhere.ns == scope.ns;
  expect(tokens.read(text, elsewhere.view()).has_value() == same);

  // What a client sends is taken only when it is what was written.
  std::string bytes = *vg::base64_decode(text, vg::Base64::url_raw);
  const std::string whole = bytes;
  for (unsigned changes = input.byte() % 4; changes > 0; --changes) {
    const std::size_t at = input.byte() % (bytes.size() + 1);
    if (input.byte() % 2 == 0)
      bytes.resize(at);
    else if (at < bytes.size())
      bytes[at] = static_cast<char>(input.byte());
    if (bytes.empty()) bytes = "x";
  }
  const std::string sent = vg::base64_encode(bytes, vg::Base64::url_raw);
  expect(tokens.read(sent, scope.view()).has_value() == (bytes == whole));
  if (!options.continue_token.empty()) expect(!tokens.read(options.continue_token, scope.view()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  // The query stands behind the decisions, which take a few hundred bytes at most.
  const std::string decisions(input.text(255));
  const vg::resources::Query query(input.rest());
  Input decided(reinterpret_cast<const std::uint8_t*>(decisions.data()), decisions.size());
  for (const bool watch : {false, true}) {
    const auto options = vg::resources::read_list_options(query, watch);
    if (!options) {
      expect(options.error().code >= 400 && options.error().code < 500);
      continue;
    }
    check_tokens(decided, *options);
  }
  check_ranges(decided);
  return 0;
}
