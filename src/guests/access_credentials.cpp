#include "guests/access_credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/base64.h"
#include "base/node_limits.h"
#include "guests/vmi_lists.h"
#include "guests/volumes.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using json::Object;
using json::Value;
using std::string_view;

// Null: it is put into the guest in another way.
const Object* by_agent(const Object& credential) {
  const Object* method = json::get_object(credential, "propagationMethod");
  return method ? json::get_object(*method, "qemuGuestAgent") : nullptr;
}

string_view secret_of(const Value& credential) {
  return json::as_string(json::find_path(credential, {"source", "secret", "secretName"})).value_or("");
}

string_view trimmed(string_view text) {
  constexpr string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  return first == text.npos ? string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The files that the Secret would be, by name.
Result<std::map<std::string, std::string>> files_of(string_view name, const SecretLook& look) {
  const Object* secret = look(name);
  if (!secret) return fail(Status::bad_request(fmt::format("the Secret \"{}\" does not exist", name)));
  std::map<std::string, std::string> files;
  if (const Object* data = json::get_object(*secret, "data"))
    for (const auto& [key, value] : *data)
      if (!key.starts_with(".."))
        files.emplace(key, base64_decode_lenient(json::as_string(&value).value_or("")).value_or(""));
  return files;
}

struct Credentials {
  std::map<std::string, std::vector<std::string>> keys;  // by user
  std::map<std::string, std::string> passwords;
};

Result<void> add_keys(const Value& given, const Object& method, const SecretLook& look, Credentials& all) {
  const json::Array* users = json::get_array(method, "users");
  const auto files = files_of(secret_of(given), look);
  if (!files) return fail(files.error());
  if (!users) return {};
  for (const Value& user : *users) {
    std::vector<std::string>& keys = all.keys[std::string(json::as_string(&user).value_or(""))];
    for (const auto& [file, text] : *files)
      for (string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1))
        if (const string_view line = trimmed(rest.substr(0, rest.find('\n'))); !line.empty()) keys.emplace_back(line);
  }
  return {};
}

Result<void> add_passwords(const Value& given, const SecretLook& look, Credentials& all) {
  const auto files = files_of(secret_of(given), look);
  if (!files) return fail(files.error());
  for (const auto& [user, text] : *files)
    if (const string_view password = trimmed(text); !password.empty()) all.passwords[user] = password;
  return {};
}

std::string ssh_command(string_view user, const std::vector<std::string>& keys) {
  json::Array lines;
  for (const std::string& key : keys) lines.emplace_back(key);
  Object arguments{{"username", user}, {"keys", std::move(lines)}, {"reset", true}};
  return json::to_text(Object{{"execute", "guest-ssh-add-authorized-keys"}, {"arguments", std::move(arguments)}});
}

std::string password_command(string_view user, string_view password) {
  Object arguments{{"username", user}, {"password", base64_encode(password)}, {"crypted", false}};
  return json::to_text(Object{{"execute", "guest-set-user-password"}, {"arguments", std::move(arguments)}});
}

}  // namespace

std::vector<std::string> agent_secrets(const Object& vmi) {
  std::vector<std::string> names;
  for (const Value& credential : list_at(vmi, "spec", {"accessCredentials"}))
    for (const string_view kind : {"sshPublicKey", "userPassword"}) {
      const Value* given = json::find(credential, kind);
      const Object* object = given ? given->if_object() : nullptr;
      if (!object || !by_agent(*object)) continue;
      std::string name(secret_of(*given));
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  return names;
}

Result<std::vector<std::string>> credential_commands(const Object& vmi, const SecretLook& look) {
  Credentials all;
  for (const Value& credential : list_at(vmi, "spec", {"accessCredentials"})) {
    const Value *ssh = json::find(credential, "sshPublicKey"), *password = json::find(credential, "userPassword");
    const Object* method = ssh && ssh->if_object() ? by_agent(*ssh->if_object()) : nullptr;
    if (method)
      if (auto done = add_keys(*ssh, *method, look, all); !done) return fail(std::move(done.error()));
    if (password && password->if_object() && by_agent(*password->if_object()))
      if (auto done = add_passwords(*password, look, all); !done) return fail(std::move(done.error()));
  }
  std::vector<std::string> commands;
  for (const auto& [user, keys] : all.keys) commands.push_back(ssh_command(user, keys));
  for (const auto& [user, password] : all.passwords) commands.push_back(password_command(user, password));
  for (const std::string& command : commands)
    if (command.size() > limits::credential_command_bytes_max)
      return fail(Status::bad_request(fmt::format("the access credentials of a user must be at most {} bytes",
                                                  limits::credential_command_bytes_max)));
  return commands;
}

}  // namespace vg::guests
