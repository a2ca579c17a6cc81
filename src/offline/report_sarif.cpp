#include <set>

#include "json/value.h"
#include "json/write.h"
#include "offline/catalogue.h"
#include "offline/report.h"

namespace vg::offline {
namespace {

std::string_view level(Severity severity) {
  switch (severity) {
    case Severity::refusal:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "none";
}

// A path as a reference of RFC 3986: a colon in front would be taken for a scheme.
std::string uri(std::string_view path) {
  static constexpr std::string_view hex = "0123456789ABCDEF";
  static constexpr std::string_view kept = "-._~/";
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kept.contains(c);
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      out += c;
    else
      out.append("%").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
  }
  return out;
}

json::Object text(std::string_view words) { return {{"text", words}}; }

json::Array rules_of(const Outcome& outcome) {
  std::set<std::string> used;
  for (const Finding& finding : outcome.findings) used.insert(finding.id);
  json::Array rules;
  for (const std::string& id : used) {
    json::Object rule{{"id", id}};
    if (const CatalogueEntry* entry = find_entry(id)) {
      rule["shortDescription"] = text(entry->holds);
      if (!entry->why.empty()) rule["fullDescription"] = text(entry->why);
      if (!entry->advice.empty()) rule["help"] = text(entry->advice);
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

json::Object result_json(const Finding& finding) {
  json::Object physical{{"artifactLocation", json::Object{{"uri", uri(finding.file)}}}};
  if (finding.line > 0) {
    physical["region"] = json::Object{{"startLine", finding.line}, {"startColumn", finding.column}};
  }
  json::Object location{{"physicalLocation", std::move(physical)}};
  if (!finding.field.empty())
    location["logicalLocations"] =
        json::Array{json::Object{{"fullyQualifiedName", finding.object + " " + finding.field}}};
  std::string message = finding.message;
  if (!finding.field.empty()) message.insert(0, finding.field + ": ");
  if (!finding.advice.empty()) message += " (" + finding.advice + ")";
  return {{"ruleId", finding.id},
          {"level", level(finding.severity)},
          {"message", text(message)},
          {"locations", json::Array{std::move(location)}}};
}

}  // namespace

std::string report_sarif(const Outcome& outcome, const ReportOptions& options) {
  json::Array results, notifications;
  for (const Finding& finding : outcome.findings) results.push_back(result_json(finding));
  for (const std::string& why : outcome.unreadable)
    notifications.push_back(json::Object{{"level", "error"}, {"message", text(why)}});
  json::Object driver{{"name", "virtgate"}, {"rules", rules_of(outcome)}};
  if (!options.version.empty()) driver["version"] = options.version;
  json::Object invocation{{"executionSuccessful", outcome.unreadable.empty()}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = std::move(notifications);
  const json::Object run{{"tool", json::Object{{"driver", std::move(driver)}}},
                         {"columnKind", "unicodeCodePoints"},
                         {"invocations", json::Array{std::move(invocation)}},
                         {"results", std::move(results)}};
  const json::Object log{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", json::Array{run}}};
  return json::to_text(log) + '\n';
}

}  // namespace vg::offline
