/* What a checkpoint keeps of a search, and a search made from it (native_kept.py). States go out as they are found and come back in
 * their order; what was counted goes out and comes back as one row of int64. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* origins(search, begin, end) -> (uint32 parents, a byte a state: infeasible) */
PyObject *kernel_origins(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    long long begin, end;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLL", &capsule, &begin, &end)) return NULL;
    const Search *search = search_of(capsule);
    if (!search) return NULL;
    if (begin < 0 || begin > end || end > search->store.count) return wrong("origins: no such states");
    PyObject *parents = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * (end - begin)));
    PyObject *flags = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(end - begin));
    if (!parents || !flags) {
        Py_XDECREF(parents);
        Py_XDECREF(flags);
        return NULL;
    }
    char *own_parents = PyBytes_AsString(parents), *own_flags = PyBytes_AsString(flags);
    for (long long number = begin; number < end; number++) {
        memcpy(own_parents + 4 * (number - begin), state_parent(&search->store, (uint32_t)number), 4);
        own_flags[number - begin] = is_infeasible(&search->store, (uint32_t)number);
    }
    return Py_BuildValue("(NN)", parents, flags);
}

static const char *put_rows(Search *search, const uint64_t *words, const uint32_t *parents, const uint8_t *flags, size_t count)
{
    const int k = search->k;
    for (size_t row = 0; row < count; row++) {
        if (!store_make_room(&search->store)) return "";
        const uint64_t *own = words + row * (size_t)k;
        const uint64_t hash = hash_of(own, k);
        uint32_t slot = 0;
        if (parents[row] != NOWHERE && parents[row] >= search->store.count) return "put: a parent after its state";
        if (find_state(&search->store, own, k, hash, &slot) != NOWHERE) return "put: a state that is there";
        put_state(&search->store, own, k, hash, slot, parents[row], flags[row] != 0);
    }
    return NULL;
}

/* put(search, words, parents, infeasible) -> whether there was room: further states, in their order */
PyObject *kernel_put(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_buffer words, parents, flags;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*y*y*", &capsule, &words, &parents, &flags)) return NULL;
    Search *search = ready(capsule);
    const char *fault = search ? NULL : "";
    if (search) {
        const size_t count = (size_t)flags.len;
        if ((size_t)parents.len != 4 * count || (size_t)words.len != 8 * (size_t)search->k * count)
            fault = "put: rows of different lengths";
        else
            fault = put_rows(search, words.buf, parents.buf, flags.buf, count);
    }
    PyBuffer_Release(&words);
    PyBuffer_Release(&parents);
    PyBuffer_Release(&flags);
    if (!search) return NULL;
    if (fault && *fault) return wrong(fault);
    return PyBool_FromLong(!fault);
}

/* Either the next numbers of a row are written to memory, or memory to the row; `left` runs out where the row is too short. */
typedef struct {
    int64_t *row;
    size_t left;
    bool restoring, fits;
} Cursor;

static void pass(Cursor *cursor, void *memory, size_t count)
{
    if (!cursor->fits || cursor->left < count) {
        cursor->fits = false;
        return;
    }
    if (count && cursor->restoring)
        memcpy(memory, cursor->row, 8 * count);
    else if (count)
        memcpy(cursor->row, memory, 8 * count);
    cursor->row += count;
    cursor->left -= count;
}

/* A number that must be the same when it comes back. */
static void pass_same(Cursor *cursor, int64_t value)
{
    int64_t kept = value;
    pass(cursor, &kept, 1);
    if (kept != value) cursor->fits = false;
}

/* 0..count - 1 is asked of a number of states when it comes back; it is 32 bits wide. */
static void pass_number(Cursor *cursor, uint32_t *number, uint32_t most)
{
    int64_t kept = *number;
    pass(cursor, &kept, 1);
    if (!cursor->fits || kept < 0 || kept > most) {
        cursor->fits = false;
        return;
    }
    *number = (uint32_t)kept;
}

static size_t measure_row(const Measure *measure) { return 1 + 2 * (size_t)measure->size; }

