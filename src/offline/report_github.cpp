#include <fmt/format.h>

#include "offline/report.h"

namespace vg::offline {
namespace {

// Values of commands: what would end them, or begin another one, is written as an escape.
std::string escaped(std::string_view words, std::string_view more) {
  std::string out;
  for (const char c : words) {
    if (c == '%' || c == '\r' || c == '\n' || more.contains(c))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}
std::string property(std::string_view words) { return escaped(words, ":,"); }
std::string message(std::string_view words) { return escaped(words, ""); }

std::string_view command(Severity severity) {
  switch (severity) {
    case Severity::refusal:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "notice";
  }
  return "notice";
}

}  // namespace

std::string report_github(const Outcome& outcome, const ReportOptions&) {
  std::string out;
  for (const Finding& finding : outcome.findings) {
    const std::string place =
        finding.line > 0 ? fmt::format(",line={},col={}", finding.line, finding.column) : std::string();
    std::string words = finding.field.empty() ? finding.message : fmt::format("{}: {}", finding.field, finding.message);
    if (!finding.advice.empty()) words += "\n" + finding.advice;
    out += fmt::format("::{} file={}{},title={}::{}\n", command(finding.severity), property(finding.file), place,
                       property(finding.object.empty() ? finding.id : fmt::format("{} {}", finding.id, finding.object)),
                       message(words));
  }
  for (const std::string& why : outcome.unreadable) out += fmt::format("::error title=not read::{}\n", message(why));
  return out + summary(outcome) + '\n';
}

}  // namespace vg::offline
