/*===- Node.c - the backward of a node of autograd ------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Node goes in front of the class of a node that torch.autograd.Function makes
 * (fa3.autograd.nodes). Its apply() runs a backward that was made before, when
 * nobody looks on; else it calls the function's own.
 *===----------------------------------------------------------------------===*/

#include "Native.h"

enum { MOST_VALUES = 24, KERNEL_ALIGNMENT = 16 };

/*===----------------------------------------------------------------------===*
 * The backward
 *===----------------------------------------------------------------------===*/

static int is_aligned(const native_state *state, PyObject *tensor) {
  void *address;
  if (native_address(state, tensor, &address) != 0)
    return -1;
  return (uintptr_t)address % KERNEL_ALIGNMENT == 0;
}

/* The launch for saved tensors, of which o and lse are the last, and gradients
 * behind them, borrowed from `known`, by the form of all of them; null, without
 * an exception or with one, if there is none. */
static PyObject *find(const native_state *state, PyObject *known,
                      PyObject *const *values, Py_ssize_t saved) {
  PyObject *key = native_form(state, values, saved + 2);
  if (!key)
    return NULL;
  PyObject *launch = PyDict_GetItemWithError(known, key);
  Py_DECREF(key);
  if (!launch || is_aligned(state, values[saved]) != 1 ||
      is_aligned(state, values[saved - 2]) != 1)
    return NULL;
  return launch;
}

/* Launches with what was saved, gradients, and the numbers of `behind`. */
static PyObject *launch_known(const native_state *state, PyObject *saved,
                              PyObject *const *grads, PyObject *known,
                              PyObject *behind) {
  PyObject *values[MOST_VALUES];
  Py_ssize_t count = 0, tensors = PyTuple_Size(saved),
             numbers = PyTuple_Size(behind);
  if (tensors < 2 || tensors + 2 + numbers > MOST_VALUES)
    return NULL;
  for (Py_ssize_t i = 0; i < tensors; ++i)
    values[count++] = PyTuple_GetItem(saved, i);
  values[count++] = grads[0];
  values[count++] = grads[1];
  PyObject *launch = find(state, known, values, tensors);
  if (!launch)
    return NULL;
  for (Py_ssize_t i = 0; i < numbers; ++i)
    values[count++] = PyTuple_GetItem(behind, i);
  Py_INCREF(launch);
  PyObject *made = native_launch_run(launch, values, count);
  Py_DECREF(launch);
  return made;
}

/* dq, dk and dv of what was saved, or null without an exception. */
static PyObject *run_known(const native_state *state, PyObject *saved,
                           PyObject *asked, PyObject *const *grads) {
  PyObject *made = NULL;
  PyObject *known = PyObject_GetAttr(asked, state->known);
  PyObject *behind = known ? PyObject_GetAttr(asked, state->behind) : NULL;
  if (behind && PyDict_Check(known) && PyTuple_Check(behind) &&
      PyTuple_Check(saved))
    made = launch_known(state, saved, grads, known, behind);
  Py_XDECREF(behind);
  Py_XDECREF(known);
  return made;
}

/* (dq, dk, dv) and None for other arguments of the forward, `width` in all. */
static PyObject *with_none(const native_state *state, PyObject *self,
                           PyObject *made) {
  PyObject *number = PyObject_GetAttr(self, state->width);
  Py_ssize_t width = number ? PyLong_AsSsize_t(number) : -1;
  Py_XDECREF(number);
  if (width < 3 || !PyTuple_Check(made) || PyTuple_Size(made) != 3) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "expected three gradients");
    return NULL;
  }
  PyObject *all = PyTuple_New(width);
  for (Py_ssize_t i = 0; all && i < width; ++i) {
    PyObject *one = i < 3 ? PyTuple_GetItem(made, i) : Py_None;
    Py_XINCREF(one);
    PyTuple_SetItem(all, i, one);
  }
  return all;
}

/* The function's own backward. */
static PyObject *run_otherwise(const native_state *state, PyObject *self,
                               PyObject *const *grads) {
  PyObject *forward = PyObject_GetAttr(self, state->forward_class);
  PyObject *backward =
      forward ? PyObject_GetAttr(forward, state->backward) : NULL;
  PyObject *made = backward ? PyObject_CallFunctionObjArgs(
                                  backward, self, grads[0], grads[1], NULL)
                            : NULL;
  Py_XDECREF(backward);
  Py_XDECREF(forward);
  return made;
}

/* Calls what counts such a backward, if there is that. */
static PyObject *counted(const native_state *state, PyObject *self,
                         PyObject *made) {
  PyObject *count = PyObject_GetAttr(self, state->count);
  PyObject *answer = NULL;
  if (count && count != Py_None)
    answer = PyObject_CallFunctionObjArgs(count, NULL);
  if (PyErr_Occurred())
    Py_CLEAR(made);
  Py_XDECREF(answer);
  Py_XDECREF(count);
  return made;
}

static PyObject *node_apply(PyObject *self, PyTypeObject *defining,
                            PyObject *const *grads, Py_ssize_t count,
                            PyObject *names) {
  const native_state *state = PyType_GetModuleState(defining);
  if (count != 2 || names) {
    PyErr_SetString(PyExc_TypeError,
                    "apply() takes the gradients of o and lse");
    return NULL;
  }
  int alone = grads[0] == Py_None ? 0 : native_is_alone_in_backward(state);
  if (alone < 0)
    return NULL;
  PyObject *made = NULL;
  if (alone) {
    PyObject *asked = PyObject_GetAttr(self, state->asked);
    PyObject *saved = asked ? PyObject_GetAttr(self, state->saved) : NULL;
    if (saved)
      made = run_known(state, saved, asked, grads);
    Py_XDECREF(saved);
    Py_XDECREF(asked);
  }
  if (PyErr_Occurred())
    return NULL;
  if (!made)
    return run_otherwise(state, self, grads);
  PyObject *all = with_none(state, self, made);
  Py_DECREF(made);
  return all ? counted(state, self, all) : NULL;
}

static PyMethodDef node_methods[] = {
    {"apply", (PyCFunction)(void (*)(void))node_apply,
     METH_METHOD | METH_FASTCALL | METH_KEYWORDS, "The backward."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot node_slots[] = {{Py_tp_methods, node_methods}, {0, NULL}};

PyType_Spec native_node_spec = {"fa3_native.Node", 0, 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                node_slots};
