// What tests of this module share: recordings, comparisons, small worlds.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/test_files.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "offline/check.h"
#include "offline/judge.h"

namespace vg::offline::testing {

using json::Value;

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool is_empty(const Value& value) {
  const json::Object* object = value.if_object();
  const json::Array* list = value.if_array();
  const json::String* text = value.if_string();
  return value.is_null() || (object && object->empty()) || (list && list->empty()) || (text && text->empty());
}

// Without members that `left_out` names; empty and absent are the same.
inline Value tidied(const Value& value, const std::function<bool(std::string_view)>& left_out) {
  if (const json::Array* list = value.if_array()) {
    json::Array out;
    for (const Value& item : *list) out.push_back(tidied(item, left_out));
    return out;
  }
  const json::Object* object = value.if_object();
  if (!object) return value;
  json::Object out;
  for (const auto& member : *object) {
    if (left_out(member.key())) continue;
    Value inner = tidied(member.value(), left_out);
    if (!is_empty(inner)) out.emplace(member.key(), std::move(inner));
  }
  return out;
}

// Where two documents differ; a recorded text such as "<any>" stands for what differs each time.
inline std::optional<std::string> difference(const Value& want, const Value& got, const std::string& at) {
  if (json::as_string(&want).value_or("").starts_with('<')) return std::nullopt;
  const json::Object *a = want.if_object(), *b = got.if_object();
  if (a && b) {
    for (const auto& member : *b)
      if (!a->contains(member.key()))
        return fmt::format("{}/{}: ours only: {}", at, std::string(member.key()), json::to_text(member.value()));
    for (const auto& member : *a) {
      const std::string below = fmt::format("{}/{}", at, std::string(member.key()));
      const Value* other = json::find(*b, member.key());
      if (!other) return below + ": recorded only: " + json::to_text(member.value());
      if (auto found = difference(member.value(), *other, below)) return found;
    }
    return std::nullopt;
  }
  const json::Array *c = want.if_array(), *d = got.if_array();
  if (c && d && c->size() == d->size()) {
    for (std::size_t i = 0; i < c->size(); ++i)
      if (auto found = difference((*c)[i], (*d)[i], fmt::format("{}/{}", at, i))) return found;
    return std::nullopt;
  }
  if (want == got) return std::nullopt;
  return fmt::format("{}: recorded {}, ours {}", at, json::to_text(want), json::to_text(got));
}

// spec.configuration as the recordings' KubeVirt object had it.
inline config::ConfigPtr config_of(const Value& configuration) {
  const Value* architecture = json::find_path(configuration, {"architectureConfiguration", "defaultArchitecture"});
  const Value kubevirt = json::Object{
      {"spec", json::Object{{"configuration", configuration}}},
      {"status",
       json::Object{{"phase", "Deployed"}, {"defaultArchitecture", architecture ? *architecture : Value("amd64")}}}};
  auto config = config::ClusterConfig::read(kubevirt, "1");
  EXPECT_TRUE(config) << json::to_text(configuration);
  return config ? *config : config::ClusterConfig::defaults("amd64");
}

// A world of texts.
struct SmallWorld {
  KnownObjects known;
  config::FixedConfig config{config::ClusterConfig::defaults("amd64")};
  ManualClock clock;

  Outcome check(std::vector<std::pair<std::string, std::string>> files, CheckOptions options = {}) {
    Sources sources;
    for (auto& [name, text] : files) sources.push_back(text_source(name, text));
    const World world{.known = known, .config = config, .clock = clock, .complete = options.complete};
    return offline::check(sources, known, world, options);
  }
  // "line:column severity id field" of each finding.
  static std::vector<std::string> lines(const Outcome& outcome) {
    std::vector<std::string> all;
    for (const Finding& finding : outcome.findings)
      all.push_back(fmt::format("{}:{} {} {}{}{}", finding.line, finding.column, severity_name(finding.severity),
                                finding.id, finding.field.empty() ? "" : " ", finding.field));
    return all;
  }
};

}  // namespace vg::offline::testing
