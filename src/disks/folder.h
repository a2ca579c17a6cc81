// The folder of all disks: NAMESPACE/CLAIM/ for claims, .records/NAME/ for image records, .released/NAME/ for what was
// retained, and for what was in the way of a new claim and no volume tells of: it is for a person to decide about.
// Names come from objects of the API: they are checked, opened one step at a time, and never followed through a
// symbolic link.
//
// In the folder of a claim or record are the image (disk.img), a note (note.json), and whatever is not whole yet, whose
// names begin with ".part". A note is written after the image has its name: what it says is there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/disk_limits.h"
#include "base/tree.h"
#include "disks/outcome.h"
#include "ports/disk_agent.h"

namespace vg::disks {

inline constexpr mode_t file_mode = 0600;  // of every file there
inline constexpr const char* image_file = "disk.img";
inline constexpr const char* unpacked_folder = "data";  // of archives
inline constexpr const char* note_file = "note.json";
inline constexpr const char* part_prefix = ".part";
inline constexpr const char* download_file = ".download";  // stays after a failure: the next attempt goes on there
inline constexpr const char* download_note_file = ".download.json";
inline constexpr const char* scratch_folder = ".scratch";  // of jobs that are about no claim
inline constexpr const char* upload_file = ".part-upload";

struct Note {
  std::string uid = {};
  std::int64_t capacity = 0;
  std::string filled_by = {};
  std::int64_t created_ms = 0;  // of a record
};

// Of an open folder.
Outcome<Note> read_note(int folder);
Outcome<> write_note(int folder, const Note& note);
std::int64_t size_of_image(int folder);  // 0: there is none
Outcome<> sync(int descriptor, std::string_view what);
using vg::names_in;
// base/tree.h
Outcome<> remove_tree(int parent, const std::string& name,
                      std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() +
                                                                    limits::tree_removal_time_max);

class DiskFolder {
 public:
  // Makes it where it is missing. `reserve`: what nobody may write, so that the store has room.
  static Outcome<DiskFolder> open(const std::string& path, std::int64_t reserve = limits::disk_reserve_bytes);

  Outcome<Descriptor> claim(const DiskClaimName& name) const;
  Outcome<Descriptor> make_claim(const DiskClaimName& name) const;
  Outcome<> remove_claim(const DiskClaimName& name) const;
  // Out of the way, and not looked at again by this program until it is removed.
  Outcome<> retain_claim(const DiskClaimName& name, const std::string& as) const;
  // Whatever was put out of the way of the claim with this uid.
  Outcome<> remove_retained(const std::string& uid) const;
  Outcome<Descriptor> record(const std::string& name) const;
  Outcome<Descriptor> make_record(const std::string& name) const;
  Outcome<> remove_record(const std::string& name) const;

  // For a job that is about no claim; gone at the next start.
  Outcome<Descriptor> make_scratch(const std::string& name) const;
  Outcome<> remove_scratch(const std::string& name) const;

  // `seen`: called for each of them, since a look at many may take long.
  std::vector<std::pair<DiskClaimName, DiskClaim>> claims(const std::function<void()>& seen = [] {}) const;
  std::vector<std::pair<std::string, ImageRecord>> records() const;
  // What a process that ended left half done; if that is very much, the rest is left for the next time.
  void clear_unfinished() const;
  // What may still be written, the reserve left aside; never negative.
  std::int64_t free_bytes() const;

  int descriptor() const { return root_.get(); }
  // It is still what that path leads to: nothing was mounted over it, and nobody put another one in its place.
  bool is_at(const std::string& path) const;

 private:
  DiskFolder(Descriptor root, std::int64_t reserve) : root_(std::move(root)), reserve_(reserve) {}
  Descriptor root_;
  std::int64_t reserve_;
};

// Everything that is not whole yet, as far as there is time.
void clear_parts_of(int folder, std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() +
                                                                              limits::tree_removal_time_max);
// A failure while a hypervisor has the image open: a guest may run that no VMI tells of.
Outcome<> check_closed(int folder);
DiskClaim describe_claim(int folder);
ImageRecord describe_record(int folder);

}  // namespace vg::disks
