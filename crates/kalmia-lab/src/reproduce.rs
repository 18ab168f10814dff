//! The whole run: figures one after the other, their files, and the report.

use crate::claims::claims;
use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::figures::{Finished, make, own};
use crate::output::Folder;
use crate::report::Report;
use crate::settings::{Figure, Settings};
use crate::workers::{Progress, Workers};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Pixels per unit in the PNG files.
const PNG_SCALE: f32 = 2.0;

/// Runs the figures. Writes a CSV, an SVG and a PNG file per picture into `settings.out`, and
/// `report.html` with all of them.
///
/// Bad settings and a folder that cannot be written are refused before the work starts. Once
/// `cancel` is set, the run stops at the next block of rows. Figures finished by then are kept, and
/// the report is marked as interrupted.
///
/// ```
/// use kalmia_lab::{Figure, Settings, reproduce};
/// use std::sync::atomic::AtomicBool;
///
/// let out = std::env::temp_dir().join(format!("kalmia-lab-doc-{}", std::process::id()));
/// let small = Settings { horizon: 100, replicates: 8, out: out.clone(), ..Settings::default() };
/// let report = reproduce(&[Figure::Comparison1], &small, &(), &AtomicBool::new(false))?;
/// assert!(out.join("comparison1.svg").exists() && out.join("report.html").exists());
/// assert_eq!(report.to_json()["figures"]["comparison1"]["checkpoints"][0], 1);
/// # std::fs::remove_dir_all(out).unwrap();
/// # Ok::<(), kalmia_lab::Error>(())
/// ```
pub fn reproduce(
    figures: &[Figure],
    settings: &Settings,
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<Report> {
    settings.validate()?;
    run_figures(figures.len(), settings, progress, cancel, |index, workers| {
        make(figures[index], settings, workers)
    })
}

/// Runs an experiment of one's own and writes the same files. The settings decide how long it
/// runs; `command` is what the report names to make it again.
pub fn run_experiment(
    experiment: &Experiment,
    command: &str,
    settings: &Settings,
    progress: &dyn Progress,
    cancel: &AtomicBool,
) -> Result<Report> {
    settings.validate()?;
    run_figures(1, settings, progress, cancel, |_, workers| {
        let finished = own(experiment, settings.length(), workers)?;
        Ok(Finished { command: command.into(), ..finished })
    })
}

/// Makes the figures one after the other, writes their files and the report.
fn run_figures(
    count: usize,
    settings: &Settings,
    progress: &dyn Progress,
    cancel: &AtomicBool,
    make: impl Fn(usize, &Workers) -> Result<Finished>,
) -> Result<Report> {
    let folder = Folder::open(&settings.out)?;
    let workers = Workers { threads: settings.worker_count(), progress, cancel };
    let start = Instant::now();
    let mut report = Report { settings: settings.clone(), ..Report::default() };
    for index in 0..count {
        let begun = Instant::now();
        match make(index, &workers) {
            Ok(mut finished) => {
                report.files.extend(write_figure(&folder, &finished)?);
                finished.elapsed = begun.elapsed();
                report.figures.push(finished);
                progress.finish();
            }
            Err(Error::Cancelled) => {
                report.interrupted = true;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    report.claims = claims(&report.figures);
    report.elapsed = start.elapsed();
    if !report.figures.is_empty() {
        report.files.push(folder.write("report.html", report.to_html().as_bytes())?);
    }
    Ok(report)
}

fn write_figure(folder: &Folder, finished: &Finished) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for picture in &finished.pictures {
        // Drawing pixels can fail, so it comes before the first file is written.
        let png = picture.scene.to_png(PNG_SCALE)?;
        files.push(folder.write(&format!("{}.csv", picture.name), picture.csv.as_bytes())?);
        files.push(
            folder.write(&format!("{}.svg", picture.name), picture.scene.to_svg().as_bytes())?,
        );
        files.push(folder.write(&format!("{}.png", picture.name), &png)?);
    }
    Ok(files)
}
