/*===- Call.c - fa3.attention as it was called before ---------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a call of three tensors and numbers depends on is looked up, and what is
 * found is launched. Whatever is not like that takes the way of Python.
 *===----------------------------------------------------------------------===*/

#include "Native.h"

enum { SCALE = 1, TENSORS = 2, VALUES = 5, KNOWN = 4, MOST_MORE = 3 };

/* Whether a launch may go past autograd and whoever looks on; -1 with an
 * exception. */
static int goes_past(const native_state *state, PyObject *const *tensors) {
  int needs = 0;
  for (int i = 0; i < 3 && !needs; ++i) {
    if ((PyObject *)Py_TYPE(tensors[i]) != state->tensor)
      return 0;
    needs = native_requires_grad(state, tensors[i]);
  }
  if (needs < 0)
    return -1;
  if (needs) {
    PyObject *enabled = PyObject_CallMethodObjArgs(
        state->torch_c, state->is_grad_enabled, NULL);
    needs = enabled ? PyObject_IsTrue(enabled) : -1;
    Py_XDECREF(enabled);
    if (needs)
      return needs < 0 ? -1 : 0;
  }
  return native_is_alone(state);
}

/* The scale of a call, a new reference: what is given, where that is a float
 * within the limits, or what `known` has. Null, without an exception, if it is
 * to be checked. */
static PyObject *scale_of(PyObject *given, PyObject *known) {
  PyObject *made = given;
  if (given == Py_None) {
    made = PyTuple_GetItem(known, 1);
  } else {
    if (Py_TYPE(given) != &PyFloat_Type)
      return NULL;
    double value = PyFloat_AsDouble(given);
    if (!(value > 0 && value <= PyFloat_AsDouble(PyTuple_GetItem(known, 2))))
      return NULL;
  }
  Py_XINCREF(made);
  return made;
}

/* Launches what is known of a call: (Launch, default scale, largest one,
 * tensors behind v that are the same in all calls). */
static PyObject *launch(const native_state *state, PyObject *known,
                        PyObject *given_scale, PyObject *const *tensors) {
  PyObject *more = NULL;
  if (PyTuple_Check(known) && PyTuple_Size(known) == KNOWN)
    more = PyTuple_GetItem(known, KNOWN - 1);
  if (!more || !PyTuple_Check(more) || PyTuple_Size(more) > MOST_MORE ||
      (PyObject *)Py_TYPE(PyTuple_GetItem(known, 0)) != state->launch_type) {
    PyErr_SetString(PyExc_TypeError,
                    "expected (Launch, scale, scale, tensors)");
    return NULL;
  }
  PyObject *scale = scale_of(given_scale, known);
  if (!scale)
    return NULL;
  PyObject *values[3 + MOST_MORE + 1] = {tensors[0], tensors[1], tensors[2]};
  Py_ssize_t count = 3;
  for (Py_ssize_t i = 0; i < PyTuple_Size(more); ++i)
    values[count++] = PyTuple_GetItem(more, i);
  values[count++] = scale;
  PyObject *made = native_launch_run(PyTuple_GetItem(known, 0), values, count);
  Py_DECREF(scale);
  return made;
}

PyObject *native_call(PyObject *module, PyObject *const *given,
                      Py_ssize_t count) {
  const native_state *state = PyModule_GetState(module);
  if (count < VALUES || !PyDict_Check(given[0])) {
    PyErr_SetString(PyExc_TypeError,
                    "call() takes a dictionary, a scale, q, k, v and values");
    return NULL;
  }
  PyObject *const *tensors = given + TENSORS;
  int past = goes_past(state, tensors);
  PyObject *key =
      past == 1 ? native_form_of_values(state, tensors, count - TENSORS) : NULL;
  PyObject *known = key ? PyDict_GetItemWithError(given[0], key) : NULL;
  Py_XDECREF(key);
  PyObject *made = NULL;
  if (known) {
    /* The dictionary may be cleared meanwhile. */
    Py_INCREF(known);
    made = launch(state, known, given[SCALE], tensors);
    Py_DECREF(known);
  }
  if (made || PyErr_Occurred())
    return made;
  Py_RETURN_NONE;
}
