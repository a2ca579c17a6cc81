#include "backup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "backup_disks.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/time_rfc3339.h"
#include "command.h"
#include "local/state_folder.h"
#include "state.h"
#include "store/backup.h"
#include "store/state_files.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;

bool goes_along(const std::string& name) {
  for (const std::string_view other : {"store.db", "exchange.", "damaged-", "replaced-", "pki.new"}) {
    if (name.starts_with(other)) return false;
  }
  // Records of what happened, and what guests and images take: a server can serve again without them.
  for (const std::string_view other : {"journal", "nodes", "images", "disks", "run"})
    if (name == other) return false;
  // All audit logs, in parts or not.
  if (name.starts_with("audit") && name.contains(".log")) return false;
  return name != "lock" && !name.ends_with(".tmp") && !name.ends_with(".partial");
}

Result<void> take_file(const fs::path& path, std::string name, std::vector<store::StateFile>& files) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  auto content = read_file(path.native(), limits::backup_file_bytes_max);
  if (!content) return fail(std::move(content.error()));
  files.push_back({.name = std::move(name), .mode = info.st_mode & 0777u, .content = std::move(*content)});
  return {};
}

// Everything in the folder, and in the folders in it, that is not the store, the audit log or left behind: without its
// keys a restored server would be a stranger to its clients and nodes.
Result<std::vector<store::StateFile>> files_of(const fs::path& state) {
  std::vector<store::StateFile> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state, error)) {
    const auto name = entry.path().filename().native();
    if (!goes_along(name)) continue;
    if (entry.is_symlink(error) || !entry.is_directory(error)) {
      if (auto taken = take_file(entry.path(), name, files); !taken) return fail(std::move(taken.error()));
      continue;
    }
    for (const auto& inner : fs::directory_iterator(entry.path(), error)) {
      const auto file = inner.path().filename().native();
      if (auto taken = take_file(inner.path(), name + "/" + file, files); !taken) return fail(std::move(taken.error()));
    }
  }
  std::ranges::sort(files, {}, &store::StateFile::name);
  return files;
}

bool holds_state(const fs::path& state) {
  std::error_code error;
  return std::ranges::any_of(std::initializer_list<std::string_view>{"store.db", "store.db-mark", "pki"},
                             [&](std::string_view name) { return fs::exists(state / name, error); }) ||
         !store::check_state(state);
}

Result<store::BackupContent> restore(const local::StateFolder& folder, const std::string& backup, bool replace,
                                     fs::path& aside, BackupParts& parts) {
  const auto& state = folder.path();
  if (!replace && holds_state(state)) {
    return fail(
        {.code = 409,
         .reason = "Conflict",
         .message = fmt::format("{} already has the state of a server; name an empty folder, or pass --replace, "
                                "which keeps the old state in a folder replaced-TIME",
                                state.native()),
         .details = {}});
  }
  const auto store = store::store_path(state);
  const auto mark = store::read_mark(store::mark_path(store));
  const auto given_out = mark && mark->newest ? mark->newest->intended.revision : 0;
  const auto fresh = store::exchange_folder(state);
  std::error_code error;
  fs::remove_all(fresh, error);
  if (!fs::create_directory(fresh, error))
    return fail(Status::internal_error(fmt::format("cannot create {}: {}", fresh.native(), error.message())));
  auto content = store::unpack_backup(backup, fresh, given_out);
  auto unpacked = content ? unpack_backup_data(backup, fresh, content->made) : fail(content.error());
  if (!unpacked) {
    fs::remove_all(fresh, error);
    return fail(std::move(unpacked.error()));
  }
  parts = *unpacked;
  aside = state / fmt::format("replaced-{}", file_stamp());
  if (auto done = store::exchange_files(state, fresh, aside); !done) return fail(Status::internal_error(done.error()));
  return content;
}

// What is in it beside the file, and what is not.
void print_parts(std::FILE* out, const fs::path& state, const std::string& file, const BackupParts& parts,
                 const std::vector<std::string>& left_out) {
  const std::size_t claims = find_claims(state).all.size();
  if (parts.disks)
    fmt::print(out, "{}: disks of {} claims\n", backup_data_folder(file).native(), claims - left_out.size());
  if (!left_out.empty())
    fmt::print(out, "left out, since guests use them: {}; their claims are Lost after a restore elsewhere\n",
               fmt::join(left_out, ", "));
  if (!parts.disks && claims > 0)
    fmt::print(
        out, "not in it: the disks of {} claims, which are Lost after a restore elsewhere; --disks takes them along\n",
        claims);
  std::error_code error;
  if (!parts.images && fs::is_directory(state / "images", error))
    fmt::print(out, "not in it: container images; --images takes them along\n");
}

}  // namespace

