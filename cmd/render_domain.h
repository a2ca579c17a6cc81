// `virtgate render --as domain`: the libvirt domain of a VMI, without a server or a host.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "flags.h"
#include "json/value.h"
#include "program.h"

namespace vg::cmd {

struct RenderDomainOptions {
  std::string context;  // the path of a context file; empty: none

  std::vector<Flag> flags();
};

// The text of the domain of a VMI that has its defaults; `vmi` is brought into canonical form. What makes a VMI of a VM
// hands it in here.
Result<std::string> domain_of(json::Value& vmi, const RenderDomainOptions& options);

// Prints the domain of the VMI in a file. Exit code 1 when there is none.
int render_domain(const std::string& file, const RenderDomainOptions& options, Output output);

}  // namespace vg::cmd
