// The sandbox, carried out. Each step is for the calling thread and those that it starts later, so it is entered before
// the first thread is started. A child process that needs more than the server must be started before it is entered.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sandbox/plan.h"

namespace vg::sandbox {

Machine this_machine();
std::optional<Account> find_account(const std::string& name);
// Of /etc/passwd alone: nothing is loaded, and nobody asked, for a user that most hosts do not have.
std::optional<Account> find_local_account(std::string_view name);

// The files and, where they are symbolic links, what they stand for now. A file in a folder that does not exist yet is
// stood for by the nearest folder that does, so that it can be read once it is there.
std::vector<std::string> reachable(const std::vector<std::string>& files);

// From root to the account, for good. Parts of the state folder's path that do not exist are made and given to it.
Result<void> become(const Account& account, const std::filesystem::path& state);

// Parts of it, for the calling thread.
std::expected<void, std::string> forbid_new_privileges();
std::expected<void, std::string> drop_capabilities();

// The error says which part could not be had; with Mode::on only what is there is used, and the log says so.
Result<void> enter(const Plan& plan);

}  // namespace vg::sandbox
