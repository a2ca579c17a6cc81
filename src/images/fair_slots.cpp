#include "images/fair_slots.h"

#include <algorithm>
#include <utility>

namespace vg::images {

void FairSlots::wait(Id id, std::string ns) { entries_.push_back({.id = id, .ns = std::move(ns)}); }

void FairSlots::leave(Id id) {
  std::erase_if(entries_, [&](const Entry& one) { return one.id == id; });
}

// How many places each namespace has that is here at all.
FairSlots::Counts FairSlots::counts() const {
  Counts all;
  for (const Entry& one : entries_) all[one.ns] += one.state == State::waiting ? 0 : 1;
  return all;
}

std::size_t FairSlots::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const Entry& one) { return one.state != State::waiting; }));
}

std::size_t FairSlots::running_of(std::string_view ns) const {
  const Counts all = counts();
  const auto found = all.find(ns);
  return found == all.end() ? 0 : found->second;
}

bool FairSlots::is_running(Id id) const {
  return std::ranges::any_of(entries_, [&](const Entry& one) { return one.id == id && one.state != State::waiting; });
}

std::optional<FairSlots::Id> FairSlots::next() {
  if (running() >= slots_) return std::nullopt;
  const Counts has = counts();
  Entry* first = nullptr;
  for (Entry& one : entries_)
    if (one.state == State::waiting && (!first || has.at(one.ns) < has.at(first->ns))) first = &one;
  if (!first) return std::nullopt;
  first->state = State::running;
  first->began = ++begun_;
  return first->id;
}

std::optional<FairSlots::Id> FairSlots::surplus() {
  if (running() < slots_) return std::nullopt;
  const Counts has = counts();
  const std::size_t share = std::max<std::size_t>(1, slots_ / has.size());
  bool is_needed = false;
  Entry* last = nullptr;
  for (Entry& one : entries_) {
    if (one.state == State::ending) return std::nullopt;  // its place comes free
    const std::size_t count = has.at(one.ns);
    if (one.state == State::waiting)
      is_needed = is_needed || count < share;
    else if (count > share && (!last || std::pair(count, one.began) > std::pair(has.at(last->ns), last->began)))
      last = &one;
  }
  if (!is_needed || !last) return std::nullopt;
  last->state = State::ending;
  return last->id;
}

}  // namespace vg::images
