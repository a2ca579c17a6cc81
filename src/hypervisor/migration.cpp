#include "hypervisor/migration.h"

#include <unistd.h>

#include <utility>

#include "hypervisor/libvirt_handles.h"
#include "hypervisor/relay.h"
#include "hypervisor/unattended.h"

namespace vg::hypervisor {

unsigned migration_flags(const MigrationRequest& request) {
  const std::pair<bool, unsigned> table[] = {
      {true, VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER | VIR_MIGRATE_PERSIST_DEST},
      {request.non_shared_inc, VIR_MIGRATE_NON_SHARED_INC},
      {request.unsafe, VIR_MIGRATE_UNSAFE},
      {request.auto_converge, VIR_MIGRATE_AUTO_CONVERGE},
      {request.postcopy, VIR_MIGRATE_POSTCOPY},
      {request.paused, VIR_MIGRATE_PAUSED},
      {request.parallel > 0, VIR_MIGRATE_PARALLEL},
      {request.compressed, VIR_MIGRATE_COMPRESSED},
  };
  unsigned flags = 0;
  for (const auto& [wanted, flag] : table)
    if (wanted) flags |= flag;
  return flags;
}

void put_migration(const MigrationRequest& request, Parameters& parameters) {
  parameters.text(VIR_MIGRATE_PARAM_URI, request.migrate_uri);
  parameters.text(VIR_MIGRATE_PARAM_DISKS_URI, request.disks_uri);
  parameters.text(VIR_MIGRATE_PARAM_DEST_NAME, request.destination_name);
  parameters.text(VIR_MIGRATE_PARAM_DEST_XML, request.destination_xml);
  parameters.text(VIR_MIGRATE_PARAM_PERSIST_XML, request.destination_xml);
  parameters.number(VIR_MIGRATE_PARAM_BANDWIDTH, request.bandwidth_mib);
  parameters.integer(VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS, static_cast<int>(request.parallel));
  for (const std::string& disk : request.disks) {
    parameters.text(VIR_MIGRATE_PARAM_MIGRATE_DISKS, disk);
#if LIBVIR_VERSION_NUMBER >= 10009000
    parameters.text(VIR_MIGRATE_PARAM_MIGRATE_DISKS_DETECT_ZEROES, disk);
#endif
  }
  if (request.compressed) parameters.text(VIR_MIGRATE_PARAM_COMPRESSION, "zstd");
}

std::string Parameters::value_of(std::string_view name) const {
  for (int i = 0; i < count_; ++i)
    if (name == list_[i].field && list_[i].type == VIR_TYPED_PARAM_STRING) return list_[i].value.s;
  return "";
}

namespace {

void remove_sockets(const std::vector<SocketLink>& links) {
  for (const SocketLink& link : links)
    for (const std::string& path : {link.there, link.here}) ::unlink(path.c_str());
}

// The destination listens before it answers the request to prepare, and only then somebody connects. Another name of a
// socket is as good as the first: what is sent does not go through this process.
void link_sockets(const std::vector<SocketLink>& links) {
  for (const SocketLink& link : links) (void)::link(link.there.c_str(), link.here.c_str());
}

}  // namespace

Result<void> migrate_domain(virDomainPtr domain, const MigrationRequest& request) {
  constexpr std::string_view mark = "socket=";
  const auto at = request.destination_uri.find(mark);
  if (at == std::string::npos) return fail(Status::internal_error("the destination of a migration has no socket"));
  const std::string way = request.destination_uri.substr(0, at + mark.size()) + request.relay;
  remove_sockets(request.links);
  const auto relay = Relay::open(request.relay, request.destination_uri.substr(at + mark.size()),
                                 [&request] { link_sockets(request.links); });
  if (!relay) return fail(relay.error());
  Parameters parameters;
  put_migration(request, parameters);
  auto over = done(virDomainMigrateToURI3(domain, way.c_str(), parameters.list(),
                                          static_cast<unsigned>(parameters.count()), migration_flags(request)));
  remove_sockets(request.links);
  return over;
}

Result<void> release_cancelled_migration(virDomainPtr domain) {
  char* text = nullptr;
  const int code = virDomainQemuMonitorCommand(domain, std::string(go_on_command).c_str(), &text,
                                               VIR_DOMAIN_QEMU_MONITOR_COMMAND_DEFAULT);
  const Text answer(text);
  if (code != 0 || !answer) return fail(libvirt_error());
  std::string state;
  const auto read = read_line(answer.get(), state);
  return read ? Result<void>() : Result<void>(fail(read.error()));
}

Result<JobProgress> job_progress(virDomainPtr domain) {
  int type = 0, count = 0;
  virTypedParameterPtr list = nullptr;
  if (virDomainGetJobStats(domain, &type, &list, &count, 0) != 0) return fail(libvirt_error());
  JobProgress progress{.active = type == VIR_DOMAIN_JOB_BOUNDED || type == VIR_DOMAIN_JOB_UNBOUNDED};
  unsigned long long downtime = 0;
  const auto read = [&](const char* name, auto& value) {
    unsigned long long number = 0;
    if (virTypedParamsGetULLong(list, count, name, &number) == 1) value = number;
  };
  read(VIR_DOMAIN_JOB_DATA_TOTAL, progress.total);
  read(VIR_DOMAIN_JOB_DATA_PROCESSED, progress.processed);
  read(VIR_DOMAIN_JOB_DATA_REMAINING, progress.remaining);
  if (progress.total == 0) {  // a copy of disks has no memory to tell of
    read(VIR_DOMAIN_JOB_DISK_TOTAL, progress.total);
    read(VIR_DOMAIN_JOB_DISK_PROCESSED, progress.processed);
  }
  read(VIR_DOMAIN_JOB_MEMORY_BPS, progress.memory_bps);
  read(VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE, progress.dirty_rate_pages);
  read(VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE, progress.page_bytes);
  read(VIR_DOMAIN_JOB_DOWNTIME, downtime);
  progress.downtime = std::chrono::milliseconds(downtime);
  virTypedParamsFree(list, count);
  return progress;
}

}  // namespace vg::hypervisor
