//! The standard normal law: distribution function and quantile.

use libm::erfc;
use std::f64::consts::{SQRT_2, TAU};

/// $P(Z \le z)$ for a standard normal $Z$.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// Quantile of the standard normal law for $0 \le q \le 1$, infinite at the ends: a rational
/// approximation and one Newton step in the lower tail.
pub(crate) fn normal_quantile(q: f64) -> f64 {
    let start = -(SQRT_2 * erfc_inverse(2.0 * q));
    if !start.is_finite() {
        return start;
    }
    let lower = q.min(1.0 - q);
    let z = -start.abs();
    let density = (-0.5 * z * z).exp() / TAU.sqrt();
    if density == 0.0 {
        return start;
    }
    let polished = z - (normal_cdf(z) - lower) / density;
    if start > 0.0 { -polished } else { polished }
}

/// The `z` with $\mathrm{erfc}(z) = x$: the rational approximations of Boost, by way of the crate
/// statrs (MIT license).
fn erfc_inverse(x: f64) -> f64 {
    if x <= 0.0 {
        f64::INFINITY
    } else if x >= 2.0 {
        f64::NEG_INFINITY
    } else if x > 1.0 {
        -erf_inverse(-1.0 + x, 2.0 - x)
    } else {
        erf_inverse(1.0 - x, x)
    }
}

/// The `z` with $\mathrm{erf}(z) = p$, given both $p \ge 0$ and $q = 1 - p$.
fn erf_inverse(p: f64, q: f64) -> f64 {
    if p <= 0.5 {
        let g = p * (p + 10.0);
        return g * 0.089_131_474_494_934_08 + g * CENTRAL.at(p);
    }
    if q >= 0.25 {
        let g = (-2.0 * q.ln()).sqrt();
        return g / (2.249481201171875 + MIDDLE.at(q - 0.25));
    }
    let x = (-q.ln()).sqrt();
    let (slope, start, ratio) = if x < 3.0 {
        (0.807220458984375, 1.125, TAIL_3)
    } else if x < 6.0 {
        (0.939_955_711_364_746_1, 3.0, TAIL_6)
    } else if x < 18.0 {
        (0.983_628_273_010_253_9, 6.0, TAIL_18)
    } else if x < 44.0 {
        (0.997_145_652_770_996_1, 18.0, TAIL_44)
    } else {
        (0.999_413_490_295_410_2, 44.0, TAIL_REST)
    };
    slope * x + ratio.at(x - start) * x
}

/// A ratio of two polynomials, coefficients from the constant term up.
struct Ratio {
    above: &'static [f64],
    below: &'static [f64],
}

impl Ratio {
    fn at(&self, x: f64) -> f64 {
        let value = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
        value(self.above) / value(self.below)
    }
}

const CENTRAL: Ratio = Ratio {
    above: &[
        -0.0005087819496582806,
        -0.008368748197417368,
        0.03348066254097446,
        -0.012692614766297404,
        -0.03656379714117627,
        0.02198786811111689,
        0.008226878746769157,
        -0.005387729650712429,
    ],
    below: &[
        1.0,
        -0.9700050433032906,
        -1.5657455823417585,
        1.5622155839842302,
        0.662328840472003,
        -0.7122890234154284,
        -0.05273963823400997,
        0.07952836873415717,
        -0.0023339375937419,
        0.0008862163904564247,
    ],
};
const MIDDLE: Ratio = Ratio {
    above: &[
        -0.20243350835593876,
        0.10526468069939171,
        8.3705032834312,
        17.644729840837403,
        -18.851064805871424,
        -44.6382324441787,
        17.445385985570866,
        21.12946554483405,
        -3.6719225470772936,
    ],
    below: &[
        1.0,
        6.242641248542475,
        3.971343795334387,
        -28.66081804998,
        -20.14326346804852,
        48.560921310873994,
        10.826866735546016,
        -22.643693341313973,
        1.7211476576120028,
    ],
};
const TAIL_3: Ratio = Ratio {
    above: &[
        -0.1311027816799519,
        -0.16379404719331705,
        0.11703015634199525,
        0.38707973897260434,
        0.3377855389120359,
        0.14286953440815717,
        0.029015791000532906,
        0.0021455899538880526,
        -6.794655751811263e-07,
        2.8522533178221704e-08,
        -6.81149956853777e-10,
    ],
    below: &[
        1.0,
        3.4662540724256723,
        5.381683457070069,
        4.778465929458438,
        2.5930192162362027,
        0.848854343457902,
        0.15226433829533179,
        0.011059242293464892,
    ],
};
const TAIL_6: Ratio = Ratio {
    above: &[
        -0.0350353787183178,
        -0.0022242652921344794,
        0.018557330651423107,
        0.009508047013259196,
        0.0018712349281955923,
        0.00015754461742496055,
        4.60469890584318e-06,
        -2.304047769118826e-10,
        2.6633922742578204e-12,
    ],
    below: &[
        1.0,
        1.3653349817554064,
        0.7620591645536234,
        0.22009110576413124,
        0.03415891436709477,
        0.00263861676657016,
        7.646752923027944e-05,
    ],
};
const TAIL_18: Ratio = Ratio {
    above: &[
        -0.016743100507663373,
        -0.0011295143874558028,
        0.001056288621524929,
        0.00020938631748758808,
        1.4962478375834237e-05,
        4.4969678992770644e-07,
        4.625961635228786e-09,
        -2.811287356288318e-14,
        9.905570997331033e-17,
    ],
    below: &[
        1.0,
        0.5914293448864175,
        0.1381518657490833,
        0.016074608709367652,
        0.0009640118070051656,
        2.7533547476472603e-05,
        2.82243172016108e-07,
    ],
};
const TAIL_44: Ratio = Ratio {
    above: &[
        -0.002497821279189813,
        -7.79190719229054e-06,
        2.5472303741302746e-05,
        1.6239777734251093e-06,
        3.963410113048012e-08,
        4.116328311909442e-10,
        1.4559628671867504e-12,
        -1.1676501239718427e-18,
    ],
    below: &[
        1.0,
        0.2071231122144225,
        0.01694108381209759,
        0.0006905382656226846,
        1.4500735981823264e-05,
        1.4443775662814415e-07,
        5.097612765997785e-10,
    ],
};
const TAIL_REST: Ratio = Ratio {
    above: &[
        -0.0005390429110190785,
        -2.8398759004727723e-07,
        8.994651148922914e-07,
        2.2934585926592085e-08,
        2.2556144486350015e-10,
        9.478466275030226e-13,
        1.3588013010892486e-15,
        -3.4889039339994887e-22,
    ],
    below: &[
        1.0,
        0.08457462340018994,
        0.002820929847262647,
        4.682929219408942e-05,
        3.999688121938621e-07,
        1.6180929088790448e-09,
        2.315586083102596e-12,
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantile_inverts_in_both_tails() {
        for q in [1e-300f64, 1e-20, 1e-5, 0.025, 0.3, 0.5, 0.6, 0.975, 1.0 - 1e-9] {
            let z = normal_quantile(q);
            let back = if q < 0.5 { normal_cdf(z) / q } else { normal_cdf(-z) / (1.0 - q) };
            assert!((back - 1.0).abs() < 1e-11, "{q}: {back}");
        }
    }
}
