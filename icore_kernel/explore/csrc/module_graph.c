/* The Python face of graph.c: buffers of int64 (start, longest), int32 (the rest) and bytes (bottom). */
#include "module.h"

#include <stdbool.h>
#include <string.h>

#include "forks.h"
#include "graph.h"
#include "reach.h"

/* Graphs are checked once a call: rows ascend from 0, targets exist. -1 with an error set. */
static int64_t states_of(const Py_buffer *start, const Py_buffer *target)
{
    const int64_t states = (int64_t)(start->len / 8) - 1, steps = (int64_t)(target->len / 4);
    const int64_t *rows = start->buf;
    const int32_t *targets = target->buf;
    bool right = start->len % 8 == 0 && target->len % 4 == 0 && states >= 0 && states <= INT32_MAX && rows[0] == 0 && rows[states] == steps;
    for (int64_t state = 0; right && state < states; state++) right = rows[state] <= rows[state + 1];
    for (int64_t step = 0; right && step < steps; step++) right = targets[step] >= 0 && targets[step] < states;
    if (!right) {
        wrong("not a graph in compressed rows");
        return -1;
    }
    return states;
}

static bool has(const Py_buffer *view, int64_t items, size_t size)
{
    if (view->len >= 0 && (uint64_t)view->len >= (uint64_t)items * size) return true;
    wrong("a row is too short");
    return false;
}

