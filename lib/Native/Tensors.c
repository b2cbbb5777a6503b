/*===- Tensors.c - tensors of torch without Python ------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *===----------------------------------------------------------------------===*/

#include "Native.h"

#include <string.h>

enum { MAX_WORDS = 512, MAX_RANK = 8 };

static int is_plain(const native_state *state, PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  return type == state->tensor || type == state->parameter;
}

int native_read(const native_state *state, PyObject *object,
                fa3_dl_tensor *tensor) {
  if (!state->exchange || !is_plain(state, object))
    return -1;
  if (state->exchange->tensor_from_object(object, tensor) == 0)
    return 0;
  PyErr_Clear();
  return -1;
}

int native_address(const native_state *state, PyObject *object,
                   void **address) {
  fa3_dl_tensor tensor;
  if (native_read(state, object, &tensor) == 0) {
    *address = (char *)tensor.data + tensor.byte_offset;
    return 0;
  }
  PyObject *number = PyObject_CallMethodObjArgs(object, state->data_ptr, NULL);
  if (!number)
    return -1;
  *address = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  return PyErr_Occurred() ? -1 : 0;
}

/* Whether the memory of a tensor has the other sign; -1 with an exception. */
static int is_negative(const native_state *state, PyObject *object) {
  PyObject *answer =
      PyObject_CallFunctionObjArgs(state->is_negative, object, NULL);
  if (!answer)
    return -1;
  int made = answer == Py_True;
  Py_DECREF(answer);
  return made;
}

/* Appends the words of one tensor; returns their number, or 0. */
static size_t append(const native_state *state, PyObject *object,
                     uint64_t *words, size_t room) {
  fa3_dl_tensor tensor;
  if (native_read(state, object, &tensor) != 0)
    return 0;
  size_t rank = (size_t)tensor.rank;
  if (tensor.rank < 0 || rank > MAX_RANK || 2 + 2 * rank > room)
    return 0;
  int negative = is_negative(state, object);
  if (negative < 0) {
    PyErr_Clear();
    return 0;
  }
  words[0] = 1 + ((uint64_t)tensor.code << 8) + ((uint64_t)tensor.bits << 16) +
             ((uint64_t)tensor.lanes << 24) + ((uint64_t)rank << 40) +
             ((uint64_t)negative << 48);
  words[1] = ((uint64_t)(uint32_t)tensor.device_type << 32) +
             (uint32_t)tensor.device_id;
  if (rank == 0)
    return 2;
  memcpy(words + 2, tensor.shape, rank * sizeof(*words));
  memcpy(words + 2 + rank, tensor.strides, rank * sizeof(*words));
  return 2 + 2 * rank;
}

static PyObject *describe_otherwise(const native_state *state,
                                    PyObject *const *given, Py_ssize_t count) {
  if (!state->otherwise) {
    PyErr_SetString(PyExc_RuntimeError, "use(torch, otherwise) comes first");
    return NULL;
  }
  PyObject *all = PyTuple_New(count);
  for (Py_ssize_t i = 0; all && i < count; ++i) {
    Py_INCREF(given[i]);
    PyTuple_SetItem(all, i, given[i]);
  }
  PyObject *made = all ? PyObject_Call(state->otherwise, all, NULL) : NULL;
  Py_XDECREF(all);
  return made;
}

PyObject *native_describe(PyObject *module, PyObject *const *given,
                          Py_ssize_t count) {
  const native_state *state = PyModule_GetState(module);
  uint64_t words[MAX_WORDS];
  size_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    size_t added = 0;
    if (given[i] != Py_None)
      added = append(state, given[i], words + used, MAX_WORDS - used);
    else if (used < MAX_WORDS)
      words[used] = 0, added = 1;
    if (!added)
      return describe_otherwise(state, given, count);
    used += added;
  }
  return PyBytes_FromStringAndSize((const char *)words,
                                   (Py_ssize_t)(used * sizeof(*words)));
}
