#include "uploads/service.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include "base/disk_limits.h"
#include "base/off_loop.h"
#include "base/random.h"
#include "controllers/controller.h"
#include "controllers/storage/names.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "uploads/decide.h"
#include "uploads/file.h"
#include "uploads/form.h"
#include "uploads/tokens.h"

namespace vg::uploads {
namespace {

using server::Call;

constexpr std::string_view namespaces_prefix = "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/";
constexpr std::chrono::seconds ready_interval{1};
constexpr std::chrono::milliseconds job_interval{100};

// 0: it says none.
std::int64_t said_length(const Call& call) {
  const std::string_view text = call.request().headers.find("Content-Length").value_or("");
  std::int64_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  return read.ec == std::errc::result_out_of_range ? std::numeric_limits<std::int64_t>::max() : length;
}

std::string new_key() {
  std::string key;
  for (int i = 0; i < 4; ++i) key += fmt::format("{:016x}", random_u64());
  return key;
}

// On a thread that may wait for a disk; again where too many wait for one already.
template <class Fn>
Task<Result<void>> patiently(Call& call, Fn work) {
  while (true) {
    auto done = co_await on_files(call.core(), work);
    if (done || done.error().code != 429 || call.cancelled()) co_return done;
    co_await call.core().sleep(limits::export_worker_wait);
  }
}

struct Endpoint {
  std::string_view path;
  bool async, form;
};
constexpr std::array endpoints = std::to_array<Endpoint>({{"upload", false, false},
                                                          {"upload-async", true, false},
                                                          {"upload-form", false, true},
                                                          {"upload-form-async", true, true}});

}  // namespace

class UploadService::Work {
 public:
  explicit Work(Parts parts) : parts_(std::move(parts)), tokens_(new_key()) {}

  Task<void> request_token(Call& call);
  Task<void> upload(Call& call, const Endpoint& endpoint);

 private:
  // One at a time for each claim, from the first byte on.
  class Lease {
   public:
    Lease(Work& work, DiskClaimName name) : work_(work), name_(std::move(name)) {
      const std::lock_guard lock(work_.mutex_);
      taken_ = work_.busy_.insert(name_).second;
    }
    ~Lease() {
      const std::lock_guard lock(work_.mutex_);
      if (taken_) work_.busy_.erase(name_);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    bool taken() const { return taken_; }

   private:
    Work& work_;
    DiskClaimName name_;
    bool taken_ = false;
  };

  Result<UploadLook> look_for(const UploadRight& right) const;
  Task<Result<UploadLook>> await_ready(Call& call, const UploadRight& right);
  Task<Result<void>> receive(Call& call, const UploadTarget& target, bool form);
  Task<void> forget(Call& call, const UploadTarget& target);
  Task<Result<void>> convert(Call& call, const UploadTarget& target, bool async);
  Task<Result<void>> carry_out(Call& call, const Endpoint& endpoint);

