"""The places of some examples' cells, and words by which examples are put in order."""

from numpy import uint64

from sparing.kernels.compiling import entry, part

HALF = uint64(32)


@entry
def find_cells(starts, examples, places):
    """Write the places of the cells of these examples, one after the other."""
    done = 0
    for example in examples:
        for at in range(starts[example], starts[example + 1]):
            places[done] = at
            done += 1


@part
def scramble(word):
    """A fixed bijection of 64-bit words that leaves no pattern (the finaliser of SplitMix64)."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@entry
def hash_examples(starts, attributes, probabilities, seen, chances):
    """Words that tell apart which attributes were seen of examples, and with which probabilities (32 bits each).

    They are sums over cells, which wrap around.
    """
    for example in range(starts.size - 1):
        for at in range(starts[example], starts[example + 1]):
            place = uint64(at - starts[example])
            seen[example] += scramble((uint64(attributes[at]) << HALF) ^ place)
            chances[example] += scramble(uint64(probabilities[at]) ^ (place << HALF))
