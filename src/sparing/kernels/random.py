"""Random numbers as a pure function of (seed, round, slot): SplitMix64 read at a counter.

SplitMix64 is ``mix(state + n * GOLDEN)`` for n = 1, 2, ...; so its n-th number needs no number before it. A first
level gives every round a key, a second level gives every slot of the round its number. No generator state exists,
so a query can be replayed, resumed or computed elsewhere.
"""

from numpy import uint64

from sparing.kernels.compiling import part

GOLDEN = uint64(0x9E3779B97F4A7C15)
_FIRST = uint64(0xBF58476D1CE4E5B9)
_SECOND = uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53
_ONE, _11, _27, _30, _31 = (uint64(number) for number in (1, 11, 27, 30, 31))  # compiled sooner than calls


@part
def mix(z):
    """The finaliser of SplitMix64: a bijection of 64-bit words in which every input bit moves every output bit."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@part
def word(key, slot):
    """The 64 random bits of one slot: output number slot + 1 of SplitMix64 started at ``key``."""
    return mix(uint64(key) + (uint64(slot) + _ONE) * GOLDEN)


@part
def round_key(seed, round):
    """The key of one round. The seed is mixed first, so that neighbouring seeds share no numbers."""
    return word(mix(uint64(seed)), round)


@part
def uniform(key, slot):
    """A number in [0, 1) with 53 random bits."""
    return float(word(key, slot) >> _11) * _TO_UNIT
