/* Finality: what follows a final state, level by level (native_finality.py walks). */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static bool all_states(const Search *search, const Py_buffer *view)
{
    const uint32_t *numbers = view->buf;
    const size_t count = (size_t)view->len / sizeof *numbers;
    bool right = (size_t)view->len % sizeof *numbers == 0;
    for (size_t place = 0; right && place < count; place++) right = numbers[place] < search->store.count;
    return right;
}

static void mark(uint8_t *marked, uint32_t number, uint32_t *found, size_t *count)
{
    if (marked[number]) return;
    marked[number] = 1;
    found[(*count)++] = number;
}

static size_t find_finals(Search *search, const Py_buffer *waiting, uint32_t begin, uint32_t end, uint8_t *marked, uint32_t *found)
{
    Program *final = &search->programs[FINAL];
    const uint32_t *numbers = waiting->buf;
    size_t count = 0;
    for (size_t place = 0; place < (size_t)waiting->len / sizeof *numbers; place++) mark(marked, numbers[place], found, &count);
    while (begin < end) {
        uint32_t length = CHUNK - (begin & (CHUNK - 1));
        if (length > end - begin) length = end - begin;
        if (length > BLOCK) length = BLOCK;
        run_program(final, state_words(&search->store, begin, search->k), search->k, (int)length, NULL, 0);
        const Plane *plane = &final->planes[final->kept[0]];
        for (uint32_t row = 0; row < length; row++)
            if (plane_bit(plane, (int)row)) mark(marked, begin + row, found, &count);
        begin += length;
    }
    return count;
}

/* finals(search, waiting, begin, end, marked) -> the waiting states and then the final ones of begin .. end, without those marked before,
 * as uint32; they are marked (a byte a state). */
PyObject *kernel_finals(PyObject *module, PyObject *args)
{
    PyObject *capsule, *answer = NULL;
    Py_buffer waiting, marked;
    long long begin, end;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*LLw*", &capsule, &waiting, &begin, &end, &marked)) return NULL;
    Search *search = ready(capsule);
    if (search && (begin < 0 || begin > end || end > search->store.count || (size_t)marked.len != search->store.count ||
                   !all_states(search, &waiting) || search->programs[FINAL].kept_count != 1))
        wrong("finals: no such states, or not a byte for each");
    else if (search) {
        uint32_t *found = malloc((size_t)waiting.len + (size_t)(end - begin) * sizeof *found + 1);
        if (found) {
            size_t count;
            Py_BEGIN_ALLOW_THREADS
            count = find_finals(search, &waiting, (uint32_t)begin, (uint32_t)end, marked.buf, found);
            Py_END_ALLOW_THREADS
            answer = PyBytes_FromStringAndSize((const char *)found, (Py_ssize_t)(count * sizeof *found));
            free(found);
        } else
            PyErr_NoMemory();
    }
    PyBuffer_Release(&waiting);
    PyBuffer_Release(&marked);
    return answer;
}

typedef struct {
    const uint32_t *numbers;
    int count;
    const uint8_t *touching; /* by update: whether it writes what an outcome reads */
    const uint8_t *marked;
    uint32_t *came;
} Walk;

typedef struct {
    uint64_t *before, *after, *changed; /* of BLOCK rows, and one row */
    uint32_t *waiting;
    size_t waiting_count;
    int64_t broken; /* the first edge of the block that changes an outcome; -1: none */
} Came;

static int outcome_words(const Search *search) { return (search->programs[OUTCOMES].kept_count + 63) / 64; }

