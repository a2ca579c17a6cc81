#include "controllers/exports/export.h"

#include <fmt/format.h>

#include <array>

#include "base/controller_limits.h"
#include "base/duration.h"
#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/copies/writing.h"
#include "controllers/exports/links.h"
#include "controllers/exports/source.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers {
namespace exports {
namespace {

constexpr string_view pod_ready = "PodReady", pod_pending = "PodPending";

struct Work {
  Work(const Turn& given, const Object& exported)
      : turn(given), object(exported), status(status_copy(exported, given.storage)) {}

  const Turn& turn;
  const Object& object;
  Object status;
  Pass pass = {};

  void show(string_view type, bool value, string_view reason, string_view message = {}) {
    set_condition_and_message(status, {.type = type,
                                       .status = value ? "True" : "False",
                                       .reason = reason,
                                       .message = message,
                                       .last_transition = time_text(turn.now)});
  }
  void tell(EventType type, string_view reason, std::string words) { pass.tell(type, reason, std::move(words)); }
};

// When it ends (EXP-02): by what the spec says, whatever the status does.
Time end_of(const Work& work) {
  const auto made = created(work.object).value_or(work.turn.now);
  const string_view wanted = json::text_in(vm::spec_of(work.object), "ttlDuration");
  const auto parsed = parse_duration(wanted);
  if (wanted.empty() || !parsed || parsed->count() <= 0) return made + limits::export_life;
  return made + bounded(*parsed);
}

// --- the token (6.4) -------------------------------------------------------------------------------------------------

std::string new_token(std::array<std::uint64_t, 2> secret) {
  constexpr string_view letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::size_t length = 20, half = length / 2;
  std::string token;
  for (std::uint64_t& part : secret)
    for (std::size_t i = 0; i < half; ++i) {
      token += letters[part % letters.size()];
      part /= letters.size();
    }
  return token;
}

// EXP-61
void create_token(Work& work, const std::string& name) {
  const json::StoragePtr& storage = work.turn.storage;
  work.pass.add(
      {.verb = Verb::create,
       .resource = kinds::secret,
       .ns = work.turn.key.ns,
       .name = name,
       .identity = Identity::own(),
       .document =
           Value({{"apiVersion", "v1"},
                  {"kind", "Secret"},
                  {"metadata",
                   {{"name", name},
                    {"namespace", work.turn.key.ns},
                    {"ownerReferences", Array({controller_reference_to(owner_of(work.object), storage)}, storage)}}},
                  {"type", "Opaque"},
                  {"stringData", {{"token", new_token(work.turn.secret)}}}},
                 storage),
       .already_done_is_fine = true,
       .if_done = Event{.type = EventType::normal,
                        .reason = "SecretCreated",
                        .message = fmt::format("Secret {} with the token was created", name)}});
}

// True when there is a token that clients can present (EXP-60, EXP-87).
bool has_token(Work& work, const ExportSource& source) {
  const string_view wanted = json::text_in(vm::spec_of(work.object), "tokenSecretRef");
  std::string name(wanted);
  if (wanted.empty()) {
    if (!source.available || !source.has_content) return false;
    name = export_token_name(work.turn.key.name);
  }
  vm::edit::set_text(work.status, "tokenSecretRef", name);
  const Object* secret = work.turn.world.get(kinds::secret, work.turn.key.ns, name);
  if (!secret && wanted.empty()) create_token(work, name);
  const Object* data = secret ? json::get_object(*secret, "data") : nullptr;
  return !json::text_in(data, "token").empty();
}

// --- the server (6.1, 6.3) -------------------------------------------------------------------------------------------

bool was_serving(const Work& work) {
  const string_view reason = condition_reason(vm::status_of(work.object), "Ready");
  return reason == pod_ready || reason == pod_pending;
}

void tell_of_server(Work& work, const ExportSource& source, bool serves) {
  const bool served = was_serving(work);
  if (serves && !served) {  // EXP-06, EXP-82
    work.tell(EventType::normal, "ExporterPodCreated", "the export is served by this server");
    if (source.has_manifests) work.tell(EventType::normal, "DataManifestCreated", "manifests of the VM are served");
  }
  if (!serves && served)  // EXP-07
    work.tell(EventType::warning, "ExportPaused", fmt::format("the export is not served: {}", source.message));
}

void show_source(Work& work, const ExportSource& source) {
  if (source.vm)
    vm::edit::set_text(work.status, "virtualMachineName", *source.vm);
  else
    json::erase(work.status, "virtualMachineName");
  if (source.extra) work.show(source.extra->type, source.extra->value, source.extra->reason);
  vm::edit::set_text(work.status, "serviceName", export_service_name(work.turn.key.name));  // EXP-56
}

void show_server(Work& work, const ExportSource& source) {
  const bool serves = source.available && source.has_content;
  const bool token = has_token(work, source);
  tell_of_server(work, source, serves);
  if (serves && token) {  // EXP-51
    vm::edit::set_text(work.status, "phase", "Ready");
    work.show("Ready", true, pod_ready);
    work.status["links"] = export_links(work.turn, source);
    return;
  }
  work.status["links"] = Object(work.turn.storage);
  if (serves) {  // EXP-52
    vm::edit::set_text(work.status, "phase", "Pending");
    work.show("Ready", false, pod_pending, "the Secret with the token is missing, or has no token");
    return;
  }
  vm::edit::set_text(work.status, "phase", source.skipped ? "Skipped" : "Pending");  // EXP-50
  work.show("Ready", false, source.reason, source.message);
}

Pass sync(const Turn& turn) {
  Work work(turn, *turn.world.get(kinds::vm_export, turn.key.ns, turn.key.name));
  if (is_being_deleted(work.object)) return {};  // EXP-01
  const Time end = end_of(work);
  if (turn.now >= end) {  // EXP-86
    remove(work.pass, kinds::vm_export, work.object);
    return std::move(work.pass);
  }
  const auto source = read_source(turn.world, work.object);
  if (!source) {  // EXP-03
    work.pass.try_again = is_of_backup(work.object);
    return std::move(work.pass);
  }
  look_again_at(work.pass, turn, end);
  if (!vm::status_of(work.object)) {  // EXP-02
    vm::edit::set_text(work.status, "phase", "Pending");
    vm::edit::set_text(work.status, "ttlExpirationTime", time_text(end));
    work.show("Ready", false, "Initializing");
  } else {
    show_source(work, *source);
    show_server(work, *source);
    if (source->looks_again) work.pass.look_again(limits::export_retry);
  }
  if (Effect* written = write_status(work.pass, turn, kinds::vm_export, work.object, work.status))
    written->also_told = std::move(work.pass.events);
  work.pass.events.clear();
  return std::move(work.pass);
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

template <const char* word>
std::vector<Key> referring(const Change& change, const World& world) {
  const string_view ns = metadata_text(change.object(), "namespace");
  std::vector<Key> keys;
  for (std::string& name :
       world.referring(kinds::vm_export, ns, fmt::format("{}/{}", word, metadata_text(change.object(), "name"))))
    keys.push_back({.ns = std::string(ns), .name = std::move(name)});
  return keys;
}

constexpr char vm_word[] = "vm", snapshot_word[] = "snapshot", claim_word[] = "claim", secret_word[] = "secret";

// What a default Secret is for; others are named by their export.
std::vector<Key> of_secret(const Change& change, const World& world) {
  std::vector<Key> keys = referring<secret_word>(change, world);
  const Object* owner = controller_reference(change.object());
  if (owner && json::get_string_or(*owner, "kind") == "VirtualMachineExport")
    keys.push_back({.ns = std::string(metadata_text(change.object(), "namespace")),
                    .name = std::string(json::get_string_or(*owner, "name"))});
  return keys;
}

constexpr Trigger triggers[] = {{.resource = kinds::vm, .keys = referring<vm_word>},
                                {.resource = kinds::vmi, .keys = referring<vm_word>},
                                {.resource = kinds::snapshot, .keys = referring<snapshot_word>},
                                {.resource = kinds::claim, .keys = referring<claim_word>},
                                {.resource = kinds::secret, .keys = of_secret}};

}  // namespace
}  // namespace exports

Controller export_controller() {
  return {.name = "export",
          .resource = kinds::vm_export,
          .component = "export-controller",
          .triggers = exports::triggers,
          .sync = exports::sync};
}

}  // namespace vg::controllers
