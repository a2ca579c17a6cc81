// `virtgate render --as object` and `--as vmi`: what the objects of files become, without a server.
#pragma once

#include <functional>
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

// Hands each object of some texts to `show`. Exit code 2, and a line about it, when something cannot be read;
// `unreadable` is what could not be read before.
int render_sources(const offline::Sources& sources, std::vector<std::string> unreadable, const InputFlags& inputs,
                   offline::RenderAs form, const std::function<void(const offline::RenderedObject&)>& show,
                   Output output);

// Prints each object of the files. Exit code 1 when one of them is refused, 2 when a file cannot be read.
int render_objects(const std::vector<std::string>& names, const RenderObjectOptions& options, offline::RenderAs form,
                   Output output);

}  // namespace vg::cmd
