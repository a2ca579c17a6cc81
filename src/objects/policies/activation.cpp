#include "objects/policies/activation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/access.h"

namespace vg::resources::policies {
namespace {

using std::string_view;

json::Object names(string_view group, string_view version, string_view key, string_view name,
                   const json::StoragePtr& storage) {
  json::Object made(storage);
  made["group"] = group;
  made["version"] = version;
  made[key] = name;
  return made;
}

json::Object user_info(const User& user, const json::StoragePtr& storage) {
  json::Object info(storage);
  if (!user.name.empty()) info["username"] = user.name;
  if (!user.uid.empty()) info["uid"] = user.uid;
  json::Array groups(storage);
  for (const std::string& group : user.groups) groups.emplace_back(group);
  if (!groups.empty()) info.emplace("groups", std::move(groups));
  json::Object extra(storage);
  for (const auto& [key, values] : user.extra) {
    json::Array all(storage);
    for (const std::string& value : values) all.emplace_back(value);
    extra.emplace(key, std::move(all));
  }
  if (!extra.empty()) info.emplace("extra", std::move(extra));
  return info;
}

void put_text(json::Object& into, string_view key, string_view text) {
  if (!text.empty()) into[key] = text;
}

}  // namespace

json::Value request_document(const Subject& subject, const ResourceName& as, const User& user,
                             const json::StoragePtr& storage) {
  const bool own_body = subject.body_kind.empty();
  const auto kind_of = [&](const ResourceName& name) {
    return own_body ? names(name.group, name.version, "kind", name.resource->kind->kind, storage)
                    : names(subject.body_group, subject.body_version, "kind", subject.body_kind, storage);
  };
  const auto resource_of = [&](const ResourceName& name) {
    return names(name.group, name.version, "resource", name.plural(), storage);
  };
  json::Object request(storage);
  request.emplace("kind", kind_of(as));
  request.emplace("resource", resource_of(as));
  put_text(request, "subResource", subject.subresource);
  request.emplace("requestKind", kind_of(subject.requested));
  request.emplace("requestResource", resource_of(subject.requested));
  put_text(request, "requestSubResource", subject.subresource);
  put_text(request, "name", subject.name);
  put_text(request, "namespace", subject.of_namespace() ? subject.name : subject.ns);
  request["operation"] = subject.operation;
  request.emplace("userInfo", user_info(user, storage));
  request["dryRun"] = subject.dry_run;
  if (subject.options)
    request.emplace("options", json::Object(*subject.options, storage));
  else
    request["options"] = nullptr;
  return json::Value(std::move(request));
}

PolicyActivation::PolicyActivation(const Policy& policy, const Inputs& inputs, const Subject& subject,
                                   const Asking& asking, cel::Memory& memory, cel::Budget& budget)
    : policy_(policy), inputs_(inputs), asking_(asking), memory_(memory), budget_(budget) {
  request_resource_ = {.resource_known = true,
                       .group = subject.requested.group,
                       .resource = subject.requested.plural(),
                       .subresource = subject.subresource,
                       .ns = subject.ns,
                       .name = subject.name};
}

std::optional<cel::Value> PolicyActivation::find(string_view name) {
  constexpr std::pair<string_view, const json::Value * Inputs::*> documents[] = {
      {"object", &Inputs::object},   {"oldObject", &Inputs::old_object}, {"params", &Inputs::params},
      {"request", &Inputs::request}, {"namespaceObject", &Inputs::ns},
  };
  for (const auto& [known, document] : documents)
    if (known == name) return cel::Value::from(inputs_.*document);
  constexpr string_view prefix = "variables.";
  if (name.starts_with(prefix)) return variable(name.substr(prefix.size()));
  if (name == "authorizer" || name == "authorizer.requestResource") {
    const bool resource = name != "authorizer";
    cel::Value authorizer(resource ? cel::Tag::access : cel::Tag::authorizer);
    authorizer.access = resource ? &request_resource_ : &nobody_;
    return authorizer;
  }
  return std::nullopt;
}

std::optional<cel::Value> PolicyActivation::variable(string_view name) {
  if (const auto known = computed_.find(name); known != computed_.end()) return known->second;
  const auto found = std::ranges::find(policy_.variables, name, &NamedExpression::name);
  if (found == policy_.variables.end()) return std::nullopt;
  return computed_.emplace(found->name, compute(*found)).first->second;
}

cel::Value PolicyActivation::compute(const NamedExpression& variable) {
  const Expression& expression = variable.expression;
  if (!expression.program)
    return memory_.error(
        fmt::format("composited variable \"{}\" fails to compile: {}", variable.name, expression.problem));
  const cel::Outcome outcome = cel::run(*expression.program, *this, memory_, budget_);
  if (!outcome.value.is_error()) return outcome.value;
  return memory_.error(
      fmt::format("composited variable \"{}\" fails to evaluate: {}", variable.name, outcome.value.text));
}

cel::AccessAnswer PolicyActivation::ask(const cel::AccessCheck& check, string_view verb) {
  Question question{.service_account_ns = std::string(check.service_account_ns),
                    .service_account = std::string(check.service_account),
                    .path_check = check.path_check,
                    .verb = std::string(verb),
                    .path = std::string(check.path),
                    .group = std::string(check.group),
                    .resource = std::string(check.resource),
                    .subresource = std::string(check.subresource),
                    .ns = std::string(check.ns),
                    .name = std::string(check.name)};
  const auto known = asking_.answers.find(question);
  if (known == asking_.answers.end()) throw Unanswered{std::move(question)};
  return {.allowed = known->second.allowed, .reason = known->second.reason, .error = known->second.error};
}

}  // namespace vg::resources::policies
