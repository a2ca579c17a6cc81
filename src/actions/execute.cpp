#include "actions/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actions/ask_components.h"
#include "actions/node_calls.h"
#include "api/views/k8s_meta.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/media_types.h"
#include "base/request_marks.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/pointer.h"
#include "json/write.h"
#include "server/trace.h"

namespace vg::actions {
namespace {

constexpr std::string_view text_type = "text/plain; charset=utf-8";
// Which object was made or changed, for people who follow a request through the system.
constexpr const char* object_header = "X-Virtgate-Object";

http::Response answer(int code) {
  http::Response response{.status = code, .content_type = {}, .headers = {}, .body = {}};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

// As Go knows a text: nothing in its beginning that a text has not.
bool looks_like_text(std::string_view bytes) {
  return std::ranges::none_of(bytes.substr(0, 512), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x08 || byte == 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);
  });
}

// The beginnings by which pictures are known.
std::string_view sniffed_type(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.empty()) return {};
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "image/jpeg";
  if (bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv)) return "image/gif";
  if (bytes.starts_with("BM"sv)) return "image/bmp";
  return looks_like_text(bytes) ? text_type : "application/octet-stream"sv;
}

// What a client gets of a write that the API refused (spec subresources 4.2).
Status map_refusal(const PatchObject& patch, const ActionCase& asked, Status status) {
  if (patch.refused == Refused::invalid_or_internal && status.code == 422) return status;
  if (patch.refused == Refused::internal_or_raced && (is_failed_patch(status) || status.code == 409))
    return machine_conflict(
        asked, fmt::format("the VM was changed by another request in the meantime, nothing was done; check "
                           "it and repeat the request ({})",
                           status.message));
  return Status::internal_error(
      fmt::format("{} \"{}\" was not changed: {}", patch.resource.plural, asked.name, status.message));
}

// As kubectl asks for tables: clients that do not know of plans are answered as ever.
bool wants_plan(std::string_view accept) {
  return accept.contains("as=Status") && accept.contains("g=virtgate.io") && accept.contains("v=v1");
}

void prefix(Status& status, std::string_view text) {
  if (text.empty()) return;
  status.message.insert(0, text);
  for (StatusCause& cause : status.details.causes) cause.message.insert(0, text);
}

class Executor {
 public:
  Executor(const ActionCase& asked, const Parts& parts, server::Call& call)
      : asked_(asked),
        parts_(parts),
        call_(call),
        wants_plan_(wants_plan(call.request().headers.find("accept").value_or(""))),
        would_(asked.storage) {}

  // True once the call is answered.
  Task<Result<bool>> carry_out(Effect& effect) {
    if (auto* patch = std::get_if<PatchObject>(&effect)) co_return co_await apply(*patch);
    if (auto* create = std::get_if<CreateObject>(&effect)) co_return co_await make(*create);
    if (auto* node = std::get_if<CallNode>(&effect)) co_return co_await ask(*node);
    if (auto* asked = std::get_if<AskComponents>(&effect)) co_return co_await ask_all(*asked);
    if (auto* reply = std::get_if<Reply>(&effect))
      co_return respond(reply->code, reply->document, std::move(reply->text));
    refuse(call_, asked_.action, std::get<Refuse>(effect).status);
    co_return true;
  }

  // Best effort: what went wrong is already on its way to the client.
  Task<void> undo() {
    for (const PatchObject* patch : undoable_) {
      const auto undone =
          co_await parts_.objects.patch(call_.core(), name(patch->resource), patch->part, patch->undo, false);
      if (!undone)
        log::warning("a change could not be undone", {{"requestId", call_.request().id},
                                                      {"object", print_object(patch->resource, asked_.name)},
                                                      {"reason", undone.error().message}});
    }
  }

  void finish() { respond(asked_.action.success, json::Value()); }

 private:
  ObjectName name(ResourceName resource) const { return {.resource = resource, .ns = asked_.ns, .name = asked_.name}; }

  std::string print_object(ResourceName resource, std::string_view object) const {
    return fmt::format("{}/{}/namespaces/{}/{}/{}", resource.group, resource.version, asked_.ns, resource.plural,
                       object);
  }

  const tracing::Context& trace() const { return server::span_of(call_).context(); }

  // A request that waits in the status of a VM says whose it is, and so does a VM whose run strategy changes: the VMI
  // that comes of it inherits that.
  void mark(PatchObject& patch) {
    if (!parts_.marks || patch.resource.plural != "virtualmachines") return;
    bool changes_spec = false;
    for (json::Value& operation : patch.operations) {
      const std::string_view path = json::get_string_or(operation, "path");
      const std::string_view op = json::get_string_or(operation, "op");
      if (op == "test") continue;
      changes_spec |= path.starts_with("/spec/run");
      json::Value* value = json::find(operation, "value");
      json::Value* list = value && path == "/status" ? json::find(*value, "stateChangeRequests") : value;
      if (!list || !path.starts_with("/status") || !list->is_array()) continue;
      for (json::Value& change : list->get_array())
        if (change.is_object()) put_marks(change.get_object()["data"]);
    }
    // One that has no annotations got none from here when it was made, either.
    if (!changes_spec || !asked_.vm().metadata().get("annotations")) return;
    const auto add = [&](std::string_view key, std::string_view text) {
      std::string path = "/metadata/annotations";
      json::append_token(path, key);
      patch.operations.push_back(json::Value({{"op", "add"}, {"path", path}, {"value", text}}, asked_.storage));
    };
    add(marks::request, call_.request().id);
    add(marks::user, call_.identity().user);
  }