  Parts parts_;
  UploadTokens tokens_;
  std::mutex mutex_;
  std::set<DiskClaimName> busy_;
};

// --- tokens ----------------------------------------------------------------------------------------------------------

Task<void> UploadService::Work::request_token(Call& call) {
  const auto ns = token_namespace(call.request().method, call.rest());
  if (!ns) co_return call.refuse(ns.error());
  const User user{.name = call.identity().user, .uid = {}, .groups = call.identity().groups, .extra = {}};
  const auto decision = co_await parts_.authorizer.authorize(call.core(), user, token_access(*ns));
  if (!decision) co_return call.refuse(decision.error());
  if (const auto allowed = judge_access(*decision, user.name, *ns); !allowed) co_return call.refuse(allowed.error());
  const auto body = co_await call.read_body(limits::upload_request_bytes_max);
  if (!body) co_return call.refuse(body.error());
  const auto answer = token_answer(*body, *ns, tokens_, parts_.clock.wall_now());
  if (!answer) co_return call.refuse(answer.error());
  call.respond(
      {.status = 200, .content_type = "application/json", .headers = {}, .body = json::to_text(answer->root())});
}

// --- uploads ---------------------------------------------------------------------------------------------------------

Result<UploadLook> UploadService::Work::look_for(const UploadRight& right) const {
  json::Document memory;
  json::Value claim(memory.storage()), config(memory.storage());
  const auto load = [&](std::string_view key, std::string_view ns, std::string_view name, json::Value& into) {
    const ObjectPtr stored = parts_.store.get(key, ns, name);
    if (stored) into = resources::load_object(*stored, memory.storage());
    return into.if_object();
  };
  const json::Object* found = load(controllers::kinds::claim, right.ns, right.claim, claim);
  return look_at(right, found, parts_.disks.claim(right.ns, right.claim),
                 load(controllers::storage::cdi_configs, "", controllers::storage::cdi_config_name, config));
}

Task<Result<UploadLook>> UploadService::Work::await_ready(Call& call, const UploadRight& right) {
  for (auto waited = std::chrono::seconds(0); !call.cancelled(); waited += ready_interval) {
    auto look = look_for(right);
    if (!look) co_return look;
    const auto wait = must_wait(*look, waited);
    if (!wait) co_return fail(wait.error());
    if (!*wait) co_return look;
    co_await call.core().sleep(ready_interval);
  }
  co_return refuse(503, "the client went away");
}

// The bytes go where the worker will find them. Nothing here waits for a disk on the event loop.
Task<Result<void>> UploadService::Work::receive(Call& call, const UploadTarget& target, bool form) {
  UploadFile file(parts_.folder, target);
  if (auto opened = co_await patiently(call, [&] { return file.open(said_length(call)); }); !opened) co_return opened;
  std::string piece;
  const FormReader::Sink collect = [&](std::string_view bytes) -> Result<void> {
    piece += bytes;
    return {};
  };
  std::optional<FormReader> reader;
  if (form) {
    const auto boundary = boundary_of(call.request().headers.find("Content-Type").value_or(""));
    if (!boundary) co_return refuse(400, "the body must be a multipart form");
    reader.emplace(*boundary, collect);
  }
  const auto store = [&]() -> Task<Result<void>> {
    auto stored = co_await patiently(call, [&] { return file.write(piece); });
    piece.clear();
    co_return stored;
  };
  auto received = co_await call.stream_body([&](std::string_view bytes) -> Task<Result<void>> {
    if (auto taken = reader ? reader->put(bytes) : collect(bytes); !taken) co_return taken;
    if (piece.size() < limits::upload_piece_bytes) co_return Result<void>();
    co_return co_await store();
  });
  if (received && reader) received = reader->finish();
  if (received && !piece.empty()) received = co_await store();
  if (received) received = co_await patiently(call, [&] { return file.accept(); });
  if (!received) co_await forget(call, target);
  co_return received;
}

// What came is of no use.
Task<void> UploadService::Work::forget(Call& call, const UploadTarget& target) {
  (void)co_await patiently(call, [&]() -> Result<void> {
    UploadFile(parts_.folder, target).remove();
    return {};
  });
}

Task<Result<void>> UploadService::Work::convert(Call& call, const UploadTarget& target, bool async) {
  parts_.disks.start({.id = target.job(),
                      .claim = target.name,
                      .claim_uid = target.uid,
                      .work = ConvertUpload{.target = target.image}});
  while (!async && !call.cancelled()) {
    const auto over = is_converted(parts_.disks.job(target.job()));
    if (!over) co_return fail(over.error());
    if (*over) break;
    co_await call.core().sleep(job_interval);
  }
  co_return Result<void>();
}

Task<Result<void>> UploadService::Work::carry_out(Call& call, const Endpoint& endpoint) {
  const auto right =
      right_of(call.request().headers.find("Authorization").value_or(""), tokens_, parts_.clock.wall_now());
  if (!right) co_return fail(right.error());
  call.leave_seat();  // what follows is waiting: for the claim, for bytes, for the conversion
  const auto look = co_await await_ready(call, *right);
  if (!look) co_return fail(look.error());
  const UploadTarget& target = look->target;
  const auto course = course_of(call.request().method, endpoint.async, target.image.archive);
  if (!course) co_return fail(course.error());
  if (*course == Course::possible) co_return Result<void>();
  const Lease lease(*this, target.name);
  if (auto allowed = may_receive(*look, !lease.taken(), parts_.disks.job(target.job())); !allowed) co_return allowed;
  if (auto received = co_await receive(call, target, endpoint.form); !received) co_return received;
  // UPL-02: bytes may have come for hours.
  const auto still = look_for(*right);
  if (!still || !still->ready || still->target.uid != target.uid) {
    co_await forget(call, target);
    co_return refuse(503, "the PVC is not ready for an upload any more: it was deleted, or a VMI uses it");
  }
  co_return co_await convert(call, target, *course == Course::receive_async);
}

Task<void> UploadService::Work::upload(Call& call, const Endpoint& endpoint) {
  if (call.request().method == "OPTIONS") co_return call.respond(text_answer(200, {}));
  const auto done = co_await carry_out(call, endpoint);
  if (done)
    call.respond(text_answer(200, {}));
  else
    call.respond(text_answer(done.error().code, done.error().message + "\n"));
}

UploadService::UploadService(Parts parts) : work_(std::make_unique<Work>(std::move(parts))) {}
UploadService::~UploadService() = default;

void UploadService::add_routes(server::Router& router) {
  using server::Access;
  router.add_prefix(Access::authenticated, server::Router::any_method, std::string(namespaces_prefix),
                    server::RouteClass::resource, [this](Call& call) { return work_->request_token(call); });
  for (const std::string_view release : {"v1alpha1", "v1beta1"})
    for (const Endpoint& endpoint : endpoints)
      router.add(Access::anyone, server::Router::any_method, fmt::format("/{}/{}", release, endpoint.path),
                 server::RouteClass::resource, [this, &endpoint](Call& call) { return work_->upload(call, endpoint); });
}

}  // namespace vg::uploads
