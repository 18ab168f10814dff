"""Ten sets of several classes, from packages and from a simulation.

    pip install scikit-learn river statsmodels wordfreq palmerpenguins

`class_losses.py` uses them. No set needs a network. `sections` reads Debian's package list from
where apt puts it; without one it is left out.

`languages` and `sections` are texts, as sparse rows of ones: the n-grams of a word, the words of a
description and their pairs. The other sets have dense columns.

`penguins` and `occupations` were added when all constants of kalmia had been chosen: no choice was
made on them.
"""

import itertools
import random
from collections import Counter
from typing import NamedTuple

import numpy as np
import scipy.sparse
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer
from wide_sets import SEED, SourceMissing, debian

LANGUAGES = ("de", "en", "es", "fi", "fr", "it", "nl", "pt", "sv")
WORDS_PER_LANGUAGE = 1000
SECTIONS = 30
SECTION_ROWS = 6000


class ClassSet(NamedTuple):
    """Features, and the class of each row as a number from 0."""

    #: A CSR matrix for texts.
    x: np.ndarray | scipy.sparse.csr_matrix
    y: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def coded(x, labels) -> ClassSet:
    x = x.astype(float) if scipy.sparse.issparse(x) else np.asarray(x, dtype=float)
    return ClassSet(x, np.unique(labels, return_inverse=True)[1])


def iris() -> ClassSet:
    """Three species of iris, by four measurements of a flower (scikit-learn)."""
    return coded(*datasets.load_iris(return_X_y=True))


def wine() -> ClassSet:
    """Three growers of wine, by thirteen chemical measurements (scikit-learn)."""
    return coded(*datasets.load_wine(return_X_y=True))


def digits() -> ClassSet:
    """Ten handwritten digits, by the 64 pixels of an image (scikit-learn)."""
    return coded(*datasets.load_digits(return_X_y=True))


def segments() -> ClassSet:
    """Seven kinds of surface in a photograph, by 18 numbers of its surroundings (River)."""
    from river.datasets import ImageSegments

    rows = list(ImageSegments())
    return coded([list(x.values()) for x, _ in rows], [label for _, label in rows])


def anes96() -> ClassSet:
    """Seven party identifications of voters of 1996, by five answers (statsmodels)."""
    from statsmodels.datasets import anes96

    data = anes96.load_pandas()
    return coded(data.exog, data.endog)


def penguins() -> ClassSet:
    """Three species of penguins, by four measurements (palmerpenguins); without missing values."""
    from palmerpenguins import load_penguins

    data = load_penguins().dropna()
    sizes = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return coded(data[sizes], data["species"])


def occupations() -> ClassSet:
    """Six kinds of occupation, by eight answers about a marriage (statsmodels' `fair`)."""
    from statsmodels.datasets import fair

    data = fair.load_pandas().data
    return coded(data.drop(columns="occupation"), data["occupation"])


def simulated() -> ClassSet:
    """Five classes by the softmax of ten normal features: the model is true."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(5000, 10))
    u = x @ rng.normal(scale=0.7, size=(10, 5)) + rng.normal(scale=0.5, size=5)
    # the largest of u plus Gumbel noise has the probabilities of the softmax
    return ClassSet(x, np.argmax(u + rng.gumbel(size=u.shape), axis=1))


def with_tokens(tokens) -> scipy.sparse.csr_matrix:
    """Rows of ones: a column per token, however often a row has it."""
    found = CountVectorizer(analyzer=lambda row: row, binary=True).fit_transform(tokens)
    return scipy.sparse.csr_matrix(found)


def ngrams(text: str) -> list[str]:
    """Runs of two to four characters."""
    return [text[i : i + n] for n in (2, 3, 4) for i in range(len(text) - n + 1)]


def languages() -> ClassSet:
    """Nine languages of a word, by its runs of two to four letters: frequent words (wordfreq)."""
    from wordfreq import top_n_list

    texts, labels = [], []
    for language in LANGUAGES:
        found = (w for w in top_n_list(language, 10_000, "small") if len(w) > 3 and w.isalpha())
        words = list(itertools.islice(found, WORDS_PER_LANGUAGE))
        texts += [f"^{word}$" for word in words]
        labels += [language] * len(words)
    return coded(with_tokens([ngrams(text) for text in texts]), labels)


def sections() -> ClassSet:
    """Thirty sections of Debian, by the words of a package's description and their pairs (apt)."""
    described = [(p.description, p.section) for p in debian() if p.description]
    frequent = {name for name, _ in Counter(s for _, s in described).most_common(SECTIONS)}
    rows = [row for row in described if row[1] in frequent]
    rows = random.Random(SEED).sample(rows, SECTION_ROWS)
    tokens, names = zip(*rows, strict=True)
    return coded(with_tokens(tokens), names)


#: How many random orders each set is learned in.
ORDERS = {
    iris: 20, wine: 20, digits: 10, segments: 10, anes96: 20, simulated: 10, penguins: 20,
    occupations: 10, languages: 5, sections: 3,
}
SETS = {make.__name__: make for make in ORDERS}

__all__ = ["ORDERS", "SETS", "ClassSet", "SourceMissing"]
