/* The Python face of the kernel: a search in a capsule, and functions over buffers (native.py drives it). */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static const char CAPSULE[] = "icore search";

static void free_capsule(PyObject *capsule) { search_free(PyCapsule_GetPointer(capsule, CAPSULE)); }

Search *search_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

PyObject *wrong(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return NULL;
}

static PyObject *kernel_new(PyObject *module, PyObject *args)
{
    int words, updates;
    long long most_states, most_bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "iiLL", &words, &updates, &most_states, &most_bytes)) return NULL;
    if (words < 1 || words > 4096 || updates < 0 || most_bytes < 0) return wrong("new: words, updates or bytes out of range");
    Search *search = search_new(words, updates, most_states, (size_t)most_bytes);
    if (!search) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(search, CAPSULE, free_capsule);
    if (!capsule) search_free(search);
    return capsule;
}

Search *ready(PyObject *capsule)
{
    Search *search = search_of(capsule);
    if (search && (!search->pending_words || !search->stops || (search->judging && !search->programs[JUDGE].planes))) {
        wrong("the search is not complete: programs, moves, watch");
        return NULL;
    }
    return search;
}

static PyObject *kernel_admit(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_buffer words;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*", &capsule, &words)) return NULL;
    Search *search = ready(capsule);
    if (search && (size_t)words.len % (sizeof(uint64_t) * (size_t)search->k)) {
        wrong("admit: states of another width");
        search = NULL;
    }
    if (search) search_admit(search, words.buf, (size_t)words.len / (sizeof(uint64_t) * (size_t)search->k));
    PyBuffer_Release(&words);
    return search ? PyLong_FromLong(search->status) : NULL;
}

/* spill(search, file, spill_at): the descriptor of an empty file, which may be closed afterwards. */
static PyObject *kernel_spill(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int file;
    long long spill_at;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiL", &capsule, &file, &spill_at)) return NULL;
    Search *search = search_of(capsule);
    if (!search) return NULL;
    if (file < 0 || spill_at < 0 || search->store.file >= 0) return wrong("spill: no such file, or it is in use");
    store_spill_to(&search->store, file, (size_t)spill_at);
    Py_RETURN_NONE;
}

static PyObject *kernel_begin_level(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    search_begin_level(search);
    return PyLong_FromLongLong(search->level_end - (long long)search->next);
}

static PyObject *kernel_advance(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    long long blocks;
    int status, threads;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLi", &capsule, &blocks, &threads)) return NULL;
    Search *search = ready(capsule);
    if (!search) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = search_advance(search, blocks, threads);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(status);
}

static PyObject *kernel_look(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    Py_BEGIN_ALLOW_THREADS
    search_look(search, true);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(search->status);
}

/* (states, steps, stutters, quiet, unended, first unended, bytes, infeasible, bytes spilled, next) */
static PyObject *kernel_totals(PyObject *module, PyObject *capsule)
{
    Search *search = search_of(capsule);
    (void)module;
    if (!search) return NULL;
    const Store *store = &search->store;
    const size_t edges = search->edges.room * 8 + search->edge_states_room * 4;
    int64_t steps = 0;
    for (int update = 0; update < search->update_count; update++) steps += search->tally.committed[update];
    return Py_BuildValue("LLLLLLLLLL", (long long)store->count, (long long)steps, (long long)search->tally.stutters, (long long)search->tally.quiet,
                         (long long)search->tally.unended, (long long)search->tally.first_unended, (long long)(store->bytes + edges),
                         (long long)store->infeasible_count, (long long)store->spilled, (long long)search->next);
}

