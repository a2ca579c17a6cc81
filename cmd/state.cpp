#include "state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <system_error>

#include "base/files.h"
#include "base/limits.h"
#include "base/time_rfc3339.h"
#include "command.h"
#include "local/state_folder.h"
#include "store/salvage.h"
#include "store/state_files.h"
#include "store/value_cipher.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;

constexpr int exit_could_not_run = 2;

Flag state_flag(std::string& state) {
  return {"state", '\0', &state, "DIR", "the state folder of the server (default as for serve)"};
}

struct Opened {
  local::StateFolder folder;
  store::Salvage found;
  bool finished = false;  // an exchange of files that had been interrupted
};

// Nobody else may use the folder meanwhile. An exchange of files that was interrupted is ended first if `finish` says
// so.
Result<Opened> open_stopped(const std::string& state, bool finish = false) {
  auto path = existing_state(state);
  if (!path) return fail(std::move(path.error()));
  auto folder = local::StateFolder::open(*path);
  if (!folder) return fail(std::move(folder.error()));
  bool finished = false;
  if (finish) {
    const auto ended = store::finish_exchange(folder->path());
    if (!ended) return fail(Status::internal_error(ended.error()));
    finished = *ended;
  }
  auto found = store::salvage(store::store_path(folder->path()));
  if (auto may = store::check_state(folder->path()); !may) {
    found.problems.push_back(may.error().message);
    found.whole = false;
  }
  return Opened{.folder = std::move(*folder), .found = std::move(found), .finished = finished};
}

void print_some(std::FILE* out, std::string_view what, const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size() && i < limits::state_problems_told_max; ++i)
    fmt::print(out, "{}: {}\n", what, lines[i]);
  if (lines.size() > limits::state_problems_told_max)
    fmt::print(out, "{}: and {} more\n", what, lines.size() - limits::state_problems_told_max);
}

// What is wrong, and how much is left.
void print_findings(std::FILE* out, const store::Salvage& found) {
  print_some(out, "damaged", found.problems);
  print_some(out, "cannot be read", found.damaged);
  if (const auto& mark = found.mark.newest; mark && !mark->nothing_acknowledged()) {
    fmt::print(out, "acknowledged: revision {} with {} rows; readable: revision {} with {} rows\n",
               mark->intended.revision, mark->intended.rows, found.newest, found.rows);
  }
}

int run_check(std::span<const std::string_view> arguments, Output output) {
  std::string state;
  const auto parsed =
      read_command({.name = "state check",
                    .synopsis = "[flags]",
                    .description = "Checks every row of the store, its seal, its log and its mark. The server "
                                   "must be stopped. Exit code 0: all is well, 1: something is damaged or "
                                   "missing, 2: it could not be checked."},
                   std::vector<Flag>{state_flag(state)}, arguments, output);
  if (!parsed) return parsed.error();
  const auto opened = open_stopped(state);
  if (!opened) {
    fmt::print(output.err, "virtgate state check: {}\n", opened.error().message);
    return exit_could_not_run;
  }
  const auto& found = opened->found;
  if (found.whole) {
    fmt::print(output.out, "the store is intact: revision {}, {} rows, {} objects{}\n", found.newest, found.rows,
               found.objects.size(),
               found.sealed ? "" : " (of an older format: missing rows can be detected once the server has run)");
    return exit_ok;
  }
  print_findings(output.out, found);
  fmt::print(output.out,
             "{} objects can be read: save them with \"virtgate state export\"; then \"virtgate restore\" a backup, or "
             "continue with them with \"virtgate state accept-loss\"\n",
             found.objects.size());
  return exit_failed;
}

int run_export(std::span<const std::string_view> arguments, Output output) {
  std::string state, file = "-", secrets_key_file;
  const auto parsed = read_command(
      {.name = "state export",
       .synopsis = "[flags]",
       .description = "Writes all objects that can be read, Secrets too, as one List that kubectl "
                      "takes, also from a damaged store. The server must be stopped. Exit code "
                      "0: these are all, 1: something could not be read."},
      std::vector<Flag>{
          state_flag(state),
          {"output", 'o', &file, "FILE", "where to; - is stdout"},
          {"secrets-key-file", '\0', &secrets_key_file, "FILE", "opens Secrets that are sealed, as for serve"}},
      arguments, output);
  if (!parsed) return parsed.error();
  std::shared_ptr<const store::ValueCipher> cipher;
  if (!secrets_key_file.empty()) {
    auto read = store::ValueCipher::read(secrets_key_file);
    if (!read) {
      fmt::print(output.err, "virtgate state export: {}\n", read.error().message);
      return exit_could_not_run;
    }
    cipher = std::move(*read);
  }
  const auto opened = open_stopped(state);
  if (!opened) {
    fmt::print(output.err, "virtgate state export: {}; use \"virtgate backup\" for a running server\n",
               opened.error().message);
    return exit_could_not_run;
  }
  std::string text;
  const auto closed = store::append_as_list(text, opened->found.objects, cipher.get());
  if (file == "-") {
    fmt::print(output.out, "{}", text);
    std::fflush(output.out);
  } else if (auto written = write_file(file, text, S_IRUSR | S_IWUSR); !written) {
    fmt::print(output.err, "virtgate state export: {}\n", written.error().message);
    return exit_could_not_run;
  }
  if (opened->found.whole && closed.empty()) return exit_ok;
  if (!opened->found.whole) print_findings(output.err, opened->found);
  print_some(output.err, "left out", closed);
  fmt::print(output.err, "{} objects were exported\n", opened->found.objects.size() - closed.size());
  return exit_failed;
}

