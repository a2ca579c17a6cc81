// What src/api makes of objects, against the recorded answers of upstream and of kube-apiserver.
//
// Canonical form is compared with every recorded mutation: upstream answers a mutation with whole subtrees that went
// through its Go types, so the recorded object after the patch shows the typed round trip, plus what defaulting wrote
// on top. The table below lists everything that defaulting may write (by the ids of the specification). A difference
// anywhere else is a mistake in canonical form or in the schema description.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/structural.h"
#include "api/webhook_schema.h"
#include "base/test_files.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;

// --- what defaulting writes
// -------------------------------------------------------------------------------------------

enum class Manner {
  fill,       // writes where nothing stood
  fill_zero,  // writes where nothing or a zero stood
  append,     // adds elements at the end of the list
  overwrite,  // writes whatever stood there
  inferred,   // overwrites, but only for a matcher (see `matcher`) that is to be inferred from a volume
};

struct Excuse {
  std::string_view id;       // in the specification
  std::string_view pattern;  // steps between slashes; * is any one step
  Manner effect = Manner::fill;
  std::string_view matcher = {};  // a member of spec
};

// The defaults of a machine instance (D...), its annotations and runtime user (A...) and the last steps (C...).
constexpr Excuse vmi_excuses[] = {
    {"D01", "spec/architecture"},
    {"D02", "spec/domain/machine/type"},
    {"D03 D04", "spec/domain/resources/requests/cpu", Manner::fill_zero},
    {"D06", "spec/domain/memory/guest"},
    {"D07", "spec/domain/cpu/sockets"},
    {"D07", "spec/domain/cpu/cores"},
    {"D07", "spec/domain/cpu/threads"},
    {"D08", "spec/volumes/*/containerDisk/imagePullPolicy"},
    {"D09", "spec/evictionStrategy"},
    {"D11", "spec/domain/devices/interfaces"},
    {"D12", "spec/networks"},
    {"D13", "spec/domain/devices/disks", Manner::append},
    {"D14 D22", "spec/domain/features/acpi/enabled"},
    {"D18", "spec/domain/devices/inputs/*/bus"},
    {"D18", "spec/domain/devices/inputs/*/type"},
    {"D19", "spec/readinessProbe/timeoutSeconds", Manner::fill_zero},
    {"D19", "spec/readinessProbe/periodSeconds", Manner::fill_zero},
    {"D19", "spec/readinessProbe/successThreshold", Manner::fill_zero},
    {"D19", "spec/readinessProbe/failureThreshold", Manner::fill_zero},
    {"D19", "spec/livenessProbe/timeoutSeconds", Manner::fill_zero},
    {"D19", "spec/livenessProbe/periodSeconds", Manner::fill_zero},
    {"D19", "spec/livenessProbe/successThreshold", Manner::fill_zero},
    {"D19", "spec/livenessProbe/failureThreshold", Manner::fill_zero},
    {"D20", "spec/domain/firmware/uuid"},
    {"D21", "spec/domain/clock/timer/*/present"},
    {"D23", "spec/domain/features/apic/enabled"},
    {"D23", "spec/domain/features/smm/enabled"},
    {"D23", "spec/domain/features/pvspinlock/enabled"},
    {"D24 D30", "spec/domain/features/hyperv/*/enabled"},
    {"D25", "spec/domain/features/hyperv/spinlocks/spinlocks"},
    {"D26", "spec/domain/features/hyperv/synictimer/direct/enabled"},
    {"D26", "spec/domain/features/hyperv/tlbflush/direct/enabled"},
    {"D26", "spec/domain/features/hyperv/tlbflush/extended/enabled"},
    {"D27", "spec/domain/devices/disks/*/cdrom/readonly"},
    {"D27", "spec/domain/devices/disks/*/cdrom/tray"},
    {"D28", "spec/domain/devices/disks/*/blockSize/matchVolume/enabled"},
    {"D29", "spec/domain/devices/gpus/*/virtualGPUOptions/display/ramFB/enabled"},
    {"D30", "spec/domain/cpu/features", Manner::append},
    {"D31", "spec/domain/firmware/bootloader/efi/secureBoot"},
    {"D31", "spec/domain/devices/disks/*/disk/bus"},
    {"D31", "spec/domain/devices/disks/*/cdrom/bus"},
    {"D31", "spec/domain/devices/disks/*/lun/bus"},
    {"D31", "spec/domain/devices/watchdog/i6300esb/action"},
    {"D31", "spec/domain/devices/watchdog/diag288/action"},
    {"D31 D32", "spec/domain/cpu/model"},
    {"D33", "status/memory", Manner::overwrite},
    {"D34", "status/currentCPUTopology"},
    {"D36", "spec/domain/cpu/maxSockets"},
    {"D37", "spec/domain/memory/maxGuest"},
    {"A01", "metadata/annotations/kubevirt.io~1pci-topology-version"},
    {"A03", "metadata/annotations/kubevirt.io~1qgs-socket-path", Manner::overwrite},
    {"A04", "status/runtimeUser", Manner::overwrite},
    {"C7", "metadata/finalizers", Manner::append},
    {"C8", "status/phase", Manner::overwrite},
    {"C9", "status/phaseTransitionTimestamps", Manner::append},
};

