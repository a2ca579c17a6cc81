// The program's commands. Each is one function from its arguments to an exit code; main() only calls run().
#pragma once

#include <cstdio>
#include <span>
#include <string_view>

namespace vg::cmd {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // the command was understood and could not be carried out
inline constexpr int exit_usage = 2;   // the command line was not understood

struct Description;

// Where a command writes: what was asked for to `out`, what went wrong to `err`.
struct Output {
  std::FILE* out;
  std::FILE* err;
  Description* describe = nullptr;  // set: the command says here what it takes (command.h), and does nothing else
};

// `program` is how the program was called (argv[0]): by the name virt-api it is what KubeVirt's operator starts.
int run(std::string_view program, std::span<const std::string_view> arguments, Output output);

}  // namespace vg::cmd
