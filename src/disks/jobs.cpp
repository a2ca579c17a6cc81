#include "disks/jobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/disk_limits.h"
#include "disks/copy.h"
#include "disks/fetch.h"
#include "disks/live_copy.h"
#include "disks/outcome.h"
#include "disks/program.h"
#include "disks/room.h"

namespace vg::disks {
namespace {

struct Context {
  const DiskFolder& disks;
  const DiskJob& job;
  std::chrono::system_clock::time_point now;
  const Progress& progress;
};

// Not open when there is none.
Outcome<Descriptor> open_image(int folder) {
  Descriptor image(::openat(folder, image_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!image && errno != ENOENT) return system_failed("the image cannot be opened");
  return image;
}

Outcome<Descriptor> new_image(int folder) {
  ::unlinkat(folder, new_image_file, 0);
  Descriptor image(::openat(folder, new_image_file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, image_mode));
  if (!image || ::fchmod(image.get(), image_mode) != 0) return system_failed("an image cannot be made");
  return image;
}

// The claim's folder, if it is still the one that the job is for.
Outcome<Descriptor> own_claim(const Context& at) {
  auto folder = at.disks.claim(at.job.claim);
  if (!folder) return folder;
  const auto note = read_note(folder->get());
  if (!note) return std::unexpected(note.error());
  if (!at.job.claim_uid.empty() && note->uid != at.job.claim_uid)
    return failed(DiskError::other, "the claim was replaced by another one of the same name");
  return folder;
}

Outcome<> put_in_place(int folder, const char* made, const char* name) {
  if (auto removed = name == std::string_view(unpacked_folder) ? remove_tree(folder, name) : Outcome<>(); !removed)
    return removed;
  if (::renameat(folder, made, folder, name) != 0) return system_failed("the image cannot be put in its place");
  return sync(folder, "the folder of a claim");
}

// The last step of everything that fills a claim.
Outcome<> note_filled(const Context& at, int folder) {
  auto note = read_note(folder);
  if (!note) return std::unexpected(note.error());
  note->filled_by = at.job.id;
  return write_note(folder, *note);
}

// From here on the image is there.
Outcome<> settle(const Context& at, int folder, const char* made, const char* name) {
  auto placed = put_in_place(folder, made, name);
  return placed ? note_filled(at, folder) : placed;
}

Outcome<> settle_image(const Context& at, int folder, const ImageTarget& target) {
  return target.archive ? settle(at, folder, new_unpacked_folder, unpacked_folder)
                        : settle(at, folder, new_image_file, image_file);
}

// STO-06
Outcome<> check_room(const Context& at, std::int64_t bytes) {
  if (bytes <= at.disks.free_bytes()) return {};
  return failed(DiskError::no_space, fmt::format("the disk of this host has no room for {} bytes", bytes));
}

Outcome<> copy_into(const Context& at, int from, int to, std::int64_t size, std::int64_t capacity) {
  struct stat info{};
  if (::fstat(from, &info) != 0) return system_failed("an image cannot be read");
  if (capacity > 0 && info.st_size > capacity)
    return failed(DiskError::too_small, "DataVolume too small to contain image");
  const auto bytes = data_bytes(from);
  if (!bytes) return std::unexpected(bytes.error());
  if (auto room = check_room(at, *bytes); !room) return room;
  auto copied = copy_image(from, to, [&](std::int64_t done) {
    at.progress(
        static_cast<int>(10000.0 * static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, *bytes))));
  });
  return copied ? finish_image(to, size, false) : copied;
}

Outcome<> copy_unpacked(const Context& at, int source, int folder) {
  const Descriptor from(::openat(source, unpacked_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!from) return errno == ENOENT ? Outcome<>() : system_failed("the data cannot be opened");
  if (auto removed = remove_tree(folder, new_unpacked_folder); !removed) return removed;
  if (::mkdirat(folder, new_unpacked_folder, 0755) != 0) return system_failed("a folder cannot be made");
  const Descriptor to(::openat(folder, new_unpacked_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!to) return system_failed("a folder cannot be opened");
  if (auto copied = copy_tree(from.get(), to.get(), at.disks.free_bytes()); !copied) return copied;
  return put_in_place(folder, new_unpacked_folder, unpacked_folder);
}

// All that a claim or record holds: an image, the files of an archive, or nothing when nobody has written to it yet.
Outcome<> copy_content(const Context& at, int source, int folder, std::int64_t size, std::int64_t capacity) {
  if (auto copied = copy_unpacked(at, source, folder); !copied) return copied;
  const auto from = open_image(source);
  if (!from) return std::unexpected(from.error());
  if (!*from) return {};
  const auto to = new_image(folder);
  if (!to) return std::unexpected(to.error());
  if (auto done = copy_into(at, from->get(), to->get(), size, capacity); !done) return done;
  return put_in_place(folder, new_image_file, image_file);
}

// Out of the way of a new claim of that name: among what was retained if there is anything in it.
Outcome<> keep_aside(const Context& at, int folder, const Outcome<Note>& note) {
  if (describe_claim(folder).holds.empty()) return at.disks.remove_claim(at.job.claim);
  const std::string whose = note && !note->uid.empty() ? note->uid : std::string("unknown");
  const auto when = std::chrono::duration_cast<std::chrono::milliseconds>(at.now.time_since_epoch()).count();
  return at.disks.retain_claim(at.job.claim, fmt::format("pvc-{}-{}", whose.substr(0, 64), when));
}

// --- one function a kind of work -------------------------------------------------------------------------------------

Outcome<Labels> carry(const Context& at, const CreateClaim& work) {
  if (work.capacity <= 0 || work.capacity > limits::disk_claim_bytes_max)
    return failed(DiskError::no_space, "the claim is larger than any disk");
  if (auto old = at.disks.claim(at.job.claim)) {
    const auto note = read_note(old->get());
    if (note && note->uid == at.job.claim_uid) return Labels();
    // Of a claim that this server does not know, or knows no more: what is in it may be all that there is of it.
    if (auto kept = keep_aside(at, old->get(), note); !kept) return std::unexpected(kept.error());
  }
  if (auto room = check_room(at, work.capacity); !room) return std::unexpected(room.error());
  const auto folder = at.disks.make_claim(at.job.claim);
  if (!folder) return std::unexpected(folder.error());
  if (auto noted = write_note(folder->get(), {.uid = at.job.claim_uid, .capacity = work.capacity}); !noted)
    return std::unexpected(noted.error());
  return Labels();
}

// PVC-04: an image that filled the old size grows with it.
Outcome<Labels> carry(const Context& at, const ResizeClaim& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  auto note = read_note(folder->get());
  if (!note) return std::unexpected(note.error());
  if (work.capacity > limits::disk_claim_bytes_max)
    return failed(DiskError::no_space, "the claim is larger than any disk");
  if (work.capacity <= note->capacity) return Labels();
  if (auto room = check_room(at, work.capacity - note->capacity); !room) return std::unexpected(room.error());
  if (size_of_image(folder->get()) == note->capacity) {
    const Descriptor image(::openat(folder->get(), image_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!image) return system_failed("the image cannot be opened");
    if (auto grown = finish_image(image.get(), work.capacity, false); !grown) return std::unexpected(grown.error());
  }
  note->capacity = work.capacity;
  if (auto noted = write_note(folder->get(), *note); !noted) return std::unexpected(noted.error());
  return Labels();
}

Outcome<Labels> carry(const Context& at, const RemoveClaim& work) {
  Outcome<> removed;
  const auto folder = at.disks.claim(at.job.claim);
  const auto note = folder ? read_note(folder->get()) : failed(DiskError::other, {});
  if (note && note->uid == at.job.claim_uid) {  // else it is another's
    if (!work.retain_as.empty())
      removed = at.disks.retain_claim(at.job.claim, work.retain_as);
    else if (removed = check_closed(folder->get()); removed)
      removed = at.disks.remove_claim(at.job.claim);
  }
  if (removed && work.retain_as.empty()) removed = at.disks.remove_retained(at.job.claim_uid);
  if (!removed) return std::unexpected(removed.error());
  return Labels();
}

Outcome<Labels> carry(const Context& at, const MakeBlankImage& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  // Nothing blank ever takes the place of what is there.
  if (size_of_image(folder->get()) > 0) {
    auto noted = note_filled(at, folder->get());
    return noted ? Outcome<Labels>(Labels()) : std::unexpected(noted.error());
  }
  if (auto room = check_room(at, work.preallocate ? work.size : 0); !room) return std::unexpected(room.error());
  const auto image = new_image(folder->get());
  if (!image) return std::unexpected(image.error());
  if (auto done = finish_image(image->get(), work.size, work.preallocate); !done) return std::unexpected(done.error());
  if (auto done = settle(at, folder->get(), new_image_file, image_file); !done) return std::unexpected(done.error());
  return Labels();
}

Outcome<Labels> copy_to_claim(const Context& at, int source, std::int64_t size) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  const auto note = read_note(folder->get());
  if (auto done = copy_content(at, source, folder->get(), size, note ? note->capacity : 0); !done)
    return std::unexpected(done.error());
  if (auto done = note_filled(at, folder->get()); !done) return std::unexpected(done.error());
  return Labels();
}

Outcome<Labels> carry(const Context& at, const CopyClaim& work) {
  const auto source = at.disks.claim(work.from);
  return source ? copy_to_claim(at, source->get(), work.size) : std::unexpected(source.error());
}

// RST-71: what was staged becomes the image in one step.
Outcome<Labels> adopt_record(const Context& at, int source, const CopyFromRecord& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  if (!read_note(source)) return failed(DiskError::other, "the copy is not whole");
  // One step for each: whatever is killed in between finds it here or there.
  for (const char* name : {image_file, unpacked_folder})
    if (::renameat(source, name, folder->get(), name) != 0 && errno != ENOENT)
      return system_failed("the copy cannot be put in its place");
  if (auto synced = sync(folder->get(), "the folder of a claim"); !synced) return std::unexpected(synced.error());
  if (const Descriptor image(::openat(folder->get(), image_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC)); image)
    if (auto done = finish_image(image.get(), work.size, false); !done) return std::unexpected(done.error());
  if (auto done = note_filled(at, folder->get()); !done) return std::unexpected(done.error());
  (void)at.disks.remove_record(work.record);  // an empty folder, else looked at again at the next start
  return Labels();
}

Outcome<Labels> carry(const Context& at, const CopyFromRecord& work) {
  const auto source = at.disks.record(work.record);
  if (source && work.adopt) return adopt_record(at, source->get(), work);
  return source ? copy_to_claim(at, source->get(), work.size) : std::unexpected(source.error());
}

Outcome<Labels> carry(const Context& at, const ImportHttp& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  const auto remove_download = [&] {
    ::unlinkat(folder->get(), download_file, 0);
    ::unlinkat(folder->get(), download_note_file, 0);
  };
  if (auto done = fetch(folder->get(), work, at.disks.free_bytes(), at.progress); !done) {
    // What is of no use is not kept for the next attempt.
    if (done.error().error != DiskError::other) remove_download();
    return std::unexpected(done.error());
  }
  if (!work.checksum.empty())
    if (auto good = verify(folder->get(), download_file, work.checksum); !good) {
      remove_download();
      return std::unexpected(good.error());
    }
  auto made = make_image(folder->get(), download_file, work.target, at.progress);
  if (made) made = settle_image(at, folder->get(), work.target);
  remove_download();
  if (!made) return std::unexpected(made.error());
  return Labels();
}

Outcome<Labels> carry(const Context& at, const ImportRegistry& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  constexpr const char* disk = ".part-from-registry";
  auto labels = fetch_from_registry(folder->get(), work, disk);
  if (!labels) return labels;
  if (auto made = make_image(folder->get(), disk, work.target, at.progress); !made)
    return std::unexpected(made.error());
  if (auto done = settle_image(at, folder->get(), work.target); !done) return std::unexpected(done.error());
  return labels;
}

Outcome<Labels> carry(const Context& at, const ConvertUpload& work) {
  const auto folder = own_claim(at);
  if (!folder) return std::unexpected(folder.error());
  if (auto made = make_image(folder->get(), upload_file, work.target, at.progress); !made)
    return std::unexpected(made.error());
  if (auto done = settle_image(at, folder->get(), work.target); !done) return std::unexpected(done.error());
  return Labels();
}

// STO-03 (b): what the guest's node writes. The point in time that it is of; nothing when no guest has the disk.
Outcome<std::optional<std::int64_t>> await_live_copy(const Context& at, int folder) {
  while (true) {
    const auto copy = read_live(folder);
    if (!copy || copy->state == LiveCopy::State::unused) return std::nullopt;
    if (copy->state == LiveCopy::State::failed) return failed(DiskError::other, copy->message);
    if (copy->state == LiveCopy::State::done) return copy->at_ms;
    if (copy->silent > limits::live_copy_silence_max)  // SNAP-73
      return failed(DiskError::other, "the node that copied the disk of the running VMI does not answer");
    if (copy->progress >= 0) at.progress(copy->progress);
    std::this_thread::sleep_for(limits::live_copy_look_interval);
  }
}

Outcome<> settle_live_copy(int folder) {
  const Descriptor image(::openat(folder, live_image_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!image) return system_failed("the copy of the disk cannot be opened");
  if (auto sparse = punch_holes(image.get()); !sparse) return sparse;
  if (auto synced = sync(image.get(), "the copy of the disk"); !synced) return synced;
  return put_in_place(folder, live_image_file, image_file);
}

Outcome<std::int64_t> make_copy(const Context& at, int source, int folder) {
  const auto point = await_live_copy(at, folder);
  if (!point) return std::unexpected(point.error());
  auto done = *point ? settle_live_copy(folder) : copy_content(at, source, folder, 0, 0);
  if (!done) return std::unexpected(done.error());
  return point->value_or(std::chrono::duration_cast<std::chrono::milliseconds>(at.now.time_since_epoch()).count());
}

// The note comes last: a record without one is none.
Outcome<Labels> carry(const Context& at, const TakeRecord& work) {
  const auto source = at.disks.claim(at.job.claim);
  if (!source) return std::unexpected(source.error());
  const auto folder = at.disks.make_record(work.record);
  if (!folder) return std::unexpected(folder.error());
  if (read_note(folder->get())) return Labels();  // it was taken before, and records do not change
  const auto made = make_copy(at, source->get(), folder->get());
  if (!made) return std::unexpected(made.error());
  if (auto noted = write_note(folder->get(), {.uid = at.job.claim_uid, .created_ms = *made}); !noted)
    return std::unexpected(noted.error());
  ::unlinkat(folder->get(), live_note_file, 0);
  return Labels();
}

Outcome<Labels> carry(const Context& at, const StageRecord& work) {
  const auto source = at.disks.record(work.record);
  if (!source) return std::unexpected(source.error());
  auto note = read_note(source->get());
  if (!note) return std::unexpected(note.error());
  const auto folder = at.disks.make_record(work.as);
  if (!folder) return std::unexpected(folder.error());
  if (read_note(folder->get())) return Labels();
  if (auto done = copy_content(at, source->get(), folder->get(), 0, 0); !done) return std::unexpected(done.error());
  if (auto noted = write_note(folder->get(), *note); !noted) return std::unexpected(noted.error());
  return Labels();
}

Outcome<Labels> carry(const Context& at, const RemoveRecord& work) {
  if (auto removed = at.disks.remove_record(work.record); !removed) return std::unexpected(removed.error());
  return Labels();
}

// DIC-01
Outcome<Labels> carry(const Context& at, const ReadDigest& work) {
  const auto folder = at.disks.make_scratch(at.job.claim_uid);
  if (!folder) return std::unexpected(folder.error());
  auto digest = digest_in_registry(folder->get(), work.from);
  (void)at.disks.remove_scratch(at.job.claim_uid);  // else at the next start
  if (!digest) return std::unexpected(digest.error());
  return Labels{{"digest", std::move(*digest)}};
}

bool takes_foreign_bytes(const DiskWork& work) {
  return std::holds_alternative<ImportHttp>(work) || std::holds_alternative<ImportRegistry>(work) ||
         std::holds_alternative<ConvertUpload>(work);
}

}  // namespace

JobKind kind_of(const DiskWork& work) {
  if (const auto* blank = std::get_if<MakeBlankImage>(&work))
    return blank->preallocate ? JobKind::copy : JobKind::quick;
  if (const auto* copy = std::get_if<CopyFromRecord>(&work)) return copy->adopt ? JobKind::quick : JobKind::copy;
  if (std::holds_alternative<CreateClaim>(work) || std::holds_alternative<ResizeClaim>(work)) return JobKind::quick;
  if (std::holds_alternative<RemoveClaim>(work) || std::holds_alternative<RemoveRecord>(work)) return JobKind::removal;
  const bool fetches = std::holds_alternative<ImportHttp>(work) || std::holds_alternative<ImportRegistry>(work) ||
                       std::holds_alternative<ReadDigest>(work);
  return fetches ? JobKind::fetch : JobKind::copy;
}

Outcome<Labels> carry_out(const DiskFolder& disks, const DiskJob& job, std::chrono::system_clock::time_point now,
                          const Progress& progress) {
  const Context at{.disks = disks, .job = job, .now = now, .progress = progress};
  auto done = std::visit([&](const auto& work) { return carry(at, work); }, job.work);
  if (!done && takes_foreign_bytes(job.work)) return std::unexpected(in_known_words(std::move(done.error())));
  return done;
}

void clean_up(const DiskFolder& disks, const DiskJob& job) {
  if (const auto* take = std::get_if<TakeRecord>(&job.work)) {
    const auto record = disks.record(take->record);
    if (record && !read_note(record->get())) (void)disks.remove_record(take->record);
    return;
  }
  if (const auto* stage = std::get_if<StageRecord>(&job.work)) {
    const auto record = disks.record(stage->as);
    if (record && !read_note(record->get())) (void)disks.remove_record(stage->as);
    return;
  }
  if (const auto folder = disks.claim(job.claim)) clear_parts_of(folder->get());
}

}  // namespace vg::disks
