// SPDX-License-Identifier: Apache-2.0
// Programs: where they start. Since glibc 2.34 the C library runs the
// constructors of a program. Before, the program did, in a function that it
// gave to __libc_start_main; crt1.o of a new C library gives none. There is one
// here, and __libc_start_main of the old version runs it, in old ones and new
// ones.

typedef void (*Constructor)(int, char **, char **);
typedef int (*Main)(int, char **, char **);

#define HIDDEN __attribute__((visibility("hidden")))
extern Constructor __preinit_array_start[] HIDDEN, __preinit_array_end[] HIDDEN;
extern Constructor __init_array_start[] HIDDEN, __init_array_end[] HIDDEN;
extern void _init(void);

static void runConstructors(int argc, char **argv, char **environment) {
  for (Constructor *each = __preinit_array_start; each < __preinit_array_end;
       ++each)
    (*each)(argc, argv, environment);
  _init();
  for (Constructor *each = __init_array_start; each < __init_array_end; ++each)
    (*each)(argc, argv, environment);
}

int startOfLibrary(Main, int, char **, Constructor, void (*)(void),
                   void (*)(void), void *);
__asm__(".symver startOfLibrary, __libc_start_main@" FA3_FIRST_GLIBC);

int start(Main, int, char **, Constructor, void (*)(void), void (*)(void),
          void *) __asm__("__libc_start_main") HIDDEN;
int start(Main program, int argc, char **argv, Constructor init,
          void (*fini)(void), void (*endOfLoader)(void), void *endOfStack) {
  (void)init;
  return startOfLibrary(program, argc, argv, runConstructors, fini, endOfLoader,
                        endOfStack);
}