// Sections 2.4 (a matcher is inferred), 2.5 and 2.6 of the specification of machines.
constexpr Excuse vm_excuses[] = {
    {"2.4", "spec/instancetype", Manner::inferred, "instancetype"},
    {"2.4", "spec/preference", Manner::inferred, "preference"},
    {"2.4", "spec/template/spec/domain/memory", Manner::inferred, "instancetype"},
    {"2.5", "spec/dataVolumeTemplates/*/spec/pvc/storageClassName"},
    {"2.5", "spec/dataVolumeTemplates/*/spec/storage/storageClassName"},
    {"2.5 2.6", "spec/template/spec/architecture"},
    {"2.5 2.6", "spec/template/spec/domain/machine/type"},
    {"2.6", "spec/template/spec/domain/firmware/uuid"},
    {"2.6", "spec/template/spec/domain/firmware/serial"},
    {"2.6", "spec/template/metadata/annotations/kubevirt.io~1pci-topology-version"},
};

constexpr Excuse migration_excuses[] = {
    {"2.1", "metadata/labels/kubevirt.io~1vmi-name", Manner::overwrite},
    {"2.1", "metadata/finalizers", Manner::append},
};

constexpr Excuse clone_excuses[] = {
    {"2.2", "spec/target/apiGroup"},
    {"2.2", "spec/target/kind"},
    {"2.2", "spec/target/name"},
};

struct Mutation {
  std::string_view webhook;
  std::string_view operation;
  std::string_view type;
  std::vector<std::string_view> replaced;  // by the patch, from the object in the type's form; the rest stays as sent
  std::span<const Excuse> excuses;
};

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> table = {
      {"/virtualmachineinstances-mutate",
       "CREATE",
       "kubevirt.VirtualMachineInstance",
       {"spec", "metadata", "status"},
       vmi_excuses},
      // Only what somebody else wrote into the status is taken back.
      {"/virtualmachineinstances-mutate", "UPDATE", "kubevirt.VirtualMachineInstance", {"status"}, {}},
      {"/virtualmachines-mutate", "CREATE", "kubevirt.VirtualMachine", {"spec", "metadata"}, vm_excuses},
      {"/virtualmachines-mutate", "UPDATE", "kubevirt.VirtualMachine", {"spec", "metadata"}, vm_excuses},
      {"/migration-mutate-create",
       "CREATE",
       "kubevirt.VirtualMachineInstanceMigration",
       {"metadata"},
       migration_excuses},
      {"/vm-clone-mutate-create", "CREATE", "clone.VirtualMachineClone", {"spec"}, clone_excuses},
  };
  return table;
}

