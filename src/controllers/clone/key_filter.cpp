#include "controllers/clone/key_filter.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/controller_limits.h"
#include "json/access.h"

namespace vg::controllers::clone {
namespace {

re2::RE2::Options options() {
  re2::RE2::Options made(re2::RE2::Quiet);
  made.set_max_mem(static_cast<std::int64_t>(limits::clone_filters_memory_bytes_max));
  return made;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct KeyFilter::Sets {
  re2::RE2::Set included{options(), re2::RE2::UNANCHORED};
  re2::RE2::Set excluded{options(), re2::RE2::UNANCHORED};
};

KeyFilter::KeyFilter(const json::Array& filters) {
  auto sets = std::make_unique<Sets>();
  for (const json::Value& filter : filters) {
    const std::string_view text = json::as_string(&filter).value_or("");
    if (text.starts_with('!'))
      sets->excluded.Add(piece(text.substr(1)), nullptr);
    else
      sets->included.Add(piece(text == "*" ? std::string_view(".*") : text), nullptr);
  }
  if (sets->included.Compile() && sets->excluded.Compile()) sets_ = std::move(sets);
}

KeyFilter::~KeyFilter() = default;

bool KeyFilter::includes(std::string_view key) const {
  if (!sets_) return false;
  // A match that runs out of memory says no, so it is asked why: what may be excluded is.
  re2::RE2::Set::ErrorInfo trouble{};
  std::vector<int> found;
  if (sets_->excluded.Match(piece(key), &found, &trouble) || trouble.kind == re2::RE2::Set::kOutOfMemory) return false;
  return sets_->included.Match(piece(key), &found, &trouble);
}

}  // namespace vg::controllers::clone
