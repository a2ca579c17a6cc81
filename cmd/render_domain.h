// `virtgate render --as domain`: the libvirt domain of a VMI, or of the VMI that a VM becomes, without a server or a
// host.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "flags.h"
#include "inputs.h"
#include "json/value.h"
#include "program.h"

namespace vg::cmd {

struct RenderDomainOptions {
  std::string context;  // the path of a context file; empty: none

  std::vector<Flag> flags();
};

// The text of the domain of a VMI that has its defaults; `vmi` is brought into canonical form.
Result<std::string> domain_of(json::Value& vmi, const RenderDomainOptions& options);

// Prints the domain of the VMI in a file, as it stands there; or, of a file with VMs or several documents, the domain
// of each VMI that comes of it, which `inputs` is for. Exit code 1 when there is none.
int render_domain(const std::string& file, const RenderDomainOptions& options, const InputFlags& inputs, Output output);

}  // namespace vg::cmd
