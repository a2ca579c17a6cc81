#include "admission/rule.h"

#include <utility>

#include "base/limits.h"

namespace vg::admission {
namespace {

bool applies(const Rule& rule, const Case& judged) {
  switch (rule.when) {
    case When::create:
      return judged.create();
    case When::update:
      return judged.update();
    case When::always:
      return true;
  }
  return true;
}

}  // namespace

void Causes::invalid(std::string_view field, std::string message) {
  add("FieldValueInvalid", field, std::move(message));
}
void Causes::required(std::string_view field, std::string message) {
  add("FieldValueRequired", field, std::move(message));
}
void Causes::not_found(std::string_view field, std::string message) {
  add("FieldValueNotFound", field, std::move(message));
}
void Causes::duplicate(std::string_view field, std::string message) {
  add("FieldValueDuplicate", field, std::move(message));
}
void Causes::forbidden(std::string_view field, std::string message) {
  add("FieldValueForbidden", field, std::move(message));
}
void Causes::not_supported(std::string_view field, std::string message) {
  add("FieldValueNotSupported", field, std::move(message));
}
void Causes::unexpected(std::string_view field, std::string message) {
  add("UnexpectedServerResponse", field, std::move(message));
}
void Causes::invalid(const Place& field, std::string message) {
  add("FieldValueInvalid", print(field), std::move(message));
}
void Causes::required(const Place& field, std::string message) {
  add("FieldValueRequired", print(field), std::move(message));
}
void Causes::not_found(const Place& field, std::string message) {
  add("FieldValueNotFound", print(field), std::move(message));
}
void Causes::duplicate(const Place& field, std::string message) {
  add("FieldValueDuplicate", print(field), std::move(message));
}
void Causes::forbidden(const Place& field, std::string message) {
  add("FieldValueForbidden", print(field), std::move(message));
}
void Causes::not_supported(const Place& field, std::string message) {
  add("FieldValueNotSupported", print(field), std::move(message));
}

void Causes::add(std::string_view reason, std::string_view field, std::string message) {
  if (causes_.size() >= limits::causes_max) return;
  causes_.push_back(
      {.reason = std::string(reason), .message = std::move(message), .field = std::string(field), .rule = rule_});
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

void ask_rules(std::span<const Rule> rules, const Case& judged, Causes& causes) {
  for (const Rule& rule : rules) {
    if (!applies(rule, judged)) continue;
    ask(rule, judged, causes);
    if (causes.ended() || (rule.last && !causes.empty())) return;
  }
}

}  // namespace vg::admission
