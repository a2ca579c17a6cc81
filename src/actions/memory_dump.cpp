// Dumping a guest's memory into a claim (spec subresources 2.12 and 2.13).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "actions/action_case.h"
#include "actions/decisions.h"
#include "api/views/k8s_core.h"
#include "api/views/k8s_volume.h"
#include "api/views/vmi_domain.h"
#include "base/quantity.h"
#include "json/access.h"
#include "json/patch.h"
#include "json/write.h"

namespace vg::actions {
namespace {

using api::kubevirt::VirtualMachineMemoryDumpRequest;

constexpr std::string_view request_path = "/status/memoryDumpRequest";
constexpr double mib = 1024.0 * 1024.0;
// What a dump takes beside the guest's memory.
constexpr double dump_extra_bytes = 100 * mib;
// Of a filesystem's room, where nobody says another share.
constexpr double filesystem_overhead = 0.055;

VirtualMachineMemoryDumpRequest dump_before(const ActionCase& asked) {
  return asked.vm().status().memory_dump_request();
}

Status claim_conflict(const ActionCase& asked, std::string_view why) {
  return conflict(claim_kind, dump_claim(asked), why);
}

std::optional<double> read_share(std::string_view text) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(share)) return std::nullopt;
  return share;
}

// The share of a filesystem that cannot be used: of the claim's storage class, else the one for all.
Result<double> overhead(const ActionCase& asked) {
  if (!asked.cdi) return filesystem_overhead;
  const json::Object* shares = json::as_object(json::find_path(*asked.cdi, {"status", "filesystemOverhead"}));
  if (!shares) return fail(Status::internal_error("CDIConfig \"config\" has no status.filesystemOverhead"));
  const api::k8s::PersistentVolumeClaim claim(asked.claim);
  std::string_view text = json::get_string_or(*shares, "global");
  if (const auto storage_class = claim.spec().storage_class_name())
    if (const json::Object* classes = json::get_object(*shares, "storageClass"))
      text = json::get_string_or(*classes, *storage_class, text);
  if (const auto share = read_share(text)) return *share;
  return fail(
      Status::internal_error(fmt::format("the filesystem overhead \"{}\" of the CDIConfig is not a number", text)));
}

// An amount may also be a bare number. One that cannot be read is none: it could not have been stored.
Quantity read_quantity(const api::QuantityView& view) {
  if (!view) return {};
  const auto quantity =
      Quantity::parse_json(view.text().empty() ? json::to_text(*view.value()) : std::string(view.text()));
  return quantity ? *quantity : Quantity();
}

double needed_bytes(const ActionCase& asked, double share) {
  const Quantity guest = read_quantity(asked.vmi().spec().domain().resources().requests()["memory"]);
  const double all = std::ceil((static_cast<double>(guest.value()) + dump_extra_bytes) * (1 + share));
  return std::max(1.0, std::ceil(all / mib)) * mib;
}

double claim_bytes(const ActionCase& asked) {
  const api::k8s::PersistentVolumeClaim claim(asked.claim);
  // Upstream counts in thousands, rounded up.
  return static_cast<double>(read_quantity(claim.spec().resources().requests()["storage"]).scaled_value(3)) * 1000;
}

std::optional<Status> find_small_claim(const ActionCase& asked) {
  const auto share = overhead(asked);
  if (!share) return share.error();
  const double needed = needed_bytes(asked, *share), there = claim_bytes(asked);
  if (there >= needed) return std::nullopt;
  return claim_conflict(
      asked, fmt::format("the claim has {:.0f} bytes, the dump requires {:.0f}; use a claim of at least {} Mi", there,
                         needed, needed / mib));
}

std::optional<Status> find_dump_under_way(const ActionCase& asked) {
  const auto before = dump_before(asked);
  const std::string_view phase = before.phase();
  if (!before || phase == "Completed" || phase == "Failed") return std::nullopt;
  if (phase == "Dissociating")
    return machine_conflict(
        asked, fmt::format("claim \"{}\" is still being released from the previous dump; wait until it completes",
                           before.claim_name()));
  return machine_conflict(
      asked, fmt::format("a memory dump is in progress (phase {}); wait until it is Completed or Failed", phase));
}

PatchObject dump_patch(const ActionCase& asked, json::Object request) {
  json::PatchBuilder builder(asked.storage);
  builder.test(request_path, copy_of(asked.vm().status().get("memoryDumpRequest"), asked));
  if (dump_before(asked))
    builder.replace(request_path, json::Value(std::move(request)));
  else
    builder.add(request_path, json::Value(std::move(request)));
  return {
      .resource = machines, .part = "status", .operations = builder.take(), .refused = Refused::invalid_or_internal};
}

}  // namespace

std::string_view dump_claim(const ActionCase& asked) {
  const std::string_view named = asked.options<VirtualMachineMemoryDumpRequest>().claim_name();
  return named.empty() ? dump_before(asked).claim_name() : named;
}

std::optional<Status> check_dump_claim(const ActionCase& asked) {
  const std::string_view named = asked.options<VirtualMachineMemoryDumpRequest>().claim_name();
  const auto before = dump_before(asked);
  if (named.empty() && !before) return Status::bad_request("claimName is required: the PVC for the memory dump");
  if (!named.empty() && before && before.claim_name() != named)
    return machine_conflict(
        asked,
        fmt::format(
            "claim \"{}\" is still in use for the previous dump; remove it first with `virtctl memory-dump remove {}`",
            before.claim_name(), asked.name));
  return std::nullopt;
}

std::optional<Status> check_dump_running(const ActionCase& asked) {
  if (asked.phase() == "Running") return std::nullopt;
  return not_running(asked, "no memory dump");
}

std::optional<Status> check_dump_file(const ActionCase& asked) {
  const api::k8s::PersistentVolumeClaim claim(asked.claim);
  if (claim.spec().volume_mode() == "Block")
    return claim_conflict(asked, "a memory dump requires volumeMode Filesystem, and this claim has volumeMode Block");
  for (const std::string_view mode : claim.spec().access_modes())
    if (mode == "ReadOnlyMany")
      return claim_conflict(asked, "the claim is read-only; use one with access mode ReadWriteOnce");
  return std::nullopt;
}

Decision decide_memory_dump(const ActionCase& asked) {
  if (auto small = find_small_claim(asked)) return fail(std::move(*small));
  if (auto busy = find_dump_under_way(asked)) return fail(std::move(*busy));
  json::Object request(asked.storage);
  request["claimName"] = text_of(dump_claim(asked), asked);
  request["phase"] = "Associating";
  return effects(dump_patch(asked, std::move(request)));
}

Decision decide_remove_memory_dump(const ActionCase& asked) {
  const auto before = dump_before(asked);
  if (!before)
    return fail(machine_conflict(
        asked, fmt::format("the VM has no memory dump; create one with `virtctl memory-dump get {}`", asked.name)));
  if (before.remove())
    return fail(machine_conflict(
        asked, fmt::format("claim \"{}\" is already being released; wait until it completes", before.claim_name())));
  json::Object request(asked.storage);
  request["claimName"] = text_of(before.claim_name(), asked);
  request["phase"] = "Dissociating";
  request["remove"] = true;
  return effects(dump_patch(asked, std::move(request)));
}

}  // namespace vg::actions
