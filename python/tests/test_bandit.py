"""Choices of a real service on a simulated contextual problem, beside uniform choice and a peer."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kalmia

#: The service draws at random: over so many problems the ratio to the peer's regret was 0.97, 1.05,
#: 0.97 and 1.10 in four runs.
ARMS, ROUNDS, PROBLEMS = 3, 300, 24
#: Plays of the peer per problem.
PEER_PLAYS = 3


class Problem:
    """Contexts of two numbers, and for each arm a logistic model of its reward."""

    def __init__(self, seed, rounds=ROUNDS):
        rng = np.random.default_rng(seed)
        self.coefficients = rng.normal(size=(ARMS, 3)) * [0.5, 1.2, 1.2]
        self.contexts = np.column_stack([np.ones(rounds), rng.normal(size=(rounds, 2))])
        self.means = 1.0 / (1.0 + np.exp(-self.contexts @ self.coefficients.T))
        # drawn before any choice, so that all players face the same rewards
        self.rewards = (rng.random((rounds, ARMS)) < self.means).astype(int)
        self.regrets = self.means.max(axis=1, keepdims=True) - self.means

    def regret_of_uniform_choice(self):
        return self.regrets.mean(axis=1).sum()


def candidates(context):
    """One row per arm: the context in the columns of this arm, 0 in those of the others."""
    blank = {f"a{arm}_{part}": 0.0 for arm in range(ARMS) for part in range(3)}
    return [
        blank | {f"a{arm}_{part}": value for part, value in enumerate(context)}
        for arm in range(ARMS)
    ]


def create(client, name):
    columns = dict.fromkeys(candidates(np.ones(3))[0], "number")
    client.create(
        name, family="bernoulli", target="reward", columns=columns, intercept=False, drift="off"
    )


def play(client, name, problem):
    """The regret of the service, which learns each reward before the next choice."""
    create(client, name)
    regret = 0.0
    for regrets, context, rewards in zip(
        problem.regrets, problem.contexts, problem.rewards, strict=True
    ):
        found = client.choose(name, candidates(context))
        regret += regrets[found.choice]
        client.label(name, {"id": found.id, "y": int(rewards[found.choice])})
    return regret


def play_peer(problem, seed):
    """The regret of bayesianbandits: a Bayesian logistic model per arm, Thompson sampling."""
    peer = pytest.importorskip("bayesianbandits")
    arms = [peer.Arm(arm, learner=peer.BayesianGLM(alpha=1.0, link="logit")) for arm in range(ARMS)]
    agent = peer.ContextualAgent(arms, peer.ThompsonSampling(), random_seed=seed)
    regret = 0.0
    for regrets, context, rewards in zip(
        problem.regrets, problem.contexts, problem.rewards, strict=True
    ):
        (arm,) = agent.pull(context[None, :])
        regret += regrets[arm]
        agent.update(context[None, :], np.array([float(rewards[arm])]))
    return regret


def test_regret_beside_uniform_choice_and_a_peer(service):
    problems = [Problem(seed) for seed in range(PROBLEMS)]
    with kalmia.Client(service.url) as client, ThreadPoolExecutor(8) as pool:
        names = [f"bandit-{number}" for number in range(PROBLEMS)]
        regrets = list(pool.map(lambda name, one: play(client, name, one), names, problems))
    uniform = [one.regret_of_uniform_choice() for one in problems]
    assert np.mean(regrets) < 0.5 * np.mean(uniform), (regrets, uniform)
    peer = [play_peer(one, seed) for one in problems for seed in range(PEER_PLAYS)]
    # the service draws at random: four runs gave ratios from 0.97 to 1.10
    assert np.mean(regrets) < 1.4 * np.mean(peer), (regrets, peer)


def test_logged_probabilities_are_those_of_the_choices(service):
    """Inverse propensity: the indicator of an arm over its probability has the mean 1.

    The belief stands still and is vague, so that no probability is tiny: the estimate would
    otherwise hang on choices too rare to be seen.
    """
    problem, warm_up = Problem(11, rounds=1500), 12
    with kalmia.Client(service.url) as client:
        create(client, "propensity")
        for round_ in range(warm_up):
            arm = round_ % ARMS
            row = candidates(problem.contexts[round_])[arm]
            client.learn("propensity", row | {"reward": int(problem.rewards[round_, arm])})
        found = [
            client.choose("propensity", candidates(context))
            for context in problem.contexts[warm_up:]
        ]
        assert client.model("propensity")["rows"] == warm_up
    chosen = np.array([one.choice for one in found])
    probability = np.array([one.probability for one in found])
    assert ((probability > 0.0) & (probability <= 1.0)).all()
    assert len({one.id for one in found}) == len(found)
    for arm in range(ARMS):
        weighted = (chosen == arm) / probability
        error = weighted.std(ddof=1) / np.sqrt(len(weighted))
        assert abs(weighted.mean() - 1.0) < 4.0 * error, (arm, weighted.mean(), error)
        # tight enough to notice probabilities of another rule
        assert error < 0.1, (arm, error)
