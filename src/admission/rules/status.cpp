// Writes to the status of a machine (spec work-objects 5). The same is asked of the machine itself.
#include "admission/rule.h"
#include "admission/rules/vm_storage.h"

namespace vg::admission {
namespace {

constexpr Rule status_rule_table[] = {
    Rule{"ST07", "volume requests must be valid", "Status.volumeRequests", check_volume_requests}.stops().stands_for(
        list_volume_request_rules),
    Rule{"ST15", "a snapshot or restore in progress must not be disturbed", "spec", check_snapshot_and_restore}
        .stands_for(list_snapshot_and_restore_rules),
};

}  // namespace

std::span<const Rule> status_rules() { return status_rule_table; }

}  // namespace vg::admission
