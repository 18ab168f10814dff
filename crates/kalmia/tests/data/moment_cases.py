"""Writes moment_cases.json, to 17 significant digits: ln Z, g = (ln Z)' and c = -(ln Z)'' of
Z(m) = E[exp(-w l(y, u))], u ~ N(m, s).

Run `python moment_cases.py` with mpmath installed. Each case is integrated twice at 75 significant
digits, by methods that share no nodes and no formula: Gauss-Legendre panels with the derivative
form (g = E[-l'], c = E[l''] - Var[l']), and a trapezoid after u = a sinh(t) with the moment form
(g = (E[u]-m)/s, c = (1 - Var[u]/s)/s). A case is written only if both agree to 1e-22.
"""

import json
import pathlib
import random

from mpmath import asinh, cosh, exp, log, mp, mpf, nstr, pi, sinh, sqrt

mp.dps = 75
DROP = 190  # nats below the mode where the integrals stop


def bernoulli(y, u):
    z = 1 if y > 0 else -1
    p = 1 / (1 + exp(z * u))
    return log(1 + exp(-z * u)) if z * u > 0 else -z * u + log(1 + exp(z * u)), -z * p, p * (1 - p)


def poisson(y, u):
    e = exp(u)
    return e - y * u, e - y, e


def gamma(y, u):
    e = y * exp(-u)
    return u + e, 1 - e, e


FAMILIES = {"bernoulli": bernoulli, "poisson": poisson, "gamma": gamma}
NODES = []


def legendre(n=36):
    """Nodes and weights on [-1, 1] by Newton's method."""
    if not NODES:
        for i in range(n):
            x = mp.cos(pi * (mpf(i) + 0.75) / (n + 0.5))
            for _ in range(12):
                a, b = mpf(1), x
                for k in range(2, n + 1):
                    a, b = b, ((2 * k - 1) * x * b - (k - 1) * a) / k
                slope = n * (x * b - a) / (x * x - 1)
                x -= b / slope
            NODES.append((x, 2 / ((1 - x * x) * slope**2)))
    return NODES


def bisect(f, lo, hi, steps):
    for _ in range(steps):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if f(mid) < 0 else (lo, mid)
    return (lo + hi) / 2


class Tilt:
    def __init__(self, family, y, w, m, s):
        self.l, self.y, self.w, self.m, self.s = FAMILIES[family], y, mpf(w), mpf(m), mpf(s)
        first = lambda u: (u - self.m) / self.s + self.w * self.l(self.y, u)[1]
        lo, hi = self.m, self.m
        step = mpf(1)
        while first(lo) > 0:
            lo, step = lo - step, step * 2
        step = mpf(1)
        while first(hi) < 0:
            hi, step = hi + step, step * 2
        self.mode = bisect(first, lo, hi, 120)
        self.floor = self.energy(self.mode)
        self.scale = 1 / sqrt(1 / self.s + self.w * self.l(self.y, self.mode)[2])
        far = sqrt(2 * DROP * self.s) + 1
        drop = lambda d: self.energy(self.mode + d) - self.floor - DROP
        self.right = self.mode + bisect(drop, mpf(0), far, 60)
        self.left = self.mode - bisect(lambda d: drop(-d), mpf(0), far, 60)

    def energy(self, u):
        return (u - self.m) ** 2 / (2 * self.s) + self.w * self.l(self.y, u)[0]

    def log_z(self, z0):
        return log(z0) - self.floor - log(2 * pi * self.s) / 2

    def panels(self):
        """Breakpoints: fine around the families' knees (|u| < 15) and the mode, then geometric."""
        cuts = {self.left, self.mode, self.right}
        knees = (mpf(0), mpf("1.2"), 15)
        mode = (self.mode, self.scale * mpf("1.2"), 20 * self.scale)
        for center, width, reach in (knees, mode):
            d = mpf(0)
            while center + d < self.right or center - d > self.left:
                cuts.update(c for c in (center + d, center - d) if self.left < c < self.right)
                d = d + width if d < reach else d * mpf("1.15")
        return sorted(cuts)

    def by_panels(self):
        z = [mpf(0)] * 4
        cuts = self.panels()
        for a, b in zip(cuts, cuts[1:]):
            for x, weight in legendre():
                u = (a + b) / 2 + (b - a) / 2 * x
                loss, first, second = self.l(self.y, u)
                density = exp(self.floor - (u - self.m) ** 2 / (2 * self.s) - self.w * loss)
                p = weight * (b - a) / 2 * density
                first, second = self.w * first, self.w * second
                z = [z[0] + p, z[1] + p * first, z[2] + p * second, z[3] + p * first**2]
        g = -z[1] / z[0]
        return self.log_z(z[0]), g, (z[2] - z[3]) / z[0] + g * g

    def by_trapezoid(self, h):
        """u = center + a sinh(t); the center is the mode, or half of it near the knee at 0."""
        center = self.mode if abs(self.mode) > 30 * self.scale else self.mode / 2
        a = min(self.scale, mpf(3)) if abs(self.mode) <= 30 * self.scale else self.scale
        lo = int(asinh((self.left - center) / a) / h) - 1
        hi = int(asinh((self.right - center) / a) / h) + 1
        z = [mpf(0)] * 3
        for k in range(lo, hi + 1):
            d = a * sinh(k * h)
            p = h * a * cosh(k * h) * exp(self.floor - self.energy(center + d))
            z = [z[0] + p, z[1] + p * d, z[2] + p * d * d]
        mean = z[1] / z[0]
        variance = z[2] / z[0] - mean**2
        return self.log_z(z[0]), (mean + center - self.m) / self.s, (1 - variance / self.s) / self.s


