#include "admission/instancetype/preference.h"

#include <unordered_set>
#include <utility>

#include "admission/defaults/edit.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

bool is_set(const Object& in, string_view key) {
  const Value* value = json::find(in, key);
  if (!value || value->is_null()) return false;
  const json::String* text = value->if_string();
  return !text || !text->empty();
}

// Row 1. Only names that were there before count, so that what a preference gives twice stands there twice. A machine
// without a cpu section crashes upstream (K19).
void prefer_cpu_features(const Object& cpu, Object& domain) {
  if (!edit::has_items(cpu, "preferredCPUFeatures")) return;
  json::Array& features = json::ensure_array(json::ensure_object(domain, "cpu"), "features");
  std::vector<const Value*> missing;
  std::unordered_set<string_view> given;
  for (const Value& feature : features) given.insert(json::get_string_or(feature, "name"));
  for (const Value& feature : *json::get_array(cpu, "preferredCPUFeatures"))
    if (!given.contains(json::get_string_or(feature, "name"))) missing.push_back(&feature);
  for (const Value* feature : missing) features.push_back(*feature);
}

// Row 18
constexpr string_view hyperv_members[] = {"evmcs",    "frequencies", "ipi",       "reenlightenment", "relaxed",
                                          "reset",    "runtime",     "spinlocks", "synic",           "synictimer",
                                          "tlbflush", "vapic",       "vpindex",   "vendorid"};
void prefer_hyperv(const Object& hyperv, Object& features) {
  Object& into = json::ensure_object(features, "hyperv");
  for (const string_view member : hyperv_members) {
    const Preferred row[] = {{member, member}};
    fill(hyperv, into, row);
  }
}

// Rows 16 to 18
constexpr Preferred feature_rows[] = {
    {"preferredApic", "apic"}, {"preferredKvm", "kvm"}, {"preferredPvspinlock", "pvspinlock"}, {"preferredSmm", "smm"}};
void prefer_features(const Object& preferred, Object& domain) {
  Object& features = json::ensure_object(domain, "features");
  if (const Value* acpi = json::find(preferred, "preferredAcpi")) edit::set_copy(features, "acpi", *acpi);  // K24
  fill(preferred, features, feature_rows);
  if (const Object* hyperv = edit::child(&preferred, "preferredHyperv")) prefer_hyperv(*hyperv, features);
}

// Row 20
constexpr Preferred machine_rows[] = {{"preferredMachineType", "type"}};
void prefer_machine(const Object& preferred, Object& domain) {
  if (is_set(preferred, "preferredMachineType")) fill(preferred, json::ensure_object(domain, "machine"), machine_rows);
}

// Rows 21 and 22: an offset and a timer are taken as a whole or not at all.
constexpr Preferred offset_rows[] = {{"utc", "utc"}, {"timezone", "timezone"}};
constexpr Preferred timer_rows[] = {{"preferredTimer", "timer"}};
void prefer_clock(const Object& preferred, Object& domain) {
  Object& clock = json::ensure_object(domain, "clock");
  const Object* offset = edit::child(&preferred, "preferredClockOffset");
  if (offset && !edit::has(clock, "utc") && !edit::has(clock, "timezone")) fill(*offset, clock, offset_rows);
  fill(preferred, clock, timer_rows);
}

// Rows 23 to 25, and 27
constexpr Preferred spec_rows[] = {{"preferredSubdomain", "subdomain"},
                                   {"preferredTerminationGracePeriodSeconds", "terminationGracePeriodSeconds"},
                                   {"preferredArchitecture", "architecture"}};
constexpr Preferred domain_rows[] = {{"preferredLaunchSecurity", "launchSecurity"}};

struct Section {
  string_view name;
  void (*apply)(const Object& preferred, Object& domain);
};
constexpr Section domain_sections[] = {
    {"features", prefer_features}, {"firmware", prefer_firmware}, {"machine", prefer_machine}, {"clock", prefer_clock}};

}  // namespace

void fill(const Object& from, Object& into, std::span<const Preferred> rows) {
  for (const auto& [source, target] : rows)
    if (is_set(from, source) && !is_set(into, target)) edit::set_copy(into, target, *json::find(from, source));
}

void apply_preference(const Object& preference, MachineTemplate& machine) {
  Object& spec = machine.spec;
  if (const Object* cpu = edit::child(&preference, "cpu"))
    prefer_cpu_features(*cpu, json::ensure_object(spec, "domain"));
  if (const Object* devices = edit::child(&preference, "devices")) prefer_devices(*devices, spec);
  Object& domain = json::ensure_object(spec, "domain");
  for (const Section& section : domain_sections)
    if (const Object* preferred = edit::child(&preference, section.name)) section.apply(*preferred, domain);
  fill(preference, domain, domain_rows);
  fill(preference, spec, spec_rows);
  add_missing_annotations(preference, machine);
}

}  // namespace vg::admission
