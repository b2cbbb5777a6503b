/*===- Launch.c - a call that was made before, in one call of C -----------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A Launch has the arguments of a program with fixed types, shapes and strides
 * (fa3.calls.plan.Plan). run(*values) makes what the kernels write, puts
 * addresses and numbers in, and launches on the current stream of the device.
 *===----------------------------------------------------------------------===*/

#include "Native.h"

#include "fa3/Runtime/fa3_runtime.h"

#include <stdlib.h>
#include <string.h>

typedef fa3_code (*launch_function)(const fa3_program *, const fa3_arg *,
                                    size_t, void *, int64_t, void *, void *,
                                    fa3_status *);

/* The memory of one call in progress: arguments, then the memo. */
typedef struct frame {
  struct frame *next;
  fa3_arg args[];
} frame;

/* Argument `arg` is value `value` of the call, or one that is made behind. */
typedef struct {
  size_t arg;
  Py_ssize_t value;
} place;

typedef struct {
  size_t count;
  place *items;
} places;

/* What is made for each call: function(*args, **named). */
typedef struct {
  PyObject *function, *args, *named;
} maker;

typedef struct {
  PyObject_HEAD PyObject *owner; /* keeps the program */
  PyObject *fail;                /* called with what a status says; raises */
  launch_function launch;
  const fa3_program *program;
  size_t num_args, memo_size;
  fa3_arg *content;
  frame *idle;
  int64_t device;
  PyObject *device_number;
  places arrays, reals, numbers;
  maker made[NATIVE_MOST_MADE];
  PyObject *finish; /* called with what was made, if not None */
  Py_ssize_t num_given, num_made;
  maker workspace;
  int64_t workspace_size;
} launch_object;

/*===----------------------------------------------------------------------===*
 * Frames
 *===----------------------------------------------------------------------===*/

static frame *acquire(launch_object *self) {
  frame *made = self->idle;
  if (made) {
    self->idle = made->next;
    return made;
  }
  size_t size = self->num_args * sizeof(fa3_arg);
  made = malloc(sizeof(frame) + size + self->memo_size);
  if (!made) {
    PyErr_NoMemory();
    return NULL;
  }
  memcpy(made->args, self->content, size);
  /* A memo that was never used knows nothing. */
  memset((char *)made->args + size, 0, self->memo_size);
  return made;
}

static void release(launch_object *self, frame *one) {
  one->next = self->idle;
  self->idle = one;
}

/*===----------------------------------------------------------------------===*
 * A call
 *===----------------------------------------------------------------------===*/

static PyObject *make(const maker *one) {
  return PyObject_Call(one->function, one->args, one->named);
}

/* Puts addresses and numbers of values in. */
static int fill(const launch_object *self, const native_state *state,
                PyObject *const *values, PyObject *const *made, fa3_arg *args) {
  Py_ssize_t given = self->num_given;
  for (size_t i = 0; i < self->arrays.count; ++i) {
    const place *one = &self->arrays.items[i];
    PyObject *value = made && one->value >= given ? made[one->value - given]
                                                  : values[one->value];
    if (native_address(state, value, &args[one->arg].value.data) != 0)
      return -1;
  }
  for (size_t i = 0; i < self->reals.count; ++i) {
    const place *one = &self->reals.items[i];
    double value = PyFloat_AsDouble(values[one->value]);
    if (value == -1.0 && PyErr_Occurred())
      return -1;
    args[one->arg].value.real = value;
  }
  for (size_t i = 0; i < self->numbers.count; ++i) {
    const place *one = &self->numbers.items[i];
    long long value = PyLong_AsLongLong(values[one->value]);
    if (value == -1 && PyErr_Occurred())
      return -1;
    args[one->arg].value.integer = value;
  }
  return 0;
}

static int get_stream(const launch_object *self, const native_state *state,
                      void **stream) {
  PyObject *number = PyObject_CallMethodObjArgs(
      state->torch_c, state->get_stream, self->device_number, NULL);
  if (!number)
    return -1;
  *stream = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  return PyErr_Occurred() ? -1 : 0;
}

static int start(launch_object *self, const native_state *state, frame *one,
                 PyObject *workspace) {
  void *stream, *memory = NULL;
  if (get_stream(self, state, &stream) != 0)
    return -1;
  if (workspace) {
    if (native_address(state, workspace, &memory) != 0)
      return -1;
    uintptr_t alignment = FA3_WORKSPACE_ALIGNMENT;
    memory =
        (void *)(((uintptr_t)memory + alignment - 1) / alignment * alignment);
  }
  fa3_status status;
  fa3_code code;
  Py_BEGIN_ALLOW_THREADS;
  code = self->launch(self->program, one->args, self->num_args, memory,
                      self->workspace_size, stream,
                      (char *)(one->args + self->num_args), &status);
  Py_END_ALLOW_THREADS;
  if (code == FA3_OK)
    return 0;
  PyObject *answer =
      PyObject_CallFunction(self->fail, "iiy", (int)status.code,
                            (int)status.driver_code, status.message);
  if (answer)
    PyErr_SetString(PyExc_RuntimeError, "a launch failed");
  Py_XDECREF(answer);
  return -1;
}

