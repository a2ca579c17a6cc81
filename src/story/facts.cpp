#include "story/facts.h"

#include <fmt/format.h>

#include <array>

#include "json/access.h"

namespace vg::story {
namespace {

const json::Value* follow(const json::Value* at, std::initializer_list<std::string_view> path) {
  return at ? json::find_path(*at, path) : nullptr;
}

}  // namespace

Object Object::at(std::initializer_list<std::string_view> path) const { return Object(follow(value_, path)); }

std::string_view Object::text(std::initializer_list<std::string_view> path) const {
  return json::as_string(follow(value_, path)).value_or(std::string_view());
}

std::int64_t Object::number(std::initializer_list<std::string_view> path, std::int64_t otherwise) const {
  return json::as_int(follow(value_, path)).value_or(otherwise);
}

bool Object::flag(std::initializer_list<std::string_view> path) const {
  return json::as_bool(follow(value_, path)).value_or(false);
}

const json::Array& Object::list(std::initializer_list<std::string_view> path) const {
  static const json::Array none;
  const json::Array* array = json::as_array(follow(value_, path));
  return array ? *array : none;
}

Object Object::condition(std::string_view type) const {
  for (const json::Value& entry : list({"status", "conditions"}))
    if (json::get_string_or(entry, "type") == type) return Object(&entry);
  return Object();
}

bool Object::condition_is(std::string_view type, std::string_view status) const {
  const Object found = condition(type);
  return found && found.text({"status"}) == status;
}

Object Facts::find(std::string_view kind, std::string_view name) const {
  if (name.empty()) return Object();
  for (const json::Value& entry : all(kind))
    if (Object(&entry).name() == name) return Object(&entry);
  return Object();
}

bool Facts::knows(std::string_view kind) const { return json::get_array(document_, kind) != nullptr; }

std::string Facts::since(std::string_view time) const {
  const auto left = seconds_until(time);
  return left && *left <= 0 ? span_text(-*left) : std::string();
}

std::optional<std::int64_t> Facts::seconds_until(std::string_view time) const {
  const auto at = parse_rfc3339(time);
  return at ? std::optional(at->seconds - now_.seconds) : std::nullopt;
}

std::string span_text(std::int64_t seconds) {
  struct Unit {
    std::int64_t below, size;
    std::string_view name;
  };
  static constexpr std::array units = {Unit{120, 1, "s"}, Unit{2 * 3600, 60, "min"},
                                       Unit{std::int64_t{48} * 3600, 3600, "h"},
                                       Unit{INT64_MAX, std::int64_t{24} * 3600, "d"}};
  for (const Unit& unit : units)
    if (seconds < unit.below) return fmt::format("{} {}", seconds / unit.size, unit.name);
  return {};
}

std::string_view run_strategy(Object vm) {
  const std::string_view strategy = vm.text({"spec", "runStrategy"});
  if (!strategy.empty()) return strategy;
  return vm.flag({"spec", "running"}) ? "Always" : "Halted";
}

std::int64_t migration_setting(const Facts& facts, std::string_view name, std::int64_t otherwise) {
  return facts.kubevirt().number({"spec", "configuration", "migrations", name}, otherwise);
}

bool is_over(Object migration) {
  const std::string_view phase = migration.text({"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

std::string_view migration_in(std::string_view object) {
  constexpr std::string_view part = "/virtualmachineinstancemigrations/";
  const std::size_t at = object.find(part);
  return at == object.npos ? std::string_view() : object.substr(at + part.size());
}

}  // namespace vg::story