// The objects that can be read as a new store, in the place of the damaged one, which is kept.
Result<fs::path> accept_loss(const Opened& opened) {
  const auto& state = opened.folder.path();
  auto aside = state / fmt::format("damaged-{}", file_stamp());
  const auto fresh = store::exchange_folder(state);
  std::error_code error;
  fs::remove_all(fresh, error);
  fs::create_directory(aside, error);
  if (!error) fs::create_directory(fresh, error);
  if (error) return fail(Status::internal_error(fmt::format("cannot create {}: {}", aside.native(), error.message())));
  std::string text;
  (void)store::append_as_list(text, opened.found.objects);  // what is sealed stays in the store, and stays so
  if (auto saved = write_file((aside / "objects.json").native(), text, S_IRUSR | S_IWUSR); !saved)
    return fail(std::move(saved.error()));
  const auto& mark = opened.found.mark.newest;
  const auto revision = store::revision_beyond(std::max(opened.found.newest, mark ? mark->intended.revision : 0));
  auto done = store::write_store(store::store_path(fresh), opened.found.objects, revision);
  if (done) done = store::exchange_files(state, fresh, aside);
  if (!done) return fail(Status::internal_error(done.error()));
  return aside;
}

int run_accept_loss(std::span<const std::string_view> arguments, Output output) {
  std::string state;
  const auto parsed =
      read_command({.name = "state accept-loss",
                    .synopsis = "[flags]",
                    .description = "Makes a new store of the objects that can be read, so that the server "
                                   "starts again without those that are lost. The damaged files and an export "
                                   "are kept in a folder damaged-TIME. The server must be stopped."},
                   std::vector<Flag>{state_flag(state)}, arguments, output);
  if (!parsed) return parsed.error();
  const auto failed = [&](std::string_view why) {
    fmt::print(output.err, "virtgate state accept-loss: {}\n", why);
    return exit_failed;
  };
  const auto opened = open_stopped(state, true);
  if (!opened) return failed(opened.error().message);
  if (opened->finished && opened->found.whole) {
    fmt::print(output.out, "the interrupted command was completed: the store has {} objects\n",
               opened->found.objects.size());
    return exit_ok;
  }
  if (opened->found.whole) return failed("the store is intact: there is no loss to accept");
  print_findings(output.out, opened->found);
  const auto kept = accept_loss(*opened);
  if (!kept) return failed(kept.error().message);
  fmt::print(output.out, "the store now has the {} objects that could be read; the old files are in {}\n",
             opened->found.objects.size(), kept->native());
  return exit_ok;
}

}  // namespace

std::string file_stamp() {
  // To the microsecond, so that two in a row differ; without what file names are better off without.
  auto text = print_rfc3339_micro(Timestamp::from(std::chrono::system_clock::now()));
  std::erase_if(text, [](char c) { return c == ':' || c == '-'; });
  return text;
}

Result<fs::path> existing_state(const std::string& given) {
  fs::path state = given;
  if (state.empty()) {
    auto place = local::default_state_folder(local::process_environment());
    if (!place) return fail(std::move(place.error()));
    state = std::move(*place);
  }
  if (std::error_code error; !fs::is_directory(state, error)) {
    return fail({.code = 404,
                 .reason = "NotFound",
                 .message = fmt::format("state folder {} not found; pass --state DIR", state.native()),
                 .details = {}});
  }
  return state;
}

int run_state_check(std::span<const std::string_view> arguments, Output output) { return run_check(arguments, output); }
int run_state_export(std::span<const std::string_view> arguments, Output output) {
  return run_export(arguments, output);
}
int run_state_accept_loss(std::span<const std::string_view> arguments, Output output) {
  return run_accept_loss(arguments, output);
}

}  // namespace vg::cmd
