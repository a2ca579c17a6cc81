// Canonical form and the check inside webhooks, on the objects of the benchmark reviews.
// Goals on the rich review: canonical form well under 15 us, the check under 10 us.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "api/canonical.h"
#include "api/structural.h"
#include "api/webhook_schema.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace {

using vg::json::Document;
using vg::json::Value;

struct Sample {
  std::string name;
  std::string text;  // of request.object
};

std::vector<Sample> load_samples() {
  const char* source = std::getenv("VIRTGATE_SOURCE_DIR");
  const auto folder = std::filesystem::path(source ? source : ".") / "bench";
  std::vector<Sample> samples;
  for (const char* name : {"vm-mutate", "vm-validate", "vmi-mutate", "vmi-validate", "vmi-rich"}) {
    std::ifstream in(folder / (std::string(name) + ".json"));
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto review = Document::parse(text);
    if (!review) continue;
    const Value* object = vg::json::find_path(review->root(), {"review", "request", "object"});
    if (!object) continue;
    samples.push_back({name, vg::json::to_text(*object)});
    // kube-apiserver sends the members of every object in alphabetical order, which is not that of the types.
    samples.push_back({std::string(name) + "-sorted", vg::json::to_text(*object, {.sort_keys = true})});
  }
  return samples;
}

const vg::api::Kind* kind_of(const Value& object) {
  return vg::api::find_kind("kubevirt.io", "v1", vg::json::get_string_or(object, "kind"));
}

// Of this thread, so that a busy machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Canonical form changes its object, so each run needs fresh ones, each in the arena of a request. Making them stays
// out of the time.
void canonicalize(benchmark::State& state, const Sample& sample) {
  static constexpr std::size_t batch = 8;
  const auto original = Document::parse(sample.text);
  const vg::api::Kind* kind = kind_of(original->root());
  std::array<vg::json::Arena, batch> arenas;
  for (auto run : state) {
    std::vector<Value> objects;
    for (auto& arena : arenas) {
      arena.reset();
      objects.push_back(std::move(*vg::json::parse(sample.text, arena.storage())));
    }
    const double start = cpu_seconds();
    for (Value& object : objects) benchmark::DoNotOptimize(vg::api::canonicalize(object, *kind->type));
    state.SetIterationTime((cpu_seconds() - start) / static_cast<double>(batch));
  }
}

void canonicalize_again(benchmark::State& state, const Sample& sample) {
  auto object = Document::parse(sample.text);
  const vg::api::Kind* kind = kind_of(object->root());
  for (auto run : state) benchmark::DoNotOptimize(vg::api::canonicalize(object->root(), *kind->type));
}

void check_webhook_schema(benchmark::State& state, const Sample& sample) {
  const auto object = Document::parse(sample.text);
  const vg::api::Kind* kind = kind_of(object->root());
  for (auto run : state) benchmark::DoNotOptimize(vg::api::check_webhook_schema(kind->kind, object->root()));
}

void validate_structure(benchmark::State& state, const Sample& sample) {
  const auto object = Document::parse(sample.text);
  const vg::api::Kind* kind = kind_of(object->root());
  for (auto run : state) benchmark::DoNotOptimize(vg::api::validate_structure(object->root(), *kind));
}

void prune_and_default(benchmark::State& state, const Sample& sample) {
  auto object = Document::parse(sample.text);
  const vg::api::Kind* kind = kind_of(object->root());
  for (auto run : state) {
    benchmark::DoNotOptimize(vg::api::prune(object->root(), *kind));
    vg::api::apply_defaults(object->root(), *kind);
  }
}

void parse(benchmark::State& state, const Sample& sample) {
  for (auto run : state) benchmark::DoNotOptimize(Document::parse(sample.text));
}

[[maybe_unused]] const bool registered = [] {
  static const std::vector<Sample> samples = load_samples();
  for (const Sample& sample : samples) {
    const auto add = [&](const char* what, void (*run)(benchmark::State&, const Sample&)) {
      return benchmark::RegisterBenchmark((std::string(what) + "/" + sample.name).c_str(),
                                          [run, &sample](benchmark::State& state) { run(state, sample); });
    };
    add("canonicalize", canonicalize)->UseManualTime();
    add("canonicalize_again", canonicalize_again);
    add("check_webhook_schema", check_webhook_schema);
    add("validate_structure", validate_structure);
    add("prune_and_default", prune_and_default);
    add("parse", parse);
  }
  return true;
}();

}  // namespace
