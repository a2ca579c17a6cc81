// What the tests of this module share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/policy_rule.h"
#include "base/task.h"
#include "http/core.h"
#include "json/document.h"
#include "ports/authorizer.h"

namespace vg::auth {

// Runs a task that never waits for anything.
template <class T>
T run(Task<T> task) {
  std::optional<T> result;
  spawn(
      [](Task<T> inner, std::optional<T>& out) -> Task<void> { out.emplace(co_await inner); }(std::move(task), result));
  return std::move(*result);
}

// For whoever names a core and never waits on it.
inline Core& idle_core() {
  static const std::unique_ptr<http::EventLoop> loop = http::EventLoop::create(0);
  return *loop;
}

inline json::Document parse(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return std::move(*document);
}

inline User user(std::string name, std::vector<std::string> groups = {}) {
  return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

// One user's rules, everywhere; remembers what it was asked.
struct FakeRules final : Authorizer, RuleResolver {
  std::vector<PolicyRule> owned;
  std::vector<std::pair<std::string, std::vector<PolicyRule>>> roles;  // by "Kind/name"
  std::vector<std::string> asked;                                      // "verb group/resource/subresource ns/name"
  bool away = false;                                                   // it cannot say

  Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes& attributes) override {
    std::string question(attributes.verb);
    question.append(" ").append(attributes.group).append("/").append(attributes.resource);
    if (!attributes.subresource.empty()) question.append("/").append(attributes.subresource);
    question.append(" ").append(attributes.ns).append("/").append(attributes.name);
    asked.push_back(std::move(question));
    if (away) co_return fail(Status::unavailable("nobody knows"));
    AccessDecision decision;
    for (const PolicyRule& rule : owned) decision.allowed = decision.allowed || allows(rule, attributes);
    if (decision.allowed) decision.reason = "the test says so";
    co_return decision;
  }
  std::vector<PolicyRule> rules_for(const User&, std::string_view) const override { return owned; }
  Result<std::vector<PolicyRule>> rules_of_role(std::string_view kind, std::string_view name,
                                                std::string_view) const override {
    for (const auto& [key, rules] : roles)
      if (key == std::string(kind) + "/" + std::string(name)) return rules;
    return fail(Status::not_found(std::string(rbac_group), "roles", std::string(name)));
  }
};

}  // namespace vg::auth
