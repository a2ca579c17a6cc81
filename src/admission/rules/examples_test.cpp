// Asks every rule for its examples (examples.h).
#include "admission/rules/examples.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admit.h"
#include "admission/rule.h"
#include "admission/webhook.h"
#include "json/access.h"
#include "json/document.h"
#include "json/patch.h"

namespace vg::admission {
namespace {

using std::string_view;

// Objects that exist while the examples are asked.
class Cluster final : public Lookups {
 public:
  Cluster() {
    for (const auto& [name, text] : example_objects()) objects.emplace(name, text);
  }
  Result<json::Value*> get(string_view resource, string_view, string_view name,
                           const json::StoragePtr& storage) const override {
    const auto found = objects.find(fmt::format("{}/{}", resource, name));
    return found == objects.end() ? nullptr : copy(found->second, storage);
  }
  Result<std::vector<json::Value*>> list(string_view resource, string_view,
                                         const json::StoragePtr& storage) const override {
    std::vector<json::Value*> found;
    for (const auto& [key, text] : objects)
      if (key.starts_with(fmt::format("{}/", resource))) found.push_back(copy(text, storage));
    return found;
  }
  Result<std::vector<json::Value*>> list_labelled(string_view resource, string_view ns, string_view label,
                                                  string_view value, const json::StoragePtr& storage) const override {
    auto found = list(resource, ns, storage);
    std::erase_if(*found, [&](const json::Value* object) {
      return json::as_string(json::find_path(*object, {"metadata", "labels", label})) != value;
    });
    return found;
  }
  bool missed() const override { return false; }

 private:
  static json::Value* copy(string_view text, const json::StoragePtr& storage) {
    auto value = json::parse(text, storage);
    EXPECT_TRUE(value) << text;
    return new (storage->allocate(sizeof(json::Value), alignof(json::Value))) json::Value(std::move(*value));
  }

  std::map<std::string, string_view, std::less<>> objects;
};

// Cannot be broken by anything that the steps before let through.
constexpr string_view unreachable[] = {"RS04", "DNS-01", "HPD-01"};

Verdict ask(const Example& example, string_view change) {
  const Webhook& webhook = *find_webhook(example.path);
  json::Document document(1 << 16);
  json::Value request = example_request(example, change, document.storage());
  document.root() = json::Object({{"request", std::move(request)}}, document.storage());
  const auto kubevirt = json::Document::parse(
      fmt::format(R"({{"spec":{{"configuration":{}}},"status":{{"phase":"Deployed"}}}})", example.configuration));
  const config::FixedConfig config(*config::ClusterConfig::read(kubevirt->root(), "1"));
  const Cluster cluster;
  const ReadyLookups lookups(cluster);
  const SystemClock clock;
  const auto review = read_review(document.root());
  EXPECT_TRUE(review) << example.id;
  return admit(webhook, *review, {.config = config, .lookups = lookups, .clock = clock}, document.storage());
}

// By the rule itself: its neighbour with the same field and reason does not count.
bool refused_as(const Verdict& verdict, string_view wanted, string_view rule) {
  if (wanted == "warning") return verdict.allowed && !verdict.warnings.empty();
  if (verdict.allowed) return false;
  const auto space = wanted.find(' ');
  if (space == wanted.npos)
    return fmt::to_string(verdict.refusal().code) == wanted && verdict.refusal().details.causes.empty() &&
           verdict.rule == rule;
  return std::ranges::any_of(verdict.refusal().details.causes, [&](const StatusCause& cause) {
    return cause.rule == rule && cause.reason == wanted.substr(0, space) && cause.field == wanted.substr(space + 1) &&
           !cause.message.empty();
  });
}

TEST(RuleExamplesTest, EveryRuleLetsSomethingThroughAndRefusesSomething) {
  for (const Example& example : all_examples()) {
    const Verdict good = ask(example, example.good);
    EXPECT_TRUE(good.allowed && good.warnings.empty())
        << example.id << " refuses its good example: " << good.refusal().message;
    const Verdict bad = ask(example, example.bad);
    EXPECT_TRUE(refused_as(bad, example.refusal, example.found_by.empty() ? example.rule() : example.found_by))
        << example.id << " wants \"" << example.refusal << "\", says " << bad.refusal().code << " "
        << bad.refusal().message << " by " << bad.rule_ids();
  }
}

TEST(RuleExamplesTest, EveryRuleHasAnExample) {
  const std::vector<Example> examples = all_examples();
  for (const Webhook& webhook : webhooks()) {
    if (!webhook.rules) continue;
    for (const Rule& rule : webhook.rules())
      for (const RuleInfo& info : rules_behind(rule))
        EXPECT_TRUE(std::ranges::find(examples, info.id, &Example::id) != examples.end() ||
                    std::ranges::find(unreachable, info.id) != std::end(unreachable))
            << info.id << ": " << info.holds;
  }
}

}  // namespace
}  // namespace vg::admission
