/* Between plain.c, which makes and puts in the successors of plain blocks, and plain_threads.c, which has two threads do it. */
#ifndef ICORE_PLAIN_H
#define ICORE_PLAIN_H

#include "search.h"

#if !defined(_WIN32)
#include <pthread.h>
#define THREADS
#endif

enum { BATCH = 512, RING = 32 };

typedef struct {
    uint64_t hash;
    uint32_t parent;
} Arrival;

/* Successors on their way to the store; after the last ones of a block, what is counted when that block is done. */
typedef struct {
    int count;
    bool last;
    uint32_t next; /* the block's end, when it is the last */
    Arrival *arrivals;
    uint64_t *words;
    Tally tally;
    int64_t *counts, *firsts; /* of EXPAND */
} Batch;

/* Makes batches. `expand` and `tally` are its own where there are two threads. */
typedef struct {
    Search *search;
    Program *expand;
    Tally *tally;
    Batch *batch;
    uint32_t next;
    int64_t blocks;
    bool stopped;
} Maker;

struct Plain {
    uint64_t *enabled; /* BLOCK rows */
    uint64_t *recent; /* states that are in the store or on their way, by hash; at first the first initial state everywhere */
    uint64_t recent_mask;
    bool recent_there;
    Batch batches[RING];
    Program expand;
    Tally tally;
#ifdef THREADS
    pthread_mutex_t lock;
    pthread_cond_t more, room;
    uint64_t made, taken;
    bool more_wanted, room_wanted, made_all, stop;
#endif
};

/* `counts`: with room for what is counted. False: no memory. */
bool make_batch(const Search *search, Batch *batch, bool counts);
void free_batch(Batch *batch);
/* Into the store, in their order; `expected`: the slots are asked for already. */
void put_plain(Search *search, const Batch *batch, bool expected);
/* The successors of the next block. */
void make_block(Maker *maker);

#ifdef THREADS
/* The batch goes to the other thread, and the next one that is empty comes; `stopped` when none is wanted any more. */
void publish(Maker *maker, bool last);
/* False: there is no second thread, and nothing is done. */
bool advance_on_two(Search *search, int64_t blocks);
#endif

#endif
