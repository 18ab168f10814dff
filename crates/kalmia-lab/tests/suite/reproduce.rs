//! Small runs of all figures: files, structure, and verdicts on the paper's claims.

use kalmia_lab::{Error, Figure, Progress, Report, Settings, Verdict, reproduce};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A folder of one test, removed at its end.
struct Temp(PathBuf);

impl Temp {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("kalmia-lab-{name}-{}", std::process::id())))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        // Some tests assert that nothing was written, and then the folder does not exist.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(figures: &[Figure], settings: &Settings) -> Report {
    reproduce(figures, settings, &(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn everything_in_small_writes_its_files() {
    let temp = Temp::new("all");
    let settings =
        Settings { horizon: 2000, replicates: 16, seed: 7, threads: 2, out: temp.0.clone() };
    let report = run(&Figure::ALL, &settings);
    assert!(!report.interrupted);
    beyond_and_bounds_hold(&report);
    files_are_there(&report, &settings);
    json_has_its_structure(&report, &settings);
}

/// Any seed would do. The weakest of these claims has a paired difference of 29 standard errors
/// over 800 replicates, so about 8 are expected over 64, with a deviation near 1; 3 confirm it.
/// (Seeds 1 to 20 give at least 6.3.) The relative difference that must stay below 5 % is 0.2 %,
/// with a standard error of 0.35 %.
#[test]
fn replicates_confirm_what_the_paper_says() {
    let temp = Temp::new("claims");
    let settings =
        Settings { horizon: 10_000, replicates: 64, seed: 7, threads: 2, out: temp.0.clone() };
    claims_hold(&run(
        &[Figure::Comparison1, Figure::Comparison10, Figure::Misspecified],
        &settings,
    ));
}

fn claims_hold(report: &Report) {
    let verdict = |panel: &str, start: &str| {
        let claim = report.claims.iter().find(|c| c.panel == panel && c.text.starts_with(start));
        claim.unwrap_or_else(|| panic!("no claim `{start}` on {panel}")).clone()
    };
    let confirmed = |panel: &str, start: &str| {
        let claim = verdict(panel, start);
        assert_eq!(claim.verdict, Verdict::Confirmed, "{panel}: {} {}", claim.text, claim.evidence);
    };
    for panel in ["comparison1", "comparison10_theory", "comparison10_optimistic", "misspecified"] {
        confirmed(panel, "The EKF is better");
        confirmed(panel, "Averaging is useless for the EKF");
        confirmed(panel, "With the threshold 10");
    }
    confirmed("comparison10_optimistic", "Averaging is crucial");
    confirmed("comparison1", "With θ* the truncation deteriorates");
    confirmed("comparison10_theory", "With the smaller θ*");
    confirmed("comparison1", "With θ* the ONS almost does not move");
    confirmed("comparison10_optimistic", "Low exp-concavity constants");
}

fn beyond_and_bounds_hold(report: &Report) {
    let hard = report.panel("beyond").unwrap();
    // Over 320 replicates the smallest score is 150, so about 33 are expected over 16.
    let last = |key: &str| hard.curve(key).unwrap().last().to_vec();
    for better in ["implicit", "moment_match", "auto"] {
        let score = kalmia_lab::statistics::paired_score(&last("ekf"), &last(better));
        assert!(score > 3.0, "{better} against the EKF: {score}");
    }
    // The rows are those of comparison1, so the library's filter must give the kernel's errors.
    let kernel = report.panel("comparison1").unwrap().curve("ekf").unwrap();
    for (library, kernel) in
        hard.curve("ekf").unwrap().errors.iter().flatten().zip(kernel.errors.iter().flatten())
    {
        assert!((library / kernel - 1.0).abs() < 1e-9, "{library} against {kernel}");
    }
    let bounds = report.figures.iter().find_map(|f| f.bounds.as_ref()).unwrap();
    for spread in bounds.spreads() {
        for (point, bound) in spread.points.iter().zip(&spread.bound) {
            assert!(
                point.mean <= point.worst && point.worst < *bound,
                "{}: {point:?}, bound {bound}",
                spread.name
            );
        }
    }
}

fn files_are_there(report: &Report, settings: &Settings) {
    let read = |name: String| {
        std::fs::read(settings.out.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    for name in [
        "comparison1",
        "comparison10_theory",
        "comparison10_optimistic",
        "misspecified",
        "beyond",
        "beyond10",
        "density",
        "bounds",
    ] {
        assert!(read(format!("{name}.png")).starts_with(b"\x89PNG\r\n"));
        let svg = String::from_utf8(read(format!("{name}.svg"))).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"),
            "{name}.svg"
        );
        let csv = String::from_utf8(read(format!("{name}.csv"))).unwrap();
        let (header, body) = csv.split_once('\n').unwrap();
        let panel = report.panel(name);
        if let Some(panel) = panel {
            assert_eq!(header, "algorithm,n,mse,standard_error");
            let at_horizon = format!(
                "ekf,{},{:e},",
                settings.horizon,
                panel.curve("ekf").unwrap().mse().last().unwrap()
            );
            assert!(body.lines().any(|line| line.starts_with(&at_horizon)), "{at_horizon}");
        }
        let columns = header.split(',').count();
        assert!(
            body.lines().count() > 10
                && body.lines().all(|line| line.split(',').count() == columns)
        );
    }
    let page = String::from_utf8(read("report.html".into())).unwrap();
    for figure in Figure::ALL {
        assert!(page.contains(&format!("<h2 id=\"{}\">", figure.name())));
    }
    for needed in [
        "seed 7",
        "E13",
        "E14",
        "E15",
        "E16",
        "E26",
        "E28",
        "E29",
        "class=\"confirmed\"",
        env!("CARGO_PKG_VERSION"),
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    assert!(!page.contains("<img") && !page.contains("href="), "self-contained");
    let strays = std::fs::read_dir(&settings.out)
        .unwrap()
        .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(strays.count(), 0, "no partial file is left");
}

fn json_has_its_structure(report: &Report, settings: &Settings) {
    let json = report.to_json();
    for name in ["comparison1", "comparison10_theory", "comparison10_optimistic", "misspecified"] {
        let figure = &json["figures"][name];
        let checkpoints: Vec<u64> =
            figure["checkpoints"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert!([1, 10, 100, 1000, settings.horizon].iter().all(|n| checkpoints.contains(n)));
        for key in [
            "ekf",
            "truncated",
            "truncated_bercu",
            "ekf_averaged",
            "ons",
            "ons_averaged",
            "asgd",
            "asgd_oracle",
        ] {
            for column in ["mse", "se"] {
                let values = figure["algorithms"][key][column].as_array().unwrap();
                assert_eq!(values.len(), checkpoints.len());
                assert!(
                    values.iter().all(|v| v.as_f64().is_some_and(|v| v >= 0.0)),
                    "{name} {key} {column}"
                );
            }
        }
    }
}

#[test]
fn numbers_do_not_depend_on_the_threads() {
    let temp = Temp::new("threads");
    let figures = [
        Figure::Comparison1,
        Figure::Density,
        Figure::Misspecified,
        Figure::Beyond,
        Figure::Bounds,
    ];
    let with = |threads| {
        let settings = Settings {
            horizon: 300,
            replicates: 20,
            seed: 3,
            threads,
            out: temp.0.join(threads.to_string()),
        };
        let mut json = run(&figures, &settings).to_json();
        let fields = json.as_object_mut().unwrap();
        fields.remove("seconds");
        fields.remove("files");
        json
    };
    let one = with(1);
    assert_eq!(one, with(3));
    let other_seed =
        Settings { horizon: 300, replicates: 20, seed: 4, threads: 1, out: temp.0.join("other") };
    assert_ne!(one["figures"], run(&figures, &other_seed).to_json()["figures"]);
}

#[test]
fn bad_requests_are_refused_before_anything_is_written() {
    let temp = Temp::new("bad");
    let never = AtomicBool::new(false);
    let settings = Settings { horizon: 0, out: temp.0.clone(), ..Settings::default() };
    assert!(matches!(
        reproduce(&Figure::ALL, &settings, &(), &never),
        Err(Error::Setting { name: "horizon", .. })
    ));
    assert!(!temp.0.exists());
    std::fs::create_dir_all(&temp.0).unwrap();
    let file = temp.0.join("file");
    std::fs::write(&file, "in the way").unwrap();
    let settings = Settings { out: file.join("below"), ..Settings::default() };
    let started = Watch::default();
    let error = reproduce(&Figure::ALL, &settings, &started, &never).unwrap_err();
    assert!(
        matches!(&error, Error::Output { .. }) && error.to_string().contains("below"),
        "{error}"
    );
    assert_eq!(started.tasks.load(Ordering::Relaxed), 0, "refused before the work");
}

/// Counts tasks and sets the flag when the second one starts.
#[derive(Default)]
struct Watch {
    tasks: AtomicUsize,
    units: AtomicUsize,
    cancel: AtomicBool,
}

impl Progress for Watch {
    fn start(&self, _task: &str, _total: u64) {
        self.cancel.store(self.tasks.fetch_add(1, Ordering::Relaxed) == 1, Ordering::Relaxed);
    }

    fn advance(&self, units: u64) {
        self.units.fetch_add(units as usize, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_run_keeps_what_is_finished() {
    let temp = Temp::new("interrupted");
    let settings =
        Settings { horizon: 200, replicates: 8, out: temp.0.clone(), ..Settings::default() };
    let watch = Watch::default();
    let report =
        reproduce(&[Figure::Comparison1, Figure::Comparison10], &settings, &watch, &watch.cancel)
            .unwrap();
    assert!(report.interrupted);
    assert_eq!(report.figures.len(), 1);
    assert_eq!(
        watch.units.load(Ordering::Relaxed),
        200 * 8,
        "every unit of the finished figure was reported"
    );
    assert!(
        temp.0.join("comparison1.csv").exists() && !temp.0.join("comparison10_theory.csv").exists()
    );
    assert!(std::fs::read_to_string(temp.0.join("report.html")).unwrap().contains("interrupted"));
}
