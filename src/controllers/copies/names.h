// Names of what snapshots, restores, clones and exports make (spec copies 1.3).
#pragma once

#include <string>
#include <string_view>

namespace vg::controllers::copies {

// NAME(base, suffix): "base-suffix", shortened to a label with a hash where it would be longer.
std::string joined_name(std::string_view base, std::string_view suffix);

std::string content_name(std::string_view snapshot_uid);
std::string volume_snapshot_name(std::string_view snapshot_uid, std::string_view volume);
// The image record that a volume snapshot stands for: nobody can name one of another namespace.
std::string record_name(std::string_view ns, std::string_view volume_snapshot);
// Of a Node, "true": its handler copies the disks of running guests (SNAP-71). Others are not asked: guests that are
// made up, or run elsewhere, do not write what this machine keeps.
inline constexpr std::string_view copies_disks_annotation = "virtgate.io/copies-disks";
// A copy of a record that a claim can be given at once (RST-71). No record of a snapshot has such a name.
std::string staged_name(std::string_view record);
bool is_staged_name(std::string_view record);
// The volume that stands for what a VM keeps of its firmware.
std::string state_volume_name(std::string_view vm);
// A name as the value of a label, which may not be longer than 63 characters (spec copies Q-23).
std::string label_value(std::string_view name);

std::string export_service_name(std::string_view name);
std::string export_token_name(std::string_view name);

}  // namespace vg::controllers::copies
