"""The counter-based generator against the published SplitMix64 and against what uniform numbers must do."""

import numpy as np
from scipy import stats

from sparing.kernels.random import mix, round_key, uniform, word


def number(seed, round, slot):
    return uniform(np.uint64(round_key(seed, round)), slot)


# the first five outputs of SplitMix64 seeded with 1234567, as published with its reference implementation
PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_words_are_splitmix64():
    assert [int(word(np.uint64(1234567), slot)) for slot in range(5)] == PUBLISHED


def test_numbers_are_uniform_over_slots_rounds_and_seeds():
    by_slot = [number(3, 0, slot) for slot in range(20_000)]
    by_round = [number(3, round, 0) for round in range(20_000)]
    by_seed = [number(seed, 0, 0) for seed in range(20_000)]
    for numbers in (by_slot, by_round, by_seed):
        assert min(numbers) >= 0.0
        assert max(numbers) < 1.0
        assert stats.kstest(numbers, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 4 / np.sqrt(20_000)


def test_neighbouring_rounds_and_slots_are_unrelated():
    table = np.array([[number(0, t, s) for s in range(8)] for t in range(4_000)])
    correlation = np.corrcoef(table.T) - np.eye(8)
    assert np.abs(correlation).max() < 4.5 / np.sqrt(4_000)


def test_mix_is_a_bijection_on_a_sample():
    assert len({int(mix(np.uint64(z))) for z in range(10_000)}) == 10_000
