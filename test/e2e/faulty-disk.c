// A disk that is slow or fails, for one process: loaded before libc (LD_PRELOAD), it stands in for fsync and fdatasync.
// The file named by FAULTY_DISK says how: "slow MILLISECONDS" or "fail"; empty, the disk is well. Only what SQLite logs
// (files that end in -wal) is concerned.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_log(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  return length >= 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static int sync_badly(int fd, const char *name) {
  const char *control = getenv("FAULTY_DISK");
  FILE *file = control != NULL && is_log(fd) ? fopen(control, "r") : NULL;
  char fault[64] = "";
  if (file != NULL) {
    if (fgets(fault, sizeof fault, file) == NULL) fault[0] = 0;
    fclose(file);
  }
  if (strncmp(fault, "slow ", 5) == 0) usleep(atoi(fault + 5) * 1000);
  if (strncmp(fault, "fail", 4) == 0) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}

int fsync(int fd) { return sync_badly(fd, "fsync"); }
int fdatasync(int fd) { return sync_badly(fd, "fdatasync"); }