// --- comparing
// --------------------------------------------------------------------------------------------------------

bool is_empty(const Value* value) {
  if (!value || value->is_null()) return true;
  if (const auto* text = value->if_string()) return text->empty();
  if (const auto* array = value->if_array()) return array->empty();
  const auto* object = value->if_object();
  return object && std::ranges::all_of(*object, [](const auto& member) { return is_empty(&member.value()); });
}

bool is_zero(const Value* value) {
  if (is_empty(value)) return true;
  if (const auto text = json::as_string(value)) return *text == "0";
  return value->is_number() && value->to_number<double>() < 1;
}

std::string pointer_step(std::string_view key) {
  std::string step;
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return step;
}

bool matches(std::string_view pattern, std::string_view path) {
  for (;;) {
    const std::size_t pattern_end = std::min(pattern.find('/'), pattern.size());
    const std::size_t path_end = std::min(path.find('/'), path.size());
    if (pattern.substr(0, pattern_end) != "*" && pattern.substr(0, pattern_end) != path.substr(0, path_end))
      return false;
    const bool ends = pattern_end == pattern.size();
    if (ends || path_end == path.size()) return ends && path_end == path.size();
    pattern.remove_prefix(pattern_end + 1);
    path.remove_prefix(path_end + 1);
  }
}

// Collects the places where the recorded document differs from ours, except where an excuse covers the difference.
// Absent, null, "", [] and {} are alike, as in conform.py.
class Comparison {
 public:
  Comparison(std::span<const Excuse> excuses, const Value& sent, std::map<std::string_view, int>& used)
      : excuses_(excuses), sent_(sent), used_(used) {}

  void compare(const Value* recorded, const Value* ours, const std::string& path) {
    if (is_empty(recorded) && is_empty(ours)) return;
    if (json::as_string(recorded) == "<any>" && !is_empty(ours)) return;
    if (const Excuse* excuse = find(path); excuse && covers(*excuse, ours)) return use(*excuse);
    const Object* recorded_members = json::as_object(recorded);
    const Object* our_members = json::as_object(ours);
    const bool by_member = (recorded_members && (our_members || is_empty(ours))) || (our_members && is_empty(recorded));
    if (by_member) return compare_members(recorded_members, our_members, path);
    const Array* recorded_items = json::as_array(recorded);
    const Array* our_items = json::as_array(ours);
    const bool by_item = (recorded_items && (our_items || is_empty(ours))) || (our_items && is_empty(recorded));
    if (by_item) return compare_items(recorded_items, our_items, path);
    if (recorded && ours && *recorded == *ours) return;
    differences_.push_back(path + ": recorded " + text(recorded) + ", ours " + text(ours));
  }

  const std::vector<std::string>& differences() const { return differences_; }

 private:
  static std::string text(const Value* value) { return value ? json::to_text(*value) : "nothing"; }

  void compare_members(const Object* recorded, const Object* ours, const std::string& path) {
    const auto below = [&](std::string_view key) {
      return path.empty() ? pointer_step(key) : path + "/" + pointer_step(key);
    };
    const auto find_in = [](const Object* object, std::string_view key) {
      return object ? object->if_contains(key) : nullptr;
    };
    if (recorded) {
      for (const auto& member : *recorded) compare(&member.value(), find_in(ours, member.key()), below(member.key()));
    }
    if (!ours) return;
    for (const auto& member : *ours) {
      if (!find_in(recorded, member.key())) compare(nullptr, &member.value(), below(member.key()));
    }
  }