/* components(start, target, component) -> how many; fills `component`. */
PyObject *kernel_components(PyObject *module, PyObject *args)
{
    Py_buffer start, target, component;
    int64_t count = -2;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*", &start, &target, &component)) return NULL;
    const int64_t states = states_of(&start, &target);
    if (states >= 0 && has(&component, states, 4)) {
        Py_BEGIN_ALLOW_THREADS
        count = graph_components(states, start.buf, target.buf, component.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&target);
    PyBuffer_Release(&component);
    if (count == -1) return PyErr_NoMemory();
    return count < 0 ? NULL : PyLong_FromLongLong(count);
}

static bool right_components(const int32_t *component, int64_t states, const int64_t *start, const int32_t *target, int64_t count)
{
    for (int64_t state = 0; state < states; state++) {
        if (component[state] < 0 || component[state] >= count) return false;
        for (int64_t place = start[state]; place < start[state + 1]; place++)
            if (component[target[place]] > component[state]) return false;
    }
    return true;
}

/* condense(start, target, component, count, classes or None, size, bottom, one_bottom, one_class, longest): fills the last five. */
PyObject *kernel_condense(PyObject *module, PyObject *args)
{
    Py_buffer start, target, component, size, bottom, one_bottom, one_class, longest, classes = {0};
    PyObject *given;
    long long count;
    int done = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*LOw*w*w*w*w*", &start, &target, &component, &count, &given, &size, &bottom, &one_bottom, &one_class, &longest))
        return NULL;
    if (given == Py_None || PyObject_GetBuffer(given, &classes, PyBUF_SIMPLE) == 0) {
        const int64_t states = states_of(&start, &target);
        if (states >= 0 && count >= 0 && count <= states && has(&component, states, 4) && (given == Py_None || has(&classes, states, 4)) &&
            has(&size, count, 4) && has(&bottom, count, 1) && has(&one_bottom, count, 4) && has(&one_class, count, 4) && has(&longest, count, 8)) {
            const Condensed out = {size.buf, bottom.buf, one_bottom.buf, one_class.buf, longest.buf};
            const int32_t *kinds = given == Py_None ? NULL : classes.buf;
            bool right = true;
            Py_BEGIN_ALLOW_THREADS
            if (graph_backwards(states, start.buf, target.buf, component.buf, count))
                done = graph_condense_backwards(states, start.buf, target.buf, kinds, &out);
            else if ((right = right_components(component.buf, states, start.buf, target.buf, count)))
                done = graph_condense(states, start.buf, target.buf, component.buf, count, kinds, &out);
            Py_END_ALLOW_THREADS
            if (!right)
                wrong("condense: not the components of the graph");
            else if (done < 0)
                PyErr_NoMemory();
        } else if (!PyErr_Occurred())
            wrong("condense: more components than states");
        if (given != Py_None) PyBuffer_Release(&classes);
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&target);
    PyBuffer_Release(&component);
    PyBuffer_Release(&size);
    PyBuffer_Release(&bottom);
    PyBuffer_Release(&one_bottom);
    PyBuffer_Release(&one_class);
    PyBuffer_Release(&longest);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static bool below(const Py_buffer *row, int64_t bound)
{
    const int32_t *numbers = row->buf;
    const int64_t count = (int64_t)(row->len / 4);
    for (int64_t place = 0; place < count; place++)
        if (numbers[place] < 0 || numbers[place] >= bound) return false;
    return true;
}

/* region(start, update, target, goal, fair, starts, region) -> (first state where a fair run may end, or -1, whether all steps rise) */
PyObject *kernel_region(PyObject *module, PyObject *args)
{
    Py_buffer start, update, target, goal, fair, starts, region;
    Region found = {-1, 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*w*", &start, &update, &target, &goal, &fair, &starts, &region)) return NULL;
    const int64_t states = states_of(&start, &target);
    if (states >= 0 && has(&update, target.len / 4, 4) && has(&goal, states, 1) && has(&region, states, 1)) {
        int done = 0;
        if (!below(&update, fair.len) || !below(&starts, states))
            wrong("region: a number out of range");
        else {
            Py_BEGIN_ALLOW_THREADS
            memset(region.buf, 0, (size_t)states);
            done = graph_region(states, start.buf, update.buf, target.buf, goal.buf, fair.buf, starts.buf, starts.len / 4, region.buf, &found);
            Py_END_ALLOW_THREADS
        }
        if (done) PyErr_NoMemory();
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&update);
    PyBuffer_Release(&target);
    PyBuffer_Release(&goal);
    PyBuffer_Release(&fair);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&region);
    return PyErr_Occurred() ? NULL : Py_BuildValue("(Li)", (long long)found.end, found.rising);
}

/* productive(start, update, target, start_out, update_out, target_out) -> steps left; the outputs may be the inputs. */
PyObject *kernel_productive(PyObject *module, PyObject *args)
{
    Py_buffer start, update, target, start_out, update_out, target_out;
    int64_t left = -1;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*w*w*w*", &start, &update, &target, &start_out, &update_out, &target_out)) return NULL;
    const int64_t states = states_of(&start, &target), steps = (int64_t)(target.len / 4);
    if (states >= 0 && has(&update, steps, 4) && has(&start_out, states + 1, 8) && has(&update_out, steps, 4) && has(&target_out, steps, 4)) {
        Py_BEGIN_ALLOW_THREADS
        left = graph_productive(states, start.buf, update.buf, target.buf, start_out.buf, update_out.buf, target_out.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&update);
    PyBuffer_Release(&target);
    PyBuffer_Release(&start_out);
    PyBuffer_Release(&update_out);
    PyBuffer_Release(&target_out);
    return left < 0 ? NULL : PyLong_FromLongLong(left);
}

/* reverse(start, target, start_out, source): fills the last two. */
PyObject *kernel_reverse(PyObject *module, PyObject *args)
{
    Py_buffer start, target, start_out, source;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*w*w*", &start, &target, &start_out, &source)) return NULL;
    const int64_t states = states_of(&start, &target);
    if (states >= 0 && has(&start_out, states + 1, 8) && has(&source, (int64_t)(target.len / 4), 4)) {
        Py_BEGIN_ALLOW_THREADS
        graph_reverse(states, start.buf, target.buf, start_out.buf, source.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&target);
    PyBuffer_Release(&start_out);
    PyBuffer_Release(&source);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static uint64_t *room_in(void *rows, int64_t bytes)
{
    return PyByteArray_Resize(rows, (Py_ssize_t)bytes) ? NULL : (uint64_t *)(void *)PyByteArray_AsString(rows);
}

static bool right_columns(const int32_t *column, int64_t count, int64_t words)
{
    for (int64_t c = 0; c < count; c++)
        if (column[c] < -1 || column[c] >= words * 64) return false;
    return true;
}

/* reach(start, target, component, count, column, words, most, set_of) -> the sets, row after row; None: more than `most`. Fills `set_of`. */
PyObject *kernel_reach(PyObject *module, PyObject *args)
{
    Py_buffer start, target, component, column, set_of;
    long long count, words, most;
    PyObject *rows = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*Ly*LLw*", &start, &target, &component, &count, &column, &words, &most, &set_of)) return NULL;
    const int64_t states = states_of(&start, &target);
    if (states >= 0) {
        if (count < 0 || count > states || words < 1 || words > INT32_MAX / 64 || most < 0)
            wrong("reach: more components than states, or no room for a set");
        else if (has(&component, states, 4) && has(&column, count, 4) && has(&set_of, count, 4)) {
            if (!right_components(component.buf, states, start.buf, target.buf, count) || !right_columns(column.buf, count, words))
                wrong("reach: not the components of the graph, or a column outside the sets");
            else
                rows = PyByteArray_FromStringAndSize(NULL, 0);
        }
    }
    if (rows) {
        /* The rows grow in a Python object, so the lock is kept. */
        const int64_t sets = reach_sets(states, start.buf, target.buf, component.buf, count, column.buf, words, most, set_of.buf, room_in, rows);
        if (sets < 0 || PyByteArray_Resize(rows, (Py_ssize_t)(sets * words * 8))) {
            Py_DECREF(rows);
            rows = sets == REACH_TOO_MANY ? Py_NewRef(Py_None) : PyErr_NoMemory();
        }
    }
    PyBuffer_Release(&start);
    PyBuffer_Release(&target);
    PyBuffer_Release(&component);
    PyBuffer_Release(&column);
    PyBuffer_Release(&set_of);
    return rows;
}

/* forks(start, update, target, moves_start, moves_update, moves_target, set_of, bits, words, only, partial, updates, pair, look, counts): forks.h. */
PyObject *kernel_forks(PyObject *module, PyObject *args)
{
    enum { START, UPDATE, TARGET, MOVES_START, MOVES_UPDATE, MOVES_TARGET, SET_OF, BITS, ONLY, PAIR, LOOK, COUNTS, VIEWS };
    Py_buffer v[VIEWS];
    long long words, updates;
    int partial, done = -2;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*Ly*pLy*y*w*", &v[START], &v[UPDATE], &v[TARGET], &v[MOVES_START], &v[MOVES_UPDATE], &v[MOVES_TARGET],
                          &v[SET_OF], &v[BITS], &words, &v[ONLY], &partial, &updates, &v[PAIR], &v[LOOK], &v[COUNTS]))
        return NULL;
    const int64_t states = (int64_t)(v[START].len / 8) - 1, pairs = (int64_t)v[LOOK].len;
    if (states >= 0 && words >= 0 && words <= INT32_MAX / 64 && updates >= 0 && updates <= INT32_MAX / 2) {
        const Rows full = {v[START].buf, v[UPDATE].buf, v[TARGET].buf, v[TARGET].len / 4};
        const Rows moves = {v[MOVES_START].buf, v[MOVES_UPDATE].buf, v[MOVES_TARGET].buf, v[MOVES_TARGET].len / 4};
        const Reached reached = {v[SET_OF].buf, v[BITS].buf, v[ONLY].buf, words, words ? v[BITS].len / (words * 8) : 0, partial};
        if (has(&v[MOVES_START], states + 1, 8) && has(&v[UPDATE], full.steps, 4) && has(&v[MOVES_UPDATE], moves.steps, 4) &&
            has(&v[PAIR], updates * updates, 4) && has(&v[COUNTS], pairs, 40) && (!words || has(&v[SET_OF], states, 4)) &&
            (!words || !partial || has(&v[ONLY], states, 4))) {
            Py_BEGIN_ALLOW_THREADS
            done = forks_count(states, &full, &moves, &reached, updates, v[PAIR].buf, pairs, v[LOOK].buf, v[COUNTS].buf);
            Py_END_ALLOW_THREADS
        }
    }
    for (int view = 0; view < VIEWS; view++) PyBuffer_Release(&v[view]);
    if (done == -1) return PyErr_NoMemory();
    if (done == -2 && !PyErr_Occurred()) wrong("forks: a table names something that is not there");
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
