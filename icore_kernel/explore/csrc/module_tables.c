/* What the kernel is told of a system. Sizes and indices are checked here, so that wrong tables raise ValueError. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

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

/* False, with an error set, where a table is wrong or there is no memory; what is there is freed by free_program. */
bool take_program(Program *program, int k, int registers, int counters, const Py_buffer *gates, const Py_buffer *loads, const Py_buffer *kept)
{
    if (registers < 1 || registers > 1 << 24 || counters < 0) return wrong("program: a number out of range");
    program->registers = registers;
    program->counters = counters;
    program->gates = copied(gates, sizeof(Gate), &program->gate_count);
    if (program->gates) program->loads = copied(loads, sizeof(Load), &program->load_count);
    if (program->loads) program->kept = copied(kept, sizeof(int32_t), &program->kept_count);
    if (!program->kept) return false;
    if (!right_program(program, k)) return wrong("program: a number out of range");
    program->counts = calloc((size_t)counters + 1, sizeof *program->counts);
    program->firsts = calloc((size_t)counters + 1, sizeof *program->firsts);
    program->planes = calloc((size_t)registers, sizeof *program->planes);
    if (!program->counts || !program->firsts || !program->planes) PyErr_NoMemory();
    return !PyErr_Occurred();
}

PyObject *kernel_program(PyObject *module, PyObject *args)
{
    PyObject *capsule;
    int which, registers, counters;
    Py_buffer gates, loads, kept;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oiiiy*y*y*", &capsule, &which, &registers, &counters, &gates, &loads, &kept)) return NULL;
    Search *search = search_of(capsule);
    Program *program = search && which >= 0 && which < PROGRAMS ? &search->programs[which] : NULL;
    if (program && !program->gates)
        take_program(program, search->k, registers, counters, &gates, &loads, &kept);
    else if (!PyErr_Occurred())
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

PyObject *kernel_moves(PyObject *module, PyObject *args)
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
PyObject *kernel_watch(PyObject *module, PyObject *args)
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