static void pass_measure(Cursor *cursor, Measure *measure)
{
    int64_t size = (int64_t)measure->size, used = (int64_t)measure->used;
    pass(cursor, &size, 1);
    pass(cursor, &used, 1);
    if (!cursor->fits) return;
    if (cursor->restoring) {
        /* A power of two, at most half full. */
        if (size < 0 || (size & (size - 1)) || used < 0 || 2 * used > size + 1 || (size_t)size > cursor->left / 2) {
            cursor->fits = false;
            return;
        }
        free(measure->codes);
        free(measure->firsts);
        measure->codes = malloc(8 * (size_t)size + 1);
        measure->firsts = malloc(8 * (size_t)size + 1);
        measure->size = measure->codes && measure->firsts ? (uint64_t)size : 0;
        measure->used = (uint64_t)used;
        if ((int64_t)measure->size != size) cursor->fits = false;
    }
    pass(cursor, measure->codes, measure->size);
    pass(cursor, measure->firsts, measure->size);
    uint64_t taken = 0;
    for (uint64_t place = 0; cursor->fits && place < measure->size; place++) taken += measure->firsts[place] >= 0;
    if (taken != measure->used) cursor->fits = false;
}

static void pass_all(Cursor *cursor, Search *search)
{
    const uint32_t count = search->store.count;
    pass_same(cursor, search->k);
    pass_same(cursor, search->update_count);
    pass_same(cursor, search->slot_count);
    pass_same(cursor, search->measure_count);
    pass_same(cursor, count);
    pass_number(cursor, &search->next, count);
    pass_number(cursor, &search->level_end, count);
    pass_number(cursor, &search->looked, count);
    int64_t *totals[] = {&search->tally.stutters, &search->illegal, &search->tally.quiet, &search->tally.unended, &search->tally.first_unended};
    for (size_t place = 0; place < sizeof totals / sizeof *totals; place++) pass(cursor, totals[place], 1);
    pass(cursor, search->tally.committed, (size_t)search->update_count);
    pass(cursor, search->slots, 3 * (size_t)search->slot_count);
    for (int which = 0; which < PROGRAMS; which++) {
        Program *program = &search->programs[which];
        pass_same(cursor, program->counters);
        pass(cursor, program->counts, (size_t)program->counters);
        pass(cursor, program->firsts, (size_t)program->counters);
    }
    for (int32_t place = 0; place < search->measure_count; place++) pass_measure(cursor, &search->measures[place]);
}

static size_t row_of_search(const Search *search)
{
    size_t length = 13 + (size_t)search->update_count + 3 * (size_t)search->slot_count + PROGRAMS;
    for (int which = 0; which < PROGRAMS; which++) length += 2 * (size_t)search->programs[which].counters;
    for (int32_t place = 0; place < search->measure_count; place++) length += 1 + measure_row(&search->measures[place]);
    return length;
}

/* counted(search) -> int64: where the search is between two calls of `advance`, and all that it has counted */
PyObject *kernel_counted(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    const size_t length = row_of_search(search);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 * length));
    int64_t *row = malloc(8 * length);
    if (!bytes || !row) {
        free(row);
        Py_XDECREF(bytes);
        return PyErr_NoMemory();
    }
    Cursor cursor = {row, length, false, true};
    pass_all(&cursor, search);
    memcpy(PyBytes_AsString(bytes), row, 8 * length);
    free(row);
    if (cursor.fits && !cursor.left) return bytes;
    Py_DECREF(bytes);
    return wrong("counted: a search that changed");
}

/* recount(search, counted): go on from there; the states are `put` already. A search that is refused is of no use any more. */
PyObject *kernel_recount(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*", &capsule, &view)) return NULL;
    Search *search = ready(capsule);
    bool fits = false;
    if (search) {
        int64_t *row = malloc((size_t)view.len + 1);
        if (row) {
            memcpy(row, view.buf, (size_t)view.len);
            Cursor cursor = {row, (size_t)view.len / 8, true, true};
            pass_all(&cursor, search);
            fits = cursor.fits && !cursor.left && view.len % 8 == 0 && search->next <= search->level_end;
            free(row);
        }
    }
    PyBuffer_Release(&view);
    if (!search) return NULL;
    if (!fits) return wrong("recount: of another search");
    Py_RETURN_NONE;
}
