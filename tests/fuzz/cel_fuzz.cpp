// Expressions of admission policies: whatever is written, parsing, checking and running it ends within its limits, and
// running it twice gives the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/policy_limits.h"
#include "cel/policy_dialect.h"
#include "cel/testing.h"
#include "json/access.h"
#include "json/document.h"
#include "json/parse.h"

namespace {

using namespace vg;

constexpr std::string_view object_text =
    R"({"metadata":{"name":"web","labels":{"app":"nginx"}},"spec":{"replicas":3,"ratio":0.5,"list":[1,"a",null,{"b":[]}]}})";

struct Ran {
  cel::Tag tag = cel::Tag::null;
  std::string text;
  std::uint64_t cost = 0;
  bool operator==(const Ran&) const = default;
};

Ran run(const cel::Program& program, const json::Value& object) {
  cel::testing::Documents documents;
  documents.set("object", object);
  documents.set("oldObject", json::Value());
  cel::Memory memory;
  cel::Budget budget{.cost_left = limits::policy_cost_max};
  const cel::Outcome outcome = cel::run(program, documents, memory, budget);
  return {.tag = outcome.value.tag,
          .text = std::string(outcome.value.text),
          .cost = limits::policy_cost_max - budget.cost_left};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static json::Document document;
  static const json::Value object = *json::parse(object_text, document.storage());
  cel::Types types(limits::cel_steps_max);
  cel::PolicyScope scope(types);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto compiled = cel::compile(text, scope.dialect({.params = false, .authorizer = true}), types);
  if (!compiled) return 0;
  const Ran once = run(*compiled->program, object);
  if (once.cost > limits::cel_cost_max || once != run(*compiled->program, object)) std::abort();
  return 0;
}
