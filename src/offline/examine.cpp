#include "offline/examine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/offline_limits.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "json/parse.h"
#include "json/yaml.h"
#include "offline/catalogue.h"
#include "offline/field_advice.h"
#include "offline/locator.h"
#include "offline/references.h"
#include "offline/warnings.h"

namespace vg::offline {
namespace {

// One object of a document.
struct Subject {
  const json::Value& value;
  std::optional<std::size_t> item;  // its place in a list
  Order order;
  std::size_t bytes;  // of its text; 0 where it has none of its own
};

// Findings of one object, with where they stand.
class Findings {
 public:
  Findings(std::string_view file, Locator& locator, const CheckOptions& options, const Subject& subject)
      : file_(file), locator_(locator), options_(options), subject_(subject) {}

  void set_object(const Identity& identity) {
    report_.verdict.identity = identity;
    object_ = identity.text();
  }
  Finding& add(Severity severity, std::string_view id, std::string field, std::string message) {
    Finding finding{.severity = severity,
                    .id = std::string(id),
                    .file = std::string(file_),
                    .object = object_,
                    .field = std::move(field),
                    .message = std::move(message)};
    // A rule of the server has no advice of its own: what must hold says what to do.
    if (const CatalogueEntry* entry = find_entry(id)) finding.advice = entry->rule ? entry->holds : entry->advice;
    locator_.place(finding, finding.field, subject_.item);
    return keep(std::move(finding));
  }
  // A warning, unless somebody silenced it.
  void warn(std::string_view id, std::string field, std::string message) {
    if (++warnings_ > limits::warnings_of_object_max) {
      ++report_.left_out;
      return;
    }
    Finding& finding = add(Severity::warning, id, std::move(field), std::move(message));
    if (options_.skip.contains(finding.id) || locator_.is_silenced(finding)) {
      report_.findings.pop_back();
      ++report_.silenced;
    } else if (options_.strict) {
      finding.severity = Severity::refusal;
    }
  }
  Finding& keep(Finding finding) {
    report_.findings.push_back(std::move(finding));
    return report_.findings.back();
  }
  bool refuses(std::string_view field) const {
    return !field.empty() && std::ranges::any_of(report_.findings, [&](const Finding& finding) {
      return finding.severity == Severity::refusal && finding.field == field;
    });
  }
  ObjectReport& report() { return report_; }
  Locator& locator() { return locator_; }

  ObjectReport finish() {
    std::ranges::sort(report_.findings, {},
                      [](const Finding& f) { return std::tie(f.line, f.column, f.id, f.field, f.message); });
    report_.verdict.file = file_;
    report_.verdict.line = report_.findings.empty() ? 0 : report_.findings.front().line;
    report_.verdict.refused =
        std::ranges::find(report_.findings, Severity::refusal, &Finding::severity) != report_.findings.end();
    return std::move(report_);
  }

