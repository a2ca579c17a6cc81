// DOM-RNG, DOM-BAL, DOM-WDG, DOM-TPM, DOM-USB, DOM-VSK, DOM-SND, DOM-PAN, DOM-FS, DOM-LS; and the lists of host devices
// that the context brings (DOM-HDV).
#include <fmt/format.h>

#include <array>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {

// DOM-RNG-01
Result<void> write_rng(Conversion& c) {
  if (!c.vmi.dev.rng()) return {};
  Element& rng = c.devices.add("rng").set("model", c.virtio);
  rng.child("backend").set("model", "random").set_text(c.context.paths.at(Path::random));
  if (c.context.iommu_on()) rng.child("driver").set("iommu", "on");
  return {};
}

Result<void> write_balloon(Conversion& c) {
  Element& balloon = c.devices.add("memballoon");
  if (!c.vmi.dev.autoattach_mem_balloon().value_or(true)) {  // DOM-BAL-01
    balloon.set("model", "none");
    return {};
  }
  // DOM-BAL-02
  balloon.set("model", c.virtio).set("freePageReporting", on_off(c.context.free_page_reporting));
  if (c.context.balloon_stats_period != 0) balloon.child("stats").set("period", c.context.balloon_stats_period);
  if (c.context.iommu_on()) balloon.child("driver").set("iommu", "on");
  return {};
}

// DOM-WDG-01
Result<void> write_watchdog(Conversion& c) {
  const auto given = c.vmi.dev.watchdog();
  if (!given) return {};
  const std::string_view field = "spec.domain.devices.watchdog";
  const auto model = c.traits.watchdog;
  if (model.empty())
    return refuse("DOM-WDG-01", field,
                  fmt::format("must not be set: watchdogs are not supported on {}", c.traits.name));
  const api::View device(given.get(model));
  if (!device) return require("DOM-WDG-01", field, fmt::format("{} on {}", model, c.traits.name));
  Element& watchdog = c.devices.add("watchdog").set("model", model);
  watchdog.set("action", api::Read<std::string_view>::or_zero(device.get("action")));
  set_alias(watchdog, given.name());
  return {};
}

Result<void> write_tpm(Conversion& c) {
  const auto given = c.vmi.dev.tpm();
  if (!given || !given.enabled().value_or(true)) return {};
  // DOM-TPM-01, DOM-TPM-02
  const bool persistent = given.persistent().value_or(false);
  Element& tpm = c.devices.add("tpm").set("model", persistent ? "tpm-crb" : "tpm-tis");
  Element& backend = tpm.child("backend").set("type", "emulator").set("version", "2.0");
  if (persistent) backend.set("persistent_state", "yes");
  return {};
}

// DOM-USB-01
Result<void> write_usb_redirection(Conversion& c) {
  if (!c.vmi.dev.client_passthrough()) return {};
  for (int at = 0; at < 4; ++at)
    c.devices.add("redirdev")
        .set("type", "unix")
        .set("bus", "usb")
        .child("source")
        .set("mode", "bind")
        .set("path", c.context.paths.at(Path::usb_redirection, {{"uid", c.vmi.metadata.uid()},
                                                                {"namespace", c.vmi.metadata.namespace_()},
                                                                {"name", c.vmi.metadata.name()},
                                                                {"index", fmt::to_string(at)}}));
  return {};
}

// DOM-VSK-01
Result<void> write_vsock(Conversion& c) {
  if (const auto cid = c.vmi.status.vsockcid())
    c.devices.add("vsock").set("model", "virtio-non-transitional").child("cid").set("auto", "no").set("address", *cid);
  return {};
}

// DOM-SND-01
Result<void> write_sound(Conversion& c) {
  const auto given = c.vmi.dev.sound();
  if (!given) return {};
  const auto model = given.model().empty() ? "ich9" : given.model();
  if (model != "ich9" && model != "ac97")
    return refuse("DOM-SND-01", "spec.domain.devices.sound.model",
                  fmt::format("{}: supported values: ich9, ac97", in_quotes(model)));
  set_alias(c.devices.add("sound").set("model", model), given.name());
  return {};
}

// DOM-PAN-01
Result<void> write_panic_devices(Conversion& c) {
  for (const kubevirt::PanicDevice given : c.vmi.dev.panic_devices())
    c.devices.add("panic").set_if("model", given.model().value_or(""));
  return {};
}

// DOM-FS-01
Result<void> write_filesystems(Conversion& c) {
  for (const kubevirt::Filesystem given : c.vmi.dev.filesystems()) {
    if (!given.virtiofs()) continue;
    Element& filesystem = c.devices.add("filesystem").set("type", "mount").set("accessMode", "passthrough");
    filesystem.child("source").set("dir", "").set(
        "socket", c.context.paths.at(Path::virtiofs, {{"volume", given.name()}, {"uid", c.vmi.metadata.uid()}}));
    filesystem.child("target").set_if("dir", given.name());
    filesystem.child("driver").set("type", "virtiofs").set("queue", 1024);
  }
  return {};
}

Result<void> write_launch_security(Conversion& c) {
  const auto given = c.vmi.dom.launch_security();
  if (!c.traits.launch_security || !(given.sev() || given.snp() || given.tdx())) return {};  // DOM-LS-01
  Element& security = c.domain.child("launchSecurity");
  if (const auto sev = given.sev()) {  // DOM-LS-03
    security.set("type", "sev");
    security.child("policy").set_text(sev.policy().encrypted_state().value_or(false) ? "0x5" : "0x1");
    if (!sev.dh_cert().empty()) security.child("dhCert").set_text(sev.dh_cert());
    if (!sev.session().empty()) security.child("session").set_text(sev.session());
  } else if (given.snp()) {  // DOM-LS-02
    security.set("type", "sev-snp").child("policy").set_text("0x30000");
  } else {  // DOM-LS-04
    security.set("type", "tdx")
        .child("quoteGenerationService")
        .set_if("path", c.vmi.annotations[annotation::qgs_socket]);
  }
  return {};
}

// Spec domain 4.14: written in this order.
Result<void> write_host_devices(Conversion& c) {
  for (const auto* list : {&c.context.generic_hostdevs, &c.context.gpu_hostdevs, &c.context.sriov_hostdevs})
    for (const Element& hostdev : *list) c.devices.add(hostdev);
  return {};
}

}  // namespace vg::domain