  void put_marks(json::Value& into) {
    json::Object& texts = into.is_object() ? into.get_object() : into.emplace_object();
    texts[marks::request] = call_.request().id;
    texts[marks::user] = call_.identity().user;
  }

  Task<Result<bool>> apply(PatchObject& patch) {
    mark(patch);
    const tracing::HandOver handed(trace());
    auto done =
        co_await parts_.objects.patch(call_.core(), name(patch.resource), patch.part, patch.operations, patch.dry_run);
    if (!done) co_return fail(map_refusal(patch, asked_, std::move(done.error())));
    note(patch.dry_run ? "would be changed" : "was changed", patch.resource, *done);
    if (patch.dry_run) tell_would("patch", patch.resource, patch.part, json::Value(patch.operations, asked_.storage));
    if (!patch.undo.empty() && !patch.dry_run) undoable_.push_back(&patch);
    co_return false;
  }

  // In a cluster as on one machine it is our own account that makes the object, so these stay as they are.
  void mark(json::Value& object) {
    json::Object* metadata = parts_.marks ? json::get_object(object, "metadata") : nullptr;
    if (!metadata) return;
    put_marks((*metadata)["annotations"]);
  }

  Task<Result<bool>> make(CreateObject& create) {
    mark(create.object);
    const tracing::HandOver handed(trace());
    const auto made =
        co_await parts_.objects.create(call_.core(), create.resource, asked_.ns, create.object, create.dry_run);
    if (!made) {
      std::string other;
      if (!create.one_at_a_time.empty()) other = co_await find_unfinished(create);
      if (!other.empty())
        co_return fail(machine_conflict(
            asked_, fmt::format("{} \"{}\" is still in progress; wait until it completes, or delete it ({})",
                                create.resource.plural, other, made.error().message)));
      co_return fail(Status::internal_error(
          fmt::format("{} could not be created: {}", create.resource.plural, made.error().message)));
    }
    note(create.dry_run ? "would be created" : "was created", create.resource, *made);
    if (create.dry_run) tell_would("create", create.resource, {}, json::Value(create.object, asked_.storage));
    co_return false;
  }

  // The name of an object of that kind that has not come to its end; empty for none.
  Task<std::string> find_unfinished(const CreateObject& create) {
    const std::string selector = fmt::format("{}={}", create.one_at_a_time, asked_.name);
    const auto found =
        co_await parts_.objects.list(call_.core(), create.resource, asked_.ns, {.labels = selector}, asked_.storage);
    if (!found) co_return std::string();
    for (const json::Value& object : *found) {
      if (is_final(json::as_string(json::find_path(object, {"status", "phase"})).value_or(""))) continue;
      co_return std::string(json::as_string(json::find_path(object, {"metadata", "name"})).value_or(""));
    }
    co_return std::string();
  }

  Task<Result<bool>> ask(CallNode& node) {
    auto answered = co_await ask_node(node);
    if (!answered) {
      prefix(answered.error(), node.explain);
      co_return fail(std::move(answered.error()));
    }
    if (!*answered || node.answer == CallNode::Answer::none) co_return false;
    co_return pass_on(node, std::move(**answered));
  }

  Task<Result<bool>> ask_all(const AskComponents& asked) {
    auto document = co_await ask_components(asked, parts_.components, call_);
    if (!document) co_return fail(std::move(document.error()));
    if (!asked.collect) co_return false;
    http::Response response = answer(asked_.action.success);
    response.content_type = json_media_type;
    response.body = std::move(*document);
    call_.respond(std::move(response));
    co_return true;
  }

  // Nothing for a dry run.
  Task<Result<std::optional<NodeAnswer>>> ask_node(const CallNode& node) {
    const auto address = co_await parts_.nodes.find(call_.core(), asked_.vmi().status().node_name());
    if (!address) co_return fail(address.error());
    if (node.dry_run) {
      call_.note_touched({.what = "would call the node", .object = node_target(asked_, node.suffix)});
      if (wants_plan_)
        would_.push_back(
            json::Value({{"call", node.method}, {"path", node_target(asked_, node.suffix)}}, asked_.storage));
      co_return std::nullopt;
    }
    std::string_view body;
    if (node.forward_body) {
      const auto read = co_await call_.read_body(limits::object_body_bytes_max);
      if (!read) co_return fail(read.error());
      body = *read;
    }
    const std::string target = node_target(asked_, node.suffix);
    tracing::Span span = server::span_of(call_).child("call node", tracing::SpanKind::client);
    span.set("k8s.node.name", asked_.vmi().status().node_name());
    span.set("virtgate.action", node.suffix);
    const tracing::HandOver handed(span.context());
    auto answer = co_await parts_.nodes.call(call_.core(), *address,
                                             {.method = node.method,
                                              .target = target,
                                              .body = body,
                                              .accept_json = node.answer == CallNode::Answer::document,
                                              .timeout = limits::node_answer_deadline});
    span.set("http.response.status_code", answer ? answer->status : 0);
    if (!answer) co_return fail(Status::internal_error(std::move(answer.error().message)));
    if (answer->status < 200 || answer->status > 299)
      co_return fail(Status::internal_error(print_node_refusal(*answer)));
    call_.note_touched({.what = "called the node", .object = target});
    co_return std::optional(std::move(*answer));
  }

