#include "exports/service.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <deque>
#include <map>
#include <stdexcept>
#include <utility>

#include "admission/instancetype/expand.h"
#include "auth/digest.h"
#include "base/base64.h"
#include "base/disk_limits.h"
#include "base/off_loop.h"
#include "controllers/common/conditions.h"
#include "controllers/copies/names.h"
#include "controllers/exports/links.h"
#include "controllers/vm/machine.h"
#include "disks/folder.h"
#include "exports/bytes.h"
#include "exports/manifests.h"
#include "exports/places.h"
#include "exports/request.h"
#include "json/access.h"
#include "json/document.h"
#include "objects/draft.h"
#include "server/path.h"

namespace vg::exports {
namespace {

using controllers::vm::at;
using json::Object;
using server::Call;
using std::string_view;
namespace kinds = controllers::kinds;

constexpr string_view token_name = "x-kubevirt-export-token";

bool is_get(const Call& call) { return call.request().method == "GET"; }

// As upstream: without a body.
http::Response bare(int status) { return {.status = status}; }

std::string token_of(const Call& call) {
  for (const server::QueryParameter& parameter : server::read_query(call.request().query))
    if (parameter.name == token_name) return parameter.value;
  return std::string(call.request().headers.find(token_name).value_or(""));
}

// One of the names that the export's links have.
bool has_volume(const Object& exported, string_view name) {
  const Object* link = at(&exported, {"status", "links", "external"});
  return link && controllers::vm::named(json::get_array(*link, "volumes"), name);
}

string_view ready_since(const Object* status) {
  return json::text_in(controllers::find_condition(status, "Ready"), "lastTransitionTime");
}

// A download that cannot go on: the connection ends, so that nobody takes what came for the whole.
[[noreturn]] void break_off(const std::string& why) { throw std::runtime_error("a download was broken off: " + why); }

}  // namespace

class ExportService::Work {
 public:
  explicit Work(Parts parts) : parts_(std::move(parts)) {}

  Task<void> serve(Call& call);

 private:
  // What a request is exported, opened.
  struct Export {
    json::Document memory = json::Document();
    std::deque<json::Value> objects = {};  // stay where they are
    ExportPath path;
    std::string uid, token, ready_since;
    const Object* object = nullptr;
  };
  const Object* load(Export& exported, string_view resource, string_view name) const;
  Result<void> find(Export& exported, string_view shown) const;
  Result<disks::Descriptor> open_volume(Export& exported) const;
  Result<std::string> record_of(Export& exported) const;
  // What the last look found; revision 0: there was none.
  struct Seen {
    std::string vm = {};  // whose disks they are; empty: of no VM
    Revision revision = 0, vmi = 0;
  };
  bool is_running(const Export& exported, Seen& seen) const;
  bool is_served(const Export& exported, Seen& seen) const;
  Task<void> answer(Call& call, Export& exported);
  Task<void> send(Call& call, const Export& exported, http::Response head, std::unique_ptr<ByteSource> bytes) const;
  Task<void> send_file(Call& call, const Export& exported, disks::Descriptor file) const;
  Task<void> serve_file(Call& call, Export& exported);
  Task<void> serve_gzip(Call& call, Export& exported);
  Task<void> serve_folder(Call& call, Export& exported);
  Task<void> serve_archive(Call& call, Export& exported);
  struct Files;
  static Files files_of(disks::Descriptor claim);
  Task<void> serve_manifests(Call& call, Export& exported);
  Result<json::Array> vm_manifests(Export& exported) const;