static PyMethodDef METHODS[] = {
    {"new", kernel_new, METH_VARARGS, "new(words, updates, most_states, most_bytes) -> search"},
    {"program", kernel_program, METH_VARARGS, "program(search, which, registers, counters, gates, loads, kept)"},
    {"moves", kernel_moves, METH_VARARGS, "moves(search, slots, judging, ends, keep_edges, moves, masks, values, clauses)"},
    {"watch", kernel_watch, METH_VARARGS, "watch(search, stop_at_violation, measures, stops)"},
    {"admit", kernel_admit, METH_VARARGS, "admit(search, words) -> status"},
    {"spill", kernel_spill, METH_VARARGS, "spill(search, file, spill_at)"},
    {"begin_level", kernel_begin_level, METH_O, "begin_level(search) -> states of the level"},
    {"advance", kernel_advance, METH_VARARGS, "advance(search, blocks, threads) -> status"},
    {"look", kernel_look, METH_O, "look(search) -> status"},
    {"totals", kernel_totals, METH_O, "totals(search) -> (states, steps, stutters, quiet, unended, first unended, bytes, infeasible, spilled, next)"},
    {"counters", kernel_counters, METH_VARARGS, "counters(search, which) -> (counts, firsts)"},
    {"tallies", kernel_tallies, METH_O, "tallies(search) -> (steps by update, slots)"},
    {"values_met", kernel_values_met, METH_VARARGS, "values_met(search, measure) -> (codes, firsts)"},
    {"state", kernel_state, METH_VARARGS, "state(search, number) -> (words, parent)"},
    {"states", kernel_states, METH_VARARGS, "states(search, begin, end) -> words"},
    {"steps", kernel_steps, METH_VARARGS, "steps(search, numbers) -> (rows, updates, targets)"},
    {"values", kernel_values, METH_VARARGS, "values(search, which, numbers) -> words"},
    {"truths", kernel_truths, METH_VARARGS, "truths(search, registers, gates, loads, kept, out)"},
    {"finals", kernel_finals, METH_VARARGS, "finals(search, waiting, begin, end, marked) -> states"},
    {"after", kernel_after, METH_VARARGS, "after(search, numbers, touching, marked, came) -> (states, what breaks finality)"},
    {"edges", kernel_edges, METH_O, "edges(search) -> (counts, updates, targets)"},
    {"origins", kernel_origins, METH_VARARGS, "origins(search, begin, end) -> (parents, infeasible)"},
    {"put", kernel_put, METH_VARARGS, "put(search, words, parents, infeasible) -> whether there was room"},
    {"counted", kernel_counted, METH_O, "counted(search) -> row"},
    {"recount", kernel_recount, METH_VARARGS, "recount(search, row)"},
    {"components", kernel_components, METH_VARARGS, "components(start, target, component) -> how many"},
    {"condense", kernel_condense, METH_VARARGS,
     "condense(start, target, component, count, classes, size, bottom, one_bottom, one_class, longest)"},
    {"region", kernel_region, METH_VARARGS, "region(start, update, target, goal, fair, starts, region) -> (first end, whether steps rise)"},
    {"productive", kernel_productive, METH_VARARGS, "productive(start, update, target, start_out, update_out, target_out) -> steps"},
    {"reverse", kernel_reverse, METH_VARARGS, "reverse(start, target, start_out, source)"},
    {"reach", kernel_reach, METH_VARARGS, "reach(start, target, component, count, column, words, most, set_of) -> the sets, or None"},
    {"forks", kernel_forks, METH_VARARGS,
     "forks(start, update, target, moves_start, moves_update, moves_target, set_of, bits, words, only, partial, updates, pair, look, counts)"},
    {NULL, NULL, 0, NULL},
};

/* Counted up whenever the Python side needs more, or something else, than it did: search.py asks for its own. */
#define EDITION 8

static int execute(PyObject *module)
{
    PyObject *row = new_row_type();
    const int added = row ? PyModule_AddObjectRef(module, "Row", row) : -1;
    Py_XDECREF(row);
    return added || PyModule_AddIntConstant(module, "BLOCK", BLOCK) || PyModule_AddIntConstant(module, "EDITION", EDITION) ? -1 : 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};

static struct PyModuleDef DEFINITION = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_kernel",
    .m_doc = "The search over packed states by bit-sliced evaluation, and passes over step graphs.",
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__kernel(void);

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&DEFINITION); }
