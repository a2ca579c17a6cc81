// Faults of disk and clock for one process, switched from outside while it runs: loaded with LD_PRELOAD, steered by the
// words of a file that is mapped before the process confines itself (VIRTGATE_FAULTS names it).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile struct {
  int64_t clock_step_s;  // added to the wall clock; the steady clock goes on
  int64_t sync_hangs;    // while it is not 0, no sync of a file returns
  int64_t disk_full;     // while it is not 0, no file becomes longer
  int64_t frozen;        // while it is not 0, nothing that changes a file or a folder of this device returns
} *faults;

__attribute__((constructor)) static void map_faults(void) {
  const char *path = getenv("VIRTGATE_FAULTS");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof *faults, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) faults = mapped;
  close(fd);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void pause_a_moment(void) {
  const struct timespec pause = {0, 5 * 1000 * 1000};
  nanosleep(&pause, NULL);
}
static void wait_while_frozen(int fd) {
  struct stat found;
  if (!faults || !faults->frozen || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return;
  while (faults->frozen == (int64_t)found.st_dev) pause_a_moment();
}
static void wait_while_folder_frozen(const char *path) {
  if (!faults || !faults->frozen) return;
  char folder[4096] = ".";
  const char *end = strrchr(path, '/');
  if (end && (size_t)(end - path) < sizeof folder - 1) {
    memcpy(folder, path, (size_t)(end - path) + 1);
    folder[end - path + 1] = 0;
  }
  struct stat found;
  if (stat(folder, &found) != 0) return;
  while (faults->frozen == (int64_t)found.st_dev) pause_a_moment();
}
int rename(const char *from, const char *to) {
  wait_while_folder_frozen(to);
  return REAL(rename)(from, to);
}
int unlink(const char *path) {
  wait_while_folder_frozen(path);
  return REAL(unlink)(path);
}
int mkdir(const char *path, mode_t mode) {
  wait_while_folder_frozen(path);
  return REAL(mkdir)(path, mode);
}
static mode_t wait_to_open(const char *path, int flags, va_list rest) {
  if (!(flags & O_CREAT)) return 0;
  wait_while_folder_frozen(path);
  return va_arg(rest, mode_t);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = wait_to_open(path, flags, rest);
  va_end(rest);
  return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = wait_to_open(path, flags, rest);
  va_end(rest);
  return REAL(open64)(path, flags, mode);
}

static void wait_for_disk(int fd) {
  wait_while_frozen(fd);
  while (faults && faults->sync_hangs) pause_a_moment();
}
int fsync(int fd) {
  wait_for_disk(fd);
  return REAL(fsync)(fd);
}
int fdatasync(int fd) {
  wait_for_disk(fd);
  return REAL(fdatasync)(fd);
}

// Whether a full disk refuses that the file ends at `end`. On one that is frozen nobody is told.
static int is_refused(int fd, off64_t end) {
  struct stat found;
  wait_while_frozen(fd);
  if (!faults || !faults->disk_full || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || end <= found.st_size) return 0;
  errno = ENOSPC;
  return 1;
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
  return is_refused(fd, at + (off64_t)size) ? -1 : REAL(pwrite64)(fd, from, size, at);
}
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
  return is_refused(fd, at + (off64_t)size) ? -1 : REAL(pwrite)(fd, from, size, at);
}
ssize_t write(int fd, const void *from, size_t size) {
  if (faults && (faults->disk_full || faults->frozen) && is_refused(fd, lseek64(fd, 0, SEEK_CUR) + (off64_t)size)) return -1;
  return REAL(write)(fd, from, size);
}
int ftruncate64(int fd, off64_t end) { return is_refused(fd, end) ? -1 : REAL(ftruncate64)(fd, end); }
int ftruncate(int fd, off_t end) { return is_refused(fd, end) ? -1 : REAL(ftruncate)(fd, end); }
int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  return is_refused(fd, at + size) ? -1 : REAL(fallocate64)(fd, mode, at, size);
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  return is_refused(fd, at + size) ? -1 : REAL(fallocate)(fd, mode, at, size);
}
int posix_fallocate64(int fd, off64_t at, off64_t size) {
  return is_refused(fd, at + size) ? ENOSPC : REAL(posix_fallocate64)(fd, at, size);
}
int posix_fallocate(int fd, off_t at, off_t size) {
  return is_refused(fd, at + size) ? ENOSPC : REAL(posix_fallocate)(fd, at, size);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = REAL(clock_gettime);
  const int result = real(clock, now);
  if (result == 0 && faults && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += faults->clock_step_s;
  return result;
}
time_t time(time_t *into) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict into, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1000;
  return 0;
}
