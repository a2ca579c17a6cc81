#include "api_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/limits.h"

namespace vg::contract {
namespace {

// Somebody else may take a port between our looking and the server's listening.
constexpr int ports_tried_max = 5;
// What the server writes first once it can be reached.
constexpr std::string_view ready_text = "serving the KubeVirt API at";

std::string program() {
  if (const char* named = std::getenv("VIRTGATE_BINARY")) return named;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "virtgate";
}

// Only calls that are allowed between fork and exec.
[[noreturn]] void become(const char* const* arguments, int output, int log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], const_cast<char* const*>(arguments));
  ::_exit(127);
}

}  // namespace

std::uint16_t free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(listener);
  return ntohs(address.sin_port);
}

ApiServer::ApiServer() {
  for (int i = 0; i < ports_tried_max; ++i)
    if (start()) return;
  const auto said = read_file(folder_.file("log"), limits::config_file_bytes_max);
  ADD_FAILURE() << program() << " does not serve: " << (said ? *said : said.error().message);
  std::abort();
}

bool ApiServer::start() {
  port_ = free_port();
  const std::string binary = program(), state = folder_.file("state");
  const std::string listen = "127.0.0.1:" + std::to_string(port_);
  const std::array<const char*, 8> arguments{binary.c_str(), "serve",    "--api-only",   "--state",
                                             state.c_str(),  "--listen", listen.c_str(), nullptr};
  std::array<int, 2> output{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return false;
  const int log = ::open(folder_.file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  process_ = ::fork();
  if (process_ == 0) become(arguments.data(), output[1], log);
  ::close(log);
  ::close(output[1]);
  const bool ready = wait_until_ready(output[0]);
  ::close(output[0]);  // its later words are for nobody; it knows how to live with that
  if (!ready) ::waitpid(std::exchange(process_, -1), nullptr, 0);
  return ready;
}

// False when it ended before.
bool ApiServer::wait_until_ready(int output) const {
  std::string text;
  std::array<char, 512> piece;
  while (!text.contains(ready_text)) {
    const auto got = ::read(output, piece.data(), piece.size());
    if (got <= 0) return false;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return true;
}

ApiServer::~ApiServer() {
  ::kill(process_, SIGTERM);
  int status = 0;
  ::waitpid(process_, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const auto said = read_file(folder_.file("log"), limits::config_file_bytes_max);
  ADD_FAILURE() << "the API server ended with status " << status << ": " << (said ? *said : said.error().message);
}

}  // namespace vg::contract