  Parts parts_;
  Places places_;
};

// --- who asks for what -----------------------------------------------------------------------------------------------

const Object* ExportService::Work::load(Export& exported, string_view resource, string_view name) const {
  const ObjectPtr stored = name.empty() ? nullptr : parts_.store.get(resource, exported.path.ns, name);
  if (!stored) return nullptr;
  return exported.objects.emplace_back(resources::load_object(*stored, exported.memory.storage())).if_object();
}

// Whoever does not know the token learns nothing of the export: not whether there is one, nor whether it is ready. 503
// for those who know it while it is not.
Result<void> ExportService::Work::find(Export& exported, string_view shown) const {
  exported.object = load(exported, kinds::vm_export, exported.path.name);
  const Object* status = at(exported.object, {"status"});
  const Object* secret = load(exported, kinds::secret, json::text_in(status, "tokenSecretRef"));
  exported.token = base64_decode(json::text_in(at(secret, {"data"}), "token")).value_or("");
  // An export that has no token yet is nobody's (EXP-87).
  if (!auth::equal_in_constant_time(exported.token, shown) || exported.token.empty())
    return fail(Status::unauthorized("the token is not that of the export"));
  if (json::text_in(status, "phase") != "Ready") return fail(Status::unavailable("the export is not ready"));
  exported.ready_since = ready_since(status);
  exported.uid = json::text_in(at(exported.object, {"metadata"}), "uid");
  return {};
}

Task<void> ExportService::Work::serve(Call& call) {
  Export exported;
  auto path = parse_export_path(call.rest());
  if (!path) co_return call.refuse(path.error());
  exported.path = std::move(*path);
  if (auto found = find(exported, token_of(call)); !found) {
    if (found.error().code != 401) co_return call.refuse(found.error());
    co_return call.respond(bare(call.failed_login(std::move(found.error())).code));
  }
  const Places::Place place(places_, exported.path.ns, exported.uid);
  if (!place) {
    http::Response busy = bare(503);
    busy.headers.emplace_back("Retry-After", "1");
    co_return call.respond(std::move(busy));
  }
  call.leave_seat();
  co_await answer(call, exported);
}

Task<void> ExportService::Work::answer(Call& call, Export& exported) {
  const bool of_volume = exported.path.form != Form::manifests && exported.path.form != Form::secret;
  if (of_volume && !has_volume(*exported.object, exported.path.volume)) co_return call.respond(bare(404));
  if (exported.path.form != Form::raw && exported.path.form != Form::folder && !is_get(call))
    co_return call.respond(bare(400));
  switch (exported.path.form) {
    case Form::raw:
      co_return co_await serve_file(call, exported);
    case Form::gzip:
      co_return co_await serve_gzip(call, exported);
    case Form::folder:
      co_return co_await serve_folder(call, exported);
    case Form::archive:
      co_return co_await serve_archive(call, exported);
    case Form::manifests:
    case Form::secret:
      co_return co_await serve_manifests(call, exported);
  }
}

// --- volumes ---------------------------------------------------------------------------------------------------------

// EXP-85: of a snapshot, the record that holds what was in the claim.
Result<std::string> ExportService::Work::record_of(Export& exported) const {
  const Object* snapshot =
      load(exported, kinds::snapshot, json::text_in(at(exported.object, {"spec", "source"}), "name"));
  const Object* content = load(exported, kinds::snapshot_content,
                               json::text_in(at(snapshot, {"status"}), "virtualMachineSnapshotContentName"));
  std::string record;
  const Object* spec = at(content, {"spec"});
  controllers::vm::each(spec ? json::get_array(*spec, "volumeBackups") : nullptr, [&](const Object& backup) {
    const Object* claim = json::get_object(backup, "persistentVolumeClaim");
    if (json::text_in(at(claim, {"metadata"}), "name") == exported.path.volume)
      record = controllers::copies::record_name(exported.path.ns, json::text_in(&backup, "volumeSnapshotName"));
  });
  if (record.empty()) return fail(Status::not_found("export.kubevirt.io", "volumes", exported.path.volume));
  return record;
}

// The folder that the volume is kept in.
Result<disks::Descriptor> ExportService::Work::open_volume(Export& exported) const {
  const auto root = disks::DiskFolder::open(parts_.folder);
  if (!root) return fail(Status::internal_error(root.error().message));
  disks::Outcome<disks::Descriptor> folder;
  if (json::text_in(at(exported.object, {"spec", "source"}), "kind") == "VirtualMachineSnapshot") {
    const auto record = record_of(exported);
    if (!record) return fail(record.error());
    folder = root->record(*record);
  } else {
    folder = root->claim({.ns = exported.path.ns, .name = exported.path.volume});
  }
  if (!folder) return fail(Status::not_found("export.kubevirt.io", "volumes", exported.path.volume));
  return std::move(*folder);
}

// A VMI that is over does not write any more.
bool ExportService::Work::is_running(const Export& exported, Seen& seen) const {
  const ObjectPtr vmi = seen.vm.empty() ? nullptr : parts_.store.get(kinds::vmi, exported.path.ns, seen.vm);
  if (!vmi || vmi->revision() == seen.vmi) return false;
  seen.vmi = vmi->revision();
  json::Document memory;
  const json::Value now = resources::load_object(*vmi, memory.storage());
  const string_view phase = json::text_in(at(now.if_object(), {"status"}), "phase");
  return phase != "Succeeded" && phase != "Failed";
}

// EXP-84. The VMI is looked for here as well, since the export says only a moment later that its VM was started.
bool ExportService::Work::is_served(const Export& exported, Seen& seen) const {
  const ObjectPtr stored = parts_.store.get(kinds::vm_export, exported.path.ns, exported.path.name);
  if (!stored || stored->uid() != exported.uid || is_running(exported, seen)) return false;
  if (stored->revision() == seen.revision) return true;
  seen.revision = stored->revision();
  json::Document memory;
  const json::Value now = resources::load_object(*stored, memory.storage());
  const Object* status = at(now.if_object(), {"status"});
  // What was paused meanwhile may have been written to, so that what came and what would follow are two disks.
  return json::text_in(status, "phase") == "Ready" && ready_since(status) == exported.ready_since;
}

// One piece at a time: read by a worker, written, and on with the next while the export is served.
Task<void> ExportService::Work::send(Call& call, const Export& exported, http::Response head,
                                     std::unique_ptr<ByteSource> bytes) const {
  if (!co_await call.begin_stream(std::move(head))) co_return;
  std::vector<char> piece(limits::export_piece_bytes);
  const Object* source = at(exported.object, {"spec", "source"});
  Seen seen{.vm = json::text_in(source, "kind") == "VirtualMachine" ? std::string(json::text_in(source, "name"))
                                                                    : std::string()};
  while (!call.cancelled()) {
    const auto got = co_await on_files(call.core(), [&] { return bytes->read(piece); });
    if (!got && got.error().code == 429) {
      co_await call.core().sleep(limits::export_worker_wait);
      continue;
    }
    if (!got) break_off(got.error().message);
    // After it was read: if nobody may write now, nobody did meanwhile.
    if (!is_served(exported, seen)) break_off("the export is not served any more");
    if (*got == 0) co_return;
    if (!co_await call.write({piece.data(), *got})) co_return;
  }
  break_off("the server stops, or the client has left");
}

Task<void> ExportService::Work::send_file(Call& call, const Export& exported, disks::Descriptor file) const {
  const auto size = size_of(file);
  if (!size) co_return call.refuse(size.error());
  const bool conditional = call.request().headers.find("If-Range").has_value();  // there is nothing to compare it with
  const RangeAnswer part = read_range(conditional ? std::nullopt : call.request().headers.find("Range"), *size);
  if (part.state == RangeState::unsatisfiable) {
    http::Response refusal = bare(416);
    refusal.headers.emplace_back("Content-Range", fmt::format("bytes */{}", *size));
    co_return call.respond(std::move(refusal));
  }
  http::Response head{.status = part.state == RangeState::part ? 206 : 200,
                      .content_type = "application/octet-stream",
                      .headers = {{"Accept-Ranges", "bytes"}, {"Content-Length", std::to_string(part.range.length)}}};
  if (part.state == RangeState::part)
    head.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", part.range.from,
                                                           part.range.from + part.range.length - 1, *size));
  co_await send(call, exported, std::move(head),
                std::make_unique<FilePart>(std::move(file), part.range.from, part.range.length));
}

