#include "offline/report.h"

#include <fmt/format.h>

#include <array>

namespace vg::offline {
namespace {

constexpr std::array forms = std::to_array<ReportForm>({
    {"text", report_text},
    {"json", report_json},
    {"sarif", report_sarif},
    {"junit", report_junit},
    {"github", report_github},
});

std::string counted(std::size_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

}  // namespace

std::span<const ReportForm> report_forms() { return forms; }

std::string summary(const Outcome& outcome) {
  std::string text =
      fmt::format("{} refused, {} in {} of {}", outcome.count(Severity::refusal),
                  counted(outcome.count(Severity::warning), "warning", "warnings"),
                  counted(outcome.objects, "object", "objects"), counted(outcome.files, "file", "files"));
  if (outcome.silenced > 0) text += fmt::format(", {} silenced", outcome.silenced);
  if (outcome.left_out > 0) text += fmt::format(", {} more not shown", outcome.left_out);
  return text;
}

}  // namespace vg::offline
