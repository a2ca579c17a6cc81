// What the storage controllers ask of claims, classes and disks, and how they write marks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/controller.h"
#include "controllers/storage/names.h"
#include "json/patch.h"

namespace vg::controllers::storage {

inline constexpr std::int64_t mib = std::int64_t{1} << 20;
std::int64_t rounded_up(std::int64_t bytes);

std::string_view phase_of(const json::Object& object);
const json::Object* spec_of(const json::Object& object);
bool has_annotation(const json::Object& object, std::string_view name);
// As Go reads a bool.
bool parses_as_true(std::string_view text);

// spec.resources.requests.storage in bytes, rounded up to MiB; 0: none.
std::int64_t request_of(const json::Object& claim);
// "10Gi"
std::string size_text(std::int64_t bytes);

// DV-33: the class that is meant when none is named; empty: there is none.
std::string default_class_name(const World& world, bool for_vms);
// The class of a claim's spec, the default one if none is named.
std::string class_of(const World& world, const json::Object& claim_spec, bool for_vms);
bool is_local_class(const World& world, std::string_view name);

// STO-04: a VMI that is not over has it.
bool used_by_vmi(const World& world, std::string_view ns, std::string_view claim);
// One that is placed has it: those that wait may wait for the claim to be filled.
bool used_by_placed_vmi(const World& world, std::string_view ns, std::string_view claim);
// Claims that a change of a VMI concerns.
std::vector<Key> claims_of_vmi(const Change& change, const World& world);

// The volume that this machine makes for a claim.
std::string volume_name_of(const json::Object& claim);
// The image or folder behind the claim, if it was made for this very object.
std::optional<DiskClaim> disk_of(const World& world, const json::Object& claim);

// A time of a condition that stays as it was. `now` where there was none, or somebody wrote the condition without it.
std::string_view kept_time(const json::Object* before, std::string_view member, std::string_view now);

// Asks for the job unless it failed lately: then the pass looks again when it may be tried again (10 s, doubling up to
// 5 min). `restarts`: how often it failed before this process knew it.
void ask(Pass& pass, const Turn& turn, WantedJob wanted);

// Changes of labels and annotations of one object, written as one patch.
class Marks {
 public:
  explicit Marks(const json::Object& object) : object_(object) {}
  void annotate(std::string_view name, std::string_view value) { annotations_.emplace_back(name, value); }
  void label(std::string_view name, std::string_view value) { labels_.emplace_back(name, value); }
  // Nothing when all of it is there already.
  std::optional<Effect> effect(std::string_view resource, const json::StoragePtr& storage) const;

 private:
  using Entries = std::vector<std::pair<std::string, std::string>>;
  void add_to(json::PatchBuilder& patch, std::string_view map, const Entries& entries, bool& any) const;
  const json::Object& object_;
  Entries annotations_, labels_;
};

Event event(EventType type, std::string_view reason, std::string message);

}  // namespace vg::controllers::storage
