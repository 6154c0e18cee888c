#include "reach.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Sets met, by their contents: slots[h] is the number of a set plus 1, or 0. */
typedef struct {
    int64_t words, count, room, most, slot_count;
    uint64_t *bits;
    int32_t *slots, *stamp;
    Room more;
    void *owner;
} Sets;

static uint64_t mixed(uint64_t hash)
{
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const uint64_t *row, int64_t words)
{
    uint64_t hash = 0;
    for (int64_t word = 0; word < words; word++) hash = mixed(hash ^ row[word]) + hash;
    return hash;
}

static int64_t slot_of(const Sets *sets, const uint64_t *row)
{
    int64_t slot = (int64_t)(hash_of(row, sets->words) & (uint64_t)(sets->slot_count - 1));
    while (sets->slots[slot]) {
        const uint64_t *other = sets->bits + (sets->slots[slot] - 1) * sets->words;
        if (!memcmp(other, row, (size_t)sets->words * sizeof *row)) break;
        slot = (slot + 1) & (sets->slot_count - 1);
    }
    return slot;
}

/* Twice the room. */
static bool grown(Sets *sets)
{
    const int64_t room = sets->room ? 2 * sets->room : 64;
    uint64_t *bits = sets->more(sets->owner, room * sets->words * (int64_t)sizeof *bits);
    if (!bits) return false;
    sets->bits = bits;
    int32_t *stamp = realloc(sets->stamp, (size_t)room * sizeof *stamp);
    if (!stamp) return false;
    for (int64_t set = sets->room; set < room; set++) stamp[set] = -1;
    sets->stamp = stamp;
    int32_t *slots = calloc(2 * (size_t)room, sizeof *slots);
    if (!slots) return false;
    free(sets->slots);
    sets->slots = slots;
    sets->slot_count = 2 * room;
    sets->room = room;
    for (int64_t set = 0; set < sets->count; set++) slots[slot_of(sets, bits + set * sets->words)] = (int32_t)(set + 1);
    return true;
}

/* The number of the set with this row. */
static int64_t numbered(Sets *sets, const uint64_t *row)
{
    int64_t slot = slot_of(sets, row);
    if (sets->slots[slot]) return sets->slots[slot] - 1;
    if (sets->count == sets->most) return REACH_TOO_MANY;
    if (sets->count == sets->room) {
        if (!grown(sets)) return REACH_NO_MEMORY;
        slot = slot_of(sets, row);
    }
    memcpy(sets->bits + sets->count * sets->words, row, (size_t)sets->words * sizeof *row);
    sets->slots[slot] = (int32_t)++sets->count;
    return sets->count - 1;
}

/* The last component, of one state, whose successors had this hash, and how many sets they had: most components find the union of theirs here. */
typedef struct {
    int32_t component, different;
} Seen;

enum { SEEN = 1 << 16 };

typedef struct {
    const int64_t *start;
    const int32_t *target, *component;
    int64_t *begin;
    int32_t *members;
    Seen *seen;
    uint64_t *row;
} Walk;

/* Whether the successors of `other`, a component of one state, have the same `different` sets, all of which bear the stamp c. It is lost. */
static bool same_sets(const Walk *walk, const Sets *sets, const int32_t *set_of, int32_t c, Seen other)
{
    const int32_t state = walk->members[walk->begin[other.component]];
    int32_t met = 0;
    for (int64_t place = walk->start[state]; place < walk->start[state + 1]; place++) {
        const int32_t successor = walk->component[walk->target[place]];
        if (successor == other.component) continue;
        int32_t *stamp = sets->stamp + set_of[successor];
        if (*stamp == c) {
            *stamp = -1;
            met++;
        } else if (*stamp != -1)
            return false;
    }
    return met == other.different;
}

static int64_t set_of_component(const Walk *walk, Sets *sets, const int32_t *set_of, int32_t c, int32_t column)
{
    const int64_t first = walk->begin[c], end = walk->begin[c + 1];
    int32_t different = 0;
    int64_t last = -1;
    uint64_t hash = 0;
    for (int64_t member = first; member < end; member++) {
        const int32_t state = walk->members[member];
        for (int64_t place = walk->start[state]; place < walk->start[state + 1]; place++) {
            const int32_t other = walk->component[walk->target[place]];
            if (other == c) continue;
            const int32_t set = set_of[other];
            if (sets->stamp[set] == c) continue;
            sets->stamp[set] = c;
            hash += mixed((uint64_t)set + 1);
            last = set;
            different++;
        }
    }
    if (different == 1 && column < 0) return last;
    Seen *seen = end - first == 1 && column < 0 ? walk->seen + (mixed(hash) >> 48) : NULL;
    if (seen && seen->different == different && same_sets(walk, sets, set_of, c, *seen)) return set_of[seen->component];
    memset(walk->row, 0, (size_t)sets->words * sizeof *walk->row);
    if (column >= 0) walk->row[column >> 6] |= UINT64_C(1) << (column & 63);
    for (int64_t member = first; member < end; member++) {
        const int32_t state = walk->members[member];
        for (int64_t place = walk->start[state]; place < walk->start[state + 1]; place++) {
            const int32_t other = walk->component[walk->target[place]];
            if (other == c) continue;
            const int32_t set = set_of[other];
            if (sets->stamp[set] == -2 - c) continue;
            sets->stamp[set] = -2 - c;
            const uint64_t *bits = sets->bits + set * sets->words;
            for (int64_t word = 0; word < sets->words; word++) walk->row[word] |= bits[word];
        }
    }
    if (seen) *seen = (Seen){c, different};
    return numbered(sets, walk->row);
}

int64_t reach_sets(int64_t states, const int64_t *start, const int32_t *target, const int32_t *component, int64_t count, const int32_t *column,
                   int64_t words, int64_t most, int32_t *set_of, Room room, void *owner)
{
    Sets sets = {.words = words, .most = most < INT32_MAX ? most : INT32_MAX, .more = room, .owner = owner};
    Walk walk = {.start = start, .target = target, .component = component};
    int64_t answer = REACH_NO_MEMORY;
    walk.begin = calloc((size_t)count + 2, sizeof *walk.begin);
    walk.members = malloc(((size_t)states + 1) * sizeof *walk.members);
    walk.seen = malloc(SEEN * sizeof *walk.seen);
    walk.row = malloc(((size_t)words + 1) * sizeof *walk.row);
    if (!walk.begin || !walk.members || !walk.seen || !walk.row || !grown(&sets)) goto end;
    for (int32_t slot = 0; slot < SEEN; slot++) walk.seen[slot] = (Seen){0, -1};
    graph_by_component(states, component, count, walk.begin, walk.members);
    for (int64_t c = 0; c < count; c++) {
        const int64_t set = set_of_component(&walk, &sets, set_of, (int32_t)c, column[c]);
        if (set < 0) {
            answer = set;
            goto end;
        }
        set_of[c] = (int32_t)set;
    }
    answer = sets.count;
end:
    free(walk.begin);
    free(walk.members);
    free(walk.seen);
    free(walk.row);
    free(sets.slots);
    free(sets.stamp);
    return answer;
}
