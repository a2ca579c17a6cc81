#include "handler/sync/records.h"

#include <memory>
#include <mutex>

#include "base/duration.h"
#include "base/files.h"
#include "base/log.h"
#include "base/node_limits.h"
#include "base/off_loop.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::handler {
namespace {

using guests::Remembered;

json::Value written(const Key& key, const Remembered& one, const json::StoragePtr& storage) {
  json::Array isos(storage);
  for (const auto& [volume, bytes] : one.iso_bytes)
    isos.emplace_back(json::Object({{"volume", volume}, {"bytes", bytes}}, storage));
  json::Object made({{"namespace", key.ns},
                     {"name", key.name},
                     {"uid", one.uid},
                     {"graceSeconds", one.grace_seconds},
                     {"pausedByUser", one.paused_by_user},
                     {"stopWanted", one.stop_wanted},
                     {"address", one.address},
                     {"portsForwarded", one.ports_forwarded},
                     {"isos", std::move(isos)}},
                    storage);
  // The steady clock goes on from one process to the next, and begins anew with the host, when no guest is left.
  if (one.shutdown_since)
    made["shutdownSinceUptimeSeconds"] =
        std::chrono::ceil<std::chrono::seconds>(*one.shutdown_since).time_since_epoch().count();
  return json::Value(std::move(made), storage);
}

Remembered read_one(const json::Value& value) {
  Remembered one{.uid = std::string(json::get_string_or(value, "uid")),
                 .grace_seconds = json::get_int_or(value, "graceSeconds", 30),
                 .paused_by_user = json::get_bool_or(value, "pausedByUser", false),
                 .stop_wanted = json::get_bool_or(value, "stopWanted", false),
                 .address = std::string(json::get_string_or(value, "address")),
                 .ports_forwarded = json::get_bool_or(value, "portsForwarded", true)};
  if (const auto since = json::get_int(value, "shutdownSinceUptimeSeconds"))
    one.shutdown_since = guests::Steady(bounded_seconds(*since));
  if (const json::Array* isos = json::get_array(value, "isos"))
    for (const json::Value& iso : *isos)
      one.iso_bytes.emplace_back(json::get_string_or(iso, "volume"), json::get_int_or(iso, "bytes", 0));
  return one;
}

// The last turn that was written: of two saves at once the later one counts, whichever thread is faster.
struct Written {
  std::mutex mutex;
  std::uint64_t turn = 0, last = 0;
};

Task<Result<void>> keep_in(Core& core, std::string file, std::string text, std::shared_ptr<Written> written) {
  const std::uint64_t turn = ++written->last;
  co_return co_await off_loop(core, off_loop_bytes_min, [&] {
    const std::scoped_lock lock(written->mutex);
    if (written->turn > turn) return Result<void>();
    written->turn = turn;
    return write_file(file, text, 0600);
  });
}

}  // namespace

Records::Records(std::string_view text, Keep keep) : keep_(std::move(keep)) {
  const auto document = json::Document::parse(text.empty() ? R"({"guests":[]})" : text);
  const json::Array* guests = document ? json::get_array(document->root(), "guests") : nullptr;
  if (!guests) {
    log::error("the records of the node are broken; guests that run are found again by the hypervisor");
    return;
  }
  for (const json::Value& one : *guests)
    records_.emplace(Key{.ns = std::string(json::get_string_or(one, "namespace")),
                         .name = std::string(json::get_string_or(one, "name"))},
                     read_one(one));
  saved_ = this->text();
}

Records Records::in_file(const std::string& file) {
  auto text = read_file(file, limits::node_records_bytes_max);
  if (!text && text.error().code != 404)
    log::error("the records of the node cannot be read", {{"file", file}, {"reason", text.error().message}});
  return {text ? *text : std::string(), [file, written = std::make_shared<Written>()](Core& core, std::string kept) {
            return keep_in(core, file, std::move(kept), written);
          }};
}

const Remembered* Records::find(const Key& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

std::vector<Key> Records::keys() const {
  std::vector<Key> all;
  for (const auto& [key, one] : records_) all.push_back(key);
  return all;
}

std::string Records::text() const {
  json::Document document;
  json::Array guests(document.storage());
  for (const auto& [key, one] : records_) guests.push_back(written(key, one, document.storage()));
  document.root() = json::Value({{"guests", std::move(guests)}}, document.storage());
  return json::to_text(document.root());
}

Task<Result<void>> Records::save(Core& core) {
  std::string text = this->text();
  if (text == saved_) co_return Result<void>();
  saved_ = text;
  auto done = co_await keep_(core, std::move(text));
  if (!done) saved_.clear();
  co_return done;
}

Task<Result<void>> Records::write_down(Core& core, const Key& key, std::string uid) {
  if (!uid.empty()) of(key).uid = std::move(uid);
  co_return co_await save(core);
}

}  // namespace vg::handler
