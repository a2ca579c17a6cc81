// DOM-CLK
#include <algorithm>

#include "domain/conversion.h"

namespace vg::domain {
namespace {

// DOM-CLK-05: one that is set; `present` is on unless it says otherwise.
template <class Timer>
Element* add_timer(Element& clock, std::string_view name, const Timer& given) {
  if (!given) return nullptr;
  return &clock.add("timer").set("name", name).set("present", yes_no(given.present().value_or(true)));
}

// DOM-CLK-04
void write_timers(Element& clock, const kubevirt::Timer& timer) {
  if (Element* rtc = add_timer(clock, "rtc", timer.rtc()))
    rtc->set_if("tickpolicy", timer.rtc().tick_policy()).set_if("track", timer.rtc().track());
  if (Element* pit = add_timer(clock, "pit", timer.pit())) pit->set_if("tickpolicy", timer.pit().tick_policy());
  add_timer(clock, "kvmclock", timer.kvm());
  if (Element* hpet = add_timer(clock, "hpet", timer.hpet())) hpet->set_if("tickpolicy", timer.hpet().tick_policy());
  add_timer(clock, "hypervclock", timer.hyperv());
}

// DOM-CLK-06: guests that rely on a stable TSC.
bool needs_tsc_frequency(const Vmi& vmi) {
  const auto features = vmi.dom.cpu().features();
  const bool invariant = std::any_of(features.begin(), features.end(), [](const kubevirt::CPUFeature& feature) {
    return feature.name() == "invtsc" && (feature.policy() == "require" || feature.policy() == "force");
  });
  return invariant || vmi.dom.features().hyperv().reenlightenment<kubevirt::FeatureState>().enabled() == true;
}

}  // namespace

Result<void> write_clock(Conversion& c) {
  if (const auto given = c.vmi.dom.clock()) {
    Element& clock = c.domain.child("clock");
    if (const auto utc = given.utc()) {  // DOM-CLK-02
      clock.set("offset", "utc");
      if (const auto seconds = utc.offset_seconds())
        clock.set("adjustment", *seconds);
      else
        clock.set("adjustment", "reset");
    } else if (const auto zone = given.timezone()) {  // DOM-CLK-03
      clock.set("offset", "timezone").set_if("timezone", *zone);
    }
    write_timers(clock, given.timer());
  }
  const auto frequency = c.vmi.status.topology_hints().tsc_frequency().value_or(0);
  if (frequency > 0 && needs_tsc_frequency(c.vmi))
    c.domain.child("clock").add("timer").set("name", "tsc").set("frequency", frequency);
  return {};
}

}  // namespace vg::domain
