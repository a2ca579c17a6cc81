// The outcome of a check in the forms that people and programs read. Each form is one file; the table names them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "offline/finding.h"

namespace vg::offline {

struct ReportOptions {
  bool colour = false;
  std::string_view version = {};  // of this program
};

// For people: the source line with a caret, and a sum.
std::string report_text(const Outcome& outcome, const ReportOptions& options);
std::string report_json(const Outcome& outcome, const ReportOptions& options);
// SARIF 2.1.0, which code scanning services take.
std::string report_sarif(const Outcome& outcome, const ReportOptions& options);
// One test case a file.
std::string report_junit(const Outcome& outcome, const ReportOptions& options);
// Commands of GitHub's workflows, which show findings beside the change.
std::string report_github(const Outcome& outcome, const ReportOptions& options);

struct ReportForm {
  std::string_view name;
  std::string (*write)(const Outcome& outcome, const ReportOptions& options);
};
std::span<const ReportForm> report_forms();

// "2 refused, 1 warning in 3 objects of 2 files"
std::string summary(const Outcome& outcome);

}  // namespace vg::offline
