#include "forks.h"

#include <stdlib.h>

#include "graph.h"

/* Where update `wanted` leads from a state, or -1. */
static int32_t step(const Rows *rows, int32_t state, int32_t wanted)
{
    int64_t low = rows->start[state], high = rows->start[state + 1];
    const int64_t end = high;
    while (high - low > 8) {
        const int64_t middle = low + (high - low) / 2;
        if (rows->update[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < high && rows->update[low] < wanted) low++;
    return low < end && rows->update[low] == wanted ? rows->target[low] : -1;
}

typedef enum { APART, JOINED, UNSURE } Meeting;

/* Answers to the last pairs of sets with a hash each: the same two sets are asked about again and again. */
enum { KEPT = 1 << 14 };

typedef struct {
    int32_t one, other;
    Meeting meeting;
} Answer;

static Meeting meeting(const Reached *reached, Answer *kept, int32_t set, int32_t other_set)
{
    const uint64_t hash = ((uint64_t)set << 32 | (uint64_t)other_set) * UINT64_C(0x9E3779B97F4A7C15);
    Answer *answer = kept + (hash >> 50);
    if (answer->one != set || answer->other != other_set) {
        const uint64_t *a = reached->bits + set * reached->words, *b = reached->bits + other_set * reached->words;
        Meeting found = APART;
        for (int64_t word = 0; word < reached->words && found == APART; word++)
            if (a[word] & b[word]) found = JOINED;
        *answer = (Answer){set, other_set, found};
    }
    return answer->meeting;
}

static bool empty(const Reached *reached, int32_t set)
{
    const uint64_t *row = reached->bits + set * reached->words;
    for (int64_t word = 0; word < reached->words; word++)
        if (row[word]) return false;
    return true;
}

static Meeting joined(const Reached *reached, Answer *kept, int32_t t, int32_t v)
{
    if (t == v || !reached->words) return JOINED;
    const int32_t set = reached->set_of[t], other_set = reached->set_of[v];
    if (!reached->partial) return set == other_set ? JOINED : meeting(reached, kept, set, other_set); /* every state reaches something */
    const bool one = reached->only[t] != REACHES_MANY, other = reached->only[v] != REACHES_MANY;
    if (one && other) return reached->only[t] == reached->only[v] ? JOINED : APART;
    if (meeting(reached, kept, set, other_set) == JOINED) return JOINED;
    /* A side that reaches one thing only is exact where that one has a bit. */
    return (one && !empty(reached, set)) || (other && !empty(reached, other_set)) ? APART : UNSURE;
}

static bool right_rows(int64_t states, const Rows *rows, int64_t updates)
{
    if (rows->start[0] != 0 || rows->start[states] != rows->steps) return false;
    for (int64_t state = 0; state < states; state++)
        if (rows->start[state] > rows->start[state + 1]) return false;
    for (int64_t place = 0; place < rows->steps; place++)
        if (rows->update[place] < 0 || rows->update[place] >= updates || rows->target[place] < 0 || rows->target[place] >= states) return false;
    return true;
}

static bool right(int64_t states, const Rows *full, const Rows *moves, const Reached *reached, int64_t updates, const int32_t *pair, int64_t pairs)
{
    for (int64_t state = 0; reached->words && state < states; state++)
        if (reached->set_of[state] < 0 || reached->set_of[state] >= reached->sets) return false;
    for (int64_t place = 0; place < updates * updates; place++)
        if (pair[place] < -1 || pair[place] >= pairs) return false;
    return right_rows(states, full, updates) && (moves->target == full->target || right_rows(states, moves, updates));
}

int forks_count(int64_t states, const Rows *full, const Rows *moves, const Reached *reached, int64_t updates, const int32_t *pair, int64_t pairs,
                const uint8_t *look, int64_t *counts)
{
    if (!right(states, full, moves, reached, updates, pair, pairs)) return -2;
    Answer *kept = malloc(KEPT * sizeof *kept);
    if (!kept) return -1;
    for (int32_t slot = 0; slot < KEPT; slot++) kept[slot].one = -1;
    /* State by state: what its successors reach is then at hand for all of their pairs. */
    for (int64_t state = 0; state < states; state++) {
        const int64_t end = moves->start[state + 1];
        for (int64_t i = moves->start[state]; i < end; i++) {
            const int32_t a = moves->update[i], t = moves->target[i];
            const int32_t *numbers = pair + a * updates;
            for (int64_t j = i + 1; j < end; j++) {
                const int32_t b = moves->update[j], v = moves->target[j], number = numbers[b];
                if (number < 0) continue;
                int64_t *own = counts + 5 * (int64_t)number;
                if (look[number]) {
                    const int32_t over = step(full, t, b);
                    if (over >= 0 && over == step(full, v, a)) {
                        own[0]++;
                        continue;
                    }
                }
                switch (joined(reached, kept, t, v)) {
                case JOINED: own[1]++; break;
                case UNSURE: own[3]++; break;
                case APART:
                    own[2]++;
                    if (own[4] < 0) own[4] = state;
                }
            }
        }
    }
    free(kept);
    return 0;
}