  void compare_items(const Array* recorded, const Array* ours, const std::string& path) {
    const std::size_t recorded_size = recorded ? recorded->size() : 0;
    const std::size_t our_size = ours ? ours->size() : 0;
    const Excuse* excuse = find(path);
    const bool may_grow = excuse && excuse->effect == Manner::append && recorded_size > our_size;
    if (may_grow) use(*excuse);
    if (recorded_size != our_size && !may_grow) {
      differences_.push_back(path + ": recorded " + text_of(recorded) + ", ours " + text_of(ours));
      return;
    }
    for (std::size_t at = 0; at < our_size; ++at) {
      compare(&(*recorded)[at], &(*ours)[at], path + "/" + std::to_string(at));
    }
  }

  static std::string text_of(const Array* array) {
    return array ? std::to_string(array->size()) + " elements" : "none";
  }

  const Excuse* find(std::string_view path) const {
    const auto found = std::ranges::find_if(excuses_, [&](const Excuse& each) { return matches(each.pattern, path); });
    return found == excuses_.end() ? nullptr : &*found;
  }
  void use(const Excuse& excuse) { ++used_[excuse.pattern]; }

  bool covers(const Excuse& excuse, const Value* ours) const {
    switch (excuse.effect) {
      case Manner::fill:
        return is_empty(ours);
      case Manner::fill_zero:
        return is_zero(ours);
      case Manner::append:
        return false;  // looked at where lists are compared
      case Manner::overwrite:
        return true;
      case Manner::inferred: {
        const Value* spec = json::find(sent_, "spec");
        const Value* matcher = spec ? json::find(*spec, excuse.matcher) : nullptr;
        return matcher && !json::get_string_or(*matcher, "inferFromVolume").empty();
      }
    }
    return false;
  }

  std::span<const Excuse> excuses_;
  const Value& sent_;
  std::map<std::string_view, int>& used_;
  std::vector<std::string> differences_;
};

// --- the recordings
// ---------------------------------------------------------------------------------------------------

void for_each_case(const std::filesystem::path& file, const std::function<void(json::Document&)>& act) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << document.error().message;
    act(*document);
  }
}

// What our part of upstream's answer would be: the object as sent, with the replaced parts in canonical form.
void put_canonical_parts(Value& object, const Value& source, const Mutation& mutation, const Type& type) {
  Value canonical(source, object.storage());
  const auto done = canonicalize(canonical, type);
  ASSERT_TRUE(done) << done.error().message;
  for (const std::string_view part : mutation.replaced) {
    if (Value* value = json::find(canonical, part)) object.as_object()[part] = std::move(*value);
  }
}

TEST(CanonicalConformance, AgreesWithEveryRecordedMutation) {
  const auto files = test_files::admission_recordings();
  int compared = 0;
  int differing = 0;
  std::map<std::string_view, int> used;
  std::map<std::string_view, int> by_webhook;
  const auto check = [&](json::Document& document) {
    const Value* after = json::find_path(document.root(), {"expect", "after"});
    if (!after) return;
    const std::string_view webhook = json::get_string_or(document.root(), "path");
    Value& request = *json::find(document.root(), "request");
    const std::string_view operation = json::get_string_or(request, "operation");
    const auto mutation = std::ranges::find_if(
        mutations(), [&](const Mutation& each) { return each.webhook == webhook && each.operation == operation; });
    ASSERT_NE(mutation, mutations().end()) << webhook << " " << operation;
    const Type* type = find_type(mutation->type);
    ASSERT_NE(type, nullptr);
    Value& object = *json::find(request, "object");
    const bool takes_back = mutation->excuses.empty();
    const Value source(*json::find(request, takes_back ? "oldObject" : "object"), document.storage());
    put_canonical_parts(object, source, *mutation, *type);
    Comparison comparison(mutation->excuses, source, used);
    comparison.compare(after, &object, {});
    ++compared;
    ++by_webhook[mutation->webhook];
    if (comparison.differences().empty()) return;
    if (++differing > 20) return;
    std::string all;
    for (const std::string& difference : comparison.differences()) all += "\n  " + difference;
    ADD_FAILURE() << json::get_string_or(document.root(), "id") << all;
  };
  for (const auto& file : files) for_each_case(file, check);
  EXPECT_EQ(differing, 0);
  // So that nobody passes by comparing nothing.
  EXPECT_GT(compared, 800);
  for (const Mutation& mutation : mutations()) EXPECT_GT(by_webhook[mutation.webhook], 0) << mutation.webhook;
  RecordProperty("compared", compared);
  // An excuse that nothing needs any more should not hide anything either; these are needed by rare cases only.
  EXPECT_GT(used.size(), 50u);
}

