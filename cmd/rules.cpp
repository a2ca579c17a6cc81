#include "rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "admission/rule.h"
#include "admission/webhook.h"
#include "config/gates.h"
#include "listing.h"

namespace vg::cmd {
namespace {

using admission::Rule;
using admission::Webhook;

constexpr std::string_view when_names[] = {"always", "create", "update"};

struct Row {
  const Webhook& webhook;
  admission::When asked;
  admission::RuleInfo rule;
  std::string_view when() const { return when_names[static_cast<std::size_t>(asked)]; }
  std::string_view gate() const { return rule.gate ? config::gate_name(*rule.gate) : std::string_view(); }
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool mentions(std::string_view text, std::string_view word) {
  return !std::ranges::search(text, word, {}, lower, lower).empty() || word.empty();
}

std::vector<Row> select(std::string_view word) {
  std::vector<Row> rows;
  for (const Webhook& webhook : admission::webhooks()) {
    if (!webhook.rules) continue;
    for (const Rule& rule : webhook.rules())
      for (const admission::RuleInfo& info : admission::rules_behind(rule)) {
        const Row row{webhook, rule.when, info};
        if (std::ranges::any_of(
                std::initializer_list<std::string_view>{webhook.path, info.id, info.holds, info.field, row.gate()},
                [word](std::string_view text) { return mentions(text, word); }))
          rows.push_back(row);
      }
  }
  return rows;
}

void print_table(std::FILE* out, const std::vector<Row>& rows) {
  std::string_view path;
  for (const Row& row : rows) {
    if (row.webhook.path != path) fmt::print(out, "{}{}\n", path.empty() ? "" : "\n", row.webhook.path);
    path = row.webhook.path;
    fmt::print(out, "  {:<6} {:<58} {:<7} {}\n", row.rule.id, row.rule.holds, row.when(), row.rule.field);
  }
}

void print_json(std::FILE* out, const std::vector<Row>& rows) {
  std::string text = "[";
  for (const Row& row : rows)
    append_row(text, {{"webhook", row.webhook.path},
                      {"id", row.rule.id},
                      {"holds", row.rule.holds},
                      {"field", row.rule.field},
                      {"when", row.when()},
                      {"gate", row.gate()}});
  fmt::print(out, "{}]\n", text);
}

}  // namespace

int run_rules(std::span<const std::string_view> arguments, Output output) {
  std::string word;
  const auto format = read_listing(
      {.name = "rules",
       .synopsis = "[flags]",
       .description = "Lists the validation rules, by webhook, with the fields they are about.",
       .examples = "virtgate rules --grep hugepages\nvirtgate rules -o json"},
      {{"grep", '\0', &word, "WORD", "only rules that mention this word, in any case"}}, arguments, output);
  if (!format) return format.error();
  const auto rows = select(word);
  if (*format == ListingFormat::json)
    print_json(output.out, rows);
  else
    print_table(output.out, rows);
  return exit_ok;
}

}  // namespace vg::cmd
