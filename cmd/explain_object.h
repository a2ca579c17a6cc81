// `virtgate explain vm/NAME`: why a VM, a VMI or a migration is as it is, asked of a server.
#pragma once

#include <string>
#include <string_view>

#include "program.h"

namespace vg::cmd {

struct ExplainOptions {
  std::string state, kubeconfig, ns = "default";
};

// "vm/demo", and the longer names that kubectl takes.
bool is_object_reference(std::string_view text);
int explain_object(std::string_view reference, const ExplainOptions& options, Output output);

// "a60f150b-1e", as answers, logs and `kubectl get requests.trace.virtgate.io` name a request.
bool is_request_id(std::string_view text);
int explain_request(std::string_view id, const ExplainOptions& options, Output output);

}  // namespace vg::cmd
