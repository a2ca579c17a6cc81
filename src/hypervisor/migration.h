// A migration as libvirt is asked for it (spec launch 5.1).
#pragma once

#include <libvirt/libvirt.h>

#include "base/status.h"
#include "hypervisor/hypervisor.h"

namespace vg::hypervisor {

// Hypervisor::release_cancelled()
Result<void> release_cancelled_migration(virDomainPtr domain);

unsigned migration_flags(const MigrationRequest& request);

// libvirt's list of typed parameters.
class Parameters {
 public:
  Parameters() = default;
  ~Parameters() { virTypedParamsFree(list_, count_); }
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  void text(const char* name, const std::string& value) {
    if (!value.empty()) virTypedParamsAddString(&list_, &count_, &room_, name, value.c_str());
  }
  void number(const char* name, std::uint64_t value) {
    if (value != 0) virTypedParamsAddULLong(&list_, &count_, &room_, name, value);
  }
  void integer(const char* name, int value) {
    if (value != 0) virTypedParamsAddInt(&list_, &count_, &room_, name, value);
  }
  virTypedParameterPtr list() const { return list_; }
  int count() const { return count_; }
  std::string value_of(std::string_view name) const;  // of a text; for tests

 private:
  virTypedParameterPtr list_ = nullptr;
  int count_ = 0, room_ = 0;
};
void put_migration(const MigrationRequest& request, Parameters& parameters);

// Blocks until it is over.
Result<void> migrate_domain(virDomainPtr domain, const MigrationRequest& request);
Result<JobProgress> job_progress(virDomainPtr domain);

}  // namespace vg::hypervisor
