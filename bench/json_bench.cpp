// What reading and writing one request body costs: one of our own, and those of bench/*.json.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "json/arena.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::json {
namespace {

// A review of about 3 KiB in the shape that kube-apiserver sends.
std::string built_in_review() {
  std::string disks, volumes;
  for (int i = 0; i < 12; ++i) {
    const char* comma = i == 0 ? "" : ",";
    disks += fmt::format(R"({}{{"name":"disk-{}","bootOrder":{},"disk":{{"bus":"virtio"}},"cache":"none"}})", comma, i,
                         i + 1);
    volumes +=
        fmt::format(R"({}{{"name":"disk-{}","persistentVolumeClaim":{{"claimName":"claim-of-a-machine"}}}})", comma, i);
  }
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-)"
         R"(42010a800002","kind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachineInstance"},)"
         R"("operation":"CREATE",)"
         R"("userInfo":{"username":"admin","groups":["system:masters","system:authenticated"]},"object":{"apiVersion":)"
         R"("kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"vm","namespace":"default","labels":)"
         R"({"app":"web"}},"spec":{"domain":{"cpu":{"cores":2,"sockets":1,"threads":1},"resources":{"requests":)"
         R"({"memory":"1Gi"}},"devices":{"disks":[)" +
         disks + R"(]}},"volumes":[)" + volumes +
         R"(],"cloudInit":"#cloud-config\nusers:\n  - name: \"admin\"\n"}},"oldObject":null,"dryRun":false}})";
}

std::map<std::string, std::string> load_bodies() {
  std::map<std::string, std::string> bodies{{"built-in", built_in_review()}};
  const char* source = std::getenv("VIRTGATE_SOURCE_DIR");
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(source ? source : ".") / "bench", ignored)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    bodies[entry.path().stem().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return bodies;
}

void count_bytes(benchmark::State& state, const std::string& body) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
  state.counters["bytes"] = static_cast<double>(body.size());
}

void parse_body(benchmark::State& state, const std::string& body, bool strict) {
  Arena arena;
  std::vector<std::string> duplicates;
  for (auto _ : state) {
    arena.reset();
    auto value = json::parse(body, arena.storage(), {.duplicate_fields = strict ? &duplicates : nullptr});
    benchmark::DoNotOptimize(value);
  }
  count_bytes(state, body);
}

// The library's own parser on the same arena, to see what our handler costs.
void parse_with_boost(benchmark::State& state, const std::string& body) {
  Arena arena;
  for (auto _ : state) {
    arena.reset();
    auto value = boost::json::parse(body, arena.storage());
    benchmark::DoNotOptimize(value);
  }
  count_bytes(state, body);
}

void write_body(benchmark::State& state, const std::string& body, WriteOptions options) {
  const Document document = *Document::parse(body);
  std::string out;
  for (auto _ : state) {
    out.clear();
    write(document.root(), out, options);
    benchmark::DoNotOptimize(out.data());
  }
  count_bytes(state, out);
}

void write_with_boost(benchmark::State& state, const std::string& body) {
  const Document document = *Document::parse(body);
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::serialize(document.root()));
  count_bytes(state, body);
}

int register_all() {
  static const auto bodies = load_bodies();
  for (const auto& [name, body] : bodies) {
    const auto add = [&](const std::string& what, auto function, auto... arguments) {
      benchmark::RegisterBenchmark((what + "/" + name).c_str(), function, body, arguments...);
    };
    add("parse", parse_body, false);
    add("parse_strict", parse_body, true);
    add("parse_boost", parse_with_boost);
    add("write", write_body, WriteOptions{});
    add("write_sorted", write_body, WriteOptions{.sort_keys = true});
    add("write_boost", write_with_boost);
  }
  return 0;
}

[[maybe_unused]] const int registered = register_all();

}  // namespace
}  // namespace vg::json
