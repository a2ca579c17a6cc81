// How an entry stands in a file: numbers, then texts. Most texts are the same in request after request (users, roles,
// verbs, resources): a file says each of them once and refers to it by number from then on.
//
// Encoding is what a request waits for, so it is a few thousand instructions: nothing is escaped, formatted or
// searched for. Decoding believes nothing, because a file may be damaged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/journal_limits.h"
#include "journal/entry.h"

namespace vg::journal {

// Texts of one file by their numbers, in the order in which the file says them.
class TextTable {
 public:
  // Nothing: it has no number, or none that is found any more.
  std::optional<std::size_t> find(std::string_view text) const;
  bool is_full() const;
  void add(std::string_view text);
  std::size_t size() const { return ends_.size(); }
  std::string_view at(std::size_t number) const;
  // A file that is not written any more needs no look-up by text.
  void end_writing() { slots_.reset(); }

 private:
  // Where a text may be found: two places by its hash. One that is in neither is said again, so that nobody can make a
  // look-up long by choosing names.
  using Slots = std::array<std::uint16_t, std::size_t{2} * limits::journal_table_texts_max>;
  using Places = std::array<std::size_t, 2>;
  static Places places_of(std::string_view text);

  std::string pool_;
  std::vector<std::uint32_t> ends_;  // in the pool
  std::unique_ptr<Slots> slots_;
};

// Appends the entry without the seconds of its time, which stand before it (lane.h). The table takes what is new: that
// must be in the file before the entry. Texts are cut to their limits, lists too; details that are too long altogether
// are left out: nobody gets around the journal by making their request long.
void encode(const EntryView& entry, TextTable& table, std::string& out);

// Nothing for bytes that no encode() wrote. Bytes that are no UTF-8 are replaced, because clients choose some of them.
std::optional<Entry> decode(std::string_view bytes, const TextTable& table);

// Of bytes in a file, to tell those that are damaged; not against anybody.
std::uint32_t checksum(std::string_view bytes);

}  // namespace vg::journal
