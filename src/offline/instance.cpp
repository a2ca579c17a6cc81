// The instance that a VM becomes (spec vm-controller 6): one step a row, in the order that the rows need. What depends
// on requests and on the status of a VM that runs already (rows 6, 7, 14, 19) has no place here: the VM is new.
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <span>

#include "admission/admit.h"
#include "admission/defaults/instancetype_lookup.h"
#include "admission/defaults/spec_defaults.h"
#include "admission/instancetype/expand.h"
#include "admission/store_lookups.h"
#include "api/canonical.h"
#include "json/access.h"
#include "offline/render.h"

namespace vg::offline {
namespace {

constexpr std::string_view controller_finalizer = "kubevirt.io/virtualMachineControllerFinalize";
constexpr std::string_view controller_account = "system:serviceaccount:kubevirt:kubevirt-controller";
// Of the UUID that a name always gets (the text below the table).
constexpr std::array<unsigned char, 16> uuid_namespace{0x6a, 0x1a, 0x24, 0xa1, 0x40, 0x61, 0x46, 0x07,
                                                       0x8b, 0xf4, 0xa3, 0x96, 0x3d, 0x0c, 0x58, 0x95};

std::string stable_uuid(std::string_view name) {
  std::string text(uuid_namespace.begin(), uuid_namespace.end());
  text += name;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  digest[6] = static_cast<unsigned char>((digest[6] & 0x0f) | 0x50);
  digest[8] = static_cast<unsigned char>((digest[8] & 0x3f) | 0x80);
  std::string uuid;
  for (std::size_t i = 0; i < 16; ++i)
    uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", digest[i]);
  return uuid;
}

struct Making {
  const json::Object& vm;
  json::Object& instance;
  const admission::Context& context;
  int generation;  // of the VM

