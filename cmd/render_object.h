// `virtgate render --as object` and `--as vmi`: what the objects of files become, without a server.
#pragma once

#include <string>
#include <vector>

#include "inputs.h"
#include "offline/render_files.h"
#include "program.h"

namespace vg::cmd {

struct RenderObjectOptions {
  InputFlags inputs;
  std::string format = "yaml";
  bool diff = false;  // what changed against the file, in place of the object

  std::vector<Flag> flags();
};

// Prints each object of the files. Exit code 1 when one of them is refused, 2 when a file cannot be read.
int render_objects(const std::vector<std::string>& names, const RenderObjectOptions& options, offline::RenderAs form,
                   Output output);

}  // namespace vg::cmd
