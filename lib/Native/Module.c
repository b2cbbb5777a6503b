/*===- Module.c - the extension module ------------------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *===----------------------------------------------------------------------===*/

#include "Native.h"

#include <stddef.h>
#include <string.h>

/*===----------------------------------------------------------------------===*
 * torch
 *===----------------------------------------------------------------------===*/

/* The table of torch's tensors, of a version that is known here; or null. */
static const fa3_exchange *find_exchange(PyObject *tensor) {
  PyObject *capsule =
      PyObject_GetAttrString(tensor, "__dlpack_c_exchange_api__");
  const fa3_exchange *made =
      capsule ? PyCapsule_GetPointer(capsule, FA3_DL_CAPSULE) : NULL;
  /* It stays as long as the process. */
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (made && made->major > FA3_DL_MAJOR)
    made = made->previous;
  if (made && (made->major != FA3_DL_MAJOR || !made->tensor_from_object))
    return NULL;
  return made;
}

/* use(torch, otherwise): whether its tensors can be read. */
static PyObject *native_use(PyObject *module, PyObject *args) {
  native_state *state = PyModule_GetState(module);
  PyObject *torch, *otherwise;
  if (!PyArg_ParseTuple(args, "OO", &torch, &otherwise))
    return NULL;
  if (state->exchange)
    Py_RETURN_TRUE;
  Py_INCREF(otherwise);
  Py_XDECREF(state->otherwise);
  state->otherwise = otherwise;
  PyObject *nn = PyObject_GetAttrString(torch, "nn");
  if (nn)
    state->parameter = PyObject_GetAttrString(nn, "Parameter");
  Py_XDECREF(nn);
  state->tensor = PyObject_GetAttrString(torch, "Tensor");
  state->torch_c = PyObject_GetAttrString(torch, "_C");
  state->dtype = PyObject_GetAttrString(torch, "dtype");
  state->cuda = PyObject_GetAttrString(torch, "cuda");
  if (state->tensor)
    state->is_negative = PyObject_GetAttrString(state->tensor, "is_neg");
  if (!state->parameter || !state->is_negative || !state->torch_c ||
      !state->cuda || !state->dtype)
    return NULL;
  state->exchange = find_exchange(state->tensor);
  return PyBool_FromLong(state->exchange != NULL);
}

/*===----------------------------------------------------------------------===*
 * The module
 *===----------------------------------------------------------------------===*/

/* Words that are looked up in each call. */
static const struct {
  size_t offset;
  const char *name;
} names[] = {{offsetof(native_state, get_device), "_cuda_getDevice"},
             {offsetof(native_state, get_stream), "_cuda_getCurrentRawStream"},
             {offsetof(native_state, device), "device"},
             {offsetof(native_state, data_ptr), "data_ptr"},
             {offsetof(native_state, asked), "asked"},
             {offsetof(native_state, saved), "saved_tensors"},
             {offsetof(native_state, known), "known"},
             {offsetof(native_state, behind), "behind"},
             {offsetof(native_state, width), "width"},
             {offsetof(native_state, forward_class), "_forward_cls"},
             {offsetof(native_state, backward), "backward"},
             {offsetof(native_state, count), "count"},
             {offsetof(native_state, requires_grad), "requires_grad"},
             {offsetof(native_state, is_grad_enabled), "is_grad_enabled"}};
enum { NUM_NAMES = sizeof(names) / sizeof(names[0]) };

static int native_exec(PyObject *module) {
  native_state *state = PyModule_GetState(module);
  memset(state, 0, sizeof(*state));
  for (size_t i = 0; i < NUM_NAMES; ++i) {
    PyObject **place = (PyObject **)((char *)state + names[i].offset);
    if (!(*place = PyUnicode_InternFromString(names[i].name)))
      return -1;
  }
  state->launch_type =
      PyType_FromModuleAndSpec(module, &native_launch_spec, NULL);
  state->node_type = PyType_FromModuleAndSpec(module, &native_node_spec, NULL);
  if (!state->launch_type || !state->node_type ||
      PyModule_AddIntConstant(module, "VERSION", NATIVE_VERSION) != 0 ||
      PyModule_AddIntConstant(module, "MOST_MADE", NATIVE_MOST_MADE) != 0 ||
      PyModule_AddType(module, (PyTypeObject *)state->launch_type) != 0)
    return -1;
  return PyModule_AddType(module, (PyTypeObject *)state->node_type);
}

static void native_free(void *module) {
  native_state *state = PyModule_GetState(module);
  PyObject **all[] = {
      &state->tensor,         &state->parameter,   &state->is_negative,
      &state->otherwise,      &state->torch_c,     &state->cuda,
      &state->dtype,          &state->launch_type, &state->node_type,
      &state->asks,           &state->states,      &state->backward_asks,
      &state->backward_states};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i)
    Py_CLEAR(*all[i]);
  for (size_t i = 0; i < NUM_NAMES; ++i)
    Py_CLEAR(*(PyObject **)((char *)state + names[i].offset));
}

static PyMethodDef native_methods[] = {
    {"use", native_use, METH_VARARGS,
     "use(torch, otherwise): whether its tensors can be read."},
    {"identify", (PyCFunction)(void (*)(void))native_identify, METH_FASTCALL,
     "identify(*values): a key of a call without gradients, or None."},
    {"name", (PyCFunction)(void (*)(void))native_name, METH_FASTCALL,
     "name(*values): a key of a call, or None."},
    {"call", (PyCFunction)(void (*)(void))native_call, METH_FASTCALL,
     "call(known, scale, q, k, v, *values): launches a call that is known by "
     "identify(q, k, v, *values), as (Launch, default scale, largest one, "
     "tensors behind v); None where there is none, or who looks on."},
    {"watch", native_watch, METH_VARARGS,
     "watch(asks, states): who looks on at calls."},
    {"watch_backward", native_watch_backward, METH_VARARGS,
     "watch_backward(asks, states): who has a say in a backward besides."},
    {"describe", (PyCFunction)(void (*)(void))native_describe, METH_FASTCALL,
     "describe(*tensors): all of tensors but their memory, as bytes."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot native_slots[] = {{Py_mod_exec, native_exec},
                                          {0, NULL}};

static struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    "fa3_native",
    "Repeated calls of fa3 without Python.",
    sizeof(native_state),
    native_methods,
    native_slots,
    NULL,
    NULL,
    native_free};

PyMODINIT_FUNC PyInit_fa3_native(void) {
  return PyModuleDef_Init(&native_module);
}