  std::string_view vm_name() const { return json::get_string_or(*json::get_object(vm, "metadata"), "name"); }
  json::Object& metadata() const { return json::ensure_object(instance, "metadata"); }
  json::Object& spec() const { return json::ensure_object(instance, "spec"); }
  json::Object& devices() const { return json::ensure_path(instance, {"spec", "domain", "devices"}); }
  json::Object& annotations() const { return json::ensure_object(metadata(), "annotations"); }
};

// Rows 1 to 5.
Result<void> copy_template(Making& making) {
  const json::Value* copied = json::find_path(making.vm.at("spec"), {"template"});
  making.instance["apiVersion"] = "kubevirt.io/v1";
  making.instance["kind"] = "VirtualMachineInstance";
  if (copied)
    for (const std::string_view part : {"metadata", "spec"})
      if (const json::Value* value = json::find(*copied, part)) making.instance[part] = *value;
  json::Object& metadata = making.metadata();
  const json::Object& own = *json::get_object(making.vm, "metadata");
  metadata["name"] = making.vm_name();
  metadata["namespace"] = json::get_string_or(own, "namespace");
  json::erase(metadata, "generateName");
  json::Array owners(making.context.storage);
  owners.push_back(json::Object{{"apiVersion", "kubevirt.io/v1"},
                                {"kind", "VirtualMachine"},
                                {"name", making.vm_name()},
                                {"uid", stand_in_uid},
                                {"controller", true},
                                {"blockOwnerDeletion", true}});
  metadata["ownerReferences"] = std::move(owners);
  return {};
}

// Row 8.
Result<void> set_uuid(Making& making) {
  json::Object& firmware = json::ensure_path(making.instance, {"spec", "domain", "firmware"});
  if (json::get_string_or(firmware, "uuid").empty()) firmware["uuid"] = stable_uuid(making.vm_name());
  return {};
}

// Row 9.
Result<void> add_disks(Making& making) {
  admission::SpecTarget target{.spec = making.spec(), .config = making.context.config};
  admission::default_disks(target);
  return {};
}

// Rows 10 to 12.
Result<void> set_marks(Making& making) {
  making.annotations()["kubevirt.io/vm-generation"] = fmt::to_string(making.generation);
  const json::Value* strategy = json::find(making.vm.at("spec"), "runStrategy");
  if (json::as_string(strategy) == "WaitAsReceiver")
    making.annotations()["kubevirt.io/create-migration-target"] = "true";
  json::Array& finalizers = json::ensure_array(making.metadata(), "finalizers");
  finalizers.emplace_back(controller_finalizer);
  return {};
}

// Row 13.
Result<void> prefer_attachments(Making& making) {
  const auto preference = admission::find_named_spec(making.vm, admission::preference_family, making.context);
  if (!preference) return fail(preference.error());
  const json::Object* preferred = *preference ? json::get_object(**preference, "devices") : nullptr;
  if (!preferred) return {};
  for (const std::string_view what : {"GraphicsDevice", "MemBalloon", "PodInterface", "SerialConsole", "InputDevice"}) {
    const json::Value* wanted = json::find(*preferred, fmt::format("preferredAutoattach{}", what));
    const std::string member = fmt::format("autoattach{}", what);
    if (wanted && !wanted->is_null() && !json::find(making.devices(), member)) making.devices()[member] = *wanted;
  }
  return {};
}

// Row 15.
Result<void> add_input(Making& making) {
  json::Object& devices = making.devices();
  const json::Array* inputs = json::get_array(devices, "inputs");
  if (!json::get_bool_or(devices, "autoattachInputDevice", false) || (inputs && !inputs->empty())) return {};
  devices["inputs"] = json::Array{json::Object{{"name", "default-0"}}};
  return {};
}

// Row 16.
Result<void> add_interfaces(Making& making) {
  admission::SpecTarget target{.spec = making.spec(), .config = making.context.config};
  admission::default_interfaces(target);
  if (target.refusal) return fail(Status::bad_request(std::move(*target.refusal)));
  return {};
}

// Row 17.
Result<void> name_matchers(Making& making) {
  for (const std::string_view what : {"instancetype", "preference"}) {
    const json::Object* matcher = json::get_object(making.vm.at("spec"), what);
    if (!matcher) continue;
    const std::string_view kind = json::get_string_or(*matcher, "kind");
    const bool cluster = kind.empty() || std::ranges::search(kind, std::string_view("cluster"), {}, [](char c) {
                                           return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                                         }).begin() != kind.end();
    making.annotations()[fmt::format("kubevirt.io/{}{}-name", cluster ? "cluster-" : "", what)] =
        json::get_string_or(*matcher, "name");
  }
  return {};
}

// Row 18.
Result<void> apply_matchers(Making& making) {
  return admission::apply_named(making.vm, making.instance, making.context);
}

constexpr std::array steps{copy_template, set_uuid,       add_disks,     set_marks,     prefer_attachments,
                           add_input,     add_interfaces, name_matchers, apply_matchers};

Result<void> canonicalize(json::Value& value, std::string_view kind) {
  return api::canonicalize(value, *api::find_kind("kubevirt.io", "v1", kind)->type);
}

// Whether VMs are stored with what they name put into them, instead of a reference to it (VMC-92, VMC-93).
bool stores_expanded(const config::ClusterConfig& config) {
  const json::Object* settings = json::get_object(config.configuration(), "instancetype");
  const std::string_view policy = settings ? json::get_string_or(*settings, "referencePolicy") : std::string_view();
  return policy == "expand" || policy == "expandAll";
}

const User& controller() {
  static const User user{
      .name = std::string(controller_account),
      .uid = {},
      .groups = {"system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated"},
      .extra = {}};
  return user;
}

}  // namespace

Result<json::Value> instance_of(const json::Value& vm, const World& world, const json::StoragePtr& storage) {
  const ObjectsBeside store(world.known, {}, StandIn::none, !world.complete);
  const admission::StoreLookups lookups(store);
  const auto config = world.config.current();
  const admission::Context context{.config = *config,
                                   .lookups = lookups,
                                   .randomness = world.randomness,
                                   .own_namespace = "kubevirt",
                                   .now = world.clock.wall_now(),
                                   .storage = storage};
  json::Value canonical(vm, storage);
  json::Value instance = json::Value(json::Object(storage));
  if (auto good = canonicalize(canonical, "VirtualMachine"); !good) return fail(std::move(good.error()));
  if (!json::get_object(canonical, "spec") || !json::get_object(canonical, "metadata"))
    return fail(Status::bad_request("the VM has no spec"));
  int generation = 1;  // the VM is new
  if (stores_expanded(*config)) {
    auto expanded = admission::expand_vm(canonical.get_object(), context);
    if (!expanded) return fail(std::move(expanded.error()));
    if (*expanded != canonical) ++generation;  // written once more
    canonical = std::move(*expanded);
  }
  Making making{
      .vm = canonical.get_object(), .instance = instance.get_object(), .context = context, .generation = generation};
  for (const auto& step : steps)
    if (auto good = step(making); !good) return fail(std::move(good.error()));
  const auto* resource = resources::find_resource("kubevirt.io", "v1", "virtualmachineinstances");
  const ServerAnswer answer = judge({.resource = *resource,
                                     .version = *resource->kind->version("v1"),
                                     .ns = json::get_string_or(*json::get_object(instance, "metadata"), "namespace"),
                                     .object = instance,
                                     .user = &controller()},
                                    world);
  if (answer.refusal) return fail(*answer.refusal);
  return rendered(answer.object, *resource, "kubevirt.io/v1", storage);
}

}  // namespace vg::offline
