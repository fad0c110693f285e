"""Valid files of every kind that is read, and ways of breaking them."""

import gzip
import io
import tempfile
import zipfile

import numpy as np
import pandas as pd
from scipy import sparse

from sparing.cells import Cells
from sparing.estimators import BudgetRidge, save_model

BITS = (
    *(
        b"\0",
        b'"',
        b"'",
        b",",
        b";",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xff",
        b"$",
    ),
    *(b"nan", b"NA", b"inf", b"-inf", b"1e999", b"-0", b"1_0", b"0x1", b"True", b"false", b"a", b"y", b"attribute"),
    *(b"99999999999999999999999", b"(10000000, 10000000)", b"(-1,)", b"<f8", b"|O", b"<c16", b"<U9", b"<M8[s]", b"{}"),
    *("é…".encode(), b"cost", b"\x1a", b"=", b" ", b"#", b"\\", b"$"),
)


def corpus() -> dict[str, list[bytes]]:
    """Small valid files by their suffix; price lists, single arrays and cells have suffixes of their own."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(9, 3)).round(3), columns=["a", "b", "c d"]).assign(
        n=range(9), flag=[True, False, None] * 3, word=["x", "y,z", None] * 3, y=rng.integers(0, 4, 9)
    )
    plain = frame[["a", "b", "y"]]
    texts = [kept.to_csv(index=False, sep=sep).encode() for kept in (frame, plain) for sep in ",;\t"]
    X, y = rng.normal(size=(5, 4)), np.arange(5.0)
    matrices = [sparse.random_array((5, 4), density=0.5, format=kind, rng=0) for kind in ("csr", "csc", "coo", "dia")]
    matrices.append(sparse.bsr_array(np.kron(np.eye(2), np.ones((2, 2)))))
    cells = Cells(4)
    cells.extend([2, 1, 0], [0, 3, 2], [1.0, -2.0, 0.5], [1.0, 2.0, 3.0], probabilities=[0.5, 0.25, 1.0])
    prices = [f"attribute{s}cost{s}group\na{s}1.5{s}\nb{s}2{s}g\nc d{s}3{s}g\n".encode() for s in ",;\t"]
    return {
        ".csv": [*texts, b"\xef\xbb\xbf" + texts[0], b"\n\n" + texts[3]],
        ".csv.gz": [gzip.compress(text, mtime=0) for text in texts[:3]],
        ".parquet": [_parquet(frame), _parquet(plain), _parquet(plain.assign(lists=[[1, 2]] * 9))],
        ".npz": [
            _npz(np.savez, X=X, y=y),
            _npz(np.savez_compressed, data=X.astype(np.float32), target=np.array(list("ababa"))),
            _npz(np.savez, X=X > 0, y=(y % 2).astype("M8[s]")),
            *(_npz(np.savez, **_parts(matrix), y=np.arange(float(matrix.shape[0]))) for matrix in matrices),
        ],
        "model.npz": [_model(features="linear"), _model(features="additive"), _model(learner="online")],
        "cells.npz": [_npz(np.savez_compressed, **cells.state()), _npz(np.savez, **cells.state())],
        ".npy": [_npy(y), _npy(np.array(list("ababa")))],
        "prices.csv": [*prices, b"\xef\xbb\xbf" + prices[1]],
    }


def _model(**options) -> bytes:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = BudgetRidge(budget=2, random_state=0, **options).fit(X, np.abs(X[:, 0]))
    with tempfile.TemporaryDirectory() as folder:
        return save_model(model, f"{folder}/model").read_bytes()


def _parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def _npz(save, **arrays) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _parts(matrix) -> dict[str, np.ndarray]:
    file = io.BytesIO()
    sparse.save_npz(file, matrix)
    file.seek(0)
    with np.load(file) as stored:
        return dict(stored)


# Breaking -----------------------------------------------------------------------------------------------------------


def mutated(content: bytes, others: list[bytes], suffix: str, rng: np.random.Generator) -> bytes:
    """The content broken in a few places; archives are, every other time, broken inside and packed correctly."""
    if rng.random() < 0.5:
        if suffix.endswith(".npz"):
            return _inside_zip(content, rng)
        if suffix == ".csv.gz":
            return gzip.compress(_broken(gzip.decompress(content), others, rng), mtime=0)
    return _broken(content, others, rng)


def _inside_zip(content: bytes, rng: np.random.Generator) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    names = list(parts)
    for _ in range(rng.integers(1, 3)):
        name = names[rng.integers(len(names))]
        kind = rng.integers(5)
        if kind == 0 and name in parts:
            del parts[name]
        elif kind == 1:
            parts[name] = _npy(_odd_array(rng))
        elif kind == 2 and name in parts:
            parts[str(rng.choice(["X.npy", "y.npy", "data.npy", "indices.npy", "format.npy", "x"]))] = parts[name]
        elif name in parts:
            parts[name] = _broken(parts[name], list(parts.values()), rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def _odd_array(rng: np.random.Generator) -> np.ndarray:
    shape = tuple(int(size) for size in rng.integers(0, 7, rng.integers(0, 4)))
    kind = str(rng.choice(["f8", "f4", "f2", "i8", "i1", "u4", "?", "c16", "U3", "S4", "M8[s]", "V5"]))
    low, high = [(0, 5), (-3, 9), (-(2**62), 2**62)][rng.integers(3)]
    return _as(rng.integers(low, high, shape), kind)


def _as(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "V5":
        return np.zeros(array.shape, "V5")
    with np.errstate(all="ignore"):
        return array.astype(kind)


def _broken(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    for _ in range(min(5, rng.geometric(0.6))):
        at = int(rng.integers(len(data) + 1))
        length = int(rng.integers(1, 12))
        kind = rng.integers(7)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = BITS[rng.integers(len(BITS))]
        elif kind == 3:
            data[at : at + length] = BITS[rng.integers(len(BITS))]
        elif kind == 4:
            data[at:at] = data[at : at + 5 * length]
        elif kind == 5:
            other = others[rng.integers(len(others))]
            data[at:] = other[int(rng.integers(len(other) + 1)) :]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)