/* A tuple of what was made. */
static PyObject *all_made(const launch_object *self, PyObject *const *made) {
  PyObject *all = PyTuple_New(self->num_made);
  for (Py_ssize_t i = 0; all && i < self->num_made; ++i) {
    Py_INCREF(made[i]);
    PyTuple_SetItem(all, i, made[i]);
  }
  return all;
}

static int finish(const launch_object *self, PyObject *const *made) {
  if (self->finish == Py_None)
    return 0;
  PyObject *all = all_made(self, made);
  PyObject *answer =
      all ? PyObject_CallFunctionObjArgs(self->finish, all, NULL) : NULL;
  Py_XDECREF(all);
  Py_XDECREF(answer);
  return answer ? 0 : -1;
}

/* What the call gives: nothing, what was made, or a tuple of that. */
static PyObject *result_of(const launch_object *self, PyObject *const *made) {
  if (!made)
    Py_RETURN_NONE;
  if (self->num_made == 1) {
    Py_INCREF(made[0]);
    return made[0];
  }
  return all_made(self, made);
}

/* With what was made, or null where that is among the values. */
static PyObject *launch_with(launch_object *self, const native_state *state,
                             PyObject *const *values, PyObject *const *made) {
  PyObject *workspace = NULL, *result = NULL;
  /* Freed in the order of the stream. */
  if (self->workspace_size && !(workspace = make(&self->workspace)))
    return NULL;
  frame *one = acquire(self);
  if (one) {
    if (fill(self, state, values, made, one->args) == 0 &&
        start(self, state, one, workspace) == 0)
      result = result_of(self, made);
    release(self, one);
  }
  Py_XDECREF(workspace);
  return result;
}

static PyObject *run_here(launch_object *self, const native_state *state,
                          PyObject *const *values, Py_ssize_t count) {
  if (count != self->num_given || self->num_made == 0)
    return launch_with(self, state, values, NULL);
  PyObject *made[NATIVE_MOST_MADE] = {NULL}, *result = NULL;
  int good = 1;
  for (Py_ssize_t i = 0; good && i < self->num_made; ++i)
    good = (made[i] = make(&self->made[i])) != NULL;
  if (good && finish(self, made) == 0)
    result = launch_with(self, state, values, made);
  for (Py_ssize_t i = 0; i < self->num_made; ++i)
    Py_XDECREF(made[i]);
  return result;
}

/* With the device current, as `with torch.cuda.device(..)` does. */
static PyObject *run_there(launch_object *self, const native_state *state,
                           PyObject *const *values, Py_ssize_t count) {
  PyObject *guard = PyObject_CallMethodObjArgs(state->cuda, state->device,
                                               self->device_number, NULL);
  PyObject *entered =
      guard ? PyObject_CallMethod(guard, "__enter__", NULL) : NULL;
  PyObject *result = NULL;
  if (entered) {
    result = run_here(self, state, values, count);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *left = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None,
                                         Py_None, Py_None);
    if (!left)
      Py_CLEAR(result);
    if (type) {
      PyErr_Clear();
      PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(left);
  }
  Py_XDECREF(entered);
  Py_XDECREF(guard);
  return result;
}

PyObject *native_launch_run(PyObject *object, PyObject *const *values,
                            Py_ssize_t count) {
  launch_object *self = (launch_object *)object;
  const native_state *state = PyType_GetModuleState(Py_TYPE(object));
  if (count != self->num_given && count != self->num_given + self->num_made) {
    PyErr_Format(PyExc_TypeError, "%zd values, expected %zd", count,
                 self->num_given);
    return NULL;
  }
  PyObject *current =
      PyObject_CallMethodObjArgs(state->torch_c, state->get_device, NULL);
  if (!current)
    return NULL;
  long long device = PyLong_AsLongLong(current);
  Py_DECREF(current);
  if (device == -1 && PyErr_Occurred())
    return NULL;
  return device == self->device ? run_here(self, state, values, count)
                                : run_there(self, state, values, count);
}

/*===----------------------------------------------------------------------===*
 * Making one
 *===----------------------------------------------------------------------===*/

/* Reads a tuple of (argument, value). */
static int read_places(PyObject *given, size_t num_args, Py_ssize_t num_values,
                       places *made) {
  Py_ssize_t count = PyTuple_Size(given);
  if (count < 0)
    return -1;
  made->items = calloc((size_t)count + 1, sizeof(*made->items));
  if (!made->items) {
    PyErr_NoMemory();
    return -1;
  }
  made->count = (size_t)count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t arg, value;
    if (!PyArg_ParseTuple(PyTuple_GetItem(given, i), "nn", &arg, &value))
      return -1;
    if (arg < 0 || (size_t)arg >= num_args || value < 0 ||
        value >= num_values) {
      PyErr_SetString(PyExc_ValueError, "no such argument or value");
      return -1;
    }
    made->items[i].arg = (size_t)arg;
    made->items[i].value = value;
  }
  return 0;
}

