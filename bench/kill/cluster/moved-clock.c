// Moves the clock of the processes that load it (LD_PRELOAD) by the milliseconds in the file that MOVED_CLOCK names, a 64-bit integer
// that may change at any time. Only the time of day moves: timers and timeouts use another clock.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *moved_ms;

__attribute__((constructor)) static void open_moved_clock(void) {
  const char *path = getenv("MOVED_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *shared = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (shared != MAP_FAILED) moved_ms = shared;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (result != 0 || !moved_ms || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  int64_t ns = now->tv_nsec + *moved_ms % 1000 * 1000000;
  int64_t carry = ns < 0 ? -1 : ns / 1000000000;
  now->tv_sec += *moved_ms / 1000 + carry;
  now->tv_nsec = ns - carry * 1000000000;
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec exact;
  if (!now) return 0;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now) *now = exact.tv_sec;
  return exact.tv_sec;
}