  Result<bool> pass_on(const CallNode& node, NodeAnswer answered) {
    if (node.answer == CallNode::Answer::bytes) {
      http::Response response = answer(asked_.action.success);
      response.content_type = sniffed_type(answered.body);
      response.body = std::move(answered.body);
      call_.respond(std::move(response));
      return true;
    }
    auto document = json::parse(answered.body, asked_.storage, {.bytes_max = limits::node_answer_bytes_max});
    if (!document)
      return fail(
          Status::internal_error(fmt::format("the answer of the node is not JSON: {}", document.error().message)));
    return respond(asked_.action.success, *document);
  }

  void tell_would(std::string_view verb, ResourceName resource, std::string_view part, json::Value value) {
    if (!wants_plan_) return;
    json::Object row(asked_.storage);
    row["object"] = print_object(resource, asked_.name);
    if (!part.empty()) row["subresource"] = part;
    row[verb] = std::move(value);
    would_.push_back(json::Value(std::move(row)));
  }

  // A Status with what a dry run would do, for whoever asked for that form.
  json::Value plan(int code) const {
    return json::Value({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", json::Object(asked_.storage)},
                        {"status", "Success"},
                        {"details",
                         {{"name", asked_.name},
                          {"group", kubevirt_group},
                          {"kind", asked_.action.resource},
                          {"virtgate.io", {{"would", would_}}}}},
                        {"code", code}},
                       asked_.storage);
  }

  bool respond(int code, const json::Value& document, std::string text = {}) {
    if (!would_.empty() && document.is_null() && text.empty()) return respond(code, plan(code));
    http::Response response = answer(code);
    if (!text.empty()) response.content_type = text_type;
    response.body = std::move(text);
    if (!touched_.empty()) response.headers.emplace_back(object_header, touched_);
    if (!document.is_null()) {
      response.content_type = json_media_type;
      json::write(document, response.body,
                  {.escape_html = true, .sort_keys = asked_.action.failures == Failures::text});
    }
    call_.respond(std::move(response));
    return true;
  }

  void note(std::string_view what, ResourceName resource, const WrittenObject& written) {
    std::string object = print_object(resource, written.name.empty() ? asked_.name : written.name);
    call_.note_touched({.what = std::string(what), .object = object, .uid = written.uid, .version = written.version});
    if (call_.may_log())
      log::info(fmt::format("an object {} by an action", what), {{"requestId", call_.request().id},
                                                                 {"username", call_.identity().user},
                                                                 {"action", asked_.action.name},
                                                                 {"object", object}});
    touched_ = std::move(object);
  }

  const ActionCase& asked_;
  const Parts& parts_;
  server::Call& call_;
  const bool wants_plan_;
  json::Array would_;  // what a dry run would do
  std::vector<const PatchObject*> undoable_;
  std::string touched_;  // the last object that was made or changed
};

}  // namespace

std::string print_node_refusal(const NodeAnswer& answer) {
  return fmt::format("the node answered {0} ({0} {1}): {2}", answer.status, answer.phrase, answer.body);
}

void refuse(server::Call& call, const Action& action, const Status& status) {
  if (action.failures == Failures::status) return call.refuse(status);
  call.note_refusal(status);
  http::Response response = answer(action.failures == Failures::coded_text ? status.code : 500);
  // What is inside of a failure is what the client asked about; the words around it are for those who see a Status.
  response.body = status.reason == "InternalError" && !status.details.causes.empty()
                      ? status.details.causes.front().message
                      : status.message;
  response.content_type = response.body.empty() ? std::string_view() : text_type;
  call.respond(std::move(response));
}

Task<std::optional<OpenStream>> execute(Effects effects, const ActionCase& asked, const Parts& parts,
                                        server::Call& call) {
  Executor executor(asked, parts, call);
  for (Effect& effect : effects) {
    if (auto* stream = std::get_if<OpenStream>(&effect)) co_return std::move(*stream);
    auto answered = co_await executor.carry_out(effect);
    if (!answered) {
      co_await executor.undo();
      refuse(call, asked.action, answered.error());
      co_return std::nullopt;
    }
    if (*answered) co_return std::nullopt;
  }
  executor.finish();
  co_return std::nullopt;
}

}  // namespace vg::actions