int run_backup(std::span<const std::string_view> arguments, Output output) {
  std::string state;
  bool objects_only = false;
  BackupParts parts;
  const auto parsed = read_command(
      {.name = "backup",
       .synopsis = "[flags] FILE",
       .description =
           "Writes everything that a server needs to serve again into one file: all objects, keys, certificates and "
           "token files (not the audit log). The server may go on running. Whoever has the file has the keys: it "
           "is readable for its owner only. Disks of claims and container images are not in it unless asked for; they "
           "are copied into a folder FILE.data, which belongs to the file.",
       .examples = "virtgate backup /backups/virtgate-$(date +%F)\nvirtgate backup --disks --images /backups/whole",
       .argument = "FILE",
       .arguments_min = 1,
       .arguments_max = 1},
      std::vector<Flag>{
          {"state", '\0', &state, "DIR", "the state folder of the server (default as for serve)"},
          {"objects-only", '\0', &objects_only, "", "leave out keys, certificates and tokens; Secrets are objects"},
          {"disks", '\0', &parts.disks, "", "copy the disks of claims and snapshots too, sparse, into FILE.data"},
          {"images", '\0', &parts.images, "", "copy the container images too"},
          {"skip-used", '\0', &parts.skip_used, "", "with --disks: leave out claims that running guests use"}},
      arguments, output);
  if (!parsed) return parsed.error();
  const auto failed = [&](const Status& status) {
    fmt::print(output.err, "virtgate backup: {}\n", status.message);
    return exit_failed;
  };
  ::umask(077);
  const auto folder = existing_state(state);
  if (!folder) return failed(folder.error());
  if (const auto may = store::check_state(*folder); !may) return failed(may.error());
  if (auto may = check_backup_parts(*folder, parsed->front(), parts); !may) return failed(may.error());
  std::vector<store::StateFile> files;
  if (!objects_only) {
    auto found = files_of(*folder);
    if (!found) return failed(found.error());
    files = std::move(*found);
  }
  const auto made = print_rfc3339(Timestamp::from(std::chrono::system_clock::now()));
  const auto written = store::write_backup(store::store_path(*folder), parsed->front(), files, made);
  if (!written) return failed(written.error());
  const auto left_out = write_backup_data(*folder, parsed->front(), parts, made);
  if (!left_out) {
    ::unlink(parsed->front().c_str());
    return failed(left_out.error());
  }
  fmt::print(output.out, "{}: revision {} with {} rows, {} files, every row checked\n", parsed->front(),
             written->seal.revision, written->seal.rows, written->files);
  print_parts(output.out, *folder, parsed->front(), parts, *left_out);
  return exit_ok;
}

int run_restore(std::span<const std::string_view> arguments, Output output) {
  std::string state;
  bool replace = false;
  const auto parsed = read_command(
      {.name = "restore",
       .synopsis = "[flags] FILE",
       .description =
           "Makes a state folder of a backup, after every row of it was checked. The server must be stopped. "
           "Resource versions go on above all that were given out, and watches begin anew. Disks and images come "
           "from FILE.data, if that is there.",
       .examples = "virtgate restore /backups/virtgate-2026-01-31",
       .argument = "FILE",
       .arguments_min = 1,
       .arguments_max = 1},
      std::vector<Flag>{
          {"state", '\0', &state, "DIR", "the state folder of the server (default as for serve)"},
          {"replace", '\0', &replace, "", "take the place of what is there, which is kept in a folder replaced-TIME"}},
      arguments, output);
  if (!parsed) return parsed.error();
  const auto failed = [&](const Status& status) {
    fmt::print(output.err, "virtgate restore: {}\n", status.message);
    return exit_failed;
  };
  ::umask(077);
  fs::path path = state;
  if (path.empty()) {
    auto place = local::default_state_folder(local::process_environment());
    if (!place) return failed(place.error());
    path = std::move(*place);
  }
  auto folder = local::StateFolder::open(path);
  if (!folder) return failed(folder.error());
  fs::path aside;
  BackupParts parts;
  const auto content = restore(*folder, parsed->front(), replace, aside, parts);
  if (!content) return failed(content.error());
  fmt::print(output.out, "restored the backup of {}: revision {} with {} rows, {} files\n", content->made,
             content->seal.revision, content->seal.rows, content->files);
  if (parts.disks)
    fmt::print(output.out, "restored the disks of claims\n");
  else
    fmt::print(output.out, "the backup has no disks: claims whose data is not in {} are Lost\n",
               (folder->path() / "disks").native());
  if (std::error_code error; fs::exists(aside, error))
    fmt::print(output.out, "the old state is in {}\n", aside.native());
  return exit_ok;
}

}  // namespace vg::cmd
