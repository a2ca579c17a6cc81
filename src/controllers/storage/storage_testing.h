// What the tests of the storage controllers share: a world with the class `local`, a claim and a DataVolume of the name
// "a", and what a pass makes of them.
#pragma once

#include "controllers/common/conditions.h"
#include "controllers/storage/data_volume.h"
#include "controllers/storage/facts.h"
#include "controllers/testing_effects.h"

namespace vg::controllers::storage {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;
inline const Key test_key{.ns = "ns", .name = "a"};

struct StorageWorld {
  TestWorld base;
  FakeDisks& fake_disks = base.fake_disks;
  operator TestWorld&() { return base; }              // NOLINT: it stands for it
  operator const TestWorld&() const { return base; }  // NOLINT: the same
  StorageWorld& put(std::string_view resource, std::string_view text) {
    base.put(resource, text);
    return *this;
  }
  StorageWorld& remove(std::string_view resource, std::string_view ns, std::string_view name) {
    base.remove(resource, ns, name);
    return *this;
  }
  const json::Object* get(std::string_view resource, std::string_view ns, std::string_view name) const {
    return base.get(resource, ns, name);
  }

  StorageWorld() {
    put(kinds::storage_class, R"({"metadata":{"name":"local","creationTimestamp":"2026-01-01T00:00:00Z","annotations":{
        "storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"virtgate.io/local","reclaimPolicy":"Delete"})");
    put("cdi.kubevirt.io/storageprofiles", R"({"metadata":{"name":"local"},"status":{"claimPropertySets":[
        {"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem"}]}})");
  }
  StorageWorld& claim(std::string_view marks = "{}", std::string_view phase = "Pending",
                      std::string_view spec = R"("storageClassName":"local")", std::string_view more = R"("x":"")") {
    put(kinds::claim,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"a","namespace":"ns","uid":"u","annotations":{},{}}},
        "spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"1Gi"}}}},{}}},"status":{{"phase":"{}"}}}})",
            marks, more, spec, phase));
    return *this;
  }
  StorageWorld& disk(std::int64_t capacity = gib, std::int64_t image = 0, std::string filled_by = {}) {
    fake_disks.claims[{.ns = "ns", .name = "a"}] = {
        .uid = "u", .capacity = capacity, .image_size = image, .filled_by = std::move(filled_by)};
    return *this;
  }
  StorageWorld& vmi(std::string_view phase) {
    put(kinds::vmi,
        fmt::format(R"({{"metadata":{{"name":"vm","namespace":"ns","uid":"v"}},"spec":{{"domain":{{}},"volumes":[
        {{"name":"d","persistentVolumeClaim":{{"claimName":"a"}}}}]}},"status":{{"phase":"{}"}}}})",
                    phase));
    return *this;
  }
  std::string mark(std::string_view name) const {
    return std::string(annotation_of(*get(kinds::claim, "ns", "a"), name));
  }
  const json::Object& stored(std::string_view kind) const { return *get(kind, "ns", "a"); }
};

inline std::vector<std::string> jobs_of(const TestPass& made) {
  std::vector<std::string> ids;
  for (const WantedJob& wanted : made.pass.jobs) ids.push_back(wanted.job.id);
  return ids;
}

inline TestPass carried(StorageWorld& world, const Controller& controller, Time now = test_now) {
  TestPass made = sync(controller, world, test_key, now);
  carry_out(world, made);
  for (const WantedJob& wanted : made.pass.jobs) world.fake_disks.start(wanted.job);
  return made;
}

inline StorageWorld& data_volume(StorageWorld& world, std::string_view spec, std::string_view marks = "{}",
                                 std::string_view status = "{}") {
  world.put(
      kinds::data_volume,
      fmt::format(
          R"({{"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataVolume","metadata":{{"name":"a","namespace":"ns","uid":"d",
      "annotations":{}}},"spec":{},"status":{}}})",
          marks, spec, status));
  return world;
}

inline constexpr const char* blank_spec =
    R"({"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"1Gi"}}}})";
inline constexpr const char* owned =
    R"("ownerReferences":[{"kind":"DataVolume","name":"a","uid":"d","controller":true}])";

struct Shown {
  std::string phase, bound, ready, running;
  std::vector<std::string> events;
  bool operator==(const Shown&) const = default;
};

inline Shown shown(StorageWorld& world) {
  const Controller controller = data_volume_controller();
  const TestPass first = sync(controller, world, test_key);
  carry_out(world, first);
  const TestPass second = finish(controller, world, test_key, first);
  carry_out(world, second);
  const json::Object* status = json::get_object(world.stored(kinds::data_volume), "status");
  const auto condition = [&](std::string_view type) {
    const std::string_view reason = condition_reason(status, type);
    return fmt::format("{}{}{}", condition_status(status, type), reason.empty() ? "" : " ", reason);
  };
  std::vector<std::string> events = first.events();
  std::ranges::copy(second.events(), std::back_inserter(events));
  return {std::string(phase_of(world.stored(kinds::data_volume))), condition("Bound"), condition("Ready"),
          condition("Running"), events};
}

}  // namespace vg::controllers::storage
