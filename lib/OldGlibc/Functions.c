// SPDX-License-Identifier: Apache-2.0
// What the archives that are linked in take from the C library they were
// compiled with, and older ones do not have. All of it is hidden: each library
// and program keeps its own. The names are given to the assembler, so that no
// declaration of the C library's headers is in the way.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSTEAD_OF(name) __asm__(name) __attribute__((visibility("hidden")))

// From 2.32: whether there is one thread only. No is always right.
extern char singleThreaded INSTEAD_OF("__libc_single_threaded");
char singleThreaded = 0;

// From 2.33 functions; before that, inline calls of __xstat, which later ones
// keep for old programs alone. The kernel's structure is that of the C library.
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "struct stat of this machine has to be looked at"
#endif
static int statAt(const char *path, void *status, int flags) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, flags);
}
int statPath(const char *path, void *status) INSTEAD_OF("stat");
int statPath(const char *path, void *status) { return statAt(path, status, 0); }
int statPath64(const char *path, void *status) INSTEAD_OF("stat64");
int statPath64(const char *path, void *status) {
  return statAt(path, status, 0);
}
int statLink(const char *path, void *status) INSTEAD_OF("lstat");
int statLink(const char *path, void *status) {
  return statAt(path, status, AT_SYMLINK_NOFOLLOW);
}
int statLink64(const char *path, void *status) INSTEAD_OF("lstat64");
int statLink64(const char *path, void *status) {
  return statAt(path, status, AT_SYMLINK_NOFOLLOW);
}
int statFile(int file, void *status) INSTEAD_OF("fstat");
int statFile(int file, void *status) {
  return (int)syscall(SYS_fstat, file, status);
}
int statFile64(int file, void *status) INSTEAD_OF("fstat64");
int statFile64(int file, void *status) {
  return (int)syscall(SYS_fstat, file, status);
}
int makeNode(const char *path, mode_t mode, dev_t device) INSTEAD_OF("mknod");
int makeNode(const char *path, mode_t mode, dev_t device) {
  return (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, (unsigned)device);
}

// From 2.33: mallinfo with wider numbers.
struct MallocInfo {
  size_t arena, ordblks, smblks, hblks, hblkhd;
  size_t usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct MallocInfo mallocInfo(void) INSTEAD_OF("mallinfo2");
struct MallocInfo mallocInfo(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo info = mallinfo();
#pragma GCC diagnostic pop
  // Beyond 4 GiB they are wrong, as those of mallinfo always were.
  struct MallocInfo wide = {
      (unsigned)info.arena,    (unsigned)info.ordblks,  (unsigned)info.smblks,
      (unsigned)info.hblks,    (unsigned)info.hblkhd,   (unsigned)info.usmblks,
      (unsigned)info.fsmblks,  (unsigned)info.uordblks, (unsigned)info.fordblks,
      (unsigned)info.keepcost,
  };
  return wide;
}

// From 2.36.
uint32_t randomNumber(void) INSTEAD_OF("arc4random");
uint32_t randomNumber(void) {
  uint32_t number;
  ssize_t got;
  do
    got = getrandom(&number, sizeof(number), 0);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof(number))
    abort();
  return number;
}

// From 2.35: where the tables for exceptions are that belong to an address.
// GCC's unwinder asks nothing else, if it was compiled with such a C library.
#ifdef DLFO_EH_SEGMENT_TYPE
struct Search {
  uintptr_t address;
  struct dl_find_object *found;
};

// The unwinder reads the offset of the object in it and nothing else.
static __thread struct link_map offsetOfFound;

static int lookInto(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct Search *search = data;
  uintptr_t start = 0, end = 0;
  void *tables = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = info->dlpi_phdr + i;
    uintptr_t first = info->dlpi_addr + header->p_vaddr;
    uintptr_t last = first + header->p_memsz;
    if (header->p_type == PT_LOAD && first <= search->address &&
        search->address < last) {
      start = first;
      end = last;
    }
    if (header->p_type == DLFO_EH_SEGMENT_TYPE)
      tables = (void *)first;
  }
  if (end == 0)
    return 0;
  if (!tables)
    return -1;
  offsetOfFound.l_addr = info->dlpi_addr;
  *search->found = (struct dl_find_object){
      .dlfo_map_start = (void *)start,
      .dlfo_map_end = (void *)end,
      .dlfo_link_map = &offsetOfFound,
      .dlfo_eh_frame = tables,
  };
  return 1;
}

int findObject(void *address, struct dl_find_object *found)
    INSTEAD_OF("_dl_find_object");
int findObject(void *address, struct dl_find_object *found) {
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(lookInto, &search) == 1 ? 0 : -1;
}
#endif
