/* Bit-sliced evaluation: a plane holds one bit of each of BLOCK states, a program is a list of gates over planes. */
#ifndef ICORE_PLANES_H
#define ICORE_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* What takes the time is compiled twice where the loader can choose: for any x86-64, and for processors with AVX2. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(ICORE_SANITIZED)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

#define LANES 32
#define BLOCK (64 * LANES)

typedef struct {
    uint64_t lane[LANES];
} Plane;

/* Names and numbers as in circuit.py. COUNT adds the valid set bits of register a to counter `into`; COUNT_NOT the unset ones. */
enum { GATE_AND, GATE_OR, GATE_XOR, GATE_AND_NOT, GATE_NOT, GATE_ZERO, GATE_ONES, GATE_COUNT, GATE_COUNT_NOT, GATE_KINDS };

typedef struct {
    int32_t kind, into, a, b;
} Gate;

/* Bit `bit` of word `word` of a state stands in register `into` when the gates begin. */
typedef struct {
    int32_t word, bit, into;
} Load;

typedef struct {
    Gate *gates;
    Load *loads; /* ascending by word */
    int32_t *kept; /* registers that hold a value after the last gate, by output */
    int32_t gate_count, load_count, kept_count, registers, counters;
    Plane *planes;
    int64_t *counts, *firsts; /* by counter; a first is meaningful where the count is not 0 */
} Program;

void transpose(uint64_t rows[64]);

/* Evaluate for n <= BLOCK states of k words each, row by row in `words`. The least state counted is numbers[row], or base + row. */
void run_program(Program *program, const uint64_t *words, int k, int n, const uint32_t *numbers, int64_t base);

/* The bits of up to 64 registers, state by state: bit i of out[row] is that of registers[i]. Writes whole groups of 64 rows. */
void gather_rows(const Program *program, const int32_t *registers, int count, int n, uint64_t *out);

static inline int plane_bit(const Plane *plane, int row) { return (int)(plane->lane[row >> 6] >> (row & 63) & 1); }

static inline int lowest(uint64_t bits) { return __builtin_ctzll(bits); }

#endif
