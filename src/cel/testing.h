// For tests and fuzzers: an expression of a policy, run on a few documents.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cel/evaluate.h"
#include "json/document.h"

namespace vg::cel::testing {

// Variables that are documents; everybody may do what begins with "get".
class Documents : public Activation {
 public:
  void set(std::string name, const json::Value& document) { documents_[std::move(name)] = Value::from(document); }
  std::optional<Value> find(std::string_view name) override {
    if (name == "authorizer") {
      Value authorizer(Tag::authorizer);
      authorizer.access = &nobody_;
      return authorizer;
    }
    const auto found = documents_.find(std::string(name));
    return found == documents_.end() ? std::nullopt : std::optional(found->second);
  }
  AccessAnswer ask(const AccessCheck& check, std::string_view verb) override {
    return {.allowed = verb.starts_with("get") && check.resource != "secrets", .reason = "because", .error = {}};
  }

 private:
  std::map<std::string, Value> documents_;
  AccessCheck nobody_;
};

}  // namespace vg::cel::testing
