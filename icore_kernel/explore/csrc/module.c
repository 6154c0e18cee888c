/* The Python face of the kernel: a search in a capsule, and functions over buffers. Sizes and indices are checked here, so that
 * wrong tables raise ValueError; native.py makes right ones. */
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

/* A copy of a buffer of whole items, at least one byte long; NULL with an error set. */
static void *copied(const Py_buffer *view, size_t item, int32_t *count)
{
    const size_t items = (size_t)view->len / item;
    if ((size_t)view->len % item || items > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a table of the wrong length");
        return NULL;
    }
    void *copy = malloc((size_t)view->len + 1);
    if (!copy) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(copy, view->buf, (size_t)view->len);
    *count = (int32_t)items;
    return copy;
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

static bool right_program(const Program *program, int k)
{
    if (program->registers < 1) return false;
    int32_t word = 0;
    for (int32_t place = 0; place < program->load_count; place++) {
        const Load *load = &program->loads[place];
        if (load->word < word || load->word >= k || load->bit < 0 || load->bit > 63 || load->into < 0 || load->into >= program->registers) return false;
        word = load->word;
    }
    for (int32_t place = 0; place < program->gate_count; place++) {
        const Gate *gate = &program->gates[place];
        const int32_t into = gate->kind == GATE_COUNT || gate->kind == GATE_COUNT_NOT ? program->counters : program->registers;
        if (gate->kind < 0 || gate->kind >= GATE_KINDS || gate->into < 0 || gate->into >= into || gate->a < 0 || gate->b < 0 ||
            gate->a >= program->registers || gate->b >= program->registers)
            return false;
    }
    for (int32_t place = 0; place < program->kept_count; place++)
        if (program->kept[place] < 0 || program->kept[place] >= program->registers) return false;
    return true;
}

static PyObject *kernel_program(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int which, registers, counters;
    Py_buffer gates, loads, kept;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiiiy*y*y*", &capsule, &which, &registers, &counters, &gates, &loads, &kept)) return NULL;
    Search *search = search_of(capsule);
    Program *program = search && which >= 0 && which < PROGRAMS ? &search->programs[which] : NULL;
    if (program && !program->planes && registers >= 1 && registers <= 1 << 24 && counters >= 0) {
        program->registers = registers;
        program->counters = counters;
        program->gates = copied(&gates, sizeof(Gate), &program->gate_count);
        if (program->gates) program->loads = copied(&loads, sizeof(Load), &program->load_count);
        if (program->loads) program->kept = copied(&kept, sizeof(int32_t), &program->kept_count);
        if (program->kept && !right_program(program, search->k)) wrong("program: a number out of range");
        if (!PyErr_Occurred()) {
            program->counts = calloc((size_t)counters + 1, sizeof *program->counts);
            program->firsts = calloc((size_t)counters + 1, sizeof *program->firsts);
            program->planes = calloc((size_t)registers, sizeof *program->planes);
            if (!program->counts || !program->firsts || !program->planes) PyErr_NoMemory();
        }
    } else if (!PyErr_Occurred())
        wrong("program: no such program, or given twice");
    PyBuffer_Release(&gates);
    PyBuffer_Release(&loads);
    PyBuffer_Release(&kept);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static bool within(int32_t begin, int32_t end, int32_t count) { return 0 <= begin && begin <= end && end <= count; }

static bool right_moves(const Search *search, bool judging)
{
    const int32_t expand = search->programs[EXPAND].kept_count, judge = search->programs[JUDGE].kept_count;
    if ((judging && judge < 1) || search->move_count > MOST_MOVES) return false;
    for (int32_t place = 0; place < search->move_count; place++) {
        const Move *move = &search->moves[place];
        if (move->update < 0 || move->update >= search->update_count || move->kind < ORDINARY || move->kind > FAULT || move->candidates < 0 ||
            move->candidates >= expand || move->doubtful < -1 || move->doubtful >= expand || move->after < -1 || move->after >= judge ||
            !within(move->values_begin, move->values_end, search->value_count) || !within(move->clauses_begin, move->clauses_end, search->clause_count) ||
            !within(move->shared_begin, move->shared_end, search->clause_count))
            return false;
    }
    for (int32_t place = 0; place < search->value_count; place++) {
        const Value *value = &search->values[place];
        if (value->output < 0 || value->output >= expand || value->word < 0 || value->word >= search->k || value->bit < 0 || value->bit > 63) return false;
    }
    for (int32_t place = 0; place < search->clause_count; place++) {
        const Clause *clause = &search->clauses[place];
        if ((clause->program != EXPAND && clause->program != JUDGE) || clause->output < 0 ||
            clause->output >= search->programs[clause->program].kept_count || clause->slot < 0 || clause->slot >= search->slot_count)
            return false;
    }
    return true;
}

static PyObject *kernel_moves(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int slots, judging, ends, keep_edges;
    Py_buffer moves, masks, values, clauses;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiiiiy*y*y*y*", &capsule, &slots, &judging, &ends, &keep_edges, &moves, &masks, &values, &clauses)) return NULL;
    Search *search = search_of(capsule);
    if (search && !search->moves && search->programs[EXPAND].planes && slots >= 0) {
        int32_t mask_count = 0;
        search->slot_count = slots;
        search->moves = copied(&moves, sizeof(Move), &search->move_count);
        if (search->moves) search->masks = copied(&masks, sizeof(uint64_t), &mask_count);
        if (search->masks) search->values = copied(&values, sizeof(Value), &search->value_count);
        if (search->values) search->clauses = copied(&clauses, sizeof(Clause), &search->clause_count);
        if (search->clauses && (mask_count != (int64_t)search->move_count * 2 * search->k || !right_moves(search, judging) || ends < -1 ||
                                ends >= search->programs[EXPAND].kept_count))
            wrong("moves: a number out of range");
        if (!PyErr_Occurred()) {
            search->judging = judging;
            search->ends = ends;
            search->keep_edges = keep_edges;
            search->slots = calloc((size_t)slots + 1, sizeof *search->slots);
            search->stamps = calloc((size_t)slots + 1, sizeof *search->stamps);
            if (!search->slots || !search->stamps || !search_prepare(search)) PyErr_NoMemory();
        }
    } else if (!PyErr_Occurred())
        wrong("moves: given twice, or before the programs");
    PyBuffer_Release(&moves);
    PyBuffer_Release(&masks);
    PyBuffer_Release(&values);
    PyBuffer_Release(&clauses);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* measures: pairs (first kept output of LOOK, how many); stops: pairs (program, counter). */
static PyObject *kernel_watch(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int stop_at_violation;
    Py_buffer measures, stops;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiy*y*", &capsule, &stop_at_violation, &measures, &stops)) return NULL;
    Search *search = search_of(capsule);
    if (search && !search->stops) {
        int32_t pairs = 0;
        int32_t *given = copied(&measures, 2 * sizeof(int32_t), &pairs);
        search->stops = given ? copied(&stops, 2 * sizeof(int32_t), &search->stop_count) : NULL;
        if (search->stops && !(search->measures = calloc((size_t)pairs + 1, sizeof *search->measures))) PyErr_NoMemory();
        for (int32_t place = 0; !PyErr_Occurred() && place < pairs; place++) {
            const int32_t begin = given[2 * place], count = given[2 * place + 1];
            if (count < 0 || count > 64 || begin < 0 || begin > search->programs[LOOK].kept_count - count) wrong("watch: no such measure");
            search->measures[place].begin = begin;
            search->measures[place].count = count;
            search->measure_count = place + 1;
        }
        for (int32_t place = 0; !PyErr_Occurred() && place < search->stop_count; place++) {
            const int32_t program = search->stops[2 * place], counter = search->stops[2 * place + 1];
            if (program < 0 || program >= PROGRAMS || counter < 0 || counter >= search->programs[program].counters) wrong("watch: no such counter");
        }
        search->stop_at_violation = stop_at_violation;
        free(given);
    } else if (!PyErr_Occurred())
        wrong("watch: given twice");
    PyBuffer_Release(&measures);
    PyBuffer_Release(&stops);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
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

/* int64 of a program's counters: all counts, then all firsts. */
static PyObject *kernel_counters(PyObject *module, PyObject *args)
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
static PyObject *kernel_tallies(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    return Py_BuildValue("(y#y#)", (const char *)search->tally.committed, (Py_ssize_t)((size_t)search->update_count * sizeof(int64_t)),
                         (const char *)search->slots, (Py_ssize_t)((size_t)search->slot_count * sizeof(Slot)));
}

/* (codes as uint64, first states as int64) of a measure, in no order. */
static PyObject *kernel_values_met(PyObject *module, PyObject *args)
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
static PyObject *kernel_state(PyObject *module, PyObject *args)
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
static PyObject *kernel_states(PyObject *module, PyObject *args)
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
static PyObject *kernel_steps(PyObject *module, PyObject *args)
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
static PyObject *kernel_values(PyObject *module, PyObject *args)
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

/* The bytes of a heap array, which is given back from its end while they are copied: hundreds of megabytes are never held twice. */
static PyObject *moved(void **source, size_t bytes)
{
    const size_t piece = (size_t)1 << 24;
    PyObject *copy = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    size_t left = copy ? bytes : 0;
    while (left > 0) {
        const size_t begin = (left - 1) / piece * piece;
        memcpy(PyBytes_AsString(copy) + begin, (const char *)*source + begin, left - begin);
        left = begin;
        void *smaller = left ? realloc(*source, left) : NULL;
        if (smaller) *source = smaller;
    }
    free(*source);
    *source = NULL;
    return copy;
}

/* The kept steps: (uint32 counts by state, int32 updates, uint32 targets) as bytes; the search keeps them no longer. */
static PyObject *kernel_edges(PyObject *module, PyObject *capsule)
{
    Search *search = ready(capsule);
    (void)module;
    if (!search) return NULL;
    Edges *edges = &search->edges;
    void *held = edges->updates;
    PyObject *updates = moved(&held, 4 * edges->count);
    edges->updates = NULL;
    held = edges->targets;
    PyObject *targets = moved(&held, 4 * edges->count);
    edges->targets = NULL;
    edges->count = edges->room = 0;
    PyObject *counts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * search->edge_states));
    if (counts && search->edge_states) memcpy(PyBytes_AsString(counts), search->edge_counts, 4 * search->edge_states);
    search->edge_states = 0;
    if (updates && targets && counts) return Py_BuildValue("(NNN)", counts, updates, targets);
    Py_XDECREF(updates);
    Py_XDECREF(targets);
    Py_XDECREF(counts);
    return NULL;
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
    {"edges", kernel_edges, METH_O, "edges(search) -> (counts, updates, targets)"},
    {"origins", kernel_origins, METH_VARARGS, "origins(search, begin, end) -> (parents, infeasible)"},
    {"put", kernel_put, METH_VARARGS, "put(search, words, parents, infeasible) -> whether there was room"},
    {"counted", kernel_counted, METH_O, "counted(search) -> row"},
    {"recount", kernel_recount, METH_VARARGS, "recount(search, row)"},
    {"components", kernel_components, METH_VARARGS, "components(start, target, component) -> how many"},
    {"condense", kernel_condense, METH_VARARGS,
     "condense(start, target, component, count, classes, size, bottom, one_bottom, one_class, longest)"},
    {"productive", kernel_productive, METH_VARARGS, "productive(start, update, target, start_out, update_out, target_out) -> steps"},
    {"reverse", kernel_reverse, METH_VARARGS, "reverse(start, target, start_out, source)"},
    {"reach", kernel_reach, METH_VARARGS, "reach(start, target, component, count, column, words, most, set_of) -> the sets, or None"},
    {"forks", kernel_forks, METH_VARARGS,
     "forks(start, update, target, component, only, set_of, bits, words, partial, begin, width, places, moved, enabled, asked, counts)"},
    {NULL, NULL, 0, NULL},
};

/* Counted up whenever the Python side needs more, or something else, than it did: search.py asks for its own. */
#define EDITION 4

static int execute(PyObject *module)
{
    return PyModule_AddIntConstant(module, "BLOCK", BLOCK) || PyModule_AddIntConstant(module, "EDITION", EDITION) ? -1 : 0;
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
