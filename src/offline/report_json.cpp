#include "json/value.h"
#include "json/write.h"
#include "offline/report.h"

namespace vg::offline {
namespace {

void set_text(json::Object& object, std::string_view key, std::string_view value) {
  if (!value.empty()) object[key] = value;
}

json::Object finding_json(const Finding& finding) {
  json::Object out{{"severity", severity_name(finding.severity)}, {"rule", finding.id}, {"file", finding.file}};
  if (finding.line > 0) {
    out["line"] = finding.line;
    out["column"] = finding.column;
  }
  set_text(out, "object", finding.object);
  set_text(out, "field", finding.field);
  set_text(out, "type", finding.type);
  set_text(out, "message", finding.message);
  set_text(out, "advice", finding.advice);
  set_text(out, "source", finding.source);
  return out;
}

json::Object verdict_json(const ObjectVerdict& verdict) {
  json::Object out{
      {"file", verdict.file}, {"line", verdict.line}, {"verdict", verdict.refused ? "refused" : "allowed"}};
  set_text(out, "apiVersion", verdict.identity.api_version);
  set_text(out, "kind", verdict.identity.kind);
  set_text(out, "namespace", verdict.identity.ns);
  set_text(out, "name", verdict.identity.name);
  if (verdict.code != 0) out["code"] = verdict.code;
  set_text(out, "reason", verdict.reason);
  return out;
}

}  // namespace

std::string report_json(const Outcome& outcome, const ReportOptions&) {
  json::Object out{{"files", outcome.files},
                   {"documents", outcome.documents},
                   {"objects", outcome.objects},
                   {"refused", outcome.count(Severity::refusal)},
                   {"warnings", outcome.count(Severity::warning)},
                   {"silenced", outcome.silenced}};
  if (outcome.left_out > 0) out["notShown"] = outcome.left_out;
  json::Array findings, verdicts, unknown, unreadable;
  for (const Finding& finding : outcome.findings) findings.push_back(finding_json(finding));
  for (const ObjectVerdict& verdict : outcome.verdicts) verdicts.push_back(verdict_json(verdict));
  for (const auto& [kind, count] : outcome.unknown_kinds) {
    const auto space = kind.find(' ');
    unknown.push_back(
        json::Object{{"apiVersion", kind.substr(0, space)}, {"kind", kind.substr(space + 1)}, {"count", count}});
  }
  for (const std::string& why : outcome.unreadable) unreadable.emplace_back(why);
  out["findings"] = std::move(findings);
  out["verdicts"] = std::move(verdicts);
  out["notChecked"] = std::move(unknown);
  out["notRead"] = std::move(unreadable);
  return json::to_text(out) + '\n';
}

}  // namespace vg::offline
