/* What a search has found: counts, states, steps, and what holds where. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* int64 of a program's counters: all counts, then all firsts. */
PyObject *kernel_counters(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int which;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &capsule, &which)) return NULL;
    Search *search = search_of(capsule);
    if (!search) return NULL;
    if (which < 0 || which >= PROGRAMS) return wrong("counters: no such program");
    const Program *program = &search->programs[which];
    const Py_ssize_t size = (Py_ssize_t)((size_t)program->counters * sizeof(int64_t));
    if (!size) return Py_BuildValue("(y#y#)", "", (Py_ssize_t)0, "", (Py_ssize_t)0);
    return Py_BuildValue("(y#y#)", (const char *)program->counts, size, (const char *)program->firsts, size);
}

/* (int64 of steps by update, int64 triples (count, state, update) by slot) */
PyObject *kernel_tallies(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    return Py_BuildValue("(y#y#)", (const char *)search->tally.committed, (Py_ssize_t)((size_t)search->update_count * sizeof(int64_t)),
                         (const char *)search->slots, (Py_ssize_t)((size_t)search->slot_count * sizeof(Slot)));
}

/* (codes as uint64, first states as int64) of a measure, in no order. */
PyObject *kernel_values_met(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int place;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &capsule, &place)) return NULL;
    Search *search = search_of(capsule);
    if (!search) return NULL;
    if (place < 0 || place >= search->measure_count) return wrong("values_met: no such measure");
    const Measure *measure = &search->measures[place];
    PyObject *codes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(measure->used * sizeof(uint64_t)));
    PyObject *firsts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(measure->used * sizeof(int64_t)));
    if (codes && firsts) {
        char *code = PyBytes_AsString(codes), *first = PyBytes_AsString(firsts);
        for (uint64_t slot = 0, out = 0; slot < measure->size; slot++) {
            if (measure->firsts[slot] < 0) continue;
            memcpy(code + 8 * out, &measure->codes[slot], 8);
            memcpy(first + 8 * out++, &measure->firsts[slot], 8);
        }
        return Py_BuildValue("(NN)", codes, firsts);
    }
    Py_XDECREF(codes);
    Py_XDECREF(firsts);
    return NULL;
}

/* (words, parent) of one state; the parent is -1 for an initial state. */
PyObject *kernel_state(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    long long number;
    (void)module;
    if (!PyArg_ParseTuple(args, "OL", &capsule, &number)) return NULL;
    Search *search = search_of(capsule);
    if (!search) return NULL;
    if (number < 0 || number >= search->store.count) {
        PyErr_SetString(PyExc_IndexError, "no such state");
        return NULL;
    }
    const uint32_t parent = *state_parent(&search->store, (uint32_t)number);
    return Py_BuildValue("(y#L)", (const char *)state_words(&search->store, (uint32_t)number, search->k),
                         (Py_ssize_t)((size_t)search->k * sizeof(uint64_t)), parent == NOWHERE ? -1LL : (long long)parent);
}

/* The words of states begin .. end, as bytes. */
PyObject *kernel_states(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    long long begin, end;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLL", &capsule, &begin, &end)) return NULL;
    Search *search = search_of(capsule);
    if (!search) return NULL;
    if (begin < 0 || begin > end || end > search->store.count) return wrong("states: no such states");
    const size_t size = (size_t)search->k * sizeof(uint64_t);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)(end - begin) * size));
    if (!bytes) return NULL;
    char *out = PyBytes_AsString(bytes);
    for (long long number = begin; number < end;) {
        long long length = CHUNK - (number & (CHUNK - 1));
        if (length > end - number) length = end - number;
        memcpy(out, state_words(&search->store, (uint32_t)number, search->k), (size_t)length * size);
        out += (size_t)length * size;
        number += length;
    }
    return bytes;
}

/* The numbers of existing states in a buffer of uint32, at most BLOCK; -1 with an error set. */
static int numbers_of(const Search *search, const Py_buffer *view)
{
    const size_t count = (size_t)view->len / sizeof(uint32_t);
    const uint32_t *numbers = view->buf;
    bool right = (size_t)view->len % sizeof(uint32_t) == 0 && count <= BLOCK;
    for (size_t row = 0; right && row < count; row++) right = numbers[row] < search->store.count;
    if (!right) {
        wrong("numbers of existing states, at most a block");
        return -1;
    }
    return (int)count;
}

/* The steps of up to BLOCK states, in their order: (rows, updates, targets) as bytes of uint32, int32, uint32. */
PyObject *kernel_steps(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*", &capsule, &view)) return NULL;
    Search *search = ready(capsule);
    const int count = search ? numbers_of(search, &view) : -1;
    bool done = true;
    if (count >= 0) {
        Py_BEGIN_ALLOW_THREADS
        done = search_steps(search, view.buf, count);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&view);
    if (count < 0) return NULL;
    if (!done) return PyErr_NoMemory();
    Edges *edges = &search->block_edges;
    size_t kept = 0;
    for (size_t edge = 0; edge < edges->count; edge++) {
        if (edges->targets[edge] == NOWHERE) continue;
        search->edge_rows[kept] = search->edge_rows[edge];
        edges->updates[kept] = edges->updates[edge];
        edges->targets[kept++] = edges->targets[edge];
    }
    const Py_ssize_t size = (Py_ssize_t)(4 * kept);
    if (!size) return Py_BuildValue("(y#y#y#)", "", size, "", size, "", size);
    return Py_BuildValue("(y#y#y#)", (const char *)search->edge_rows, size, (const char *)edges->updates, size, (const char *)edges->targets, size);
}

