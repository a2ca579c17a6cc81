#include "actions/stream_ledger.h"

#include <algorithm>
#include <array>

#include "base/budgets.h"

namespace vg::actions {
namespace {

// The name, help and labels of the metrics are upstream's.
struct Kind {
  std::string_view action;
  const char* metric;  // null: not shown
  const char* help;
};
constexpr std::array<Kind, 5> kinds{{
    {"console", "kubevirt_console_active_connections", "Serial consoles in use."},
    {"vnc", "kubevirt_vnc_active_connections", "VNC displays in use."},
    {"usbredir", "kubevirt_usbredir_active_connections", "USB redirections in use."},
    {"portforward", "kubevirt_portforward_active_tunnels", "Forwarded ports in use."},
    {"vsock", nullptr, nullptr},
}};

std::size_t find_kind(std::string_view action) {
  const auto found = std::ranges::find_if(kinds, [&](const Kind& kind) { return action.starts_with(kind.action); });
  return static_cast<std::size_t>(std::min(found, kinds.end() - 1) - kinds.begin());
}

}  // namespace

StreamLedger::StreamLedger(metrics::Registry& registry, const Clock& clock)
    : clock_(clock),
      active_{},
      last_(registry.gauges("kubevirt_vmi_last_api_connection_timestamp_seconds",
                            "When the last stream to this VMI ended, in seconds since 1970.", {"namespace", "vmi"})) {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].metric) active_[i] = &registry.gauges(kinds[i].metric, kinds[i].help, {"namespace", "vmi"});
}

std::optional<StreamLedger::Entry> StreamLedger::enter(const Stream& stream) {
  const std::scoped_lock lock(mutex_);
  if (open_ >= limits::streams_max) return std::nullopt;
  ++open_;
  Key key{.kind = find_kind(stream.action), .ns = std::string(stream.ns), .name = std::string(stream.name)};
  show(key, ++counts_[key]);
  return Entry(*this, std::move(key));
}

std::size_t StreamLedger::open() const {
  const std::scoped_lock lock(mutex_);
  return open_;
}

void StreamLedger::leave(const Key& key) {
  const std::scoped_lock lock(mutex_);
  --open_;
  const auto found = counts_.find(key);
  show(key, --found->second);
  if (found->second == 0) counts_.erase(found);
  note_time(key);
}

// A machine that nobody is connected to needs no series.
void StreamLedger::show(const Key& key, std::size_t count) {
  metrics::Family<metrics::Gauge>* const family = active_[key.kind];
  if (!family) return;
  if (count == 0)
    family->remove({key.ns, key.name});
  else
    family->with({key.ns, key.name})->set(static_cast<double>(count));
}

void StreamLedger::note_time(const Key& key) {
  if (!active_[key.kind]) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall_now()).time_since_epoch();
  last_.with({key.ns, key.name})->set(static_cast<double>(now.count()));
  Instance instance(key.ns, key.name);
  const auto known = places_.find(instance);
  if (known != places_.end()) {
    shown_.splice(shown_.end(), shown_, known->second);
    return;
  }
  shown_.push_back(instance);
  places_.emplace(std::move(instance), std::prev(shown_.end()));
  if (shown_.size() <= budgets::streams_shown_max) return;
  last_.remove({shown_.front().first, shown_.front().second});
  places_.erase(shown_.front());
  shown_.pop_front();
}

}  // namespace vg::actions
