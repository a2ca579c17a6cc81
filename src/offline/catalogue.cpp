#include "offline/catalogue.h"

#include <algorithm>
#include <array>
#include <set>

#include "admission/rule.h"
#include "admission/webhook.h"
#include "offline/reasons.h"
#include "offline/warnings.h"

namespace vg::offline {
namespace {

constexpr std::array file_entries = std::to_array<CatalogueEntry>({
    {.id = ids::malformed,
     .holds = "The text must be YAML or JSON",
     .field = {},
     .why = "Nothing can be read from a text that is broken; other documents of the file are checked all the same.",
     .advice = "Look at the line that is named and the one before it: indentation, quotes, tabs.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"apiVersion":"v1","kind":)"},
    {.id = ids::no_object,
     .holds = "A document must be an object with apiVersion and kind",
     .field = "kind",
     .why = "What the document is follows from them.",
     .advice = "Add both.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"metadata":{"name":"lab"}})"},
    {.id = ids::repeated_object,
     .holds = "An object stands in the files once",
     .field = "metadata.name",
     .why = "kubectl create refuses the second one, and kubectl apply replaces the first by it.",
     .advice = "Remove one of them, or give it another name.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: lab\n---\napiVersion: v1\nkind: "
            "Namespace\nmetadata:\n  name: lab\n",
     .warning = true},
    {.id = ids::too_large,
     .holds = "An object must not be larger than a server takes",
     .field = {},
     .why = "A server refuses longer bodies.",
     .advice = "Make it smaller; put large data into objects of their own."},
    {.id = ids::unknown_kind,
     .holds = "Kinds that are not known are not checked",
     .field = "kind",
     .why = "They are counted and named, so that nobody takes them for checked.",
     .advice = "Check them with a tool that knows them.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"apiVersion":"example.org/v1","kind":"Thing","metadata":{"name":"lab"}})",
     .warning = true},
    {.id = ids::unknown_version,
     .holds = "The version of the kind must be served",
     .field = "apiVersion",
     .why = "No path takes it.",
     .advice = "Use a version that is named in the message.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"apiVersion":"v9","kind":"Namespace","metadata":{"name":"lab"}})"},
    {.id = ids::unknown_field,
     .holds = "Every field must be one of its kind",
     .field = {},
     .why = "The server drops what it does not know, so a misspelled setting has no effect; kubectl has it refused.",
     .advice = "Correct its name, or move it to where it belongs.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"nam":"lab"}})"},
    {.id = ids::repeated_field,
     .holds = "A field stands in its object once",
     .field = {},
     .why = "Only the last one counts; kubectl has it refused.",
     .advice = "Remove one of them.",
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = "apiVersion: v1\nkind: Namespace\nkind: Namespace\nmetadata:\n  name: lab\n"},
    {.id = ids::missing_object,
     .holds = "What an object names should exist",
     .field = {},
     .why = "It may exist in the cluster, which nobody has asked; --complete says that everything is in the files.",
     .advice = "Add it to the files, or name it with --with.",
     .good = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default"}})",
     .bad = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"lab"}})",
     .warning = true},
    {.id = ids::server_warning,
     .holds = "The server would warn about it",
     .field = {},
     .why = "kubectl shows such warnings and goes on. Most are about fields and versions that a later release drops.",
     .advice = {},
     .good =
         R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{"runStrategy":"Always",
       "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{"running":true,
       "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}}})",
     .warning = true},
    {.id = ids::server_refusal,
     .holds = "The object must have the form of its kind",
     .field = {},
     .why = "The schema of the kind, or a rule of Kubernetes for its own kinds, does not allow it.",
     .advice = {},
     .good = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"}})",
     .bad = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"Lab"}})"},
});

std::vector<CatalogueEntry> make_catalogue() {
  std::vector<CatalogueEntry> all(file_entries.begin(), file_entries.end());
  for (const Warning& warning : warnings())
    all.push_back({.id = warning.id,
                   .holds = warning.title,
                   .field = warning.field,
                   .why = warning.why,
                   .advice = warning.advice,
                   .good = warning.good,
                   .bad = warning.bad,
                   .gate = warning.gate,
                   .warning = true});
  std::set<std::string_view> seen;
  for (const admission::Webhook& webhook : admission::webhooks()) {
    if (!webhook.rules) continue;
    for (const admission::Rule& rule : webhook.rules())
      for (const admission::RuleInfo& info : admission::rules_behind(rule))
        if (seen.insert(info.id).second)
          all.push_back(
              {.id = info.id, .holds = info.holds, .field = info.field, .why = reason_of(info.id), .rule = true});
  }
  std::ranges::sort(all, {}, &CatalogueEntry::id);
  return all;
}

}  // namespace

std::span<const CatalogueEntry> catalogue() {
  static const std::vector<CatalogueEntry> all = make_catalogue();
  return all;
}

const CatalogueEntry* find_entry(std::string_view id) {
  const auto all = catalogue();
  const auto found = std::ranges::lower_bound(all, id, {}, &CatalogueEntry::id);
  return found == all.end() || found->id != id ? nullptr : &*found;
}

}  // namespace vg::offline