/* The kept outputs of a program for up to BLOCK states: uint64, 64 outputs a word, state by state. */
PyObject *kernel_values(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int which;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiy*", &capsule, &which, &view)) return NULL;
    Search *search = ready(capsule);
    PyObject *bytes = NULL;
    if (search && (which < 0 || which >= PROGRAMS || !search->programs[which].planes)) {
        wrong("values: no such program");
        search = NULL;
    }
    const int count = search ? numbers_of(search, &view) : -1;
    if (count >= 0) {
        const int words = (search->programs[which].kept_count + 63) / 64;
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof(uint64_t) * words * count);
        if (bytes) {
            uint64_t *out = malloc(sizeof(uint64_t) * (size_t)words * (size_t)count + 1);
            if (out) {
                search_values(search, which, view.buf, count, out, words);
                memcpy(PyBytes_AsString(bytes), out, sizeof(uint64_t) * (size_t)words * (size_t)count);
                free(out);
            } else {
                Py_CLEAR(bytes);
                PyErr_NoMemory();
            }
        }
    }
    PyBuffer_Release(&view);
    return bytes;
}

/* A heap array that is given away: as large as it is, and never held twice. */
typedef struct {
    PyObject_HEAD
    void *memory;
    Py_ssize_t bytes;
} Row;

static int row_buffer(PyObject *self, Py_buffer *view, int flags)
{
    Row *row = (Row *)self;
    return PyBuffer_FillInfo(view, self, row->memory ? row->memory : (void *)"", row->bytes, 1, flags);
}

static void row_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((Row *)self)->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot ROW_SLOTS[] = {{Py_bf_getbuffer, (void *)row_buffer}, {Py_tp_dealloc, (void *)row_free}, {0, NULL}};
static PyType_Spec ROW = {"icore_kernel.explore._kernel.Row", sizeof(Row), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, ROW_SLOTS};

PyObject *new_row_type(void) { return PyType_FromSpec(&ROW); }

/* A view of a row that the array goes with; what is behind its end is given back to the system. */
static PyObject *given_away(PyObject *type, void **memory, size_t bytes)
{
    Row *row = (Row *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (!row) return NULL;
    void *smaller = bytes ? realloc(*memory, bytes) : NULL;
    row->memory = smaller ? smaller : *memory;
    row->bytes = (Py_ssize_t)bytes;
    *memory = NULL;
    PyObject *view = PyMemoryView_FromObject((PyObject *)row);
    Py_DECREF(row);
    return view;
}

/* The kept steps: (uint32 counts by state, int32 updates, uint32 targets) as memory views of bytes; the search keeps them no longer. */
PyObject *kernel_edges(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    PyObject *type = search ? PyObject_GetAttrString(module, "Row") : NULL;
    if (!type) return NULL;
    Edges *edges = &search->edges;
    void *held[] = {search->edge_counts, edges->updates, edges->targets};
    const size_t bytes[] = {4 * search->edge_states, 4 * edges->count, 4 * edges->count};
    PyObject *rows[3] = {NULL, NULL, NULL};
    for (int place = 0; place < 3 && (!place || rows[place - 1]); place++) rows[place] = given_away(type, &held[place], bytes[place]);
    search->edge_counts = held[0];
    edges->updates = held[1];
    edges->targets = held[2];
    edges->count = edges->room = search->edge_states = search->edge_states_room = 0;
    Py_DECREF(type);
    if (rows[2]) return Py_BuildValue("(NNN)", rows[0], rows[1], rows[2]);
    Py_XDECREF(rows[0]);
    Py_XDECREF(rows[1]);
    return NULL;
}

/* truths(search, registers, gates, loads, kept, out): whether each kept output of a program holds, a byte a state, output by output. */
PyObject *kernel_truths(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int registers;
    Py_buffer gates, loads, kept, out;
    Program program = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiy*y*y*w*", &capsule, &registers, &gates, &loads, &kept, &out)) return NULL;
    const Search *search = search_of(capsule);
    if (search && take_program(&program, search->k, registers, 0, &gates, &loads, &kept)) {
        if ((size_t)out.len != (size_t)program.kept_count * search->store.count)
            wrong("truths: a table of the wrong length");
        else {
            Py_BEGIN_ALLOW_THREADS
            look_at_all(search, &program, out.buf);
            Py_END_ALLOW_THREADS
        }
    }
    free_program(&program);
    PyBuffer_Release(&gates);
    PyBuffer_Release(&loads);
    PyBuffer_Release(&kept);
    PyBuffer_Release(&out);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