// --- the check inside webhooks
// ------------------------------------------------------------------------------------------

using FieldCauses = std::set<std::pair<std::string, std::string>>;  // reason and field

FieldCauses recorded_causes(const Value& expect) {
  FieldCauses causes;
  const Array* list = json::get_array(expect, "causes");
  if (!list) return causes;
  for (const Value& cause : *list) {
    causes.emplace(*json::as_string(&cause.as_array()[0]), *json::as_string(&cause.as_array()[1]));
  }
  return causes;
}

FieldCauses pairs(const std::vector<StatusCause>& causes) {
  FieldCauses result;
  for (const StatusCause& cause : causes) result.emplace(cause.reason, cause.field);
  return result;
}

std::string print(const FieldCauses& causes) {
  std::string text;
  for (const auto& [reason, field] : causes) text += "\n    " + reason + " " + field;
  return text.empty() ? " none" : text;
}

const std::map<std::string_view, std::string_view>& kinds_by_webhook() {
  static const std::map<std::string_view, std::string_view> table = {
      {"/virtualmachineinstances-mutate", "VirtualMachineInstance"},
      {"/virtualmachineinstances-validate-create", "VirtualMachineInstance"},
      {"/virtualmachineinstances-validate-update", "VirtualMachineInstance"},
      {"/virtualmachines-mutate", "VirtualMachine"},
      {"/virtualmachines-validate", "VirtualMachine"},
      {"/virtualmachinereplicaset-validate", "VirtualMachineInstanceReplicaSet"},
      {"/vmipreset-validate", "VirtualMachineInstancePreset"},
      {"/migration-mutate-create", "VirtualMachineInstanceMigration"},
      {"/migration-validate-create", "VirtualMachineInstanceMigration"},
      {"/migration-validate-update", "VirtualMachineInstanceMigration"},
      {"/virtualmachinepool-validate", "VirtualMachinePool"},
      {"/vm-clone-mutate-create", "VirtualMachineClone"},
  };
  return table;
}

// The causes of this check are the only ones without reason and field, so the recordings show whether it refused.
TEST(WebhookSchemaConformance, RefusesWhatUpstreamRefuses) {
  const auto files = test_files::admission_recordings();
  int compared = 0;
  int refused = 0;
  const auto check = [&](json::Document& document) {
    const auto kind = kinds_by_webhook().find(json::get_string_or(document.root(), "path"));
    const Value* object = json::find_path(document.root(), {"request", "object"});
    const Value& expect = *json::find(document.root(), "expect");
    // 0: the reference crashed. A 400 comes from a step that some webhooks take first.
    if (kind == kinds_by_webhook().end() || !object || json::get_int_or(expect, "status", 0) == 0) return;
    if (json::get_int_or(expect, "code", 0) == 400) return;
    const bool recorded = recorded_causes(expect).contains({"", ""});
    const auto causes = check_webhook_schema(kind->second, *object);
    EXPECT_EQ(!causes.empty(), recorded) << json::get_string_or(document.root(), "id") << " "
                                         << (causes.empty() ? "" : causes[0].message);
    ++compared;
    refused += recorded;
  };
  for (const auto& file : files) for_each_case(file, check);
  EXPECT_GT(compared, 3000);
  EXPECT_GT(refused, 500);
}

// --- structural schemas
// ---------------------------------------------------------------------------------------------------

