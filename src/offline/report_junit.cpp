#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/json_text.h"
#include "offline/report.h"

namespace vg::offline {
namespace {

// Text of an attribute or an element. What XML 1.0 cannot hold becomes a question mark.
std::string xml_escaped(std::string_view words) {
  std::string out;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t length = utf8_sequence_length(words.substr(at));
    const std::string_view one = words.substr(at, std::max<std::size_t>(1, length));
    at += one.size();
    const auto byte = static_cast<unsigned char>(one.front());
    const bool control = byte < 0x20 && one.front() != '\t' && one.front() != '\n';
    const bool never = one == "\xEF\xBF\xBE" || one == "\xEF\xBF\xBF";
    if (length == 0 || control || never)
      out += '?';
    else if (one == "&")
      out += "&amp;";
    else if (one == "<")
      out += "&lt;";
    else if (one == ">")
      out += "&gt;";
    else if (one == "\"")
      out += "&quot;";
    else if (one == "\n")
      out += "&#10;";
    else
      out += one;
  }
  return out;
}

std::string line_of(const Finding& finding) {
  return fmt::format("{}:{}:{}: {} {}: {}{}{}", finding.file, finding.line, finding.column,
                     severity_name(finding.severity), finding.id, finding.field, finding.field.empty() ? "" : ": ",
                     finding.message);
}

// One test case an object with findings; what is clean is counted in a case of its own.
struct TestCase {
  std::string name, file;
  std::vector<const Finding*> refusals = {}, others = {};
};

std::vector<TestCase> cases_of(const Outcome& outcome) {
  std::vector<TestCase> cases;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Finding& finding : outcome.findings) {
    const auto [place, fresh] = places.try_emplace({finding.file, finding.object}, cases.size());
    if (fresh)
      cases.push_back(
          {.name = finding.object.empty() ? std::string("document") : finding.object, .file = finding.file});
    TestCase& one = cases[place->second];
    (finding.severity == Severity::refusal ? one.refusals : one.others).push_back(&finding);
  }
  return cases;
}

void write_case(std::string& out, const TestCase& one) {
  out += fmt::format("  <testcase classname=\"{}\" name=\"{}\">\n", xml_escaped(one.file), xml_escaped(one.name));
  if (!one.refusals.empty()) {
    std::string all;
    for (const Finding* finding : one.refusals) all += line_of(*finding) + "\n";
    out += fmt::format("   <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml_escaped(one.refusals.front()->id),
                       xml_escaped(one.refusals.front()->message), xml_escaped(all));
  }
  if (!one.others.empty()) {
    std::string all;
    for (const Finding* finding : one.others) all += line_of(*finding) + "\n";
    out += fmt::format("   <system-out>{}</system-out>\n", xml_escaped(all));
  }
  out += "  </testcase>\n";
}

}  // namespace

std::string report_junit(const Outcome& outcome, const ReportOptions&) {
  const std::vector<TestCase> cases = cases_of(outcome);
  const auto failed = std::ranges::count_if(cases, [](const TestCase& one) { return !one.refusals.empty(); });
  const std::size_t tests = cases.size() + outcome.unreadable.size() + 1;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  out += fmt::format(" <testsuite name=\"virtgate check\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n", tests, failed,
                     outcome.unreadable.size());
  out += fmt::format("  <testcase classname=\"virtgate\" name=\"{}\"/>\n", xml_escaped(summary(outcome)));
  for (const TestCase& one : cases) write_case(out, one);
  for (const std::string& why : outcome.unreadable)
    out += fmt::format(
        "  <testcase classname=\"virtgate\" name=\"not read\">\n   <error message=\"{}\"/>\n  </testcase>\n",
        xml_escaped(why));
  return out + " </testsuite>\n</testsuites>\n";
}

}  // namespace vg::offline
