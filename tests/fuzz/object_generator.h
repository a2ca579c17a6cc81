// Objects that look like real ones: the input's bytes choose a way through the tables of the schema. Objects have the
// members and types that they should have, mostly; values are those at which rules are likely to go wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "api/schema.h"
#include "json/value.h"

namespace vg::fuzz {

// The input as a row of decisions. After its end every decision is 0, which always means the least.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : std::uint8_t{0}; }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : byte() % count; }
  // True about once in so many times, never after the end.
  bool once_in(std::uint8_t times) { return byte() % times == 1; }
  // For what would keep rules from being asked at all.
  bool hardly_ever() { return byte() == 0xa7; }
  const auto& of(const auto& values) { return values[below(std::size(values))]; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

inline constexpr std::string_view texts[] = {
    "a",
    "",
    "disk0",
    "disk1",
    "net1",
    "default",
    "vm",
    "UPPER",
    "with space",
    "-dash",
    "under_score",
    "a.b",
    "a/b",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "10.0.2.2",
    "10.0.2.0/24",
    "fd10::1",
    "fd10:0:2::/120",
    "02:00:00:00:00:01",
    "0000:81:00.1",
    "1Gi",
    "-1",
    "0",
    "1e3",
    "100m",
    "9223372036854775807",
    "1.5",
    "true",
    "virtio",
    "sata",
    "scsi",
    "usb",
    "none",
    "block",
    "e1000",
    "amd64",
    "arm64",
    "s390x",
    "q35",
    "host-passthrough",
    "host-model",
    "Always",
    "Halted",
    "Manual",
    "RerunOnFailure",
    "LiveMigrate",
    "External",
    "Never",
    "Auto",
    "kubevirt.io",
    "VirtualMachine",
    "VirtualMachineSnapshot",
    "PersistentVolumeClaim",
    "instancetype.kubevirt.io",
    "VirtualMachineClusterInstancetype",
    "/",
    "/run/s.sock",
    "/a//b/../c/",
    "..",
    "vmi.Name == 'a'",
    "vmi.spec.volumes.all(v, v.name != '')",
    "Domain{Title: 'a'}",
    "[[]].map(x, {x: x}).map(x, {x: x})",
    "{}",
    "[{\"op\":\"replace\",\"path\":\"/spec/x\",\"value\":1}]",
    "#cloud-config",
    "aGVsbG8=",
    "2020-01-01T00:00:00Z",
    "1h",
    "%s",
    "\xc3\xa9\xe2\x82\xac",
    "kubevirt.io/vm",
    "virt-launcher",
    "ReadWriteMany",
};

inline constexpr std::int64_t numbers[] = {0,
                                           1,
                                           2,
                                           3,
                                           -1,
                                           4,
                                           255,
                                           256,
                                           512,
                                           1000,
                                           4096,
                                           65535,
                                           65536,
                                           2097152,
                                           2147483647,
                                           2147483648,
                                           4294967295,
                                           -2147483648,
                                           std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min()};
inline constexpr std::string_view quantities[] = {"1",   "0",   "1Gi", "512Mi", "100m", "-1",   "1e3", "2Ti", "1500m",
                                                  "1.5", "8Ei", "64k", "3Gi",   "0.1n", "1e30", "2Mi", "1 Gi"};
inline constexpr std::string_view times[] = {"2020-01-01T00:00:00Z",      "2026-11-15T08:00:00.123456Z",
                                             "2026-11-15T08:00:00+02:00", "0001-01-01T00:00:00Z",
                                             "2038-01-19T03:14:08Z",      "nonsense"};
inline constexpr std::string_view durations[] = {"1s", "0", "1h30m", "-1s", "100000h", "x", ""};
// Makes values of the schema's types in one arena. Bounded in depth and number: an answer must be quick because rules
// are, not because objects are small, yet an input of a few hundred bytes stands for a real object.
class Generator {
 public:
  Generator(Choices& choices, json::StoragePtr storage) : choices_(choices), storage_(std::move(storage)) {}

  json::Value object(const api::Type& type) { return structure(type, 0); }

  json::Value value(const api::Node& node, std::size_t depth) {
    if (++made_ > values_max || depth > depth_max) return json::Value(storage_);
    if (choices_.hardly_ever()) return anything();
    if (const auto enumeration = words_of(node); !enumeration.empty() && !choices_.hardly_ever())
      return text(choices_.of(enumeration));
    switch (node.shape) {
      case api::Shape::structure:
        return structure(*node.type, depth + 1);
      case api::Shape::list:
        return list(node, depth + 1);
      case api::Shape::map:
        return map(node, depth + 1);
      default:
        return scalar(node.shape);
    }
  }

  json::Value text(std::string_view words) { return json::Value(words, storage_); }
  std::string_view some_text() { return choices_.of(texts); }

  // Changes a member here and there, as between an old object and a new one.
  void disturb(json::Value& changed, std::size_t depth = 0) {
    if (depth > depth_max) return;
    if (depth > 1 && choices_.hardly_ever()) {
      changed = anything();
    } else if (changed.is_string() && choices_.byte() % 2 == 1) {
      changed = text(some_text());
    } else if (changed.is_int64() && choices_.byte() % 2 == 1) {
      changed = number();
    } else if (json::Object* members = changed.if_object()) {
      for (auto& member : *members)
        if (choices_.byte() % 2 == 1) disturb(member.value(), depth + 1);
    } else if (json::Array* elements = changed.if_array()) {
      if (!elements->empty() && choices_.once_in(8)) elements->pop_back();
      for (json::Value& element : *elements)
        if (choices_.byte() % 2 == 1) disturb(element, depth + 1);
    }
  }

 private:
  static constexpr std::size_t values_max = 2000;
  static constexpr std::size_t depth_max = 24;

  static std::span<const std::string_view> words_of(const api::Node& node) {
    if (node.crd && !node.crd->enumeration.empty()) return node.crd->enumeration;
    return node.openapi ? node.openapi->enumeration : std::span<const std::string_view>();
  }

  // Of any type at all.
  json::Value anything() {
    switch (choices_.below(7)) {
      case 0:
        return json::Value(nullptr, storage_);
      case 1:
        return json::Value(choices_.of(numbers), storage_);
      case 2:
        return text(some_text());
      case 3:
        return json::Value(json::Array(storage_));
      case 4:
        return json::Value(json::Object(storage_));
      case 5:
        return json::Value(1.5, storage_);
      default:
        return json::Value(true, storage_);
    }
  }

  json::Value scalar(api::Shape shape) {
    switch (shape) {
      case api::Shape::boolean:
        return json::Value(choices_.byte() % 2 == 1, storage_);
      case api::Shape::quantity:
        return text(choices_.of(quantities));
      case api::Shape::time:
      case api::Shape::micro_time:
        return text(choices_.of(times));
      case api::Shape::duration:
        return text(choices_.of(durations));
      case api::Shape::int_or_string:
        return choices_.byte() % 2 == 1 ? text(some_text()) : number();
      case api::Shape::string:
      case api::Shape::bytes:
        return text(some_text());
      case api::Shape::raw:
      case api::Shape::fields:
        return anything();
      default:
        return number();
    }
  }

  // Small ones are what most members take.
  json::Value number() {
    const std::uint8_t choice = choices_.byte();
    return json::Value(choice < 128 ? std::int64_t{choice} : numbers[choice % std::size(numbers)], storage_);
  }

  json::Value structure(const api::Type& type, std::size_t depth) {
    json::Object object(storage_);
    // One byte decides about four members.
    std::uint8_t decisions = 0;
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      const api::Field& field = type.fields[i];
      decisions = i % 4 == 0 ? choices_.byte() : static_cast<std::uint8_t>(decisions >> 2);
      // More of the few members near the root: without a spec there is nothing to judge.
      const bool wanted = (decisions & 3) == 1 || (depth < 3 && (decisions & 3) == 3);
      if (wanted || field.required) {
        if (!choices_.hardly_ever()) object[field.name] = value(field, depth);
      }
    }
    if (choices_.hardly_ever()) object[some_text()] = anything();
    return json::Value(std::move(object));
  }

  json::Value list(const api::Node& node, std::size_t depth) {
    json::Array array(storage_);
    for (std::size_t left = choices_.below(4); left > 0; --left) array.push_back(value(*node.element, depth));
    return json::Value(std::move(array));
  }

  json::Value map(const api::Node& node, std::size_t depth) {
    json::Object object(storage_);
    for (std::size_t left = choices_.below(3); left > 0; --left) {
      const std::string_view key = some_text();
      object[key] = value(*node.element, depth);
    }
    return json::Value(std::move(object));
  }

  Choices& choices_;
  json::StoragePtr storage_;
  std::size_t made_ = 0;
};

}  // namespace vg::fuzz
