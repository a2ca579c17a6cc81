#include "admission/webhook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/test_files.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

TEST(WebhookTest, EveryPathStandsThereOnce) {
  std::set<std::string_view> paths;
  for (const Webhook& webhook : webhooks()) {
    EXPECT_TRUE(paths.insert(webhook.path).second) << webhook.path;
    EXPECT_TRUE(webhook.path.starts_with('/')) << webhook.path;
    EXPECT_FALSE(webhook.versions.empty()) << webhook.path;
    EXPECT_FALSE(webhook.subjects.empty()) << webhook.path;
    EXPECT_EQ(find_webhook(webhook.path), &webhook);
  }
  EXPECT_EQ(webhooks().size(), 27u);
  EXPECT_EQ(std::ranges::count_if(webhooks(), &Webhook::mutating), 5);
  EXPECT_EQ(find_webhook("/virtualmachines-validate/"), nullptr);
  EXPECT_EQ(find_webhook(""), nullptr);
}

std::vector<std::string> words(const json::Value& object, std::string_view name) {
  std::vector<std::string> all;
  for (const json::Value& word : *json::get_array(object, name)) all.emplace_back(word.as_string());
  return all;
}

std::vector<std::string> registered_for(const Webhook& webhook) {
  switch (webhook.operations) {
    case Operations::create:
      return {"CREATE"};
    case Operations::update:
      return {"UPDATE"};
    case Operations::create_and_update:
      break;
  }
  // An eviction is a create; upstream asks for whatever else may come.
  return webhook.path == "/pod-eviction-validate" ? std::vector<std::string>{"*"}
                                                  : std::vector<std::string>{"CREATE", "UPDATE"};
}

std::vector<std::string> resources_of(const Webhook& webhook) {
  std::vector<std::string> all;
  for (const Subject& subject : webhook.subjects)
    all.push_back(std::string(subject.resource) + (subject.sub_resource.empty() ? "" : "/") +
                  std::string(subject.sub_resource));
  return all;
}

TEST(WebhookTest, TheRowsAreTheRegistrationsOfTheFacts) {
  std::ifstream file(test_files::source("facts/webhooks.json"));
  const auto facts = json::Document::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(facts);
  std::set<std::string_view> registered;
  std::map<std::string, std::string> narrowed;  // registrations that look at more than the resource, and at what
  for (const json::Value& configuration : facts->root().as_array()) {
    const bool mutating = configuration.at("kind") == "MutatingWebhookConfiguration";
    for (const json::Value& fact : *json::get_array(configuration, "webhooks")) {
      const std::string name(json::get_string_or(fact, "name"));
      const Webhook* webhook = find_webhook(fact.at("clientConfig").at("service").at("path").as_string());
      ASSERT_TRUE(webhook) << name;
      if (registered.insert(webhook->path).second) EXPECT_EQ(webhook->name, name);
      EXPECT_EQ(webhook->mutating(), mutating) << name;
      ASSERT_EQ(json::get_array(fact, "rules")->size(), 1U) << name;
      const json::Value& rule = json::get_array(fact, "rules")->front();
      EXPECT_EQ(words(rule, "operations"), registered_for(*webhook)) << name;
      EXPECT_EQ(words(rule, "apiGroups"), std::vector{std::string(webhook->group)}) << name;
      EXPECT_EQ(words(rule, "apiVersions"),
                (std::vector<std::string>{webhook->versions.begin(), webhook->versions.end()}))
          << name;
      EXPECT_EQ(words(rule, "resources"), resources_of(*webhook)) << name;
      for (const std::string_view member : {"objectSelector", "namespaceSelector", "matchConditions"})
        if (json::find(fact, member)) narrowed[name] = member;
    }
  }
  EXPECT_EQ(registered.size(), webhooks().size());
  // Each of these has code of its own (Webhook::selects, rules/eviction.cpp): another one needs some, too.
  EXPECT_EQ(narrowed,
            (std::map<std::string, std::string>{{"virt-launcher-pod-mutator.kubevirt.io", "objectSelector"},
                                                {"virt-launcher-eviction-interceptor.kubevirt.io", "matchConditions"},
                                                {"hotplug-pod-eviction-interceptor.kubevirt.io", "matchConditions"}}));
}

TEST(WebhookTest, StatusValidationHasThreeSubjects) {
  const Webhook* status = find_webhook("/status-validate");
  ASSERT_TRUE(status);
  EXPECT_EQ(find_subject(*status, "virtualmachines")->kind, "VirtualMachine");
  EXPECT_EQ(find_subject(*status, "virtualmachineinstancemigrations")->kind, "VirtualMachineInstanceMigration");
  EXPECT_EQ(find_subject(*status, "pods"), nullptr);
  // With one subject the row decides; whether the resource is right is for the rules to say.
  EXPECT_EQ(find_subject(*find_webhook("/plugin-validate"), "pods")->kind, "Plugin");
}

}  // namespace
}  // namespace vg::admission