// Brings a created object to where kube-apiserver validates it: as the mutating webhook, if there is one, left it.
void put_mutated(Value& object, const Kind& kind) {
  const bool is_clone = kind.kind == "VirtualMachineClone";
  const bool is_mutated = kind.kind == "VirtualMachine" || kind.kind == "VirtualMachineInstance" ||
                          kind.kind == "VirtualMachineInstanceMigration" || is_clone;
  if (!is_mutated) return;
  if (is_clone) {
    // A clone with a target is not touched at all.
    Object* spec = json::get_object(object, "spec");
    if (!spec || !is_empty(json::find_path(object, {"spec", "target", "name"}))) return;
    Object& target = json::ensure_object(*spec, "target");
    if (target.empty()) target = {{"apiGroup", "kubevirt.io"}, {"kind", "VirtualMachine"}};
    target["name"] = "made-up";
  }
  const auto done = canonicalize(object, *kind.type);
  EXPECT_TRUE(done) << done.error().message;
}

TEST(StructuralConformance, AnswersCreatesAsKubeApiserverDoes) {
  const auto file = test_files::recording("creates.jsonl");
  int refused = 0;
  int accepted = 0;
  int strict = 0;
  int stored = 0;
  for_each_case(file, [&](json::Document& document) {
    Value& step = json::find(document.root(), "steps")->as_array()[0];
    const Value& expect = *json::find(step, "expect");
    Value& object = *json::find(step, "body");
    const std::string id(json::get_string_or(document.root(), "id"));
    const std::string_view api_version = json::get_string_or(object, "apiVersion");
    const std::size_t slash = api_version.find('/');
    const Kind* kind =
        find_kind(api_version.substr(0, slash), api_version.substr(slash + 1), json::get_string_or(object, "kind"));
    ASSERT_NE(kind, nullptr) << id;
    const auto status = json::get_int_or(expect, "status", 0);
    std::vector<std::string> unknown;
    ASSERT_TRUE(prune(object, *kind, &unknown)) << id;
    if (json::get_string_or(step, "path").contains("fieldValidation=Strict")) {
      // A webhook's 400 has no reason.
      const bool recorded = status == 400 && json::get_string_or(expect, "reason") == "BadRequest";
      EXPECT_EQ(!unknown.empty(), recorded) << id << " " << (unknown.empty() ? "" : unknown[0]);
      ++strict;
      if (!unknown.empty()) return;
    }
    apply_defaults(object, *kind);
    const Object* details = json::get_object(expect, "details");
    const bool by_apiserver = status == 422 && details && !details->empty();
    // What webhooks refuse is not of interest, and after a mutating one there is nothing to compare with.
    if (status != 201 && !by_apiserver) return;
    put_mutated(object, *kind);
    if (kind->status_subresource) json::erase(object.as_object(), "status");
    FieldCauses recorded = recorded_causes(expect);
    // Names and labels are checked elsewhere.
    std::erase_if(recorded, [](const auto& cause) { return cause.second.starts_with("metadata"); });
    const FieldCauses ours = pairs(validate_structure(object, *kind));
    EXPECT_EQ(ours, recorded) << id << "\n  recorded" << print(recorded) << "\n  ours" << print(ours);
    ++(by_apiserver ? refused : accepted);
    const Value* body = json::find(expect, "body");
    if (!body || kind->type == find_type("kubevirt.VirtualMachine") ||
        kind->type == find_type("kubevirt.VirtualMachineInstance") || kind->kind == "VirtualMachineClone") {
      return;
    }
    // Without defaults of a webhook what is stored is what we made of it, byte for byte.
    const auto text = [](const Value* value) { return value ? json::to_text(*value, {.sort_keys = true}) : ""; };
    EXPECT_EQ(text(json::find(object, "spec")), text(json::find(*body, "spec"))) << id;
    ++stored;
  });
  EXPECT_GT(refused, 300);
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(strict, 800);
  EXPECT_GT(stored, 600);
}

}  // namespace
}  // namespace vg::api
