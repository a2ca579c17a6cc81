#include "admission/rule.h"

#include <utility>

#include "base/limits.h"

namespace vg::admission {
namespace {

bool applies(const Rule& rule, const Case& about) {
  switch (rule.when) {
    case When::create:
      return about.create();
    case When::update:
      return about.update();
    case When::always:
      return true;
  }
  return true;
}

}  // namespace

void Causes::add(std::string_view reason, std::string_view field, std::string message) {
  if (causes_.size() >= limits::causes_max) return;
  causes_.push_back({.reason = std::string(reason), .message = std::move(message), .field = std::string(field)});
}

Verdict Causes::verdict() {
  Verdict verdict = end_ ? std::move(*end_) : causes_.empty() ? Verdict::allow() : Verdict::invalid(std::move(causes_));
  // Upstream tells warnings only to those whose request goes through.
  if (verdict.allowed) verdict.warnings = std::move(warnings_);
  return verdict;
}

std::vector<RuleInfo> rules_behind(const Rule& rule) {
  std::vector<RuleInfo> rows;
  if (rule.behind)
    rule.behind(rows);
  else
    rows.push_back({.id = rule.id, .holds = rule.holds, .field = rule.field, .gate = rule.gate});
  return rows;
}

void ask_rules(std::span<const Rule> rules, const Case& about, Causes& causes) {
  for (const Rule& rule : rules) {
    if (!applies(rule, about)) continue;
    rule.check(about, causes);
    if (causes.ended() || (rule.last && !causes.empty())) return;
  }
}

}  // namespace vg::admission
