#include "resources/table_call.h"

#include "resources/output.h"
#include "resources/table.h"

namespace vg::resources {

void write_table(std::string& out, const TableCall& call) {
  append_table(out, {.resource = call.resource,
                     .api_version = call.api_version,
                     .table_version = call.table_version,
                     .include_object = call.include_object,
                     .objects = call.objects,
                     .revision = call.meta.revision,
                     .continue_token = call.meta.continue_token,
                     .remaining = call.meta.remaining,
                     .with_columns = call.with_columns,
                     .now = Timestamp::from(call.now)});
}

}  // namespace vg::resources
