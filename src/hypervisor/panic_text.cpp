#include "hypervisor/panic_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/hypervisor_limits.h"
#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {

std::string last_panic(std::string_view log) {
  constexpr std::string_view head = ": panic ";
  const auto found = log.rfind(head);
  if (found == std::string_view::npos) return "";
  const auto from = found + head.size();
  return std::string(log.substr(from, log.find('\n', from) - from));
}

std::string panic_text(const std::string& file) {
  const File log(file.empty() ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!log) return "";
  const off_t length = ::lseek(log.get(), 0, SEEK_END);
  std::string tail(limits::hypervisor_log_tail_bytes, '\0');
  const off_t from = std::max<off_t>(0, length - static_cast<off_t>(tail.size()));
  const ssize_t bytes = ::pread(log.get(), tail.data(), tail.size(), from);
  tail.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return last_panic(tail);
}

}  // namespace vg::hypervisor
