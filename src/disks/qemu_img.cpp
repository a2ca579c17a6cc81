#include "disks/qemu_img.h"

#include <cstdlib>

#include "base/disk_limits.h"
#include "base/log.h"
#include "disks/program.h"

namespace vg::disks {
namespace {

struct Command {
  std::vector<std::string> words;  // between the name of the command and the image
  std::vector<std::string> after = {};
  std::int64_t bytes_max = 0;  // that it may write
  std::chrono::milliseconds time_max;
  std::uint64_t cpu_seconds, memory_bytes;
  std::function<bool(std::string_view)> take = nullptr;
};

// Every call: the format is stated, and everything is bounded. What it prints is bounded by run().
Outcome<Ended> run_on(const CheckedImage& image, Command command) {
  std::vector<std::string> words{"qemu-img"};
  words.insert(words.end(), command.words.begin(), command.words.end());
  words.insert(words.end(), {"-f", std::string(name_of(image.format())), image.file()});
  words.insert(words.end(), command.after.begin(), command.after.end());
  auto ended = run({.command = std::move(words),
                    .folder = image.folder(),
                    .bytes_max = command.bytes_max,
                    .cpu_seconds = command.cpu_seconds,
                    .memory_bytes = command.memory_bytes,
                    .time_max = command.time_max,
                    .take = std::move(command.take)});
  if (ended && ended->code != 0)
    log::warning(
        "qemu-img refused an image",
        {{"command", command.words.front()}, {"format", name_of(image.format())}, {"reason", complaint(*ended)}});
  return ended;
}

std::unexpected<Failure> is_damaged(const CheckedImage& image, const Ended& ended) {
  return failed(DiskError::bad_image,
                ended.timed_out ? "the image cannot be read: it took too long"
                                : fmt::format("the image cannot be read: it is damaged, or not {} as its header says",
                                              name_of(image.format())));
}

// "    (12.34/100%)" is what qemu-img tells, over and over on one line.
int told_progress(std::string_view text) {
  const std::size_t end = text.rfind("/100%");
  const std::size_t begin = end == std::string_view::npos ? end : text.rfind('(', end);
  if (begin == std::string_view::npos) return -1;
  return static_cast<int>(std::strtod(std::string(text.substr(begin + 1, end - begin - 1)).c_str(), nullptr) * 100);
}

}  // namespace

Outcome<CheckedImage> CheckedImage::look(int folder, const std::string& file, TakenFormats taken) {
  const auto head = read_head(folder, file, limits::image_head_bytes);
  if (!head) return std::unexpected(head.error());
  const ImageFormat format = format_of(*head);
  if (taken == TakenFormats::of_container_disks && format != ImageFormat::raw && format != ImageFormat::qcow2)
    return failed(DiskError::bad_image,
                  fmt::format("the disk of the image is {}: must be raw or qcow2", name_of(format)));
  if (auto checked = check_head(format, *head); !checked) return std::unexpected(checked.error());
  return CheckedImage(folder, file.starts_with('/') ? file : "./" + file, format);
}

Outcome<std::int64_t> virtual_size(const CheckedImage& image) {
  // Guests may have the disk of a container disk open.
  const auto ended = run_on(image, {.words = {"info", "--output=json", "-U"},
                                    .time_max = limits::image_info_time_max,
                                    .cpu_seconds = limits::image_info_cpu_seconds_max,
                                    .memory_bytes = limits::image_info_memory_bytes_max});
  if (!ended) return std::unexpected(ended.error());
  if (ended->code != 0) return is_damaged(image, *ended);
  return judge_info(ended->output, image.format());
}

Outcome<> convert_to_raw(const CheckedImage& image, std::int64_t size, const Progress& progress) {
  const auto bytes = static_cast<std::uint64_t>(size);
  const auto ended = run_on(
      image, {.words = {"convert", "-p", "-O", "raw"},
              .after = {new_image_file},
              .bytes_max = size,
              .time_max =
                  limits::image_convert_time_min + std::chrono::seconds(bytes / limits::image_convert_bytes_per_second),
              .cpu_seconds = limits::disk_program_cpu_seconds_min + bytes / limits::disk_bytes_per_cpu_second_min,
              .memory_bytes = limits::disk_program_memory_bytes_max,
              .take = [&](std::string_view text) {
                if (const int told = told_progress(text); told >= 0) progress(told);
                return true;
              }});
  if (!ended) return std::unexpected(ended.error());
  if (ended->errors.contains("No space left")) return failed(DiskError::no_space, std::string(too_small_for_image));
  if (ended->wrote_too_much()) return failed(DiskError::too_small, std::string(too_small_for_image));
  if (ended->code != 0) return is_damaged(image, *ended);
  return {};
}

}  // namespace vg::disks
