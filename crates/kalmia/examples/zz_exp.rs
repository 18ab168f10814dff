//! scratch
use kalmia::*;
fn csv(name: &str) -> (usize, Vec<f64>, Vec<f64>) {
    let t = std::fs::read_to_string(format!("crates/kalmia/tests/data/real/{name}.csv")).unwrap();
    let mut x = vec![];
    let mut y = vec![];
    let mut d = 0;
    for l in t.lines().skip(1) {
        let v: Vec<f64> = l.split(',').map(|s| s.parse().unwrap()).collect();
        d = v.len();
        x.push(1.0);
        x.extend_from_slice(&v[..d - 1]);
        y.push(v[d - 1]);
    }
    (d, x, y)
}
fn run<F: Family>(name: &str, f: F, ic: bool) {
    let (d, x, y) = csv(name);
    let mut a = Auto::new(f.clone(), d).unwrap();
    if ic {
        a = a.with_intercept();
    }
    let (mut l, mut dev, mut n) = (0.0, 0.0, 0.0);
    let t = std::time::Instant::now();
    let mut obs = |s: &Seen<'_>| {
        l += s.loss;
        n += 1.0;
        let (y, m) = (s.observation.y, s.mean);
        dev += match f.name() {
            "poisson" => 2.0 * ((if y > 0.0 { y * (y / m).ln() } else { 0.0 }) - (y - m)),
            "gamma" => 2.0 * (-(y / m).ln() + (y - m) / m),
            "gaussian" => (y - m) * (y - m),
            _ => -2.0 * (if y > 0.5 { m.ln() } else { (1.0 - m).ln() }),
        };
    };
    a.learn_observed(Rows::new(d, &x, &y).unwrap(), Some(&mut obs)).unwrap();
    println!(
        "{name} intercept {ic}: loss {:.4} dev {:.4} time {:?} disp {:.4} weights {:?}",
        l / n,
        dev / n,
        t.elapsed(),
        a.dispersion(),
        a.weights()
    );
    println!(
        "   theta {:.4?}\n   se {:.4?} {:?}",
        &a.coefficients()[..d.min(5)],
        &a.standard_errors()[..d.min(5)],
        a.drift_report()
    );
    // in-sample dev
    let mut ins = 0.0;
    for i in 0..y.len() {
        let u: f64 = (0..d).map(|j| x[i * d + j] * a.coefficients()[j]).sum();
        let m = f.mean(u);
        let y = y[i];
        ins += match f.name() {
            "poisson" => 2.0 * ((if y > 0.0 { y * (y / m).ln() } else { 0.0 }) - (y - m)),
            "gamma" => 2.0 * (-(y / m).ln() + (y - m) / m),
            "gaussian" => (y - m) * (y - m),
            _ => -2.0 * (if y > 0.5 { m.ln() } else { (1.0 - m).ln() }),
        };
    }
    println!("   in sample dev {:.4}", ins / n);
}
fn main() {
    for ic in [false, true] {
        run("breast_cancer", Bernoulli, ic);
        run("digits", Bernoulli, ic);
        run("randhie", Poisson, ic);
        run("diabetes", Gaussian::default(), ic);
        run("grunfeld", Gamma::default(), ic);
    }
}