Task<void> ExportService::Work::serve_file(Call& call, Export& exported) {  // EXP-70, EXP-83
  const auto folder = open_volume(exported);
  if (!folder) co_return call.refuse(folder.error());
  auto file = open_below(folder->get(), disks::image_file, false);
  if (!file) co_return call.refuse(file.error());
  co_await send_file(call, exported, std::move(*file));
}

Task<void> ExportService::Work::serve_gzip(Call& call, Export& exported) {  // EXP-71
  const auto folder = open_volume(exported);
  if (!folder) co_return call.refuse(folder.error());
  auto file = open_below(folder->get(), disks::image_file, false);
  if (!file) co_return call.refuse(file.error());
  const auto size = size_of(*file);
  if (!size) co_return call.refuse(size.error());
  co_await send(call, exported, {.content_type = "application/gzip"},
                std::make_unique<Gzip>(std::make_unique<FilePart>(std::move(*file), 0, *size)));
}

// What a claim has as files: an archive that was unpacked, the image, or nothing if nobody has written to it yet.
struct ExportService::Work::Files {
  disks::Descriptor root;
  std::vector<std::string> names;
  bool unpacked = false;
};

ExportService::Work::Files ExportService::Work::files_of(disks::Descriptor claim) {
  if (auto unpacked = open_below(claim.get(), disks::unpacked_folder, true)) {
    auto names = names_in(unpacked->get());
    return {.root = std::move(*unpacked), .names = std::move(names), .unpacked = true};
  }
  const bool has_image = open_below(claim.get(), disks::image_file, false).has_value();
  return {.root = std::move(claim),
          .names = has_image ? std::vector<std::string>{disks::image_file} : std::vector<std::string>()};
}

