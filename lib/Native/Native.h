/*===- Native.h - what repeated calls need no Python for ----------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: an extension module of CPython's stable interface. It reads tensors
 * of torch by DLPack's exchange table (torch 2.10), so that one binary serves
 * all versions of both. It links neither; who launches is told by an address.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_NATIVE_NATIVE_H
#define FA3_LIB_NATIVE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "Exchange.h"

/* Changes with every function that Python calls (python/fa3/support/native.py):
 * a module of other sources is not used. */
enum { NATIVE_VERSION = 2 };

/* What a module knows once it was told of torch. */
typedef struct {
  const fa3_exchange *exchange;
  PyObject *tensor, *parameter; /* the types */
  PyObject *is_negative;        /* torch.Tensor.is_neg */
  PyObject *otherwise;          /* describes what is not read here */
  PyObject *torch_c, *cuda;     /* torch._C, torch.cuda */
  PyObject *get_device, *get_stream, *device, *data_ptr; /* names */
  PyObject *dtype; /* the type of element types */
  PyObject *launch_type, *node_type;
  /* Who looks on, and who would run a backward otherwise (Watch.c). */
  PyObject *asks, *states, *backward_asks, *backward_states;
  PyObject *asked, *saved, *known, *behind, *width, *forward_class, *backward,
      *count, *requires_grad, *is_grad_enabled;
} native_state;

/* Fills `tensor` with what lies behind an object. Returns 0 if that is a plain
 * tensor of torch, else -1, without an exception. */
int native_read(const native_state *state, PyObject *object,
                fa3_dl_tensor *tensor);

/* The address of the first element of any tensor; -1 with an exception. */
int native_address(const native_state *state, PyObject *object, void **address);

/* Bytes that are equal where tensors, or None, differ in nothing but their
 * memory; null, without an exception, where one is no plain tensor. */
PyObject *native_form(const native_state *state, PyObject *const *given,
                      Py_ssize_t count);

/* describe(*tensors): the form, or what `otherwise` gives. */
PyObject *native_describe(PyObject *module, PyObject *const *given,
                          Py_ssize_t count);

/* The same of tensors and of values that are none: numbers, short strings,
 * element types of torch, tuples of these. */
PyObject *native_form_of_values(const native_state *state,
                                PyObject *const *given, Py_ssize_t count);

/* identify(*values): bytes that are equal where a call with these values is but
 * for memory; None where one is neither a plain tensor without a gradient nor
 * None, a number of Python's, a short string, an element type of torch, or a
 * tuple of these. */
PyObject *native_identify(PyObject *module, PyObject *const *given,
                          Py_ssize_t count);

/* name(*values): the same, tensors with gradients as well. */
PyObject *native_name(PyObject *module, PyObject *const *given,
                      Py_ssize_t count);

/* Whether an object is a tensor of torch's own class, or a parameter. */
int native_is_plain(const native_state *state, PyObject *object);

/* Whether a tensor requires a gradient; -1 with an exception. */
int native_requires_grad(const native_state *state, PyObject *object);

/* call(known, scale, q, k, v, *values): what was made before of a call with
 * these tensors, in Call.c. */
PyObject *native_call(PyObject *module, PyObject *const *given,
                      Py_ssize_t count);

/* run() of a Launch. */
PyObject *native_launch_run(PyObject *launch, PyObject *const *values,
                            Py_ssize_t count);

/* watch(asks, states): who is asked whether somebody looks on. */
PyObject *native_watch(PyObject *module, PyObject *args);

/* watch_backward(asks, states): and in a backward besides. */
PyObject *native_watch_backward(PyObject *module, PyObject *args);

/* Whether nobody looks on; -1 with an exception. */
int native_is_alone(const native_state *state);

/* Whether, besides, nobody has asked for another backward. */
int native_is_alone_in_backward(const native_state *state);

/* What one Launch makes for each call. */
enum { NATIVE_MOST_MADE = 8 };

extern PyType_Spec native_launch_spec, native_node_spec;

#endif /* FA3_LIB_NATIVE_NATIVE_H */
