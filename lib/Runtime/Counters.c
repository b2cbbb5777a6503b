/*===- Counters.c - integers that kernels share tiles out by --------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel finds its counter 0 and leaves it 0, so that counters of launches go
 * round. A launch in a graph may run again at any time and keeps its own; there
 * are as many of those as are captured.
 *===----------------------------------------------------------------------===*/

#include "Program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  NUM_IN_TURN = 1 << 16,
  NUM_CAPTURED = 1 << 14, /* of one allocation */
  COUNTER_SIZE = 4
};

/* Memory for captured launches beyond the first NUM_CAPTURED. */
typedef struct chunk {
  fa3_device_address memory;
  struct chunk *next;
} chunk;

struct fa3_counters {
  fa3_device_address memory; /* those in turn, then the first captured ones */
  atomic_uint next;
  /* Guards what follows. */
  pthread_mutex_t lock;
  chunk *chunks;
  fa3_device_address captured; /* the next one for a captured launch */
  unsigned num_left;           /* from there on */
};

static int takes_counter(const fa3_program *program) {
  for (size_t i = 0; i < program->num_launches; ++i)
    for (size_t j = 0; j < program->launches[i].num_args; ++j)
      if (program->launches[i].args[j].kind == FA3_KERNEL_COUNTER)
        return 1;
  return 0;
}

fa3_code fa3_counters_create(fa3_program *program, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  if (!takes_counter(program))
    return FA3_OK;
  fa3_counters *counters = calloc(1, sizeof(*counters));
  if (!counters)
    return fa3_fail_memory(status);
  if (pthread_mutex_init(&counters->lock, NULL)) {
    free(counters);
    return fa3_fail_memory(status);
  }
  program->counters = counters;
  const size_t size = (NUM_IN_TURN + NUM_CAPTURED) * COUNTER_SIZE;
  fa3_cu_result result = fa3_allocate_zeros(driver, size, &counters->memory);
  counters->captured = counters->memory + NUM_IN_TURN * COUNTER_SIZE;
  counters->num_left = NUM_CAPTURED;
  return result == FA3_CU_SUCCESS
             ? FA3_OK
             : fa3_driver_fail(driver, result, "allocating memory for counters",
                               status);
}

fa3_cu_result fa3_counters_destroy(fa3_program *program) {
  const fa3_driver *driver = program->driver;
  fa3_counters *counters = program->counters;
  program->counters = NULL;
  if (!counters)
    return FA3_CU_SUCCESS;
  fa3_cu_result result = FA3_CU_SUCCESS;
  if (counters->memory)
    result = driver->memory_free(counters->memory);
  while (counters->chunks) {
    chunk *first = counters->chunks;
    counters->chunks = first->next;
    fa3_cu_result freed = driver->memory_free(first->memory);
    result = result == FA3_CU_SUCCESS ? freed : result;
    free(first);
  }
  pthread_mutex_destroy(&counters->lock);
  free(counters);
  return result;
}

static fa3_code grow(const fa3_program *program, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  fa3_counters *counters = program->counters;
  chunk *added = calloc(1, sizeof(*added));
  if (!added)
    return fa3_fail_memory(status);
  int mode;
  fa3_cu_result result = fa3_capture_relax(driver, &mode);
  if (result == FA3_CU_SUCCESS) {
    result =
        fa3_allocate_zeros(driver, NUM_CAPTURED * COUNTER_SIZE, &added->memory);
    fa3_cu_result restored = fa3_capture_restore(driver, mode);
    if (result == FA3_CU_SUCCESS && restored != FA3_CU_SUCCESS) {
      driver->memory_free(added->memory);
      result = restored;
    }
  }
  if (result != FA3_CU_SUCCESS) {
    free(added);
    return fa3_driver_fail(driver, result,
                           "allocating counters for captured launches", status);
  }
  added->next = counters->chunks;
  counters->chunks = added;
  counters->captured = added->memory;
  counters->num_left = NUM_CAPTURED;
  return FA3_OK;
}

/* One that no other launch ever gets. */
static fa3_code take_captured(const fa3_program *program,
                              fa3_device_address *address, fa3_status *status) {
  fa3_counters *counters = program->counters;
  pthread_mutex_lock(&counters->lock);
  fa3_code code = counters->num_left ? FA3_OK : grow(program, status);
  if (code == FA3_OK) {
    *address = counters->captured;
    counters->captured += COUNTER_SIZE;
    --counters->num_left;
  }
  pthread_mutex_unlock(&counters->lock);
  return code;
}

fa3_code fa3_counters_borrow(const fa3_program *program, void *stream,
                             void **address, fa3_status *status) {
  fa3_counters *counters = program->counters;
  int is_capturing = 0;
  fa3_cu_result result =
      program->driver->stream_is_capturing(stream, &is_capturing);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(program->driver, result,
                           "asking whether a stream is being captured", status);
  fa3_device_address counter;
  if (is_capturing) {
    fa3_code code = take_captured(program, &counter, status);
    if (code != FA3_OK)
      return code;
  } else {
    unsigned number = atomic_fetch_add(&counters->next, 1) % NUM_IN_TURN;
    counter = counters->memory + COUNTER_SIZE * (fa3_device_address)number;
  }
  *address = (void *)(uintptr_t)counter;
  return FA3_OK;
}
