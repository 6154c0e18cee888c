/* What the files of the Python face share. */
#ifndef ICORE_MODULE_H
#define ICORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "search.h"

PyObject *wrong(const char *what);
/* The search of a capsule; NULL with an error set. */
Search *search_of(PyObject *capsule);
/* The same when it is ready to go. */
Search *ready(PyObject *capsule);

/* False, with an error set, where a table is wrong or there is no memory; what is there is freed by free_program. */
bool take_program(Program *program, int k, int registers, int counters, const Py_buffer *gates, const Py_buffer *loads, const Py_buffer *kept);

PyObject *kernel_program(PyObject *module, PyObject *args);
PyObject *kernel_moves(PyObject *module, PyObject *args);
PyObject *kernel_watch(PyObject *module, PyObject *args);

PyObject *kernel_counters(PyObject *module, PyObject *args);
PyObject *kernel_tallies(PyObject *module, PyObject *capsule);
PyObject *kernel_values_met(PyObject *module, PyObject *args);
PyObject *kernel_state(PyObject *module, PyObject *args);
PyObject *kernel_states(PyObject *module, PyObject *args);
PyObject *kernel_steps(PyObject *module, PyObject *args);
PyObject *kernel_values(PyObject *module, PyObject *args);
PyObject *kernel_truths(PyObject *module, PyObject *args);
PyObject *kernel_edges(PyObject *module, PyObject *capsule);
/* The type of what `edges` gives: memory of its own, to be read as a buffer. */
PyObject *new_row_type(void);

PyObject *kernel_finals(PyObject *module, PyObject *args);
PyObject *kernel_after(PyObject *module, PyObject *args);

PyObject *kernel_counted(PyObject *module, PyObject *capsule);
PyObject *kernel_origins(PyObject *module, PyObject *args);
PyObject *kernel_put(PyObject *module, PyObject *args);
PyObject *kernel_recount(PyObject *module, PyObject *args);

PyObject *kernel_components(PyObject *module, PyObject *args);
PyObject *kernel_condense(PyObject *module, PyObject *args);
PyObject *kernel_region(PyObject *module, PyObject *args);
PyObject *kernel_productive(PyObject *module, PyObject *args);
PyObject *kernel_reverse(PyObject *module, PyObject *args);
PyObject *kernel_reach(PyObject *module, PyObject *args);
PyObject *kernel_forks(PyObject *module, PyObject *args);

#endif