/* The first edge that touches an outcome and changes it. */
static void find_broken(Search *search, const Walk *walk, Came *came)
{
    const int words = outcome_words(search);
    const Edges *edges = &search->block_edges;
    uint32_t targets[BLOCK];
    size_t asked[BLOCK];
    bool there = false;
    for (size_t next = 0; words && next < edges->count;) {
        int count = 0;
        for (; next < edges->count && count < BLOCK; next++)
            if (edges->targets[next] != NOWHERE && walk->touching[edges->updates[next]]) {
                asked[count] = next;
                targets[count++] = edges->targets[next];
            }
        if (!count) return;
        if (!there) search_values(search, OUTCOMES, walk->numbers, walk->count, came->before, words);
        there = true;
        search_values(search, OUTCOMES, targets, count, came->after, words);
        for (int place = 0; place < count; place++) {
            const uint64_t *before = came->before + (size_t)search->edge_rows[asked[place]] * (size_t)words;
            const uint64_t *after = came->after + (size_t)place * (size_t)words;
            if (!memcmp(before, after, (size_t)words * sizeof *after)) continue;
            for (int word = 0; word < words; word++) came->changed[word] = before[word] ^ after[word];
            came->broken = (int64_t)asked[place];
            return;
        }
    }
}

static bool go_after(Search *search, const Walk *walk, Came *came)
{
    if (!search_steps(search, walk->numbers, walk->count)) return false;
    const Edges *edges = &search->block_edges;
    came->broken = -1;
    came->waiting_count = 0;
    find_broken(search, walk, came);
    if (came->broken >= 0) return true;
    came->waiting = malloc(edges->count * sizeof *came->waiting + 1);
    if (!came->waiting) return false;
    for (size_t edge = 0; edge < edges->count; edge++) {
        const uint32_t target = edges->targets[edge];
        if (target == NOWHERE || walk->marked[target] || walk->came[target] != NOWHERE) continue;
        walk->came[target] = walk->numbers[search->edge_rows[edge]];
        came->waiting[came->waiting_count++] = target;
    }
    return true;
}

/* after(search, numbers, touching, marked, came) -> (the states that were reached first from these, as uint32, None), or, where a step from
 * them changes an outcome, (nothing, (state, update, the outcomes that change as bits of uint64)). `came`: where each state was first
 * reached from, as uint32. */
PyObject *kernel_after(PyObject *module, PyObject *args)
{
    PyObject *capsule, *answer = NULL;
    Py_buffer numbers, touching, marked, origin;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oy*y*y*w*", &capsule, &numbers, &touching, &marked, &origin)) return NULL;
    Search *search = ready(capsule);
    const size_t states = search ? search->store.count : 0;
    if (search && (!all_states(search, &numbers) || (size_t)numbers.len > BLOCK * sizeof(uint32_t) || touching.len != search->update_count ||
                   (size_t)marked.len != states || (size_t)origin.len != states * sizeof(uint32_t)))
        wrong("after: numbers of existing states, at most a block, and tables as long as they are many");
    else if (search) {
        const size_t words = (size_t)outcome_words(search);
        const Walk walk = {numbers.buf, (int)((size_t)numbers.len / sizeof(uint32_t)), touching.buf, marked.buf, origin.buf};
        Came came = {0};
        came.before = calloc(BLOCK * words + 1, sizeof *came.before);
        came.after = calloc(BLOCK * words + 1, sizeof *came.after);
        came.changed = calloc(words + 1, sizeof *came.changed);
        bool done = came.before && came.after && came.changed;
        if (done) {
            Py_BEGIN_ALLOW_THREADS
            done = go_after(search, &walk, &came);
            Py_END_ALLOW_THREADS
        }
        if (!done)
            PyErr_NoMemory();
        else if (came.broken < 0)
            answer = Py_BuildValue("(y#O)", came.waiting_count ? (const char *)came.waiting : "", (Py_ssize_t)(came.waiting_count * sizeof(uint32_t)),
                                   Py_None);
        else {
            const uint32_t row = search->edge_rows[came.broken];
            answer = Py_BuildValue("(y#(Iiy#))", "", (Py_ssize_t)0, (unsigned int)walk.numbers[row], (int)search->block_edges.updates[came.broken],
                                   (const char *)came.changed, (Py_ssize_t)(words * sizeof(uint64_t)));
        }
        free(came.before);
        free(came.after);
        free(came.changed);
        free(came.waiting);
    }
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&touching);
    PyBuffer_Release(&marked);
    PyBuffer_Release(&origin);
    return answer;
}
