// Which version of its source a cron should have (spec storage DIC-01).
#include <fmt/format.h>

#include <algorithm>

#include "base/cron_schedule.h"
#include "base/disk_limits.h"
#include "base/time_rfc3339.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/import_cron.h"
#include "controllers/storage/import_work.h"
#include "json/access.h"

namespace vg::controllers::storage {
namespace {

std::optional<Time> time_of(std::string_view text) {
  const auto parsed = parse_rfc3339(text);
  return parsed ? std::optional(parsed->on_clock()) : std::nullopt;
}

// When the source is to be looked at; nothing: never again.
std::optional<Time> due_time(const CronWork& work) {
  const auto last = time_of(annotation_of(work.cron, mark::last_cron_time));
  if (!last) return time_of(metadata_text(work.cron, "creationTimestamp"));
  const auto schedule = CronSchedule::parse(work.option("schedule"));
  return schedule ? schedule->next_after(*last) : std::nullopt;
}

void note_digest(CronWork& work, std::string_view digest) {
  const std::string now = time_text(work.turn.now);
  work.annotate(mark::wanted_digest, digest);
  work.annotate(mark::last_cron_time, now);
  work.status()["lastExecutionTimestamp"] = now;
  const auto schedule = CronSchedule::parse(work.option("schedule"));
  const auto next = schedule ? schedule->next_after(work.turn.now) : std::nullopt;
  if (!next) return;
  work.annotate(mark::next_cron_time, time_text(*next));
  work.pass.look_again(std::chrono::ceil<std::chrono::milliseconds>(*next - work.turn.now));
}

bool is_digest(std::string_view text) {
  constexpr std::string_view head = "sha256:";
  return text.starts_with(head) && text.size() == head.size() + 64 &&
         std::ranges::all_of(text.substr(head.size()),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string ask_registry(CronWork& work, const json::Object& registry, Time due) {
  const std::string uid(metadata_text(work.cron, "uid"));
  const std::string id = fmt::format("digest-{}-{}", uid, due.time_since_epoch() / std::chrono::seconds(1));
  const auto status = work.turn.world.disks().job(id);
  if (status && status->state == DiskJobState::succeeded) {
    const std::string digest = status->labels.empty() ? std::string() : status->labels.front().second;
    if (!is_digest(digest)) return "the registry told no digest of the image";
    note_digest(work, digest);
    return {};
  }
  auto what = digest_work(work.turn.world, work.turn.key.ns, registry);
  if (!what) {
    work.pass.look_again(limits::import_cron_retry);
    return what.error();
  }
  ask(work.pass, work.turn,
      {.identity = Identity::asker_of(work.cron),
       .job = {.id = id, .claim = {.ns = work.turn.key.ns, .name = {}}, .claim_uid = uid, .work = std::move(*what)}});
  return status ? status->message : std::string();  // of the last attempt, also while the next one runs
}

std::string ask_claim(CronWork& work, const json::Object& pvc) {
  const std::string_view ns = json::get_string_or(pvc, "namespace", work.turn.key.ns);
  const std::string_view name = json::get_string_or(pvc, "name");
  const json::Object* claim = work.turn.world.get(kinds::claim, ns, name);
  const json::Object* dv = work.turn.world.get(kinds::data_volume, ns, name);
  if (claim && (!dv || phase_of(*dv) == "Succeeded")) {
    note_digest(work, fmt::format("uid:{}", metadata_text(*claim, "uid")));
    return {};
  }
  work.pass.look_again(limits::import_cron_retry);
  return fmt::format("the source PVC {}/{} does not exist, or is not populated yet", ns, name);
}

}  // namespace

std::string follow_source(CronWork& work) {
  const auto due = due_time(work);
  if (!due) return {};
  if (*due > work.turn.now) {
    work.pass.look_again(std::chrono::ceil<std::chrono::milliseconds>(*due - work.turn.now));
    return {};
  }
  if (const json::Object* registry = work.source("registry")) return ask_registry(work, *registry, *due);
  if (const json::Object* pvc = work.source("pvc")) return ask_claim(work, *pvc);
  return "the template has no source that can be followed";
}

std::string pinned(std::string_view url, std::string_view digest) {
  const std::size_t slash = url.rfind('/');
  const std::size_t end = url.find_first_of(":@", slash == std::string_view::npos ? 0 : slash);
  return fmt::format("{}@{}", url.substr(0, end), digest);
}

std::string import_name(std::string_view data_source, std::string_view digest) {
  constexpr std::size_t characters = 12;
  return fmt::format("{}-{}", data_source, digest.substr(digest.find(':') + 1, characters));
}

}  // namespace vg::controllers::storage
