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

PyObject *kernel_counted(PyObject *module, PyObject *capsule);
PyObject *kernel_origins(PyObject *module, PyObject *args);
PyObject *kernel_put(PyObject *module, PyObject *args);
PyObject *kernel_recount(PyObject *module, PyObject *args);

PyObject *kernel_components(PyObject *module, PyObject *args);
PyObject *kernel_condense(PyObject *module, PyObject *args);
PyObject *kernel_productive(PyObject *module, PyObject *args);
PyObject *kernel_reverse(PyObject *module, PyObject *args);
PyObject *kernel_reach(PyObject *module, PyObject *args);
PyObject *kernel_forks(PyObject *module, PyObject *args);

#endif
