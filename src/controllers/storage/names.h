// Names that claims and DataVolumes are marked with. Those of CDI are what its clients read (spec storage 3.2, 3.3).
#pragma once

#include <string_view>

namespace vg::controllers::storage {

inline constexpr std::string_view local_provisioner = "virtgate.io/local";
inline constexpr std::string_view protection_finalizer = "kubernetes.io/pvc-protection";
inline constexpr std::string_view default_class = "storageclass.kubernetes.io/is-default-class";
inline constexpr std::string_view default_virt_class = "storageclass.kubevirt.io/is-default-virt-class";
inline constexpr std::string_view cdi_configs = "cdi.kubevirt.io/cdiconfigs", cdi_config_name = "config";

namespace mark {
inline constexpr std::string_view use_populator = "cdi.kubevirt.io/storage.usePopulator";
inline constexpr std::string_view content_type = "cdi.kubevirt.io/storage.contentType";
inline constexpr std::string_view preallocation_wanted = "cdi.kubevirt.io/storage.preallocation.requested";
inline constexpr std::string_view preallocation = "cdi.kubevirt.io/storage.preallocation";
inline constexpr std::string_view pod_phase = "cdi.kubevirt.io/storage.pod.phase";
inline constexpr std::string_view pod_ready = "cdi.kubevirt.io/storage.pod.ready";
inline constexpr std::string_view pod_restarts = "cdi.kubevirt.io/storage.pod.restarts";
inline constexpr std::string_view running = "cdi.kubevirt.io/storage.condition.running";
inline constexpr std::string_view running_message = "cdi.kubevirt.io/storage.condition.running.message";
inline constexpr std::string_view running_reason = "cdi.kubevirt.io/storage.condition.running.reason";
// Only while the claim is Pending: why it is.
inline constexpr std::string_view bound = "cdi.kubevirt.io/storage.condition.bound";
inline constexpr std::string_view bound_message = "cdi.kubevirt.io/storage.condition.bound.message";
inline constexpr std::string_view bound_reason = "cdi.kubevirt.io/storage.condition.bound.reason";
inline constexpr std::string_view import_source = "cdi.kubevirt.io/storage.import.source";
inline constexpr std::string_view import_endpoint = "cdi.kubevirt.io/storage.import.endpoint";
inline constexpr std::string_view import_secret = "cdi.kubevirt.io/storage.import.secretName";
inline constexpr std::string_view import_authorities = "cdi.kubevirt.io/storage.import.certConfigMap";
inline constexpr std::string_view import_checksum = "cdi.kubevirt.io/storage.import.checksum";
inline constexpr std::string_view import_insecure = "cdi.kubevirt.io/storage.import.insecureSkipVerify";
inline constexpr std::string_view import_headers = "cdi.kubevirt.io/storage.import.extraHeaders.";
inline constexpr std::string_view import_secret_headers = "cdi.kubevirt.io/storage.import.secretExtraHeaders.";
inline constexpr std::string_view import_method = "cdi.kubevirt.io/storage.import.registryImportMethod";
inline constexpr std::string_view import_architecture = "cdi.kubevirt.io/storage.import.registryImageArchitecture";
inline constexpr std::string_view import_pod = "cdi.kubevirt.io/storage.import.importPodName";
inline constexpr std::string_view fatal_error = "cdi.kubevirt.io/storage.import.fatalError";
inline constexpr std::string_view upload_target = "cdi.kubevirt.io/storage.upload.target";
inline constexpr std::string_view upload_pod = "cdi.kubevirt.io/storage.uploadPodName";
inline constexpr std::string_view clone_pod = "cdi.kubevirt.io/storage.sourceClonePodName";
inline constexpr std::string_view populated_for = "cdi.kubevirt.io/storage.populatedFor";
inline constexpr std::string_view prepopulated = "cdi.kubevirt.io/storage.prePopulated";
inline constexpr std::string_view made_for = "cdi.kubevirt.io/createdForDataVolume";
inline constexpr std::string_view adoption = "cdi.kubevirt.io/allowClaimAdoption";
inline constexpr std::string_view clone_type = "cdi.kubevirt.io/cloneType";
inline constexpr std::string_view clone_fallback = "cdi.kubevirt.io/cloneFallbackReason";
inline constexpr std::string_view permissive_clone = "cdi.kubevirt.io/permissiveClone";
inline constexpr std::string_view least_claim_size = "cdi.kubevirt.io/minimumSupportedPvcSize";
inline constexpr std::string_view bind_at_once = "cdi.kubevirt.io/storage.bind.immediate.requested";
inline constexpr std::string_view wanted_digest = "cdi.kubevirt.io/storage.import.sourceDesiredDigest";
inline constexpr std::string_view last_cron_time = "cdi.kubevirt.io/storage.import.lastCronTime";
inline constexpr std::string_view next_cron_time = "cdi.kubevirt.io/storage.import.nextCronTime";
inline constexpr std::string_view last_use_time = "cdi.kubevirt.io/storage.import.lastUseTime";
inline constexpr std::string_view clone_request = "k8s.io/CloneRequest";
inline constexpr std::string_view clone_of = "k8s.io/CloneOf";
// Ours, of a volume: what the folder of its claim was seen to hold (promise.h).
inline constexpr std::string_view holds = "virtgate.io/holds";
// Ours: which failure of the job was counted last.
inline constexpr std::string_view counted_failure = "virtgate.io/counted-failure";
}  // namespace mark

}  // namespace vg::controllers::storage
