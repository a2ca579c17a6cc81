#include "admission/rules/data_volume_templates.h"

namespace vg::admission {

void check_data_volume_templates(const Case&, const json::Value*, const Place&, Causes&) {}
void list_data_volume_template_rules(std::vector<RuleInfo>&) {}

}  // namespace vg::admission