def agree(a, b):
    return all(abs(x - y) <= mpf(10) ** -22 * abs(x) for x, y in zip(a, b))


def solve(family, y, w, m, s):
    tilt = Tilt(family, y, w, m, s)
    panels = tilt.by_panels()
    h = mpf(1) / 20
    while not agree(panels, tilt.by_trapezoid(h)):
        h /= 2
        if h < mpf(1) / 400:
            case = f"{family} y={y} w={w} m={m} s={s}"
            raise ArithmeticError(f"no agreement for {case}: {panels} {tilt.by_trapezoid(h)}")
    return panels


def certain():
    """Labels of 1 and counts of 0 that a wide belief expects, or nearly so: the fixed rules of the
    library at their borders, in (s, m / sqrt(s)) and then in (s, m)."""
    for s in (5.001, 12.0, 54.0, 56.0, 120.0, 221.0, 700.0, 4e3):
        for x in (-2.999, -1.0, 0.0, 0.7, 2.0, 3.7, 5.0, 7.0, 7.6, 9.0):
            if x * s**0.5 < 115:  # further out the panels are too coarse for this program
                yield s, round(x * s**0.5, 3)
    for s in (5.001, 9.0, 30.0, 52.0):
        for m in (0.5 * s, s, 1.5 * s, s + 20, s + 27.6, s / 2 + 27.4, s / 2 + 27.8, s / 2 + 60):
            yield s, round(m, 3)


def main():
    rng = random.Random(20)
    values = {"bernoulli": (0, 1), "poisson": (0, 1, 5, 50, 1000), "gamma": (0.01, 1, 30)}
    targets = [(family, y) for family in values for y in values[family]]
    cases = []
    for family, y in targets:
        for s in (1e-4, 1e-3, 1e-2, 0.05, 0.3, 1.0, 4.0, 20.0, 100.0, 1e3, 1e4, 1e6):
            centers = [
                rng.choice((-40.0, 40.0)),
                round(rng.uniform(-40, 40), 3),
                round(rng.uniform(-6, 6), 3),
                round(rng.uniform(-2, 2), 3),
            ]
            extreme = rng.choice((1.0, 0.01, 1000.0))
            moderate = rng.choice((0.3, 1.0, 7.0, 150.0))
            for m, w in zip(centers, (1.0, extreme, 1.0, moderate)):
                log_z, g, c = solve(family, y, w, m, s)
                numbers = dict(zip(("ln_z", "g", "c"), (float(nstr(v, 19)) for v in (log_z, g, c))))
                cases.append({"family": family, "y": y, "weight": w, "m": m, "s": s, **numbers})
                print(len(cases), cases[-1], flush=True)
    for s, m in certain():
        for family, y, w in (("bernoulli", 1, 1.0), ("poisson", 0, 1.0), ("poisson", 0, 0.2)):
            if family == "poisson" and m < 0:
                continue
            center = m if family == "bernoulli" else -m
            log_z, g, c = solve(family, y, w, center, s)
            numbers = dict(zip(("ln_z", "g", "c"), (float(nstr(v, 19)) for v in (log_z, g, c))))
            cases.append({"family": family, "y": y, "weight": w, "m": center, "s": s, **numbers})
            print(len(cases), cases[-1], flush=True)
    lines = ",\n".join(json.dumps(case) for case in cases)
    pathlib.Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
