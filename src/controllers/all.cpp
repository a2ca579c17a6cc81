#include "controllers/all.h"

#include "controllers/backup/backup.h"
#include "controllers/clone/clone.h"
#include "controllers/evacuation/evacuation.h"
#include "controllers/exports/export.h"
#include "controllers/migration/migration.h"
#include "controllers/node/node.h"
#include "controllers/pool/pool.h"
#include "controllers/replica_set/replica_set.h"
#include "controllers/restore/restore.h"
#include "controllers/snapshot/snapshot.h"
#include "controllers/storage/claim.h"
#include "controllers/storage/data_source.h"
#include "controllers/storage/data_volume.h"
#include "controllers/storage/fill.h"
#include "controllers/storage/import_cron.h"
#include "controllers/storage/storage_profile.h"
#include "controllers/storage/volume.h"
#include "controllers/vm/vm_controller.h"
#include "controllers/vmi/vmi.h"
#include "controllers/workload_update/workload_update.h"

namespace vg::controllers {

std::span<const Controller> all() {
  // Owners before what they own: an owner that deletes a VMI because it ended does so before the VMI is cleared up, so
  // that the deletion is told.
  static const Controller controllers[] = {pool_controller(),
                                           replica_set_controller(),
                                           vm_controller(),
                                           vmi_controller(),
                                           migration_controller(),
                                           evacuation_controller(),
                                           workload_update_controller(),
                                           node_controller(),
                                           data_volume_controller(),
                                           claim_controller(),
                                           volume_controller(),
                                           import_controller(),
                                           upload_controller(),
                                           clone_controller(),
                                           data_source_controller(),
                                           import_cron_controller(),
                                           storage_profile_controller(),
                                           snapshot_controller(),
                                           snapshot_content_controller(),
                                           restore_controller(),
                                           vm_clone_controller(),
                                           export_controller(),
                                           backup_controller()};
  return controllers;
}

std::span<const Controller> of_storage() {
  static const Controller controllers[] = {
      data_volume_controller(), claim_controller(),       volume_controller(),
      import_controller(),      upload_controller(),      clone_controller(),
      data_source_controller(), import_cron_controller(), storage_profile_controller()};
  return controllers;
}

}  // namespace vg::controllers
