/*===- Tensors.c - tensors of torch without Python ------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *===----------------------------------------------------------------------===*/

#include "Native.h"

#include <string.h>

enum { MAX_WORDS = 512, MAX_RANK = 8 };

int native_is_plain(const native_state *state, PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  return type == state->tensor || type == state->parameter;
}

int native_read(const native_state *state, PyObject *object,
                fa3_dl_tensor *tensor) {
  if (!state->exchange || !native_is_plain(state, object))
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

/* Of a string of at most eight bytes; returns the number of words, or 0. */
static size_t append_text(PyObject *value, uint64_t *words) {
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text)
    PyErr_Clear();
  if (!text || size > (Py_ssize_t)sizeof(*words))
    return 0;
  words[0] = 6 + ((uint64_t)size << 8);
  memcpy(words + 1, text, (size_t)size);
  return 2;
}

/* Appends what a value is, if it is no tensor: nothing, a number, a string, an
 * element type, a tuple of these. Returns the number of words, or 0. */
static size_t append_value(const native_state *state, PyObject *value,
                           uint64_t *words, size_t room) {
  PyTypeObject *type = Py_TYPE(value);
  if (room < 2)
    return 0;
  words[1] = 0;
  if (value == Py_None) {
    words[0] = 0;
    return 1;
  }
  if (value == Py_True || value == Py_False) {
    words[0] = 2 + ((uint64_t)(value == Py_True) << 8);
    return 1;
  }
  if (type == &PyLong_Type) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    words[0] = 3;
    words[1] = (uint64_t)number;
    return overflow ? 0 : 2;
  }
  if (type == &PyFloat_Type) {
    double number = PyFloat_AsDouble(value);
    words[0] = 4;
    memcpy(words + 1, &number, sizeof(number));
    return 2;
  }
  if (type == &PyUnicode_Type)
    return append_text(value, words);
  if ((PyObject *)type == state->dtype) {
    /* torch has one of each, for ever. */
    words[0] = 7;
    words[1] = (uintptr_t)value;
    return 2;
  }
  if (type != &PyTuple_Type)
    return 0;
  Py_ssize_t count = PyTuple_Size(value);
  words[0] = 5 + ((uint64_t)count << 8);
  size_t used = 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PyTuple_GetItem(value, i);
    size_t added = Py_TYPE(item) == &PyTuple_Type
                       ? 0
                       : append_value(state, item, words + used, room - used);
    if (!added)
      return 0;
    used += added;
  }
  return used;
}

/* All of given values, tensors and, with `numbers`, others. */
static PyObject *form_of(const native_state *state, PyObject *const *given,
                         Py_ssize_t count, int numbers) {
  uint64_t words[MAX_WORDS];
  size_t used = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    size_t added = 0;
    if (numbers || given[i] == Py_None)
      added = append_value(state, given[i], words + used, MAX_WORDS - used);
    if (!added)
      added = append(state, given[i], words + used, MAX_WORDS - used);
    if (!added)
      return NULL;
    used += added;
  }
  return PyBytes_FromStringAndSize((const char *)words,
                                   (Py_ssize_t)(used * sizeof(*words)));
}

PyObject *native_form(const native_state *state, PyObject *const *given,
                      Py_ssize_t count) {
  return form_of(state, given, count, 0);
}

PyObject *native_form_of_values(const native_state *state,
                                PyObject *const *given, Py_ssize_t count) {
  return form_of(state, given, count, 1);
}

int native_requires_grad(const native_state *state, PyObject *object) {
  if (!native_is_plain(state, object))
    return 0;
  PyObject *answer = PyObject_GetAttr(object, state->requires_grad);
  if (!answer)
    return -1;
  int made = answer == Py_True;
  Py_DECREF(answer);
  return made;
}

PyObject *native_identify(PyObject *module, PyObject *const *given,
                          Py_ssize_t count) {
  const native_state *state = PyModule_GetState(module);
  PyObject *made = form_of(state, given, count, 1);
  if (!made && PyErr_Occurred())
    return NULL;
  if (!made)
    Py_RETURN_NONE;
  for (Py_ssize_t i = 0; i < count; ++i) {
    int required = native_requires_grad(state, given[i]);
    if (!required)
      continue;
    Py_DECREF(made);
    if (required < 0)
      return NULL;
    Py_RETURN_NONE;
  }
  return made;
}

PyObject *native_name(PyObject *module, PyObject *const *given,
                      Py_ssize_t count) {
  PyObject *made = form_of(PyModule_GetState(module), given, count, 1);
  if (made || PyErr_Occurred())
    return made;
  Py_RETURN_NONE;
}

PyObject *native_describe(PyObject *module, PyObject *const *given,
                          Py_ssize_t count) {
  const native_state *state = PyModule_GetState(module);
  PyObject *made = native_form(state, given, count);
  if (made || PyErr_Occurred())
    return made;
  return describe_otherwise(state, given, count);
}
