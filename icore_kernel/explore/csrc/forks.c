#include "forks.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"

static bool within(int32_t number, int64_t length) { return number >= 0 && number < length; }

/* Whether a state and all that is looked up of it exist. */
static bool there(const Known *known, int32_t state)
{
    if (!within(state, known->states) || known->start[state] < 0 || known->start[state] > known->start[state + 1] ||
        known->start[state + 1] > known->steps)
        return false;
    return !known->words || (within(known->component[state], known->components) && within(known->set_of[known->component[state]], known->sets));
}

/* Where update `wanted` leads from a state, or -1. */
static int32_t step(const Known *known, int32_t state, int32_t wanted)
{
    int64_t low = known->start[state], high = known->start[state + 1];
    const int64_t end = high;
    while (high - low > 8) {
        const int64_t middle = low + (high - low) / 2;
        if (known->update[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < high && known->update[low] < wanted) low++;
    return low < end && known->update[low] == wanted ? known->target[low] : -1;
}

typedef enum { APART, JOINED, UNSURE } Meeting;

/* Answers to the last pairs of sets with a hash each: the same two sets are asked about again and again. */
enum { KEPT = 1 << 14 };

typedef struct {
    int32_t one, other;
    Meeting meeting;
} Answer;

static Meeting meeting(const Known *known, Answer *kept, int32_t set, int32_t other_set)
{
    uint64_t hash = ((uint64_t)set << 32 | (uint64_t)other_set) * UINT64_C(0x9E3779B97F4A7C15);
    Answer *answer = kept + (hash >> 50);
    if (answer->one != set || answer->other != other_set) {
        const uint64_t *a = known->bits + set * known->words, *b = known->bits + other_set * known->words;
        Meeting found = APART;
        for (int64_t word = 0; word < known->words && found == APART; word++)
            if (a[word] & b[word]) found = JOINED;
        *answer = (Answer){set, other_set, found};
    }
    return answer->meeting;
}

static bool empty(const Known *known, int32_t set)
{
    const uint64_t *row = known->bits + set * known->words;
    for (int64_t word = 0; word < known->words; word++)
        if (row[word]) return false;
    return true;
}

static Meeting joined(const Known *known, Answer *kept, int32_t t, int32_t v)
{
    if (t == v || !known->words) return JOINED;
    const int32_t c = known->component[t], d = known->component[v];
    const int32_t one = known->only[c], other = known->only[d];
    if (one != REACHES_MANY && other != REACHES_MANY) return one == other ? JOINED : APART;
    const int32_t set = known->set_of[c], other_set = known->set_of[d];
    if (meeting(known, kept, set, other_set) == JOINED) return JOINED;
    if (!known->partial) return APART;
    /* A side that sees one bottom component only is exact where that one has a bit. */
    return (one != REACHES_MANY && !empty(known, set)) || (other != REACHES_MANY && !empty(known, other_set)) ? APART : UNSURE;
}

int forks_count(const Known *known, const ForksChunk *chunk, int64_t pairs, const int32_t *asked, int64_t *counts)
{
    Answer *kept = malloc(KEPT * sizeof *kept);
    if (!kept) return -1;
    for (int32_t slot = 0; slot < KEPT; slot++) kept[slot].one = -1;
    int done = 0;
    for (int64_t pair = 0; !done && pair < pairs; pair++, asked += 3, counts += 5) {
        if (!within(asked[0], chunk->updates) || !within(asked[1], chunk->updates)) {
            done = -2;
            break;
        }
        const int32_t *places = chunk->place + asked[0] * chunk->width, *others = chunk->place + asked[1] * chunk->width;
        const uint8_t *enabled = chunk->enabled + asked[0] * (chunk->width / 8), *also = chunk->enabled + asked[1] * (chunk->width / 8);
        for (int64_t byte = 0; byte < chunk->width / 8; byte += 8) {
            uint64_t a, b;
            memcpy(&a, enabled + byte, 8);
            memcpy(&b, also + byte, 8);
            if (!(a & b)) continue;
            for (int64_t i = 8 * byte; i < 8 * byte + 64; i++) {
                if (places[i] < 0 || others[i] < 0) continue;
                if (places[i] >= chunk->moves || others[i] >= chunk->moves) {
                    done = -2;
                    break;
                }
                const int32_t t = chunk->moved[places[i]], v = chunk->moved[others[i]];
                if (!there(known, t) || !there(known, v)) {
                    done = -2;
                    break;
                }
                if (asked[2]) {
                    const int32_t over = step(known, t, asked[1]);
                    if (over >= 0 && over == step(known, v, asked[0])) {
                        counts[0]++;
                        continue;
                    }
                }
                switch (joined(known, kept, t, v)) {
                case JOINED: counts[1]++; break;
                case UNSURE: counts[3]++; break;
                case APART:
                    counts[2]++;
                    if (counts[4] < 0 || counts[4] > chunk->begin + i) counts[4] = chunk->begin + i;
                }
            }
        }
    }
    free(kept);
    return done;
}
