/* What the files of the Python face share. */
#ifndef ICORE_MODULE_H
#define ICORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

PyObject *wrong(const char *what);

PyObject *kernel_components(PyObject *module, PyObject *args);
PyObject *kernel_condense(PyObject *module, PyObject *args);
PyObject *kernel_productive(PyObject *module, PyObject *args);
PyObject *kernel_reverse(PyObject *module, PyObject *args);

#endif
