// Who owns which field of an object (metadata.managedFields): what it adds to a create, an update and a read.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"
#include "objects/managed_fields.h"

namespace {

using namespace vg;

// Two disks, two volumes, a network.
constexpr std::string_view machine =
    R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"bench","namespace":"default",)"
    R"("labels":{"kubevirt.io/vm":"bench"}},"spec":{"runStrategy":"Halted","template":{"metadata":{"labels":)"
    R"({"kubevirt.io/vm":"bench"}},"spec":{"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}},)"
    R"({"name":"seed","disk":{"bus":"virtio"}}],"interfaces":[{"name":"default","masquerade":{}}]},"memory":)"
    R"({"guest":"128Mi"},"resources":{}},"networks":[{"name":"default","pod":{}}],"terminationGracePeriodSeconds":0,)"
    R"("volumes":[{"name":"root","containerDisk":{"image":"registry.example/machines/small:latest"}},)"
    R"({"name":"seed","cloudInitNoCloud":{"userData":"echo"}}]}}}})";

const api::Kind& kind() {
  static const api::Kind& found = *api::find_kind("kubevirt.io", "v1", "VirtualMachine");
  return found;
}

resources::FieldWriter writer(std::string_view manager, std::string_view subresource = {}) {
  return {
      .manager = manager, .api_version = "kubevirt.io/v1", .subresource = subresource, .now = "2026-01-01T00:00:00Z"};
}

json::Value read(std::string_view text, const json::StoragePtr& storage) {
  auto value = json::parse(text, storage);
  if (!value) std::abort();
  return std::move(*value);
}

// With its owners: who made it, and a controller that keeps its status.
json::Value stored(const json::StoragePtr& storage) {
  json::Value object = read(machine, storage);
  object.at("metadata").as_object()["managedFields"] =
      *resources::track_creation(object, kind(), writer("kubectl-create"), storage);
  json::Value with_status(object, storage);
  with_status.as_object()["status"] = json::Object{{"printableStatus", "Running"}, {"ready", true}, {"created", true}};
  with_status.at("metadata").as_object()["managedFields"] =
      *resources::track_change(object, with_status, kind(), writer("virt-controller", "status"), storage);
  return with_status;
}

void create(benchmark::State& state) {
  json::Document input(1 << 16);
  const json::Value object = read(machine, input.storage());
  std::string text;
  for (auto _ : state) {
    json::Document memory(1 << 16);
    const auto owners = resources::track_creation(object, kind(), writer("kubectl-create"), memory.storage());
    text.clear();
    json::write(*owners, text);
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["bytes"] = static_cast<double>(text.size());
}
BENCHMARK(create);

void update(benchmark::State& state) {
  json::Document input(1 << 16);
  const json::Value old = stored(input.storage());
  json::Value wanted(old, input.storage());
  wanted.at("metadata").at("labels").as_object()["x"] = "1";
  for (auto _ : state) {
    json::Document memory(1 << 16);
    benchmark::DoNotOptimize(resources::track_change(old, wanted, kind(), writer("kubectl-label"), memory.storage()));
  }
}
BENCHMARK(update);

void update_that_changes_nothing(benchmark::State& state) {
  json::Document input(1 << 16);
  const json::Value old = stored(input.storage());
  const json::Value wanted(old, input.storage());
  for (auto _ : state) {
    json::Document memory(1 << 16);
    benchmark::DoNotOptimize(resources::track_change(old, wanted, kind(), writer("kubectl-label"), memory.storage()));
  }
}
BENCHMARK(update_that_changes_nothing);

void read_an_object(benchmark::State& state) {
  json::Document input(1 << 16);
  json::Value object = stored(input.storage());
  if (state.range(0) == 0) json::erase(object.at("metadata").as_object(), "managedFields");
  const std::string text = json::to_text(object);
  for (auto _ : state) {
    json::Document memory(1 << 16);
    benchmark::DoNotOptimize(json::parse(text, memory.storage()));
  }
}
BENCHMARK(read_an_object)->ArgName("owners")->Arg(0)->Arg(1);

}  // namespace
