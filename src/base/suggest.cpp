#include "base/suggest.h"

#include <algorithm>
#include <array>

#include "base/limits.h"

namespace vg {
namespace {

using Row = std::array<std::size_t, limits::suggested_word_bytes_max + 1>;

std::size_t mistakes(std::string_view a, std::string_view b) {
  Row before_last{}, last{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  if (word.size() < 2 || word.size() > limits::suggested_word_bytes_max) return best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    if (candidate.size() > limits::suggested_word_bytes_max) continue;
    // The beginning of a word is meant as that word, if it is long enough to be no accident.
    const bool begun = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t count = begun ? 1 : mistakes(word, candidate);
    if (count >= fewest) continue;
    fewest = count;
    best = candidate;
  }
  return best;
}

}  // namespace vg
