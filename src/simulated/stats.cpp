#include "simulated/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "simulated/made_up.h"

namespace vg::simulated {
namespace {

using json::Array;
using json::Object;
using std::string_view;

const Object* object_at(const Object& in, std::initializer_list<string_view> path) {
  const Object* at = &in;
  for (const string_view key : path) {
    at = json::get_object(*at, key);
    if (!at) return nullptr;
  }
  return at;
}

// Something that a guest does all the time, more and less: how much of it until now. `share` of `full` on average.
std::uint64_t done_until(double seconds, string_view what, double share, double full) {
  constexpr double full_turn = 6.283185307179586, turn_seconds = 120;
  const double phase = hash(what) % 1000 / 1000.0 * full_turn, speed = full_turn / turn_seconds;
  // The integral of 1 + 0.8 sin, which never shrinks.
  const double grown = seconds - 0.8 / speed * (std::cos(speed * seconds + phase) - std::cos(phase));
  return static_cast<std::uint64_t>(std::max(0.0, grown * share * full));
}

double share_of(string_view what) { return 0.05 + hash(what) % 400 / 1000.0; }

std::uint64_t vcpus_of(const Object& vmi) {
  const Object* cpu = object_at(vmi, {"spec", "domain", "cpu"});
  std::int64_t count = 1;
  for (const string_view part : {"sockets", "cores", "threads"})
    if (const auto number = cpu ? json::as_int(json::find(*cpu, part)) : std::nullopt)
      count *= std::clamp<std::int64_t>(*number, 1, 512);
  return static_cast<std::uint64_t>(count);
}

double memory_of(const Object& vmi) {
  constexpr double without_any = 256.0 * 1024 * 1024;
  const Object* memory = object_at(vmi, {"spec", "domain", "memory"});
  const auto given = Quantity::parse(memory ? json::get_string_or(*memory, "guest") : string_view());
  return given ? std::max(0.0, static_cast<double>(given->value())) : without_any;
}

// The names of the entries of a list of devices.
template <class Make>
Array each_device(const Object& vmi, string_view kind, const json::StoragePtr& storage, Make make) {
  Array made(storage);
  const Object* devices = object_at(vmi, {"spec", "domain", "devices"});
  const Array* list = devices ? json::get_array(*devices, kind) : nullptr;
  if (!list) return made;
  for (const json::Value& device : *list)
    if (const auto name = json::get_string(device, "name")) made.push_back(make(*name));
  return made;
}

std::string time_text(controllers::Time now) {
  const Timestamp time = Timestamp::from(now);
  std::string text = print_rfc3339(time);
  text.insert(text.size() - 1, fmt::format(".{:03}", time.nanoseconds / 1'000'000));
  return text;
}

}  // namespace

Object guest_stats(const Object& vmi, controllers::Time now, const json::StoragePtr& storage) {
  constexpr double mib = 1024 * 1024;
  const Object* metadata = json::get_object(vmi, "metadata");
  const auto born = parse_rfc3339(metadata ? json::get_string_or(*metadata, "creationTimestamp") : string_view());
  const std::string id(metadata ? json::get_string_or(*metadata, "uid") : string_view());
  const std::chrono::duration<double> since = now.time_since_epoch();
  const double seconds = std::max(0.0, since.count() - (born ? static_cast<double>(born->seconds) : 0.0));
  const auto grown = [&](const std::string& what, double per_second) {
    return done_until(seconds, what, share_of(what), per_second);
  };
  const std::uint64_t vcpus = vcpus_of(vmi);
  const double memory = memory_of(vmi), used = memory * share_of(id + "/memory");
  Array disks = each_device(vmi, "disks", storage, [&](string_view name) {
    const std::string what = fmt::format("{}/disk/{}", id, name);
    return Object({{"name", name},
                   {"readBytes", grown(what + "/r", 8 * mib)},
                   {"writeBytes", grown(what + "/w", 4 * mib)},
                   {"readRequests", grown(what + "/r", 200)},
                   {"writeRequests", grown(what + "/w", 100)}},
                  storage);
  });
  Array networks = each_device(vmi, "interfaces", storage, [&](string_view name) {
    const std::string what = fmt::format("{}/nic/{}", id, name);
    return Object({{"name", name},
                   {"receiveBytes", grown(what + "/r", 2 * mib)},
                   {"transmitBytes", grown(what + "/t", mib)},
                   {"receivePackets", grown(what + "/r", 1500)},
                   {"transmitPackets", grown(what + "/t", 800)}},
                  storage);
  });
  return Object(
      {{"time", time_text(now)},
       {"cpu",
        Object({{"timeNanoseconds", grown(id + "/cpu", static_cast<double>(vcpus) * 1e9)}, {"vcpus", vcpus}}, storage)},
       {"memory", Object({{"availableBytes", static_cast<std::uint64_t>(memory)},
                          {"unusedBytes", static_cast<std::uint64_t>(memory - used)},
                          {"rssBytes", static_cast<std::uint64_t>(used)}},
                         storage)},
       {"disks", std::move(disks)},
       {"networks", std::move(networks)}},
      storage);
}

}  // namespace vg::simulated
