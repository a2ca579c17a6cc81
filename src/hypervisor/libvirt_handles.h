// libvirt's objects, released by themselves, and its errors.
#pragma once

#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "hypervisor/hypervisor.h"

namespace vg::hypervisor {

struct Release {
  void operator()(virDomainPtr domain) const { virDomainFree(domain); }
  void operator()(virStreamPtr stream) const { virStreamFree(stream); }
  void operator()(char* text) const { std::free(text); }
};
using DomainHandle = std::unique_ptr<virDomain, Release>;
using StreamHandle = std::unique_ptr<virStream, Release>;
using Text = std::unique_ptr<char, Release>;
using ConnectionHandle = std::shared_ptr<virConnect>;

// The error of this thread's last call (RUN-SYN-06). 404 when there is no such domain.
Status libvirt_error();
Status libvirt_error(int code, int domain, std::string_view message);
// Success when a call answered 0.
Result<void> done(int answer);
// At most so long; a longer one is an error of ours.
Result<std::string> bounded(Text text, std::size_t bytes_max, std::string_view what);

// Spec launch 7.3.
State state_of(int state);
std::string_view reason_of(int state, int reason);
// What a domain does when its watchdog fires, as the VMI names it.
const char* watchdog_action(int action);

}  // namespace vg::hypervisor