Task<void> ExportService::Work::serve_archive(Call& call, Export& exported) {  // EXP-73
  auto folder = open_volume(exported);
  if (!folder) co_return call.refuse(folder.error());
  auto archive = co_await on_files(call.core(), [&] {
    Files files = files_of(std::move(*folder));
    return TarArchive::open(std::move(files.root), files.names);
  });
  if (!archive) co_return call.refuse(archive.error());
  co_await send(call, exported, {.content_type = "application/gzip"}, std::make_unique<Gzip>(std::move(*archive)));
}

// EXP-72: files of the claim, and a page that names them.
Task<void> ExportService::Work::serve_folder(Call& call, Export& exported) {
  auto folder = open_volume(exported);
  if (!folder) co_return call.refuse(folder.error());
  const Files files = files_of(std::move(*folder));
  const string_view wanted = exported.path.file;
  // Beside an image stands what is nobody's business.
  if (!files.unpacked && !wanted.empty() && std::ranges::find(files.names, wanted) == files.names.end())
    co_return call.respond(bare(404));
  const auto open = files.unpacked ? open_inside : open_below;
  if (!wanted.empty() && !wanted.ends_with('/')) {
    auto file = open(files.root.get(), wanted, false);
    if (file && size_of(*file)) co_return co_await send_file(call, exported, std::move(*file));
  }
  auto shown = open(files.root.get(), wanted, true);
  if (!shown) co_return call.respond(bare(404));
  call.respond({.content_type = "text/html; charset=utf-8",
                .headers = {{"X-Content-Type-Options", "nosniff"}},
                .body = folder_page(wanted.empty() ? files.names : names_in(shown->get()), page_base(exported.path))});
}

// --- manifests -------------------------------------------------------------------------------------------------------

