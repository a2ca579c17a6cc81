#include <fmt/format.h>

#include "offline/report.h"

namespace vg::offline {
namespace {

struct Colours {
  std::string_view bold, red, yellow, blue, end;
};
constexpr Colours on{"\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[34m", "\x1b[0m"};
constexpr Colours off{};

// What a file says is not taken for commands by the terminal.
std::string harmless(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 && c != '\t') || byte == 0x7f ? '?' : c;
  }
  return out;
}

// What stands before the caret, with tabs where the line has them.
std::string padding(std::string_view source, std::size_t caret) {
  std::string out;
  for (std::size_t at = 0; at < source.size() && out.size() + 1 < caret; ++at)
    if ((static_cast<unsigned char>(source[at]) & 0xC0) != 0x80) out += source[at] == '\t' ? '\t' : ' ';
  return out;
}

void write_finding(std::string& out, const Finding& finding, const Colours& colours) {
  const bool refused = finding.severity == Severity::refusal;
  const std::string place =
      finding.line > 0 ? fmt::format("{}:{}:{}", finding.file, finding.line, finding.column) : finding.file;
  out += fmt::format("{}{}:{} {}{} {}{}: {}{}{}\n", colours.bold, harmless(place), colours.end,
                     refused ? colours.red : colours.yellow, severity_name(finding.severity), finding.id, colours.end,
                     harmless(finding.field), finding.field.empty() ? "" : ": ", harmless(finding.message));
  if (!finding.source.empty()) {
    const std::string number = fmt::format("{:>5}", finding.line);
    out += fmt::format("{}{} |{} {}\n", colours.blue, number, colours.end, harmless(finding.source));
    out += fmt::format("{}{:>5} |{} {}{}^{}\n", colours.blue, "", colours.end, padding(finding.source, finding.caret),
                       refused ? colours.red : colours.yellow, colours.end);
  }
  std::string note = harmless(finding.object);
  if (!finding.advice.empty()) note += fmt::format("{}{}", note.empty() ? "" : ": ", harmless(finding.advice));
  if (!note.empty()) out += fmt::format("{}{:>5} ={} {}\n", colours.blue, "", colours.end, note);
}

}  // namespace

std::string report_text(const Outcome& outcome, const ReportOptions& options) {
  const Colours& colours = options.colour ? on : off;
  std::string out;
  for (const Finding& finding : outcome.findings)
    if (finding.severity != Severity::note) {
      write_finding(out, finding, colours);
      out += '\n';
    }
  for (const auto& [kind, count] : outcome.unknown_kinds)
    out += fmt::format("not checked: {} {} (not a kind that is known here)\n", count, harmless(kind));
  for (const std::string& why : outcome.unreadable) out += fmt::format("not read: {}\n", harmless(why));
  return out + summary(outcome) + '\n';
}

}  // namespace vg::offline
