// For whom a controller does something. Users' objects tell controllers what to write and what to copy; whether that
// may be done is a question of what those users may, and never of what the controller may. There is no default: whoever
// writes an effect or a job says for whom, or it is not compiled.
#pragma once

#include <memory>
#include <string_view>

#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::controllers {

class Identity {
 public:
  // For nobody: bookkeeping (a status, finalizers, owners, a deletion) and objects in which nothing is a user's. Where
  // permission is asked about it, there is none.
  static Identity own() { return Identity(nullptr); }
  // Made of a user's VMI, or of the template of a VM, replica set or pool: what its pod would be, a service account of
  // its namespace (VMC-87). `spec` is that of the VMI; null: the default account.
  static Identity machine(std::string_view ns, const json::Object* spec);
  // Made for an object for which somebody has asked for data, who was written down then (admission/asker.h): `from` as
  // there. If nobody was, it is for nobody.
  static Identity asker_of(const json::Object& object, std::string_view from = {});

  // Whose permission counts; null: nobody's. Lives as long as this.
  const User* user() const { return user_.get(); }

 private:
  explicit Identity(std::shared_ptr<const User> user) : user_(std::move(user)) {}
  std::shared_ptr<const User> user_;
};

// As what a service account is known; components are such, too, as upstream installs them.
User service_account(std::string_view ns, std::string_view name);

}  // namespace vg::controllers