Result<json::Array> ExportService::Work::vm_manifests(Export& exported) const {
  const Object* source = at(exported.object, {"spec", "source"});
  const Object* vm = nullptr;
  std::map<std::string, const Object*, std::less<>> claims;
  if (json::text_in(source, "kind") == "VirtualMachineSnapshot") {  // spec copies Q-10: as the snapshot holds it
    const Object* snapshot = load(exported, kinds::snapshot, json::text_in(source, "name"));
    const Object* content = load(exported, kinds::snapshot_content,
                                 json::text_in(at(snapshot, {"status"}), "virtualMachineSnapshotContentName"));
    vm = at(content, {"spec", "source", "virtualMachine"});
    const Object* spec = at(content, {"spec"});
    controllers::vm::each(spec ? json::get_array(*spec, "volumeBackups") : nullptr, [&](const Object& backup) {
      const Object* claim = json::get_object(backup, "persistentVolumeClaim");
      if (const Object* kept = at(claim, {"spec"}))
        claims.emplace(json::text_in(at(claim, {"metadata"}), "name"), kept);
    });
  } else {
    vm = load(exported, kinds::vm, json::text_in(source, "name"));
    const Object* link = at(exported.object, {"status", "links", "external"});
    controllers::vm::each(link ? json::get_array(*link, "volumes") : nullptr, [&](const Object& volume) {
      const Object* claim = load(exported, kinds::claim, json::text_in(&volume, "name"));
      if (const Object* kept = at(claim, {"spec"})) claims.emplace(json::text_in(&volume, "name"), kept);
    });
  }
  if (!vm) return fail(Status::not_found("kubevirt.io", "virtualmachines", std::string(json::text_in(source, "name"))));
  const auto config = parts_.environment.config.current();
  const auto session = parts_.environment.lookups.open("");
  json::Value whole(*vm, exported.memory.storage());
  json::ensure_object(whole.get_object(), "metadata")["namespace"] = exported.path.ns;
  const auto expanded = admission::expand_vm(whole.get_object(), {.config = *config,
                                                                  .lookups = session->lookups(),
                                                                  .randomness = parts_.environment.randomness,
                                                                  .own_namespace = parts_.environment.own_namespace,
                                                                  .now = parts_.environment.clock.wall_now(),
                                                                  .storage = exported.memory.storage()});
  if (!expanded) return fail(expanded.error());
  const std::string base = controllers::exports::export_base(parts_.place.url, exported.path.ns, exported.path.name);
  return manifests({.name = exported.path.name,
                    .ns = exported.path.ns,
                    .base = base,
                    .authority = parts_.place.authority,
                    .vm = expanded->get_object(),
                    .claims = std::move(claims)},
                   exported.memory.storage());
}

Task<void> ExportService::Work::serve_manifests(Call& call, Export& exported) {  // EXP-74, EXP-75
  json::Array objects(exported.memory.storage());
  if (exported.path.form == Form::secret) {
    objects.emplace_back(
        header_secret(exported.path.name, exported.path.ns, exported.token, exported.memory.storage()));
  } else {
    auto made = vm_manifests(exported);
    if (!made) co_return call.refuse(made.error());
    objects = std::move(*made);
  }
  const bool yaml = call.request().headers.find("Accept") == "application/yaml";
  call.respond({.content_type = yaml ? "application/yaml" : "application/json",
                .headers = {{"Cache-Control", "no-store"}},
                .body = yaml ? print_yaml(objects) : print_list(objects)});
}

// --- outside ---------------------------------------------------------------------------------------------------------

ExportService::ExportService(Parts parts) : work_(std::make_unique<Work>(std::move(parts))) {}
ExportService::~ExportService() = default;

void ExportService::add_routes(server::Router& router) {
  // The token says who may, and not who asks.
  router.add_prefix(server::Access::anyone, server::Router::any_method,
                    std::string(controllers::exports::export_prefix), server::RouteClass::subresource,
                    [work = work_.get()](Call& call) { return work->serve(call); });
}

}  // namespace vg::exports