 private:
  std::string_view file_;
  Locator& locator_;
  const CheckOptions& options_;
  const Subject& subject_;
  std::string object_;
  std::size_t warnings_ = 0;
  ObjectReport report_;
};

void note_answer(ObjectReport& report, int code, std::string_view reason) {
  report.verdict.code = code;
  report.verdict.reason = reason;
}

// What the server says of unknown and repeated fields: with strict validation, as kubectl asks for, nothing else.
void tell_fields(const ServerAnswer& answer, const resources::Resource& resource, const CheckOptions& options,
                 Findings& findings) {
  using enum resources::FieldValidation;
  if (options.validation == ignore) return;
  for (const std::string& path : answer.fields.unknown) {
    const std::string name = path.substr(path.rfind('.') + 1);
    std::string message = fmt::format("unknown field \"{}\"", name);
    std::string advice = advise_field(*resource.kind->type, path);
    if (options.validation == warn) {
      findings.warn(ids::unknown_field, path, message + (advice.empty() ? "" : "; " + advice));
      continue;
    }
    Finding& finding = findings.add(Severity::refusal, ids::unknown_field, path, std::move(message));
    if (!advice.empty()) finding.advice = std::move(advice);
    note_answer(findings.report(), 400, "BadRequest");
  }
}

void tell_refusal(const ServerAnswer& answer, Findings& findings) {
  if (!answer.refusal) return;
  const Status& status = *answer.refusal;
  if (findings.report().verdict.code == 0) note_answer(findings.report(), status.code, status.reason);
  // That something is not there is told below, with its place.
  if (status.code == 404 && status.details.kind == "namespaces") return;
  for (const StatusCause& cause : status.details.causes) {
    const std::string_view id = !cause.rule.empty()    ? cause.rule
                                : !answer.rule.empty() ? std::string_view(answer.rule)
                                                       : ids::server_refusal;
    findings.add(Severity::refusal, id, cause.field, cause.message).type = cause.reason;
  }
  if (status.details.causes.empty())
    findings.add(Severity::refusal, answer.rule.empty() ? ids::server_refusal : std::string_view(answer.rule), "",
                 status.message);
}

std::string_view kind_of(std::string_view resource) {
  const resources::Resource* found = resources::find_resource(resource);
  return found ? found->kind->kind : resource;
}

// What was looked for, and what the object names besides.
void tell_missing(const ServerAnswer& answer, const json::Object& object, const Identity& identity, const World& world,
                  const CheckOptions& options, Findings& findings) {
  std::vector<Reference> all;
  for (const Missing& missing : answer.missing) {
    std::string field =
        missing.resource == "namespaces" ? "metadata.namespace" : field_with_value(object, missing.name);
    // Some rules look whether there is one of the object's own name.
    if (field.empty() && missing.name == identity.name) continue;
    all.push_back({.field = std::move(field), .to = missing, .or_to = {}});
  }
  for (Reference& reference : references_of(object, identity.ns)) {
    const ObjectsBeside beside(world.known, {}, StandIn::none, false);
    if (beside.get(reference.to.resource, reference.to.ns, reference.to.name)) continue;
    if (!reference.or_to.empty() && beside.get(reference.or_to, reference.to.ns, reference.to.name)) continue;
    findings.report().asked.insert(beside.asked().begin(), beside.asked().end());
    if (std::ranges::none_of(all, [&](const Reference& other) { return other.to == reference.to; }))
      all.push_back(std::move(reference));
  }
  for (Reference& reference : all) {
    if (findings.refuses(reference.field)) continue;
    std::string message = fmt::format("{} {}{}{} is not in the files{}", kind_of(reference.to.resource),
                                      reference.to.ns, reference.to.ns.empty() ? "" : "/", reference.to.name,
                                      world.known.further() ? ", nor in the cluster" : "");
    const bool refused = answer.refusal && answer.refusal->code == 404 && reference.to.resource == "namespaces";
    if (options.complete || refused)
      findings.add(Severity::refusal, ids::missing_object, std::move(reference.field), std::move(message));
    else
      findings.warn(ids::missing_object, std::move(reference.field), std::move(message));
  }
}

void tell_unwise(const json::Object& object, const Identity& identity, const World& world, Findings& findings) {
  const ObjectsBeside beside(world.known, {}, StandIn::none, false);
  const Manifest manifest = manifest_of(object, identity.ns, beside);
  for (const Warning& warning : warnings()) {
    Remarks remarks;
    warning.look(manifest, remarks);
    for (Remark& remark : remarks) findings.warn(warning.id, std::move(remark.field), std::move(remark.message));
  }
  // What was not there may come in a later document.
  if (!beside.missing().empty()) findings.report().asked.insert(beside.asked().begin(), beside.asked().end());
}

void judge_object(const KindOfObject& kind, const Identity& identity, const Subject& subject, const World& world,
                  const CheckOptions& options, Findings& findings) {
  const json::Object& object = subject.value.get_object();
  ServerAnswer answer =
      judge({.resource = *kind.resource, .version = *kind.version, .ns = identity.ns, .object = subject.value}, world);
  findings.report().asked = answer.asked;
  findings.report().failure = answer.failure;
  if (!answer.failure.empty()) return;
  tell_fields(answer, *kind.resource, options, findings);
  tell_refusal(answer, findings);
  tell_missing(answer, object, identity, world, options, findings);
  for (std::string& warning : answer.warnings) findings.warn(ids::server_warning, "", std::move(warning));
  tell_unwise(object, identity, world, findings);
  if (world.known.first_of({kind.resource->key, identity.ns, identity.name}) < subject.order.number())
    findings.warn(ids::repeated_object, "metadata.name", fmt::format("{} stands in the files twice", identity.text()));
}

std::string versions_of(const resources::Resource& resource) {
  std::vector<std::string> names;
  for (const api::KindVersion& version : resource.kind->versions)
    if (version.served) names.push_back(resources::api_version(resource.group(), version.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

ObjectReport examine_object(const PieceOfFile& text, const Subject& subject, Locator& locator, const Examination& how) {
  Findings findings(text.file, locator, how.options, subject);
  const json::Object* object = subject.value.if_object();
  if (!object) {
    findings.add(Severity::refusal, ids::no_object, "", "the document must be an object");
    return findings.finish();
  }
  const KindOfObject kind = resource_of(*object);
  const Identity identity = identify(*object, kind, how.options.ns);
  findings.set_object(identity);
  if (kind.kind.empty() || kind.api_version.empty()) {
    findings.add(Severity::refusal, ids::no_object, "", "apiVersion and kind are required");
  } else if (kind.other_version) {
    findings.add(Severity::refusal, ids::unknown_version, "apiVersion",
                 fmt::format("{} is not served as \"{}\"; supported values: {}", kind.kind, kind.api_version,
                             versions_of(*kind.other_version)));
  } else if (!kind.resource) {
    findings.report().unknown_kind = fmt::format("{} {}", kind.api_version, kind.kind);
    findings.add(how.options.strict ? Severity::refusal : Severity::note, ids::unknown_kind, "kind",
                 fmt::format("{} is not a kind that is known here; it was not checked", kind.kind));
  } else if (subject.bytes > limits::object_body_bytes_max) {
    findings.add(
        Severity::refusal, ids::too_large, "",
        fmt::format("the object has {} bytes, at most {} are supported", subject.bytes, limits::object_body_bytes_max));
  } else {
    judge_object(kind, identity, subject, how.world, how.options, findings);
  }
  return findings.finish();
}

struct Document {
  json::LeasedArena arena;
  std::optional<json::Value> value;
  std::vector<std::string> duplicates;
  json::TextProblem problem;
  std::string refusal;
};

json::YamlOptions options_for(const Piece& piece, Document& document) {
  return {.bytes_max = limits::document_bytes_max,
          // An item may be as large as what a server takes; one with more has the list read as a whole.
          .values_max = piece.item > 0 ? budgets::yaml_values_max : limits::document_values_max,
          .duplicate_fields = &document.duplicates,
          .problem = &document.problem};
}

// An item in braces was found by the rules of JSON, and must be JSON. Its fields may stand there twice; which ones is
// for the reader of YAML to say.
bool is_json(const Piece& piece, const json::YamlOptions& options, Document& document) {
  std::vector<std::string> repeated;
  auto value = json::parse(
      piece.text, document.arena.storage(),
      {.bytes_max = options.bytes_max, .values_max = 2 * options.values_max, .duplicate_fields = &repeated});
  if (value && repeated.empty()) document.value.emplace(std::move(*value));
  return value.has_value();
}

void read_document(const Piece& piece, Document& document, const json::YamlOptions& options) {
  if (piece.item > 0 && piece.text.starts_with('{') && (!is_json(piece, options, document) || document.value)) return;
  auto value = json::parse_yaml(piece.text, document.arena.storage(), options);
  if (value)
    document.value.emplace(std::move(*value));
  else
    document.refusal = value.error().message;
}

template <class F>
void for_each_object(const Document& document, const PieceOfFile& text, F&& f) {
  const json::Object* object = document.value->if_object();
  const json::Array* alone = text.piece.item > 0 ? document.value->if_array() : nullptr;
  if (alone || !object || !is_list(*object)) {
    const Order order{.document = text.document, .item = std::max<std::size_t>(text.piece.item, 1)};
    f(Subject{alone ? alone->front() : *document.value, alone ? std::optional<std::size_t>(0) : std::nullopt, order,
              text.piece.text.size()});
    return;
  }
  const json::Array& items = *json::get_array(*object, "items");
  for (std::size_t i = 0; i < items.size(); ++i) f(Subject{items[i], i, {.document = text.document, .item = i + 1}, 0});
}

// Whether it is what an item of a list must be: in YAML a list of one, in JSON an object.
bool is_item(const Document& document) {
  const json::Array* list = document.value ? document.value->if_array() : nullptr;
  return list ? list->size() == 1 : document.value && document.value->is_object();
}

void learn_object(const Subject& subject, const CheckOptions& options, KnownObjects& known) {
  const json::Object* object = subject.value.if_object();
  if (!object) return;
  const KindOfObject kind = resource_of(*object);
  if (!kind.resource) return;
  if (ObjectPtr made = known_object(*object, identify(*object, kind, options.ns).ns))
    known.add(std::move(made), subject.order.number());
}

// What is wrong with a document that cannot be read at all.
ObjectReport unreadable(const PieceOfFile& text, const Document& document, Locator& locator) {
  ObjectReport report;
  Finding finding{.severity = Severity::refusal,
                  .id = std::string(text.piece.too_long ? ids::too_large : ids::malformed),
                  .file = std::string(text.file)};
  if (text.piece.too_long) {
    finding.message = fmt::format("the document has more than {} bytes", limits::document_bytes_max);
    locator.place_at(finding, 1, 1);
  } else if (document.problem.line > 0) {
    finding.message = document.problem.what;
    locator.place_at(finding, document.problem.line, document.problem.column);
  } else {
    finding.message = document.refusal;
    locator.place_at(finding, 1, 1);
  }
  finding.advice = find_entry(finding.id)->advice;
  report.verdict = {.identity = {},
                    .file = std::string(text.file),
                    .line = finding.line,
                    .refused = true,
                    .code = text.piece.too_long ? 413 : 400,
                    .reason = text.piece.too_long ? "RequestEntityTooLarge" : "BadRequest"};
  report.findings.push_back(std::move(finding));
  return report;
}

ObjectReport repeated_fields(const PieceOfFile& text, Locator& locator, const CheckOptions& options) {
  const json::Value none;
  const Subject subject{none, std::nullopt, {.document = text.document, .item = text.piece.item, .object = false}, 0};
  Findings findings(text.file, locator, options, subject);
  if (options.validation == resources::FieldValidation::ignore) return findings.finish();
  for (const auto& repeated : locator.repeated()) {
    const bool refused = options.validation == resources::FieldValidation::strict || options.strict;
    Finding finding{.severity = refused ? Severity::refusal : Severity::warning,
                    .id = std::string(ids::repeated_field),
                    .file = std::string(text.file),
                    .field = repeated.key,
                    .message = fmt::format("duplicate field \"{}\"", repeated.key),
                    .advice = std::string(find_entry(ids::repeated_field)->advice)};
    locator.place_at_character(finding, repeated.at);
    findings.keep(std::move(finding));
    note_answer(findings.report(), 400, "BadRequest");
  }
  return findings.finish();
}

}  // namespace

bool learn(const PieceOfFile& text, const CheckOptions& options, KnownObjects& known) {
  if (text.piece.too_long || is_blank(text.piece.text)) return true;
  Document document;
  read_document(text.piece, document, options_for(text.piece, document));
  if (text.piece.item > 0 && !is_item(document)) return false;
  if (document.value)
    for_each_object(document, text, [&](const Subject& subject) { learn_object(subject, options, known); });
  return true;
}

std::optional<std::size_t> examine(const PieceOfFile& text, const Examination& how, const Report& report) {
  if (!text.piece.too_long && is_blank(text.piece.text)) return 0;
  Document document;
  const json::YamlOptions options = options_for(text.piece, document);
  json::YamlOptions places_options = options;
  places_options.duplicate_fields = nullptr;
  Locator locator(text.piece, places_options);
  if (!text.piece.too_long) read_document(text.piece, document, options);
  if (text.piece.item > 0 && !is_item(document)) return std::nullopt;
  const Order whole{.document = text.document, .item = text.piece.item, .object = false};
  const bool tells_whole = !how.wanted || how.wanted(whole);
  if (!document.value) {
    if (tells_whole) report(whole, unreadable(text, document, locator));
    return 0;
  }
  if (document.value->is_null()) return 0;
  if (!document.duplicates.empty() && tells_whole) report(whole, repeated_fields(text, locator, how.options));
  std::size_t count = 0;
  for_each_object(document, text, [&](const Subject& subject) {
    if (how.wanted && !how.wanted(subject.order)) return;
    ++count;
    if (how.learns) learn_object(subject, how.options, *how.learns);
    report(subject.order, examine_object(text, subject, locator, how));
  });
  return count;
}

}  // namespace vg::offline
