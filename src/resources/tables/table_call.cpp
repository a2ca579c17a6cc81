#include "resources/tables/table_call.h"

#include "resources/output.h"
#include "resources/tables/table.h"

namespace vg::resources {
namespace {

class TableText final : public ListText {
 public:
  explicit TableText(const TableRequest& request) : table_(request) {}
  void open(std::string& out) override { table_.open(out); }
  void add(std::string& out, const StoredObject& object) override { table_.add(out, object); }
  void close(std::string& out) override { table_.close(out); }

 private:
  Table table_;
};

}  // namespace

std::unique_ptr<ListText> make_table(const TableCall& call) {
  return std::make_unique<TableText>(TableRequest{.resource = call.resource,
                                                  .api_version = call.api_version,
                                                  .shown = &call.shown,
                                                  .table_version = call.table_version,
                                                  .include_object = call.include_object,
                                                  .revision = call.meta.revision,
                                                  .continue_token = call.meta.continue_token,
                                                  .remaining = call.meta.remaining,
                                                  .with_columns = call.with_columns,
                                                  .now = Timestamp::from(call.now)});
}

}  // namespace vg::resources
