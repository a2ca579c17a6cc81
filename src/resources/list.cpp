#include <fmt/format.h>

#include "resources/output.h"
#include "resources/read.h"
#include "resources/selection.h"

namespace vg::resources {
namespace {

// Where a list begins and which state it shows, from what was asked (pure but for the store's newest revision).
struct Plan {
  Revision at_revision = 0;  // 0: now
  std::string after_ns, after_name;
};

Result<Plan> plan_list(const ObjectStore& store, const ListOptions& options) {
  Plan plan;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0")
      return fail(Status::bad_request("a continued list already has its resource version; leave out resourceVersion"));
    auto token = read_continue_token(options.continue_token);
    if (!token) return fail(std::move(token.error()));
    plan = {.at_revision = token->revision, .after_ns = std::move(token->ns), .after_name = std::move(token->name)};
    return plan;
  }
  if (options.revision == 0) return plan;  // unset or "0": the newest is as good as any
  // A page of a stated version has always been that version exactly, since the pages that follow continue it.
  const bool exact =
      options.match == VersionMatch::exact || (options.match == VersionMatch::unset && options.limit != 0);
  if (const Revision newest = store.revision(); options.revision > newest)
    return fail(version_too_large(options.revision, newest));
  if (exact) plan.at_revision = options.revision;
  return plan;
}

}  // namespace

Status version_too_large(Revision asked, Revision newest) {
  Status status = Status::timeout(
      fmt::format("resource version {} is not there yet: the newest is {}; try again, or ask without a version", asked,
                  newest),
      1);
  status.details.causes.push_back(
      {.reason = "ResourceVersionTooLarge", .message = "the version lies in the future", .field = ""});
  return status;
}

std::expected<Listed, ListRefusal> list_objects(const ObjectStore& store, const Resource& resource, std::string_view ns,
                                                const ListOptions& options) {
  auto selection = Selection::make(resource, options.labels, options.fields);
  if (!selection) return std::unexpected(ListRefusal{std::move(selection.error()), {}});
  const auto plan = plan_list(store, options);
  if (!plan) return std::unexpected(ListRefusal{plan.error(), {}});

  ListQuery query{.resource = resource.key,
                  .ns = ns,
                  .at_revision = plan->at_revision,
                  .after_ns = plan->after_ns,
                  .after_name = plan->after_name,
                  .limit = options.limit};
  if (!selection->everything()) query.matches = [&](const StoredObject& object) { return selection->matches(object); };
  auto page = store.list(query);
  if (!page) {
    ListRefusal refusal{std::move(page.error()), {}};
    // The rest of the list can still be had, only not as it was when the list began.
    if (refusal.status.code == 410 && !options.continue_token.empty())
      refusal.continue_token = write_continue_token({.revision = 0, .ns = plan->after_ns, .name = plan->after_name});
    return std::unexpected(std::move(refusal));
  }
  Listed listed{.objects = std::move(page->objects), .revision = page->revision};
  // There is but one object of a name, so no page follows the one that has it.
  const bool single = selection->exact_name() && (!ns.empty() || !resource.kind->namespaced);
  if (page->remaining > 0 && !listed.objects.empty() && !single) {
    const ObjectPtr last = listed.objects.back();
    listed.continue_token = write_continue_token(
        {.revision = page->revision, .ns = std::string(last->ns()), .name = std::string(last->name())});
    // With a selector nobody knows how many of the rest match.
    if (selection->everything()) listed.remaining = page->remaining;
  }
  return listed;
}

namespace {

void refuse_list(Context& context, const ListRefusal& refusal) {
  if (refusal.continue_token.empty()) {
    respond_status(context, refusal.status);
    return;
  }
  std::string body = to_json(refusal.status);
  constexpr std::string_view empty_meta = R"("metadata":{})";
  if (const auto at = body.find(empty_meta); at != std::string::npos)
    body.replace(at, empty_meta.size(), fmt::format(R"("metadata":{{"continue":"{}"}})", refusal.continue_token));
  respond_text(context, refusal.status.code, status_body(context, std::move(body)));
}

}  // namespace

void serve_list(Context& context) {
  auto options = read_list_options(context.query, false);
  if (!options) return respond_status(context, options.error());
  auto listed = list_objects(context.backend.store, context.resource, context.key_ns(), *options);
  if (!listed) return refuse_list(context, listed.error());
  std::string body;
  append_list(body, context, listed->objects,
              {.revision = listed->revision,
               .continue_token = std::move(listed->continue_token),
               .remaining = listed->remaining});
  respond_text(context, 200, std::move(body));
}

void serve_get(Context& context) {
  // A single object is always the newest; only a version from the future cannot be given.
  if (const auto* text = context.query.find("resourceVersion"); text && !text->empty()) {
    auto options = read_list_options(context.query, false);
    if (!options) return respond_status(context, options.error());
    if (const Revision newest = context.backend.store.revision(); options->revision > newest)
      return respond_status(context, version_too_large(options->revision, newest));
  }
  const ObjectPtr object = context.find(context.info.name);
  if (!object) return respond_status(context, context.not_found(context.info.name));
  respond_object(context, 200, object);
}

}  // namespace vg::resources
