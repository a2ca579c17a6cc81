// The one folder in which a standalone server keeps everything: keys, kubeconfig, store. One process uses it at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"

namespace vg::local {

// Reads an environment variable; a parameter so that the rule can be tested without touching the environment.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// $XDG_STATE_HOME/virtgate, else ~/.local/state/virtgate. As that standard asks, a relative $XDG_STATE_HOME is ignored.
Result<std::filesystem::path> default_state_folder(const Environment& environment);

class StateFolder {
 public:
  // Creates the folder (mode 0700) where it does not exist, refuses one that other users could change, and locks it
  // until this object goes. The error's message is a sentence for the user. The same goes for what lies in it: keys,
  // tokens, store and audit log must be plain files of this user that nobody else can change. A store or an audit log
  // that others could read is closed to them, and the log says so; a key or a token that others could read is refused,
  // since they may have it.
  static Result<StateFolder> open(const std::filesystem::path& path);

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&& other) noexcept;
  ~StateFolder();

  const std::filesystem::path& path() const { return path_; }  // absolute

 private:
  StateFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace vg::local
