#include "disks/messages.h"

#include <array>
#include <optional>

#include "base/helper_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::disks {
namespace {

std::string text_in(const json::Value& from, std::string_view name) {
  return std::string(json::get_string_or(from, name));
}

json::Array texts(const std::vector<std::string>& from) {
  json::Array all;
  for (const std::string& text : from) all.emplace_back(text);
  return all;
}

// --- work: one pair of functions a kind, and its name ----------------------------------------------------------------

void put_target(json::Object& to, const ImageTarget& target) {
  to["size"] = target.size;
  to["archive"] = target.archive;
  to["preallocate"] = target.preallocate;
}
ImageTarget read_target(const json::Value& from) {
  return {.size = json::get_int_or(from, "size", 0),
          .archive = json::get_bool_or(from, "archive", false),
          .preallocate = json::get_bool_or(from, "preallocate", false)};
}

void put_target(json::Object& to, const CreateClaim& work) { to["capacity"] = work.capacity; }
void put_target(json::Object& to, const ResizeClaim& work) { to["capacity"] = work.capacity; }
void put_target(json::Object& to, const RemoveClaim& work) { to["retainAs"] = work.retain_as; }
void put_target(json::Object& to, const MakeBlankImage& work) {
  to["size"] = work.size;
  to["preallocate"] = work.preallocate;
}
void put_target(json::Object& to, const CopyClaim& work) {
  to["fromNamespace"] = work.from.ns;
  to["fromClaim"] = work.from.name;
  to["size"] = work.size;
}
void put_target(json::Object& to, const CopyFromRecord& work) {
  to["record"] = work.record;
  to["size"] = work.size;
  to["adopt"] = work.adopt;
}
void put_target(json::Object& to, const ImportHttp& work) {
  put_target(to, work.target);
  to["url"] = work.url;
  to["checksum"] = work.checksum;
  to["user"] = work.user;
  to["password"] = work.password;
  to["headers"] = texts(work.headers);
  to["authorities"] = work.authorities;
  to["insecure"] = work.insecure;
  to["blocked"] = work.blocked;
}
void put_target(json::Object& to, const ImportRegistry& work) {
  put_target(to, work.target);
  to["url"] = work.url;
  to["user"] = work.user;
  to["password"] = work.password;
  to["authorities"] = work.authorities;
  to["architecture"] = work.architecture;
  to["insecure"] = work.insecure;
  to["blocked"] = work.blocked;
}
void put_target(json::Object& to, const ConvertUpload& work) { put_target(to, work.target); }
void put_target(json::Object& to, const TakeRecord& work) { to["record"] = work.record; }
void put_target(json::Object& to, const RemoveRecord& work) { to["record"] = work.record; }
void put_target(json::Object& to, const ReadDigest& work) { put_target(to, work.from); }
void put_target(json::Object& to, const StageRecord& work) {
  to["record"] = work.record;
  to["as"] = work.as;
}

DiskWork read_create(const json::Value& from) { return CreateClaim{.capacity = json::get_int_or(from, "capacity", 0)}; }
DiskWork read_resize(const json::Value& from) { return ResizeClaim{.capacity = json::get_int_or(from, "capacity", 0)}; }
DiskWork read_remove(const json::Value& from) { return RemoveClaim{.retain_as = text_in(from, "retainAs")}; }
DiskWork read_blank(const json::Value& from) {
  return MakeBlankImage{.size = json::get_int_or(from, "size", 0),
                        .preallocate = json::get_bool_or(from, "preallocate", false)};
}
DiskWork read_copy(const json::Value& from) {
  return CopyClaim{.from = {.ns = text_in(from, "fromNamespace"), .name = text_in(from, "fromClaim")},
                   .size = json::get_int_or(from, "size", 0)};
}
DiskWork read_copy_record(const json::Value& from) {
  return CopyFromRecord{.record = text_in(from, "record"),
                        .size = json::get_int_or(from, "size", 0),
                        .adopt = json::get_bool_or(from, "adopt", false)};
}
DiskWork read_http(const json::Value& from) {
  ImportHttp work{.target = read_target(from),
                  .url = text_in(from, "url"),
                  .checksum = text_in(from, "checksum"),
                  .user = text_in(from, "user"),
                  .password = text_in(from, "password"),
                  .authorities = text_in(from, "authorities"),
                  .insecure = json::get_bool_or(from, "insecure", false),
                  .blocked = text_in(from, "blocked")};
  if (const json::Array* headers = json::get_array(from, "headers"))
    for (const json::Value& header : *headers) work.headers.emplace_back(json::as_string(&header).value_or(""));
  return work;
}
DiskWork read_registry(const json::Value& from) {
  return ImportRegistry{.target = read_target(from),
                        .url = text_in(from, "url"),
                        .user = text_in(from, "user"),
                        .password = text_in(from, "password"),
                        .authorities = text_in(from, "authorities"),
                        .architecture = text_in(from, "architecture"),
                        .insecure = json::get_bool_or(from, "insecure", false),
                        .blocked = text_in(from, "blocked")};
}
DiskWork read_upload(const json::Value& from) { return ConvertUpload{.target = read_target(from)}; }
DiskWork read_take(const json::Value& from) { return TakeRecord{.record = text_in(from, "record")}; }
DiskWork read_remove_record(const json::Value& from) { return RemoveRecord{.record = text_in(from, "record")}; }

DiskWork read_digest_wish(const json::Value& from) {
  return ReadDigest{.from = std::get<ImportRegistry>(read_registry(from))};
}

DiskWork read_stage(const json::Value& from) {
  return StageRecord{.record = text_in(from, "record"), .as = text_in(from, "as")};
}

struct Kind {
  std::string_view name;
  DiskWork (*read)(const json::Value&);
};
// In the order of DiskWork.
constexpr std::array<Kind, std::variant_size_v<DiskWork>> kinds{{{"create", read_create},
                                                                 {"resize", read_resize},
                                                                 {"remove", read_remove},
                                                                 {"blank", read_blank},
                                                                 {"copy", read_copy},
                                                                 {"copyRecord", read_copy_record},
                                                                 {"http", read_http},
                                                                 {"registry", read_registry},
                                                                 {"upload", read_upload},
                                                                 {"takeRecord", read_take},
                                                                 {"removeRecord", read_remove_record},
                                                                 {"digest", read_digest_wish},
                                                                 {"stageRecord", read_stage}}};

std::optional<DiskJob> read_job(const json::Value& from) {
  const std::string_view kind = json::get_string_or(from, "work");
  for (const Kind& one : kinds)
    if (one.name == kind)
      return DiskJob{.id = text_in(from, "id"),
                     .claim = {.ns = text_in(from, "namespace"), .name = text_in(from, "claim")},
                     .claim_uid = text_in(from, "uid"),
                     .work = one.read(from)};
  return std::nullopt;
}

// --- messages --------------------------------------------------------------------------------------------------------

void put_target(json::Object& to, const Start& message) {
  to["say"] = "start";
  to["id"] = message.job.id;
  to["namespace"] = message.job.claim.ns;
  to["claim"] = message.job.claim.name;
  to["uid"] = message.job.claim_uid;
  to["work"] = kinds[message.job.work.index()].name;
  std::visit([&](const auto& work) { put_target(to, work); }, message.job.work);
}
void put_target(json::Object& to, const Cancel& message) {
  to["say"] = "cancel";
  to["id"] = message.id;
}
void put_target(json::Object& to, const Welcome&) { to["say"] = "welcome"; }
void put_target(json::Object& to, const Hello&) { to["say"] = "hello"; }
void put_target(json::Object& to, const Ready&) { to["say"] = "ready"; }
void put_target(json::Object& to, const ClaimIs& message) {
  to["say"] = "claim";
  to["namespace"] = message.name.ns;
  to["claim"] = message.name.name;
  if (!message.claim) return;
  to["is"] = json::Object{{"uid", message.claim->uid},
                          {"capacity", message.claim->capacity},
                          {"imageSize", message.claim->image_size},
                          {"filledBy", message.claim->filled_by},
                          {"holds", message.claim->holds}};
}
void put_target(json::Object& to, const RecordIs& message) {
  to["say"] = "record";
  to["record"] = message.name;
  if (!message.record) return;
  const auto made =
      std::chrono::duration_cast<std::chrono::milliseconds>(message.record->created_at.time_since_epoch());
  to["is"] = json::Object{{"virtualSize", message.record->virtual_size},
                          {"createdMs", made.count()},
                          {"ready", message.record->ready},
                          {"error", message.record->error}};
}
void put_target(json::Object& to, const JobProgress& message) {
  to["say"] = "progress";
  to["id"] = message.id;
  to["progress"] = message.progress;
}
void put_target(json::Object& to, const JobEnded& message) {
  to["say"] = "ended";
  to["id"] = message.id;
  json::Array labels;
  for (const auto& [name, value] : message.labels) labels.push_back(json::Array{json::Value(name), json::Value(value)});
  to["labels"] = std::move(labels);
  if (!message.failure) return;
  to["error"] = static_cast<std::int64_t>(message.failure->error);
  to["message"] = message.failure->message;
}

Message read_claim(const json::Value& from) {
  ClaimIs message{.name = {.ns = text_in(from, "namespace"), .name = text_in(from, "claim")}, .claim = {}};
  if (const json::Value* is = json::find(from, "is"))
    message.claim = DiskClaim{.uid = text_in(*is, "uid"),
                              .capacity = json::get_int_or(*is, "capacity", 0),
                              .image_size = json::get_int_or(*is, "imageSize", 0),
                              .filled_by = text_in(*is, "filledBy"),
                              .holds = text_in(*is, "holds")};
  return message;
}
Message read_record(const json::Value& from) {
  RecordIs message{.name = text_in(from, "record"), .record = {}};
  if (const json::Value* is = json::find(from, "is"))
    message.record = ImageRecord{.virtual_size = json::get_int_or(*is, "virtualSize", 0),
                                 .created_at = std::chrono::system_clock::time_point(
                                     std::chrono::milliseconds(json::get_int_or(*is, "createdMs", 0))),
                                 .ready = json::get_bool_or(*is, "ready", false),
                                 .error = text_in(*is, "error")};
  return message;
}
Message read_ended(const json::Value& from) {
  JobEnded message{.id = text_in(from, "id")};
  if (const json::Array* labels = json::get_array(from, "labels"))
    for (const json::Value& label : *labels)
      if (const json::Array* pair = label.if_array(); pair && pair->size() == 2)
        message.labels.emplace_back(json::as_string(&pair->at(0)).value_or(""),
                                    json::as_string(&pair->at(1)).value_or(""));
  if (const auto error = json::get_int(from, "error"))
    message.failure = Failure{.error = static_cast<DiskError>(*error), .message = text_in(from, "message")};
  return message;
}

}  // namespace

