#include <string_view>
#include <vector>

#include "program.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return vg::cmd::run(argc > 0 ? argv[0] : "virtgate", arguments, {.out = stdout, .err = stderr});
}
