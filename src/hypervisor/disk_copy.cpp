#include "hypervisor/disk_copy.h"

#include <fmt/format.h>

namespace vg::hypervisor {
namespace {

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    switch (c) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '\'':
        made += "&apos;";
        break;
      default:
        made += c;
    }
  }
  return made;
}

// The numbers of the last job that is over; each is read once.
struct CompletedJob {
  CompletedJob(virDomainPtr domain) {  // NOLINT: a question
    known = virDomainGetJobStats(domain, &type, &list, &count, VIR_DOMAIN_JOB_STATS_COMPLETED) == 0;
  }
  ~CompletedJob() { virTypedParamsFree(list, count); }
  CompletedJob(const CompletedJob&) = delete;
  CompletedJob& operator=(const CompletedJob&) = delete;

  bool was_copy() const {
    int operation = 0;
    return known && virTypedParamsGetInt(list, count, VIR_DOMAIN_JOB_OPERATION, &operation) == 1 &&
           operation == VIR_DOMAIN_JOB_OPERATION_BACKUP;
  }
  bool succeeded() const {
    int success = 0;
    if (virTypedParamsGetBoolean(list, count, VIR_DOMAIN_JOB_SUCCESS, &success) == 1) return success != 0;
    return type == VIR_DOMAIN_JOB_COMPLETED;
  }
  std::string message() const {
    const char* text = nullptr;
    return virTypedParamsGetString(list, count, VIR_DOMAIN_JOB_ERRMSG, &text) == 1 && text
               ? text
               : "the copy was aborted, or the VMI has stopped";
  }

  int type = 0, count = 0;
  virTypedParameterPtr list = nullptr;
  bool known = false;
};

}  // namespace

std::string copy_document(const std::vector<DiskCopy>& disks) {
  std::string text = "<domainbackup mode='push'><disks>";
  for (const DiskCopy& disk : disks)
    text += fmt::format("<disk name='{}' type='file' backup='yes'><driver type='raw'/><target file='{}'/></disk>",
                        escaped(disk.target), escaped(disk.file));
  return text + "</disks></domainbackup>";
}

Result<void> begin_disk_copy(virDomainPtr domain, const std::vector<DiskCopy>& disks) {
  const CompletedJob before(domain);  // so that it is not taken for this one
  return done(virDomainBackupBegin(domain, copy_document(disks).c_str(), nullptr, 0));
}

Result<void> disk_copy_result(virDomainPtr domain) {
  const CompletedJob job(domain);
  if (!job.known) return fail(libvirt_error());
  if (!job.was_copy()) return fail(Status::internal_error("nothing is known of how the copy of the disks ended"));
  if (!job.succeeded()) return fail(Status::internal_error(job.message()));
  return {};
}

}  // namespace vg::hypervisor
