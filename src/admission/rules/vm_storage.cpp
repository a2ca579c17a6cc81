#include "admission/rules/vm_storage.h"

namespace vg::admission {

void check_vm_storage(const Case&, Causes&) {}
void list_vm_storage_rules(std::vector<RuleInfo>&) {}
void check_snapshot_and_restore(const Case&, Causes&) {}
void list_snapshot_and_restore_rules(std::vector<RuleInfo>&) {}
void check_volume_requests(const Case&, Causes&) {}
void list_volume_request_rules(std::vector<RuleInfo>&) {}

}  // namespace vg::admission
