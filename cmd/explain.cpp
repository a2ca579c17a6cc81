#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "admission/rule.h"
#include "admission/rules/examples.h"
#include "admission/webhook.h"
#include "base/suggest.h"
#include "command.h"
#include "config/gates.h"
#include "explain_object.h"
#include "json/access.h"
#include "json/document.h"
#include "json/yaml_write.h"
#include "offline/catalogue.h"

namespace vg::cmd {
namespace {

const CommandLine command{
    .name = "explain",
    .synopsis = "[flags] RULE-ID | REQUEST-ID | vm/NAME | vmi/NAME | migration/NAME",
    .description =
        "Tells what a rule or a warning wants, why, and shows an object that it lets through and one that it finds. "
        "The examples are those that the rule is tested with. virtgate rules lists the rules of the server. "
        "Of a request, a VM, a VMI or a migration it tells why it is as it is, what comes next and what happened, as "
        "far as the "
        "user of the kubeconfig may read that.",
    .examples =
        "virtgate explain MEM-01\nvirtgate explain WISE-01\nvirtgate explain vm/demo\n"
        "virtgate explain migration/move-demo -n web --kubeconfig ~/.kube/config",
    .argument = "RULE-ID",
    .arguments_min = 1,
    .arguments_max = 1};

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    text += fmt::format("    {}\n", line);
  }
  return text;
}

void print_object(std::string_view title, const json::Value* object, std::FILE* out) {
  if (object) fmt::print(out, "\n{}:\n{}", title, indented(json::to_yaml(*object)));
}

// The object as a file would have it: reviews leave out what their resource says already.
json::Value with_kind(const json::Value& request, const admission::Example& example, const json::StoragePtr& storage) {
  const json::Value* object = json::find(request, "object");
  json::Object whole(storage);
  const admission::Webhook& webhook = *admission::find_webhook(example.path);
  const admission::Subject& subject = webhook.subjects.front();
  whole["apiVersion"] = subject.kind_group == webhook.group
                            ? fmt::format("{}/{}", webhook.group, webhook.versions.back())
                            : fmt::format("{}/v1", subject.kind_group);
  whole["kind"] = subject.kind;
  for (const auto& member : object && object->is_object() ? object->get_object() : json::Object(storage))
    whole[member.key()] = member.value();
  return json::Value(std::move(whole));
}

void print_example(const admission::Example& example, std::FILE* out) {
  json::Document document(64 * 1024);
  const auto good = example_request(example, example.good, document.storage());
  const auto bad = example_request(example, example.bad, document.storage());
  if (example.configuration != "{}") {
    const auto settings = json::Document::parse(example.configuration);
    if (settings) print_object("With this configuration of KubeVirt", &settings->root(), out);
  }
  print_object("Before the change", json::find(bad, "oldObject"), out);
  const json::Value fine = with_kind(good, example, document.storage()),
                    wrong = with_kind(bad, example, document.storage());
  print_object("Good", &fine, out);
  print_object("Bad", &wrong, out);
  fmt::print(out, "\nThe bad one gives: {}\n", example.refusal == "warning" ? "a warning" : example.refusal);
}

void print_text_example(std::string_view title, std::string_view text, std::FILE* out) {
  if (text.empty()) return;
  const auto document = json::Document::parse(text);
  if (document)
    print_object(title, &document->root(), out);
  else  // of the rule about broken texts
    fmt::print(out, "\n{}:\n{}", title, indented(text));
}

// Which webhooks ask the rule, and when.
void print_askers(std::string_view id, std::FILE* out) {
  static constexpr std::string_view occasions[] = {"", " (create)", " (update)"};
  std::string webhooks;
  std::optional<config::Gate> gate;
  for (const admission::Webhook& webhook : admission::webhooks()) {
    if (!webhook.rules) continue;
    for (const admission::Rule& rule : webhook.rules())
      for (const admission::RuleInfo& info : admission::rules_behind(rule)) {
        if (info.id != id) continue;
        webhooks += fmt::format("{}{}{}", webhooks.empty() ? "" : ", ", webhook.path,
                                occasions[static_cast<std::size_t>(rule.when)]);
        if (info.gate) gate = info.gate;
      }
  }
  if (!webhooks.empty()) fmt::print(out, "{}", wrapped(fmt::format("Asked by: {}", webhooks), "  "));
  if (gate) fmt::print(out, "  Feature gate: {}\n", config::gate_name(*gate));
}

// A kubeconfig for all clients counts unless another one, or a server's state, is named.
ExplainOptions with_environment(ExplainOptions options) {
  const char* named = std::getenv("KUBECONFIG");  // NOLINT(concurrency-mt-unsafe): nobody else runs yet
  if (named && options.kubeconfig.empty() && options.state.empty()) options.kubeconfig = named;
  return options;
}

int unknown(std::string_view id, Output output) {
  std::vector<std::string_view> known;
  for (const offline::CatalogueEntry& entry : offline::catalogue()) known.push_back(entry.id);
  const auto near = nearest(id, known);
  fmt::print(output.err, "virtgate explain: there is no rule {}; {}\n", id,
             near.empty() ? std::string("see virtgate rules") : fmt::format("did you mean {}?", near));
  return exit_usage;
}

}  // namespace

int run_explain(std::span<const std::string_view> arguments, Output output) {
  ExplainOptions options;
  const std::vector<Flag> flags = {
      {"namespace", 'n', &options.ns, "NAMESPACE", "namespace of the VM, VMI or migration"},
      {"kubeconfig", '\0', &options.kubeconfig, "FILE",
       "of whoever asks (default $KUBECONFIG, else the administrator's in the state folder)"},
      {"state", '\0', &options.state, "DIR", "state folder of the server, for its admin.kubeconfig"},
  };
  const auto names = read_command(command, flags, arguments, output);
  if (!names) return names.error();
  if (is_request_id(names->front())) return explain_request(names->front(), with_environment(options), output);
  if (is_object_reference(names->front())) return explain_object(names->front(), with_environment(options), output);
  const offline::CatalogueEntry* entry = offline::find_entry(names->front());
  if (!entry) return unknown(names->front(), output);
  fmt::print(output.out, "{}: {}\n", entry->id, entry->holds);
  if (!entry->field.empty()) fmt::print(output.out, "{}", wrapped(fmt::format("Field: {}", entry->field), "  "));
  if (!entry->why.empty()) fmt::print(output.out, "{}", wrapped(fmt::format("Why: {}", entry->why), "  "));
  if (!entry->advice.empty()) fmt::print(output.out, "{}", wrapped(fmt::format("Advice: {}", entry->advice), "  "));
  print_askers(entry->id, output.out);
  if (!entry->gate.empty()) fmt::print(output.out, "  Feature gate: {}\n", entry->gate);
  bool shown = false;
  for (const admission::Example& example : admission::all_examples()) {
    if (example.rule() != entry->id) continue;
    print_example(example, output.out);
    shown = true;
  }
  if (entry->rule && !shown)
    fmt::print(output.out, "\nThe schema refuses what the rule would find, so there is no example of it.\n");
  print_text_example("Good", entry->good, output.out);
  print_text_example("Bad", entry->bad, output.out);
  return exit_ok;
}

}  // namespace vg::cmd
