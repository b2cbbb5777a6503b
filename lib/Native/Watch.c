/*===- Watch.c - who looks on while a call is made ------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transforms, dispatch modes and the like (fa3.watch) see what torch's
 * dispatcher sees, and nothing of a launch: it is asked in front of each.
 *===----------------------------------------------------------------------===*/

#include "Native.h"

#include <stdlib.h>

/* Whether all of `asks`, functions without arguments, say no; -1 with an
 * exception. */
static int all_say_no(PyObject *asks) {
  Py_ssize_t count = PyTuple_Size(asks);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *answer =
        PyObject_CallFunctionObjArgs(PyTuple_GetItem(asks, i), NULL);
    int said = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (said)
      return said < 0 ? -1 : 0;
  }
  return count < 0 ? -1 : 1;
}

/* Whether attributes, (object, name, value), are what they are in `states`. */
static int all_are(PyObject *states) {
  Py_ssize_t count = PyTuple_Size(states);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *one = PyTuple_GetItem(states, i);
    PyObject *value =
        PyObject_GetAttr(PyTuple_GetItem(one, 0), PyTuple_GetItem(one, 1));
    int same =
        value ? PyObject_RichCompareBool(value, PyTuple_GetItem(one, 2), Py_EQ)
              : -1;
    Py_XDECREF(value);
    if (same != 1)
      return same;
  }
  return count < 0 ? -1 : 1;
}

static int is_alone(PyObject *asks, PyObject *states) {
  if (!asks || !states)
    return 0;
  int alone = all_are(states);
  return alone == 1 ? all_say_no(asks) : alone;
}

int native_is_alone(const native_state *state) {
  return is_alone(state->asks, state->states);
}

int native_is_alone_in_backward(const native_state *state) {
  if (getenv("XLA_FLAGS"))
    return 0;
  int alone = native_is_alone(state);
  return alone == 1 ? is_alone(state->backward_asks, state->backward_states)
                    : alone;
}

/* Puts (asks, states) in place of others. */
static PyObject *set(PyObject *args, PyObject **asks, PyObject **states) {
  PyObject *new_asks, *new_states;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &new_asks, &PyTuple_Type,
                        &new_states))
    return NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(new_states); ++i) {
    PyObject *one = PyTuple_GetItem(new_states, i);
    if (!PyTuple_Check(one) || PyTuple_Size(one) != 3) {
      PyErr_SetString(PyExc_TypeError, "expected (object, name, value)");
      return NULL;
    }
  }
  Py_INCREF(new_asks);
  Py_INCREF(new_states);
  Py_XDECREF(*asks);
  Py_XDECREF(*states);
  *asks = new_asks;
  *states = new_states;
  Py_RETURN_NONE;
}

PyObject *native_watch(PyObject *module, PyObject *args) {
  native_state *state = PyModule_GetState(module);
  return set(args, &state->asks, &state->states);
}

PyObject *native_watch_backward(PyObject *module, PyObject *args) {
  native_state *state = PyModule_GetState(module);
  return set(args, &state->backward_asks, &state->backward_states);
}
