#include "hypervisor/daemon_leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/hypervisor_limits.h"
#include "base/log.h"
#include "base/tree.h"
#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {
namespace {

namespace fs = std::filesystem;

void clear_status(const fs::path& file, const std::string& runtime, std::string_view why) {
  std::error_code error;
  const std::string domain = file.stem();
  const fs::path pid_file = fs::path(file).replace_extension(".pid");
  const auto guest = guest_process(pid_file, domain, runtime);
  log::error("libvirt's status of a domain cannot be used; its QEMU is ended, and the guest has failed",
             {{"domain", domain}, {"pid", guest ? guest->pid : 0}, {"reason", why}});
  if (guest) {
    kill_process(*guest);
    wait_for_end(*guest, limits::libvirtd_stop_max);
  }
  fs::remove(pid_file, error);
  fs::remove(file, error);
}

}  // namespace

std::optional<Process> guest_process(const std::string& pid_file, const std::string& domain,
                                     const std::string& runtime) {
  const auto text = read_file(pid_file, limits::pid_file_bytes_max);
  int pid = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), pid).ec != std::errc() || pid <= 1) return {};
  auto process = process_of(pid);
  const auto words = read_file(fmt::format("/proc/{}/cmdline", pid), limits::live_document_bytes_max);
  if (!process || !words || !words->contains(fmt::format("guest={},", domain)) || !words->contains(runtime + "/"))
    return {};
  return process;
}

void end_guests(const std::string& status_folder, const std::string& runtime) {
  std::vector<Process> ending;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(status_folder, error)) {
    if (entry.path().extension() != ".xml") continue;
    const std::string domain = entry.path().stem();
    auto guest = guest_process(fs::path(entry.path()).replace_extension(".pid"), domain, runtime);
    if (!guest) continue;
    log::error("the process above libvirtd is another one, below which nobody may end this guest; its QEMU is ended",
               {{"domain", domain}, {"pid", guest->pid}});
    kill_process(*guest);
    ending.push_back(std::move(*guest));
  }
  for (const Process& guest : ending) wait_for_end(guest, limits::libvirtd_stop_max);
}

bool is_whole_status(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  return text.contains("<domstatus ") && end != std::string_view::npos &&
         text.substr(0, end + 1).ends_with("</domstatus>");
}

bool names_process(std::string_view text) {
  const auto begin = text.find("<domstatus ");
  if (begin == std::string_view::npos) return false;
  return !text.substr(begin, text.find('>', begin) - begin).contains(" pid='0'");
}

void clear_unreadable(const std::string& status_folder, const std::string& runtime) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(status_folder, error)) {
    if (entry.path().extension() == ".new") fs::remove(entry.path(), error);
    if (entry.path().extension() != ".xml") continue;
    const auto text = read_file(entry.path(), limits::live_document_bytes_max);
    if (text && !is_whole_status(*text))
      clear_status(entry.path(), runtime, "it is not whole");
    else if (text && !names_process(*text))
      clear_status(entry.path(), runtime, "it names no process");
  }
}

void clear_forgotten(const std::string& status_folder, const std::vector<std::string>& folders) {
  std::error_code error;
  std::vector<std::string> known;
  for (const auto& entry : fs::directory_iterator(status_folder, error))
    if (entry.path().extension() == ".xml")
      known.push_back(read_file(entry.path(), limits::live_document_bytes_max).value_or(""));
  // A status that cannot be read, for whatever reason, may be of any of them.
  if (std::ranges::find(known, std::string()) != known.end()) return;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      const auto names_it = [&](const std::string& status) { return status.contains(name + "/"); };
      if (name.starts_with("domain-") && std::ranges::none_of(known, names_it))
        (void)remove_tree(AT_FDCWD, entry.path());  // else at the next start
    }
}

}  // namespace vg::hypervisor