static int read_maker(PyObject *given, maker *made) {
  if (!PyArg_ParseTuple(given, "OO!O!", &made->function, &PyTuple_Type,
                        &made->args, &PyDict_Type, &made->named))
    return -1;
  Py_INCREF(made->function);
  Py_INCREF(made->args);
  Py_INCREF(made->named);
  return 0;
}

static int read_makers(launch_object *self, PyObject *given) {
  Py_ssize_t count = PyTuple_Size(given);
  if (count < 0)
    return -1;
  if (count > NATIVE_MOST_MADE) {
    PyErr_SetString(PyExc_ValueError, "too many tensors are made");
    return -1;
  }
  for (; self->num_made < count; ++self->num_made)
    if (read_maker(PyTuple_GetItem(given, self->num_made),
                   &self->made[self->num_made]) != 0)
      return -1;
  return 0;
}

static int set_content(launch_object *self, const char *bytes,
                       Py_ssize_t size) {
  self->num_args = (size_t)size / sizeof(fa3_arg);
  if ((size_t)size != self->num_args * sizeof(fa3_arg)) {
    PyErr_SetString(PyExc_ValueError, "no array of arguments");
    return -1;
  }
  self->content = malloc((size_t)size + 1);
  if (!self->content) {
    PyErr_NoMemory();
    return -1;
  }
  memcpy(self->content, bytes, (size_t)size);
  return 0;
}

/* Launch(owner, fail, launch, program, content, memo_size, device, arrays,
 * reals, numbers, num_given, made, finish, workspace_size, workspace) */
static int launch_init(PyObject *object, PyObject *args, PyObject *named) {
  launch_object *self = (launch_object *)object;
  unsigned long long launch, program;
  const char *content;
  Py_ssize_t size, memo_size;
  long long device, workspace_size;
  PyObject *owner, *fail, *arrays, *reals, *numbers, *made, *finish, *workspace;
  if (named || self->owner) {
    PyErr_SetString(PyExc_TypeError, "Launch takes no names, once");
    return -1;
  }
  if (!PyArg_ParseTuple(
          args, "OOKKy#nLO!O!O!nO!OLO", &owner, &fail, &launch, &program,
          &content, &size, &memo_size, &device, &PyTuple_Type, &arrays,
          &PyTuple_Type, &reals, &PyTuple_Type, &numbers, &self->num_given,
          &PyTuple_Type, &made, &finish, &workspace_size, &workspace))
    return -1;
  Py_INCREF(owner);
  self->owner = owner;
  Py_INCREF(fail);
  self->fail = fail;
  Py_INCREF(finish);
  self->finish = finish;
  self->launch = (launch_function)(uintptr_t)launch;
  self->program = (const fa3_program *)(uintptr_t)program;
  self->memo_size = (size_t)memo_size;
  self->device = device;
  self->device_number = PyLong_FromLongLong(device);
  self->workspace_size = workspace_size;
  if (!self->device_number || set_content(self, content, size) != 0 ||
      read_makers(self, made) != 0)
    return -1;
  Py_ssize_t values = self->num_given + self->num_made;
  if (read_places(arrays, self->num_args, values, &self->arrays) != 0 ||
      read_places(reals, self->num_args, self->num_given, &self->reals) != 0 ||
      read_places(numbers, self->num_args, self->num_given, &self->numbers) !=
          0)
    return -1;
  return workspace_size ? read_maker(workspace, &self->workspace) : 0;
}

static void clear_maker(maker *one) {
  Py_CLEAR(one->function);
  Py_CLEAR(one->args);
  Py_CLEAR(one->named);
}

static void launch_dealloc(PyObject *object) {
  launch_object *self = (launch_object *)object;
  PyTypeObject *type = Py_TYPE(object);
  while (self->idle) {
    frame *one = self->idle;
    self->idle = one->next;
    free(one);
  }
  free(self->content);
  free(self->arrays.items);
  free(self->reals.items);
  free(self->numbers.items);
  for (Py_ssize_t i = 0; i < NATIVE_MOST_MADE; ++i)
    clear_maker(&self->made[i]);
  clear_maker(&self->workspace);
  Py_CLEAR(self->device_number);
  Py_CLEAR(self->owner);
  Py_CLEAR(self->fail);
  Py_CLEAR(self->finish);
  freefunc release_memory = PyType_GetSlot(type, Py_tp_free);
  release_memory(object);
  Py_DECREF(type);
}

static PyMethodDef launch_methods[] = {
    {"run", (PyCFunction)(void (*)(void))native_launch_run, METH_FASTCALL,
     "run(*values): launches; what was made for it."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot launch_slots[] = {{Py_tp_init, launch_init},
                                     {Py_tp_dealloc, launch_dealloc},
                                     {Py_tp_methods, launch_methods},
                                     {0, NULL}};

PyType_Spec native_launch_spec = {"fa3_native.Launch", sizeof(launch_object), 0,
                                  Py_TPFLAGS_DEFAULT, launch_slots};