std::string_view subject_of(const Message& message) {
  if (const auto* start = std::get_if<Start>(&message)) return start->job.id;
  if (const auto* cancel = std::get_if<Cancel>(&message)) return cancel->id;
  if (const auto* progress = std::get_if<JobProgress>(&message)) return progress->id;
  if (const auto* ended = std::get_if<JobEnded>(&message)) return ended->id;
  return {};
}

std::string write_message(const Message& message) {
  json::Object members;
  std::visit([&](const auto& one) { put_target(members, one); }, message);
  std::string text;
  json::write(members, text);
  return text;
}

std::optional<Message> read_message(std::string_view text) {
  const auto document = json::Document::parse(text, {.bytes_max = limits::helper_message_bytes_max});
  if (!document) return std::nullopt;
  const json::Value& root = document->root();
  const std::string_view say = json::get_string_or(root, "say");
  if (say == "start") {
    auto job = read_job(root);
    return job ? std::optional<Message>(Start{.job = std::move(*job)}) : std::nullopt;
  }
  if (say == "cancel") return Cancel{.id = text_in(root, "id")};
  if (say == "welcome") return Welcome{};
  if (say == "hello") return Hello{};
  if (say == "ready") return Ready{};
  if (say == "claim") return read_claim(root);
  if (say == "record") return read_record(root);
  if (say == "progress")
    return JobProgress{.id = text_in(root, "id"), .progress = static_cast<int>(json::get_int_or(root, "progress", -1))};
  if (say == "ended") return read_ended(root);
  return std::nullopt;
}

}  // namespace vg::disks
