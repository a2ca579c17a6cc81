#include "log_format.h"

#include <unistd.h>

#include <cstdlib>

#include "base/log.h"

namespace vg::cmd {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: nobody changes the environment
  return value && *value && std::string_view(value) != "0";
}

}  // namespace

void set_log_format(std::string_view flag, std::FILE* err) {
  const int descriptor = ::fileno(err);  // -1 for a stream in memory
  const bool terminal = descriptor >= 0 && ::isatty(descriptor) == 1;
  if (flag == "json" || (flag.empty() && !terminal)) return log::set_format(log::Format::json);
  const char* kind = std::getenv("TERM");  // NOLINT: the same
  const bool dumb = kind && std::string_view(kind) == "dumb";
  const bool coloured = is_set("CLICOLOR_FORCE") || (terminal && !dumb && !is_set("NO_COLOR"));
  log::set_format(coloured ? log::Format::coloured_text : log::Format::text);
}

}  // namespace vg::cmd
